"""`--cachesafe-compare-fail`: which changes against the lock file fail a test.

lost:100        more than 100 tokens more are lost than before
lost:5%         more than 5% of what could be kept is lost more than before
cached:0        the same for what an engine or provider finds, without the shared prefix itself
tokens:10%      prompts grew by more than 10%
cost:2%         all requests cost more than 2% more
reason          a cause of loss that was not there before, or at another place
prefix          tools or system text changed, so that a deploy makes every cache cold
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_cachesafe.usage import UsageError

__all__ = ["DEFAULT", "METRICS", "Bound", "parse_expression"]

METRICS = ("lost", "cached", "tokens", "cost", "reason", "prefix")
_PLAIN = ("reason", "prefix")
DEFAULT = "lost:0,cached:0,reason"
_BOUND = re.compile(r"(\d+(?:\.\d+)?)(%?)\Z")


@dataclass(frozen=True, slots=True)
class Bound:
    """A metric and what it may grow by: tokens (or USD), or a share of what it is measured against."""

    metric: str
    amount: float = 0.0
    share: bool = False

    def exceeded(self, growth: float, of: float) -> bool:
        """Whether a growth is more than allowed; `of` is what a share is taken of."""
        return growth > (self.amount * of if self.share else self.amount)


def parse_expression(text: str) -> dict[str, Bound]:
    """Bounds by metric.

    Raises:
        UsageError: an unknown metric, a bound that is none, the same metric twice, nothing at all.
    """
    from pytest_cachesafe.options import closest

    found: dict[str, Bound] = {}
    # A blank behind a colon parts nothing: "lost: 5%".
    for part in filter(None, re.split(r"[\s,]+", re.sub(r"\s*:\s*", ":", text))):
        metric, colon, bound = part.partition(":")
        if metric not in METRICS:
            raise UsageError(f"unknown metric {metric!r}{closest(metric, METRICS)}")
        if metric in found:
            raise UsageError(f"{metric} stands twice; give it once")
        if metric in _PLAIN:
            if colon:
                raise UsageError(f"{part!r}: {metric} takes no bound; write {metric}")
            found[metric] = Bound(metric)
            continue
        match = _BOUND.match(bound) if colon else None
        if match is None:
            raise UsageError(f"{part!r}: {metric} takes a bound, {metric}:100 (tokens) or {metric}:5%")
        share = bool(match[2])
        found[metric] = Bound(metric, float(match[1]) / (100 if share else 1), share)
    if not found:
        raise UsageError(f"nothing to compare: give at least one of {', '.join(METRICS)}")
    return found
