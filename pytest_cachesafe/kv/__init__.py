"""Proof on a real model: reused and recomputed logits agree, and the prefill work really disappears.

Names are imported when they are first used, torch only when a model is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_cachesafe.kv.probe import KVProbe
    from pytest_cachesafe.kv.result import ChatReport, KVFailure, ReuseReport
    from pytest_cachesafe.kv.side_by_side import SideBySide
    from pytest_cachesafe.kv.stitch import StitchReport

__all__ = ["ChatReport", "KVFailure", "KVProbe", "ReuseReport", "SideBySide", "StitchReport"]

_HOMES = {
    "ChatReport": "result",
    "KVFailure": "result",
    "KVProbe": "probe",
    "ReuseReport": "result",
    "SideBySide": "side_by_side",
    "StitchReport": "stitch",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    # Later look-ups find it without this function.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
