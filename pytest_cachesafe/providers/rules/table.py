"""One dated table per provider: every number the checks use, with where it was read and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Generic, TypeVar

__all__ = ["Fact", "ModelRules", "PriceTier", "ProviderRules", "Void"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """A value, and why it is believed."""

    value: T
    # Document and section; the day it was read there (None: the user's own value, given without a day); whether it was
    # read in the provider's own document.
    source: str
    checked: date | None
    verified: bool = True
    # What contradicts it, or where it does not hold.
    note: str = ""
    # Given by the user, who knows better; never reported as stale without a day.
    own: bool = False


@dataclass(frozen=True, slots=True)
class PriceTier:
    """USD per million tokens, for requests of more than `above` prompt tokens. None: no such charge is published."""

    above: int
    input: float
    output: float | None
    read: float | None
    # By lifetime: {"5m": 6.25, "1h": 10.0}; empty where writing costs nothing beyond `input`.
    write: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelRules:
    """What is known of one model. Nothing is guessed: a field without a source is None."""

    provider: str
    # Id stem in the provider's own spelling ("claude-sonnet-4-5"), under which ids with dates or prefixes are found.
    id: str
    # Fewest tokens of a prefix that is cached; below it the provider silently caches nothing.
    minimum: Fact[int] | None = None
    # Cheapest tier first.
    prices: Fact[tuple[PriceTier, ...]] | None = None
    # OpenAI: "5.6" (breakpoints, exact counters, paid writes), "5.5", "earlier". None elsewhere.
    generation: str | None = None
    # Anthropic: whether thinking of earlier turns is kept when the user speaks again.
    keeps_thinking: Fact[bool] | None = None
    # Bedrock: prices by the way the id routes ("global", "regional"), where they differ; `prices` is then filled in
    # when an id is looked up.
    routed: Mapping[str, Fact[tuple[PriceTier, ...]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Void:
    """A row of the invalidation table: what a change voids. "void", "valid", or "model" (depends on the model)."""

    change: str
    tools: str
    system: str
    messages: str
    source: str
    checked: date
    verified: bool = True
    note: str = ""
    # Id stems the row is limited to; empty: every model.
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderRules:
    """All rules of one provider."""

    provider: str
    models: Mapping[str, ModelRules]
    # Numbers that hold for every model: "max_markers", "lookback", "ttl.5m" (seconds), "ttl.1h", "floor" … What each
    # of them counts stands in `rules.names`.
    facts: Mapping[str, Fact[float]]
    voids: tuple[Void, ...] = ()
    # Rules in words, by topic ("order", "isolation"), for what no number says.
    statements: Mapping[str, Fact[str]] = field(default_factory=dict)
    # Other spellings of an id stem ("claude-opus-4-0": "claude-opus-4").
    aliases: Mapping[str, str] = field(default_factory=dict)
