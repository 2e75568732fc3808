"""The provider's cache, followed over requests: what each finds, writes, and is billed for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_cachesafe.providers.blocks.block import Block, Layout, Level
from pytest_cachesafe.providers.blocks.builder import SERVER_RESULTS, THINKING, Builder, Place
from pytest_cachesafe.providers.blocks.layout import RUNS, Layouter
from pytest_cachesafe.providers.blocks.settings import level_of
from pytest_cachesafe.providers.cache.automatic import BreakpointCache, PrefixKept
from pytest_cachesafe.providers.cache.counters import looped, told
from pytest_cachesafe.providers.cache.held import Held
from pytest_cachesafe.providers.cache.marked import MarkedCache
from pytest_cachesafe.providers.cache.outcome import Asked, Outcome, Written
from pytest_cachesafe.providers.cache.reasons import compared_id, first_difference, miss_reason, not_found
from pytest_cachesafe.providers.cache.tree import Node, gates, walk
from pytest_cachesafe.providers.cache.usage import Tokens, Usage
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.providers.fronts import Front, known_front
from pytest_cachesafe.providers.rules.load import Rules, load_rules
from pytest_cachesafe.providers.rules.table import ModelRules, ProviderRules
from pytest_cachesafe.providers.tokens import Counter

__all__ = ["Prediction", "ProviderCache"]

# How many requests back a request is compared with, to name what changed.
_COMPARED = 64
# From how many of the latest ones nodes are taken over: sub-agents interleave.
_RECENT = 16


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the documented rules say of one request."""

    usage: Usage
    # All input tokens, with their band.
    total: Tokens
    layout: Layout
    # Why the request does not continue the latest one of its conversation, in its provider's own word
    # ("system_changed"); None: it does, there is none, or the provider publishes no reasons.
    miss: str | None = None
    # Tokens behind the first difference to that request; None without a reason.
    missed: int | None = None
    # Why less was read than an earlier request had written for this very prefix ("expired", "out-of-lookback",
    # "not-begun", "no-marker"), or why nothing can be ("no-marker", "below-minimum"); None: all there was, was read.
    cause: str | None = None
    # Path of the block at which the entry that was read ends, and entries written.
    read_at: str | None = None
    written: tuple[Written, ...] = ()
    # What the documents leave open for this request, in words; the numbers are then the likeliest ones.
    unsure: tuple[str, ...] = ()


@dataclass(slots=True)
class _Pending:
    exchange: Exchange
    outcome: Outcome
    began: float | None


@dataclass(slots=True)
class _Seen:
    exchange: Exchange
    layout: Layout
    first: bytes | None


class ProviderCache:
    """Simulated caches of all providers, one per account, model and API.

    Requests are given in the order in which they were sent. What a request writes can be read once its response has
    begun: at `exchange.began_at`, or when `began` is called; at once where the time of sending is not known, or where
    the reply is there but not the time at which it began.

    Args:
        rules: dated rules, or overrides of them in the form of `[tool.cachesafe.providers]`; None: those in force.
        count_tokens: exact tokens of a text, see `tokens.Counter`; None: estimates, and `Usage.exact` is False.
    """

    def __init__(
        self, rules: Rules | Mapping[str, Any] | None = None, count_tokens: Callable[[str], int] | None = None
    ) -> None:
        self.rules = rules if isinstance(rules, Rules) else load_rules(rules)
        self.counter = Counter(count_tokens)
        self._layouter = Layouter()
        self._marked: dict[str, MarkedCache] = {}
        self._leasts: dict[str, int | None] = {}
        self.reset()

    def reset(self) -> None:
        """Forget everything that was sent."""
        self._roots: dict[tuple[object, ...], Node] = {}
        # The latest requests: account and settings, blocks, and their nodes.
        self._recent: deque[tuple[tuple[object, ...], Sequence[Block], list[Node]]] = deque(maxlen=_RECENT)
        self._pending: list[_Pending] = []
        self._seen: dict[tuple[object, ...], deque[_Seen]] = {}
        self._held = Held()
        self._now = 0.0

    def request(self, exchange: Exchange, fronts: Sequence[Front] = ()) -> Prediction:
        """What a request finds, writes and is billed for, the cache being as it is when the request is sent.

        Args:
            exchange: the request; fronts: what lists of its body share with those of an earlier one, where that is
                known: they are not compared again.

        Raises:
            UsageError: the body is no request of its API, or the user's token counter returned no count.
        """
        if exchange.sent_at is not None:
            self._now = exchange.sent_at
        self._settle()
        whole, known = self._held.whole(exchange)
        layout = self._layouter.lay_out(whole, fronts)
        provider = self.rules.provider(exchange.provider)
        model = self.rules.for_exchange(exchange)
        asked = _asked(exchange, layout, model, self._now)
        asked.told, asked.least = told(exchange), self._least(provider)
        asked.looped = asked.told is not None and looped(layout.blocks)
        levels = {name: _level(name, provider, model) for name in layout.settings}
        blocks = asked.blocks
        asked.path = path = self._walk(_account(exchange), layout, blocks, gates(layout.settings, levels))
        outcome = self._outcome(asked, exchange, layout, provider)
        outcome.unsure += [
            f"{path}: a marker inside a tool result is taken as one on the result; not verified"
            for path in _inner(layout)
        ]
        if not known:
            outcome.unsure.append(
                "the history that the provider holds for this request was not seen: it is not counted"
            )
        before, miss, missed = self._compare(exchange, layout, asked)
        outcome.unsure += _open(provider, before, layout)
        self._note(exchange, outcome)
        self._held.note(exchange, whole)
        total = path[-1].tokens if path else Tokens.exactly(0)
        return Prediction(
            usage=_usage(outcome, asked.within(total).best, exact=total.exact),
            total=asked.within(total),
            layout=layout,
            miss=miss,
            missed=missed,
            cause=outcome.cause,
            read_at=blocks[outcome.read_at].path if outcome.read_at is not None else None,
            written=tuple(outcome.entries),
            unsure=tuple(dict.fromkeys(outcome.unsure)),
        )

    def began(self, exchange: Exchange, at: float) -> None:
        """The first byte of a response was handed out: from then on other requests read what this one wrote."""
        for pending in self._pending:
            if pending.exchange is exchange:
                pending.began = at

    def _walk(
        self, account: tuple[object, ...], layout: Layout, blocks: Sequence[Block], keys: Mapping[Level, bytes]
    ) -> list[Node]:
        """The nodes of a request; those of an earlier one that it goes on from are taken over."""
        root = self._roots.setdefault(account, Node(Tokens.exactly(0)))
        name = (account, *keys.values())
        known: list[Node] = []
        most = 0
        for other, others, nodes in self._recent:
            n = known_front(others, blocks, (layout.front,)) if other == name else 0
            if n > most:
                most, known = n, nodes
                if n >= len(others) - 2:
                    break
        path = walk(root, blocks, keys, self.counter, known[:most], str(account[2]))
        self._recent.appendleft((name, blocks, path))
        return path

    def _least(self, provider: ProviderRules) -> int | None:
        if provider.provider not in self._leasts:
            known = [int(model.minimum.value) for model in provider.models.values() if model.minimum is not None]
            self._leasts[provider.provider] = min(known, default=None)
        return self._leasts[provider.provider]

    def _outcome(self, asked: Asked, exchange: Exchange, layout: Layout, provider: ProviderRules) -> Outcome:
        if exchange.provider in ("anthropic", "bedrock") and exchange.api in ("messages", "invoke", "converse"):
            cache = self._marked.get(exchange.provider)
            if cache is None:
                cache = self._marked[exchange.provider] = MarkedCache(provider)
            return cache.request(asked)
        if exchange.provider == "gemini":
            return self._gemini(asked, layout)
        return self._openai(asked, exchange, layout, provider)

    def _gemini(self, asked: Asked, layout: Layout) -> Outcome:
        note = "implicit caching is best effort: no hit is promised, and its unit and lifetime are not published"
        outcome = PrefixKept(1, float("inf"), 1, note).request(asked, self.counter)
        if "cached_content" in layout.settings:
            value = layout.settings["cached_content"][0]
            outcome.unsure.append(f"what {value} holds was not seen: it is neither in the total nor in what was read")
        return outcome

    def _openai(self, asked: Asked, exchange: Exchange, layout: Layout, provider: ProviderRules) -> Outcome:
        generation = asked.model.generation if asked.model is not None else None
        facts = provider.facts
        if generation == "5.6":
            return BreakpointCache(provider).request(asked, layout, exchange.body)
        if generation is None:
            name = exchange.model or "a request without model"
            return Outcome(unsure=[f"how {name} caches is not known: nothing is predicted to be read"])
        retention = exchange.body.get("prompt_cache_retention")
        kept = "in_memory" if retention == "in_memory" and generation == "earlier" else "24h"
        unit = int(facts["interval.5.5"].value) if generation == "5.5" else int(facts["floor"].value)
        note = f"before GPT-5.6 hits depend on routing, lifetimes ({kept}) are not promised, and hidden tokens count"
        cache = PrefixKept(unit, facts[f"ttl.{kept}"].value, int(facts["floor"].value), note)
        return cache.request(asked, self.counter)

    def _note(self, exchange: Exchange, outcome: Outcome) -> None:
        if not outcome.pending and outcome.then is None:
            return
        for node, _, _ in outcome.pending:
            node.waiting += 1
        done = exchange.status is not None or exchange.reply is not None
        began = exchange.began_at
        if began is None and (exchange.sent_at is None or done):
            began = self._now
        self._pending.append(_Pending(exchange, outcome, began))

    def _settle(self) -> None:
        """Let what has begun by now be read."""
        waiting = []
        for pending in self._pending:
            failed = _failed(pending.exchange)
            began = pending.began if pending.began is not None else pending.exchange.began_at
            if not failed and (began is None or began > self._now):
                waiting.append(pending)
                continue
            for node, ttl, end in pending.outcome.pending:
                node.waiting -= 1
                if not failed:
                    node.entries[ttl] = max(end, node.entries.get(ttl, end))
            if pending.outcome.then is not None and not failed:
                pending.outcome.then()
        self._pending = waiting

    def _compare(
        self, exchange: Exchange, layout: Layout, asked: Asked
    ) -> tuple[Layout | None, str | None, int | None]:
        """The request that this one names, or goes on from; the published reason; tokens behind the difference."""
        first = next((block.key for block in layout.blocks if block.level == "messages"), None)
        seen = self._seen.setdefault((exchange.provider, exchange.scope, exchange.api), deque(maxlen=_COMPARED))
        named = compared_id(exchange)
        if named is not None:
            before = next((s for s in reversed(seen) if (s.exchange.reply or {}).get("id") == named), None)
        else:
            # The latest request of the same conversation: one with the same first message.
            before = next((s for s in reversed(seen) if s.first == first and not _failed(s.exchange)), None)
        seen.append(_Seen(exchange, layout, first))
        if before is None:
            return None, (not_found(exchange.api) if named is not None else None), None
        reason = miss_reason(exchange.api, (before.exchange.model, before.layout), (exchange.model, layout))
        if reason is None:
            return before.layout, None, None
        at = first_difference(before.layout, layout) if before.exchange.model == exchange.model else 0
        n = len(asked.path)
        at = min(at or 0, n)
        total = asked.tokens(n - 1).best if n else 0
        return before.layout, reason, total - (asked.tokens(at - 1).best if at else 0)


def _open(provider: ProviderRules, before: Layout | None, after: Layout) -> Iterator[str]:
    """What the documents say depends on the model, where it changed."""
    if before is None or before.settings == after.settings:
        return
    for row in provider.voids:
        old, new = before.settings.get(row.change), after.settings.get(row.change)
        if "model" in (row.tools, row.system) and (old and old[0]) != (new and new[0]):
            yield f"{row.change} changed: which models keep tools and system then is not published; none does here"


def _inner(layout: Layout) -> Iterator[str]:
    """Paths of markers inside a tool result that count as one on it."""
    for i in layout.special:
        block = layout.blocks[i]
        if block.marker is not None and block.marker.path.startswith(f"{block.path}.content["):
            yield block.marker.path


def _failed(exchange: Exchange) -> bool:
    return exchange.status is not None and exchange.status >= 400


def _account(exchange: Exchange) -> tuple[object, ...]:
    return (exchange.provider, exchange.scope, exchange.api, exchange.model)


def _level(name: str, provider: ProviderRules, model: ModelRules | None) -> Level | None:
    """The first level that a change of a setting voids, by the provider's table; None: none of them.

    What depends on the model is taken as void: the documents name no models, and advise to treat it so.
    """
    for row in provider.voids:
        if row.change == name and (not row.models or (model is not None and model.id in row.models)):
            levels: tuple[tuple[Level, str], ...] = (
                ("tools", row.tools), ("system", row.system), ("messages", row.messages)
            )  # fmt: skip
            return next((level for level, said in levels if said != "valid"), None)
    return level_of(name)


def _asked(exchange: Exchange, layout: Layout, model: ModelRules | None, now: float) -> Asked:
    """The blocks that the model gets.

    Models that do not keep thinking lose that of earlier turns once the user says something that is no tool result
    ("Prompt caching", caching with thinking blocks): it is not in the prompt then.
    """
    blocks = layout.blocks
    whole = Asked(blocks, (), layout.special, model, now)
    if model is None or model.keeps_thinking is None or model.keeps_thinking.value:
        return whole
    thinking = [i for i in layout.special if blocks[i].kind in THINKING]
    if not thinking:
        return whole
    last = next((i for i in range(len(blocks) - 1, -1, -1) if _speaks(blocks[i])), -1)
    kept = [b for i, b in enumerate(blocks) if i > last or b.kind not in THINKING]
    if len(kept) == len(blocks):
        return whole
    builder = Builder(Place(), RUNS.get(exchange.api, frozenset()))
    positions = [builder.place_of(block.kind) for block in kept]
    special = [i for i, b in enumerate(kept) if b.marker is not None or b.kind in SERVER_RESULTS]
    return Asked(kept, (), special, model, now, positions)


def _speaks(block: Block) -> bool:
    return block.level == "messages" and block.role == "user" and block.kind != "tool_result"


def _usage(outcome: Outcome, total: int, *, exact: bool) -> Usage:
    written = tuple((ttl, n) for ttl, n in outcome.written.items() if n)
    return Usage(total, outcome.read, total - outcome.read - sum(outcome.written.values()), written, exact=exact)
