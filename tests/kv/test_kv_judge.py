"""What of a reuse report is a failure, and in which words."""

from __future__ import annotations

import pytest

from pytest_cachesafe.kv import KVFailure, ReuseReport
from pytest_cachesafe.kv.greedy import compare_logits, text_gap
from pytest_cachesafe.kv.judge import judge_reuse
from pytest_cachesafe.kv.result import Continuation, Setting
from pytest_cachesafe.kv.tolerances import tolerance
from pytest_cachesafe.report.kv import render_reuse
from pytest_cachesafe.usage import UsageError


def report(dtype: str = "float32", cache: str = "dynamic", **facts: object) -> ReuseReport:
    """A prefix of 90 tokens and two continuations of 10, the second with these facts."""
    setting = Setting("m", dtype, "cpu", cache, 2, tolerance(dtype, cache))
    checked = {"recomputed_tokens": 100, "recompute_seconds": 1.0, "generated_tokens": 8, "same_text": True}
    made = [
        Continuation(100, 90, 10, 0.1, 0.0, difference=1e-5, text_gap=0.0, **checked),  # type: ignore[arg-type]
        Continuation(100, 90, 10, 0.1, 0.0, **{"difference": 1e-5, "text_gap": 0.0, **checked, **facts}),  # type: ignore[arg-type]
    ]
    return ReuseReport(setting, "copy", 90, 0.8, made, True, 4, 360, 720, layout=render_reuse)


def test_nothing_is_wrong() -> None:
    # Reused 180 of 200; computed 90 + 2 x 10 = 110; 1.0 s (0.8 + 2 x 0.1) against 2.0 s.
    good = report()
    assert judge_reuse(good, 0.9, None) == []
    text = str(good)
    assert text.startswith("KV cache reuse: 180 of 200 prompt tokens reused (90.0%) [m, float32, dynamic cache, cpu]\n")
    assert "110 tokens through the model, 200 without reuse (1.8x)" in text
    assert "1.000, 2.000 without reuse (2.0x), 2 threads, prefill alone" in text
    assert "largest difference 1e-05 (bound 0.001 for float32), compared for all; greedy text the same over 16" in text


def test_a_bound_is_met_up_to_itself() -> None:
    assert judge_reuse(report(difference=1e-3), 0, None) == []
    (words,) = judge_reuse(report(difference=1.1e-3), 0, None)
    assert words == "reused and recomputed logits differ by 0.0011 in continuation 1, allowed are 0.001"
    assert judge_reuse(report(difference=1.1e-3), 0, 0.01) == []
    assert judge_reuse(report(difference=float("inf")), 0, None) != []


def test_logits_that_are_no_numbers_are_not_alike() -> None:
    torch = pytest.importorskip("torch")
    good, bad = torch.tensor([1.0, 2.0]), torch.tensor([1.0, float("nan")])
    assert compare_logits([good, good], [good, good]) == 0
    assert compare_logits([good, good], [bad, good]) == float("inf")
    # A token that the model never gives, in both; and in one alone.
    never = torch.tensor([1.0, float("-inf")])
    assert compare_logits([never], [never]) == 0
    assert compare_logits([never], [good]) == float("inf")
    # The choice is the best; chosen otherwise, it is as far off as its logit.
    assert text_gap([1, 1], [good, good]) == 0
    assert text_gap([1, 0], [good, good]) == 1


@pytest.mark.parametrize(
    ("dtype", "gap", "fails"),
    [("float32", 0.0021, True), ("float32", 0.0019, False), ("bfloat16", 7.0, False), ("bfloat16", 9.0, True)],
)
def test_another_text_fails_unless_the_bound_allows_it(dtype: str, gap: float, fails: bool) -> None:
    """Two logits that may each be off by the bound can change places where they are up to two bounds apart."""
    found = report(dtype, same_text=False, text_gap=gap)
    wrong = judge_reuse(found, 0, None)
    assert bool(wrong) == fails
    if fails:
        assert wrong[0].startswith("another greedy text in 1 of 2 continuations, first in 1, where a token")
    assert f"another (where it parts, the token chosen lies up to {gap:.2g} below the best one)" in str(found)


def test_a_lossy_cache_is_judged_only_by_a_bound_that_was_given() -> None:
    lossy = report(cache="quantized", difference=5.0, same_text=False, text_gap=20.0)
    assert judge_reuse(lossy, 0.9, None) == []
    # Lossy is not: without any number.
    broken = report(cache="quantized", difference=float("inf"), same_text=False)
    (words,) = judge_reuse(broken, 0.9, None)
    assert words == "logits are no numbers (NaN or infinite) in 1 of 2 continuations, first in 1"
    assert "logits:  no numbers" in str(broken)
    assert "greedy text" not in str(broken)
    assert len(judge_reuse(lossy, 0.9, 6.0)) == 1
    assert len(judge_reuse(lossy, 0.9, 2.0)) == 2


def test_a_failure_has_all_in_its_first_line_and_its_report_with_it() -> None:
    bad = report(difference=0.5)
    bad.notes.append("a merged token")
    bad.failures = judge_reuse(bad, 0.95, None)
    lines = str(KVFailure(bad)).splitlines()
    assert lines[0] == (
        "KV cache reuse does not hold: reused and recomputed logits differ by 0.5 in continuation 1, allowed are 0.001"
        " [m, float32, dynamic cache, cpu]"
    )
    assert lines[1] == (
        "  also: 180 of 200 prompt tokens reused (90.0%), wanted at least 95.0%; continuations[0] adds 10 tokens to 90:"
        " take more into the prefix, or lower min_reused"
    )
    assert KVFailure(bad).report is bad
    assert "a merged token" in bad.text()
    assert "a merged token" not in bad.text(0, "text")


def test_whole_prompts_given_as_continuations_are_told() -> None:
    (words,) = judge_reuse(report(repeats_prefix=True), 0.95, None)
    assert words.endswith("; continuations[1] begins with the prefix: give only what comes behind it")


def test_details_show_the_bound_that_was_judged_by() -> None:
    given = report()
    given.bound = 0.0
    assert "(bound 0, as given)" in str(given)
    assert given.as_dict()["bound"] == 0.0
    assert report().as_dict()["bound"] == 1e-3
    assert "(bound 4 for bfloat16, a coarse one: float32 proves more)" in str(report("bfloat16"))


def test_no_percentage_says_all_of_less_than_all() -> None:
    nearly = report()
    nearly.continuations = [Continuation(100_000, 99_999, 1, 0.1, 0.0)]
    assert "(99.9%)" in str(nearly)
    assert "not compared (verify=0)" in str(nearly)
    assert "99.9%" in judge_reuse(nearly, 1.0, None)[0]


def test_an_unknown_dtype() -> None:
    with pytest.raises(UsageError, match="dtype='int8': known are float32"):
        tolerance("int8", "dynamic")
