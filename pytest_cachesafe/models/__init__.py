"""Find and load tokenizers, models and encoders: a path, the hub cache, pinned weight packages, the hub.

Public names are imported when they are first used: whoever needs the cache folder alone, as the linter does, must not
pay for tokenizers. Heavy third-party imports happen inside the function that needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_cachesafe.models.errors import ModelNotFound, ModelWarning
    from pytest_cachesafe.models.fetching import fetch
    from pytest_cachesafe.models.listing import FoundModel, list_models
    from pytest_cachesafe.models.tokenizer import LoadedTokenizer, load_tokenizer, wrap_tokenizer
    from pytest_cachesafe.models.weights import find_causal_lm, find_encoder

__all__ = [
    "FoundModel",
    "LoadedTokenizer",
    "ModelNotFound",
    "ModelWarning",
    "fetch",
    "find_causal_lm",
    "find_encoder",
    "list_models",
    "load_tokenizer",
    "wrap_tokenizer",
]

_HOMES = {
    "FoundModel": "listing",
    "LoadedTokenizer": "tokenizer",
    "ModelNotFound": "errors",
    "ModelWarning": "errors",
    "fetch": "fetching",
    "find_causal_lm": "weights",
    "find_encoder": "weights",
    "list_models": "listing",
    "load_tokenizer": "tokenizer",
    "wrap_tokenizer": "tokenizer",
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
