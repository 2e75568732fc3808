"""Settings and orders that are tried both ways: does the prompt keep its prefix when they change?"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_cachesafe.prefix.compare import Divergence
from pytest_cachesafe.prompt import UsageError

__all__ = ["Expect", "Observed", "Toggle", "ToggleResult", "permutations", "reorder_keys"]

Expect = Literal["keeps", "tail", "splits", "report"]
Observed = Literal["keeps", "tail", "splits", "raises"]
_EXPECTS = ("keeps", "tail", "splits", "report")


@dataclass(frozen=True)
class Toggle:
    """A template keyword (or builder setting) tried with several values; the first is the one in use.

    Args:
        name: `enable_thinking`, `reasoning_effort`, …; the builder sees it in `turn.settings`, the template as keyword.
        values: at least two values.
        expect: `keeps` (the whole prefix stays), `tail` (only the end of the prompt may change), `splits` (an intended
            new prefix; reported when it stops splitting), `report` (only shown). Default: `report` for settings,
            `keeps` for orders.

    Raises:
        UsageError: fewer than two values, or an unknown expectation.
    """

    name: str
    values: Sequence[Any] = ()
    expect: Expect | None = None
    kind: Literal["setting", "order"] = "setting"

    def __post_init__(self) -> None:
        if self.expect is not None and self.expect not in _EXPECTS:
            near = difflib.get_close_matches(str(self.expect), _EXPECTS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(_EXPECTS)}"
            raise UsageError(f"Toggle({self.name!r}, expect={self.expect!r}): unknown expectation{hint}")
        listed = isinstance(self.values, Sequence) and not isinstance(self.values, (str, bytes))
        if self.kind == "setting" and not (listed and len(self.values) >= 2):
            raise UsageError(f"Toggle({self.name!r}, …) needs a list of at least two values to try")

    @classmethod
    def order(cls, name: str, expect: Expect | None = None) -> Toggle:
        """Permute what goes *into* the builder: `tools`, `schema_keys`, `documents`, or any name of your own.

        The builder passes its sequences through `turn.order(seq)`. A builder that sorts keeps its prefix.
        """
        return cls(name, (), expect, "order")

    @property
    def wanted(self) -> Expect:
        """The expectation in force."""
        return self.expect or ("report" if self.kind == "setting" else "keeps")

    @property
    def label(self) -> str:
        """How reports call it."""
        return f"order of {self.name}" if self.kind == "order" else self.name


@dataclass
class ToggleResult:
    """What a toggle did to the prompt, over all requests and values; the worst counts."""

    toggle: Toggle
    observed: Observed = "keeps"
    # Smallest share of the first prompt's tokens that is kept, 0 to 1.
    kept: float = 1.0
    value: Any = None
    request: int | None = None
    divergence: Divergence | None = None
    raised: str | None = None
    # Nothing was tried: the keyword is never read, or the sequence has one item.
    idle: str | None = None
    failures: list[str] = field(default_factory=list)

    @property
    def failed(self) -> str | None:
        """One sentence if what was observed is not what was expected."""
        wanted = self.toggle.wanted
        if wanted == "report":
            return None
        if self.raised is not None:
            return f"{self.toggle.label}={self.value!r} makes the template raise: {self.raised}"
        if wanted == "splits":
            return (
                None
                if self.observed == "splits"
                else f"{self.toggle.label} was expected to split the prefix and no longer does ({self.observed})"
            )
        allowed = ("keeps",) if wanted == "keeps" else ("keeps", "tail")
        if self.observed in allowed:
            return None
        change = "another order" if self.toggle.kind == "order" else f"the value {self.value!r}"
        if self.observed == "tail":
            return f"{self.toggle.label}: {change} changes the end of the prompt, expected {wanted!r}"
        return f"{self.toggle.label}: {change} keeps {min(self.kept, 0.99):.0%} of the prefix, expected {wanted!r}"

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "kind": self.toggle.kind,
            "expect": self.toggle.wanted,
            "observed": self.observed,
            "kept": round(self.kept, 4),
            "value": self.value if isinstance(self.value, (str, int, float, bool, type(None))) else repr(self.value),
            "request": self.request,
            "divergence": None if self.divergence is None else self.divergence.as_dict(),
            "failed": self.failed,
            "idle": self.idle,
        }


def permutations(items: Sequence[Any]) -> list[list[Any]]:
    """Two other orders of a sequence: reversed, and moved on by one. Fewer for short sequences."""
    items = list(items)
    if len(items) < 2:
        return []
    out = [items[::-1]]
    rotated = items[1:] + items[:1]
    if len(items) > 2:
        out.append(rotated)
    return out


def reorder_keys(value: Any) -> Any:
    """The same JSON value with the keys of every object the other way round (lists keep their order)."""
    if isinstance(value, Mapping):
        return {k: reorder_keys(value[k]) for k in reversed(list(value))}
    if isinstance(value, (list, tuple)):
        return [reorder_keys(v) for v in value]
    return value
