"""What the provider's cache would have said, asked once a request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.providers.capture.raw import RawReply
from pytest_cachesafe.providers.capture.reply import Failure
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.providers.cache.simulate import Prediction
    from pytest_cachesafe.providers.checks.markers import Placed

__all__ = ["Predictor"]

_COUNTED = {
    "messages": "input_tokens",
    "invoke": "input_tokens",
    "responses": "input_tokens",
    "gemini": "totalTokens",
    "converse": "inputTokens",
}


_HOLDERS = ("tools", "system", "messages")
_INDEX = re.compile(r"(?:tools|system|messages)\[\d+\]")


class Predictor:
    """The simulated cache, the hard errors and the counters behind one door."""

    def __init__(self, rules: Any, count_tokens: Callable[[str], int] | None) -> None:
        # Rules, simulation and block layouts cost time to load that a capture without requests does not need.
        from pytest_cachesafe.providers.cache.simulate import ProviderCache

        self._cache = ProviderCache(rules, count_tokens)
        # Messages, tools and system blocks that carry no marker, by identity; kept, so that an id stays theirs.
        self._plain: dict[int, Any] = {}

    def predict(self, exchange: Exchange) -> Prediction:
        """What the request finds and writes.

        Raises:
            UsageError: the body is no request of its API, or the user's counter returned no count.
        """
        return self._cache.request(exchange)

    def wrong(self, exchange: Exchange) -> str | None:
        """Why a body is no request of its API, in words; None if it is one."""
        from pytest_cachesafe.providers.blocks.layout import lay_out

        try:
            lay_out(exchange)
        except UsageError as error:
            return str(error)
        return None

    def began(self, exchange: Exchange, at: float) -> None:
        """What it wrote can be read."""
        self._cache.began(exchange, at)

    def counters(self, prediction: Prediction, exchange: Exchange) -> Mapping[str, Any]:
        """The provider's own counters for a prediction."""
        from pytest_cachesafe.providers.cache.counters import counters
        from pytest_cachesafe.providers.cache.diagnostics import diagnostics

        found = counters(prediction.usage, exchange)
        said = diagnostics(prediction, exchange)
        if said is not None:
            # Beside the counters in the reply, not among them: `replies` puts it where it belongs.
            found["diagnostics" if exchange.api == "messages" else "prompt_cache_diagnostics"] = said
        return found

    def refused(self, exchange: Exchange) -> Failure | None:
        """The 400 with which the provider refuses the request, if it does."""
        from pytest_cachesafe.providers.checks.hard import hard_errors

        errors = hard_errors(None, exchange, self._cache.rules, self._markers(exchange))
        if not errors:
            return None
        first = errors[0]
        return Failure(first.status, f"{first.path}: {first.message}" if first.path else first.message)

    def _markers(self, exchange: Exchange) -> list[Placed]:
        """The request's markers; what was seen without one is not gone through again.

        Bodies share what they repeat (see `bodies`), so that the same message is the same object.
        """
        from pytest_cachesafe.providers.checks.markers import markers_of

        plain = self._plain
        body = dict(exchange.body)
        left: dict[str, list[Any]] = {}
        for key in _HOLDERS:
            items = body.get(key)
            if isinstance(items, list):
                # Something that is nothing in their place keeps the paths of the others.
                body[key] = left[key] = [None if id(item) in plain else item for item in items]
        found = markers_of(replace(exchange, body=body))
        marked = {match[0] for placed in found if (match := _INDEX.match(placed.path)) is not None}
        for key, items in left.items():
            for index, item in enumerate(items):
                if item is not None and f"{key}[{index}]" not in marked:
                    plain[id(item)] = item
        return found

    def counted(self, exchange: Exchange) -> RawReply:
        """The reply of a token-counting endpoint: counted with the user's counter, or an estimate."""
        from pytest_cachesafe.providers.blocks.layout import lay_out

        total = sum(self._cache.counter.count(block).best for block in lay_out(exchange).blocks)
        reply: dict[str, Any] = {_COUNTED.get(exchange.api, "input_tokens"): total}
        if exchange.api == "responses":
            reply["object"] = "response.input_tokens"
        return RawReply(200, {"content-type": "application/json"}, (json.dumps(reply).encode(),))
