"""JUnit properties, the notes at the end, and other plugins: xdist, random order, no cache."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

BODY = """
from pytest_cachesafe import Accept

def test_good():
    assert_prefix_stable(STABLE)

def test_bad():
    assert_prefix_stable(BROKEN)

def test_two():
    assert_prefix_stable(STABLE)
    assert_prefix_stable(BROKEN, fail_on=["raises"])

def test_noted():
    assert_prefix_stable(STABLE, accept=[Accept(cause="date", reason="was so once")])

def test_plain():
    pass
"""


def _properties(path: Path) -> dict[str, dict[str, str]]:
    # Written by the run above, hence trusted.
    cases = ElementTree.parse(path).getroot().iter("testcase")
    return {
        str(case.get("name")): {str(p.get("name")): str(p.get("value")) for p in case.iter("property")}
        for case in cases
    }


def check_properties(found: dict[str, dict[str, str]]) -> None:
    assert found["test_plain"] == {}
    assert found["test_good"]["cachesafe_verdict"] == "stable"
    assert found["test_good"]["cachesafe_front_end"] == "plain text"
    bad = found["test_bad"]
    assert bad["cachesafe_verdict"] == "history"
    assert int(bad["cachesafe_lost_tokens"]) > 0
    assert bad["cachesafe_cause"] == "timestamp"
    assert found["test_two"]["cachesafe_verdict"] == "stable"
    assert found["test_two"]["cachesafe_verdict_2"] == "history"


def test_junit_properties(project: Any) -> None:
    project.test(BODY)
    project.run("--junitxml=out.xml")
    check_properties(_properties(project.path / "out.xml"))


def test_notes_stand_at_the_end_once(project: Any) -> None:
    project.test(BODY)
    result = project.run()
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(
        ["*= cachesafe notes =*", "test_it.py::test_noted: *no longer happens, remove it: *date*"]
    )
    assert result.stdout.str().count("no longer happens") == 1


def test_under_xdist(project: Any) -> None:
    project.test(BODY)
    result = project.run_apart("-p", "xdist", "-n", "2", "--junitxml=out.xml")
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["*= cachesafe notes =*", "test_it.py::test_noted: *"])
    check_properties(_properties(project.path / "out.xml"))


def test_snapshots_and_options_under_xdist(project: Any) -> None:
    project.test(
        "@pytest.mark.parametrize('n', range(4))\n"
        "def test_it(cachesafe, n):\n"
        "    assert cachesafe.settings['block_size'] == (7, 'flag')\n"
        "    cachesafe.snapshot(f'prompt {n}')\n"
    )
    args = ("-p", "xdist", "-n", "2", "--cachesafe-block-size=7")
    first = project.run_apart(*args)
    first.assert_outcomes(passed=4)
    first.stdout.fnmatch_lines(["*snapshot 'prefix' stored*"])
    second = project.run_apart(*args)
    second.assert_outcomes(passed=4)
    assert "cachesafe notes" not in second.stdout.str()


def test_random_order_and_no_cache(project: Any) -> None:
    project.test(BODY)
    for seed in ("1", "2"):
        result = project.run("-p", "randomly", "-p", "no:cacheprovider", f"--randomly-seed={seed}")
        result.assert_outcomes(passed=4, failed=1)


def test_quiet_when_nothing_was_noted(project: Any) -> None:
    project.test("def test_good():\n    assert_prefix_stable(STABLE)")
    assert "cachesafe" not in project.run().stdout.str()


def test_a_repeated_attempt_counts_its_assertions_anew(project: Any) -> None:
    project.test(
        "from pytest_cachesafe.perturb.node import current_node\n"
        "def test_it():\n"
        "    assert current_node().assert_calls == 0\n"
        "    assert_prefix_stable(STABLE)\n"
        "    assert current_node().assert_calls == 1\n"
    )
    (project.path / "conftest.py").write_text(
        "import pytest\n"
        "from _pytest.runner import runtestprotocol\n"
        "@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_runtest_protocol(item, nextitem):\n"
        "    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)\n"
        "    runtestprotocol(item, nextitem=nextitem, log=False)\n"
        "    item._initrequest()\n"
        "    for report in runtestprotocol(item, nextitem=nextitem, log=False):\n"
        "        item.ihook.pytest_runtest_logreport(report=report)\n"
        "    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)\n"
        "    return True\n",
        encoding="utf-8",
    )
    project.run().assert_outcomes(passed=1)


def test_no_test_is_running_between_tests(project: Any) -> None:
    (project.path / "conftest.py").write_text(
        "from pytest_cachesafe.perturb.node import current_node\n"
        "def pytest_sessionfinish():\n    assert current_node() is OUTER\n"
        "OUTER = current_node()\n",
        encoding="utf-8",
    )
    project.test("def test_it():\n    assert 0")
    result = project.run()
    result.assert_outcomes(failed=1)
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


def test_many_assertions_leave_few_properties_and_one_note(project: Any) -> None:
    project.test(
        "from pytest_cachesafe import Accept\n"
        "def test_it():\n"
        "    for _ in range(200):\n"
        "        assert_prefix_stable(STABLE, accept=[Accept(cause='date')])\n"
    )
    result = project.run("--junitxml=out.xml")
    result.assert_outcomes(passed=1)
    assert result.stdout.str().count("no longer happens") == 1
    text = (project.path / "out.xml").read_text(encoding="utf-8")
    assert 0 < text.count("cachesafe_verdict") <= 20


def test_unittest_classes_work(project: Any) -> None:
    project.test(
        "import unittest\n"
        "class TestIt(unittest.TestCase):\n"
        "    def test_good(self):\n        assert_prefix_stable(STABLE)\n"
        "    def test_bad(self):\n        assert_prefix_stable(BROKEN)\n"
    )
    result = project.run("--junitxml=out.xml")
    result.assert_outcomes(passed=1, failed=1)
    assert _properties(project.path / "out.xml")["test_bad"]["cachesafe_verdict"] == "history"


RECORDS = (
    "def test_it(cachesafe):\n    with cachesafe.record() as rec:\n"
    "        rec.request([{'role': 'user', 'content': 'a'}])\n"
    "        rec.request([{'role': 'user', 'content': 'a'}, {'role': 'user', 'content': 'b'}])\n"
)


def test_a_recording_that_nobody_judges_is_told(project: Any) -> None:
    project.test(RECORDS)
    result = project.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["test_it.py::test_it: 2 requests recorded and never judged: call rec.assert_s*"])


def test_a_recording_that_is_used_or_empty_or_of_a_failing_test_is_not(project: Any) -> None:
    for use in (
        "rec.assert_stable()",
        "assert_prefix_stable(rec)",
        "[chat.messages for chat in rec]",
        "rec.requests.clear()",
        "raise ValueError('before the assertion')",
    ):
        project.test(RECORDS + f"    {use}\n")
        assert "never judged" not in project.run().stdout.str(), use
