"""Words looked for by their roots; documentation left out of what rules are asked about."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from cachesafe_rules.registry import known_codes
from pytest_cachesafe.lint.docstrings import code_of
from pytest_cachesafe.lint.literals import Literals
from pytest_cachesafe.lint.parse import parse
from pytest_cachesafe.lint.rule_set import RuleSet

NEEDLES = sorted({needle for rule in RuleSet(known_codes()).on_trees() for needle in rule.needles})
PIECES = st.one_of(
    st.sampled_from(NEEDLES),
    st.sampled_from([needle[1:] for needle in NEEDLES]),
    st.sampled_from([b"essages", b"tool", b"istory", b"\n", b'"', b"Buffer"]),
    st.binary(max_size=6),
)


@given(st.lists(PIECES, max_size=12).map(b"".join), st.sets(st.sampled_from(NEEDLES)))
@settings(deadline=None)
def test_the_answers_are_those_of_asking_for_each_word(data: bytes, words: set[bytes]) -> None:
    literals = Literals(sorted(words))
    assert literals.found(data) == {word for word in words if word in data}
    assert literals.any(data) == any(word in data for word in words)


def test_a_root_that_is_a_word_itself_is_found() -> None:
    literals = Literals([b"tools", b"bind_tools"])
    assert literals.any(b"tools")
    assert literals.found(b"x tools") == {b"tools"}
    assert literals.found(b"bind_tools") == {b"tools", b"bind_tools"}


DOCUMENTED = '''"""One.

messages=[1]
"""
x = """
kept=1
"""
class A:
    """One row: kept."""
    def f(self):
        """first
        messages=[2]
        """; history = 3
        async def g():
            \'\'\'a

            tools=[4]\'\'\'
'''


def test_the_inner_rows_of_docstrings_go_and_code_stays() -> None:
    code = code_of(parse(DOCUMENTED.encode(), "a.py"))
    assert code is not None
    text = code.decode()
    assert "messages=" not in text
    for kept in ("kept=1", "One row: kept.", "history = 3", "tools=[4]", "async def g"):
        assert kept in text


def test_a_file_without_documentation_of_several_rows_is_not_copied() -> None:
    assert code_of(parse(b'"""One."""\nx = 1\n', "a.py")) is None
    assert code_of(parse(b"def", "a.py")) is None


@given(
    st.lists(
        st.sampled_from(['"""a', "b", '"""', "def f():", "    x = 1", "    '''c", "    '''", "y = 2"]), max_size=12
    )
)
@settings(deadline=None, max_examples=tries(300))
def test_what_stands_outside_of_constants_is_never_lost(rows: list[str]) -> None:
    parsed = parse("\n".join(rows).encode(), "a.py")
    code = code_of(parsed)
    if parsed.tree is None or code is None:
        return
    kept = code.splitlines()
    held = {node.lineno for node in ast.walk(parsed.tree) if isinstance(node, ast.Name)}
    assert all(rows[row - 1].encode() in kept for row in held)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_are_those_of_python_whatever_ends_them(end: str) -> None:
    text = end.join(['"""a', "messages=1", '"""', "tools = 2", ""])
    code = code_of(parse(text.encode(), "a.py"))
    assert code is not None
    assert b"messages" not in code
    assert b"tools = 2" in code
