"""The view of a file: places, conditions, message lists, and that no tree is too deep or too odd for it."""

from __future__ import annotations

import ast
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachesafe_rules.expressions import parts_of, walk, words
from cachesafe_rules.model import Call, Expr, ModuleView
from pytest_cachesafe.lint.view import build_view
from tests.support.lint_examples import view_of


def call(view: ModuleView, name: str) -> Call:
    return next(found for found in view.calls if found.name == name)


def test_imports_give_the_target() -> None:
    view = view_of(
        "import numpy as np\nfrom openai import OpenAI as O\nfrom .a import b\nfrom . import c\n"
        "np.random.shuffle(x)\nO()\nb()\nc.d()\nother.e()\n"
    )
    assert [found.target for found in view.calls] == [
        "numpy.random.shuffle",
        "openai.OpenAI",
        ".a.b",
        ".c.d",
        "other.e",
    ]


def test_places_count_characters_from_one() -> None:
    view = view_of('def f():\n    x = "ü€"; g(1)\n')
    found = call(view, "g").span
    assert (found.row, found.column, found.end_row, found.end_column) == (2, 15, 2, 19)


def test_functions_classes_and_loops() -> None:
    view = view_of(
        "class A:\n"
        "    def run(self, x, *, y=a()):\n"
        "        for i in b():\n"
        "            c(i)\n"
        "        def inner():\n"
        "            return d()\n"
        "        return [e(z) for z in x]\n"
    )
    known = {found.name: (found.function, found.in_loop) for found in view.calls}
    assert known == {
        "a": ("", False),
        "b": ("A.run", False),
        "c": ("A.run", True),
        "d": ("A.run.inner", False),
        "e": ("A.run", True),
    }
    assert view.functions["A.run"].parameters == ("self", "x", "y")
    assert view.functions["A.run.inner"].owner == "A"


def test_conditions_of_branches_and_of_what_follows_them() -> None:
    view = view_of(
        "def f(a, b):\n"
        "    if a:\n"
        "        one()\n"
        "    elif b:\n"
        "        two()\n"
        "    else:\n"
        "        three()\n"
        "    if a > b:\n"
        "        return\n"
        "    four()\n"
        "    while b:\n"
        "        five()\n"
        "    try:\n"
        "        six()\n"
        "    except E:\n"
        "        seven()\n"
    )

    def conditions(name: str) -> list[tuple[str, bool]]:
        return [(item.kind, item.negated) for item in call(view, name).conditions]

    assert conditions("one") == [("if", False)]
    assert conditions("two") == [("if", True), ("if", False)]
    assert conditions("three") == [("if", True), ("if", True)]
    assert conditions("four") == [("left", True)]
    assert conditions("five") == [("left", True), ("while", False)]
    assert conditions("six") == [("left", True)]
    assert conditions("seven") == [("left", True), ("except", False)]


@pytest.mark.parametrize(
    ("code", "roles"),
    [
        ("[{'role': 'system', 'content': 'a'}, *h, {'role': 'user', 'content': q}]", ["system", "*", "user"]),
        ("[{'role': 'developer', 'content': 'a'}] + h + [dict(role='user', content=q)]", ["system", "*", "user"]),
        ("[SystemMessage('a'), MessagesPlaceholder('h'), HumanMessage(content=q)]", ["system", "*", "user"]),
        ("[('system', 'a'), ('placeholder', '{h}'), ('human', '{q}')]", ["system", "*", "user"]),
        ("[ChatMessage(role=MessageRole.SYSTEM, content='a'), x]", ["system", ""]),
        ("h + [{'role': role, 'content': q}]", ["*", "role"]),
    ],
)
def test_message_lists(code: str, roles: list[str]) -> None:
    (found,) = view_of(f"x = {code}\n").lists
    assert [item.role for item in found.items] == roles


@pytest.mark.parametrize("code", ["[1, 2]", "[('a', 'b')]", "a + b", "[{'name': 'x'}]", "[*a, *b]", "'a' + [b][0]"])
def test_other_lists_are_none(code: str) -> None:
    assert view_of(f"x = {code}\n").lists == []


def test_bindings() -> None:
    view = view_of(
        "a = 1\nb: int = 2\nc: int\nd += 3\nfor e in f: pass\nwith g as h: pass\ndel i[0]\n(j := 4)\n"
        "def k():\n    return 5\n"
    )
    assert [(item.operator, item.target and item.target.name, item.function) for item in view.bindings] == [
        ("=", "a", ""),
        ("=", "b", ""),
        ("+=", "d", ""),
        ("for", "e", ""),
        ("with", "h", ""),
        ("del", None, ""),
        (":=", "j", ""),
        ("return", None, "k"),
    ]


def test_expressions() -> None:
    view = view_of("x = f'{a} b' + c.d[-2:] if not e else [*g, (await h(1)), {'k': 2, **m, n: 3}, -4]\n")
    value = view.bindings[0].value
    assert value is not None
    test, then, other = value.items
    assert (value.kind, test.name, then.name, other.kind) == ("conditional", "not", "+", "list")
    left, right = then.items
    assert ([part.kind for part in left.items], left.items[1].value) == (["name", "constant"], " b")
    assert (right.kind, right.items[0].name, right.items[1].kind) == ("subscript", "c.d", "slice")
    lower, upper, step = right.items[1].items
    assert (lower.value, upper.value, step.value) == (-2, None, None)
    star, awaited, table, number = other.items
    assert (star.kind, star.items[0].name, awaited.kind, number.value) == ("star", "g", "call", -4)
    assert awaited.call is not None
    assert awaited.call.name == "h"
    assert (list(table.entries), [item.kind for item in table.items]) == (["k"], ["name", "constant"])


def test_taints_are_asked_for_an_expression_when_it_is_read() -> None:
    asked: list[str] = []

    def taints(node: ast.AST) -> tuple[()]:
        asked.append(ast.unparse(node))
        return ()

    view = build_view(ast.parse("x = f(1)\ny = g(2)\n"), "a.py", lambda row, offset: offset + 1, taints)
    assert asked == []
    assert view.bindings[1].value is not None
    assert view.bindings[1].value.taints == ()
    assert asked == ["g(2)"]


@pytest.mark.parametrize(
    "code",
    [
        "x = " + " + ".join(["a"] * 900),
        "x = " + "+".join(["[1]"] * 900) + " + [{'role': 'user'}]",
        "x = " + "(" * 80 + "a" + ")" * 80,
        "x = " + "f(" * 90 + "a" + ")" * 90,
        "x = a" + ".b" * 900,
        "x = a" + "[0]" * 900,
        "if a: pass\n" + "elif a: f()\n" * 900,
        "x = " + "not " * 900 + "a",
    ],
    ids=["sum", "lists", "brackets", "calls", "attributes", "subscripts", "elif", "not"],
)
def test_deep_trees(code: str) -> None:
    """What Python's parser accepts does not end in a RecursionError here, at the usual limit."""
    try:
        ast.parse(code)
    except (RecursionError, MemoryError, SyntaxError):
        pytest.skip("this Python's own parser gives up")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        view = view_of_plain(code)
        for expr in [item.value for item in view.bindings]:
            if expr is not None:
                assert len(list(walk(expr))) > 0
                assert words(expr) is not None
                assert parts_of(expr)
    finally:
        sys.setrecursionlimit(limit)


def view_of_plain(code: str) -> ModuleView:
    return build_view(ast.parse(code), "a.py", lambda row, offset: offset + 1, lambda node: ())


STDLIB = Path(sysconfig.get_path("stdlib"))
FILES = sorted(path for path in STDLIB.glob("*.py"))


@given(st.sampled_from(FILES))
@settings(deadline=None, max_examples=15)
def test_every_call_once_and_in_order(path: Path) -> None:
    """The view holds each call of a real file exactly once, in the order of the source by rows within a function."""
    tree = ast.parse(path.read_bytes())
    view = build_view(tree, "a.py", lambda row, offset: offset + 1, lambda node: ())
    places = sorted(
        (node.lineno, node.col_offset + 1, node.end_lineno) for node in ast.walk(tree) if isinstance(node, ast.Call)
    )
    found = [(item.span.row, item.span.column, item.span.end_row) for item in view.calls]
    assert sorted(found) == places
    assert {item.function for item in view.calls} <= {"", *view.functions}


def reached(expr: Expr) -> int:
    return sum(1 for _ in walk(expr))


def test_walk_is_bounded() -> None:
    view = view_of("x = {" + ", ".join(f"'k{n}': [{n}, {n}]" for n in range(3000)) + "}\n")
    assert view.bindings[0].value is not None
    assert reached(view.bindings[0].value) == 2000
