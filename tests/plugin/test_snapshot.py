"""`cachesafe.snapshot()` and `--cachesafe-update`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

BODY = """
from pathlib import Path

@pytest.mark.parametrize("case", ["a/b", "c::d"])
def test_it(cachesafe, case):
    cachesafe.snapshot(Path("prompt.txt").read_text() + case, name="system and tools")
"""


@pytest.fixture
def prompt(project: Any) -> Path:
    project.test(BODY)
    path: Path = project.path / "prompt.txt"
    path.write_text("You are helpful. Version 1 of the rules. Answer briefly.", encoding="utf-8")
    return path


def test_first_run_stores_and_says_so_then_compares_silently(project: Any, prompt: Path) -> None:
    first = project.run()
    first.assert_outcomes(passed=2)
    first.stdout.fnmatch_lines(["*cachesafe notes*", "*snapshot 'system and tools' stored (about * tokens *"])
    second = project.run()
    second.assert_outcomes(passed=2)
    assert "cachesafe notes" not in second.stdout.str()


def test_a_change_fails_with_its_place(project: Any, prompt: Path) -> None:
    project.run()
    prompt.write_text("You are helpful. Version 2 of the rules. Answer briefly.", encoding="utf-8")
    result = project.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "E *snapshot 'system and tools' changed: *",
            "E *--cachesafe-update",
            "FAILED * - snapshot 'system and tools'*",
        ]
    )
    assert "Version 1" in result.stdout.str() or "1 of the rules" in result.stdout.str()
    assert "fixture.py" not in result.stdout.str()
    # Failing does not move the snapshot.
    project.run().assert_outcomes(failed=2)


def test_growth_at_the_end_is_a_change_too(project: Any, prompt: Path) -> None:
    project.test(
        "def test_it(cachesafe):\n    import pathlib; cachesafe.snapshot(pathlib.Path('prompt.txt').read_text())"
    )
    project.run()
    prompt.write_text(prompt.read_text(encoding="utf-8") + " More.", encoding="utf-8")
    project.run().assert_outcomes(failed=1)


def test_update_moves_snapshots_into_the_lock_file(project: Any, prompt: Path) -> None:
    project.run()
    prompt.write_text("You are helpful. Version 2 of the rules. Answer briefly.", encoding="utf-8")
    result = project.run("--cachesafe-update")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*cachesafe.lock.jsonl written: 2 added*"])
    project.run().assert_outcomes(passed=2)


def test_names_and_tests_do_not_share(project: Any) -> None:
    project.test(
        "def test_a(cachesafe):\n    cachesafe.snapshot('one', name='x')\n    cachesafe.snapshot('two', name='y')\n"
        "def test_b(cachesafe):\n    cachesafe.snapshot('three', name='x')\n"
    )
    project.run().assert_outcomes(passed=2)
    project.run().assert_outcomes(passed=2)


def test_another_front_end_is_named(project: Any) -> None:
    body = "def test_it(cachesafe):\n    cachesafe.snapshot(Prompt('same text {n}', front_end='template {n}'))\n"
    project.test(body.replace("{n}", "1"))
    project.run()
    project.test(body.replace("{n}", "2"))
    project.run().stdout.fnmatch_lines(["E *made with 'template 1' before, with 'template 2' now"])


def test_redacted_snapshots_hold_no_text(project: Any, prompt: Path) -> None:
    project.run("--cachesafe-redact=hash")
    stored = [p.read_text(encoding="utf-8") for p in (project.path / ".pytest_cache" / "v").rglob("*") if p.is_file()]
    assert any("prefix_hash" in text for text in stored)
    assert not any("helpful" in text for text in stored)
    prompt.write_text("Changed.", encoding="utf-8")
    project.run("--cachesafe-redact=hash").assert_outcomes(failed=2)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("cachesafe.snapshot('')", "the prompt is empty"),
        ("cachesafe.snapshot([1, 2])", "takes a Prompt or a text, not list"),
        ("cachesafe.snapshot('a'); cachesafe.snapshot('b')", "was taken before in this test"),
    ],
)
def test_mistakes(project: Any, line: str, words: str) -> None:
    project.test(f"def test_it(cachesafe):\n    {line}")
    project.run().stdout.fnmatch_lines([f"*{words}*"])


def test_without_pytests_cache(project: Any, prompt: Path) -> None:
    result = project.run("-p", "no:cacheprovider")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["snapshot() keeps prompts in pytest's cache: run without -p no:cacheprovider"])


def test_a_damaged_entry_counts_as_absent(project: Any, prompt: Path) -> None:
    project.run()
    for path in (project.path / ".pytest_cache" / "v" / "cachesafe" / "snapshots").iterdir():
        path.write_text("[1]", encoding="utf-8")
    project.run().assert_outcomes(passed=2)
