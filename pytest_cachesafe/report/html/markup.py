"""Elements whose content cannot become markup: only what `tag` made is taken as it is, everything else is text."""

from __future__ import annotations

from html import escape
from typing import Any

from pytest_cachesafe.report.visible import ELLIPSIS, visible

__all__ = ["Content", "Markup", "join", "short", "tag"]

# Elements that have no end tag.
_EMPTY = frozenset(("br", "meta"))
# No single value may be what makes a page large.
_LONGEST = 1_500


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Content = Markup | str | int | None


def tag(name: str, /, *content: Content, **attributes: str | int | bool | None) -> Markup:
    """An element.

    Args:
        content: markup as it is; other texts are made visible and escaped; None is nothing.
        attributes: `class_` and `for_` lose their line, other lines become hyphens; True is the bare name, and None or
            False leaves it out.
    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        shown = key.rstrip("_").replace("_", "-")
        words.append(shown if value is True else f'{shown}="{_text(str(value))}"')
    begin = f"<{' '.join(words)}>"
    return Markup(begin if name in _EMPTY else f"{begin}{join(content)}</{name}>")


def join(content: Any) -> Markup:
    """Several contents behind each other."""
    return Markup(
        "".join(item if isinstance(item, Markup) else _text(str(item)) for item in content if item is not None)
    )


def short(value: Any, most: int = _LONGEST) -> str:
    """A value as text, cut where it is longer than anyone reads."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text if len(text) <= most else text[: most - 1] + ELLIPSIS


def _text(value: str) -> str:
    return escape(visible(short(value)))
