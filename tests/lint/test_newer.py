"""Syntax from after the running Python's time: the tree made from libcst's is the tree Python would have made."""

from __future__ import annotations

import ast
import random
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from python_files import STDLIB, difference, python_files
from tries import tries

from pytest_cachesafe.lint.newer import translate
from pytest_cachesafe.lint.newer.depth import BRACKETS, LEVELS, PATTERN_BRACKETS, too_deep
from pytest_cachesafe.lint.parse import column, parse

PLACED = (ast.stmt, ast.expr, ast.arg, ast.keyword, ast.alias, ast.ExceptHandler, ast.pattern)
# Before 3.12 Python gives every part of an f-string the place of the whole.
EXACT_INSIDE_FSTRINGS = sys.version_info >= (3, 12)


def quiet(code: str) -> ast.Module:
    """Python's own tree."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(code)
    # Python 3.12 alone leaves an empty text behind the last field of a format specification.
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            node.values = [part for part in node.values if not (isinstance(part, ast.Constant) and part.value == "")]
    return tree


def places(tree: ast.AST) -> list[tuple[object, ...]]:
    """Every node that has a place, with its place."""
    found: list[tuple[object, ...]] = []
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, PLACED):
            found.append((type(node).__name__, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset))
        if EXACT_INSIDE_FSTRINGS or not isinstance(node, ast.JoinedStr):
            pending += ast.iter_child_nodes(node)
    return found


def translated(code: str) -> ast.Module:
    tree, problem = translate(code, checked=False)
    assert problem is None
    assert tree is not None
    return tree


def assert_same(code: str) -> None:
    expected, made = quiet(code), translated(code)
    assert ast.dump(made) == ast.dump(expected)
    assert places(made) == places(expected)


CODES = [
    "",
    "# only a comment",
    "x",
    "'''doc'''\n\nx = 1  # c\n",
    "pass; x = 1; break",
    "def f(): pass;\nif a: b;\n",
    "x = 0x_ff + 0b1 - 0o17 * 1_000 ** 2 // 3 % 4 @ m / 1e3 << 1j >> 1.5 & a | b ^ ~c",
    "-a + +b - (not c)",
    "((a))",
    "(a, b), [c, *d], e = (1), (2,), ()",
    "x = 1, 2,",
    "x = (1, 2), ; y",
    "for x, in y: pass",
    "x = *a, *b,",
    "return_ = lambda: (yield)",
    "x = lambda a, /, b=1, *c, d, e=2, **f: (a, b)",
    "a < b <= c != d is not e not in f in g is h == i >= j > k",
    "a and b and (c and d) or e or not f",
    "a.b.c(d, *e, f=g, *h, **i)[j](k)",
    "f(x for x in y)",
    "f( \n x for x in y \n)",
    "f((x for x in y), (z))",
    "f((yield))",
    "a[1], a[1:2], a[:], a[::], a[1::2], a[:, 1], a[(1, 2)], a[1,], a[( 1 ):( 2 )]",
    "a[b := 1]",
    "(x := 1) if y else (z)",
    "[x for x in y if a if b for z, in w]",
    "{x for x in y}, {a: b for a, b in c}, {}, {1, 2}, {**a, 'b': c}, {*a}",
    "async def f():\n async for x in y: await z\n async with a as b, c: pass\n return [x async for x in y]\n",
    "x = True, False, None, ...",
    "'a' \"b\" '''c'''\nb'a' rb'\\d'\nu'a' 'b'\n'a' u'b'",
    "r'\\d' '\\n' '\\N{BULLET}' '\\x41'",
    "('a'\n 'b' # c\n f'{d}e' 'f')",
    "f'' '' f''",
    "f'{{}}{a}{{{b}}}'",
    "f'{a!r:>{b}.{c}}{d:%H:%M}{e:}{f!s}'",
    "f'{a=}{ b = }{c=!s}{d=:>5}{ (e) =}'",
    "f'\\N{BULLET}\\n{a}\\t\\'\"'",
    "rf'\\{a}\\n' fr'{b}'",
    "f'''\n{a}\n\"x\" {b,} {*c,} {(yield)} {d if e else f} '''",
    "f'{a}' 'b' f'{c!a}' \"d\"",
    "u'a' f'b{c}' 'd'",
    "del a, (b), c.d, e[f]",
    "del (a, b)",
    "del (a), b,",
    "a = b = c",
    "a: int\na.b: int = 1\na[c]: int = (2)\nx: y = 1, 2",
    "a += 1; b **= (2); c @= d; e //= 1, 2",
    "global_ = 1\ndef f():\n  global a, b\n  nonlocal_ = 1\n  return\n",
    "def f():\n  def g():\n    nonlocal a\n    return (1)\n  return g,\n",
    "assert a, (b)\nassert (c)\nraise\nraise a\nraise (a) from (b)",
    "import a, b.c as d\nfrom . import a\nfrom ..b import (c as d, e,)\nfrom x import *\nfrom ... import a",
    "if a: b\nelif c: d\nelif e:\n  f\nelse:\n  g\n",
    "while a:\n  break\nelse:\n  continue_\n",
    "for a, (b, c) in d, e:\n  pass\nelse: pass",
    "with a: pass\nwith a as b, c as (d, e): pass\nwith (a, b): pass\nwith (a as b, c,): pass\nwith (a), (b): pass\n"
    "with (yield): pass\nwith (a, b) as c: pass\nwith a as b.c, d as e[f]: pass",
    "try: pass\nexcept: pass\n",
    "try:\n  a\nexcept (A, B) as c:\n  d\nexcept E: f\nelse: g\nfinally: h\n",
    "try: a\nfinally:\n  b\n\n\n",
    "@a\n@b.c(d)\nclass E(f, *g, h=i, **j): pass\n",
    "@(yield)\nasync def f(a: int, /, b: str = 'c', *d: e, f: g, h=1, **i: j) -> (k): ...\n",
    "def f(*, a): pass\ndef g(a, /): pass\ndef h(a, *b): pass\nclass C(): x: int\n",
    "match a, *b:\n  case 1 | -1.5 | 'a' 'b' | 1 - 2j | None | True: pass\n  case _ if c: pass\n  case (d): pass\n",
    "match (a):\n  case [b, *c, d] | (e, *_,): pass\n  case f, *g: pass\n  case h,: pass\n  case (): pass\n",
    "match a:\n  case {'b': c, d.e: _, **f}: pass\n  case {}: pass\n  case {1: x, }: pass\n",
    "match a:\n  case b.C(d, (e), f=g, h=(i | j),): pass\n  case K(): pass\n  case (l as m) as n: pass\n",
    "match = case = type = 1\nmatch(a)\nmatch[b]\ntype(x)\n",
    "é = 'ü'; ℌ = ü.é(ö='☃', *𝔘)\nimport é as ü\ndef é(ä): pass",
    "'☃'; x = f'☃{ü}☃{ö!r}'; y = (ä, [ß])",
    "if a:\n\tb\n\n\t# c\n\td\n# e\n",
    "x = (\n  # c\n  1 +  # d\n  2\n)\n\f\ny = 1",
    "x = a \\\n  + b\ny\n",
    "if 1:\n  if 2:\n    def f():\n      return 1  # x\n  # y\nz",
    "class A:\n  def b(self): return super().b(), __class__\n  c = d = property(b)",
    "print(*a, sep='')\nprint(a,)\nprint(a, **{'b': c})",
]


@pytest.mark.parametrize("code", CODES)
def test_the_tree_is_pythons(code: str) -> None:
    assert_same(code)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="this Python does not know the syntax")
@pytest.mark.parametrize(
    "code",
    [
        "try: a\nexcept* A: b\nexcept* (C, D) as e: f\nelse: g\n",
        "a[*b], a[*b, c], a[1:2, *d,]",
        "def f(*a: *B): pass",
    ],
)
def test_the_tree_is_pythons_from_3_11(code: str) -> None:
    assert_same(code)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="this Python does not know the syntax")
@pytest.mark.parametrize(
    "code",
    [
        "type A = int\ntype B[T: int, *U, **V] = (T)\n",
        "def f[T: (int, str)](x: T) -> T: pass\nclass C[T](D[T]): pass\nclass E[**P]: pass\nasync def g[*T](): pass",
        "f'{a['b']}{f'{c}' + \"d\"}{'\\n'.join(e)}'",
        "f'{\n a # c\n}'",
    ],
)
def test_the_tree_is_pythons_from_3_12(code: str) -> None:
    assert_same(code)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="this Python does not know the syntax")
def test_the_tree_is_pythons_from_3_13() -> None:
    assert_same("type A[T = int, *U = *tuple[int], **V = [int]] = T\nclass B[T: int = str]: pass\n")


# Newer spelling, what the nearest older Python says, and the version that brought the newer one.
NEWER = [
    ("type A = list[int]", "A = list[int]", (3, 12)),
    ("type A[T] = list[T]", "A = list[T]", (3, 12)),
    ("def f[T: int, *U, **V](x: T) -> T:\n    return x", "def f(x: T) -> T:\n    return x", (3, 12)),
    ("class A[T](B):\n    pass", "class A(B):\n    pass", (3, 12)),
    ("class A[T = int]:\n    pass", f"class A{'[T]' if sys.version_info >= (3, 12) else ''}:\n    pass", (3, 13)),
    ("f'{d['k']}'", "f'{d[\"k\"]}'", (3, 12)),
    ("f'{'a' + f'{b}'}'", "f'''{\"a\" + f\"{b}\"}'''", (3, 12)),
    ("f'{x!r:{'>'}{w}}'", "f'{x!r:{\">\"}{w}}'", (3, 12)),
    ("f'{f(\na, # c\n)}'", "f'{f(a)}'", (3, 12)),
    ("f'{a:{b:{c}}}'", None, (3, 12)),
    ("try:\n    a\nexcept A, B:\n    c", "try:\n    a\nexcept (A, B):\n    c", (3, 14)),
    ("t'a{b!r:>{c}}d'", "f'a{b!r:>{c}}d'", (3, 14)),
    ("rt'\\d{b}'", "rf'\\d{b}'", (3, 14)),
    ("lazy import a.b as c, d", "import a.b as c, d", (3, 15)),
    ("lazy from .a import b as c", "from .a import b as c", (3, 15)),
    ("{**a for a in b}", "{a: a for a in b}", (3, 15)),
]


@pytest.mark.parametrize(("code", "older", "since"), NEWER)
def test_newer_syntax_becomes_the_nearest_older(code: str, older: str | None, since: tuple[int, int]) -> None:
    parsed = parse(code.encode(), "a.py")
    assert parsed.error is None
    assert parsed.newer == (sys.version_info < since)
    if parsed.newer and older is not None:
        expected = ast.parse(older)
        for node in ast.walk(expected):
            if "is_lazy" in getattr(node, "_fields", ()):
                pytest.skip("this Python has the node")
        assert parsed.tree is not None
        assert ast.unparse(parsed.tree) == ast.unparse(expected)


@pytest.mark.skipif(sys.version_info >= (3, 15), reason="this Python knows the syntax")
def test_unpacking_in_a_list_comprehension_keeps_its_star() -> None:
    tree = parse(b"x = [*a for a in b]", "a.py").tree
    assert tree is not None
    assert ast.unparse(tree) == "x = [*a for a in b]"


LAZY = "lazy import zzz\n"


def test_places_are_in_the_file_of_the_newer_syntax() -> None:
    code = "x = 'é' + f'{d['k']}' + found(1)\n" + LAZY
    parsed = parse(code.encode(), "a.py")
    assert parsed.tree is not None
    call = next(node for node in ast.walk(parsed.tree) if isinstance(node, ast.Call))
    assert column(parsed, call.lineno, call.col_offset) == code.index("found") + 1
    assert ast.get_source_segment(code, call) == "found(1)"


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_do_not_move_places(end: str) -> None:
    code = f"x = '''a{end}b'''{end}y = found(1){end}" + LAZY
    parsed = parse(code.encode(), "a.py")
    assert parsed.tree is not None
    call = next(node for node in ast.walk(parsed.tree) if isinstance(node, ast.Call))
    assert (call.lineno, call.col_offset) == (3, 4)
    constants = [node.value for node in ast.walk(parsed.tree) if isinstance(node, ast.Constant)]
    assert "a\nb" in constants


@pytest.mark.parametrize(
    ("code", "row"),
    [
        (LAZY + "x = 1\ny = = 2\n", 3),
        (LAZY + "x = (1,\n", 3),
        (LAZY + "if x:\ny\n", 3),
        ("x = = 2\n" + LAZY, 1),
        ("print 'x'\n" + LAZY, 1),
        (LAZY + "x = '\\N{no such character}'\n", 1),
        (LAZY + "x = " + "9" * 5000 + "\n", 1),
        (LAZY + "x = 'a' b'b'\n", 1),
    ],
)
def test_a_mistake_beside_newer_syntax_is_a_problem(code: str, row: int) -> None:
    parsed = parse(code.encode(), "a.py")
    assert parsed.tree is None
    assert parsed.error is not None
    assert parsed.error.row == row


def test_what_is_not_newer_keeps_pythons_verdict() -> None:
    assert translate("x = 1\n") == (None, None)


TEXTS = st.lists(
    st.sampled_from(["a", "{{", "}}", "\\n", "\\x41", "\\N{BULLET}", '"', "\\'", "é", "\\\\", "\\d", " ", "\\\n", "#"]),
    max_size=4,
).map("".join)
FIELDS = st.tuples(
    st.sampled_from(["a", " a.b ", "(c)", "d[0]", "e, f", "g if h else i", '"j"']),
    st.sampled_from(["", "=", " = "]),
    st.sampled_from(["", "!r", "!s", "!a"]),
    st.sampled_from(["", ":", ":>5", ":{w}", ":{w}.{p}x", ":%Y-%m"]),
).map(lambda parts: "{" + "".join(parts) + "}")
LITERALS = st.tuples(
    st.sampled_from(["f", "F", "rf", "fR", "", "r"]), st.lists(TEXTS | FIELDS, max_size=5), st.sampled_from("'")
).map(lambda parts: parts[0] + parts[2] + "".join(parts[1]) + parts[2])


@given(st.lists(LITERALS, min_size=1, max_size=3).map(" ".join))
@settings(deadline=None, max_examples=tries(200))
def test_string_literals_are_pythons(code: str) -> None:
    try:
        expected = quiet(code)
    except SyntaxError:
        return
    if "\\\n" in code and "r" in code.lower():
        return  # libcst refuses a raw f-string that ends in a line joined by a backslash
    assert ast.dump(translated(code)) == ast.dump(expected)


def assert_same_files(paths: list[Path]) -> int:
    """Compare every file that both parsers accept; how many those are."""
    compared = 0
    for path in paths:
        parsed = parse(path.read_bytes(), str(path))
        if parsed.tree is None or parsed.newer:
            continue
        expected = quiet(parsed.text)
        code = parsed.text.replace("\r\n", "\n").replace("\r", "\n")
        tree, _ = translate(code, checked=False)
        if tree is None:  # libcst knows no `(name): int` and refuses what is nested deeper than `LEVELS`
            continue
        compared += 1
        assert difference(tree, expected, places=False) is None, path
        assert places(tree) == places(expected), path
    return compared


def test_a_sample_of_the_standard_library_is_the_same() -> None:
    files = sorted(path for path in STDLIB.rglob("*.py") if path.stat().st_size <= 9_000)
    assert assert_same_files(random.Random(11).sample(files, 60)) >= 55


@pytest.mark.oracle
def test_many_files_are_the_same() -> None:
    """A sample, for libcst takes five seconds a megabyte: ten packages of the standard library whole, its tests of rare
    syntax, and of the rest of it, of its tests and of installed packages eight files of every size."""
    paths = python_files(6, 100_000)
    assert assert_same_files(paths) >= 0.95 * len(paths)


@given(
    st.text(alphabet="([{", max_size=2 * BRACKETS), st.sampled_from(["x = ", "x = f'{", "f(f'''{a:{", "del x, y\nz = "])
)
@settings(deadline=None)
def test_open_brackets_are_counted_exactly(brackets: str, before: str) -> None:
    # What `before` leaves open: nothing; an f-string and its field; a call, the string, a field, its specification, a
    # field in that.
    opened = {"x = ": 0, "x = f'{": 2, "f(f'''{a:{": 5, "del x, y\nz = ": 0}[before]
    deep = too_deep(before + brackets)
    assert (deep is not None) == (len(brackets) + opened > BRACKETS)


@given(
    st.integers(1, 2 * LEVELS), st.sampled_from(["+", ".", " and ", "not ", "a if b else ", "()", "-", "'a' ", "**"])
)
@settings(deadline=None)
def test_chains_are_counted(count: int, link: str) -> None:
    deep = too_deep("x = " + link * count)
    if count > LEVELS:
        assert deep is not None
    if count < LEVELS // 4:
        assert deep is None


@pytest.mark.parametrize(
    ("code", "deep"),
    [
        ("x = '" + "(" * 500 + "'", False),
        ("x = '''" + "(\n" * 500 + "'''", False),
        ("x = r'\\\\'" + "(" * 500, True),
        ("# " + "(" * 500, False),
        ("x = [" + "a + b - c,\n" * 2000 + "]", False),
        ("x = a + b\n" * 2000, False),
        ("if a: pass\n" * 2000, False),
        ("if a: pass\n" + "elif b: pass\n" * 2000, True),
        ("x = f'" + "{{" * 500 + "'", False),
        ("x = f'{a}" + "(" * 500 + "'", False),
        ("x = f'{a" + "(" * 500 + "'", True),
        ("x = not'{' + " + "(" * 500, True),
        ("match x:\n case " + "[" * (PATTERN_BRACKETS + 1), True),
        ("match x:\n\n \\\n case " + "[" * (PATTERN_BRACKETS + 1), True),
        ("match x:\n case []: f" + "(" * (PATTERN_BRACKETS - 2), False),
        ("if x: del " + "(" * (PATTERN_BRACKETS + 1), True),
    ],
)
def test_what_counts_as_deep(code: str, deep: bool) -> None:
    assert (too_deep(code) is not None) == deep


def test_depth_is_told_with_its_place() -> None:
    assert too_deep("x = 1\ny = " + "(" * 300) == (2, 5 + BRACKETS)
    parsed = parse((LAZY + "y = t'' + " + "a + " * 2 * LEVELS + "a\n").encode(), "a.py")
    assert parsed.error is not None
    assert (parsed.error.row, "nested too deeply" in parsed.error.message) == (2, True)
