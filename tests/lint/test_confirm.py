"""Places are confirmed on libcst's tree: what Python's parser calls a node is one there as well; comments are none."""

from __future__ import annotations

import ast
import io
import random
import sysconfig
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from cachesafe_rules.model import Span
from pytest_cachesafe.lint.confirm import Located

STDLIB = Path(sysconfig.get_paths()["stdlib"])


def whole(text: str, tree: ast.Module | None = None) -> Located:
    return Located(text, "a.py", tree)


def at(text: str, code: str, nth: int = 0) -> Span:
    """The place of the nth occurrence of `code`."""
    offset = -1
    for _ in range(nth + 1):
        offset = text.index(code, offset + 1)
    row = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    end = offset + len(code)
    return Span("a.py", row, column, text.count("\n", 0, end) + 1, end - (text.rfind("\n", 0, end) + 1) + 1)


TEXT = '''"""Doc # no comment."""
import os  # c1

@deco(
    1,  # c2
)
async def build(
    history,
):  # c3
    # c4
    system = f"""It is
    {now()} # no comment
    """  # c5
    if (history
            and system):  # c6
        return [{"role": "system", "content": system}, *history]  # c7
    else:
        pass
    return (x for x in history), all(x for x in history)


class Ä:
    ü = "é"; v = (1, 2)
'''


@pytest.mark.parametrize(
    "code",
    [
        "import os",
        "now()",
        "system",
        '{"role": "system", "content": system}',
        'return [{"role": "system", "content": system}, *history]',
        "(x for x in history)",
        "ü",
        'ü = "é"',
        "v = (1, 2)",
        "(1, 2)",
        'ü = "é"; v = (1, 2)',
        "@deco(\n    1,  # c2\n)",
    ],
)
def test_a_node_s_own_place_is_confirmed_as_it_is(code: str) -> None:
    span = at(TEXT, code)
    assert whole(TEXT).confirm(span) == span


def test_a_run_of_statements_is_confirmed() -> None:
    text = "def f():\n    a = 1\n    b = 2  # c\n    c = 3\n"
    span = at(text, "a = 1\n    b = 2")
    assert whole(text).confirm(span) == span


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("ystem}, *hist", '[{"role": "system", "content": system}, *history]'),
        ("It is\n", 'f"""It is\n    {now()} # no comment\n    """'),
        ("  import os"[2:4], "import os"),
    ],
)
def test_a_part_of_a_node_gives_the_node_around_it(code: str, found: str) -> None:
    assert whole(TEXT).confirm(at(TEXT, code)) == at(TEXT, found)


def test_a_part_of_a_head_gives_the_head_alone() -> None:
    text = "with a(), \\\n        b():  # c\n    x = 1\n"
    assert whole(text).confirm(at(text, "with a(), \\\n        b")) == at(text, "with a(), \\\n        b():")


@pytest.mark.parametrize("code", ["# c1", "# c4", "# c3", "# c6", "c5", " \n"])
def test_a_comment_or_blank_is_no_code(code: str) -> None:
    text = TEXT + "\n \n"
    assert whole(text).confirm(at(text, code)) is None


@pytest.mark.parametrize(("row", "column"), [(0, 1), (99, 1), (2, 0), (2, 99), (3, 1)])
def test_a_place_that_is_not_there_is_not_confirmed(row: int, column: int) -> None:
    assert whole(TEXT).confirm(Span("a.py", row, column, row, column)) is None


def test_a_row_without_a_length_means_its_code() -> None:
    assert whole(TEXT).confirm(Span("a.py", 18, 1, 18, 1)) == at(TEXT, "pass")


def test_text_that_no_parser_reads_keeps_places_and_comments() -> None:
    located = whole("x = (  # c1\n")
    span = Span("a.py", 1, 1, 1, 2)
    assert located.confirm(span) == span
    assert located.comment(1) == (1, 8, "# c1")
    assert located.comment_rows(span) == (frozenset({1}), frozenset())


def test_very_deep_code_is_left_to_python_s_parser() -> None:
    text = "x = " + " + ".join(["a"] * 400) + "  # c\n"
    try:
        tree = ast.parse(text)
    except RecursionError:
        pytest.skip("this Python cannot parse it either")
    located = whole(text, tree)
    span = Span("a.py", 1, 5, 1, 6)
    assert located.confirm(span) == span


def test_comments_of_a_long_class_are_told_from_strings() -> None:
    body = "".join(f"    # own {i}\n    def m{i}(self):\n        return '# no {i}'  # c{i}\n\n" for i in range(200))
    located = whole("class A:\n    '''# no'''\n" + body)
    assert located.comment(2) is None
    assert located.comment(3) == (3, 5, "# own 0")
    assert located.comment(5) == (5, 26, "# c0")
    assert located.comment(5 + 4 * 199) == (5 + 4 * 199, 28, "# c199")
    assert located.confirm(Span("a.py", 5, 16, 5, 24)) == Span("a.py", 5, 16, 5, 24)


def nodes(tree: ast.Module) -> Iterator[ast.expr | ast.stmt]:
    """Statements and expressions with places that mean the same to both parsers."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.expr | ast.stmt) and not isinstance(node, ast.Slice):
            yield node
        if isinstance(node, ast.JoinedStr):
            continue  # places inside are wrong before Python 3.12
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            stack += [node.value, *node.slice.elts]  # libcst has no tuple there
        else:
            stack += ast.iter_child_nodes(node)


def disagreements(text: str) -> list[object]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    located = whole(text, tree)
    wrong: list[object] = []

    def column(row: int, offset: int) -> int:
        return len(located.rows[row - 1].encode()[:offset].decode()) + 1

    for node in nodes(tree):
        end_row, end = node.end_lineno or 0, node.end_col_offset or 0
        row = node.lineno
        span = Span("a.py", row, column(row, node.col_offset), end_row, column(end_row, end))
        if located.confirm(span) != span:
            wrong.append((type(node).__name__, span, located.confirm(span)))
    wanted = [
        (token.start[0], token.start[1] + 1, token.string)
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    found = [c for row in range(1, len(located.rows) + 1) if (c := located.comment(row)) is not None]
    return wrong + [c for c in wanted if c not in found] + [c for c in found if c not in wanted]


def library() -> list[Path]:
    files = sorted(p for p in STDLIB.glob("*.py") if 1000 < p.stat().st_size < 40_000)
    return random.Random(7).sample(files, 12)


@pytest.mark.parametrize("path", library(), ids=lambda p: p.name)
def test_both_parsers_agree_on_the_standard_library(path: Path) -> None:
    with tokenize.open(path) as file:
        assert disagreements(file.read()) == []


PIECES = st.sampled_from(
    [
        "x = 1",
        "y = f'{x:>{w}} {z!r}'",
        "if a: b = 2; c = 3",
        "if (a\n    or b):\n    pass  # c",
        "def f(a, *, b=(1, 2)):\n    return a  # noqa",
        "@d\nclass C(B, k=1):\n    '''# doc'''\n    v: int = 3\n\n    async def m(self):\n        await x; [\n# c\n1]",
        "s = '''\n# in a string\n'''; t = 1",
        "# alone",
        "for i in (j for j in k): sum(i for i in j)",
        "try:\n\tpass\nexcept (A, B) as e:\n\traise\nelse:\n\tx = \\\n\t\t2\nfinally:\n\tdel x",
        "ä = 'ü' 'é'  # ö",
        "\f\nz = lambda q: (yield)",
        "match x:\n    case {'a': 1, **r} if r:\n        pass  # m",
        "",
    ]
)


@settings(deadline=None, max_examples=60)
@given(st.lists(PIECES, max_size=8), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_both_parsers_agree_whatever_the_layout(pieces: list[str], newline: str, ending: bool) -> None:
    text = "\n".join(pieces) + ("\n" if ending else "")
    # tokenize of a text without universal newlines would not see rows end at \r alone
    if newline == "\r":
        assert Located(text.replace("\n", "\r"), "a.py").rows == text.split("\n")
    else:
        assert disagreements(text.replace("\n", newline)) == []


TEXTS = st.one_of(
    st.text(), st.text(st.sampled_from("ab()[]{}:=#'\"\\ \n\r\t\f,.fé@")), st.lists(PIECES).map("\n".join)
)
PLACES = st.tuples(*(st.integers(0, 12) for _ in range(4)))


@settings(deadline=None, max_examples=tries(150))
@given(TEXTS, PLACES)
def test_no_text_and_no_place_makes_it_fail(text: str, where: tuple[int, int, int, int]) -> None:
    located = whole(text)
    span = Span("a.py", *where)
    found = located.confirm(span)
    if found is not None and found != span:
        # A place that was found is one, and it is found again.
        assert located.confirm(found) == found
    _, head = located.comment_rows(span)
    assert all(0 <= row <= len(located.rows) for row in head)
    for row in range(14):
        comment = located.comment(row)
        assert comment is None or located.rows[row - 1][comment.column - 1 :].startswith(comment.text)
