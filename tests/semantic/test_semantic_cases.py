"""Labelled pairs in JSON lines, a test each."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe import CollisionFailure, CollisionJudge, UsageError, semantic_cases
from pytest_cachesafe.semantic.cases import load_cases

pytest.importorskip("numpy")

PASSWORD = {"a": "How do I reset my password?", "b": "I forgot my password, what now?", "same_answer": True}
PLANS = {"a": "Cancel my annual plan", "b": "Cancel my monthly plan", "same_answer": False, "id": "plans"}


def by_topic(texts: list[str]) -> list[list[float]]:
    return [["password" in t, "plan" in t, len(t) / 1000] for t in texts]


def write(path: Path, *lines: Any) -> Path:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), "utf-8")
    return path


def test_labels_are_held_against_the_cache(tmp_path: Path) -> None:
    password, plans = load_cases(write(tmp_path / "cases.jsonl", PASSWORD, "", PLANS))
    assert (password.where, password.id, plans.where, plans.id) == (
        "cases.jsonl: line 1",
        "line1",
        "cases.jsonl: line 3",
        "plans",
    )
    judge = CollisionJudge(by_topic, 0.9)
    assert password.check(judge)
    with pytest.raises(CollisionFailure) as caught:
        plans.check(judge)
    text = str(caught.value)
    assert text.startswith("cases.jsonl: line 3: labelled as different, and the cache merges them [by_topic]")
    assert "it sees the difference" in text
    strict = CollisionJudge(lambda texts: [[float(len(t)), t.count("p"), 1.0] for t in texts], 1)
    assert plans.check(strict)
    with pytest.raises(CollisionFailure, match="labelled as the same, and the cache does not merge them"):
        password.check(strict)
    assert password.check(strict, threshold=0)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "is empty"),
        ([PASSWORD | {"same_answer": "maybe"}], "line 1: same_answer 'maybe' is unknown"),
        ([PASSWORD, PLANS | {"same_answer": None}], "line 2: an ambiguous pair is no test"),
        ([{"a": "x", "b": "y"}], "has no label"),
        ([{"a": "x", "same_answer": True}], 'an object with "a" and "b" is meant'),
        ([PASSWORD, PASSWORD], "line 2: this pair stands in line 1 already"),
        ([PASSWORD | {"b": PASSWORD["a"]}], "the same text"),
        ([PASSWORD | {"id": "x"}, PLANS | {"id": "x"}], "the id 'x' stands there twice"),
        ([PASSWORD | {"b": " "}], "line 1: prompt b is blank"),
        (["{"], "line 1 column 2: not JSON"),
        ([PASSWORD, "[1]"], "line 2: an object"),
    ],
)
def test_files_that_prove_nothing(tmp_path: Path, lines: list[Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        load_cases(write(tmp_path / "cases.jsonl", *lines))
    assert "\n" not in str(caught.value)
    assert "cases.jsonl" in str(caught.value)


def test_the_decorator_reads_beside_the_test() -> None:
    with pytest.raises(UsageError, match=r"missing\.jsonl: no such file"):
        semantic_cases("missing.jsonl")


def test_a_test_for_each_case(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]), prepend=os.pathsep)
    write(pytester.path / "cases.jsonl", PASSWORD, PLANS)
    pytester.makepyfile(
        test_it="""
        from pytest_cachesafe import CollisionJudge, semantic_cases

        def by_topic(texts):
            return [["password" in t, "plan" in t, len(t) / 1000] for t in texts]

        @semantic_cases("cases.jsonl")
        def test_support(case):
            case.check(CollisionJudge(by_topic, 0.9))
        """
    )
    result = pytester.runpytest_inprocess("-p", "pytest_cachesafe.plugin", "-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*test_support?line1? PASSED*", "*test_support?plans? FAILED*"])
    # The short summary has room for as much.
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_support?plans? - cases.jsonl: line 2: labelled as*"])
    assert "assertions.py" not in result.stdout.str()
