"""Find and load tokenizers, models and encoders: a path, the hub cache, pinned weight packages, the hub.

Importing this package imports the standard library only; every heavy import happens inside the function that needs it.
"""

from __future__ import annotations

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
