"""What a replay found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.engines.replay.advice import advise
from pytest_cachesafe.engines.replay.reasons import REASONS
from pytest_cachesafe.engines.replay.run import Row
from pytest_cachesafe.engines.replay.totals import Groups, LeftOut, ReasonTotals, Totals, Windows

if TYPE_CHECKING:
    from pytest_cachesafe.report.visible import Redact

__all__ = ["ReplayReport", "SweepPoint"]


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One of several caches that the same log was fed to."""

    block_size: int
    # None: a pool that never runs out.
    num_blocks: int | None
    # Whether the log's salts were used.
    salts: bool
    totals: Totals
    # Requests that are larger than this whole cache; they are in no sum.
    too_large: int = 0

    @property
    def pool_tokens(self) -> int | None:
        """Size of the pool in tokens, the null block included; None: it never runs out."""
        return None if self.num_blocks is None else self.num_blocks * self.block_size

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "block_size": self.block_size,
            "num_blocks": self.num_blocks,
            "salts": self.salts,
            **self.totals.as_dict(),
            "too_large": self.too_large,
        }


@dataclass(slots=True)
class ReplayReport:
    """A log of requests through an engine's prefix cache. All numbers are exact; `advice` says what it estimates."""

    # How the engine is called, e.g. "vLLM".
    label: str
    # Engine, block size, blocks, options: as `Shape.as_dict` gives them.
    setup: dict[str, Any]
    live: int
    trace_format: str | None
    totals: Totals
    by_tag: Groups
    by_tenant: Groups
    windows: Windows
    # None: reasons were not kept.
    reasons: ReasonTotals | None = None
    sweep: list[SweepPoint] = field(default_factory=list)
    # Requests that had to wait until others ended.
    waited: int = 0
    # Replies that found no room beside the live requests, so that they were not kept.
    replies_dropped: int = 0
    # Requests without a timestamp, where windows go by it.
    untimed: int = 0
    # Blocks that were dropped from the memory behind `reasons`.
    forgot: int = 0
    # Lines that are no request, the first 1,000 of them named: (line, why).
    skipped: int = 0
    bad: list[tuple[int, str]] = field(default_factory=list)
    # Those of them that are requests, larger than the whole cache.
    too_large: int = 0
    # Requests whose template does not print all that they say.
    not_rendered: LeftOut = field(default_factory=LeftOut)
    # Interrupted: the sums are those of the requests so far.
    partial: bool = False
    # {"by", "index", "count"} where every key has a cache of its own.
    shard: Mapping[str, Any] | None = None
    # Of a shard: what tells the log from another one (lines, checksum); None: it was not read to its end.
    log: Mapping[str, Any] | None = None
    # Why the engine, set up like this, cannot reuse at all.
    limits: str | None = None
    # None: left out (`summary`).
    per_request: list[Row] | None = None

    @property
    def requests(self) -> int:
        """Requests that were replayed."""
        return self.totals.requests

    @property
    def tokens(self) -> int:
        """Their prompt tokens."""
        return self.totals.tokens

    @property
    def cached_tokens(self) -> int:
        """Those that came from the cache."""
        return self.totals.cached_tokens

    @property
    def hit_blocks(self) -> int:
        """The whole blocks that these are."""
        return self.totals.hit_blocks

    @property
    def hit_rate(self) -> float:
        """`cached_tokens / tokens`."""
        return self.totals.hit_rate

    @property
    def over_time(self) -> list[dict[str, Any]]:
        """Windows in order, each with its sums."""
        return self.windows.as_list()

    @property
    def advice(self) -> list[str]:
        """What to do, in sentences."""
        return advise(self)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; without `schema`, which the writer adds."""
        data: dict[str, Any] = {
            **self.totals.as_dict(),
            "label": self.label,
            **self.setup,
            "live": self.live,
            "trace_format": self.trace_format,
            "partial": self.partial,
            "skipped": {
                "count": self.skipped,
                "too_large": self.too_large,
                "lines": [line for line, _ in self.bad],
                "why": [{"line": line, "message": words} for line, words in self.bad[:20]],
            },
            "not_rendered": self.not_rendered.as_dict(),
            "waited": self.waited,
            "replies_dropped": self.replies_dropped,
            "reasons": None if self.reasons is None else self.reasons.as_dict(REASONS),
            "reasons_forgot": self.forgot,
            "by_tag": {name: totals.as_dict() for name, totals in sorted(self.by_tag.items())},
            "by_tenant": {name: totals.as_dict() for name, totals in sorted(self.by_tenant.items())},
            "over_time": {
                "by": self.windows.by,
                "width": self.windows.width,
                "without_timestamp": self.untimed,
                "windows": self.over_time,
            },
            "sweep": [point.as_dict() for point in self.sweep],
            "advice": self.advice,
            "limits": self.limits,
        }
        if self.shard is not None:
            data["shard"] = dict(self.shard)
            data["log"] = None if self.log is None else dict(self.log)
        if self.per_request is not None:
            data["per_request"] = [row.as_dict() for row in self.per_request]
        return data

    def redacted(self, mode: Redact) -> ReplayReport:
        """The same without what tags and tenants are called; names that become equal are added up."""
        from pytest_cachesafe.report.visible import redact

        def renamed(groups: Groups) -> Groups:
            found = Groups()
            for name, one in groups.items():
                found.of(redact(name, mode)).add(one.requests, one.tokens, one.cached_tokens, one.hit_blocks)
            return found

        rows = None if self.per_request is None else [row.redacted(mode) for row in self.per_request]
        # What a chat template, or a reader of bodies, says of a request may quote it.
        quoted = self.trace_format == "messages"
        bad = [(line, redact(words, mode) if quoted else words) for line, words in self.bad]
        return replace(self, by_tag=renamed(self.by_tag), by_tenant=renamed(self.by_tenant), per_request=rows, bad=bad)

    def text(self, verbosity: int = 0) -> str:
        """For people: the first line is complete in itself."""
        from pytest_cachesafe.report.simulate import render

        return render(self, verbosity)

    def __str__(self) -> str:
        return self.text()
