"""What makes two blocks the same: their token ids and, where a request has them, extra keys."""

from __future__ import annotations

import marshal
import struct
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any

from pytest_cachesafe.engines.cache import check_names, check_size
from pytest_cachesafe.engines.token_ids import pack, unpack
from pytest_cachesafe.usage import UsageError

__all__ = ["Contents", "Extras", "checked", "extras_of"]

# marshal writes a list as 5 bytes and then each whole number of 32 bits as the letter i and 4 bytes.
_HEAD = 5
_WIDTH = 5
# Blocks that are cut at once.
_CUT = 128

Item = tuple[str, int, int]


def checked(token_ids: Sequence[int], what: str = "token_ids") -> tuple[list[int], bytes]:
    """The ids as plain ints, and packed: `_HEAD` bytes, then `_WIDTH` bytes per id.

    Marshalling is the fastest way to see the type and range of every item: if each fifth byte says "whole number of 32
    bits", no item can be anything else.

    Raises:
        UsageError: something is no token id (a whole number from 0 to 2**31 - 1); the line names its position.
    """
    try:
        ids = list(token_ids)
        data = marshal.dumps(ids, 2)
        # The last byte of a number that is not negative is below 128.
        if data[_HEAD::_WIDTH] == b"i" * len(ids) and data[_HEAD + 4 :: _WIDTH].isascii():
            return ids, data
    except (TypeError, ValueError):
        pass
    # Numbers of other kinds, or the words for what is none.
    ids = list(unpack(pack(token_ids, what)))
    return ids, marshal.dumps(ids, 2)


class Contents:
    """Cuts packed ids into the contents of whole blocks: the id itself for blocks of one token, else bytes."""

    __slots__ = ("_block_size", "_structs", "_width")

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._width = _WIDTH * block_size
        # By number of blocks; compiled once, since that takes longer than cutting.
        self._structs: dict[int, struct.Struct] = {}

    def cut(self, ids: list[int], data: bytes, extras: Extras | None, first: int = 0) -> list[Hashable]:
        """Contents of the whole blocks in `ids`, which begin with block `first` of the request.

        For blocks of one token without extra keys that is `ids` itself, so it grows with the reply.
        """
        found: list[Hashable]
        if self._block_size == 1:
            if extras is None:
                return ids  # type: ignore[return-value]
            found = list(ids)
        else:
            found = []
            count = len(ids) // self._block_size
            for start in range(0, count, _CUT):
                found += self._struct(min(_CUT, count - start)).unpack_from(data, _HEAD + start * self._width)
        if extras is not None:
            return extras.mixed_into(found, first)
        return found

    def _struct(self, count: int) -> struct.Struct:
        made = self._structs.get(count)
        if made is None:
            made = self._structs[count] = struct.Struct(f"{self._width}s" * count)
        return made


class Extras:
    """Extra keys of one request's blocks, in vLLM's order: adapter, multimodal items, salt, embeddings.

    Args:
        block_size: tokens per block.
        lora: name and path of the adapter.
        salt: goes into the first block, so that it parts everything behind it.
        items: multimodal items, in order, without overlap.
        embeds: digest of the embeddings of each block that the prompt reaches; blocks behind it have no embeddings.
    """

    __slots__ = ("_block_size", "_embeds", "_ends", "_items", "_salt", "lora")

    def __init__(
        self,
        block_size: int,
        lora: tuple[str, str] | None,
        salt: str | None,
        items: list[Item],
        embeds: list[bytes] | None,
    ) -> None:
        self._block_size = block_size
        self.lora = lora
        self._salt = salt
        self._items = items
        self._ends = [offset + length for _, offset, length in items]
        self._embeds = embeds

    def of(self, block: int) -> tuple[tuple[Any, ...], ...] | None:
        """Extra keys of a block, None without any."""
        found: list[tuple[Any, ...]] = []
        if self.lora is not None:
            found.append(("lora", *self.lora))
        if self._items:
            start = block * self._block_size
            for at in range(bisect_right(self._ends, start), len(self._items)):
                name, offset, _ = self._items[at]
                if offset >= start + self._block_size:
                    break
                # Relative to the block, and negative for an item that began earlier.
                found.append(("mm", name, offset - start))
        if block == 0 and self._salt:
            found.append(("cache_salt", self._salt))
        if self._embeds is not None:
            digest = self._embeds[block] if block < len(self._embeds) else _NO_EMBEDS
            found.append(("prompt_embeds", digest))
        return tuple(found) or None

    def mixed_into(self, contents: list[Hashable], first: int) -> list[Hashable]:
        """`contents` of blocks from `first` on, with their extra keys."""
        if self.lora is None and not self._items and self._embeds is None:
            if first == 0 and contents:
                contents[0] = (contents[0], self.of(0))
            return contents
        found: list[Hashable] = []
        for block, content in enumerate(contents, first):
            extra = self.of(block)
            found.append(content if extra is None else (content, extra))
        return found


_NO_EMBEDS = sha256(b"").digest()


def extras_of(
    block_size: int,
    tokens: int,
    salt: str | None,
    lora: str | tuple[str, str] | None,
    mm: Iterable[Item],
    embeds: bytes | Sequence[bytes] | None,
) -> Extras | None:
    """Extra keys of a request of `tokens` prompt tokens, None where it has none.

    Raises:
        UsageError: a salt or adapter that is no text, items that overlap or lie outside the prompt, embeddings that do
            not fit it.
    """
    adapter = check_names(salt, lora)
    items = _items(mm, tokens) if mm else []
    digests = None if embeds is None else _digests(embeds, tokens, block_size)
    if not salt and adapter is None and not items and digests is None:
        return None
    return Extras(block_size, adapter, salt, items, digests)


def _items(mm: Iterable[Item], tokens: int) -> list[Item]:
    found: list[Item] = []
    for at, item in enumerate(mm):
        if not isinstance(item, (tuple, list)) or len(item) != 3 or not isinstance(item[0], str):
            raise UsageError(f"mm[{at}]={item!r}: (hash of the item, offset in tokens, length in tokens)")
        name, offset, length = item
        check_size(f"mm[{at}] offset", offset, 0)
        check_size(f"mm[{at}] length", length)
        if offset + length > tokens:
            raise UsageError(f"mm[{at}] covers tokens {offset} to {offset + length - 1} of a prompt of {tokens}")
        found.append((name, offset, length))
    found.sort(key=lambda item: item[1])
    for before, after in pairwise(found):
        if before[1] + before[2] > after[1]:
            raise UsageError(f"mm: {before[0]!r} and {after[0]!r} overlap at token {after[1]}")
    return found


def _digests(embeds: bytes | Sequence[bytes], tokens: int, block_size: int) -> list[bytes]:
    reached = -(-tokens // block_size)
    if isinstance(embeds, (bytes, bytearray, memoryview)):
        data = bytes(embeds)
        if not data or len(data) % tokens:
            raise UsageError(f"embeds: {len(data)} bytes are no whole number of bytes for each of {tokens} tokens")
        step = len(data) // tokens * block_size
        return [sha256(data[at : at + step]).digest() for at in range(0, len(data), step)]
    digests = list(embeds)
    if len(digests) != reached or not all(isinstance(digest, bytes) for digest in digests):
        raise UsageError(f"embeds: the bytes of all embeddings, or {reached} digests (bytes), one for each block")
    return digests
