"""Digests of blocks: hash chains over token ids, as servers publish them, and a form of our own.

Block i has H(digest of block i - 1, token ids of block i, extra keys of block i); the digest before block 0 comes from
a seed. Extra keys are tuples whose first item names their source, e.g. `("lora", name, path)`.
Rules of the named algorithms: vLLM 0.33.0, utils/hashing.py and v1/core/kv_cache_utils.py, 2026-11.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from pytest_cachesafe.usage import UsageError

__all__ = ["ALGORITHMS", "BlockHasher", "canonical_bytes", "cbor"]

# What servers start their chains with when the algorithm is cryptographic and PYTHONHASHSEED is not set.
_SEED = "vllm-none-hash"
# `canonical` is this package's own; the others are values of vLLM's --prefix-caching-hash-algo.
ALGORITHMS = ("canonical", "sha256", "sha256_cbor", "xxhash", "xxhash_cbor")
_DOMAIN = b"cachesafe block 1\n"


class BlockHasher:
    """Digests block after block.

    Args:
        algorithm: `canonical` (32 bytes; the same everywhere, see `canonical_bytes`); or a server's: `sha256_cbor` (32
            bytes; the same everywhere), `sha256` (32 bytes; over a pickle, so only equal to that of a server whose
            Python pickles alike), `xxhash_cbor`, `xxhash` (16 bytes; need the xxhash package).
        none_hash_seed: the server's PYTHONHASHSEED where it is set, as text. Without it the xxhash algorithms start
            from a secret of the server process, which nobody else can follow.

    Raises:
        UsageError: an unknown algorithm, no seed where one is needed, no xxhash package.
    """

    __slots__ = ("_digest", "algorithm", "root")

    def __init__(self, algorithm: str = "canonical", none_hash_seed: str | None = None) -> None:
        if algorithm not in ALGORITHMS:
            raise UsageError(f"hash={algorithm!r}: one of {', '.join(ALGORITHMS)}")
        if none_hash_seed is not None and not isinstance(none_hash_seed, str):
            raise UsageError(f"none_hash_seed={none_hash_seed!r}: the server's PYTHONHASHSEED as text, e.g. '0'")
        self.algorithm = algorithm
        self._digest: Callable[[bytes], bytes] = _sha256
        if algorithm.startswith("xxhash"):
            if none_hash_seed is None:
                raise UsageError(
                    f"hash={algorithm!r} starts from a secret of the server: give none_hash_seed, its PYTHONHASHSEED"
                )
            try:
                import xxhash
            except ImportError:
                raise UsageError(f"hash={algorithm!r} needs the xxhash package: pip install xxhash") from None
            self._digest = xxhash.xxh3_128_digest
        seed = _SEED if none_hash_seed is None else none_hash_seed
        # Digest before the first block.
        self.root: bytes = self._digest(self._encode(seed))

    def digest(self, parent: bytes, token_ids: Sequence[int], extra: tuple[Any, ...] | None = None) -> bytes:
        """Digest of a block.

        Args:
            parent: digest of the block before, `root` for the first.
            token_ids: of this block.
            extra: its extra keys, None without any.
        """
        return self._digest(self._encode((parent, tuple(token_ids), extra)))

    def _encode(self, value: Any) -> bytes:
        if self.algorithm == "canonical":
            return canonical_bytes(*value) if isinstance(value, tuple) else _DOMAIN + bytes(value, "utf-8")
        if self.algorithm.endswith("_cbor"):
            return cbor(value)
        import pickle

        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


def _sha256(data: bytes) -> bytes:
    return sha256(data).digest()


def canonical_bytes(parent: bytes, token_ids: Sequence[int], extra: tuple[Any, ...] | None) -> bytes:
    """What the canonical digest is taken over. All numbers are little-endian.

    The line "cachesafe block 1"; length of the parent's digest (4 bytes), the digest; number of ids (4 bytes), 4 bytes
    per id; then the extra keys: each value as one letter and what follows it: `N` nothing; `I` 8 bytes; `T` length (4
    bytes) and UTF-8; `B` length (4 bytes) and bytes; `L` number of items (4 bytes) and the items.
    """
    ids = struct.pack(f"<{len(token_ids)}I", *token_ids)
    return b"".join(
        (_DOMAIN, _length(parent), parent, struct.pack("<I", len(token_ids)), ids, _canonical_value(extra)),
    )


def _length(data: Sequence[Any]) -> bytes:
    return struct.pack("<I", len(data))


def _canonical_value(value: Any) -> bytes:
    if value is None:
        return b"N"
    if isinstance(value, int):
        return b"I" + struct.pack("<q", value)
    if isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        return b"T" + _length(text) + text
    if isinstance(value, bytes):
        return b"B" + _length(value) + value
    items: tuple[Any, ...] = value
    return b"L" + _length(items) + b"".join(map(_canonical_value, items))


def cbor(value: Any) -> bytes:
    """CBOR (RFC 8949), shortest forms, of whole numbers of up to 64 bits, text, bytes, tuples of them and None."""
    out: list[bytes] = []
    _cbor_into(value, out.append)
    return b"".join(out)


def _cbor_into(value: Any, put: Any) -> None:
    if value is None:
        put(b"\xf6")
    elif isinstance(value, int):
        put(_cbor_head(0, value) if value >= 0 else _cbor_head(0x20, -1 - value))
    elif isinstance(value, bytes):
        put(_cbor_head(0x40, len(value)))
        put(value)
    elif isinstance(value, str):
        data = value.encode()
        put(_cbor_head(0x60, len(data)))
        put(data)
    else:
        put(_cbor_head(0x80, len(value)))
        for item in value:
            _cbor_into(item, put)


def _cbor_head(kind: int, number: int) -> bytes:
    if number < 24:
        return bytes((kind | number,))
    if number < 1 << 8:
        return bytes((kind | 24, number))
    if number < 1 << 16:
        return struct.pack(">BH", kind | 25, number)
    if number < 1 << 32:
        return struct.pack(">BI", kind | 26, number)
    return struct.pack(">BQ", kind | 27, number)
