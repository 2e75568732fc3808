"""What users know better: `[tool.cachesafe.providers]`, or a mapping of the same form, laid over the shipped tables.

```toml
[tool.cachesafe.providers.anthropic.models."claude-sonnet-4-6"]
minimum = 2048

[tool.cachesafe.providers.openai.models."my-deployment"]
like = "gpt-5.6-sol"
prices = [{ input = 4, read = 0.4, output = 20, write = { "30m" = 5 } }, { above = 272000, input = 8, … }]

[tool.cachesafe.providers.anthropic.facts]
lookback = 20
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from pytest_cachesafe.configuration import closest
from pytest_cachesafe.providers.rules.ids import spellings
from pytest_cachesafe.providers.rules.read import PROVIDERS, tiers_from
from pytest_cachesafe.providers.rules.table import Fact, ModelRules, ProviderRules
from pytest_cachesafe.usage import UsageError

__all__ = ["lay_over"]

_TABLES = ("models", "facts")
_MODEL_KEYS = ("like", "minimum", "prices", "generation", "keeps-thinking", "checked", "source")
_TIER_KEYS = ("above", "input", "output", "read", "write")
_GENERATIONS = ("5.6", "5.5", "earlier")


def lay_over(rules: Mapping[str, ProviderRules], given: Any, where: str) -> dict[str, ProviderRules]:
    """The shipped tables with the user's entries.

    Args:
        rules: the shipped ones by provider.
        given: the parsed table.
        where: names its place in errors ("pyproject.toml: [tool.cachesafe.providers]").

    Raises:
        UsageError: an unknown provider, key or fact (with the closest name), or a value of the wrong kind.
    """
    out = dict(rules)
    for name, table in _table(given, where).items():
        _known(name, PROVIDERS, where, "provider")
        here = f"{where} {name}"
        for key in _table(table, here):
            _known(key, _TABLES, here, "key")
        facts = dict(out[name].facts)
        for fact, value in _table(table.get("facts", {}), f"{here}.facts").items():
            _known(fact, facts, f"{here}.facts", "fact")
            facts[fact] = Fact(_number(value, f"{here}.facts.{fact}"), where, None, own=True)
        models = dict(out[name].models)
        for model_id, row in _table(table.get("models", {}), f"{here}.models").items():
            models[model_id] = _model(name, model_id, row, rules, models, f"{here}.models.{model_id}", where)
        out[name] = replace(out[name], facts=facts, models=models)
    return out


def _model(
    provider: str,
    model_id: str,
    row: Any,
    rules: Mapping[str, ProviderRules],
    models: Mapping[str, ModelRules],
    here: str,
    where: str,
) -> ModelRules:
    for key in _table(row, here):
        _known(key, _MODEL_KEYS, here, "key")
    base = models.get(model_id) or ModelRules(provider, model_id)
    if "like" in row:
        base = replace(_like(provider, row["like"], rules, models, here), provider=provider, id=model_id)
    checked = row.get("checked")
    if checked is not None and (not isinstance(checked, date) or hasattr(checked, "hour")):
        raise UsageError(f"{here}: checked must be a date without quotes, such as 2026-11-30, not {checked!r}")
    source = row.get("source", where)

    def own(value: Any) -> Fact[Any]:
        return Fact(value, str(source), checked, own=True)

    if "minimum" in row:
        base = replace(base, minimum=own(_count(row["minimum"], f"{here}: minimum")))
    if "prices" in row:
        base = replace(base, prices=own(_prices(row["prices"], f"{here}: prices")), routed={})
    if "generation" in row:
        _known(row["generation"], _GENERATIONS, here, "generation")
        base = replace(base, generation=row["generation"])
    if "keeps-thinking" in row:
        if not isinstance(row["keeps-thinking"], bool):
            raise UsageError(f"{here}: keeps-thinking must be true or false, not {row['keeps-thinking']!r}")
        base = replace(base, keeps_thinking=own(row["keeps-thinking"]))
    return base


def _like(
    provider: str, name: Any, rules: Mapping[str, ProviderRules], models: Mapping[str, ModelRules], here: str
) -> ModelRules:
    if isinstance(name, str):
        for spelling in spellings(provider, name):
            table = models if spelling.provider == provider else rules[spelling.provider].models
            if spelling.stem in table:
                found = table[spelling.stem]
                return replace(found, prices=found.routed.get(spelling.routing, found.prices), routed={})
    raise UsageError(
        f"{here}: like = {name!r} is no model of {provider}; {closest(name, models, names=False)}".rstrip("; ")
    )


def _prices(rows: Any, here: str) -> Any:
    if not isinstance(rows, (list, tuple)) or not rows:
        raise UsageError(
            f"{here} must be a list of tiers such as {{ input = 3, read = 0.3, output = 15 }}, not {rows!r}"
        )
    for row in rows:
        for key, value in _table(row, here).items():
            _known(key, _TIER_KEYS, here, "key")
            if key == "write":
                for ttl, price in _table(value, f"{here}: write").items():
                    _number(price, f"{here}: write.{ttl}")
            else:
                _number(value, f"{here}: {key}")
        if "input" not in row:
            raise UsageError(f"{here}: a tier needs input = USD per million tokens")
    if len({row.get("above", 0) for row in rows}) < len(rows):
        raise UsageError(f"{here}: two tiers for the same prompt length; give each its own above")
    return tiers_from(rows)


def _table(value: Any, here: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{here} must be a table, not {value!r}")
    return value


def _known(word: Any, known: Iterable[str], here: str, kind: str) -> None:
    words = list(known)
    if word not in words:
        raise UsageError(f"{here} has no {kind} {word!r}; {closest(word, words)}")


def _number(value: Any, here: str, fits: Callable[[float], bool] = lambda x: x >= 0) -> float:
    # NaN and infinity are numbers in TOML.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not fits(value) or value - value != 0:
        raise UsageError(f"{here} must be a number, at least 0, not {value!r}")
    return value


def _count(value: Any, here: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError(f"{here} must be a whole number of tokens, not {value!r}")
    return value
