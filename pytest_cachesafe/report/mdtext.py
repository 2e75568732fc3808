"""Text of others inside Markdown: code spans, code blocks and HTML in which nothing is markup, a link or a mention.

GitHub makes links of `@name`, `#1`, addresses and e-mail addresses in any text but code, whatever is escaped in it. So
everything that is no word of ours stands in code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from pytest_cachesafe.report.visible import clip, visible

__all__ = ["NOTHING", "block", "code", "html_code"]

NOTHING = "–"
# Columns of a code span; what is longer is cut.
_WIDTH = 160
_RUN = re.compile("`+")
_PIPE = re.compile(r"(\\*)\|")


def code(text: str, width: int = _WIDTH, *, cell: bool = True) -> str:
    """A code span on one line.

    Args:
        text: anything; width: columns that are shown of it.
        cell: it stands in a table, where `|` ends a cell even inside code unless there is a backslash in front.
    """
    shown = clip(visible(text[: 4 * width]), width)
    if not shown.strip():
        return NOTHING
    if cell:
        # Readers disagree on what a backslash means that stands in front of an escaped pipe.
        shown = _PIPE.sub(lambda found: rf"{found[1]}\x7c" if found[1] else r"\|", shown)
    fence = "`" * (_longest(shown) + 1)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def html_code(text: str, width: int = _WIDTH) -> str:
    """Text inside a block of HTML, as code."""
    shown = clip(visible(text[: 4 * width]), width)
    return f"<code>{escape(shown)}</code>" if shown.strip() else NOTHING


def block(lines: Iterable[str], width: int = 400) -> str:
    """A code block; every line is made harmless by itself."""
    shown = [clip(visible(line[: 4 * width]), width) for line in lines]
    fence = "`" * max(3, max(map(_longest, shown), default=0) + 1)
    return "\n".join([f"{fence}text", *shown, fence])


def _longest(text: str) -> int:
    """Length of the longest run of backticks."""
    return max((len(run) for run in _RUN.findall(text)), default=0)
