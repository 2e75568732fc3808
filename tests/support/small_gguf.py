"""Writes GGUF files that hold metadata alone: what a tokenizer needs, in a fraction of a second."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _string(value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_string, value))
    if isinstance(value[0], float):
        return struct.pack(f"<IIQ{len(value)}f", 9, 6, len(value), *value)
    return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)


def gguf_bytes(metadata: Mapping[str, Any]) -> bytes:
    """A GGUF version 3 file without tensors."""
    keys = b"".join(_string(key) + _value(value) for key, value in metadata.items())
    return struct.pack("<4sIQQ", b"GGUF", 3, 0, len(metadata)) + keys


def from_tokenizer_json(folder: Path, pre: str, **more: Any) -> bytes:
    """The GGUF that llama.cpp's converter would write for a byte-level tokenizer.json, as far as tokens go."""
    data = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    by_id = {number: token for token, number in data["model"]["vocab"].items()}
    kinds = dict.fromkeys(by_id, 1)
    for added in data["added_tokens"]:
        by_id[added["id"]] = added["content"]
        kinds[added["id"]] = 3 if added["special"] else 4
    size = max(by_id) + 1
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in data["model"]["merges"]]
    return gguf_bytes(
        {
            "general.architecture": "llama",
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": pre,
            "tokenizer.ggml.tokens": [by_id.get(i, f"[PAD{i}]") for i in range(size)],
            "tokenizer.ggml.token_type": [kinds.get(i, 5) for i in range(size)],
            "tokenizer.ggml.merges": merges,
            **more,
        }
    )


BYTES = [*range(33, 127), *range(161, 173), *range(174, 256)]


def tiny_vocabulary() -> list[str]:
    """The 256 letters of byte-level BPE, in the order of their code points, after two control tokens."""
    others = [chr(256 + i) for i in range(256 - len(BYTES))]
    return ["<|start|>", "<|end|>", *map(chr, BYTES), *others, "ab", "abc"]


def tiny_metadata(pre: str = "gpt-2", **more: Any) -> dict[str, Any]:
    """A byte-level tokenizer of 260 tokens with two merges."""
    tokens = tiny_vocabulary()
    return {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3, 3] + [1] * (len(tokens) - 2),
        "tokenizer.ggml.merges": ["a b", "ab c"],
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 1,
        **more,
    }
