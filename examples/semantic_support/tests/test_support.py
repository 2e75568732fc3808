"""What the support bot's cache may merge, on the real MiniLM."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_cachesafe import CollisionJudge, assert_distinct, assert_mergeable, assert_no_collisions
from pytest_cachesafe.semantic.mutants.make import MUTATORS

from support_bot import THRESHOLD, SupportBot, VectorCache, key, partition, request

QUESTIONS = (Path(__file__).parent.parent / "recorded" / "questions.txt").read_text(encoding="utf-8").splitlines()
PARAPHRASE = ("How do I reset my password?", "How can I reset my password?")
NEGATED = ("Is the API rate limited?", "Is the API not rate limited?")
PERIOD = ("Refund policy for annual plans", "Refund policy for monthly plans")


@pytest.fixture(scope="module")
def cache() -> VectorCache:
    """The bot's own, with the encoder that it runs with."""
    return VectorCache(CollisionJudge().encoder.embed)


def test_three_pairs_that_no_threshold_keeps_apart() -> None:
    """The paraphrase is to be merged and is the closest; the others must not be, and are close behind."""
    judge = CollisionJudge(threshold=THRESHOLD)
    assert [round(judge.similarity(*pair), 3) for pair in (PARAPHRASE, NEGATED, PERIOD)] == [0.992, 0.928, 0.913]
    assert_mergeable(*PARAPHRASE, threshold=THRESHOLD)
    assert_distinct(*NEGATED)
    assert_distinct(*PERIOD)
    assert [judge.judge(*pair).collision for pair in (PARAPHRASE, NEGATED, PERIOD)] == [False, True, True]


def test_the_cache_itself_merges_nothing_that_it_must_not(cache: VectorCache) -> None:
    """It is asked as traffic would ask it, in both orders; only the paraphrase is served."""
    report = assert_no_collisions(QUESTIONS, encoder=cache)
    assert [(pair.verdict.a, pair.verdict.b) for pair in report.pairs if pair.verdict.merged] == [PARAPHRASE]


def test_the_bot_gives_each_question_its_own_answer(cache: VectorCache) -> None:
    """End to end, with a model that answers with the question."""
    cache.reset()
    bot = SupportBot(cache, lambda asked: f"about: {asked['messages'][-1]['content']}")
    for question in (*NEGATED, *PERIOD):
        assert bot.answer(request(question)) == f"about: {question}"
    first, second = (bot.answer(request(question)) for question in PARAPHRASE)
    assert first == second
    assert len(bot.calls) == 5
    # Another customer, and another conversation, get answers of their own.
    bot.answer(request(PARAPHRASE[0], tenant="globex"))
    bot.answer(request("And the other one?", "Tell me about the starter plan.", "It has one site."))
    bot.answer(request("And the other one?", "How do I move my domain elsewhere?", "Unlock it, then ask for a code."))
    assert len(bot.calls) == 8


def test_what_is_changed_in_one_place_is_not_served(cache: VectorCache) -> None:
    """Mutants of the bot's own questions; twins, which only look different, are served."""
    report = CollisionJudge(cache).mutants(QUESTIONS, only=[*MUTATORS, "case", "politeness"])
    assert not report.wrong, report.text()
    assert len(report.mutants) >= 15
    assert sum(one.served for one in report.twins) >= 0.9 * len(report.twins), report.text()


def test_the_key_tells_apart_what_decides_the_answer() -> None:
    """History is in the text, the rest is filtered."""
    asked = [request(question, "Tell me about the starter plan.", "It has one site.") for question in QUESTIONS]
    report = CollisionJudge(threshold=THRESHOLD).check_keys(asked, key=key, partition=partition)
    assert report.told_apart["system"] == report.told_apart["tenant"] == report.told_apart["model"] == "filter"
    assert report.told_apart["history"] == "text alone"
