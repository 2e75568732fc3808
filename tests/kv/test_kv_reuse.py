"""One prefilled prefix, many continuations: tokens counted through the model, logits and text as if recomputed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.kv import KVFailure, KVProbe, ReuseReport
from pytest_cachesafe.prompt import Prompt
from pytest_cachesafe.usage import UsageError

NOTES = "The library opens at nine and closes at six. Members may borrow up to five books for three weeks."
QUESTIONS = ["\nWhen does it open?", "\nHow many books may I borrow?", "\nFor how long?"]
IDS = st.lists(st.integers(100, 40_000), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def handbook(probe: KVProbe) -> ReuseReport:
    """800 tokens once, 20 questions of 10 tokens; the first question is computed from nothing as well."""
    prefix = (probe.encode(NOTES) * 40)[:800]
    questions = [probe.encode(f"\nQuestion {n}: may I renew a book twice?")[:10] for n in range(20)]
    assert {len(q) for q in questions} == {10}
    return probe.reuse(prefix, questions, verify=1)


def test_800_tokens_and_20_questions_take_a_sixteenth_of_the_prefill(handbook: ReuseReport) -> None:
    # Without reuse 20 x (800 + 10) = 16,200 tokens; with it 800 + 20 x 10 = 1,000, each counted at the embedding.
    assert handbook.prompt_tokens == 16_200
    assert handbook.computed_tokens == 1_000
    assert handbook.prompt_tokens / handbook.computed_tokens >= 15
    assert [c.computed_tokens for c in handbook.continuations] == [10] * 20
    (checked,) = handbook.verified
    assert checked.recomputed_tokens == 810
    assert handbook.prefix_intact


def test_reused_and_recomputed_logits_agree_in_float32(handbook: ReuseReport) -> None:
    assert handbook.largest_difference is not None
    assert handbook.largest_difference <= 1e-3
    assert handbook.same_text
    assert handbook.setting.tolerance == 1e-3


def test_ways_to_continue_a_prefix(probe: KVProbe) -> None:
    copied, cropped, shared = probe.ways(NOTES, QUESTIONS).values()
    tokens = [len(probe.encode(NOTES + q)) - len(probe.encode(NOTES)) for q in QUESTIONS]
    for right in (copied, cropped):
        assert [c.computed_tokens for c in right.continuations] == tokens
        assert right.prefix_intact
        assert right.same_text
        assert right.largest_difference is not None
        assert right.largest_difference <= 1e-3
    # A copy holds the prefix once more; what is cropped back holds it once.
    assert copied.peak_bytes >= 2 * copied.prefix_bytes > cropped.peak_bytes
    # The first question is answered right; the second sees the first one and its answer before it.
    first, second, _ = shared.continuations
    assert first.same_text
    assert first.difference is not None
    assert first.difference <= 1e-3
    assert second.difference is not None
    assert second.difference > 1
    assert not shared.prefix_intact


def test_a_shared_cache_fails_the_assertion(probe: KVProbe) -> None:
    with pytest.raises(KVFailure) as failed:
        probe.assert_reuse(NOTES, QUESTIONS[:2], min_reused=0.5, way="shared", new_tokens=2)
    first = str(failed.value).splitlines()[0]
    assert first == (
        "KV cache reuse does not hold: the prefilled cache was written into: each continuation needs a copy, or a crop"
        " back after it [HuggingFaceTB/SmolLM2-135M-Instruct, float32, dynamic cache, cpu]"
    )
    assert "also: reused and recomputed logits differ by" in str(failed.value)
    assert not failed.value.report.prefix_intact


def test_too_little_reused_fails_with_the_numbers(probe: KVProbe) -> None:
    prefix, long = probe.encode(NOTES), [*probe.encode(NOTES), *probe.encode(NOTES)]
    with pytest.raises(KVFailure) as failed:
        probe.assert_reuse(prefix, [long], verify=0)
    one = len(prefix)
    # One third of the prompt is the prefix.
    assert f"{one} of {3 * one} prompt tokens reused (33.3%), wanted at least 80.0%" in str(failed.value)
    assert probe.assert_reuse(prefix, [long], min_reused=1 / 3, verify=0).reused_tokens == one


def test_a_bound_that_nothing_meets_prints_what_was_measured(tiny: KVProbe) -> None:
    # Eight tokens more in one pass than in the other: the sums round otherwise in all but luck.
    report = tiny.reuse([5] * 40, [[7, 9, 11]], cache="dynamic")
    assert report.largest_difference is not None
    assert 0 < report.largest_difference < 1e-3
    with pytest.raises(KVFailure, match=r"logits differ by \d.* in continuation 0, allowed are 0 \["):
        tiny.assert_reuse([5] * 40, [[7, 9, 11]], max_logit_difference=0.0)


@settings(deadline=None, max_examples=25)
@given(
    prefix=IDS,
    continuations=st.lists(IDS, min_size=1, max_size=3),
    way=st.sampled_from(["copy", "crop"]),
    cache=st.sampled_from(["dynamic", "static"]),
)
def test_every_token_is_computed_once_and_nothing_changes(
    tiny: KVProbe, prefix: list[int], continuations: list[list[int]], way: str, cache: str
) -> None:
    before = tiny.tokens_computed
    report = tiny.reuse(prefix, continuations, cache, way=way, verify=0)  # type: ignore[arg-type]
    assert tiny.tokens_computed - before == len(prefix) + sum(map(len, continuations)) == report.computed_tokens
    checked = tiny.reuse(prefix, continuations, cache, way=way, new_tokens=3)  # type: ignore[arg-type]
    assert checked.prefix_intact
    assert checked.largest_difference is not None
    assert checked.largest_difference <= 1e-3
    assert checked.reused_tokens == len(prefix) * len(continuations)


def test_text_ids_and_prompt_are_the_same_prefix(tiny: KVProbe) -> None:
    assert tiny.template is not None
    prompt = tiny.template.render([{"role": "user", "content": "Hello there"}])
    assert prompt.token_ids is not None
    kinds = [
        tiny.reuse(prefix, ["Hi"], verify=0).as_dict()["prompt_tokens"]
        for prefix in (prompt, prompt.text, list(prompt.token_ids))
    ]
    assert len(set(kinds)) == 1
    assert kinds[0] == len(prompt.token_ids) + 1


@pytest.mark.parametrize(
    ("prefix", "continuations", "options", "words"),
    [
        ("", ["a"], {}, "prefix is empty"),
        ("a", [], {}, "continuations is empty"),
        ("a", "b", {}, r"continuations takes a list, not str"),
        ("a", None, {}, r"continuations takes a list, not NoneType"),
        ("a", 5, {}, r"continuations takes a list, not int"),
        ("a", [""], {}, r"continuations\[0\] is empty"),
        ([1, 50_000], [[1]], {}, r"prefix\[1\] is 50000: token ids are 0 to 49151 for this model"),
        ([1, True], [[1]], {}, r"prefix\[1\] is True"),
        ([1, 2.5], [[1]], {}, r"prefix\[1\] is 2.5"),
        ([1], [[-1]], {}, r"continuations\[0\]\[0\] is -1"),
        (7, [[1]], {}, "prefix: text, token ids or a Prompt, not int"),
        (Prompt("a", front_end="text level"), ["b"], {}, "a Prompt without token ids"),
        ([1] * 2049, [[1]], {}, "prefix has 2049 tokens, the model takes 2048"),
        # 2,040 + 2 + 8 - 1: the last new token is never computed.
        ([1] * 2040, [[1, 1]], {}, "last together has 2049 tokens, the model takes 2048"),
        (Prompt("The library", front_end="another", token_ids=[5, 6, 7]), [[1]], {}, "prefix: the ids of this Prompt"),
        ("a", [Prompt("The", front_end="another", token_ids=[5, 6, 7])], {}, r"continuations\[0\]: the ids of this"),
        ("a", ["b"], {"way": "borrow"}, "way='borrow': known are"),
        ("a", ["b"], {"new_tokens": 0}, "new_tokens=0: a whole number, at least 1"),
        ("a", ["b"], {"verify": -1}, "verify=-1: a whole number, at least 0"),
        ("a", ["b"], {"cache": "paged"}, "cache='paged': known are dynamic, static, quantized"),
        ("a", ["b"], {"quantized": {"nbits": 4}}, "is for cache='quantized', not 'dynamic'"),
    ],
)
def test_mistakes_are_one_line_and_nothing_runs(
    tiny: KVProbe, prefix: object, continuations: list[object], options: dict[str, object], words: str
) -> None:
    before = tiny.tokens_computed
    with pytest.raises(UsageError, match=words) as caught:
        tiny.reuse(prefix, continuations, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert tiny.tokens_computed == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("min_reused", 1.5),
        ("min_reused", "0.8"),
        ("max_logit_difference", "1"),
        ("max_logit_difference", -1.0),
        ("max_logit_difference", float("nan")),
    ],
)
def test_bounds_that_are_none(tiny: KVProbe, name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"{name}="):
        tiny.assert_reuse("a", ["b"], **{name: value})


def test_a_whole_prompt_as_a_continuation_is_told(tiny: KVProbe) -> None:
    for whole in (NOTES + QUESTIONS[0], tiny.encode(NOTES + QUESTIONS[0])):
        with pytest.raises(
            KVFailure, match=r"continuations\[1\] begins with the prefix: give only what comes behind it"
        ):
            tiny.assert_reuse(NOTES, [QUESTIONS[0], whole], verify=0)


def test_ids_of_arrays_and_generators(tiny: KVProbe) -> None:
    import torch

    wanted = tiny.reuse([1, 2, 3], [[4]], verify=0).prompt_tokens
    ids = torch.tensor([1, 2, 3])
    assert tiny.reuse(ids, [ids[:1].numpy()], verify=0).prompt_tokens == wanted
    assert tiny.reuse(list(ids.numpy()), [list(ids[:1])], verify=0).prompt_tokens == wanted
    with pytest.raises(UsageError, match=r"prefix\[0\] is \[1, 2, 3\]"):
        tiny.reuse(ids[None], [[4]])
    made = tiny.ways([1, 2, 3], ([4] for _ in range(2)), verify=0, new_tokens=1)
    assert [len(report.continuations) for report in made.values()] == [2, 2, 2]
