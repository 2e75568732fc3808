"""The rules of providers as a table for people and as JSON: every value with where it was read, and when."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.providers.rules.load import Rules
    from pytest_cachesafe.providers.rules.table import Fact, PriceTier

__all__ = ["RuleRow", "RulesTable", "parse_age", "rules_table"]

_UNITS = {"d": 1, "w": 7, "m": 30, "y": 365}
_CHECKED = ("anthropic", "openai", "gemini", "bedrock")


def parse_age(text: str) -> timedelta:
    """`90d`, `12w`, `3m` (30 days each) or `1y` (365 days).

    Raises:
        UsageError: of another form.
    """
    found = re.fullmatch(r"(\d{1,5})([dwmy])", text.strip().lower())
    if found is None:
        raise UsageError(f"--stale-after {text!r}: write a number of days, weeks, months or years: 90d, 12w, 3m, 1y")
    return timedelta(days=int(found[1]) * _UNITS[found[2]])


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One value of the tables."""

    provider: str
    # "fact", "minimum", "price", "thinking", "void", "rule" (words), or "unknown": what the tables do not say, with the
    # models they do not say it of.
    kind: str
    # Name of the fact, topic of the rule, what changes, or id stem of the model.
    name: str
    value: Any
    text: str
    source: str
    checked: date | None
    verified: bool
    own: bool
    note: str

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "provider": self.provider,
            "kind": self.kind,
            "name": self.name,
            "value": self.value,
            "source": self.source,
            "checked": None if self.checked is None else self.checked.isoformat(),
            "verified": self.verified,
            "own": self.own,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class RulesTable:
    """What `cachesafe check --rules` prints; `status` is its exit status."""

    rows: tuple[RuleRow, ...]
    today: date
    stale_after: timedelta | None = None

    @property
    def stale(self) -> tuple[RuleRow, ...]:
        """Rows checked longer ago than asked for; none where nothing was asked for."""
        if self.stale_after is None:
            return ()
        return tuple(r for r in self.rows if r.checked is not None and self.today - r.checked > self.stale_after)

    @property
    def status(self) -> int:
        """1 if a row is stale."""
        return 1 if self.stale else 0

    def as_dict(self) -> dict[str, Any]:
        """JSON form: all rows, and those that are stale."""
        return {
            "schema": 1,
            "rules": [row.as_dict() for row in self.rows],
            "stale_after_days": None if self.stale_after is None else self.stale_after.days,
            "stale": [row.as_dict() for row in self.stale],
        }

    def text(self) -> str:
        """The table; with an age, only what is older."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        rows: Sequence[RuleRow] = self.rows
        if self.stale_after is not None:
            rows = self.stale
            if not rows:
                yield f"{len(self.rows)} rules, all checked within {self.stale_after.days} days"
                return
            yield f"{len(rows)} of {len(self.rows)} rules were checked more than {self.stale_after.days} days ago"
        for provider in dict.fromkeys(row.provider for row in rows):
            yield from _section(provider, [row for row in rows if row.provider == provider])
        if self.stale_after is None:
            unsure = sum(not row.verified for row in self.rows)
            yield (
                f"{len(self.rows)} rules; {unsure} marked ? were not read in the provider's own document;"
                " change them under [tool.cachesafe.providers]"
            )


def _section(provider: str, rows: Sequence[RuleRow]) -> Iterator[str]:
    from pytest_cachesafe.report.visible import visible

    # The same few documents stand behind many rows.
    sources = {source: n for n, source in enumerate(dict.fromkeys(row.source for row in rows if row.source), 1)}
    width = max(len(row.name) for row in rows)
    yield provider if provider in _CHECKED else f"{provider} (listed, not checked)"
    for row in rows:
        day = "yours" if row.own and row.checked is None else f"{row.checked or ''}"
        note = f" ({row.note})" if row.note else ""
        words = f"{row.kind:<8} {row.name:<{width}}  {row.text}{note}"
        place = f" [{sources[row.source]}]" if row.source else ""
        # Names and words of the user's own stand in some rows.
        yield visible(f"  {day:<10} {' ' if row.verified else '?'} {words}{place}")
    for source, n in sources.items():
        yield visible(f"  [{n}] {source}")
    yield ""


def rules_table(
    rules: Rules, stale_after: timedelta | str | None = None, today: date | None = None, provider: str | None = None
) -> RulesTable:
    """All rules in force, or those of one provider.

    Args:
        rules: from `load_rules`.
        stale_after: an age such as "90d": only what was checked longer ago is shown, and the exit status is 1 if
            anything was. Values of the user's own without a day are never stale.
        today: default: the day it is.
        provider: default: all.

    Raises:
        UsageError: an age of another form, an unknown provider.
    """
    age = parse_age(stale_after) if isinstance(stale_after, str) else stale_after
    names = list(rules.providers) if provider is None else [rules.provider(provider).provider]
    return RulesTable(tuple(row for name in names for row in _rows(rules, name)), today or date.today(), age)


def _rows(rules: Rules, name: str) -> Iterator[RuleRow]:
    from pytest_cachesafe.providers.rules.names import FACTS

    found = rules.provider(name)

    def row(kind: str, what: str, fact: Fact[Any], text: str, value: Any = None) -> RuleRow:
        given = fact.value if value is None else value
        return RuleRow(
            name, kind, what, given, text, fact.source, fact.checked, fact.verified or fact.own, fact.own, fact.note
        )

    for topic, words in found.statements.items():
        yield row("rule", topic, words, words.value)
    for what, fact in found.facts.items():
        yield row("fact", what, fact, f"{fact.value:g} {FACTS.get(what, '')}".rstrip())
    for void in found.voids:
        levels = {"tools": void.tools, "system": void.system, "messages": void.messages}
        text = ", ".join(f"{level} {state}" for level, state in levels.items())
        note = "; ".join(
            words for words in (void.note, f"only {', '.join(void.models)}" if void.models else "") if words
        )
        yield RuleRow(name, "void", void.change, levels, text, void.source, void.checked, void.verified, False, note)
    for model_id, model in found.models.items():
        if model.minimum is not None:
            yield row("minimum", model_id, model.minimum, f"{model.minimum.value:,} tokens")
        if model.keeps_thinking is not None:
            text = "kept over user turns" if model.keeps_thinking.value else "dropped at a user turn"
            yield row("thinking", model_id, model.keeps_thinking, text)
        for routing, prices in {"": model.prices, **model.routed}.items():
            if prices is not None:
                label = f"{routing}.{model_id}" if routing else model_id
                text = "; ".join(_price(tier) for tier in prices.value)
                yield row("price", label, prices, text, [_tier(tier) for tier in prices.value])
    missing = {
        "minimum": [m.id for m in found.models.values() if m.minimum is None],
        "price": [m.id for m in found.models.values() if m.prices is None and not m.routed],
    }
    for what, ids in missing.items():
        if ids:
            yield RuleRow(name, "unknown", what, ids, ", ".join(ids), "", None, True, False, "")


def _price(tier: PriceTier) -> str:
    parts = [f"in {tier.input:g}"]
    if tier.read is not None:
        factor = f" ({tier.read / tier.input:.3g}x)" if tier.input else ""
        parts.append(f"read {tier.read:g}{factor}")
    parts += [f"write {ttl} {price:g}" for ttl, price in tier.write.items()]
    if tier.output is not None:
        parts.append(f"out {tier.output:g}")
    above = f"above {tier.above:,} tokens: " if tier.above else ""
    return f"{above}{', '.join(parts)} USD/MTok"


def _tier(tier: PriceTier) -> dict[str, Any]:
    return {
        "above": tier.above,
        "input": tier.input,
        "output": tier.output,
        "read": tier.read,
        "write": dict(tier.write),
    }
