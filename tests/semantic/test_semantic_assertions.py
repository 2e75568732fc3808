"""`assert_no_collisions`, `assert_distinct`, `assert_mergeable`."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

import pytest_cachesafe
from pytest_cachesafe import (
    CollisionFailure,
    CollisionJudge,
    Tables,
    UsageError,
    assert_distinct,
    assert_mergeable,
    assert_no_collisions,
)

pytest.importorskip("numpy")

NOT = ("Is the API rate limited?", "Is the API not rate limited?")
SAME = ("Where is my invoice?", "Where is my invoice, please?")
SUSPECT = ("Can the owner approve my request?", "Can the auditor approve my request?")


def by_question(texts: list[str]) -> list[list[float]]:
    """Every question about one thing gets nearly one vector."""
    return [["API" in t, "invoice" in t, "approve" in t, len(t) / 1000] for t in texts]


def no_encoder(texts: list[str]) -> Any:
    raise AssertionError("the texts alone were to be judged")


def test_collisions_fail_with_a_line_that_stands_alone() -> None:
    with pytest.raises(CollisionFailure) as caught:
        assert_no_collisions([*NOT, *SAME], threshold=0.9, encoder=by_question, name="support")
    first = str(caught.value).split("\n")[0]
    assert first.startswith("[support] 1 collision among 4 prompts at threshold 0.9 [by_question]: negation (– / not)")
    assert NOT[1] in first
    assert [p.verdict.text.kind for p in caught.value.report.collisions] == ["negation"]
    assert issubclass(CollisionFailure, AssertionError)
    other = pickle.loads(pickle.dumps(CollisionFailure(SimpleReport())))
    assert str(other) == "text"


class SimpleReport:
    def text(self, verbosity: int = 0, redact: str = "none") -> str:
        return "text"


def test_a_clean_set_passes_and_names_the_closest_pair() -> None:
    report = assert_no_collisions([*SAME, NOT[0]], threshold=0.9, encoder=by_question)
    assert report.closest is not None
    assert (report.closest.verdict.a, report.closest.verdict.b) == SAME


def test_options_of_the_set() -> None:
    prompts = [*SUSPECT, SAME[0]]
    assert assert_no_collisions(prompts, threshold=0.9, encoder=by_question)
    with pytest.raises(CollisionFailure, match="1 suspect among 3 prompts"):
        assert_no_collisions(prompts, threshold=0.9, encoder=by_question, level="suspect")
    assert assert_no_collisions(
        prompts, threshold=0.9, encoder=by_question, level="suspect", allow=[(*SUSPECT, "one form for both")]
    )
    with pytest.raises(TypeError, match="treshold"):
        assert_no_collisions(prompts, treshold=0.9)  # type: ignore[call-arg]


def test_a_judge_has_its_own() -> None:
    judge = CollisionJudge(by_question, 0.9)
    with pytest.raises(CollisionFailure):
        judge.assert_no_collisions(NOT)
    with pytest.raises(CollisionFailure, match=r"at threshold 0\.8 "):
        assert_no_collisions(NOT, judge=judge, threshold=0.8)
    with pytest.raises(UsageError, match="judge= has its own encoder"):
        assert_no_collisions(NOT, judge=judge, encoder=by_question)
    assert judge.assert_mergeable(*SAME)
    assert judge.assert_distinct(*NOT)


def test_distinct_asks_the_words_alone() -> None:
    judge = CollisionJudge(no_encoder)
    assert assert_distinct(*NOT, judge=judge).text_verdict.kind == "negation"
    with pytest.raises(CollisionFailure) as caught:
        assert_distinct(*SAME, judge=judge)
    text = str(caught.value)
    assert text.startswith("nothing is found in which they need different answers")
    assert "[tool.cachesafe.semantic]" in text
    with pytest.raises(CollisionFailure, match="is suspected, not certain"):
        assert_distinct(*SUSPECT, judge=judge)
    assert assert_distinct(*SUSPECT, judge=judge, level="suspect")


def test_tables_of_ones_own() -> None:
    pair = ("Is the blue plan full?", "Is the teal plan full?")
    tables = Tables.default().with_user(entities=[["blue", "teal"]])
    assert assert_distinct(*pair, tables=tables).text_verdict.different_answer == "certain"
    with pytest.raises(CollisionFailure, match="they need different answers"):
        assert_mergeable(*pair, tables=tables, encoder=lambda texts: [[1.0, len(t)] for t in texts])


def test_mergeable_needs_both_statements() -> None:
    found = assert_mergeable(*SAME, threshold=0.9, encoder=by_question)
    assert found.verdict is not None
    assert found.verdict.merged
    with pytest.raises(CollisionFailure, match=r"^they need different answers \(certain\) \[by_question\]"):
        assert_mergeable(*NOT, threshold=0.9, encoder=by_question)
    with pytest.raises(CollisionFailure) as caught:
        assert_mergeable(
            SAME[0], "Can you tell me where my invoice for the last trip to Oslo is?", threshold=1, encoder=by_question
        )
    assert "the cache does not merge them, and the answer is computed anew" in str(caught.value)
    assert "below the threshold" in str(caught.value)
    assert assert_mergeable(*SUSPECT, threshold=0.9, encoder=by_question)
    with pytest.raises(CollisionFailure, match=r"they need different answers \(suspect\)"):
        assert_mergeable(*SUSPECT, threshold=0.9, encoder=by_question, level="suspect")


@pytest.mark.parametrize("check", [assert_distinct, assert_mergeable])
@pytest.mark.parametrize(
    ("pair", "words"),
    [(("a", "a"), "the same text"), (("a", " "), "prompt b is blank"), ((None, "b"), "prompt a: a prompt is text")],
)
def test_pairs_that_prove_nothing(check: Any, pair: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check(*pair)


def test_they_are_public() -> None:
    for name in ("CollisionJudge", "assert_no_collisions", "assert_distinct", "assert_mergeable", "semantic_cases"):
        assert name in pytest_cachesafe.__all__


def test_what_a_passed_test_has_to_say(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]), prepend=os.pathsep)
    pytester.makepyfile(
        """
        from pytest_cachesafe import assert_no_collisions

        def embed(texts):
            return [["API" in t, "plan" in t, len(t) / 100] for t in texts]

        def test_support():
            prompts = ["Is the API limited?", "Which plan is best?", "Is the API limited, please?"]
            assert_no_collisions(prompts, threshold=0.9, encoder=embed, allow=[(prompts[0], "gone", "was one page")])
        """
    )
    result = pytester.runpytest_inprocess("-p", "pytest_cachesafe.plugin")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*cachesafe notes*",
            "*test_support: no collisions among 3 prompts at threshold 0.9 ?embed?; closest pair: cosine 0.9*"
            "unused allow entry, one of the prompts is not in the set*was one page*not of length 1*",
        ]
    )
