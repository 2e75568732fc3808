"""Examples of rules as text, with the rows marked where a finding may be: rows that are counted by hand go wrong."""

from __future__ import annotations

from cachesafe_rules.api import Example

__all__ = ["bad", "good"]

_MARK = "  # <--"


def good(code: str, filename: str = "example.py") -> Example:
    """A program that is fine; the first newline is left out."""
    return Example(code.removeprefix("\n"), (), filename)


def bad(code: str, filename: str = "example.py") -> Example:
    """A program with a finding at one of the lines that end in the mark `# <--`; the marks are taken out."""
    lines = code.removeprefix("\n").split("\n")
    rows = tuple(row for row, line in enumerate(lines, 1) if line.endswith(_MARK))
    if not rows:
        raise ValueError(f"no line of the example ends in {_MARK!r}")
    return Example("\n".join(line.removesuffix(_MARK) for line in lines), rows, filename)
