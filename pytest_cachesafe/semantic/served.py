"""A running semantic cache as the judge: what it serves is what it merges, whatever its encoder, index or reranker.

Such a cache gives no cosine. Prompts are put to it as traffic would put them: look up, and store what was not found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_cachesafe.semantic.verdict import PairVerdict
from pytest_cachesafe.usage import UsageError

__all__ = ["PROBES", "ServedVerdict", "ServingCache", "as_serving_cache"]

# Two texts without anything in common.
PROBES = ("The invoice is due on Friday.", "Penguins cannot fly.")


@dataclass(frozen=True, slots=True)
class ServedVerdict(PairVerdict):
    """Both statements about a pair, the second by a cache's own decision; `similarity` and `threshold` are NaN."""

    served: bool = False

    @property
    def merged(self) -> bool:
        """Whether the cache served one prompt the other's answer."""
        return self.served

    @property
    def collision(self) -> bool:
        """Served, and certainly in need of different answers."""
        return self.served and self.different_answer == "certain"

    def as_dict(self) -> dict[str, Any]:
        """JSON form; the cosine is unknown."""
        # Not super(): a dataclass with slots is another class than the one its methods were written in.
        return PairVerdict.as_dict(self) | {"similarity": None, "merged": self.served}


def as_serving_cache(spec: Any) -> ServingCache | None:
    """The cache behind a pair `(lookup, store)`, a triple `(lookup, store, reset)`, or an object with these methods.

    None where it is neither.
    """
    if isinstance(spec, ServingCache):
        return spec
    if isinstance(spec, tuple) and len(spec) in (2, 3) and all(callable(part) for part in spec):
        return ServingCache(*spec)
    lookup, store = getattr(spec, "lookup", None), getattr(spec, "store", None)
    if callable(lookup) and callable(store) and not isinstance(spec, type):
        # Not `clear`, which caches have for other purposes: nothing is emptied that was not meant to be.
        reset, name = getattr(spec, "reset", None), getattr(spec, "name", None)
        return ServingCache(
            lookup, store, reset if callable(reset) else None, name if isinstance(name, str) else type(spec).__name__
        )
    return None


class ServingCache:
    """A user's cache.

    Args:
        lookup: `lookup(prompt)` gives the stored answer it would serve, or None.
        store: `store(prompt, answer)`; answers are short texts made here.
        reset: empties the cache; needed to judge pairs, and to put a set to it in both orders.
    """

    def __init__(
        self,
        lookup: Callable[[str], Any],
        store: Callable[[str, str], Any],
        reset: Callable[[], Any] | None = None,
        name: str = "lookup/store",
    ) -> None:
        self._lookup, self._store, self._reset = lookup, store, reset
        self.name = name
        self._used = False
        # Whether it was seen to serve anything at all.
        self._alive = False

    def wrapped(self, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> ServingCache:
        """The same cache, its functions wrapped."""
        reset = None if self._reset is None else wrap(self._reset)
        return ServingCache(wrap(self._lookup), wrap(self._store), reset, self.name)

    def serves(self, a: str, b: str) -> bool:
        """Whether either prompt is served the other's answer.

        Raises:
            UsageError: the cache cannot be emptied, or gives an answer that was not stored here.
        """
        return any(True for order in ((a, b), (b, a)) for _ in self._run(order))

    def replay(self, texts: Sequence[str]) -> list[tuple[int, int]]:
        """Pairs of indices that share an answer when the texts come as traffic, in order and in the opposite order.

        Raises:
            UsageError: see `serves`.
        """
        found = set(self._run(texts))
        if len(texts) > 1 and {one for one, _ in found} == {0} and len(found) == len(texts) - 1:
            self._check_choosy(len(texts))
        if self._reset is not None:
            last = len(texts) - 1
            found |= {(last - a, last - b) for a, b in self._run(texts[::-1])}
        return sorted({(min(pair), max(pair)) for pair in found})

    def _run(self, texts: Sequence[str]) -> Iterator[tuple[int, int]]:
        self._empty()
        for index, text in enumerate(texts):
            answer = self._lookup(text)
            if _nothing(answer):
                self._store(text, _answer(index))
                continue
            self._alive = True
            yield self._whose(answer, index), index
        if not self._alive:
            self._check_alive(texts)

    def _check_alive(self, texts: Sequence[str]) -> None:
        """Of a cache that never serves, any set would pass: nothing was asked of it.

        Raises:
            UsageError: none of the prompts is served its own answer.
        """
        # All of them: one that evicts its oldest entries still has the last one.
        for index in range(len(texts) - 1, -1, -1):
            answer = self._lookup(texts[index])
            if not _nothing(answer):
                self._whose(answer, len(texts))
                self._alive = True
                return
        raise UsageError(
            f"cache {self.name} serves nothing, not even a prompt whose answer was stored just now: nothing was "
            "compared; lookup must give back what store was given"
        )

    def _check_choosy(self, stored: int) -> None:
        """All prompts of a set may be alike to a cache; one that serves anything has compared nothing.

        Raises:
            UsageError: it serves texts that have nothing to do with what is stored.
        """
        for probe in PROBES:
            try:
                answer = self._lookup(probe)
            # A table of vectors, say, has none for a text that is not in it: then it does tell texts apart.
            except Exception:
                return
            if _nothing(answer):
                return
            self._whose(answer, stored)
        raise UsageError(
            f"cache {self.name} serves an answer to whatever it is asked: nothing was compared; give the cache as the "
            "application sets it up"
        )

    def _empty(self) -> None:
        if self._reset is not None:
            self._reset()
        elif self._used:
            raise UsageError(
                f"cache {self.name} must be emptied between two runs: give reset as well, (lookup, store, reset), or "
                "adapt(cache, clear=True)"
            )
        self._used = True

    def _whose(self, answer: Any, before: int) -> int:
        # Caches wrap what they give: a list, a mapping, an object.
        words = answer if isinstance(answer, str) else repr(answer)
        for index in range(before):
            if _answer(index) in words:
                return index
        raise UsageError(
            f"cache {self.name} serves an answer that was not stored here: it must be empty at the start, and lookup "
            "must give back what store was given"
        )


def _nothing(answer: Any) -> bool:
    """An empty list is how some caches say that nothing was found."""
    return answer is None or (isinstance(answer, (list, str)) and not answer)


def _answer(index: int) -> str:
    # Closed on both sides: 1 must not be found within 12.
    return f"<cachesafe answer {index}>"


def served_verdict(pair: PairVerdict, served: bool) -> ServedVerdict:
    """A verdict with the cache's decision instead of a cosine."""
    return ServedVerdict(pair.a, pair.b, math.nan, math.nan, pair.text, pair.verifier, served)
