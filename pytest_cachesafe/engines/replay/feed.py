"""One cache (or one per key) that is fed with a log's requests, a number of them live at once."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.engines.replay.reasons import REMEMBERED, End, Reasons
from pytest_cachesafe.engines.replay.shape import Shape
from pytest_cachesafe.engines.request import Request
from pytest_cachesafe.engines.trace.entry import BadEntry, Entry, TooLarge
from pytest_cachesafe.usage import UsageError

__all__ = ["Feed", "Hit"]


class Hit(NamedTuple):
    """What one request got."""

    tokens: int
    cached_tokens: int
    hit_blocks: int
    # Requests that had to end before there was room.
    waited: int
    # (reason, tokens) for what was not found, in the order of the prompt; empty where reasons are not kept.
    missed: list[tuple[str, int]]


class _Live(NamedTuple):
    request: Request
    output_ids: list[int]
    # For `Reasons.grow`.
    end: End | None
    conversation: tuple[str | None, str] | None


class Feed:
    """A cache and the requests that are live in it; they end in the order in which they came."""

    def __init__(
        self,
        shape: Shape,
        live: int = 1,
        *,
        reasons: bool = True,
        remember: int = REMEMBERED,
        cache: PrefixCache | None = None,
    ) -> None:
        self._shape = shape
        self._cache = cache if cache is not None else shape.make()
        self._at_once = live
        self._live: deque[_Live] = deque()
        unit = self._cache.unit
        # Where any prefix is reused, a hash per token would cost more than the simulation; Mooncake's ids are few.
        exact = unit > 1 or shape.mooncake or self._cache.engine == "vllm"
        off = self._cache.limits is not None or self._cache.given.get("caching") is False
        drafts = self._cache.given.get("eagle") or self._cache.given.get("bigram")
        dropped = unit if drafts else 0
        self.reasons = Reasons(unit, exact, off, dropped, remember) if reasons else None
        # Replies that did not fit into the pool beside the other live requests.
        self.replies_dropped = 0

    def request(self, entry: Entry) -> Hit:
        """Send a request; older ones end first, as many as it takes.

        Raises:
            TooLarge: it is larger than the whole cache.
            BadEntry: the engine cannot take it for another reason.
        """
        shape, cache, live = self._shape, self._cache, self._live
        ids, tokens = shape.prompt(entry)
        while len(live) >= self._at_once:
            self._finish()
        salt = entry.salt if shape.salts else None
        try:
            sent = cache.request(ids, salt=salt, lora=entry.lora)
        except UsageError as error:
            # Such as an adapter that the engine knows nothing of.
            raise BadEntry(str(error)) from None
        waited = 0
        while not sent.admitted:
            if not live:
                # In units of Mooncake ids the engine's own words would count something else.
                why = f" ({sent.refused})" if sent.refused and shape.scale == 1 else ""
                raise TooLarge(f"{tokens:,} tokens are more than the whole cache holds{why}")
            self._finish()
            waited += 1
            sent = cache.request(ids, salt=salt, lora=entry.lora)
        cached, blocks = sent.cached_tokens, sent.cached_tokens // cache.unit
        missed: list[tuple[str, int]] = []
        end = conversation = None
        if self.reasons is not None:
            namespace = None if salt is None and entry.lora is None else (salt, entry.lora)
            if entry.conversation is not None:
                conversation = (entry.tenant, entry.conversation)
            missed, end = self.reasons.account(ids, cached, namespace, conversation, sent.unusable_tokens)
        if shape.scale != 1:
            cached *= shape.scale
            missed = _scaled(missed, shape.scale, tokens - cached)
        live.append(_Live(sent, entry.output_ids, end, conversation))
        return Hit(tokens, cached, blocks, waited, missed)

    def _finish(self) -> None:
        """End the oldest request."""
        oldest = self._live.popleft()
        if oldest.output_ids:
            if not oldest.request.append(oldest.output_ids):
                self.replies_dropped += 1
            elif self.reasons is not None and oldest.end is not None:
                self.reasons.grow(oldest.end, oldest.output_ids, oldest.conversation)
        oldest.request.free()


def _scaled(missed: list[tuple[str, int]], scale: int, tokens: int) -> list[tuple[str, int]]:
    """Reasons in tokens of the log. All but the last are whole blocks; the last one ends with the prompt."""
    found = [(reason, count * scale) for reason, count in missed[:-1]]
    if missed:
        found.append((missed[-1][0], tokens - sum(count for _, count in found)))
    return found
