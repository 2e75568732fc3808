"""The versions before; these fail, and should."""

from __future__ import annotations

from pytest_cachesafe import assert_prefix_stable, compare
from pytest_cachesafe.kv import KVProbe

from before import messages
from desk import QUESTIONS, prefix, question


def test_one_cache_for_all_questions(smollm2: KVProbe) -> None:
    """Each question is put into the same cache: the second one sees the first one and its answer."""
    smollm2.assert_reuse(prefix(), [question(text) for text in QUESTIONS[:2]], way="shared", new_tokens=3)


def test_rules_behind_a_counter(smollm2: KVProbe) -> None:
    """The system text counts the turns: almost nothing of the first request is in the second one."""
    shared = compare(messages(1), messages(2), template=smollm2.template).shared_tokens
    assert smollm2.template is not None
    ids = smollm2.template.render(messages(2)).token_ids
    assert ids is not None
    smollm2.assert_reuse(ids[:shared], [ids[shared:]], verify=0)


def test_every_turn_continues_the_one_before() -> None:
    """The same without a model, and with its place and cause."""
    assert_prefix_stable(lambda turn: messages(turn.index + 1), turns=3)
