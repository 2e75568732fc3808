"""Sweeps of labelled pairs: counts, intervals, advice, and what they refuse to say."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.semantic.judge import CollisionJudge
from pytest_cachesafe.semantic.sweep.curve import area, curve, smallest_safe
from pytest_cachesafe.semantic.sweep.interval import clopper_pearson, needed, upper_bound, wilson
from pytest_cachesafe.semantic.sweep.labelled import LabelledPairs
from pytest_cachesafe.semantic.sweep.result import SweepReport
from pytest_cachesafe.usage import UsageError


def binomial_at_most(count: int, n: int, p: float) -> float:
    """By its definition."""
    return math.fsum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(count + 1))


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.6, 0.999))
@settings(deadline=None, max_examples=tries(150))
def test_the_exact_bounds_are_exact(found: tuple[int, int], confidence: float) -> None:
    """At the bound, so few (or so many) are just as unlikely as the level says."""
    count, n = found
    bound = upper_bound(count, n, confidence)
    if count < n:
        assert binomial_at_most(count, n, bound) == pytest.approx(1 - confidence, abs=1e-9)
    share = clopper_pearson(count, n, confidence)
    tail = (1 - confidence) / 2
    if count:
        assert 1 - binomial_at_most(count - 1, n, share.low) == pytest.approx(tail, abs=1e-9)
    if count < n:
        assert binomial_at_most(count, n, share.high) == pytest.approx(tail, abs=1e-9)
    assert 0 <= share.low <= count / n <= share.high <= 1


@given(st.integers(0, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(deadline=None)
def test_wilson_holds_the_share_and_is_the_mirror_of_its_complement(found: tuple[int, int]) -> None:
    count, n = found
    share, rest = wilson(count, n), wilson(n - count, n)
    assert share.low == pytest.approx(1 - rest.high)
    if n:
        assert 0 <= share.low <= count / n <= share.high <= 1
    else:
        assert (share.low, share.high, share.value) == (0.0, 1.0, None)


def test_intervals_agree_with_published_ones() -> None:
    """Clopper and Pearson for 81 of 263 at 95%, Wilson for 0 of 10 (Newcombe, Statistics in Medicine 17, 1998)."""
    exact, score = clopper_pearson(81, 263), wilson(81, 263)
    assert (round(exact.low, 4), round(exact.high, 4)) == (0.2527, 0.3676)
    assert (round(score.low, 4), round(score.high, 4)) == (0.2553, 0.3662)


@given(st.floats(0.001, 0.4), st.floats(0.6, 0.99))
@settings(deadline=None)
def test_needed_is_the_smallest_number_that_can_show_a_budget(budget: float, confidence: float) -> None:
    n = needed(budget, confidence)
    assert upper_bound(0, n, confidence) <= budget
    assert n == 1 or upper_bound(0, n - 1, confidence) > budget


def test_needed_for_the_usual_budgets() -> None:
    assert [needed(budget) for budget in (0.05, 0.02, 0.01)] == [59, 149, 299]


cosines = st.lists(st.floats(-1, 1).map(lambda x: round(x, 2)), min_size=1, max_size=30)


@given(cosines, cosines)
@settings(deadline=None)
def test_a_curve_counts_what_is_merged(same: list[float], different: list[float]) -> None:
    grid = (0.0, 0.25, 0.5, 0.75, 1.0)
    found = curve("cosine", "", same, different, (len(same) + 2, len(different) + 1), grid, 0.95)
    for point in found.points:
        assert point.hits.count == sum(value >= point.threshold for value in same)
        assert point.wrong.count == sum(value >= point.threshold for value in different)
        assert (point.hits.n, point.wrong.n) == (len(same) + 2, len(different) + 1)
    assert area(same, different) == pytest.approx(
        sum((a > b) + (a == b) / 2 for a in same for b in different) / (len(same) * len(different))
    )


@given(cosines, cosines, st.floats(0.05, 0.9))
@settings(deadline=None)
def test_the_advised_threshold_and_all_above_keep_the_budget(
    same: list[float], different: list[float], budget: float
) -> None:
    grid = tuple(step / 20 for step in range(21))
    found = curve("cosine", "", same, different, (len(same), len(different)), grid, 0.95)
    point = smallest_safe(found, budget, 0.95)
    within = [p for p in found.points if upper_bound(p.wrong.count, p.wrong.n, 0.95) <= budget]
    if point is None:
        # None keeps it, or those that do serve nothing.
        assert all(p.hits.count == 0 for p in within)
    else:
        assert point == min(within, key=lambda p: p.threshold)
        assert point.hits.count


def embed(texts: Sequence[str]) -> list[list[float]]:
    """`@0.9` in a text is its cosine with a text that has none."""
    rows = []
    for text in texts:
        _, found, value = text.partition("@")
        angle = math.acos(float(value.split()[0])) if found else 0.0
        rows.append([math.cos(angle), math.sin(angle)])
    return rows


def pair(number: int, cosine: float, same: Any, words: str = "") -> tuple[str, str, Any]:
    # Numbers in the prompts alike, so that the detector sees none but in `words`.
    name = "".join("abcdefghij"[int(digit)] for digit in str(number))
    return (f"How do I use the {name} panel?", f"How do I use the {name} panel{words}? @{cosine}", same)


def separable(n: int) -> list[tuple[str, str, Any]]:
    return [pair(i, 0.96, True) for i in range(n)] + [pair(i + n, 0.55, False) for i in range(n)]


def swept(pairs: Any, **options: Any) -> SweepReport:
    return CollisionJudge(embed, 0.9).sweep(pairs, **options)


def test_pairs_that_lie_apart_get_the_smallest_threshold_between_them() -> None:
    report = swept(separable(300))
    advice = report.advice_for("cosine")
    assert (advice.outcome, advice.threshold) == ("safe", 0.555)
    assert report.auc == 1.0
    assert report.text().startswith("threshold 0.555 is the smallest safe one for at most 1% wrong hits (95% sure)")
    assert advice.bound == pytest.approx(0.00994, abs=1e-5)


def test_no_advice_below_the_stated_number_of_pairs() -> None:
    report = swept(separable(298))
    assert [found.outcome for found in report.advice] == ["too_few"] * 3
    assert report.text().startswith("no advice on a threshold: 298 pairs with one answer and 298 with different ones")
    assert "299 are the least" in report.text()
    # What the pairs themselves show is told apart from advice.
    assert report.advice_for("cosine").threshold is None
    assert "may be chance" in report.text()
    few = [*separable(400)[:20], *separable(400)[400:]]
    assert swept(few).advice_for("cosine").outcome == "too_few"


def test_pairs_that_do_not_lie_apart_have_no_threshold() -> None:
    mixed = [pair(i, 0.6 + 0.3 * (i % 50) / 50, i % 2 == 0) for i in range(800)]
    report = swept(mixed)
    assert report.advice_for("cosine").outcome == "none"
    assert report.text().startswith("no threshold separates")


def test_a_threshold_that_leaves_hardly_a_hit_separates_nothing() -> None:
    pairs = [pair(i, 1.0 if i < 20 else 0.7, True) for i in range(400)]
    pairs += [pair(i + 400, 0.9, False) for i in range(400)]
    found = swept(pairs).advice_for("cosine")
    assert (found.outcome, found.threshold) == ("none", None)
    assert found.point is not None
    assert found.point.hits.value == 0.05
    assert swept(pairs, least_hits=0.04).advice_for("cosine").threshold == found.point.threshold


def test_the_detectors_veto_is_a_curve_of_its_own() -> None:
    """The different ones differ by a negation that cosine does not see."""
    pairs = [pair(i, 0.97, True) for i in range(300)]
    pairs += [
        (f"Is panel {n} active?", f"Is panel {n} inactive? @0.97", False) for n in ("a" * k for k in range(2, 302))
    ]
    report = swept(pairs)
    assert report.advice_for("cosine").outcome == "none"
    assert report.advice_for("certain").threshold == 0.5
    assert report.curve("cosine").at(0.9).wrong.count == 300
    assert report.curve("certain").at(0.9).wrong.count == 0
    assert report.curve("certain").at(0.9).hits.count == report.curve("cosine").at(0.9).hits.count == 300
    assert "; with certain differences as veto, 0.5 keeps 100.0% of the hits" in report.text().splitlines()[0]


def test_ambiguous_pairs_are_left_out_or_count_as_different() -> None:
    pairs = [*separable(30), pair(900, 0.99, None), pair(901, 0.99, "ambiguous")]
    lenient, strict = swept(pairs), swept(pairs, strict=True)
    assert (lenient.different, lenient.ambiguous, strict.different) == (30, 2, 32)
    assert "2 pairs are ambiguous and left out" in lenient.text()
    assert strict.curve("cosine").at(0.98).wrong.count == 2


def test_repeats_count_once_and_equal_texts_not_at_all() -> None:
    pairs = separable(30)
    report = swept([*pairs, (pairs[0][1], pairs[0][0], "same"), ("Hello", "Hello", True)])
    assert (report.same, report.different) == (30, 30)
    assert "1 pair was given before and counted once" in report.text()
    assert "1 pair holds one text twice, which every cache merges: left out" in report.text()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (("a", "b", "maybe"), "pair 1: label 'maybe' is unknown: true, false, null, or one of same"),
        (("a", "b", 2), "label 2 is unknown"),
        (("a", "b"), "is meant"),
        ({"a": "x", "b": "y"}, "has no label"),
        ({"a": "x", "b": "y", "same_answer": True, "label": "different"}, "same_answer and label say different things"),
        ({"a": "x", "same_answer": True}, "has no 'b'"),
        (("a", " ", True), "prompt b is blank"),
        (("a", 3, True), "a prompt is text"),
        (("a", "a", False), "an exact match is always merged"),
        (("first", "second", False), "labelled otherwise at pair 0"),
        (("second", "first", None), "labelled otherwise at pair 0"),
    ],
)
def test_a_label_that_cannot_be_used_is_named_with_its_place(entry: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LabelledPairs.of([("first", "second", True), entry])


def test_a_label_of_another_sort_beside_the_label() -> None:
    entry = {"a": "x", "b": "y", "same_answer": True, "label": "billing", "same": 1}
    assert [pair.same for pair in LabelledPairs.of([entry]).pairs] == [True]


def test_lines_are_named_where_they_are_known() -> None:
    with pytest.raises(UsageError, match=r"pairs.jsonl: line 7: label 'x' is unknown"):
        LabelledPairs.of([{"a": "a", "b": "b", "label": "x"}], places=[7], name="pairs.jsonl")


@pytest.mark.parametrize("label", [True, 1, "same", "Duplicate", "paraphrase"])
def test_labels_that_mean_one_answer(label: Any) -> None:
    assert LabelledPairs.of([{"a": "a", "b": "b", "label": label}]).pairs[0].same is True


@pytest.mark.parametrize(
    ("pairs", "options", "message"),
    [
        ([], {}, "none with one answer among 0"),
        ([pair(1, 0.9, True)], {}, "none with different answers"),
        (separable(2), {"budget": 0}, "budget 0"),
        (separable(2), {"budget": 1}, "budget 1"),
        (separable(2), {"confidence": 0.5}, "confidence 0.5"),
        (separable(2), {"thresholds": []}, "empty list"),
        (separable(2), {"thresholds": [0.5, 1.2]}, "1.2: cosine similarities from 0 to 1"),
        ("pairs", {}, "a list of"),
    ],
)
def test_what_cannot_be_swept_is_an_error(pairs: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        swept(pairs, **options)


def test_an_encoder_that_tells_nothing_apart_is_an_error() -> None:
    with pytest.raises(UsageError, match="same vector"):
        CollisionJudge(lambda texts: [[1.0, 0.0] for _ in texts], 0.9).sweep(separable(3))


def test_the_csv_holds_every_point() -> None:
    report = swept(separable(30), thresholds=[0.9, 0.5])
    rows = list(csv.DictReader(io.StringIO(report.csv())))
    assert [(row["decision"], row["threshold"]) for row in rows] == [
        (key, threshold) for key in ("cosine", "certain", "all") for threshold in ("0.5", "0.9")
    ]
    assert rows[0]["wrong_hits"] == rows[0]["different_pairs"] == "30"
    assert float(rows[0]["hit_rate"]) == 1.0
    assert float(rows[0]["hit_rate_low"]) == pytest.approx(wilson(30, 30).low, abs=1e-6)


def named(name: str) -> CollisionJudge:
    """An encoder of that name."""

    def encode(texts: Sequence[str]) -> list[list[float]]:
        return embed(texts)

    encode.__qualname__ = name
    return CollisionJudge(encode, 0.9)


def test_pictures_are_well_formed_and_escaped() -> None:
    """The encoder's name is the user's."""
    report = named("<script>&\x1b[31m").sweep([*separable(300)])
    svg = ElementTree.fromstring(report.svg())
    assert svg.tag.endswith("svg")
    lines = [found for found in svg.iter() if found.tag.endswith("polyline")]
    assert len(lines) == 3
    assert all(len(line.get("points", "").split()) == 101 for line in lines)
    page = report.html()
    assert "<script" not in page
    assert "&lt;script&gt;&amp;" in page
    assert "\x1b" not in page + report.svg() + report.text()
    # Nothing is loaded, and all thresholds are in the table.
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert page.count("<tr>") == 102
    assert "safe: " in report.svg()


def test_the_json_is_json() -> None:
    found = json.loads(json.dumps(swept(separable(30)).as_dict(), allow_nan=False))
    assert found["pairs"] == {"same": 30, "different": 30, "ambiguous": 0}
    assert found["advice"][0]["outcome"] == "too_few"
    assert len(found["curves"]["all"]) == 101
    at = {point["threshold"]: point["wrong_share_of_served"] for point in found["curves"]["cosine"]}
    assert (at[0.5], at[0.9], at[1.0]) == (0.5, 0.0, None)
