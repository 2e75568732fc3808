"""What a server publishes about its cache: blocks stored and removed, named by their digests.

Rules: vLLM 0.33.0, distributed/kv_events.py and v1/core/block_pool.py, 2026-11. One event per run of blocks stored in
one step, one per block removed; what was removed to make room comes before what was stored in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.engines.hashing import BlockHasher

if TYPE_CHECKING:
    from pytest_cachesafe.engines.vllm.request import VllmRequest

__all__ = ["AllBlocksCleared", "BlockRemoved", "BlockStored", "EventLog", "KVEvent"]


@dataclass(frozen=True, slots=True)
class BlockStored:
    """Blocks got their keys; fields are named as in the server's message."""

    # The lowest 64 bits as a number (the server's default), or the digest.
    block_hashes: list[int | bytes]
    # None before a request's first block.
    parent_block_hash: int | bytes | None
    token_ids: list[int]
    block_size: int
    lora_name: str | None = None
    # One entry per block, None for a block without extra keys; without the tags that enter the digest.
    extra_keys: list[tuple[Any, ...] | None] = field(default_factory=list)
    medium: str = "GPU"
    group_idx: int = 0


@dataclass(frozen=True, slots=True)
class BlockRemoved:
    """A block lost its key. Others may still have the same one."""

    block_hashes: list[int | bytes]
    medium: str = "GPU"
    group_idx: int = 0


@dataclass(frozen=True, slots=True)
class AllBlocksCleared:
    """The cache was reset."""


KVEvent = BlockStored | BlockRemoved | AllBlocksCleared


class EventLog:
    """Collects events until they are taken.

    Args:
        hasher: of the server's algorithm.
        block_size: tokens per block.
        as_ints: digests as numbers, as servers send them unless VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES=0.
    """

    __slots__ = ("_as_ints", "_block_size", "_digest_of", "_events", "_hasher")

    def __init__(self, hasher: BlockHasher, block_size: int, as_ints: bool) -> None:
        self._hasher = hasher
        self._block_size = block_size
        self._as_ints = as_ints
        self._events: list[KVEvent] = []
        # Block id to digest, of blocks with a key.
        self._digest_of: dict[int, bytes] = {}

    def _public(self, digest: bytes) -> int | bytes:
        return int.from_bytes(digest[-8:], "big") if self._as_ints else digest

    def stored(self, request: VllmRequest, first: int, end: int) -> None:
        """Blocks `first` to `end` - 1 of a request got their keys."""
        digests = request.digests(end)
        self._digest_of.update(zip(request.block_ids[first:end], digests[first:end], strict=True))
        extras = request.extras
        adapter = None if extras is None else extras.lora
        self._events.append(
            BlockStored(
                block_hashes=[self._public(digest) for digest in digests[first:end]],
                parent_block_hash=self._public(digests[first - 1]) if first else None,
                token_ids=request.token_ids[first * self._block_size : end * self._block_size],
                block_size=self._block_size,
                lora_name=None if adapter is None else adapter[0],
                extra_keys=[_untagged(None if extras is None else extras.of(block)) for block in range(first, end)],
            )
        )

    def removed(self, blocks: Sequence[int]) -> None:
        """Blocks lost their keys."""
        for block in blocks:
            self._events.append(BlockRemoved([self._public(self._digest_of.pop(block))]))

    def cleared(self) -> None:
        """All keys are gone."""
        self._digest_of.clear()
        self._events.append(AllBlocksCleared())

    def take(self) -> list[KVEvent]:
        """What happened since the last call."""
        events, self._events = self._events, []
        return events


def _untagged(extra: tuple[tuple[Any, ...], ...] | None) -> tuple[Any, ...] | None:
    """As servers publish them: name, (item, offset), salt, digest."""
    return None if extra is None else tuple(key[1:] if key[0] == "mm" else key[1] for key in extra)
