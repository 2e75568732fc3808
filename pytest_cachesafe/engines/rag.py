"""The same retrieved documents in another order: what each engine keeps, and what a fixed order or CacheBlend would."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_cachesafe.engines.cache import ENGINES, PrefixCache
from pytest_cachesafe.engines.lmcache.blend import BlendStore, check_ratio
from pytest_cachesafe.engines.token_ids import pack
from pytest_cachesafe.usage import UsageError

__all__ = ["BlendTotals", "EngineTotals", "RagReport", "RagRequest", "rag_order"]


@dataclass(frozen=True)
class RagRequest:
    """One request of the check; numbers are tokens."""

    order: tuple[str, ...]
    tokens: int
    # By engine: found in the cache with the documents as given, and with them sorted by id.
    cached: dict[str, int]
    cached_sorted: dict[str, int]
    # What CacheBlend finds, and about how much is computed all the same; None without a separator.
    blend_found: int | None
    blend_computed: int | None


@dataclass(frozen=True)
class EngineTotals:
    """One engine over all requests, in tokens."""

    engine: str
    label: str
    cached: int
    cached_sorted: int


@dataclass(frozen=True)
class BlendTotals:
    """CacheBlend over all requests, in tokens; `computed` is an estimate."""

    found: int
    computed: int
    ratio: float


@dataclass(frozen=True)
class RagReport:
    """What `rag_order` found."""

    requests: tuple[RagRequest, ...]
    engines: tuple[EngineTotals, ...]
    blend: BlendTotals | None

    @property
    def tokens(self) -> int:
        """Prompt tokens of all requests."""
        return sum(request.tokens for request in self.requests)

    @property
    def best_gain(self) -> int:
        """Tokens that sorting would save at most, over the engines."""
        return max((totals.cached_sorted - totals.cached for totals in self.engines), default=0)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; orders are given as numbers of documents, so that no id leaves the process."""
        numbers: dict[str, int] = {}
        return {
            "schema": 1,
            "requests": [
                {
                    "order": [numbers.setdefault(name, len(numbers)) for name in request.order],
                    "tokens": request.tokens,
                    "cached_tokens": request.cached,
                    "cached_tokens_sorted": request.cached_sorted,
                    "blend_found_tokens": request.blend_found,
                    "blend_computed_tokens_estimate": request.blend_computed,
                }
                for request in self.requests
            ],
            "tokens": self.tokens,
            "engines": {
                totals.engine: {"cached_tokens": totals.cached, "cached_tokens_sorted": totals.cached_sorted}
                for totals in self.engines
            },
            "blend": None
            if self.blend is None
            else {
                "found_tokens": self.blend.found,
                "computed_tokens_estimate": self.blend.computed,
                "ratio": self.blend.ratio,
            },
        }

    def text(self) -> str:
        """For people: counts only, no ids and no text of the documents."""
        from pytest_cachesafe.report.rag import render

        return render(self)

    def __str__(self) -> str:
        return self.text()


def rag_order(
    documents: Mapping[str, Sequence[int]],
    orders: Sequence[Sequence[str]],
    *,
    engines: str | PrefixCache | Sequence[str | PrefixCache] = ENGINES,
    prefix_ids: Sequence[int] = (),
    separator_ids: Sequence[int] = (),
    questions: Sequence[Sequence[int]] = (),
    ratio: float = 0.15,
) -> RagReport:
    """Send the same documents in several orders, one request after the other, to a fresh cache of each engine.

    A prompt is the prefix, then for each document separator and document, then separator and question.

    Args:
        documents: token ids by document id.
        orders: for each request the ids of its documents, as they were retrieved.
        engines: names, or caches whose options are used (on a fresh copy); each engine once.
        prefix_ids: what stands before the documents (system prompt, instructions).
        separator_ids: between the parts; CacheBlend is looked at only if it is given (see `BlendStore`).
        questions: what each request ends with, one per order; none: the prompts end with their last document.
        ratio: share that CacheBlend computes again.

    Raises:
        UsageError: no order, an unknown document, another number of questions, something that is no token id, a prompt
            that an engine would never take (it is larger than the pool).
    """
    _check(documents, orders, questions, prefix_ids, separator_ids, ratio)
    ends = questions or [()] * len(orders)
    sent = [_prompt(documents, order, end, prefix_ids, separator_ids) for order, end in zip(orders, ends, strict=True)]
    in_order = [
        _prompt(documents, sorted(order), end, prefix_ids, separator_ids)
        for order, end in zip(orders, ends, strict=True)
    ]
    cached: dict[str, list[int]] = {}
    cached_sorted: dict[str, list[int]] = {}
    labels: dict[str, str] = {}
    for engine in (engines,) if isinstance(engines, (str, PrefixCache)) else engines:
        name, options = (engine.engine, engine.given) if isinstance(engine, PrefixCache) else (engine, {})
        if name in labels:
            raise UsageError(f"engines names {name} twice: check its options one after the other")
        labels[name] = PrefixCache(name, **options).label
        cached[name] = _run(PrefixCache(name, **options), sent)
        cached_sorted[name] = _run(PrefixCache(name, **options), in_order)
    found, computed = _blend(sent, separator_ids, ratio) if separator_ids else (None, None)
    return RagReport(
        tuple(
            RagRequest(
                tuple(order),
                len(sent[index]),
                {name: cached[name][index] for name in cached},
                {name: cached_sorted[name][index] for name in cached},
                None if found is None else found[index],
                None if computed is None else computed[index],
            )
            for index, order in enumerate(orders)
        ),
        tuple(EngineTotals(name, labels[name], sum(cached[name]), sum(cached_sorted[name])) for name in cached),
        None if found is None or computed is None else BlendTotals(sum(found), sum(computed), ratio),
    )


def _check(
    documents: Mapping[str, Sequence[int]],
    orders: Sequence[Sequence[str]],
    questions: Sequence[Sequence[int]],
    prefix_ids: Sequence[int],
    separator_ids: Sequence[int],
    ratio: float,
) -> None:
    if not isinstance(documents, Mapping):
        raise UsageError(f"documents is {type(documents).__name__}: give token ids by document id")
    for name, ids in documents.items():
        pack(ids, f"documents[{name!r}]")
    for what, ids in (("prefix_ids", prefix_ids), ("separator_ids", separator_ids)):
        pack(ids, what)
    for index, ids in enumerate(questions):
        pack(ids, f"questions[{index}]")
    if not isinstance(orders, Sequence) or isinstance(orders, str) or not orders:
        raise UsageError("orders is no list, or empty: give the document ids of at least one request")
    if questions and len(questions) != len(orders):
        raise UsageError(f"{len(questions)} questions for {len(orders)} orders: give one for each")
    for index, order in enumerate(orders):
        if isinstance(order, str) or not isinstance(order, Iterable):
            kind = "a string" if isinstance(order, str) else type(order).__name__
            raise UsageError(f"orders[{index}] is {kind}: give a list of document ids")
        for name in order:
            if not isinstance(name, Hashable) or name not in documents:
                raise UsageError(f"orders[{index}] names a document that is not in documents: {name!r}")
        try:
            sorted(order)
        except TypeError as error:
            raise UsageError(f"orders[{index}]: document ids that cannot be sorted ({error}): give text") from None
    check_ratio(ratio)


def _prompt(
    documents: Mapping[str, Sequence[int]],
    order: Iterable[str],
    question: Sequence[int],
    prefix_ids: Sequence[int],
    separator_ids: Sequence[int],
) -> list[int]:
    ids = list(prefix_ids)
    for part in [*(documents[name] for name in order), *([question] if question else [])]:
        if ids:
            ids += separator_ids
        ids += part
    return ids


def _run(cache: PrefixCache, prompts: Sequence[list[int]]) -> list[int]:
    """Tokens found by each prompt."""
    found = []
    for index, prompt in enumerate(prompts):
        request = cache.request(prompt)
        if not request.admitted:
            # Nothing else is sent at the same time, so it never will be.
            words = request.refused or f"{len(prompt)} tokens are more than it holds"
            raise UsageError(f"request {index}: {cache.label} refuses it: {words}; give the cache more room")
        found.append(request.cached_tokens)
        request.free()
    return found


def _blend(prompts: Sequence[list[int]], separator_ids: Sequence[int], ratio: float) -> tuple[list[int], list[int]]:
    store = BlendStore(separator_ids)
    hits = [store.add(prompt) for prompt in prompts]
    return [hit.hit_tokens for hit in hits], [hit.recomputed(ratio) for hit in hits]
