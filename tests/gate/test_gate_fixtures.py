"""Checks in fixtures that several tests share: the lock file does not depend on which test comes first."""

from __future__ import annotations

import json
from typing import Any

import pytest

UNUSED = "without a check"
SHARED = """
@pytest.fixture(scope="module", params=[2, 3])
def talk(request):
    assert_prefix_stable(chat(request.param), name="talk")

@pytest.fixture(scope="class")
def own():
    assert_prefix_stable(chat(4))

def test_a(talk):
    pass

def test_b(talk):
    assert_prefix_stable(chat(3))

class TestIt:
    def test_c(self, own):
        pass

    def test_d(self, own):
        pass
"""
KEYS = {
    ("test_shared.py::TestIt::own (fixture)", "stable"),
    ("test_shared.py::talk (fixture)", "talk"),
    ("test_shared.py::talk[1] (fixture)", "talk"),
    ("test_shared.py::test_b[2]", "stable"),
    ("test_shared.py::test_b[3]", "stable"),
}


def keys(gated: Any) -> set[tuple[str, str]]:
    return {(row["test"], row["name"]) for row in map(json.loads, gated.lock.splitlines())}


def test_any_order_and_any_worker_write_the_same_lines(gated: Any) -> None:
    gated.file("test_shared.py", SHARED)
    gated.run("--cachesafe-update")
    assert keys(gated) == KEYS
    first = gated.lock
    pytest.importorskip("xdist", reason="needs pytest-xdist")
    gated.lock_path.unlink()
    gated.run("-p", "xdist", "-n", "2", "--cachesafe-update")
    assert gated.lock == first
    gated.lock_path.unlink()
    tests = ("TestIt::test_d", "TestIt::test_c", "test_b", "test_a")
    gated.run("--cachesafe-update", *(f"test_shared.py::{test}" for test in tests))
    assert gated.lock == first


def test_one_of_the_tests_alone_finds_the_entry(gated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gated.file("test_shared.py", SHARED)
    gated.run("--cachesafe-update")
    monkeypatch.setenv("CI", "1")
    assert UNUSED not in gated.says("-k", "test_b or test_d", "--cachesafe-gate")


def test_a_fixture_that_gets_worse_fails_with_a_command_that_runs(gated: Any) -> None:
    gated.file("test_shared.py", SHARED)
    gated.run("--cachesafe-update")
    gated.file("test_shared.py", SHARED.replace("chat(4)", "chat(4, clocked), accept=[Accept('timestamp')]"))
    said = gated.says(ok=1)
    assert "pytest --cachesafe-update test_shared.py::TestIt\n" in said


def test_a_fixture_that_is_gone_or_fails(gated: Any) -> None:
    gated.file("test_shared.py", SHARED)
    gated.run("--cachesafe-update")
    before = gated.lock
    gated.file("test_shared.py", SHARED.replace("def own():\n", "def own():\n    assert not SYSTEM\n"))
    gated.run("--cachesafe-update", ok=1)
    assert gated.lock == before
    gated.file(
        "test_shared.py", SHARED.replace("def own():\n    assert_prefix_stable(chat(4))", "def own():\n    pass")
    )
    assert "test_shared.py::TestIt::own (fixture) (stable)" in gated.says()
    gated.run("--cachesafe-update")
    assert keys(gated) == KEYS - {("test_shared.py::TestIt::own (fixture)", "stable")}
