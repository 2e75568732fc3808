"""The fix of the rules on order: found through the source of an arrival, kept apart by what is proved."""

from __future__ import annotations

import pytest

from cachesafe_rules.api import Context, Fix
from cachesafe_rules.model import Arrival, ModuleView, Source, Span, Step, Taint
from cachesafe_rules.registry import load_rules

NAME = "app.py"


def fix_of(code: str, kind: str, text: str, source: str, sink: str) -> Fix | None:
    """The fix for a value that arises at the text `source` and arrives in the line that holds `sink`."""
    rows = text.split("\n")
    row = next(number for number, line in enumerate(rows, 1) if source in line)
    column = rows[row - 1].index(source) + 1
    origin = Source(kind, "process", source, Span(NAME, row, column, row, column + len(source)))
    row = next(number for number, line in enumerate(rows, 1) if sink in line)
    place = Span(NAME, row, 5, row, len(rows[row - 1]) + 1)
    arrival = Arrival(
        "system message", "system", place, "system_prompt", (Taint(origin, (Step(NAME, row, "joined into a string"),)),)
    )
    [rule] = load_rules([code])
    [report] = rule.check(Context(NAME, ModuleView(NAME, arrivals=[arrival])))
    return rule.fix(report, text)


def applied(text: str, fix: Fix) -> str:
    rows = text.split("\n")
    for edit in sorted(fix.edits, key=lambda e: (e.span.row, e.span.column), reverse=True):
        span = edit.span
        assert span.row == span.end_row
        line = rows[span.row - 1]
        rows[span.row - 1] = line[: span.column - 1] + edit.text + line[span.end_column - 1 :]
    return "\n".join(rows)


def test_a_set_of_strings_is_sorted_safely() -> None:
    text = 'def system_prompt():\n    names = {"a", "b"}\n    return ", ".join(names)  # why\n'
    fix = fix_of("CSF201", "set", text, '{"a", "b"}', "return")
    assert fix is not None
    assert fix.applicability == "safe"
    assert applied(text, fix) == text.replace("join(names)", "join(sorted(names))")


def test_a_set_of_anything_is_sorted_unsafely() -> None:
    text = 'def system_prompt(things):\n    return ", ".join(f"{x}" for x in set(things))\n'
    fix = fix_of("CSF201", "set", text, "set(things)", "return")
    assert fix is not None
    assert fix.applicability == "unsafe"
    assert "in sorted(set(things))" in applied(text, fix)


@pytest.mark.parametrize("call", ['os.listdir("skills")', 'glob.glob("*.md")'])
def test_a_listing_is_sorted(call: str) -> None:
    text = f'import glob\nimport os\n\n\ndef system_prompt():\n    return ", ".join({call})\n'
    fix = fix_of("CSF202", "listing", text, call, "return")
    assert fix is not None
    assert f"sorted({call})" in applied(text, fix)


def test_nothing_is_offered_where_nothing_is_found() -> None:
    text = "def system_prompt(names):\n    return names.text\n"
    assert fix_of("CSF201", "set", text, "names.text", "return") is None
