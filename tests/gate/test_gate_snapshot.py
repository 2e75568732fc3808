"""Snapshots in the lock file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

TEST = """
SYSTEM = "You are a support bot. Answer from the manual."

def test_prefix(cachesafe):
    cachesafe.snapshot(SYSTEM, name="system")
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in ("CI", "TF_BUILD", "BUILD_NUMBER", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makepyfile(test_it=TEST)
    return pytester


def run(project: pytest.Pytester, *flags: str, ok: int = 0) -> Any:
    result = project.runpytest_inprocess("-p", "pytest_cachesafe.plugin", *flags)
    assert result.ret == ok, result.stdout.str() + result.stderr.str()
    return result


def change(project: pytest.Pytester) -> None:
    file = project.path / "test_it.py"
    file.write_text(file.read_text().replace("a support bot", "a sales bot"))


def test_a_snapshot_goes_into_the_lock_file_without_its_text(project: pytest.Pytester) -> None:
    run(project, "--cachesafe-update")
    written = (project.path / "cachesafe.lock.jsonl").read_text()
    assert '"name": "snapshot system", "kind": "snapshot"' in written
    assert "support" not in written
    run(project)


def test_a_change_is_shown_where_the_text_was_kept(project: pytest.Pytester) -> None:
    run(project, "--cachesafe-update")
    change(project)
    run(project, ok=1).stdout.fnmatch_lines(
        ["*snapshot 'system' changed: *", "*cache regression in snapshot system: the prompt is another one: *"]
    )
    run(project, "--cachesafe-update").stdout.fnmatch_lines(["*0 added, 1 changed, 0 removed*"])
    run(project)


def test_without_the_cache_folder_it_is_seen_all_the_same(project: pytest.Pytester) -> None:
    run(project, "--cachesafe-update")
    change(project)
    run(project, "-p", "no:cacheprovider", ok=1).stdout.fnmatch_lines(["*snapshot 'system' changed*"])


def test_one_that_is_not_in_the_lock_file_is_not_said_to_have_changed(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "1")
    result = run(project, "--cachesafe-gate", ok=1)
    result.stdout.fnmatch_lines(["*not in the lock file: snapshot system: there is no cachesafe.lock.jsonl*"])
    result.stdout.no_fnmatch_line("*snapshot*changed*")
