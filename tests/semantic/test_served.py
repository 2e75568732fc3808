"""A running cache as judge: its own decisions, from `lookup` and `store`."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_cachesafe import CollisionJudge, UsageError, assert_no_collisions
from pytest_cachesafe.semantic.result import CollisionFailure

NOT = ("Is the API rate limited?", "Is the API not rate limited?")
PROMPTS = [*NOT, "Where is my invoice?", "Where is my invoice, please?", "Do you ship to Norway?"]


class WordCache:
    """Serves what shares three of four words; stands for any cache whose rule nobody knows."""

    def __init__(self, wrap: Any = lambda answer: answer) -> None:
        self.entries: dict[str, str] = {}
        self.wrap = wrap

    def lookup(self, prompt: str) -> Any:
        words = set(prompt.lower().strip("?").split())
        for known, answer in self.entries.items():
            other = set(known.lower().strip("?").split())
            if len(words & other) >= 0.75 * len(words | other):
                return self.wrap(answer)
        return None

    def store(self, prompt: str, answer: str) -> None:
        self.entries[prompt] = answer

    def reset(self) -> None:
        self.entries.clear()


@pytest.mark.parametrize("wrap", [lambda a: a, lambda a: [{"response": a}], lambda a: {"answer": a, "score": 0.9}])
def test_what_it_serves_is_what_it_merges(wrap: Any) -> None:
    report = CollisionJudge(WordCache(wrap)).collisions(PROMPTS)
    assert [(p.verdict.a, p.verdict.b) for p in report.collisions] == [NOT]
    assert report.exit_status() == 1
    text = report.text()
    assert text.startswith('1 collision among 5 prompts [WordCache]: negation (– / not): "Is the API rate')
    assert "served one answer" in text
    assert "nan" not in text
    assert "cosine" not in text
    data = report.as_dict()
    assert (data["threshold"], data["pairs"][0]["similarity"], data["pairs"][0]["merged"]) == (None, None, True)


def test_functions_instead_of_an_object() -> None:
    cache = WordCache()
    assert CollisionJudge((cache.lookup, cache.store, cache.reset)).judge(*NOT).collision
    once = WordCache()
    judge = CollisionJudge((once.lookup, once.store))
    assert len(judge.collisions(PROMPTS).collisions) == 1
    with pytest.raises(UsageError, match="must be emptied between two runs: give reset"):
        judge.collisions(PROMPTS)


def test_pairs_are_judged_each_in_an_empty_cache() -> None:
    report = CollisionJudge(WordCache()).judge_pairs([NOT, (PROMPTS[0], PROMPTS[4])])
    assert [p.verdict.merged for p in report.pairs] == [True, False]
    assert not CollisionJudge(WordCache()).judge(NOT[0], PROMPTS[4]).merged


def test_a_cache_that_was_not_empty() -> None:
    cache = WordCache()
    cache.store(NOT[0], "an answer of yesterday")
    with pytest.raises(UsageError, match="serves an answer that was not stored here"):
        CollisionJudge((cache.lookup, cache.store)).collisions(PROMPTS)


class Deaf(WordCache):
    """Never serves: its index is not the one it stores to."""

    def lookup(self, prompt: str) -> Any:
        return None


def test_a_cache_that_serves_nothing_was_not_tested() -> None:
    cache = Deaf()
    for deaf in (cache, (cache.lookup, cache.store), (lambda p: [], cache.store)):
        with pytest.raises(UsageError, match="serves nothing, not even a prompt whose answer was stored just now"):
            assert_no_collisions(PROMPTS, encoder=deaf)
    with pytest.raises(UsageError, match="serves nothing"):
        CollisionJudge(Deaf()).judge(*NOT)
    with pytest.raises(UsageError, match="serves nothing"):
        CollisionJudge(Deaf()).judge_pairs([NOT])
    with pytest.raises(UsageError, match="serves nothing"):
        CollisionJudge(Deaf()).mutants(["Wait 3 days"])


def test_a_cache_that_serves_anything_was_not_tested() -> None:
    class Always(WordCache):
        def lookup(self, prompt: str) -> Any:
            return next(iter(self.entries.values()), None)

    class Known(Always):
        """Has nothing for a text that is not among the prompts."""

        def lookup(self, prompt: str) -> Any:
            return super().lookup(prompt) if prompt in NOT else {}[prompt]

    always = Always()
    for cache in (always, (always.lookup, always.store, always.reset), (Always().lookup, lambda *a: None)):
        with pytest.raises(UsageError, match=r"to whatever it is asked|serves nothing"):
            CollisionJudge(cache).collisions(PROMPTS)
    # All prompts of a set may be alike to a cache that is none of that.
    assert len(CollisionJudge(WordCache()).collisions(NOT).collisions) == 1
    assert len(CollisionJudge(Known()).collisions(NOT).collisions) == 1


def test_a_cache_that_serves_exact_repeats_alone_passes() -> None:
    class Exact(WordCache):
        def lookup(self, prompt: str) -> Any:
            return self.entries.get(prompt)

    class Small(Exact):
        """Holds one answer."""

        def store(self, prompt: str, answer: str) -> None:
            self.entries = {prompt: answer}

    for cache in (Exact(), Small()):
        report = assert_no_collisions(PROMPTS, encoder=cache)
        assert (report.merged, report.pairs) == (0, [])


def test_no_cosine_is_made_up() -> None:
    with pytest.raises(UsageError, match="tells what it serves, not how close"):
        CollisionJudge(WordCache()).similarity(*NOT)


def test_the_assertion() -> None:
    with pytest.raises(CollisionFailure, match="1 collision among 5 prompts"):
        assert_no_collisions(PROMPTS, encoder=WordCache())
    assert assert_no_collisions(PROMPTS, encoder=WordCache(), allow=[(*NOT, "one page says both")])
    with pytest.raises(UsageError, match="one prompt"):
        assert_no_collisions(PROMPTS[:1], encoder=WordCache())


def test_nothing_is_emptied_that_was_not_meant_to_be() -> None:
    class Precious(WordCache):
        reset = None  # type: ignore[assignment]

        def clear(self) -> None:
            raise AssertionError("emptied")

    judge = CollisionJudge(Precious())
    assert len(judge.collisions(PROMPTS).collisions) == 1
    with pytest.raises(
        UsageError, match=r"give reset as well, \(lookup, store, reset\), or adapt\(cache, clear=True\)"
    ):
        judge.judge(*NOT)


def test_a_cache_of_another_package_is_named_as_such() -> None:
    class Named(WordCache):
        name = "RedisVL SemanticCache"

    assert "[RedisVL SemanticCache]" in CollisionJudge(Named()).collisions(PROMPTS).text()
