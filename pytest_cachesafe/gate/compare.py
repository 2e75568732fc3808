"""Two entries of one check: what got worse, in one sentence each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_cachesafe.gate.entry import Entry
from pytest_cachesafe.gate.expression import Bound

__all__ = ["Change", "Difference", "compare_entries", "worse_by"]


@dataclass(frozen=True, slots=True)
class Change:
    """One metric that got worse."""

    metric: str
    text: str
    # Whether the expression in force makes it fail.
    fails: bool
    # Tokens more that are computed or billed in full; 0 where the metric has none.
    tokens: int = 0


@dataclass(slots=True)
class Difference:
    """A check now against the same check in the lock file."""

    before: Entry
    now: Entry
    changes: list[Change] = field(default_factory=list)
    # The front end is another one: numbers of before and now say nothing about each other.
    rebaseline: str | None = None
    better: int = 0

    @property
    def failing(self) -> list[Change]:
        """What fails the test, the most tokens first."""
        return sorted((c for c in self.changes if c.fails), key=lambda c: -c.tokens)


def compare_entries(before: Entry, now: Entry, bounds: Mapping[str, Bound]) -> Difference:
    """What changed for the worse."""
    found = Difference(before, now)
    if before == now:
        # Most checks of most runs.
        return found
    found.rebaseline = _another_front_end(before, now)
    if found.rebaseline is not None:
        return found
    changes = found.changes
    about = "" if now.exact else "about "
    if now.kind == "snapshot":
        if before.prefix != now.prefix:
            sizes = f"{about}{before.prefix_tokens:,} tokens in the lock file, {now.prefix_tokens:,} now"
            changes.append(Change("snapshot", f"the prompt is another one: {sizes}", True))
        return found
    for key in sorted(before.kept.keys() | now.kept.keys()):
        metric = "lost" if key == "stable" else "cached"
        if key not in now.kept or key not in before.kept:
            continue
        was, is_now = _lost(before, key), _lost(now, key)
        growth = is_now - was
        if growth < 0:
            found.better = max(found.better, -growth)
        elif growth > 0:
            bound = bounds.get(metric)
            where = "of the prefix" if key == "stable" else f"not found by {key}"
            words = (
                f"{about}{growth:,} tokens more {where}{' lost' if key == 'stable' else ''}: {is_now:,} of "
                f"{now.reusable:,} now, {was:,} of {before.reusable:,} in the lock file"
            )
            changes.append(Change(metric, words, bound is not None and bound.exceeded(growth, now.reusable), growth))
    gone = sorted(before.kept.keys() - now.kept.keys())
    if gone:
        left = ", ".join(sorted(now.kept)) or "none"
        words = f"it is not held against {', '.join(gone)} any more, as in the lock file (now: {left})"
        changes.append(Change("gone", words, False))
    if now.cause is not None and (now.cause, now.place) != (before.cause, before.place):
        old = f"{before.cause} at {before.place}" if before.cause else "none"
        words = f"a new cause of loss: {now.cause} at {now.place} (in the lock file: {old})"
        changes.append(Change("reason", words, "reason" in bounds))
    if before.prefix != now.prefix:
        words = (
            f"tools or system text changed: a deploy makes every cache cold, {about}{now.prefix_tokens:,} tokens are "
            "written again"
        )
        changes.append(Change("prefix", words, "prefix" in bounds, 0))
    _grown(found, "tokens", before.tokens, now.tokens, bounds, about)
    if before.cost_usd is not None and now.cost_usd is not None:
        _grown(found, "cost", before.cost_usd, now.cost_usd, bounds, about)
    return found


def _lost(entry: Entry, key: str) -> int:
    return max(entry.reusable - entry.kept[key], 0)


def _grown(found: Difference, metric: str, before: float, now: float, bounds: Mapping[str, Bound], about: str) -> None:
    bound = bounds.get(metric)
    if bound is None or not bound.exceeded(now - before, before):
        return
    if metric == "tokens":
        words = f"prompts grew from {about}{before:,} to {now:,} tokens"
    else:
        words = f"the requests cost {about}${now:.6f} now, ${before:.6f} in the lock file"
    found.changes.append(Change(metric, words, True))


def _another_front_end(before: Entry, now: Entry) -> str | None:
    """What makes the two incomparable, in words."""
    if before.kind != now.kind:
        return f"it is a {now.kind} check now, a {before.kind} check in the lock file"
    if before.tokenizer != now.tokenizer:
        return f"the tokenizer changed ({before.tokenizer or 'none'} to {now.tokenizer or 'none'})"
    if before.template != now.template:
        return f"the chat template changed ({before.template or 'none'} to {now.template or 'none'})"
    if before.kept and now.kept and not before.kept.keys() & now.kept.keys():
        # Nothing would be compared, and all would seem well.
        return (
            f"it is held against {', '.join(sorted(now.kept))} now, {', '.join(sorted(before.kept))} in the lock file"
        )
    if before.template is None and before.front_end != now.front_end:
        return f"the front end changed (from {before.front_end!r} to {now.front_end!r})"
    return None


def worse_by(before: Entry, now: Entry) -> int:
    """Tokens more that are lost now, over everything that keeps; negative where it got better."""
    keys = before.kept.keys() & now.kept.keys()
    return max((_lost(now, key) - _lost(before, key) for key in keys), default=0)
