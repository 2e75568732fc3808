"""Sampled ids are not always those of their text: reuse is measured on ids."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.kv import KVProbe
from pytest_cachesafe.usage import UsageError

PROMPT = "Once upon a time in Zürich, 12345 was"


def test_a_real_model_samples_ids_that_no_tokenizer_would_choose(probe: KVProbe) -> None:
    tried = ((seed, probe.sample(PROMPT, 12, temperature=3.0, seed=seed)) for seed in range(8))
    lost = next(((ids, found) for _, ids in tried if (found := probe.reencoded(PROMPT, ids)).lost_tokens), None)
    assert lost is not None, "at this temperature about every second sample is such a case"
    ids, found = lost
    assert found.prompt_tokens == len(probe.encode(PROMPT))
    assert found.reused_tokens < found.prompt_tokens + len(ids) - 1
    # The ids themselves, as an engine has them, are reused to the last but one.
    again = [*probe.encode(PROMPT), *ids]
    report = probe.reuse(again[:-1], [again[-1:]], verify=0)
    assert report.reused_tokens == len(again) - 1


def test_a_known_case(tiny: KVProbe) -> None:
    # "un" + "believable" is one word to the tokenizer, and begins with other ids.
    whole = tiny.encode(" unbelievable")
    parts = [*tiny.encode(" un"), *tiny.encode("believable")]
    assert whole != parts
    found = tiny.reencoded("This is", parts)
    prompt = len(tiny.encode("This is"))
    assert found.encoded_tokens == prompt + len(whole)
    assert found.reused_tokens < prompt + len(parts) - 1
    assert found.as_dict()["lost_tokens"] == prompt + len(parts) - 1 - found.reused_tokens


@settings(deadline=None, max_examples=tries(200))
@given(st.text(min_size=1, max_size=30), st.lists(st.integers(17, 49_151), min_size=1, max_size=8))
def test_reuse_is_what_both_sequences_begin_with(tiny: KVProbe, prompt: str, sampled: list[int]) -> None:
    found = tiny.reencoded(prompt, sampled)
    ids = tiny.encode(prompt)
    cached = [*ids, *sampled][:-1]
    again = tiny.encode(prompt + tiny.decode(sampled))
    assert cached[: found.reused_tokens] == again[: found.reused_tokens]
    assert found.lost_tokens == len(cached) - found.reused_tokens
    if found.lost_tokens > 0 and found.reused_tokens < len(again):
        assert cached[found.reused_tokens] != again[found.reused_tokens]


def test_sampling_is_repeatable_and_leaves_the_random_state(tiny: KVProbe) -> None:
    import torch

    before = torch.get_rng_state()
    one, two, three = (tiny.sample([5, 6], 6, temperature=2.0, seed=seed) for seed in (1, 1, 2))
    assert one == two != three
    assert torch.equal(before, torch.get_rng_state())
    assert tiny.sample([5, 6], 6) == tiny.sample([5, 6], 6, use_cache=False)


@pytest.mark.parametrize(("number", "temperature"), [(0, 1.0), (True, 1.0), (3, -1.0), (3, float("nan"))])
def test_mistakes(tiny: KVProbe, number: int, temperature: float) -> None:
    with pytest.raises(UsageError, match=r"number=|temperature="):
        tiny.sample("a", number, temperature=temperature)
