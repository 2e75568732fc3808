"""The real all-MiniLM-L6-v2: known cosines, a clean set of questions, its window, and vectors that are made once."""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe import CollisionJudge, UsageError, assert_mergeable, assert_no_collisions
from pytest_cachesafe.cli import main
from pytest_cachesafe.semantic import model_encoder
from pytest_cachesafe.semantic.encoder import DEFAULT_ENCODER
from pytest_cachesafe.semantic.model_encoder import ModelEncoder

# Where the weights are before any test changes the environment.
_CACHE = os.environ["CACHESAFE_CACHE"]

PARAPHRASE = ("How do I reset my password?", "How can I reset my password?")
NEGATED = ("Is the API rate limited?", "Is the API not rate limited?")
PERIOD = ("Refund policy for annual plans", "Refund policy for monthly plans")

# Ordinary questions to a shop with a subscription, each with an answer of its own.
QUESTIONS = (
    "How do I reset my password?",
    "Where can I download last month's invoice?",
    "Do you ship to Norway?",
    "Can I change the email address of my account?",
    "What is the battery life of the headset?",
    "How do I pair the speaker with my phone?",
    "My parcel arrived damaged, what now?",
    "Is there a discount for students?",
    "How do I add a second user to my team?",
    "Which payment methods do you accept?",
    "Can I pick up my order in a shop?",
    "How long is the warranty on keyboards?",
    "Why was my card declined?",
    "How do I export my data as CSV?",
    "Does the app work offline?",
    "How can I delete my account?",
    "What are your opening hours on Sunday?",
    "Can I get a gift receipt?",
    "How do I turn off marketing emails?",
    "Is the charger included in the box?",
)


@pytest.fixture(scope="module", autouse=True)
def minilm() -> ModelEncoder:
    """Skipped where the weights or sentence-transformers are missing; with CI set that is a failure."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CACHESAFE_CACHE", _CACHE)
        try:
            found = ModelEncoder(DEFAULT_ENCODER)
            if find_spec("sentence_transformers") is not None:
                return found
            reason = 'needs pip install "pytest-cachesafe[semantic]"'
        except UsageError as error:
            reason = str(error)
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.mark.parametrize(("pair", "cosine"), [(PARAPHRASE, 0.992), (NEGATED, 0.928), (PERIOD, 0.913)])
def test_known_cosines(pair: tuple[str, str], cosine: float) -> None:
    assert CollisionJudge().similarity(*pair) == pytest.approx(cosine, abs=6e-4)


def test_paraphrase_negation_and_period() -> None:
    assert assert_mergeable(*PARAPHRASE)
    for pair, kind in ((NEGATED, "negation"), (PERIOD, "period")):
        found = CollisionJudge(threshold=0.9).judge(*pair)
        assert (found.different_answer, found.text.kind, found.merged, found.collision) == ("certain", kind, True, True)
        assert not CollisionJudge().judge(*pair).merged


def test_the_command_at_two_thresholds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(json.dumps({"a": a, "b": b}) for a, b in (PARAPHRASE, NEGATED, PERIOD)), "utf-8")
    assert main(["collisions", "--pairs", str(file), "--threshold", "0.90", "--output-format", "json"]) == 1
    pairs = json.loads(capsys.readouterr().out)["pairs"]
    assert [(p["merged"], p["different_answer"]) for p in pairs] == [
        (True, "none"),
        (True, "certain"),
        (True, "certain"),
    ]
    assert main(["collisions", "--pairs", str(file), "--threshold", "0.95"]) == 0
    text = capsys.readouterr().out
    assert "not merged, negation (– / not); cosine 0.928, 0.022 below the threshold" in text
    assert "not merged, period (annual / monthly); cosine 0.913, 0.037 below the threshold" in text


def test_ordinary_questions_are_clean() -> None:
    report = assert_no_collisions(QUESTIONS, threshold=0.8)
    assert report.merged == 0
    assert report.compared == 190
    assert report.closest is not None
    assert report.closest.verdict.similarity < 0.8
    lines = report.text().split("\n")
    assert lines[0].startswith(
        "no collisions among 20 prompts at threshold 0.8 [sentence-transformers/all-MiniLM-L6-v2]"
    )
    assert "closest pair: cosine 0." in lines[0]
    assert sum(report.closest.verdict.a in line or report.closest.verdict.b in line for line in lines) == 2


def test_what_lies_behind_the_window_changes_nothing(minilm: ModelEncoder) -> None:
    head = "You help the customers of a shop and answer in one sentence. " * 25
    prompts = [f"{head}Do you ship to Norway?", f"{head}Why was my card declined?", "Do you ship to Norway?"]
    assert minilm.window == 256
    # 13 tokens a sentence, the question, and one special token on either side.
    assert minilm.count(prompts[2]) == 8
    assert minilm.count(prompts[0]) == 25 * 13 + 6 + 2
    assert minilm.truncated_ids(prompts[0]) == minilm.truncated_ids(prompts[1])
    assert len(minilm.truncated_ids(prompts[0]) or ()) == 256
    assert CollisionJudge(minilm).similarity(*prompts[:2]) == 1.0
    report = CollisionJudge(minilm).collisions(prompts)
    assert [group.at for group in report.cut] == [(0, 1)]
    assert report.exit_status() == 1


def test_vectors_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = ModelEncoder(DEFAULT_ENCODER).embed(QUESTIONS[:3])

    def load(folder: Path, name: str) -> Any:
        raise AssertionError("the model was loaded for vectors that are kept")

    monkeypatch.setattr(model_encoder, "_load", load)
    again = ModelEncoder(DEFAULT_ENCODER).embed([QUESTIONS[2], QUESTIONS[0], QUESTIONS[2]])
    assert (again == first[[2, 0, 2]]).all()
    with pytest.raises(AssertionError, match="the model was loaded"):
        ModelEncoder(DEFAULT_ENCODER, keep=False).embed(QUESTIONS[:1])


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(UsageError, match=r'needs sentence_transformers: pip install "pytest-cachesafe\[semantic\]"'):
        ModelEncoder(DEFAULT_ENCODER, keep=False).embed(["a"])
