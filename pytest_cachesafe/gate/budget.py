"""Hard budgets: bounds of a check that need no lock file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_cachesafe.report.visible import visible

__all__ = ["over_budget"]


def over_budget(report: Any, settings: Mapping[str, Any]) -> list[str]:
    """Budgets that a passed check misses, one sentence each.

    `min_cached_share` and `max_uncached_tokens` are measured on what an engine or provider finds; without one, on the
    prefix that stays the same. Shares are of the tokens that an earlier request of the conversation already held.
    """
    values = report.gate_values()
    share, most, cost = (settings[name].value for name in ("min_cached_share", "max_uncached_tokens", "max_cost"))
    found: list[str] = []
    about = "" if values.get("exact", True) else "about "
    kept = {key: n for key, n in values["kept"].items() if key != "stable"} or values["kept"]
    reusable, tokens = values["reusable"], values["tokens"]
    for key, n in sorted(kept.items()):
        where = "of the prefix are stable" if key == "stable" else f"are found by {key}"
        if share is not None and reusable and n / reusable < share:
            found.append(
                f"{about}{n:,} of {reusable:,} tokens {where} ({n / reusable:.1%}), "
                f"min_cached_share is {share * 100:g}%"
            )
        if most is not None and tokens - n > most:
            found.append(f"{about}{tokens - n:,} tokens are not cached, max_uncached_tokens is {most:,}")
    price = values.get("cost_usd")
    # The shape of prompts has no price: such checks are not asked for one.
    if cost is not None and "cost_usd" in values:
        conversations = max(int(values.get("conversations", 1)), 1)
        if price is None:
            found.append(f"max_cost is not checked: {_unpriced(report)}")
        elif price / conversations > cost:
            found.append(f"a conversation costs {about}${price / conversations:.6f}, max_cost is ${cost:g}")
    return found


def _unpriced(report: Any) -> str:
    """Why a check of requests has no price."""
    answered = [request for request in getattr(report, "requests", ()) if request.usage is not None]
    models = sorted({str(r.model) for r in answered if r.cost_usd is None and r.model is not None})
    if models:
        where = "give it under [tool.cachesafe.providers], or drop the budget"
        return f"no price is known for model{'s' if len(models) > 1 else ''} {visible(', '.join(models))}: {where}"
    if answered:
        return "no request names a model, so that none has a price: give model=…, or drop the budget"
    return "of no request is known what the provider does with it"
