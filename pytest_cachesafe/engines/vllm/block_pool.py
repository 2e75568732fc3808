"""Blocks: which are cached under which key, who holds them, and in which order free ones are taken.

Nothing is digested. A key is (name of the parent's key, content of the block), compared as it is, so two different
prefixes can never be taken for one; if the content is a plain token id, both are one number, which takes less memory.
A key's name is the id of the block that first got it. That name stays unique because a cached block never outlives
every block of its parent key: whoever frees a block frees its parent later in the same walk, or leaves it to another
holder, and the queue is taken from the front.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence

__all__ = ["ROOT", "BlockPool"]

# Name of the parent of every first block. The null block, which is never handed out, has this id.
ROOT = 0

# Parent's name times this plus token id, or (parent's name, content).
_SPAN = 1 << 31
_Key = int | tuple[int, Hashable]


class BlockPool:
    """Free queue, reference counts and the map from keys to blocks.

    Rules: vLLM 0.33.0, v1/core/block_pool.py and kv_cache_utils.py, 2026-11.

    The queue has three parts, taken in this order: blocks that were freed without a key (the last one first), ids that
    were never used (a number, not a list), and blocks that were freed with a key. Only the last part may lose blocks
    from its middle; such entries are counted and skipped when they come to the front.

    Args:
        num_blocks: blocks in the pool, the null block included; None: it never runs out.
        single: blocks are of one token, so contents may be token ids.
        unhashed_first: False: all freed blocks go to the end of the queue, as before vLLM's change of that order.
    """

    __slots__ = (
        "_back",
        "_bounded",
        "_end",
        "_fresh",
        "_front",
        "_key_of",
        "_moved",
        "_names",
        "_others",
        "_ref",
        "_single",
        "_spare_name",
        "_stale",
        "_stale_entries",
        "_unhashed_first",
        "counting",
        "evicted",
        "num_free",
    )

    def __init__(self, num_blocks: int | None, *, single: bool, unhashed_first: bool = True) -> None:
        self._bounded = num_blocks is not None
        self._end = num_blocks if num_blocks is not None else 1 << 62
        self._single = single
        self._unhashed_first = unhashed_first
        # Free blocks that nobody holds.
        self.num_free = self._end - 1
        # Ids of blocks that lost their key, in order; only kept if it is made a list.
        self.evicted: list[int] | None = None
        # Whether holders are counted: while there is at most one, its blocks are known without.
        self.counting = False
        # The three parts of the queue; the front is a stack whose end comes first.
        self._front: list[int] = []
        self._fresh = 1
        self._back: deque[int] = deque()
        # By block id, for ids below `_fresh`: holders; key, up to date while the block is free or has one; entries in
        # `_back` that no longer count.
        self._ref = [0]
        self._key_of: list[_Key | None] = [None]
        self._stale = [0]
        self._stale_entries = 0
        # Key to its name. A block is not shared backwards: one key may have several blocks.
        self._names: dict[_Key, int] = {}
        # Further blocks of a key, the one inserted first in front.
        self._others: dict[_Key, OrderedDict[int, None]] = {}
        # Names whose first block is no longer the one with that id: name to block.
        self._moved: dict[int, int] = {}
        self._spare_name = -1

    # Look-up.

    def match(self, contents: Sequence[Hashable], most: int, plain: bool) -> list[int]:
        """Names of the keys of the longest cached run at the front of `contents`, at most `most`.

        Args:
            plain: all contents are token ids.
        """
        found: list[int] = []
        if not self._names:
            return found
        get, append, span = self._names.get, found.append, _SPAN
        name: int | None = ROOT
        if plain:
            for token in contents[:most]:
                name = get(name * span + token)  # type: ignore[operator]
                if name is None:
                    break
                append(name)
        elif self._single:
            for content in contents[:most]:
                name = get(self._key(name, content))  # type: ignore[arg-type]
                if name is None:
                    break
                append(name)
        else:
            for content in contents[:most]:
                name = get((name, content))  # type: ignore[arg-type]
                if name is None:
                    break
                append(name)
        return found

    def blocks_of(self, names: list[int]) -> list[int]:
        """The block of each key: the one inserted first among those that still have it."""
        moved = self._moved
        return [moved.get(name, name) for name in names] if moved else names

    def count_free(self, blocks: list[int]) -> int:
        """How many of `blocks` nobody holds; needs counted holders."""
        ref = self._ref
        return sum([not ref[block] for block in blocks])

    # Holding and freeing.

    def count(self, blocks: Sequence[int]) -> None:
        """From now on holders are counted; so far there was one, of `blocks`."""
        ref = self._ref
        for block in blocks:
            ref[block] = 1
        self.counting = True

    def touch(self, blocks: list[int]) -> None:
        """One more holder for cached blocks; those that were free leave the queue."""
        stale = self._stale
        if self.counting:
            ref = self._ref
            left = 0
            for block in blocks:
                if ref[block]:
                    ref[block] += 1
                else:
                    ref[block] = 1
                    stale[block] += 1
                    left += 1
        else:
            left = len(blocks)
            if self._bounded:
                for block in blocks:
                    stale[block] += 1
        self.num_free -= left
        self._stale_entries += left

    def take(self, count: int) -> list[int]:
        """The first `count` blocks of the queue, which must have them; those with a key lose it."""
        self.num_free -= count
        front = self._front
        taken: list[int] = []
        if front and count:
            taken = front[: -count - 1 : -1]
            del front[-count:]
        missing = count - len(taken)
        if missing and self._fresh < self._end:
            first = self._fresh
            self._fresh = last = min(first + missing, self._end)
            taken.extend(range(first, last))
            missing -= last - first
            self._ref.extend([0] * (last - first))
            self._key_of.extend([None] * (last - first))
            self._stale.extend([0] * (last - first))
        if missing:
            self._recycle(missing, taken)
        if self.counting:
            ref = self._ref
            for block in taken:
                ref[block] = 1
        return taken

    def _recycle(self, count: int, taken: list[int]) -> None:
        """Take `count` blocks from the back part of the queue: the only place where a key is lost."""
        stale, pop = self._stale, self._back.popleft
        got: list[int] = []
        skipped = 0
        for _ in range(count):
            block = pop()
            while stale[block]:
                stale[block] -= 1
                skipped += 1
                block = pop()
            got.append(block)
        self._stale_entries -= skipped
        taken += got
        key_of, names, others, moved = self._key_of, self._names, self._others, self._moved
        if self.evicted is not None:
            self.evicted += [block for block in got if key_of[block] is not None]
        for block in got:
            key = key_of[block]
            if key is None:
                continue
            if others and key in others:
                self._pass_on(block, key)
            elif moved:
                moved.pop(names.pop(key), None)
            else:
                del names[key]

    def _pass_on(self, block: int, key: _Key) -> None:
        """Take a block away from a key that has others."""
        others = self._others[key]
        name = self._names[key]
        if self._moved.get(name, name) == block:
            self._moved[name] = others.popitem(last=False)[0]
        else:
            del others[block]
        if not others:
            del self._others[key]

    def release(self, blocks: Sequence[int], cached: int, last: bool) -> None:
        """A holder gives its blocks back, the last one first; the first `cached` of them have a key.

        Args:
            last: nobody else holds any block.
        """
        # Without a key a block cannot have been found by anybody else.
        unhashed = blocks[cached:]
        for block in unhashed:
            self._key_of[block] = None
        hashed: Sequence[int]
        if not self.counting:
            hashed = blocks[cached - 1 :: -1] if cached else ()
        else:
            ref = self._ref
            for block in unhashed:
                ref[block] = 0
            free: list[int] = []
            for block in reversed(blocks[:cached]):
                left = ref[block] - 1
                ref[block] = left
                if not left:
                    free.append(block)
            hashed = free
            self.counting = not last
        self.num_free += len(unhashed) + len(hashed)
        if self._unhashed_first:
            self._front.extend(unhashed)
        elif self._bounded:
            self._back.extend(reversed(unhashed))
        # A pool that never runs out never comes to its back.
        if self._bounded:
            self._back.extend(hashed)
            if self._stale_entries > 64 and self._stale_entries * 3 > len(self._back) * 2:
                self._compact()

    def _compact(self) -> None:
        """Drop the entries that no longer count, so that a log of hits does not make the queue longer."""
        stale = self._stale
        kept: deque[int] = deque()
        for block in self._back:
            if stale[block]:
                stale[block] -= 1
            else:
                kept.append(block)
        self._back = kept
        self._stale_entries = 0

    # Keys.

    def index(self, blocks: Sequence[int], contents: Sequence[Hashable], parent: int, plain: bool, new: bool) -> int:
        """Give blocks their keys, in order.

        Args:
            parent: name of the key before the first one.
            plain: all contents are token ids.
            new: the first key is known to have no block; then no later one has.

        Returns:
            The name of the last key.
        """
        names, key_of = self._names, self._key_of
        key: _Key
        if not new:
            at = 0
            for block, content in zip(blocks, contents, strict=True):
                key = self._key(parent, content)
                name = names.get(key)
                if name is None:
                    break
                # Somebody else computed the same: both blocks are kept.
                self._others.setdefault(key, OrderedDict())[block] = None
                key_of[block] = key
                parent = name
                at += 1
            if at == len(blocks):
                return parent
            if at:
                blocks, contents = blocks[at:], contents[at:]
        if self._moved and not self._moved.keys().isdisjoint(blocks):
            return self._index_with_care(blocks, contents, parent)
        if plain:
            span = _SPAN
            for block, token in zip(blocks, contents, strict=True):
                names[key := parent * span + token] = parent = block  # type: ignore[operator]
                key_of[block] = key
        elif self._single:
            for block, content in zip(blocks, contents, strict=True):
                names[key := self._key(parent, content)] = parent = block
                key_of[block] = key
        else:
            for block, content in zip(blocks, contents, strict=True):
                names[key := (parent, content)] = parent = block
                key_of[block] = key
        return parent

    def _index_with_care(self, blocks: Sequence[int], contents: Sequence[Hashable], parent: int) -> int:
        """As the end of `index`, where the id of a block still names an older key that other blocks keep."""
        for block, content in zip(blocks, contents, strict=True):
            key = self._key(parent, content)
            parent = block
            if block in self._moved:
                parent = self._spare_name
                self._spare_name -= 1
                self._moved[parent] = block
            self._names[key] = parent
            self._key_of[block] = key
        return parent

    def _key(self, parent: int, content: Hashable) -> _Key:
        return parent * _SPAN + content if isinstance(content, int) else (parent, content)

    # Whole pool.

    def clear(self) -> None:
        """Take all keys away; the order of the queue stays."""
        key_of = self._key_of
        for block in range(self._fresh):
            key_of[block] = None
        self._names.clear()
        self._others.clear()
        self._moved.clear()

    def in_order(self) -> list[int]:
        """Free blocks, the next one to be taken first."""
        skipped: dict[int, int] = {}
        back: list[int] = []
        for block in self._back:
            times = skipped.get(block, 0)
            if times < self._stale[block]:
                skipped[block] = times + 1
            else:
                back.append(block)
        return [*reversed(self._front), *range(self._fresh, self._end), *back]

    def holders(self, block: int) -> int:
        """Requests that hold a block; needs counted holders."""
        return self._ref[block] if block < self._fresh else 0

    def sizes(self) -> dict[str, int]:
        """What is kept in memory: keys, and entries of the queue."""
        return {
            "keys": len(self._names) + sum(map(len, self._others.values())) + len(self._moved),
            "queue": len(self._front) + len(self._back),
            "blocks": self._fresh,
        }
