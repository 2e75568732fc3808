"""Edits that rules make: what is safe, what is not proved, and that nothing around is touched."""

from __future__ import annotations

import ast

import pytest

from cachesafe_rules.api import Report
from cachesafe_rules.edits import add_keyword, places, sort_call, sort_keys_fix, sorted_fix
from cachesafe_rules.model import Span, Step
from tests.support.edit_text import NAME, applied, fixed, report, span_of

# Sorting


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('return ", ".join({"b", "a"})', 'return ", ".join(sorted({"b", "a"}))'),
        ('return ", ".join({t.name for t in ts})', 'return ", ".join(sorted({t.name for t in ts}))'),
        ('return [*{f"{t}" for t in ts}]  # c', 'return [*sorted({f"{t}" for t in ts})]  # c'),
        ("return list(set(map(str, ts)))", "return sorted(set(map(str, ts)))"),
        ("return tuple({str(t) for t in ts})", "return tuple(sorted({str(t) for t in ts}))"),
        ('return [t for t in {"b", "a"} | {str(t) for t in ts}]', None),
        ('return [t for t in frozenset(["b", "a"])]', 'return [t for t in sorted(frozenset(["b", "a"]))]'),
        ("return [t for t in {1, 2}]", "return [t for t in sorted({1, 2})]"),
        ('for t in ({"b", "a"}): print(t)', 'for t in sorted(({"b", "a"})): print(t)'),
        (
            'return ", ".join({t["name"].lower() for t in ts})',
            'return ", ".join(sorted({t["name"].lower() for t in ts}))',
        ),
    ],
)
def test_a_set_of_strings_that_is_walked_is_sorted_safely(before: str, after: str | None) -> None:
    text = f"def f(ts):\n    {before}\n"
    edits = sort_call(text, span_of(text, before))
    assert edits is not None
    ast.parse(applied(text, *edits))
    if after is not None:
        assert applied(text, *edits) == f"def f(ts):\n    {after}\n"
    # What is sorted is not found again.
    assert sort_call(applied(text, *edits), Span(NAME, 2, 5, 2, 5), proven=False) is None


@pytest.mark.parametrize(
    "code",
    [
        "return list(set(ts))",
        'return "".join(set(ts) for t in ts)[0], list({t.title for t in ts})',
        "return sep.join(set(ts))",
        'return [*{"a", 1}]',
        'return [*{"a", b"b"}]',
        'return [*({"a"} | {1})]',
        'return f"{set(map(str, ts))}"',
        'return str({"a", "b"})',
        "return [x for x in os.listdir(p)]",
        "return [x.stem for x in Path(p).iterdir()]",
        "return [x for x in glob.iglob(p)]",
    ],
)
def test_what_is_not_proved_is_sorted_only_when_asked(code: str) -> None:
    text = f"def f(ts, p):\n    {code}\n"
    span = span_of(text, code)
    assert sort_call(text, span) is None
    edits = sort_call(text, span, proven=False)
    assert edits is not None
    assert "sorted(" in applied(text, *edits)
    fix = sorted_fix(Report("m", span), text)
    assert fix is not None
    assert fix.applicability == "unsafe"


@pytest.mark.parametrize("code", ['", ".join({t.title for t in ts})', '", ".join(set(ts))', '"-" "+".join(set(ts))'])
def test_what_a_text_joins_compares(code: str) -> None:
    """Anything but strings raises, sorted or not."""
    text = f"def f(ts):\n    return {code}\n"
    edits = sort_call(text, span_of(text, code))
    assert edits is not None
    assert "join(sorted({" in applied(text, *edits) or "join(sorted(set(ts)))" in applied(text, *edits)


@pytest.mark.parametrize(
    ("head", "call", "safe"),
    [
        ("import os", "os.listdir(p)", True),
        ("import sys, os", "os.listdir(p)", True),
        ("import glob", "glob.glob(p)", True),
        ("import os.path", "os.listdir(p)", True),
        ("from files import os", "os.listdir(p)", False),
        ("import files as os", "os.listdir(p)", False),
        ("import os\nos = fake()", "os.listdir(p)", False),
        ("import os", "listdir(p)", False),
        ("import glob", "glob.iglob(p)", False),
        ("import glob", "p.glob(p)", False),
    ],
)
def test_names_of_files_compare(head: str, call: str, safe: bool) -> None:
    text = f"{head}\ndef f(p):\n    return [x for x in {call}]\n"
    code = f"return [x for x in {call}]"
    assert (sort_call(text, span_of(text, code)) is not None) == safe
    assert sort_call(text, span_of(text, code), proven=False) is not None


@pytest.mark.parametrize(
    "code",
    [
        "return sorted(set(ts))",
        "return sorted(list(set(ts)))",
        "return len(set(ts)), max({1, 2}), any(t for t in set(ts))",
        "return x in set(ts)",
        "return {t for t in set(ts)}",
        "names = set(ts)",
        "return set(ts)",
        "return os.scandir(p)",
        "return [*{'a'}, *{'b'}]",  # two: which one is meant is not known
        "return [x for x in ts]",
    ],
)
def test_what_has_an_order_or_needs_none_is_left_alone(code: str) -> None:
    text = f"def f(ts, x, p):\n    {code}\n"
    assert sort_call(text, span_of(text, code), proven=False) is None


def test_a_name_bound_once_is_sorted_where_it_is_walked() -> None:
    text = 'def f():\n    names = {"b", "a"}  # two\n    return ", ".join(names)\n'
    fix = sorted_fix(report(text, 'return ", ".join(names)', 2), text)
    assert fixed(text, fix) == text.replace("join(names)", "join(sorted(names))")
    assert fix is not None
    assert fix.applicability == "safe"


@pytest.mark.parametrize("more", ["names.add(1)", "fill(names)", "names |= other", "names = x", "global names"])
def test_a_name_that_may_hold_something_else_is_not_proved(more: str) -> None:
    text = f'def f(other, x):\n    names = {{"b", "a"}}\n    {more}\n    return [*names]\n'
    assert sort_call(text, span_of(text, "return [*names]")) is None


@pytest.mark.parametrize("line", ["sorted = my_sort", "def set(x): ...", "from x import sorted", "import x as list"])
def test_builtins_with_another_meaning_are_not_used(line: str) -> None:
    text = f'{line}\ndef f():\n    return ", ".join({{"a", "b"}})\n'
    assert sort_call(text, span_of(text, 'return ", ".join({"a", "b"})'), proven=False) is None


# Keywords


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("dumps(x)", "dumps(x, sort_keys=True)"),
        ("dumps(x, )", "dumps(x, sort_keys=True, )"),
        ("dumps()", "dumps(sort_keys=True)"),
        ("dumps((x))", "dumps((x), sort_keys=True)"),
        ("dumps(*x, indent=2)", "dumps(*x, indent=2, sort_keys=True)"),
        ("dumps(\n    x,  # data\n)", "dumps(\n    x, sort_keys=True,  # data\n)"),
        ("dumps(\n    x,\n    indent=2,\n)", "dumps(\n    x,\n    indent=2,\n    sort_keys=True,\n)"),
        ("dumps(x  # data\n    )", "dumps(x, sort_keys=True  # data\n    )"),
        ("dumps(x, sort_keys=False)", None),
        ("dumps(x, **options)", None),
        ("dumps(i for i in x)", None),
        ("dumps((i for i in x))", "dumps((i for i in x), sort_keys=True)"),
    ],
)
def test_a_keyword_is_added_behind_the_last_argument(call: str, after: str | None) -> None:
    text = f"y = {call}\n"
    edit = add_keyword(text, span_of(text, call), "sort_keys", "True")
    assert (None if edit is None else applied(text, edit)) == (None if after is None else f"y = {after}\n")


def test_only_a_call_takes_a_keyword() -> None:
    assert add_keyword("y = x\n", Span(NAME, 1, 5, 1, 6), "a", "1") is None
    assert add_keyword("y = x\n", Span(NAME, 9, 5, 9, 6), "a", "1") is None


@pytest.mark.parametrize(
    ("data", "level"),
    [
        ('{"a": 1, "b": [1, None, {"c": f"{x}"}]}', "safe"),
        ('{"a": str(x), "n": len(x), "t": x_typed}', "safe"),
        ("by_name", "safe"),
        ("local", "safe"),
        ("{}", "safe"),
        ('{"a": x}', "unsafe"),
        ('{x: 1, "b": 2}', "unsafe"),
        ('{**x, "b": 2}', "unsafe"),
        ("x", "unsafe"),
        ("{1: 2}", "unsafe"),
    ],
)
def test_keys_are_sorted_safely_where_all_are_strings(data: str, level: str) -> None:
    head = "import json\ndef f(x, x_typed: str, by_name: dict[str, dict[str, int]]):\n    local = {'k': 1}\n"
    text = f"{head}    return json.dumps({data})  # c\n"
    fix = sort_keys_fix(report(text, f"return json.dumps({data})"), text)
    assert f"json.dumps({data}, sort_keys=True)  # c" in fixed(text, fix)
    assert fix is not None
    assert fix.applicability == level


@pytest.mark.parametrize(
    "code",
    [
        'return {"function": {"name": n, "arguments": json.dumps({"a": 1})}}',
        "return Call(arguments=json.dumps({'a': 1}))",
        "arguments = json.dumps({'a': 1})",
        "return json.dumps(tool_call.args)",
        "return json.dumps(block.input)",
        "return orjson.dumps({'a': 1})",
        "return json.dumps({'a': 1}, sort_keys=True)",
        "return json.dumps({'a': 1}), json.dumps({'b': 1})",
    ],
)
def test_the_model_s_own_arguments_and_other_libraries_stay(code: str) -> None:
    text = f"import json, orjson\ndef f(n, tool_call, block):\n    {code}\n"
    assert sort_keys_fix(report(text, code), text) is None


def test_places_of_a_report_in_its_own_file() -> None:
    source = {"filename": NAME, "row": 3, "column": 2, "end_row": 3, "end_column": 9}
    told = Report(
        "m", Span(NAME, 5, 1, 5, 4), steps=(Step("b.py", 1, "x"), Step(NAME, 3, "y")), data={"sources": [source]}
    )
    assert places(told) == [Span(NAME, 5, 1, 5, 4), Span(NAME, 3, 2, 3, 9), Span(NAME, 3, 1, 3, 1)]
    assert places(told, "b.py") == [Span("b.py", 1, 1, 1, 1)]
