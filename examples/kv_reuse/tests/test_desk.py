"""What the desk's prompts cost on a real model, counted in tokens that went through it."""

from __future__ import annotations

import pytest
from pytest_cachesafe import UsageError, assert_prefix_stable
from pytest_cachesafe.kv import KVProbe

import before
from desk import QUESTIONS, RULES, messages, prefix, question


def test_many_questions_over_one_prefix(smollm2: KVProbe) -> None:
    """The rules are prefilled once; each question pays for itself, and the answers stay the same."""
    report = smollm2.assert_reuse(prefix(), [question(text) for text in QUESTIONS], min_reused=0.8, new_tokens=4)
    assert report.computed_tokens < report.prompt_tokens / 2
    assert report.prefix_intact


def test_a_blank_at_the_end_of_a_prefix_is_refused(smollm2: KVProbe) -> None:
    """It becomes part of the question's first token, and what was prefilled for it is not found."""
    with pytest.raises(UsageError, match=r"token .* is ' When' in the whole prompt"):
        smollm2.assert_reuse(before.prefix(), [before.question(QUESTIONS[0])])


def test_context_length_is_what_a_token_costs(smollm2: KVProbe) -> None:
    """The cache holds keys and values of every token so far: prompt and answer, but for the answer's last token."""
    report = smollm2.chat(messages(1), new_tokens=6, verify=False)
    (turn,) = report.turns
    assert turn.cache_tokens == turn.prompt_tokens + turn.reply_tokens - 1
    # 30 layers x 3 KV heads x head size 64 x 2 (key and value) x 4 bytes.
    assert smollm2.bytes_per_token() == 46_080


def test_the_second_turn_pays_for_what_it_adds(smollm2: KVProbe) -> None:
    """The second turn's prompt is longer than the first one's; what has to be computed is short."""
    report = smollm2.chat(messages(3), new_tokens=4)
    first, second, third = report.turns
    assert second.prompt_tokens > first.prompt_tokens > len(smollm2.encode(RULES))
    assert second.computed_tokens == second.prompt_tokens - first.cache_tokens
    assert max(second.computed_tokens, third.computed_tokens) < first.computed_tokens / 4
    assert report.same_text


def test_every_turn_continues_the_one_before() -> None:
    """The same without a model, in milliseconds: this is what keeps the cache of the turn before usable."""
    assert_prefix_stable(lambda turn: messages(turn.index + 1), turns=3)
