"""Front ends: what turns a request into the text or ids an engine or provider gets. Imported lazily, file by file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_cachesafe.frontends.budget import Budget
    from pytest_cachesafe.frontends.resolve import resolve_front_end
    from pytest_cachesafe.frontends.template import ChatTemplate
    from pytest_cachesafe.frontends.tokens import IncrementalEncoder

__all__ = ["Budget", "ChatTemplate", "IncrementalEncoder", "resolve_front_end"]

_HOME = {
    "Budget": "budget",
    "ChatTemplate": "template",
    "IncrementalEncoder": "tokens",
    "resolve_front_end": "resolve",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
