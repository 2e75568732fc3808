"""A clock in the last lines of a template that is filled for one question: nothing behind it is sent again.

`one_shot` judges texts that stand in the file of the report. Here the text is a template: a file of its own, named
where the value is filled in, or a constant of another file. Both must be seen: that no more than a closing line of it
stands between the value and the question, and that every request it goes into is that text and one question.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.files import Files
from pytest_cachesafe.lint.evidence.prefix.behind import ASKED
from pytest_cachesafe.lint.evidence.prefix.fixed import is_at, sources_of
from pytest_cachesafe.lint.evidence.prefix.one_shot import OneShot
from pytest_cachesafe.lint.evidence.prefix.single_requests import CLOSING
from pytest_cachesafe.lint.evidence.trees import Function, called, spelt

if TYPE_CHECKING:
    from cachesafe_rules.api import Report, Rule

__all__ = ["LastLines"]

_CODES = frozenset({"CSF101", "CSF103"})
_FILLED = lazy_pattern(r"(?:fills |reaches the placeholder )\{(\w+)\}")
_END = lazy_pattern(r"(?:also )?reaches (?:the )?(?:system message|SystemMessage|first message|.* of the request)")
_NAMED = lazy_pattern(r"\{(\w+)\}$")
_PLACE = lazy_pattern(r"\{\{?-?\s*([A-Za-z_]\w*)[^{}]*\}\}?")
_INCLUDED = lazy_pattern(r"\{%-?\s*include\s+['\"]([^'\"]+)['\"][^%]*%\}")
_TAGS = lazy_pattern(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_CLOCK = lazy_pattern(r"(?:^|_)(?:now|time|timestamp|date|datetime|today)(?:_|$)")
_DEPTH = 3
_LARGEST = 200_000

_At = tuple[Function, frozenset[int], list[Mapping[str, Any]]]


class LastLines:
    """Asks it of reports. `seen` gives the files of the project, of its `templates` as well; `told` are all
    reports, since one on a name says where its text goes on to in the reports that come by its row."""

    def __init__(
        self,
        files: Sequence[str],
        seen: Files,
        templates: Sequence[str],
        told: Mapping[str, Sequence[tuple[Rule, Report]]],
    ) -> None:
        self._files = files
        self._templates = templates
        self._told = told
        self._seen = seen
        self._once: dict[str, OneShot] = {}

    def holds(self, code: str, report: Report) -> bool:
        """Whether the value of a report stands at the end of the text of one question."""
        if code not in _CODES or report.data.get("part") != "system" or not report.span.filename.endswith(".py"):
            return False
        try:
            texts = self._texts(report) if self._is_asked_once(report) else []
            return bool(texts) and all(_is_last(*one) for one in texts)
        except RecursionError:
            return False

    # The request

    def _is_asked_once(self, report: Report) -> bool:
        span = report.span
        if self._is_single(span.filename, span.row, span.end_row):
            return True
        ends = set()
        for other in self._by_row.get((span.filename, span.row), ()):
            found = {(step.filename, step.row) for step in other.steps if _END.match(step.message)}
            # The call that hands the text on is told as an end of its own.
            ends |= found - {(step.filename, step.row) for step in other.steps if step.message == "passed on here"}
        return bool(ends) and all(self._is_single(name, row, row) for name, row in ends)

    @cached_property
    def _by_row(self) -> dict[tuple[str, int], list[Report]]:
        """The reports by the rows that their values come by."""
        found: dict[tuple[str, int], list[Report]] = {}
        for reports in self._told.values():
            for rule, report in reports:
                if rule.code in _CODES:
                    for place in {(step.filename, step.row) for step in report.steps}:
                        found.setdefault(place, []).append(report)
        return found

    def _is_single(self, name: str, row: int, end: int) -> bool:
        if name not in self._once:
            self._once[name] = OneShot(name, self._seen)
        return self._once[name].is_single(row, end)

    # The text

    def _texts(self, report: Report) -> list[tuple[str, str]]:
        """The templates that are named where the value is filled in, each with the placeholder; where none is, all of
        the project's that print it."""
        fields = {found[1] for step in report.steps if (found := _FILLED.match(step.message)) is not None}
        near: set[str] = set()
        names: set[str] = set()
        constants: set[str] = set()
        for function, rows, sources in self._places(report):
            for node in ast.walk(function):
                if isinstance(node, ast.Call):
                    given = _filled(node, rows)
                    near |= given.keys()
                    fields |= {
                        name
                        for name, value in given.items()
                        if any(is_at(p, s) for s in sources for p in ast.walk(value))
                    }
                    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
                    if receiver is not None and spelt(receiver).isupper() and (given or called(node) == "format"):
                        constants.add(spelt(receiver))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
                    names.add(node.value.replace("\\", "/").rpartition("/")[2])
        texts = [self._expanded(path) for name in names for path in self._by_name.get(name, ())]
        texts += [text for name in constants for text in self._constants(name)]
        # Where the value itself is not given to a placeholder, what is given in its rows is.
        fields = fields or near
        named = [(text, field) for text in texts for field in fields if _has(text, field)]
        return named or [(text, field) for field in fields for text in self._whole if _has(text, field)]

    @cached_property
    def _whole(self) -> list[str]:
        """All templates but those that are put into others."""
        read = {path: (self._seen.read(path) or b"")[:_LARGEST].decode("utf-8", "replace") for path in self._templates}
        parts = {found[1].rpartition("/")[2] for text in read.values() for found in _INCLUDED.finditer(text)}
        return [self._expanded(path) for path in read if path.rpartition("/")[2] not in parts]

    def _places(self, report: Report) -> Iterator[_At]:
        """The functions that the value comes by, with its rows and the values of their file."""
        rows: dict[str, set[int]] = {}
        for name, row in [(step.filename, step.row) for step in report.steps] + [
            (source["filename"], source["row"]) for source in sources_of(report)
        ]:
            rows.setdefault(name, set()).add(row)
        for name, found in rows.items():
            functions = {id(f): f for row in found if (f := self._seen.around(name, row)) is not None}
            sources = [source for source in sources_of(report) if source["filename"] == name]
            for function in functions.values():
                yield function, frozenset(found), sources

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """The templates by the names that code calls them by: with the suffix and without."""
        found: dict[str, list[str]] = {}
        for path in self._templates:
            base = path.rpartition("/")[2]
            for name in {base, os.path.splitext(base)[0], base.partition(".")[0]}:
                found.setdefault(name, []).append(path)
        return found

    def _expanded(self, path: str, depth: int = _DEPTH) -> str:
        """A template with those that it includes."""
        data = self._seen.read(path) or b""
        text = data[:_LARGEST].decode("utf-8", "replace")

        def put_in(found: re.Match[str]) -> str:
            near = self._by_name.get(found[1].rpartition("/")[2], ())
            return self._expanded(near[0], depth - 1) if depth and len(near) == 1 else ""

        return _INCLUDED.sub(put_in, text)

    def _constants(self, name: str) -> list[str]:
        """The texts of that name in the project's modules."""
        word = re.compile(rb"^\s*" + name.encode() + rb"\b[^=\n]*=", re.MULTILINE)
        found = []
        for file in self._files:
            data = self._seen.read(file) if file.endswith(".py") else None
            if data is not None and word.search(data) and name in self._seen[file].constants:
                found.append(self._seen[file].constants[name])
        return found


def _filled(call: ast.Call, rows: frozenset[int]) -> dict[str, ast.expr]:
    """The placeholders that a call gives a value to in one of the rows."""
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if called(call) == "replace" and len(call.args) == 2:
        place = call.args[0].value if isinstance(call.args[0], ast.Constant) else None
        found = _NAMED.match(place) if isinstance(place, str) else None
        if found is not None:
            given[found[1]] = call.args[1]
    return {name: node for name, node in given.items() if not isinstance(node, ast.Constant) and _is_in(node, rows)}


def _holds(value: ast.expr, sources: Sequence[Mapping[str, Any]]) -> bool:
    """Whether one of the values is read in an expression."""
    return any(is_at(part, source) for source in sources for part in ast.walk(value))


def _is_in(node: ast.expr, rows: frozenset[int]) -> bool:
    return any(node.lineno <= row <= (node.end_lineno or node.lineno) for row in rows)


def _has(text: str, field: str) -> bool:
    return any(found[1] == field for found in _PLACE.finditer(text))


def _is_last(text: str, field: str) -> bool:
    """Whether between the last place of a value and the question, or the end, stands no more than a closing line, and
    something worth keeping in front of the first."""
    text = _TAGS.sub("", text)
    found = [(m.start(), m.end(), m[1]) for m in _PLACE.finditer(text)]
    first = next(start for start, _, name in found if name == field)
    # Other clocks beside it change as it does.
    places = [(start, end) for start, end, name in found if start >= first and (name == field or _CLOCK.search(name))]
    asked = [start for start, _, name in found if start > places[-1][1] and ASKED.search(name.lower())]
    behind = text[places[-1][1] : min(asked, default=len(text))]
    return len(_PLACE.sub("", text[: places[0][0]]).strip()) >= CLOSING > len(_PLACE.sub("", behind).strip())
