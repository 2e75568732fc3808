"""From the bytes of a file to a syntax tree: whatever the bytes, an answer and never an exception.

Nothing of a file is executed or imported. Syntax that the running Python rejects because it is older goes through
libcst (`pytest_cachesafe.lint.newer`), which is imported only then.
"""

from __future__ import annotations

import ast
import sys
import warnings
from functools import lru_cache
from typing import NamedTuple

__all__ = ["Parsed", "SyntaxProblem", "column", "long_tree", "parse", "parse_rows", "tree_of"]

TOO_DEEP = "nested too deeply for Python's parser"

UNBOUNDED = 50_000
"""Levels of a tree that fit into 8 MB of stack with room to spare (Python 3.10 ends between 100,000 and 1,000,000)."""

LONG = 400_000
"""Characters from which on a file is parsed piece by piece."""

KEPT = 60_000
"""Bytes up to which the tree of a file is kept for the next that asks; trees take a hundred times as much."""

STUMBLES = ("invalid syntax", "f-string", "expected '('", "multiple exception types")
"""How Python words that it met syntax from after its time (3.10 to 3.13)."""


class SyntaxProblem(NamedTuple):
    """Why a file has no tree. `row` and `column` (in characters) count from 1."""

    row: int
    column: int
    message: str


class Parsed:
    """A file, parsed. Exactly one of `tree` and `error` is set.

    `text` is the decoded file without its byte order mark, line ends as they are; bytes that cannot be decoded are
    replaced there (and `error` says so). `newer`: the running Python rejects the syntax, `tree` was made from libcst's.
    """

    __slots__ = ("_ascii", "_lines", "_wide", "error", "newer", "text", "tree")

    def __init__(
        self, text: str, tree: ast.Module | None = None, error: SyntaxProblem | None = None, newer: bool = False
    ) -> None:
        self.text = text
        self.tree = tree
        self.error = error
        self.newer = newer
        self._lines: list[str] | None = None
        self._ascii: bool | None = None
        # Once the text is let go: the lines whose bytes and characters differ, by row.
        self._wide: dict[int, str] | None = None

    def shed(self) -> None:
        """Let the tree and the text go; columns are known all the same."""
        if self._wide is None:
            lines = [] if self.is_ascii else self.lines
            self._wide = {row: line for row, line in enumerate(lines, 1) if not line.isascii()}
        self.tree = None
        self.text = ""
        self._lines = None

    def restore(self, data: bytes) -> None:
        """The text again, without the tree."""
        try:
            self.text = _decode(data)
        except _Undecodable:
            self.text = data.decode("utf-8", "replace")

    def line(self, row: int) -> str:
        """A line that bytes and characters differ in, also when the text is let go; for others "" will do."""
        if self._wide is not None:
            return self._wide.get(row, "")
        return self.lines[row - 1] if 0 < row <= len(self.lines) else ""

    @property
    def lines(self) -> list[str]:
        """The lines as Python counts them (ended by LF, CR or CR LF, nothing else), without their ends."""
        if self._lines is None:
            self._lines = _unix(self.text).split("\n")
        return self._lines

    @property
    def is_ascii(self) -> bool:
        """Whether bytes and characters are the same in the whole file."""
        if self._ascii is None:
            self._ascii = self.text.isascii()
        return self._ascii


def column(parsed: Parsed, row: int, col_offset: int) -> int:
    """The column (from 1, in characters) of a tree's `col_offset` (from 0, in bytes of UTF-8) in line `row`."""
    if parsed.is_ascii:
        return col_offset + 1
    line = parsed.line(row)
    if line.isascii():
        return col_offset + 1
    return len(line.encode("utf-8", "surrogatepass")[:col_offset].decode("utf-8", "ignore")) + 1


def parse(data: bytes, filename: str) -> Parsed:
    """The tree of a Python file, or what is wrong with it; never raises for anything in `data`.

    `filename` is only a name: the file is not opened.
    """
    try:
        text = _decode(data)
    except _Undecodable as fault:
        return Parsed(data.decode("utf-8", "replace"), error=fault.problem)
    return _parsed(text, filename)


def parse_rows(lines: list[str], first: int, last: int, filename: str) -> ast.stmt | None:
    """The one statement that stands in these rows of a file, its places those of the whole file's tree; None where no
    statement does. A fraction of the cost of the whole file where it is long."""
    text = "\n".join(lines[first - 1 : last])
    # Rows that belong to a block are read behind an `if`, in their own indentation, which leaves their columns.
    inner = text[:1] in (" ", "\t", "\f")
    head = "if 1:\n" if inner else ""
    shift = first - 2 if inner else first - 1
    try:
        body = _tree(head + "\n" * shift + text, filename).body
    except (SyntaxError, RecursionError, MemoryError, ValueError, OverflowError, SystemError):
        parsed = _parsed(head + text, filename)
        if parsed.tree is None:
            return None
        body = ast.increment_lineno(parsed.tree, shift).body
    body = body[0].body if inner and body and isinstance(body[0], ast.If) else body
    return body[0] if body else None


def long_tree(text: str) -> ast.Module | None:
    """The tree of a long text in the running Python's syntax, made with less memory; None for any other text."""
    made = _in_pieces(text, "", newer=False) if len(text) > LONG else None
    return None if made is None else made.tree


def _parsed(text: str, filename: str) -> Parsed:
    if len(text) > LONG:
        made = _in_pieces(text, filename)
        if made is not None:
            return made
    try:
        return Parsed(text, tree=_tree(text, filename))
    except SyntaxError as error:
        rejected = _problem(error, text)
        made = _in_pieces(text, filename) if len(text) <= LONG else None
        return made or _parse_newer(text, rejected)
    except (RecursionError, MemoryError):
        return Parsed(text, error=SyntaxProblem(1, 1, TOO_DEEP))
    except (ValueError, OverflowError, SystemError) as error:
        # What Python's parser raises for a lone surrogate (`# coding: unicode_escape`) and the like.
        return Parsed(text, error=SyntaxProblem(1, 1, str(error).partition("\n")[0]))


def _tree(text: str, filename: str) -> ast.Module:
    if sys.version_info < (3, 11) and _may_overflow(text):
        raise RecursionError
    return _asked(text, filename)


def tree_of(data: bytes) -> ast.Module | None:
    """The tree of a file that is read for what it may tell beside the analysis; None where Python cannot parse it.

    It is shared with all that ask: not to be changed.
    """
    return _kept_tree(data) if len(data) <= KEPT else _any_tree(data)


@lru_cache(maxsize=4)
def _kept_tree(data: bytes) -> ast.Module | None:
    # Many ask of the same file, one after the other.
    return _any_tree(data)


def _any_tree(data: bytes) -> ast.Module | None:
    try:
        return _asked(data, "<unknown>")
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError, SystemError):
        return None


def _asked(source: str | bytes, filename: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source, filename)
        except SystemError:
            # Python 3.11 counts depths in one place for all: where something else is parsed meanwhile (by a finalizer
            # or another thread) it finds a mismatch. Asked again, it counts anew.
            return ast.parse(source, filename)


def _may_overflow(text: str) -> bool:
    """Whether Python 3.10 might run out of stack: it makes its trees without a bound (from 3.11 on there is one)."""
    if len(text) < UNBOUNDED or sum(map(text.count, "+-*/%@&|^.([")) < UNBOUNDED:
        return False
    from pytest_cachesafe.lint.newer.depth import too_deep

    return too_deep(text, UNBOUNDED) is not None


def _in_pieces(text: str, filename: str, *, newer: bool = True) -> Parsed | None:
    from pytest_cachesafe.lint.pieces import in_pieces

    made = in_pieces(_unix(text), lambda piece: _tree(piece, filename), newer=newer)
    return None if made is None else Parsed(text, tree=made[0], newer=made[1])


def _parse_newer(text: str, rejected: SyntaxProblem) -> Parsed:
    from pytest_cachesafe.lint.newer import translate

    tree, problem = translate(_unix(text))
    if tree is not None:
        return Parsed(text, tree=tree, newer=True)
    if problem is not None and problem[0] > rejected.row and rejected.message.startswith(STUMBLES):
        # The running Python stumbled over newer syntax; the mistake is further down.
        rejected = SyntaxProblem(*problem)
    return Parsed(text, error=rejected)


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _problem(error: SyntaxError, text: str) -> SyntaxProblem:
    # Python's own positions may lie behind the last line or be missing.
    row = min(max(error.lineno or 1, 1), text.count("\n") + text.count("\r") + 1)
    return SyntaxProblem(row, max(error.offset or 1, 1), error.msg or "invalid syntax")


class _Undecodable(Exception):
    def __init__(self, row: int, column: int, message: str) -> None:
        super().__init__(message)
        self.problem = SyntaxProblem(row, column, message)


def _decode(data: bytes) -> str:
    """Text as Python reads a source file (PEP 263: byte order mark, then a declaration in the first two lines)."""
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        marked = True
    else:
        marked = False
    encoding = _declared(data, marked) if _may_declare(data) else "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        before = _unix(data[: error.start].decode("latin-1"))
        row = before.count("\n") + 1
        start = before.rfind("\n") + 1
        at = len(before[start:].encode("latin-1").decode("utf-8", "ignore")) + 1
        message = f"byte 0x{data[error.start] if error.start < len(data) else 0:02x} is not {encoding} text"
        raise _Undecodable(row, at, message) from None
    except (UnicodeError, LookupError, ValueError, ArithmeticError):
        raise _Undecodable(1, 1, f"the declared encoding {encoding} does not decode this file") from None
    nul = text.find("\0")
    if nul >= 0:
        before = _unix(text[:nul])
        raise _Undecodable(before.count("\n") + 1, len(before) - before.rfind("\n"), "NUL byte: not Python source")
    return text


def _may_declare(data: bytes) -> bool:
    first = data.find(b"\n")
    second = data.find(b"\n", first + 1) if first >= 0 else -1
    return data.find(b"coding", 0, second if second >= 0 else len(data)) >= 0


def _declared(data: bytes, marked: bool) -> str:
    """The encoding that the first two lines declare. `tokenize` is imported here: few files declare any."""
    import io
    import tokenize

    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n", 2)[:2]
    head = b"".join(line + b"\n" for line in lines)
    try:
        encoding = tokenize.detect_encoding(io.BytesIO((b"\xef\xbb\xbf" if marked else b"") + head).readline)[0]
    except SyntaxError as error:
        raise _Undecodable(1, 1, str(error.msg or error)) from None
    return "utf-8" if encoding == "utf-8-sig" else encoding
