"""A second opinion: limits from the user's own pairs, never from a table."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.semantic.detect import Detector
from pytest_cachesafe.semantic.sweep.interval import upper_bound
from pytest_cachesafe.semantic.verdict import Difference, PairVerdict, TextVerdict
from pytest_cachesafe.semantic.verifier import CalibratedVerifier, CrossEncoderVerifier, calibrate, second_opinion
from pytest_cachesafe.usage import UsageError


class Scores:
    """A verifier that knows its scores by heart."""

    def __init__(self, same: list[float], different: list[float]) -> None:
        self.known = {f"s{i}": score for i, score in enumerate(same)} | {
            f"d{i}": score for i, score in enumerate(different)
        }

    def __call__(self, a: str, b: str) -> float:
        return self.known[max(a, b)]

    @property
    def pairs(self) -> list[tuple[str, str, bool]]:
        return [("a", name, name.startswith("s")) for name in self.known]


def gauss(n: int, sign: float = 1.0, apart: float = 1.0, seed: int = 0) -> Scores:
    draws = Random(seed)
    return Scores([sign * draws.gauss(0, 0.5) for _ in range(n)], [sign * draws.gauss(apart, 0.5) for _ in range(n)])


@given(st.integers(0, 500), st.sampled_from([1.0, -1.0]), st.integers(59, 200))
@settings(deadline=None, max_examples=40)
def test_errors_stay_within_the_budget_on_the_pairs_themselves(seed: int, sign: float, n: int) -> None:
    """The bound of what lies beyond either limit, by the labelled pairs, is within the budget."""
    found = calibrate(gauss(n, sign, 1.5, seed), gauss(n, sign, 1.5, seed).pairs)
    assert found.sign == sign
    assert upper_bound(found.confirmed_wrongly.count, n, 0.95) <= 0.05
    assert upper_bound(found.cleared_wrongly.count, n, 0.95) <= 0.05
    assert found.opinion(sign * 100) == "different"
    assert found.opinion(sign * -100) == "same"
    # A limit itself is beyond nothing.
    assert found.opinion(found.confirms) != "different"
    assert found.opinion(found.clears) != "same"


def test_a_scale_that_runs_the_other_way_gives_the_mirror_image() -> None:
    up, down = gauss(100), gauss(100, -1.0)
    one, other = calibrate(up, up.pairs), calibrate(down, down.pairs)
    assert (one.confirms, one.clears) == (-other.confirms, -other.clears)
    assert one.as_dict()["high_means"] == "different"
    assert other.as_dict()["high_means"] == "same"
    assert one.confirmed == other.confirmed


def test_errors_stay_within_the_budget_on_other_pairs() -> None:
    """The promise itself: of 60 calibrations, few may have limits that more than the budget lies beyond."""
    broken = 0
    draws = Random(7)
    fresh = [draws.gauss(0, 0.5) for _ in range(4000)]
    for seed in range(60):
        scores = gauss(80, seed=seed, apart=1.5)
        found = calibrate(scores, scores.pairs)
        broken += sum(found.opinion(score) == "different" for score in fresh) / len(fresh) > 0.05
    # 5% of 60 are 3; 8 or more have a chance of 1 in 70.
    assert broken < 8


def test_labels_that_lie_far_apart_leave_a_gap_in_which_nothing_is_said() -> None:
    scores = Scores([i / 1000 for i in range(80)], [5 + i / 1000 for i in range(80)])
    found = calibrate(scores, scores.pairs)
    assert (found.opinion(6.0), found.opinion(-1.0), found.opinion(2.5)) == ("different", "same", "unsure")
    assert found.auc == 1.0


def test_too_few_pairs_are_refused_with_the_number_needed() -> None:
    scores = gauss(58)
    with pytest.raises(UsageError, match="59 of each are the least to keep errors at 5%"):
        calibrate(scores, scores.pairs)
    assert calibrate(scores, scores.pairs, budget=0.1).budget == 0.1


def test_scores_without_meaning_are_refused() -> None:
    scores = gauss(100, apart=0.0)
    with pytest.raises(UsageError, match="do not tell the labels apart"):
        calibrate(scores, scores.pairs)


def test_only_suspects_are_used_where_a_detector_is_given() -> None:
    scores = gauss(100)
    with pytest.raises(
        UsageError, match="0 pairs with one answer and 0 with different ones that the detector suspects"
    ):
        calibrate(
            lambda a, b: 0.0,
            [(f"Wait {n} days", f"Wait {n + 500} days", False) for n in range(70)],
            detector=Detector(),
        )
    assert calibrate(scores, scores.pairs).cleared.n == 100


@pytest.mark.parametrize("score", [float("nan"), float("inf"), None, "high", [0.1, 0.9]])
def test_what_is_no_score_is_an_error(score: Any) -> None:
    with pytest.raises(UsageError, match="one finite number a pair"):
        calibrate(lambda a, b: score, gauss(60).pairs)


@pytest.mark.parametrize(("options", "message"), [({"budget": 0.5}, "budget"), ({"confidence": 1.0}, "confidence")])
def test_options_out_of_range_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        calibrate(gauss(60), gauss(60).pairs, **options)


def test_the_order_of_a_pair_changes_no_score() -> None:
    found = calibrate(gauss(60), gauss(60).pairs)
    lopsided = CalibratedVerifier(
        lambda a, b: float(len(a)), 1, found.confirms, found.clears, found.auc, found.confirmed,
        found.cleared_wrongly, found.confirmed_wrongly, found.cleared, 0.05, 0.95,
    )  # fmt: skip
    assert lopsided("ab", "cdef") == lopsided("cdef", "ab") == 2.0


def verdict(tier: Any, score: float | None = None) -> PairVerdict:
    differences = () if tier == "none" else (Difference("number", tier, (), (), ""),)
    return PairVerdict("a", "d0", 0.97, 0.95, TextVerdict(differences), score)


def test_a_suspect_is_confirmed_cleared_or_stays_one() -> None:
    scores = gauss(100, apart=1.5)
    found = calibrate(scores, scores.pairs)
    assert second_opinion(verdict("suspect", 99.0), found) == "certain"
    assert second_opinion(verdict("suspect", -99.0), found) == "none"
    assert second_opinion(verdict("suspect", (found.confirms + found.clears) / 2), found) == "suspect"
    scores.known["d0"] = 99.0
    assert second_opinion(verdict("suspect"), found) == "certain"


@pytest.mark.parametrize("tier", ["certain", "none"])
def test_what_is_no_suspect_is_not_asked_about(tier: Any) -> None:
    def never(a: str, b: str) -> float:
        raise LookupError(a)

    known = calibrate(gauss(60), gauss(60).pairs)
    found = CalibratedVerifier(
        never, 1, known.confirms, known.clears, known.auc, known.confirmed, known.cleared_wrongly,
        known.confirmed_wrongly, known.cleared, 0.05, 0.95,
    )  # fmt: skip
    assert second_opinion(verdict(tier), found) == tier


def test_the_report_says_what_the_limits_are() -> None:
    found = calibrate(gauss(100), gauss(100).pairs)
    assert "of pairs with one answer at most 5% lie there (95% sure)" in found.text()
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["budget"] == 0.05


class Nli:
    """A cross-encoder with labels; entailment only where `a` is the shorter one."""

    def __init__(self, labels: dict[int, str]) -> None:
        self.model = SimpleNamespace(config=SimpleNamespace(id2label=labels))

    def predict(self, pairs: list[tuple[str, str]], **options: Any) -> list[list[float]]:
        assert options["apply_softmax"]
        return [[0.8, 0.1, 0.1] if len(a) < len(b) else [0.3, 0.5, 0.2] for a, b in pairs]


def test_an_nli_model_scores_the_smaller_entailment_of_both_directions() -> None:
    verifier = CrossEncoderVerifier(Nli({0: "ENTAILMENT", 1: "neutral", 2: "contradiction"}))
    assert verifier("ab", "abc") == verifier("abc", "ab") == pytest.approx(0.7)


def test_an_nli_model_that_does_not_name_its_labels_is_an_error() -> None:
    with pytest.raises(UsageError, match="give entailment=INDEX"):
        CrossEncoderVerifier(Nli({0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}))
    assert CrossEncoderVerifier(Nli({0: "LABEL_0", 1: "LABEL_1"}), entailment=2)("a", "bc") == pytest.approx(0.9)


def test_a_model_with_one_output_is_averaged_over_both_orders() -> None:
    model = SimpleNamespace(
        model=SimpleNamespace(config=SimpleNamespace(id2label={0: "LABEL_0"})),
        predict=lambda pairs, **options: [float(len(pair[0])) for pair in pairs],
    )
    assert CrossEncoderVerifier(model)("ab", "abcd") == 3.0


def test_a_folder_without_a_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no config.json in it"):
        CrossEncoderVerifier(str(tmp_path))


@pytest.mark.oracle
def test_a_real_cross_encoder_is_asked_in_its_own_way(tmp_path: Path) -> None:
    """A model of a few random numbers: what counts is that sentence-transformers takes the calls."""
    pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]) + "\n")
    transformers.BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=13, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
        id2label={0: "entailment", 1: "neutral", 2: "contradiction"},
        label2id={"entailment": 0, "neutral": 1, "contradiction": 2},
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path)
    verifier = CrossEncoderVerifier(tmp_path)
    score = verifier("a b c", "d e")
    assert 0.0 < score < 1.0
    assert score == pytest.approx(verifier("d e", "a b c"))
