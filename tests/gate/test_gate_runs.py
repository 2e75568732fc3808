"""The gate beside everything that runs tests in other ways: selections, workers, retries, generated tests."""

from __future__ import annotations

import json
from typing import Any

import pytest

ONE = "def test_{0}():\n    assert_prefix_stable(chat(3))\n"
UNUSED = "without a check"


def keys(gated: Any) -> list[tuple[str, str]]:
    rows = [json.loads(line) for line in gated.lock.splitlines()]
    return [(row["test"].rpartition("::")[2], row["name"]) for row in rows]


@pytest.fixture
def several(gated: Any) -> Any:
    """Two folders with two tests each, all in the lock file; one of them is then removed."""
    for folder in ("unit", "slow"):
        gated.file(f"{folder}/test_{folder}.py", ONE.format("a") + ONE.format("b"))
    gated.run("--cachesafe-update")
    gated.file("unit/test_unit.py", ONE.format("a"))
    return gated


@pytest.mark.parametrize(
    "flags",
    [
        ("-k", "test_a"),
        ("--deselect", "slow/test_slow.py::test_a"),
        ("--ignore", "unit"),
        ("--ignore-glob", "*unit*"),
        ("slow",),
        ("slow/test_slow.py",),
        ("slow/test_slow.py::test_a",),
        ("unit/test_unit.py::test_a",),
    ],
    ids=lambda flags: " ".join(flags),
)
def test_a_narrowed_run_calls_nothing_unused(several: Any, flags: tuple[str, ...], monkeypatch: Any) -> None:
    monkeypatch.setenv("CI", "1")
    assert UNUSED not in several.says(*flags)


@pytest.mark.parametrize("flags", [(), (".",), ("unit",), ("unit/test_unit.py",), ("unit", "slow")])
def test_a_run_that_would_have_found_it_calls_it_unused(several: Any, flags: tuple[str, ...]) -> None:
    said = several.says(*flags)
    assert "note: 1 entry of cachesafe.lock.jsonl without a check" in said
    assert "unit/test_unit.py::test_b (stable)" in said


def test_update_of_a_narrowed_run_keeps_the_rest(several: Any) -> None:
    several.run("--cachesafe-update", "slow")
    assert len(keys(several)) == 4
    several.run("--cachesafe-update")
    assert len(keys(several)) == 3


def test_from_another_folder_only_what_is_in_it_is_judged(several: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(several.path / "slow")
    assert UNUSED not in several.says()
    monkeypatch.chdir(several.path / "unit")
    assert "unit/test_unit.py::test_b" in several.says()


def test_outside_testpaths_a_test_may_exist(several: Any) -> None:
    several.pytester.makeini("[pytest]\npythonpath = .\ntestpaths = slow\n")
    assert UNUSED not in several.says()
    (several.path / "unit" / "test_unit.py").unlink()
    assert "2 entries" in several.says()


def test_last_failed_leaves_whole_files_out(gated: Any) -> None:
    gated.file("test_a.py", ONE.format("a"))
    gated.file("test_b.py", "def test_b():\n    assert_prefix_stable(chat(3))\n    assert not SYSTEM\n")
    gated.run("--cachesafe-update", ok=1)
    assert UNUSED not in gated.says("--lf", ok=1)


def test_a_module_that_skips_itself_or_cannot_be_imported_loses_no_entry(gated: Any) -> None:
    gated.file("test_a.py", ONE.format("a"))
    gated.file("test_b.py", ONE.format("b"))
    gated.run("--cachesafe-update")
    before = gated.lock
    gated.file("test_b.py", 'pytest.importorskip("no_such_package")\n' + ONE.format("b"))
    assert UNUSED not in gated.says("--cachesafe-update")
    gated.file("test_b.py", "import no_such_package\n")
    assert UNUSED not in gated.says("--cachesafe-update", "--continue-on-collection-errors", ok=1)
    assert gated.lock == before


def test_failed_and_skipped_tests_keep_their_entries(gated: Any) -> None:
    gated.file("test_a.py", ONE.format("a") + ONE.format("b"))
    gated.run("--cachesafe-update")
    before = gated.lock
    gated.file(
        "test_a.py",
        '@pytest.mark.skip("later")\ndef test_a():\n    pass\n\ndef test_b():\n    assert not SYSTEM\n',
    )
    assert UNUSED not in gated.says("--cachesafe-update", ok=1)
    assert gated.lock == before


def test_a_test_that_passes_without_its_check_leaves_it_unused(gated: Any) -> None:
    gated.file("test_a.py", ONE.format("a"))
    gated.run("--cachesafe-update")
    gated.file("test_a.py", "def test_a():\n    pass\n")
    assert UNUSED in gated.says("test_a.py::test_a")


def test_classes_parameters_and_async_tests_have_entries_of_their_own(gated: Any) -> None:
    pytest.importorskip("pytest_asyncio", reason="needs pytest-asyncio")
    gated.file(
        "test_a.py",
        """
class TestIt:
    @pytest.mark.parametrize("word", ["a/b::c", "[x]", "two words"])
    def test_words(self, word):
        assert_prefix_stable(chat(3))

@pytest.mark.asyncio
async def test_async():
    await assert_prefix_stable_async(chat(3), name="awaited")
""",
    )
    gated.run("-p", "asyncio", "-o", "asyncio_default_fixture_loop_scope=function", "--cachesafe-update")
    assert len(keys(gated)) == 4
    assert UNUSED not in gated.says("test_a.py::TestIt::test_words[a/b::c]")
    assert ("test_async", "awaited") in keys(gated)


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")], ids=["alone", "two workers"])
def test_checks_without_a_name_are_numbered_and_names_are_used_once(gated: Any, workers: tuple[str, ...]) -> None:
    if workers:
        pytest.importorskip("xdist", reason="needs pytest-xdist")
    gated.file(
        "test_a.py",
        """
def test_loop():
    for turns in range(2, 26):
        assert_prefix_stable(chat(3))

def test_twice():
    assert_prefix_stable(chat(3), name="one")
    assert_prefix_stable(chat(3), name="one")

def test_taken():
    assert_prefix_stable(chat(3), name="stable#2")
    assert_prefix_stable(chat(3))
    assert_prefix_stable(chat(3))
""",
    )
    result = gated.run(*workers, "--cachesafe-update", ok=1)
    result.stdout.fnmatch_lines_random(
        [
            "*two checks of test_a.py::test_twice are named 'one'*",
            "*a check of test_a.py::test_taken is named 'stable#2', as an unnamed one is*",
            "*test_loop: more than 20 checks without a name: the others are not held against the lock",
        ]
    )
    loop = [name for test, name in keys(gated) if test == "test_loop"]
    assert sorted(loop) == sorted(["stable", *(f"stable#{i}" for i in range(2, 21))])


def test_generated_tests_are_gated_only_by_name(gated: Any) -> None:
    gated.file(
        "test_a.py",
        """
from hypothesis import given, settings, strategies as st

@given(st.integers(3, 6))
@settings(max_examples=5, database=None)
def test_generated(turns):
    assert_prefix_stable(chat(turns))
    assert_prefix_stable(chat(turns), name="named")
""",
    )
    gated.run("--cachesafe-update")
    assert keys(gated) == [("test_generated", "named")]
    # The simplest input, whatever the seed.
    assert '"requests": 3' in gated.lock
    assert "cachesafe gate" not in gated.says()


def test_a_retried_test_counts_once(gated: Any) -> None:
    pytest.importorskip("pytest_rerunfailures", reason="needs pytest-rerunfailures")
    gated.file(
        "test_a.py",
        """
tries = []

def test_flaky():
    tries.append(1)
    assert_prefix_stable(chat(3), name="always")
    if len(tries) == 1:
        assert_prefix_stable(chat(3), name="first time only")
        raise ValueError
    assert_prefix_stable(chat(4))
""",
    )
    gated.run("-p", "rerunfailures", "--reruns", "2", "--cachesafe-update", "-o", "filterwarnings=")
    assert keys(gated) == [("test_flaky", "always"), ("test_flaky", "stable")]


def test_the_child_of_a_rerun_writes_nothing_and_finds_nothing_unused(
    gated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    gated.file("test_a.py", 'def test_a():\n    assert_prefix_stable(chat(3), under=["hashseed"])\n' + ONE.format("b"))
    gated.run("--cachesafe-update", apart=True)
    assert keys(gated) == [("test_a", "stable"), ("test_b", "stable")]
    before = gated.lock_path.stat().st_mtime_ns
    gated.run("--cachesafe-update", apart=True)
    assert gated.lock_path.stat().st_mtime_ns == before
    monkeypatch.setenv("CI", "1")
    gated.run(apart=True)


def test_subtests_say_nothing_of_their_test(gated: Any) -> None:
    if not hasattr(pytest, "Subtests"):
        pytest.skip("needs pytest 9")
    gated.file(
        "test_a.py",
        """
def test_a(subtests):
    for turns in (3, 4):
        with subtests.test(turns=turns):
            assert_prefix_stable(chat(turns), name=f"{turns} turns")
""",
    )
    gated.run("--cachesafe-update")
    assert len(keys(gated)) == 2
    gated.file("test_a.py", "def test_a(subtests):\n    with subtests.test():\n        pass\n    assert not SYSTEM\n")
    assert UNUSED not in gated.says(ok=1)


def test_workers_agree_on_what_is_unused(several: Any) -> None:
    pytest.importorskip("xdist", reason="needs pytest-xdist")
    workers = ("-p", "xdist", "-n", "2")
    assert UNUSED in several.says(*workers)
    assert UNUSED not in several.says(*workers, "-k", "test_a")
    assert UNUSED not in several.says(*workers, "slow")


def test_a_worker_that_dies_leaves_the_entries_of_its_tests(gated: Any) -> None:
    pytest.importorskip("xdist", reason="needs pytest-xdist")
    gated.file("test_a.py", "".join(ONE.format(name) for name in "abcd"))
    gated.run("--cachesafe-update")
    before = gated.lock
    gated.file(
        "test_a.py", "".join(ONE.format(name) for name in "abcd") + "def test_z():\n    import os; os._exit(1)\n"
    )
    said = gated.says("-p", "xdist", "-n", "1", "--cachesafe-update", ok=1)
    assert "a worker ended without telling what its checks found" in said
    assert UNUSED not in said
    assert gated.lock == before
