"""A source file as bytes and text, written back without changing anything that no fix changed."""

from __future__ import annotations

import io
import os
import secrets
import stat
from contextlib import suppress
from typing import NamedTuple

from pytest_cachesafe.usage import UsageError

__all__ = ["SourceFile", "read_source", "unified_diff", "write_source"]

_BOM = b"\xef\xbb\xbf"


class SourceFile(NamedTuple):
    """A file as it was read. `text` has no byte order mark and keeps its line ends."""

    path: str
    data: bytes
    text: str
    encoding: str
    bom: bool


def read_source(path: str | os.PathLike[str]) -> SourceFile:
    """Read a Python file in the encoding it declares.

    Raises:
        UsageError: it cannot be read or decoded.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UsageError(f"cannot read {name!r}: {error.strerror or error}") from None
    return decoded(name, data)


def decoded(name: str, data: bytes) -> SourceFile:
    """Bytes as a source file.

    Raises:
        UsageError: they are not text in the declared encoding.
    """
    import tokenize

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        bom = data.startswith(_BOM)
        encoding = "utf-8" if bom else encoding
        text = data[len(_BOM) if bom else 0 :].decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise UsageError(f"cannot read {name!r}: {' '.join(str(error).split())}") from None
    return SourceFile(name, data, text, encoding, bom)


def write_source(source: SourceFile, text: str) -> bool:
    """Write a changed text; False, and nothing is written, where it is the text that was read.

    Encoding, byte order mark, mode and (where allowed) owner stay; a link's target is replaced. Readers see the old
    or the new content, never a part.

    Raises:
        UsageError: the file is read-only, has been changed or removed since, or cannot hold the new text.
    """
    if text == source.text:
        return False
    name = source.path
    try:
        data = (_BOM if source.bom else b"") + text.encode(source.encoding)
    except UnicodeEncodeError:
        raise UsageError(f"cannot fix {name!r}: the new text does not fit its encoding {source.encoding}") from None
    target = os.path.realpath(name)
    try:
        status = os.stat(target)
        # The superuser may write everywhere, but the mode says that nobody should.
        if not status.st_mode & 0o222 or not os.access(target, os.W_OK):
            raise UsageError(f"cannot fix {name!r}: it is read-only; make it writable or leave it out")
        _replace(target, source.data, data, status, name)
    except OSError as error:
        raise UsageError(f"cannot fix {name!r}: {error.strerror or error}") from None
    return True


def _replace(target: str, expected: bytes, data: bytes, status: os.stat_result, name: str) -> None:
    folder, base = os.path.split(target)
    temporary = os.path.join(folder, f".{base[:100]}.{secrets.token_hex(4)}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if hasattr(os, "chown"):
            with suppress(OSError):  # only its owner may give a file away
                os.chown(temporary, status.st_uid, status.st_gid)
        os.chmod(temporary, stat.S_IMODE(status.st_mode))
        # As late as can be: an editor may have saved the file while it was linted.
        with open(target, "rb") as file:
            if file.read() != expected:
                raise UsageError(f"cannot fix {name!r}: it was changed meanwhile; run again")
        os.replace(temporary, target)
    except BaseException:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        raise


def unified_diff(name: str, before: str, after: str) -> str:
    """The change of a file for `--diff`, as `git apply` and `patch -p1` read it; empty where nothing changed.

    Characters that a terminal or a CI would obey are shown as escapes, so a file that holds such cannot be patched
    with it. A carriage return at the end of a row is kept.
    """
    import difflib

    from pytest_cachesafe.report.visible import visible

    if before == after:
        return ""
    shown = visible(name)
    out: list[str] = []
    lines = difflib.unified_diff(_rows(before), _rows(after), f"a/{shown}", f"b/{shown}", lineterm="\n")
    for line in lines:
        body = line.removesuffix("\n")
        ending = "\r" if body.endswith("\r") else ""
        sign, rest = body[:1], body[1:].removesuffix("\r")
        # A CI that trims the row would see what stands behind the sign. Tabs are layout.
        out.append(sign + "\t".join(map(visible, rest.split("\t"))) + ending + "\n")
        if not line.endswith("\n"):
            out.append("\\ No newline at end of file\n")
    return "".join(out)


def _rows(text: str) -> list[str]:
    """Rows with their line feeds, as patch tools count them: a lone carriage return or form feed ends none."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
