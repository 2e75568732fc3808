"""The Hugging Face hub: its cache on this machine without network, and a download where the user allows one."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from pytest_cachesafe.models.cache_folder import home
from pytest_cachesafe.models.errors import ModelNotFound, need, one_line
from pytest_cachesafe.prompt import UsageError

__all__ = [
    "ALLOW_DOWNLOAD",
    "TOKENIZER_PATTERNS",
    "WEIGHT_PATTERNS",
    "cached_snapshot",
    "download",
    "download_allowed",
    "hub_cache_folder",
    "is_repository_name",
    "offline",
]

ALLOW_DOWNLOAD = "CACHESAFE_ALLOW_DOWNLOAD"
_TRUE = {"1", "true", "yes", "on"}
_REPOSITORY = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)

# What AutoTokenizer reads. No weights, no code, no pickle.
TOKENIZER_PATTERNS = (
    "tokenizer*.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "config.json",
    "vocab.*",
    "merges.txt",
    "*.jinja",
    "additional_chat_templates/*.jinja",
    "tokenizer.model",
    "spiece.model",
    "tekken.json",
)
WEIGHT_PATTERNS = (*TOKENIZER_PATTERNS, "*.safetensors", "*.safetensors.index.json", "generation_config.json")


def _is_true(variable: str) -> bool:
    return os.environ.get(variable, "").strip().lower() in _TRUE


def offline() -> bool:
    """Whether the hub's own switches forbid the network."""
    return _is_true("HF_HUB_OFFLINE") or _is_true("TRANSFORMERS_OFFLINE")


def download_allowed(asked: bool | None) -> bool:
    """Whether the network may be used: the caller's word, else the environment; the hub's own switches forbid it."""
    return (_is_true(ALLOW_DOWNLOAD) if asked is None else asked) and not offline()


def is_repository_name(name: str) -> bool:
    """Whether `name` can be a repository of the hub ("owner/name", or an old bare "name")."""
    return _REPOSITORY.fullmatch(name) is not None and ".." not in name


def hub_cache_folder() -> Path:
    """Where huggingface_hub keeps its snapshots; the same variables as it reads, so that it need not be imported."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(variable):
            return Path(os.environ[variable]).expanduser()
    if os.environ.get("HF_HOME"):
        return Path(os.environ["HF_HOME"]).expanduser() / "hub"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else home() / ".cache") / "huggingface" / "hub"


def cached_snapshot(name: str, files: Sequence[str] = ("tokenizer.json", "tokenizer_config.json")) -> Path | None:
    """The snapshot folder of revision "main" that holds one of `files`, from the hub's cache; no network is used."""
    # The folder test comes first: importing huggingface_hub costs 150 ms.
    if not is_repository_name(name):
        return None
    if not os.path.isdir(hub_cache_folder() / f"models--{name.replace('/', '--')}"):
        return None
    if find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import try_to_load_from_cache

    for file in files:
        found = try_to_load_from_cache(name, file, cache_dir=hub_cache_folder())
        if isinstance(found, str):
            return Path(found).parent
    return None


def download(name: str, patterns: Sequence[str] = TOKENIZER_PATTERNS) -> Path:
    """Download the files of `patterns` from revision "main" into the hub's own cache and return the snapshot folder.

    Raises:
        ModelNotFound: the hub cannot be reached, or it has no such repository for this user.
        UsageError: huggingface_hub is missing, or the hub's own switches forbid the network.
    """
    if offline():
        raise UsageError(f"{name} cannot be downloaded: HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set")
    need("huggingface_hub", "render", f"downloading {name}")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(patterns), cache_dir=hub_cache_folder()))
    # Its own errors derive from OSError, ValueError or the HTTP client's base, which differs between versions.
    except Exception as error:
        raise ModelNotFound(f"{name} could not be downloaded from the hub: {one_line(error)}") from error
