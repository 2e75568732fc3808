"""What each number of `ProviderRules.facts` counts."""

from __future__ import annotations

__all__ = ["FACTS"]

FACTS: dict[str, str] = {
    "max_markers": "markers per request",
    "lookback": "positions checked back from each marker, itself included",
    "ttl.5m": "seconds from the start of the last use",
    "ttl.1h": "seconds from the start of the last use",
    "ttl.30m": "seconds from the last use, at least",
    "ttl.12h": "seconds from the last use, at least",
    "ttl.24h": "seconds from the last use, at most",
    "ttl.in_memory": "seconds without use, at least",
    "ttl.in_memory.most": "seconds, at most",
    "ttl.explicit": "seconds, where the object names none",
    "write.5m": "times the input price",
    "write.1h": "times the input price",
    "write.30m": "times the input price",
    "write.12h": "times the input price",
    "batch": "times every price",
    "regional": "times the global price",
    "thinking.least": "budget_tokens, at least",
    "read.first": "explicit markers checked from the front",
    "read.latest": "explicit markers checked from the end",
    "read.messages": "earlier message ends checked",
    "floor": "tokens that reported counts are multiples of",
    "interval.5.5": "tokens between implicit breakpoints",
    "minimum.each": "minimums in front of the n-th marker, per n",
    "routing.per_minute": "requests per minute and key",
    "unit": "tokens per cached unit",
}
