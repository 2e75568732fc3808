"""What follows from a replay: bigger pool, other block size, no salt, no cache at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_cachesafe.engines.replay.result import ReplayReport, SweepPoint

__all__ = ["HASH_SECONDS", "PREFILL_TOKENS_PER_SECOND", "advise"]

# Estimates, said as such: hashing and looking up one token on the CPU (SHA-256 over blocks of 16), and prefill of an
# 8B model on one accelerator. Their product is the share of reused tokens below which hashing is not worth its time.
HASH_SECONDS = 0.2e-6
PREFILL_TOKENS_PER_SECOND = 10_000
# Fewer requests tell nothing about a server's traffic.
_ENOUGH_REQUESTS = 100


def advise(report: ReplayReport) -> list[str]:
    """Sentences, the most useful first; none where nothing follows."""
    found = [*_blocks(report), *_block_size(report), *_salt(report)]
    evicted = report.reasons["evicted"][1] if report.reasons and "evicted" in report.reasons else 0
    if evicted and not any(p.num_blocks != report.setup["num_blocks"] for p in report.sweep):
        share = evicted / max(report.tokens, 1)
        if share >= 0.01:
            slots = report.setup["engine"] == "llamacpp"
            more = "more slots keep (slots=…)" if slots else "a larger pool keeps (--sweep blocks=…)"
            found.append(f"{evicted:,} tokens ({share:.1%}) had been computed before and were gone: see what {more}")
    return [*found, *_off(report, evicted)]


def _blocks(report: ReplayReport) -> list[str]:
    """From which size on a larger pool keeps nothing more."""
    points = [
        p for p in report.sweep if p.salts == report.setup["salts"] and p.block_size == report.setup["block_size"]
    ]
    points = sorted(points, key=_size)
    if len({p.num_blocks for p in points}) < 2:
        return []
    # A pool that some requests do not fit into is compared with nothing.
    whole = [p for p in points if p.too_large == points[-1].too_large]
    most = max(p.totals.cached_tokens for p in whole)
    enough = next(p for p in whole if p.totals.cached_tokens == most)
    share = f"{enough.totals.hit_rate:.1%}"
    if enough is not points[-1]:
        return [f"from {_name(enough)} on nothing more is gained ({share} reused)"]
    if enough.num_blocks is None:
        return [f"no pool of the sweep keeps everything: without a limit {share} would be reused"]
    return [f"the largest pool of the sweep reuses most ({share}): a larger one may reuse more"]


def _size(point: SweepPoint) -> float:
    return float("inf") if point.num_blocks is None else point.num_blocks


def _name(point: SweepPoint) -> str:
    return "a pool without limit" if point.num_blocks is None else f"{point.num_blocks:,} blocks"


def _block_size(report: ReplayReport) -> list[str]:
    setup = report.setup
    points = [p for p in report.sweep if p.salts == setup["salts"]]
    # Where pools are swept as well, their sizes and not those of the blocks would be compared.
    if len({p.block_size for p in points}) < 2 or len({p.block_size for p in points}) < len(points):
        return []
    best = max(points, key=lambda p: (p.totals.cached_tokens, p.block_size))
    now = report.cached_tokens
    gained = best.totals.cached_tokens - now
    if best.block_size == setup["block_size"] or gained <= 0:
        return [f"no other block size of the sweep reuses more than {setup['block_size']}"]
    return [f"block size {best.block_size} would reuse {gained:,} tokens more ({best.totals.hit_rate:.1%})"]


def _salt(report: ReplayReport) -> list[str]:
    setup = report.setup
    without = [
        p
        for p in report.sweep
        if not p.salts and p.block_size == setup["block_size"] and p.num_blocks == setup["num_blocks"]
    ]
    if not without or not setup["salts"]:
        return []
    gained = without[0].totals.cached_tokens - report.cached_tokens
    if gained <= 0:
        return ["salts cost nothing here"]
    return [
        f"salts cost {gained:,} reused tokens ({gained / max(report.tokens, 1):.1%}); without them a tenant can tell "
        "by the time to the first token what another one has sent"
    ]


def _off(report: ReplayReport, evicted: int) -> list[str]:
    """Whether the cache is worth its hashing."""
    if report.requests < _ENOUGH_REQUESTS or report.partial or report.trace_format == "mooncake":
        return []
    hashing = report.tokens * HASH_SECONDS
    saved = report.cached_tokens / PREFILL_TOKENS_PER_SECOND
    if saved >= hashing or evicted > report.tokens // 100:
        return []
    return [
        f"prefix caching is not worth it on this traffic; it can be turned off (estimate: hashing takes about "
        f"{hashing:.2g} s at {HASH_SECONDS * 1e6:.1f} µs a token, reuse saves {saved:.2g} s at "
        f"{PREFILL_TOKENS_PER_SECOND:,} prefill tokens/s)"
    ]
