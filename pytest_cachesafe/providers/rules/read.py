"""The tables as they lie in `data/`, one JSON file per provider, as `ProviderRules`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from pytest_cachesafe.providers.rules.table import Fact, ModelRules, PriceTier, ProviderRules, Void

__all__ = ["PROVIDERS", "read_provider", "tiers_from"]

# The first four are checked; of the others the rules are only listed.
PROVIDERS = ("anthropic", "openai", "gemini", "bedrock", "deepseek", "xai", "mistral", "openrouter")
_DATA = Path(__file__).parent / "data"


@cache
def read_provider(name: str) -> ProviderRules:
    """The shipped rules of one of `PROVIDERS`."""
    return _Reader(json.loads((_DATA / f"{name}.json").read_text("utf-8"))).rules()


def tiers_from(rows: Sequence[Mapping[str, Any]]) -> tuple[PriceTier, ...]:
    """Price tiers of JSON or TOML rows, cheapest threshold first."""
    tiers = [
        PriceTier(row.get("above", 0), row["input"], row.get("output"), row.get("read"), dict(row.get("write", {})))
        for row in rows
    ]
    return tuple(sorted(tiers, key=lambda tier: tier.above))


class _Reader:
    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._provider: str = data["provider"]

    def rules(self) -> ProviderRules:
        return ProviderRules(
            self._provider,
            models=self._models(),
            facts={name: self._fact(row, row["value"]) for name, row in self._data.get("facts", {}).items()},
            voids=tuple(self._voids()),
            statements={name: self._fact(row, row["value"]) for name, row in self._data.get("statements", {}).items()},
            aliases=self._data.get("aliases", {}),
        )

    def _fact(self, row: Mapping[str, Any], value: Any) -> Fact[Any]:
        source = self._data["sources"][row["source"]]
        return Fact(
            value,
            self._place(row),
            date.fromisoformat(source["checked"]),
            row.get("verified", source.get("verified", True)),
            row.get("note", ""),
        )

    def _place(self, row: Mapping[str, Any]) -> str:
        source = self._data["sources"][row["source"]]
        document = f"{source['document']} ({source['note']})" if "note" in source else source["document"]
        return f"{document}, {row['section']}" if "section" in row else str(document)

    def _models(self) -> dict[str, ModelRules]:
        models: dict[str, ModelRules] = {}

        def change(model_id: str, **fields: Any) -> None:
            known = models.get(model_id) or ModelRules(self._provider, model_id)
            models[model_id] = replace(known, **fields)

        for generation, ids in self._data.get("generations", {}).items():
            for model_id in ids:
                change(model_id, generation=generation)
        for key, name in (("minimums", "minimum"), ("keeps_thinking", "keeps_thinking")):
            for row in self._data.get(key, ()):
                for model_id in row["models"]:
                    change(model_id, **{name: self._fact(row, row["value"])})
        for row in self._data.get("prices", ()):
            prices = self._fact(row, tiers_from(row["tiers"]))
            for model_id in row["models"]:
                change(model_id, **({"routed": self._routed(prices)} if "routing" in row else {"prices": prices}))
        return models

    def _routed(self, prices: Fact[tuple[PriceTier, ...]]) -> dict[str, Fact[tuple[PriceTier, ...]]]:
        """Global and regional prices of Bedrock: the latter are a published factor higher."""
        factor = self._data["facts"]["regional"]["value"]

        def times(price: float | None) -> float | None:
            # Cents of cents: the product of two decimal numbers, without the noise of binary ones.
            return None if price is None else round(price * factor, 9)

        regional = tuple(
            PriceTier(
                t.above,
                round(t.input * factor, 9),
                times(t.output),
                times(t.read),
                {k: round(v * factor, 9) for k, v in t.write.items()},
            )
            for t in prices.value
        )
        return {"global": prices, "regional": replace(prices, value=regional, note="1.1 times the global price")}

    def _voids(self) -> Iterator[Void]:
        for row in self._data.get("voids", ()):
            fact = self._fact(row, None)
            assert fact.checked is not None
            yield Void(
                row["change"],
                row["tools"],
                row["system"],
                row["messages"],
                fact.source,
                fact.checked,
                fact.verified,
                row.get("note", ""),
                tuple(row.get("models", ())),
            )
