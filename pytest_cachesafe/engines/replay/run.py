"""A replay in progress: one read of a log, any number of caches fed from it, everything summed up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.engines.replay.feed import Feed, Hit
from pytest_cachesafe.engines.replay.reasons import REMEMBERED
from pytest_cachesafe.engines.replay.shape import Shape
from pytest_cachesafe.engines.replay.shards import Shards
from pytest_cachesafe.engines.replay.totals import Groups, LeftOut, ReasonTotals, Totals, Windows
from pytest_cachesafe.engines.trace.entry import BadEntry, Entry

if TYPE_CHECKING:
    from pytest_cachesafe.report.visible import Redact

__all__ = ["Row", "Run", "Variant"]

# With a cache per key, each remembers less.
_REMEMBERED_PER_KEY = REMEMBERED // 16


class Row(NamedTuple):
    """One request of the log."""

    # Counted from 0 over the requests of the whole log, those included that are another worker's or do not fit.
    request: int
    line: int
    tokens: int
    cached_tokens: int
    hit_blocks: int
    # Requests that had to end before there was room for this one.
    waited: int
    # Why the first token behind `cached_tokens` was not found; None where reasons are not kept.
    miss_reason: str | None
    tag: str | None
    tenant: str | None
    conversation: str | None
    replica: str | None

    @property
    def admitted(self) -> bool:
        """True: what does not fit at all is skipped, and has no row."""
        return True

    def redacted(self, mode: Redact) -> Row:
        """The same without what tag, tenant, conversation and replica are called."""
        from pytest_cachesafe.report.visible import redact

        names = (self.tag, self.tenant, self.conversation, self.replica)
        return Row(*self[:7], *(None if name is None else redact(name, mode) for name in names))

    def as_dict(self) -> dict[str, Any]:
        """For JSON; fields that the log does not give are left out."""
        found: dict[str, Any] = {
            "request": self.request,
            "line": self.line,
            "tokens": self.tokens,
            "cached_tokens": self.cached_tokens,
            "hit_blocks": self.hit_blocks,
            "admitted": True,
            "waited": self.waited,
            "miss_reason": self.miss_reason,
            "tag": self.tag,
            "tenant": self.tenant,
        }
        if self.conversation is not None:
            found["conversation"] = self.conversation
        if self.replica is not None:
            found["replica"] = self.replica
        return found


class Variant:
    """Another cache that the same log is fed to: its shape and its totals, nothing per request."""

    def __init__(self, shape: Shape, same_as: Totals | None = None) -> None:
        self.shape = shape
        # Set up like the main cache, it shares its totals and is fed no second time.
        self.fed = same_as is None
        self.totals = same_as if same_as is not None else Totals()
        # Requests that this cache cannot hold.
        self.too_large = 0
        self.feeds: dict[str, Feed] = {}


class Run:
    """Feed entries with `request`; the sums are complete after every one of them."""

    def __init__(
        self,
        shape: Shape,
        *,
        cache: PrefixCache | None = None,
        live: int = 1,
        reasons: bool = True,
        variants: Sequence[Shape] = (),
        shards: Shards | None = None,
        window: int | float | None = None,
        window_by: str = "requests",
        on_row: Callable[[Row], object] | None = None,
    ) -> None:
        self.shape = shape
        self.live = live
        self.shards = shards
        self.totals = Totals()
        self.by_tag = Groups()
        self.by_tenant = Groups()
        self.windows = Windows(window, window_by)
        self.reasons: ReasonTotals | None = ReasonTotals() if reasons else None
        # Requests that had to wait for room.
        self.waited = 0
        self.left_out = LeftOut()
        # `forgot` and `replies_dropped` of caches that are gone.
        self._gone = (0, 0)
        # Requests without a timestamp, where windows go by it.
        self.untimed = 0
        # Requests of the log so far, this worker's or not.
        self.seen = 0
        main = shape.as_dict()
        self.variants = [Variant(one, self.totals if one.as_dict() == main else None) for one in variants]
        self._feeds: dict[str, Feed] = {}
        if cache is not None:
            self._feeds[""] = Feed(shape, live, reasons=reasons, cache=cache)
        self._on_row = on_row

    def request(self, entry: Entry) -> None:
        """Send the log's next request to every cache.

        Raises:
            BadEntry: the main cache cannot hold it.
        """
        number = self.seen
        self.seen += 1
        position = self._position(entry, number)
        key = ""
        if self.shards is not None:
            key = self.shards.key(entry)
            if not self.shards.owns(key):
                return
        for variant in self.variants:
            if variant.fed:
                self._try(variant, key, entry)
        feed = self._feeds.get(key)
        if feed is None:
            feed = self._feeds[key] = self._feed(self.shape, reasons=self.reasons is not None)
        try:
            hit = feed.request(entry)
        except BadEntry:
            for variant in self.variants:
                variant.too_large += not variant.fed
            raise
        self._sum(hit, number, position, entry)

    def _feed(self, shape: Shape, *, reasons: bool) -> Feed:
        remember = REMEMBERED if self.shards is None else _REMEMBERED_PER_KEY
        return Feed(shape, self.live, reasons=reasons, remember=remember)

    def _position(self, entry: Entry, number: int) -> float | None:
        """Where on the axis of the windows the request is; None: nowhere."""
        if self.windows.by == "requests":
            position: float = number
        elif entry.timestamp is None:
            return None
        else:
            position = self.windows.since_first(entry.timestamp)
        self.windows.reach(position)
        return position

    def _try(self, variant: Variant, key: str, entry: Entry) -> None:
        feed = variant.feeds.get(key)
        if feed is None:
            feed = variant.feeds[key] = self._feed(variant.shape, reasons=False)
        try:
            hit = feed.request(entry)
        except BadEntry:
            variant.too_large += 1
            return
        variant.totals.add(1, hit.tokens, hit.cached_tokens, hit.hit_blocks)

    def _sum(self, hit: Hit, number: int, position: float | None, entry: Entry) -> None:
        tokens, cached, blocks = hit.tokens, hit.cached_tokens, hit.hit_blocks
        self.totals.add(1, tokens, cached, blocks)
        if hit.waited:
            self.waited += 1
        if entry.left_out:
            self.left_out.add(1, entry.line, dict.fromkeys(entry.left_out, 1))
        reason = None if self.reasons is None else self.reasons.count(hit.missed)
        if entry.tag is not None:
            self.by_tag.of(entry.tag).add(1, tokens, cached, blocks)
        if entry.tenant is not None:
            self.by_tenant.of(entry.tenant).add(1, tokens, cached, blocks)
        if position is None:
            self.untimed += 1
        else:
            self.windows.of(position).add(1, tokens, cached, blocks)
        if self._on_row is not None:
            self._on_row(
                Row(
                    number,
                    entry.line,
                    tokens,
                    cached,
                    blocks,
                    hit.waited,
                    reason,
                    entry.tag,
                    entry.tenant,
                    entry.conversation,
                    entry.replica,
                )
            )

    def release(self) -> None:
        """Drop all caches and what they hold; the sums stay. Nothing can be sent any more."""
        self._gone = (self.forgot, self.replies_dropped)
        self._feeds.clear()
        for variant in self.variants:
            variant.feeds.clear()

    @property
    def forgot(self) -> int:
        """Blocks that the memory behind the reasons had to drop."""
        return self._gone[0] + sum(feed.reasons.forgot for feed in self._feeds.values() if feed.reasons is not None)

    @property
    def replies_dropped(self) -> int:
        """Replies that found no room."""
        return self._gone[1] + sum(feed.replies_dropped for feed in self._feeds.values())
