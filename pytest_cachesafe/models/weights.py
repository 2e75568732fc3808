"""Folders that transformers and sentence-transformers load models from: safetensors, configuration, tokenizer."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

from pytest_cachesafe.models.cache import file_sha256, keep
from pytest_cachesafe.models.cache_folder import must_write, writing
from pytest_cachesafe.models.errors import ModelNotFound, need_transformers, one_line
from pytest_cachesafe.models.gguf_tokenizer import CONVERTER_VERSION, convert_tokenizer
from pytest_cachesafe.models.hub import WEIGHT_PATTERNS
from pytest_cachesafe.models.lookup import find_source
from pytest_cachesafe.prompt import UsageError

__all__ = ["find_causal_lm", "find_encoder"]

_ONE_FILE = "model.safetensors"
_INDEX = "model.safetensors.index.json"


def find_causal_lm(name_or_path: str | os.PathLike[str], *, allow_download: bool | None = None) -> Path:
    """A folder with config, safetensors and tokenizer for `AutoModelForCausalLM.from_pretrained`.

    A GGUF file is dequantised to float32 once and kept in our cache folder (four bytes a parameter on disk).

    Raises:
        ModelNotFound: it is nowhere; the line lists the places and how to get it.
        UsageError: its weights are incomplete or pickled, an extra is missing, or a GGUF file has yet to be converted
            and the cache folder cannot be written.
    """
    source = find_source(
        name_or_path, allow_download=allow_download, files=(_ONE_FILE, _INDEX), patterns=WEIGHT_PATTERNS
    )
    if source.kind == "gguf":
        try:
            digest = file_sha256(source.path)
        except OSError as error:
            raise UsageError(f"{source.path} cannot be read: {error.strerror or error}") from error
        with must_write(f"the conversion of {source.path.name} to float32 weights"):
            return keep(
                "weights",
                f"{digest[:32]}-{CONVERTER_VERSION}",
                lambda folder: _convert_weights(source.path, folder),
            )
    if source.kind != "folder":
        raise UsageError(
            f"{os.fspath(name_or_path)} is a tokenizer alone; give a folder with safetensors or a .gguf file"
        )
    _check_folder(source.path, ("config.json",))
    return source.path


def find_encoder(name_or_path: str | os.PathLike[str], *, allow_download: bool | None = None) -> Path:
    """A folder for `SentenceTransformer(...)`, with safetensors.

    Raises:
        ModelNotFound: it is nowhere; the line lists the places and how to get it.
        UsageError: its weights are incomplete or pickled.
    """
    source = find_source(
        name_or_path,
        allow_download=allow_download,
        files=("modules.json",),
        patterns=(*WEIGHT_PATTERNS, "modules.json", "sentence_bert_config.json", "*/config.json"),
    )
    if source.kind != "folder":
        raise UsageError(f"{os.fspath(name_or_path)} is no sentence encoder: give a folder with modules.json")
    _check_folder(source.path, ("config.json", "modules.json"))
    return source.path


def _check_folder(folder: Path, required: tuple[str, ...]) -> None:
    missing = [name for name in required if not (folder / name).is_file()]
    if (folder / _INDEX).is_file():
        try:
            shards = set(json.loads((folder / _INDEX).read_text(encoding="utf-8"))["weight_map"].values())
        except (ValueError, KeyError, AttributeError, TypeError, OSError) as error:
            raise UsageError(f"{folder / _INDEX} cannot be read: {one_line(error)}") from error
        missing += sorted(str(shard) for shard in shards if not (folder / str(shard)).is_file())
    elif not (folder / _ONE_FILE).is_file():
        missing.append(_ONE_FILE)
    if not missing:
        return
    pickled = next(iter(sorted(folder.glob("*.bin"))), None)
    if pickled is not None and _ONE_FILE in missing:
        raise UsageError(f"{pickled} is a pickle, which can run code when it is read: convert the model to safetensors")
    raise ModelNotFound(f"{folder} is incomplete: {', '.join(missing[:3])} missing")


def _convert_weights(path: Path, folder: Path) -> None:
    why = f"converting {path.name}"
    need_transformers(why, also=[("torch", "kv"), ("gguf", "kv"), ("accelerate", "kv")])
    import torch
    import transformers
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

    tokenizer = convert_tokenizer(path)
    how: dict[str, Any] = {"gguf_file": path.name, "dtype": torch.float32}
    if hasattr(transformers, "GgufConfig"):
        # From 5.24 on some architectures keep their weights in quantised blocks unless told otherwise.
        how["quantization_config"] = transformers.GgufConfig(dequantize=True)
    try:
        model = AutoModelForCausalLM.from_pretrained(
            str(path.parent), local_files_only=True, trust_remote_code=False, **how
        )
    # ValueError for an architecture it does not know, KeyError and RuntimeError for files that do not fit it.
    except Exception as error:
        raise UsageError(f"{path} cannot be converted: {one_line(error)}") from error
    # What comes out calls itself quantised and refuses to be saved; the same weights in a plain model do not.
    config = copy.deepcopy(model.config)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    with torch.device("meta"):
        plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(model.state_dict(), assign=True)
    plain.tie_weights()
    # Not the tokenizer that transformers reads from the file: that one splits digits wrongly for some models.
    ours = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend, chat_template=tokenizer.chat_template, **tokenizer.special_tokens
    )
    with writing(folder.parent):
        plain.save_pretrained(folder)
        ours.save_pretrained(folder)
