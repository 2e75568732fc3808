"""From a run of pytest to its page: every kind of check, the lock file and the linter are in it."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from own_modules import load_own_modules
from report_project import BEFORE, FILES

load_own_modules()

PAGE = "cachesafe-report.html"
# Words of the project's prompts, and a value that changes in them.
SECRETS = ("Answer from the manual", "You are the desk", "09:41", "monthly plan", "Where is order")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The project as it was when its lock file was written, then as it is now; outside a CI."""
    for name in ("CI", "TF_BUILD", "BUILD_NUMBER", "GITHUB_BASE_REF", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root / 'rules'}")
    write(pytester, FILES)
    return pytester


def write(project: pytest.Pytester, files: dict[str, str]) -> None:
    for name, text in files.items():
        (project.path / name).write_text(text.lstrip("\n"), encoding="utf-8")


def run(project: pytest.Pytester, *flags: str) -> Any:
    start = project.runpytest_subprocess if "-n" in flags else project.runpytest_inprocess
    return start("-p", "pytest_cachesafe.plugin", "--tb=no", *flags)


def test_everything_that_was_found_is_on_the_page(project: pytest.Pytester) -> None:
    gone = "from pytest_cachesafe import assert_reuse\ndef test_gone():\n    assert_reuse([[1] * 40, [1] * 80])\n"
    write(project, BEFORE | {"test_gone.py": gone})
    run(project, "--cachesafe-update")
    (project.path / "test_gone.py").unlink()
    write(project, FILES)
    result = run(project, "--cachesafe-report=html,json", "--cachesafe-lint")
    result.stdout.fnmatch_lines([f"cachesafe report: {PAGE}"])
    page = (project.path / PAGE).read_text(encoding="utf-8")
    shown = unescape(page)
    for words in (
        # The head, and what to mend first.
        "4 of 9 checks failed, 1 regression, 1 finding in the source",
        "<code>desk.py:21, now_text(turn)</code> (2 checks",
        # A divergence with both sides, the line that built it, what to do.
        "<dd><code>k of Northwind. Local time: <del>09:41:00.</del> Answer from",
        "<ins>09:42:00.</ins>",
        "<dt>line</dt><dd>test_desk.py:14</dd>",
        "put the time into the newest user message",
        # Toggles and acceptances.
        '<th scope="row" role="rowheader">order of tools</th>',
        "cause=reasoning_dropped, reason=the template drops it",
        "no longer happens: remove it",
        # Collisions with what differs marked.
        "<code>What does the <mark>monthly</mark> plan cost?</code>",
        # The gate and the linter.
        "<li>note: 1 entry of cachesafe.lock.jsonl without a check, run pytest --cachesafe-update to drop:</li>",
        "test_gone.py::test_gone",
        "cache regression in vLLM: 800 tokens more of the prefix lost",
        "<code>desk.py:36</code> <strong>CSF101 clock-in-prefix</strong>",
        "datetime.now() is read here",
        "USD per 1,000 conversations",
    ):
        assert words in shown, words
    data = json.loads((project.path / "cachesafe-report.json").read_text(encoding="utf-8"))
    assert {one["kind"] for one in data["scenarios"]} == {"stable", "reuse", "provider", "collisions"}
    assert [(one["code"], one["filename"]) for one in data["lint"]] == [("CSF101", "desk.py")]
    assert str(project.path) not in page


@pytest.mark.parametrize("mode", ["text", "hash"])
def test_redacted_runs_show_no_prompt(project: pytest.Pytester, mode: str) -> None:
    run(project, "--cachesafe-report=html", f"--cachesafe-redact={mode}")
    page = (project.path / PAGE).read_text(encoding="utf-8")
    assert not [words for words in SECRETS if words in page]
    assert "[80 characters" in page
    assert ("sha256 " in page.replace("(text level, sha256", "")) is (mode == "hash")
    # Names of tests and lines of code are no prompt text.
    assert "desk.py:21" in page


def test_workers_make_the_same_page(project: pytest.Pytester) -> None:
    pytest.importorskip("xdist", reason="needs pytest-xdist")
    run(project, "--cachesafe-report=html", "--cachesafe-lint")
    alone = (project.path / PAGE).read_bytes()
    run(project, "--cachesafe-report=html", "--cachesafe-lint", "-p", "xdist", "-n", "2")
    assert (project.path / PAGE).read_bytes() == alone


def test_a_test_that_is_tried_again_is_there_once(project: pytest.Pytester) -> None:
    write(
        project,
        {
            "test_desk.py": """
import pytest
from pytest_cachesafe import assert_distinct

def test_it():
    assert_distinct("What does the monthly plan cost?", "What does the annual plan cost?")
""",
            "conftest.py": """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for _ in range(2):
        for report in runtestprotocol(item, nextitem=nextitem, log=False):
            item.ihook.pytest_runtest_logreport(report=report)
    return True
""",
        },
    )
    run(project, "--cachesafe-report=json", "--cachesafe-lint")
    data = json.loads((project.path / "cachesafe-report.json").read_text(encoding="utf-8"))
    assert [one["test"] for one in data["scenarios"]] == ["test_desk.py::test_it"]
    assert len(data["lint"]) == 1


READS = """
from pytest_cachesafe.providers.assertions import assert_cached, assert_read
from desk import desk

def test_least_share_with_findings():
    assert_cached([desk(i) for i in range(3)] + [desk(3, clock=True)], min_share=0.1)

def test_reads_less():
    assert_read([desk(i) for i in range(3)], request=1, at_least=1_000_000)
"""


def test_a_check_fails_as_its_assertion_does(project: pytest.Pytester) -> None:
    write(project, {"test_desk.py": READS})
    run(project, "--cachesafe-report=json").assert_outcomes(passed=1, failed=1)
    data = json.loads((project.path / "cachesafe-report.json").read_text(encoding="utf-8"))
    least, reads = data["scenarios"]
    assert least["passed"]
    assert least["data"]["findings"]
    assert not reads["passed"]
    assert "request 1 reads about" in reads["headline"]
    assert "at_least is 1,000,000" in reads["data"]["missed"][0]
