"""Prompt templates that read a clock themselves: `{{ now() }}` in a Jinja file is in no line of Python.

What Python code fills a template with is the flow analysis' business. A template is text: it is searched, not rendered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from cachesafe_rules.model import Arrival, Source, Span, Taint
from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.clock import of_format
from pytest_cachesafe.lint.text import decoded, split_rows

__all__ = ["arrivals_in"]

_SINK = "prompt template"
# Half of the templates of the world are web pages and configuration: what is a prompt says so.
_NAMED = lazy_pattern(r"prompt|chat|system|instruct|agent|persona", re.IGNORECASE)
_SAYS = (b"strftime_now", b"messages", b"You are", b"you are")
_JINJA = (".jinja", ".jinja2", ".j2", ".prompt")

_CLOSERS = {"{{": "}}", "{%": "%}", "{#": "#}"}
_RAW = lazy_pattern(r"-?\s*raw\b")
_END_RAW = lazy_pattern(r"\{%-?\s*endraw\b")
_CALL = lazy_pattern(
    r"(?<![\w.])((?:(?:datetime|date|dt|time|timezone|pendulum|arrow)\.)*"
    r"(?:now|utcnow|today|strftime_now|current_time|current_date|current_datetime))\s*\("
    r"|(?<![\w.])(time\.time|time\.strftime)\s*\("
)
# The tag of jinja2-time: `{% now 'utc', '%Y' %}`.
_TAG = lazy_pattern(r"[-+]?\s*(now)\s+['\"]")
_SET = lazy_pattern(r"\{%[-+]?\s*set\s+(\w+)\s*=")
_PLACE = lazy_pattern(r"[-+]?\s*(now|utcnow|today)\b(?!\s*[(=])")
_STRING = lazy_pattern(r"'[^']*'|\"[^\"]*\"")


class _Tag(NamedTuple):
    opener: str
    start: int
    end: int


def arrivals_in(name: str, data: bytes) -> list[Arrival]:
    """The clocks that a template file reads by itself; empty for a file that is no prompt template."""
    if not (_NAMED.search(name) or (name.endswith(_JINJA) and any(word in data for word in _SAYS))):
        return []
    text = decoded(data)
    rows: _Rows | None = None
    found = []
    for tag in _tags(text):
        body = text[tag.start + 2 : tag.end - 2]
        spelt = _clock(tag.opener, body)
        if spelt is not None and _printed(tag, text):
            rows = rows or _Rows(text)
            span = Span(name, *rows.place(tag.start), *rows.place(tag.end))
            source = Source("clock", _granularity(spelt, body), spelt, span)
            found.append(Arrival(_SINK, "template", span, "template", (Taint(source),)))
    return found


def _tags(text: str) -> Iterator[_Tag]:
    """The tags outside of comments and raw blocks, in one pass whatever is left open."""
    at = text.find("{")
    while at >= 0:
        opener = text[at : at + 2]
        closer = _CLOSERS.get(opener)
        if closer is None:
            at = text.find("{", at + 1)
            continue
        end = text.find(closer, at + 2)
        if end < 0:
            # Nothing of this kind is closed any more; what follows is broken for Jinja as well.
            return
        end += 2
        if opener == "{%" and _RAW.match(text, at + 2, end):
            over = _END_RAW.search(text, end)
            if over is None:
                return
            end = over.end()
        elif opener != "{#":
            yield _Tag(opener, at, end)
        at = text.find("{", end)


def _printed(tag: _Tag, text: str) -> bool:
    """Whether what a tag reads is printed: by itself, or by way of a variable that another tag prints or copies."""
    given = _SET.match(text, tag.start, tag.end)
    if given is None:
        return True
    name = re.compile(rf"(?<![\w.]){re.escape(given[1])}\b(?!\s*=[^=])")
    for other in _tags(text):
        copied = _SET.match(text, other.start, other.end)
        if other.opener == "{{" or copied is not None:
            start = other.start if copied is None else copied.end()
            if other.start != tag.start and name.search(text, start, other.end):
                return True
    return False


def _clock(opener: str, body: str) -> str | None:
    """The clock that a tag reads, as it is spelt."""
    tag = _TAG.match(body) if opener == "{%" else None
    if tag is not None:
        return "{% now %}"
    code = _STRING.sub(lambda match: "_" * len(match[0]), body)
    call = _CALL.search(code)
    if call is not None:
        return f"{call[1] or call[2]}()"
    place = _PLACE.match(code) if opener == "{{" else None
    return None if place is None else f"{{{{ {place[1]} }}}}"


def _granularity(spelt: str, body: str) -> str:
    formats = [text[1:-1] for text in _STRING.findall(body) if "%" in text]
    written = of_format(" ".join(formats)) if formats else None
    if written is not None:
        return written
    return "day" if "today" in spelt or "date()" in spelt.removesuffix("datetime()") else "second"


class _Rows:
    """Rows and columns (from 1) of offsets in a text."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        at = 0
        for row in split_rows(text):
            self._starts.append(at)
            at += len(row)
            at += 2 if text.startswith("\r\n", at) else 1

    def place(self, offset: int) -> tuple[int, int]:
        from bisect import bisect_right

        row = bisect_right(self._starts, offset)
        return row, offset - self._starts[row - 1] + 1
