"""Whatever a file holds, the linter ends, does not fail, and leaves the file as it was."""

from __future__ import annotations

import ast
import hashlib
import random
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from flow_programs import CLOCK, brief, programs
from hard_programs import HARD, NESTED, UNFOUND
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lint_project import places, write

from pytest_cachesafe.lint import flow
from pytest_cachesafe.lint.run import lint, lint_text


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACHESAFE_CACHE", str(tmp_path_factory.mktemp("cache")))


@contextmanager
def counted() -> Iterator[Callable[[], int]]:
    """How many functions of the flow analysis were called: its work, without a clock."""
    count = 0
    folder = str(Path(flow.__file__).parent)

    def profile(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        if event == "call" and frame.f_code.co_filename.startswith(folder):
            count += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield lambda: count
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("name", HARD)
def test_bounded_work(name: str) -> None:
    code, most = HARD[name]
    ast.parse(code)
    with counted() as calls:
        lint_text(code)
    assert 0 < calls() <= most, calls()


@pytest.mark.parametrize("name", [n for n, (code, _) in HARD.items() if "datetime.now" in code and n not in UNFOUND])
def test_still_found(name: str) -> None:
    code, _ = HARD[name]
    assert "CSF101" in {code for _, code, _ in brief(lint_text(code))}, code[:400]


@pytest.mark.parametrize("depth", [200, 2_000])
@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting(name: str, depth: int) -> None:
    """A finding about the syntax or none at all, and no recursion error; the prompt in the file makes it an entry."""
    code = NESTED[name](depth) + '\n\nSYSTEM_PROMPT = "You help."\n'
    limit = sys.getrecursionlimit()
    assert {f.code for f in lint_text(code)} <= {"CSF901"}
    assert sys.getrecursionlimit() == limit


def test_a_file_that_imports_itself(tmp_path: Path) -> None:
    code = (
        "import a\nfrom a import *\nfrom a import words\nfrom . import a as b\nfrom datetime import datetime\n\n\n"
        "def words():\n    return str(datetime.now()) + a.words() + b.words()\n\n\n"
        "SYSTEM_PROMPT = a.SYSTEM_PROMPT\n\n\n"
        'def build(q):\n    return [{"role": "system", "content": words()}]\n'
    )
    result = lint([write(tmp_path / "p", {"a.py": code})], cache=False)
    assert result.crashed == []
    assert ("a.py", 16, "CSF101") in places(result.findings)


@pytest.mark.parametrize("count", [2, 30])
def test_files_that_import_each_other_in_a_ring(count: int, tmp_path: Path) -> None:
    files = {}
    for n in range(count):
        below = (n + 1) % count
        files[f"m{n}.py"] = (
            f"from m{below} import *\nfrom m{below} import text{below}, T{below}\n\nT{n} = T{below}\n\n\n"
            f"def text{n}():\n    return text{below}()\n\n\ndef system_prompt{n}():\n    return text{n}() + T{n}\n"
        )
    result = lint([write(tmp_path / "p", files)], cache=False)
    assert (result.findings, result.crashed) == ([], [])


def test_classes_that_inherit_in_a_ring(tmp_path: Path) -> None:
    code = "from {0} import {1}\n\n\nclass {2}({1}):\n    def text(self):\n        return super().text()\n\n\n"
    code += "SYSTEM_PROMPT = {2}().text()\n"
    files = {"a.py": code.format("b", "B", "A"), "b.py": code.format("a", "A", "B")}
    result = lint([write(tmp_path / "p", files)], cache=False)
    assert (result.findings, result.crashed) == ([], [])


def test_a_long_chain_of_files(tmp_path: Path) -> None:
    files = {"m0.py": "from datetime import datetime\n\n\ndef text():\n    return str(datetime.now())\n"}
    for n in range(1, 60):
        files[f"m{n}.py"] = f"from m{n - 1} import text as below\n\n\ndef text():\n    return below()\n"
    files["app.py"] = 'from m59 import text\n\n\ndef build(q):\n    return [{"role": "system", "content": text()}]\n'
    assert lint([write(tmp_path / "p", files)], cache=False).crashed == []


# Random bytes, and programs damaged at random


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=300), st.sampled_from([b"", b"SYSTEM_PROMPT = 1\n", b"\xef\xbb\xbf", b"# coding: latin-1\n"]))
def test_random_bytes(data: bytes, head: bytes) -> None:
    lint_text((head + data).decode("utf-8", "surrogateescape"))


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=200), min_size=1, max_size=3))
def test_random_bytes_on_disk(tmp_path_factory: pytest.TempPathFactory, texts: list[bytes]) -> None:
    root = tmp_path_factory.mktemp("p")
    (root / "pyproject.toml").write_text("[tool.cachesafe]\n", encoding="utf-8")
    for number, data in enumerate(texts):
        (root / f"m{number}.py").write_bytes(b"SYSTEM_PROMPT = 1\n" + data)
    result = lint([root], cache=False)
    assert result.crashed == []
    assert [(root / f"m{n}.py").read_bytes() for n in range(len(texts))] == [b"SYSTEM_PROMPT = 1\n" + t for t in texts]


SEEDS = [
    code.replace("NOW", CLOCK)
    for file in ("sinks.txt", "transfer_programs.txt", "classes.txt", "silent.txt", "sources.txt")
    for code in programs(file).values()
]
NAMES = ("system_prompt", "self", "SYSTEM_PROMPT", "datetime", "q", "tools", "messages", "build", "x")


class Shuffler(ast.NodeTransformer):
    """Swaps expressions of a tree and renames names, at random: programs that are valid and make no sense."""

    def __init__(self, tree: ast.AST, random_: random.Random) -> None:
        self.random = random_
        self.pool = [node for node in ast.walk(tree) if isinstance(node, ast.expr) and hasattr(node, "lineno")]

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Name) and self.random.random() < 0.15:
            return ast.copy_location(ast.Name(self.random.choice(NAMES), node.ctx), node)
        load = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        if isinstance(node, ast.expr) and load and self.random.random() < 0.08:
            chosen = self.random.choice(self.pool)
            if isinstance(getattr(chosen, "ctx", ast.Load()), ast.Load) and not isinstance(chosen, ast.Starred):
                return chosen
        return self.generic_visit(node)


@settings(deadline=None, max_examples=80)
@given(st.lists(st.sampled_from(SEEDS), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_programs_shuffled_at_random(codes: list[str], random_: random.Random) -> None:
    tree = ast.parse("\n".join(codes))
    try:
        code = ast.unparse(ast.fix_missing_locations(Shuffler(tree, random_).visit(tree)))
    except (ValueError, RecursionError):  # a swapped node that unparse has no words for, or a tree in itself
        return
    with counted() as calls:
        lint_text(code)
    assert calls() < 2_000_000


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(SEEDS), st.integers(0), st.integers(0, 30), st.text(max_size=5))
def test_programs_cut_at_random(code: str, at: int, length: int, between: str) -> None:
    at %= len(code) + 1
    lint_text(code[:at] + between + code[at + length :])


# Real files


def _sample(folder: str, count: int) -> list[Path]:
    paths = sorted(Path(sysconfig.get_paths()[folder]).rglob("*.py"))
    if folder == "stdlib":
        paths = [path for path in paths if "site-packages" not in path.parts]
    return random.Random(20260101).sample(paths, min(count, len(paths)))


def _unharmed(paths: list[Path]) -> None:
    """The files go through the linter, marked as holding a prompt so that all of it is done, and stay as they are."""
    before = [hashlib.sha256(path.read_bytes()).digest() for path in paths]
    for path in paths:
        data = path.read_bytes()
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
        lint_text(text + "\n\nSYSTEM_PROMPT = 'You help.'\n", path.name)
    assert [hashlib.sha256(path.read_bytes()).digest() for path in paths] == before


@pytest.mark.parametrize("folder", ["stdlib", "purelib"])
def test_a_sample_of_real_files(folder: str) -> None:
    _unharmed(_sample(folder, 25))


@pytest.mark.oracle
@pytest.mark.parametrize("folder", ["stdlib", "purelib"])
def test_many_real_files(folder: str) -> None:
    _unharmed(_sample(folder, 4_000 if folder == "stdlib" else 3_000))
