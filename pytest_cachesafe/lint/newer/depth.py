"""How deep the tree of a text can get at most, told from its tokens alone.

libcst's parser recurses in native code: it ends the process where the stack ends, and its time grows with the square of
the depth (in patterns of match statements with its power). All of that is kept out by refusing such text before it is
parsed. The count errs on the safe side: a text may be flatter than counted, never deeper.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["BRACKETS", "LEVELS", "PATTERN_BRACKETS", "logical_lines", "too_deep"]

BRACKETS = 200
"""Python's own tokenizer opens no more brackets inside one another (Parser/tokenizer.h, MAXLEVEL)."""

PATTERN_BRACKETS = 8
"""In the line of a `case` and behind `del`: there libcst 1.9 takes two to four times as long for each further level (a
mapping pattern of 12 levels: no end in sight)."""

LEVELS = 1000
"""Operators, calls, attributes and branches that follow from one another, beside brackets (the chain `a + b + c` has
two). Python's own parser gives up between 2,900 (3.11) and 6,000."""

CODE = re.compile(
    r"""
      (?P<skip> \#[^\n]* | \\\n )
    | (?P<joined> \b(?i: fr? | rf | tr? | rt ) )? (?P<quote> \"\"\" | ''' | " | ' )
    | (?P<open> [(\[{] )
    | (?P<close> [)\]}] )
    | (?P<end> \n (?: [ \t\f] | \\\n )* (?: (?P<branch> if | elif | case ) \b )? | ; )
    | (?P<delete> \b del \b )
    | (?P<comma> , )
    | (?P<colon> : )
    | (?P<operator> [-+*/%@&|^~<>=.!]+ | \b(?: not|lambda|if|else|await|and|or|for|in|is ) \b )
    """,
    re.VERBOSE,
)
TEXT = re.compile(r"\\N\{[^}]*\}|\\[^{}]|\{\{|\{|\"\"\"|'''|\"|'|\n", re.DOTALL)
RAW_TEXT = re.compile(r"\\[^{}]|\{\{|\{|\"\"\"|'''|\"|'|\n", re.DOTALL)
SPECIFICATION = re.compile(r"\{|\}|\"\"\"|'''|\"|'|\n")
PLAIN = {quote: re.compile(rf"\\.|{quote}", re.DOTALL) for quote in ('"""', "'''", '"', "'")}


class _Frame:
    """Something open: a bracket, an f-string (its text), a replacement field, a format specification, or the file."""

    __slots__ = ("chain", "kind", "quote", "raw")

    def __init__(self, kind: str, quote: str = "", raw: bool = False) -> None:
        self.kind = kind
        self.quote = quote
        self.raw = raw
        self.chain = 0


def too_deep(text: str, levels: int = LEVELS) -> tuple[int, int] | None:
    """Row and column (from 1) where a text nests deeper than `BRACKETS` or `levels`, None where it nowhere does."""
    at = _Scan(text, levels).run()
    if at is None:
        return None
    at = max(at - 1, 0)  # the scan has a line end in front
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def logical_lines(text: str, start: int, end: int) -> Iterator[int]:
    """Where the lines of a part of a text begin, without those that continue a string, a bracket or a joined line.

    `start` is such a line itself. Lines that hold a comment or nothing are among them.
    """
    for at in _Scan(text[start:end], len(text)).lines():
        yield start + at


class _Scan:
    def __init__(self, text: str, most: int) -> None:
        self._text = "\n" + text
        self._most = most
        self._frames = [_Frame("file")]
        self._levels = 0
        # Length of the chain of `elif` so far, by its indentation.
        self._branches: dict[int, int] = {}
        self._brackets = BRACKETS
        # Where the line begins that the last step came to, if it did.
        self._end = -1

    def run(self) -> int | None:
        at = 0
        while True:
            following = self._step(at)
            if following is None:
                return None
            if len(self._frames) - 1 > self._brackets or self._levels > self._most:
                return at
            at = following

    def lines(self) -> Iterator[int]:
        """Where logical lines begin."""
        at: int | None = 0
        while at is not None:
            outside = self._frames[-1].kind == "file"
            self._end = -1
            at = self._step(at)
            if outside and self._end >= 0:
                yield self._end

    def _step(self, at: int) -> int | None:
        top = self._frames[-1]
        if top.kind == "text":
            return self._in_text(top, at)
        if top.kind == "specification":
            return self._in_specification(top, at)
        return self._in_code(top, at)

    def _push(self, frame: _Frame) -> None:
        self._frames.append(frame)
        self._levels += 1

    def _pop(self) -> None:
        self._levels -= self._frames.pop().chain + 1

    def _link(self, frame: _Frame, count: int = 1) -> None:
        frame.chain += count
        self._levels += count

    def _restart(self, frame: _Frame) -> None:
        self._levels -= frame.chain
        frame.chain = 0

    def _in_code(self, top: _Frame, at: int) -> int | None:
        found = CODE.search(self._text, at)
        if found is None:
            return None
        kind = found.lastgroup
        if kind == "quote":
            self._link(top)
            quote = found["quote"]
            if found["joined"]:
                self._push(_Frame("text", quote, "r" in found["joined"].lower()))
                return found.end()
            return self._behind_string(quote, found.end())
        if kind == "open":
            self._push(_Frame(found.group()))
        elif kind == "close":
            self._close(top, found.group())
        elif kind in ("end", "branch"):
            if top.kind == "file":
                self._restart(top)
                self._branch(found)
                if found.group() != ";":
                    # The scan has a line end in front.
                    self._end = found.start()
        elif kind == "comma":
            self._restart(top)
        elif kind == "operator":
            # `-----a` is one run of signs and five levels.
            self._link(top, 1 if found.group().isalpha() else len(found.group()))
        elif kind == "delete":
            self._brackets = PATTERN_BRACKETS
        elif kind == "colon" and top.kind == "field":
            self._push(_Frame("specification", top.quote))
        return found.end()

    def _close(self, top: _Frame, bracket: str) -> None:
        if top.kind == "field" and bracket != "}":
            return
        if top.kind != "file":
            self._pop()
        if self._frames[-1].kind != "text":
            self._link(self._frames[-1])

    def _branch(self, found: re.Match[str]) -> None:
        self._brackets = PATTERN_BRACKETS if found["branch"] == "case" else BRACKETS
        if found["branch"] not in ("if", "elif"):
            return
        indent = found.start("branch") - found.start()
        for other in [key for key in self._branches if key > indent or (key == indent and found["branch"] == "if")]:
            self._levels -= self._branches.pop(other)
        if found["branch"] == "elif":
            self._branches[indent] = self._branches.get(indent, 0) + 1
            self._levels += 1

    def _behind_string(self, quote: str, at: int) -> int:
        pattern = PLAIN[quote]
        while True:
            found = pattern.search(self._text, at)
            if found is None:
                return len(self._text)
            at = found.end()
            if found.group() == quote:
                return at

    def _in_text(self, top: _Frame, at: int) -> int | None:
        found = (RAW_TEXT if top.raw else TEXT).search(self._text, at)
        if found is None:
            return None
        token = found.group()
        if token == "{":
            self._push(_Frame("field", top.quote))
        elif self._ends(token, top.quote):
            self._pop()
            return found.start() + len(top.quote if token != "\n" else token)
        elif token in ('"""', "'''"):
            return found.start() + 1
        return found.end()

    def _in_specification(self, top: _Frame, at: int) -> int | None:
        found = SPECIFICATION.search(self._text, at)
        if found is None:
            return None
        token = found.group()
        if token == "{":
            self._push(_Frame("field", top.quote))
        elif token == "}":
            self._pop()
            self._pop()
        elif self._ends(token, top.quote):
            while self._frames[-1].kind != "text":
                self._pop()
            self._pop()
            return found.start() + len(top.quote if token != "\n" else token)
        elif token in ('"""', "'''"):
            return found.start() + 1
        return found.end()

    @staticmethod
    def _ends(token: str, quote: str) -> bool:
        if token == "\n":
            return len(quote) == 1
        return token.startswith(quote)
