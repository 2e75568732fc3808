"""Predicted counters beside the provider's own, one line a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_cachesafe.report.visible import visible

if TYPE_CHECKING:
    from pytest_cachesafe.providers.cache.usage import Usage
    from pytest_cachesafe.providers.capture.captured import Captured

__all__ = ["live_lines"]


def live_lines(caught: Captured) -> list[str]:
    """What was predicted and what the provider said, for every request that it answered."""
    from pytest_cachesafe.providers.cache.cleared import cleared
    from pytest_cachesafe.providers.cache.counters import from_counters

    lines = []
    for index, (exchange, prediction) in enumerate(zip(caught.exchanges, caught.predictions, strict=True)):
        name = f"live, request {index} ({visible(exchange.model or exchange.provider)})"
        if prediction is None or exchange.usage is None:
            lines.append(f"{name}: no counters came back (status {exchange.status})")
            continue
        said = from_counters(exchange.usage, exchange)
        words = cleared(exchange)
        if words is not None:
            lines.append(f"{name}: not compared: {visible(words)}; the provider said {_words(said)}")
            continue
        predicted = prediction.usage
        verdict = "as predicted" if _alike(predicted, said) else "DIFFERENT"
        lines.append(f"{name}: {verdict}: predicted {_words(predicted)}; the provider said {_words(said)}")
    return lines


def _alike(predicted: Usage, said: Usage) -> bool:
    """The same parts are empty; where the prediction is counted, the numbers are the same."""
    parts = [(predicted.read, said.read), (predicted.write, said.write)]
    if any(bool(a) != bool(b) for a, b in parts):
        return False
    return not predicted.exact or all(a == b for a, b in parts)


def _words(usage: Usage) -> str:
    about = "" if usage.exact else "about "
    return f"{about}write={usage.write:,} read={usage.read:,} uncached={usage.uncached:,}"
