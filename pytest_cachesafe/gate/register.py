"""Which parts of the gate a run needs: plugins of their own, registered only where something asks for them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_cachesafe.gate import BASE_VARIABLES, DEFAULT_NAME

__all__ = ["register"]

_GATE = ("lock", "gate", "update", "update_new_only", "informational")


def register(config: pytest.Config, settings: Mapping[str, Any]) -> None:
    """Register the gate and the collector of reports, where the options or a lock file ask for them.

    Raises:
        UsageError: options that exclude each other, or files that cannot be written.
    """
    from pytest_cachesafe.gate.paused import collector_paused
    from pytest_cachesafe.perturb.node import FILE_VARIABLE

    if os.environ.get(FILE_VARIABLE):
        # The child of a re-run only renders: what it finds is no finding, and what it wrote would replace the parent's.
        return
    lock = os.path.join(config.rootpath, DEFAULT_NAME)
    asked = any(settings[name].origin != "default" for name in _GATE)
    if asked or os.path.lexists(lock):
        from pytest_cachesafe.gate.hooks import gate_hooks

        hooks = gate_hooks(config, settings)
        if hooks is not None:
            config.pluginmanager.register(hooks, "cachesafe-gate")
    if not config.pluginmanager.hasplugin("cachesafe-gate") and settings["gate"].origin == "default":
        # With the gate switched off, the file is done without on purpose.
        _miss(config, lock, informational=bool(settings["informational"].value))
    if settings["report"].value:
        from pytest_cachesafe.gate.collect import Collector, parse_formats

        made = Collector(config, parse_formats(settings["report"].value), settings["redact"].value)
        config.pluginmanager.register(made, "cachesafe-report")
    if settings["observe"].value or settings["observe_fail"].value:
        with collector_paused():
            from pytest_cachesafe.gate.observing import ObserveHooks

        fail = bool(settings["observe_fail"].value)
        config.pluginmanager.register(ObserveHooks(config, settings["redact"].value, fail=fail), "cachesafe-observe")


def _miss(config: pytest.Config, lock: str, *, informational: bool) -> None:
    if not any(map(os.environ.get, BASE_VARIABLES)):
        return
    from pytest_cachesafe.gate.session import in_ci
    from pytest_cachesafe.gate.workers import is_worker

    if in_ci() and not is_worker(config):
        from pytest_cachesafe.gate.lost import LostLock

        config.pluginmanager.register(LostLock(lock, informational=informational), "cachesafe-lost")
