"""What workers of pytest-xdist find, handed over to the controller; the one place that knows how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

__all__ = ["hand_over", "is_worker", "take_from_workers"]


def is_worker(config: pytest.Config) -> bool:
    """Whether this process runs tests for another one, which tells and writes."""
    return hasattr(config, "workerinput")


def hand_over(config: pytest.Config, key: str, payload: Mapping[str, Any]) -> None:
    """At the end of a worker's session: plain values for the controller."""
    config.workeroutput[key] = payload  # type: ignore[attr-defined]


def take_from_workers(
    config: pytest.Config, key: str, take: Callable[[Mapping[str, Any]], None], lost: Callable[[], None] | None = None
) -> None:
    """Have the controller call `take` with what each worker hands over under `key`, `lost` for one that crashed."""
    if config.pluginmanager.hasplugin("xdist"):
        # Its hooks are unknown to pytest without it.
        config.pluginmanager.register(_Controller(key, take, lost), f"{key.replace('_', '-')}-xdist")


class _Controller:
    """Hooks that only xdist calls."""

    def __init__(self, key: str, take: Callable[[Mapping[str, Any]], None], lost: Callable[[], None] | None) -> None:
        self._key, self._take, self._lost = key, take, lost

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """A worker is done."""
        payload = getattr(node, "workeroutput", {}).get(self._key)
        if payload is not None:
            self._take(payload)
        elif error is not None and self._lost is not None:
            self._lost()
