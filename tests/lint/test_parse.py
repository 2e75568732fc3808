"""Bytes in, tree or problem out: decoding, columns, depth, and never an exception."""

from __future__ import annotations

import ast
import codecs
import random
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from python_files import STDLIB, difference, python_files

from pytest_cachesafe.lint.parse import Parsed, column, parse


def library(count: int, largest: int) -> list[Path]:
    """The same files on every run; their texts are whatever Python ships."""
    files = sorted(path for path in STDLIB.glob("*.py") if path.stat().st_size <= largest)
    return random.Random(7).sample(files, min(count, len(files)))


def dump(tree: ast.AST | None) -> str:
    assert tree is not None
    return ast.dump(tree, include_attributes=True)


def test_a_file_is_parsed() -> None:
    parsed = parse(b"x = 1\ny = 'a'\n", "a.py")
    assert parsed.error is None
    assert not parsed.newer
    assert dump(parsed.tree) == dump(ast.parse("x = 1\ny = 'a'\n"))
    assert parsed.lines == ["x = 1", "y = 'a'", ""]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (codecs.BOM_UTF8 + "x = 'é'".encode(), "é"),
        (codecs.BOM_UTF8 + b"# coding: utf-8\nx = '\xc3\xa9'", "é"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'", "é"),
        (b"#!/usr/bin/python\r# coding: latin-1\rx = '\xe9'", "é"),
        (b"#!/usr/bin/python\r\n# vim: set fileencoding=cp1251 :\r\nx = '\xe9'", "й"),
        (b"\n\n# coding: latin-1\nx = '\xc3\xa9'", "é"),
        (b"x = '''a\r\nb\rc'''", "a\nb\nc"),
    ],
)
def test_encodings_and_line_ends_are_read_as_python_reads_them(data: bytes, value: str) -> None:
    parsed = parse(data, "a.py")
    assert dump(parsed.tree) == dump(ast.parse(data))
    assert value in [node.value for node in ast.walk(parsed.tree or ast.Module()) if isinstance(node, ast.Constant)]


@pytest.mark.parametrize(
    ("data", "row", "at", "words"),
    [
        (b"x = 1\ny = '\xff'\n", 2, 6, "0xff is not utf-8"),
        (b"x = 1\r\n\xc3\xa9 = '\xff'\n", 2, 6, "0xff is not utf-8"),
        (b"x = 1\n\xc3", 2, 1, "0xc3 is not utf-8"),
        (b"x = 1\ny\0 = 2\n", 2, 2, "NUL byte"),
        (b"\x7fELF\x02\x01\x01\0\0", 1, 8, "NUL byte"),
        (b"# coding: klingon\n", 1, 1, "klingon"),
        (b"# coding: rot13\n", 1, 1, "rot13"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", 1, 1, "encoding problem"),
        (b"x = 1\nif x\n    y\n", 2, 5, "expected ':'"),
        ("é = 1\nü = = 2\n".encode(), 2, 5, "invalid syntax"),
        (b"if x:\ny\n", 2, 1, "indented block"),
        (b"x = (1,\n", 1, 5, "never closed"),
        (b"print 'x'\n", 1, 1, "print"),
    ],
)
def test_what_is_no_python_is_a_problem_with_its_place(data: bytes, row: int, at: int, words: str) -> None:
    parsed = parse(data, "a.py")
    assert parsed.tree is None
    assert parsed.error is not None
    assert parsed.error.row == row
    assert words in parsed.error.message
    assert "\n" not in parsed.error.message
    assert parsed.error.column == at


@pytest.mark.parametrize("code", [r"x = '\d'", "x = 1or 0", "assert (x, 'y')", "x is 1", r"f'\{x}'"])
def test_warnings_of_the_parser_stay_inside(code: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parsed = parse(code.encode(), "a.py")
    assert parsed.tree is not None
    assert caught == []


@given(st.text(alphabet="aé☃𝔘\t", max_size=12), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
@settings(deadline=None)
def test_columns_count_characters(before: str, end: str, elsewhere: bool) -> None:
    text = f"'''{before}'''; found{end}" + ("# é" if elsewhere else "")
    parsed = parse(("x = 1" + end + text).encode(), "a.py")
    assert parsed.tree is not None
    found = parsed.tree.body[-1]
    assert column(parsed, found.lineno, found.col_offset) == len(f"'''{before}'''; ") + 1


def test_columns_outside_the_file_have_an_answer() -> None:
    parsed = parse("é = 1\n".encode(), "a.py")
    assert column(parsed, 99, 4) == 5
    assert column(parsed, 1, 999) == len("é = 1") + 1


def either(data: bytes) -> Parsed:
    """Exactly one of tree and problem, and a place that exists."""
    parsed = parse(data, "a.py")
    assert (parsed.tree is None) != (parsed.error is None)
    if parsed.error is not None:
        assert 1 <= parsed.error.row <= len(parsed.lines)
        assert parsed.error.column >= 1
        assert "\n" not in parsed.error.message
    return parsed


@given(st.binary(max_size=200))
@example(b"\xff\xfea\0b\0")
@example(b"# coding: utf-16\nx")
@example(b"# coding: utf-7\n+2AA-")
@example(b"# coding: unicode_escape\n\\ud800")
@example(b"# coding: unicode_escape\n\\x00")
@example(b"# coding: punycode\nx-\xff")
@example(b"# coding: idna\nx..\xff")
@settings(deadline=None)
def test_random_bytes_never_raise(data: bytes) -> None:
    either(data)


def test_what_only_libcst_refuses_keeps_pythons_words() -> None:
    parsed = parse(b"x = 'a' b'b'\n", "a.py")
    assert parsed.error is not None
    assert "bytes" in parsed.error.message


WORDS = ["type", "def", "class", "[", "]", "(", ")", "{", "}", ":", "=", "f'", "'", '"', "\\", "\n", " ", "x", "1", "*"]
WORDS += [
    "except",
    "try",
    "match",
    "case",
    "lambda",
    ",",
    "\t",
    "t'",
    "lazy",
    "import",
    "del",
    ";",
    "é",
    "\r",
    "\f",
    "#",
]


@given(st.lists(st.sampled_from(WORDS), max_size=40).map("".join))
@settings(deadline=None)
def test_random_tokens_never_raise(text: str) -> None:
    either(text.encode())


@given(st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=40)
def test_damaged_files_never_raise(rand: random.Random) -> None:
    data = bytearray(rand.choice(SOURCES))
    for _ in range(rand.randint(1, 4)):
        at = rand.randrange(len(data) + 1)
        data[at : at + rand.randint(0, 3)] = rand.choice([b"\0", b"\xff", b"'", b"(", b"}", b"\n", b"\\", b"type X = "])
    either(bytes(data))


SOURCES = [path.read_bytes() for path in library(12, 6_000)]


def test_trees_are_pythons_own() -> None:
    for path in library(25, 60_000):
        data = path.read_bytes()
        parsed = parse(data, str(path))
        assert dump(parsed.tree) == dump(ast.parse(data)), path


@pytest.mark.oracle
def test_every_file_of_the_standard_library_has_an_answer() -> None:
    """All of the standard library, of its tests those of rare syntax and a sample, and a sample of what is installed:
    eight files of every size."""
    for path in python_files(8, 4_000_000, library=True):
        data = path.read_bytes()
        parsed = either(data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = ast.parse(data)
        except (SyntaxError, ValueError):
            assert parsed.tree is None or parsed.newer, path
            continue
        assert parsed.tree is not None, path
        assert difference(parsed.tree, expected, places=True) is None, path


DEEP = """
from pytest_cachesafe.lint.parse import parse
n = 20000
texts = [
    "x = " + "+".join(["a"] * n), "x = " + "(" * n + "1" + ")" * n, "x = " + "[" * n, "x = a" + ".b" * n,
    "x = a" + "()" * n, "x = " + "-" * n + "1", "x = " + "not " * n + "1", "x = " + "a if b else " * n + "1",
    "x = " + "lambda: " * n + "1", "x = " + "**".join(["a"] * n), "x = " + "f'{" * n, "x = " + "{1:" * n,
    "if a: pass\\n" + "elif b: pass\\n" * n, "".join(" " * i + "if a:\\n" for i in range(300)), "x " * n,
    "match x:\\n case " + "{1:" * 40 + "a" + "}" * 40 + ": pass", "del " + "(" * 90 + "a" + ",)" * 90,
    "x = " + "'a' " * n, "@" + "(" * n, "x = (" + "yield " * n + ")", "x = " + "a[" * n + "0" + "]" * n,
    "x = a" + "+a" * 100_000, "x = a" + "()" * 100_000,
    "x = " + "await " * n, "x = " + "a<" * n + "a", "x = " + "a and " * n + "a", "x: " * n,
]
# Each also behind and before syntax from after this Python's time, so that libcst sees it.
for text in texts:
    for code in (text, "type A = int\\n" + text, "lazy import a\\n" + text, text + "\\nlazy import a\\n"):
        parsed = parse(code.encode(), "a.py")
        assert (parsed.tree is None) != (parsed.error is None)
print("alive")
"""


def test_deep_nesting_neither_raises_nor_ends_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", DEEP], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_depth_is_told_in_words() -> None:
    parsed = parse(("x = " + "-" * 20_000 + "a").encode(), "a.py")
    assert parsed.error is not None
    assert "nested too deeply" in parsed.error.message


def test_nothing_heavy_is_imported_for_a_plain_file() -> None:
    code = (
        "import sys; from pytest_cachesafe.lint.parse import parse; parse(b'x = 1', 'a'); parse(b'# coding', 'a');"
        "print(sorted({'libcst', 'asyncio', 'pytest', 'pytest_cachesafe.lint.newer'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_nothing_is_executed(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    parse(f"open({str(mark)!r}, 'w')\ntype X = open({str(mark)!r}, 'w')\n".encode(), "a.py")
    assert not mark.exists()


def test_a_parser_that_lost_count_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 may raise SystemError where a finalizer or another thread parses at the same moment."""
    whole, left = ast.parse, [1]

    def miscounts(*given: Any, **more: Any) -> Any:
        if left and left.pop():
            raise SystemError("AST constructor recursion depth mismatch (before=6, after=7)")
        return whole(*given, **more)

    monkeypatch.setattr(ast, "parse", miscounts)
    found = parse(b"x = 1\n", "a.py")
    assert found.error is None
    assert found.tree is not None
