"""Hard budgets: bounds of a check that need no lock file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
            found.append("max_cost is set and the price of this model is not known: give prices, or drop the budget")
        elif price / conversations > cost:
            found.append(f"a conversation costs {about}${price / conversations:.6f}, max_cost is ${cost:g}")
    return found
