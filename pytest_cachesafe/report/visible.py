"""Prompt text made harmless and visible: prompts are untrusted wherever they are printed.

A terminal must not obey them (escape sequences, bidirectional marks), a CI must not read commands in them, and a person
must see what differs although it is invisible (zero width, no-break space, line ends).
"""

from __future__ import annotations

import os
import re
import unicodedata
from typing import IO, Literal

__all__ = ["Redact", "clip", "display_width", "printable", "redact", "relative", "visible"]

Redact = Literal["none", "text", "hash"]

NEWLINE = "\u23ce"
ELLIPSIS = "\u2026"
_SHORT = {"\n": NEWLINE, "\t": "\\t", "\r": "\\r"}
# Fillers and variation selectors: letters and marks by category, blank or invisible on the screen.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u2800\u3164\uffa0")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# GitHub reads "::name" at the start of a line and "##[" anywhere, Azure "##vso[" and TeamCity "##teamcity[" anywhere.
_LINE_COMMAND = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
_COMMAND = re.compile(r"#(?=#(?:\[|vso\[|teamcity\[))", re.IGNORECASE)
# A checksum of a short text gives the text away to whoever tries them all.
_GUESSABLE = 16
_PLAIN = re.compile(r"[ -~]*")


def visible(text: str, *, keep_newlines: bool = False) -> str:
    """The text on one line, with everything a screen would hide or obey written as an escape.

    Line feeds show as ⏎ (or stay, with `keep_newlines`), other hidden characters as \\x1b, \\u202e and so on. The start
    of anything a CI reads as a command is escaped as well. Call it on excerpts: its cost grows with the text.
    """
    if not _PLAIN.fullmatch(text):
        text = "".join(_character(c, keep_newlines) for c in text)
    text = _COMMAND.sub(r"\\x23", text)
    return _LINE_COMMAND.sub(r"\1\\x3a", text)


def _character(character: str, keep_newlines: bool) -> str:
    if " " <= character <= "~":
        return character
    if character == "\n" and keep_newlines:
        return character
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    hidden = unicodedata.category(character) in _HIDDEN or character in _BLANK
    if hidden or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return escape(character)
    return character


def escape(character: str) -> str:
    """One character as Python writes it in a string."""
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clip(text: str, width: int) -> str:
    """At most `width` screen columns, ending in … where something was cut."""
    if display_width(text) <= width:
        return text
    kept, used = [], 0
    for character in text:
        used += _columns(character)
        if used > width - 1:
            break
        kept.append(character)
    return "".join(kept) + ELLIPSIS


def display_width(text: str) -> int:
    """Screen columns: wide characters take two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def redact(text: str, mode: Redact = "none") -> str:
    """Prompt text as the mode allows: `none` shows it, `text` its length only, `hash` length and a checksum.

    The checksum (12 hex digits of SHA-256 over the UTF-8 bytes) tells whether two texts are equal, not what they say.
    """
    if mode == "none":
        return visible(text)
    size = f"{len(text):,} character{'' if len(text) == 1 else 's'}"
    if mode == "text" or len(text) < _GUESSABLE:
        return f"[{size}]"
    from hashlib import sha256

    return f"[{size}, sha256 {sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}]"


def printable(text: str, stream: IO[str]) -> str:
    """What `stream` can encode: other characters become escapes, so that printing never fails."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        text = text.replace(NEWLINE, "\\n").replace(ELLIPSIS, "...")
        return "".join(c if _fits(c, encoding) else escape(c) for c in text)
    return text


def _fits(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return character.isascii()
    return True


def relative(filename: str) -> str:
    """Relative to here where that is shorter."""
    try:
        return min(os.path.relpath(filename), filename, key=len)
    except ValueError:
        return filename
