"""What the provider's cache would have said, asked once a request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_cachesafe.providers.blocks.layout import lay_out
from pytest_cachesafe.providers.cache.counters import counters
from pytest_cachesafe.providers.cache.diagnostics import diagnostics
from pytest_cachesafe.providers.cache.simulate import Prediction, ProviderCache
from pytest_cachesafe.providers.capture.raw import RawReply
from pytest_cachesafe.providers.capture.reply import Failure
from pytest_cachesafe.providers.checks.hard import hard_errors
from pytest_cachesafe.providers.checks.markers import Placed, markers_in
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.providers.fronts import Front, known_front
from pytest_cachesafe.usage import UsageError

__all__ = ["Predictor"]

_COUNTED = {
    "messages": "input_tokens",
    "invoke": "input_tokens",
    "responses": "input_tokens",
    "gemini": "totalTokens",
    "converse": "inputTokens",
}


_HOLDERS = ("tools", "system", "messages")
_INDEX = re.compile(r"(tools|system|messages)\[(\d+)\]")


class Predictor:
    """The simulated cache, the hard errors and the counters behind one door."""

    def __init__(self, rules: Any, count_tokens: Callable[[str], int] | None) -> None:
        self._cache = ProviderCache(rules, count_tokens)
        # Messages, tools and system blocks that carry no marker, by identity; kept, so that an id stays theirs.
        self._plain: dict[int, Any] = {}
        # By key: the latest list, and how many items at its front are among them.
        self._fronts: dict[str, tuple[Sequence[Any], int]] = {}

    def predict(self, exchange: Exchange, fronts: Sequence[Front] = ()) -> Prediction:
        """What the request finds and writes.

        Args:
            exchange: the request; fronts: what its body shares with an earlier one, see `bodies`.

        Raises:
            UsageError: the body is no request of its API, or the user's counter returned no count.
        """
        return self._cache.request(exchange, fronts)

    def wrong(self, exchange: Exchange) -> str | None:
        """Why a body is no request of its API, in words; None if it is one."""
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
        found = counters(prediction.usage, exchange)
        said = diagnostics(prediction, exchange)
        if said is not None:
            # Beside the counters in the reply, not among them: `replies` puts it where it belongs.
            found["diagnostics" if exchange.api == "messages" else "prompt_cache_diagnostics"] = said
        return found

    def refused(self, exchange: Exchange, fronts: Sequence[Front] = ()) -> Failure | None:
        """The 400 with which the provider refuses the request, if it does; `fronts` as in `predict`."""
        errors = hard_errors(None, exchange, self._cache.rules, self._markers(exchange, fronts))
        if not errors:
            return None
        first = errors[0]
        return Failure(first.status, f"{first.path}: {first.message}" if first.path else first.message)

    def _markers(self, exchange: Exchange, fronts: Sequence[Front] = ()) -> list[Placed]:
        """The request's markers; what was seen without one is not gone through again.

        Bodies share what they repeat (see `bodies`), so that the same message is the same object.
        """
        plain = self._plain
        body = dict(exchange.body)
        # By key: numbers of the items that are looked at, in whose place they stand in `body`.
        left: dict[str, list[int]] = {}
        for key in _HOLDERS:
            items = body.get(key)
            if isinstance(items, list):
                earlier, most = self._fronts.get(key, ((), 0))
                n = min(known_front(earlier, items, fronts), most) if most else 0
                left[key] = [i for i in range(n, len(items)) if id(items[i]) not in plain]
                self._fronts[key] = items, left[key][0] if left[key] else len(items)
                body[key] = [items[n] for n in left[key]]
        found, marked = [], set()
        for m in markers_in(exchange.api, body):
            match = _INDEX.match(m.path)
            if match is None:
                found.append(m)
                continue
            key, n = match[1], int(match[2])
            marked.add((key, n))
            path = f"{key}[{left[key][n]}]{m.path[match.end() :]}"
            found.append(Placed(path, m.place, m.value, m.holder, m.count))
        for key in left:
            for n, item in enumerate(body[key]):
                if (key, n) not in marked:
                    plain[id(item)] = item
        return found

    def counted(self, exchange: Exchange) -> RawReply:
        """The reply of a token-counting endpoint: counted with the user's counter, or an estimate."""
        total = sum(self._cache.counter.count(block).best for block in lay_out(exchange).blocks)
        reply: dict[str, Any] = {_COUNTED.get(exchange.api, "input_tokens"): total}
        if exchange.api == "responses":
            reply["object"] = "response.input_tokens"
        return RawReply(200, {"content-type": "application/json"}, (json.dumps(reply).encode(),))
