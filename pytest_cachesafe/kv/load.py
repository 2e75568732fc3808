"""A model with its tokenizer, loaded by one process at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.kv.boundary import Words
from pytest_cachesafe.kv.lock import loading_alone
from pytest_cachesafe.kv.tolerances import DTYPES
from pytest_cachesafe.models import find_causal_lm
from pytest_cachesafe.models.errors import ModelNotFound, need_transformers, one_line
from pytest_cachesafe.models.hub import ALLOW_DOWNLOAD, download_allowed, is_repository_name, offline
from pytest_cachesafe.models.lookup import find_source, name_text
from pytest_cachesafe.models.npm_tokenizers import comes_from_npm
from pytest_cachesafe.models.packages import WEIGHT_PACKAGES, canonical_name, weight_package
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.frontends.template import ChatTemplate

__all__ = ["LoadedModel", "load_model"]

_GIB = 1 << 30


@dataclass(frozen=True)
class LoadedModel:
    """A causal language model in evaluation mode, and what belongs to it."""

    name: str
    dtype: str
    model: Any
    words: Words
    # Ids that end an answer.
    ends: frozenset[int]
    # None for a model without chat template.
    template: ChatTemplate | None


def load_model(name: str | os.PathLike[str], dtype: str, device: str) -> LoadedModel:
    """Load a model (see `KVProbe.load`).

    Raises:
        UsageError: not found, without weights or incomplete, no causal language model, an extra missing, an unknown
            dtype or device, or too little memory.
    """
    if dtype not in DTYPES:
        raise UsageError(f"dtype={dtype!r}: known are {', '.join(DTYPES)}")
    need_transformers(f"loading {name_text(name)}", also=[("torch", "kv"), ("accelerate", "kv")])
    with loading_alone():
        folder = _folder(name)
        needed = _parameters(folder) * (4 if dtype == "float32" else 2)
        if device == "cpu":
            _check_memory(name, needed)
        model = _load(folder, name, dtype, device, needed)
    return _with_tokenizer(name, dtype, model)


def _folder(name: str | os.PathLike[str]) -> Path:
    try:
        return find_causal_lm(name)
    except ModelNotFound as error:
        words = _no_weights(name)
        if words is None:
            raise
        raise ModelNotFound(words) from error


def _no_weights(name: str | os.PathLike[str]) -> str | None:
    """Why a name of the hub is not enough, where fetching it again would bring its tokenizer alone; else None."""
    text = name_text(name)
    if not isinstance(name, str) or not is_repository_name(text) or weight_package(canonical_name(text)) is not None:
        return None
    if comes_from_npm(text):
        return f"{text} is a tokenizer without weights: give the path of a folder with safetensors or of a .gguf file"
    if download_allowed(None):
        # It was tried.
        return None
    try:
        there = f" (its tokenizer is: {find_source(text, allow_download=False).words})"
    except UsageError:
        there = ""
    model = next(package.model for package in WEIGHT_PACKAGES if package.kind == "model")
    forbidden = ", without HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE" if offline() else ""
    return (
        f"the weights of {text} are not on this machine{there}: set {ALLOW_DOWNLOAD}=1{forbidden} to download them, or"
        f" give the path of a folder with safetensors or of a .gguf file (`cachesafe models --fetch` brings weights of"
        f" {model} alone)"
    )


def _load(folder: Path, name: Any, dtype: str, device: str, needed: int) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    try:
        where = torch.device(device)
    except RuntimeError as error:
        raise UsageError(f"device={device!r}: {one_line(error)}") from error
    try:
        with _quiet():
            loading: Any = AutoModelForCausalLM.from_pretrained(
                str(folder),
                local_files_only=True,
                trust_remote_code=False,
                dtype=getattr(torch, dtype),
                output_loading_info=True,
            )
            model, info = loading
            model = model.to(where).eval()
    except MemoryError as error:
        raise _too_large(name, needed, None) from error
    # Every loader has exceptions of its own; whatever is wrong, it is wrong in the user's folder or machine.
    except Exception as error:
        if "memory" in str(error).lower():
            raise _too_large(name, needed, None) from error
        raise UsageError(f"{os.fspath(name)} cannot be loaded: {one_line(error)}") from error
    missing = sorted(info["missing_keys"])
    if missing:
        # transformers fills them with random numbers and goes on.
        raise UsageError(f"{os.fspath(name)}: weights are incomplete, {len(missing)} tensors missing ({missing[0]}, …)")
    return model


def _with_tokenizer(name: Any, dtype: str, model: Any) -> LoadedModel:
    from pytest_cachesafe.frontends.template import ChatTemplate
    from pytest_cachesafe.frontends.tokens import IncrementalEncoder
    from pytest_cachesafe.models import load_tokenizer

    loaded = load_tokenizer(name)
    template = ChatTemplate.from_pretrained(name) if loaded.chat_template else None
    encoder = (template.encoder if template is not None else None) or IncrementalEncoder(loaded.backend)
    config = model.config.get_text_config()
    ends: set[int] = set()
    for value in (getattr(model.generation_config, "eos_token_id", None), getattr(config, "eos_token_id", None)):
        ends.update(value if isinstance(value, list) else [] if value is None else [value])
    eos = loaded.special_tokens.get("eos_token")
    if isinstance(eos, str) and (end := loaded.backend.token_to_id(eos)) is not None:
        ends.add(end)
    words = Words(
        encode=encoder.encode,
        decode=lambda ids: str(loaded.backend.decode(list(ids), skip_special_tokens=False)),
        vocabulary=int(model.get_input_embeddings().num_embeddings),
        limit=getattr(config, "max_position_embeddings", None),
    )
    return LoadedModel(os.fspath(name), dtype, model, words, frozenset(ends), template)


def _parameters(folder: Path) -> int:
    """Numbers in a folder's safetensors files, from their headers: 8 bytes of length, then JSON."""
    total = 0
    for file in sorted(folder.glob("*.safetensors")):
        try:
            with file.open("rb") as handle:
                header = json.loads(handle.read(int.from_bytes(handle.read(8), "little")))
            for key, entry in header.items():
                count = 1
                for size in entry["shape"] if key != "__metadata__" else (0,):
                    count *= size
                total += count
        except (OSError, ValueError, KeyError, TypeError, AttributeError, MemoryError) as error:
            raise UsageError(f"{file} is no safetensors file: {one_line(error)}") from error
    return total


def available_bytes() -> int | None:
    """Memory that can be taken without swapping; None where the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _check_memory(name: Any, needed: int) -> None:
    free = available_bytes()
    if free is not None and free < needed:
        raise _too_large(name, needed, free)


def _too_large(name: Any, needed: int, free: int | None) -> UsageError:
    have = "" if free is None else f", {free / _GIB:.2f} GiB are available"
    return UsageError(
        f"{os.fspath(name)} needs {needed / _GIB:.2f} GiB of memory for its weights{have}; take a smaller model or"
        " dtype='bfloat16'"
    )


@contextmanager
def _quiet() -> Iterator[None]:
    from transformers.utils import logging

    shown, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    # Its table of missing weights would come before our line on them.
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()
