"""Prefixes as a tree: every node stands for one prefix, and requests that share a prefix share its nodes.

That is the provider's hash chain without the hashes: a block's key leads from a prefix to the next one, and settings
stand as nodes of their own in front of the level that they void. Walking a request down the tree computes nothing for
what was seen before; tokens are counted once a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from pytest_cachesafe.providers.blocks.block import Block, Level
from pytest_cachesafe.providers.blocks.canonical import digest
from pytest_cachesafe.providers.cache.usage import Tokens
from pytest_cachesafe.providers.tokens import Counter

__all__ = ["LEVELS", "Node", "gates", "walk"]

LEVELS: tuple[Level, ...] = ("tools", "system", "messages")


class Node:
    """One prefix."""

    __slots__ = ("block", "children", "entries", "parent", "tokens", "until", "waiting")

    def __init__(self, tokens: Tokens, parent: Node | None = None, block: Block | None = None) -> None:
        self.parent = parent
        self.children: dict[bytes, Node] = {}
        # Of the whole prefix.
        self.tokens = tokens
        # Its last block; None for a node of settings.
        self.block = block
        # Entries that end here: lifetime -> when it ends (seconds).
        self.entries: dict[str, float] = {}
        # Where a provider caches without markers: how long this prefix is kept.
        self.until = float("-inf")
        # Entries that end here and whose first response has not begun.
        self.waiting = 0

    def live(self, now: float) -> bool:
        """Whether an entry ends here that can be read now."""
        return bool(self.entries) and any(end > now for end in self.entries.values())


def gates(settings: Mapping[str, tuple[Any, str]], levels: Mapping[str, Level | None]) -> dict[Level, bytes]:
    """A key for the settings that void each level; `levels` gives each one's, None for one that voids nothing."""
    return {level: _gate(level, settings, levels) for level in LEVELS} if settings else _NO_SETTINGS


def _gate(level: Level, settings: Mapping[str, tuple[Any, str]], levels: Mapping[str, Level | None]) -> bytes:
    here = [name for name in sorted(settings) if levels[name] == level]
    return digest(f"{level}:" + "\x1f".join(f"{name}={_fixed(settings[name][0])}" for name in here))


_NO_SETTINGS: dict[Level, bytes] = {level: _gate(level, {}, {}) for level in LEVELS}


def _fixed(value: Any, inside: bool = False) -> str:
    """A setting in one spelling: read by name at every level but inside a schema, which the model sees in its order."""
    if isinstance(value, Mapping):
        names: Iterable[Any] = value if inside else sorted(value, key=str)
        return "{" + ",".join(f"{n}:{_fixed(value[n], inside or n == 'schema')}" for n in names) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_fixed(item, inside) for item in value) + "]"
    return repr(value)


def walk(
    root: Node,
    blocks: Sequence[Block],
    keys: Mapping[Level, bytes],
    counter: Counter,
    known: list[Node] | None = None,
    api: str = "",
) -> list[Node]:
    """The node of every block's prefix, made where there is none yet.

    Args:
        known: nodes of the first blocks, from another request with the same keys and these very blocks; the list
            becomes the result.
        api: of the request; what its provider puts in front of the first block is counted with that.
    """
    path = known if known is not None else []
    level = LEVELS.index(blocks[len(path) - 1].level) if path else 0
    node = path[-1] if path else _through(root, keys["tools"])
    for block in islice(blocks, len(path), None):
        while LEVELS[level] != block.level:
            level += 1
            node = _through(node, keys[LEVELS[level]])
        child = node.children.get(block.key)
        if child is None:
            tokens = node.tokens + counter.count(block)
            if not path:
                tokens += counter.front(api, block)
            child = node.children[block.key] = Node(tokens, node, block)
        path.append(child)
        node = child
    return path


def _through(node: Node, key: bytes) -> Node:
    child = node.children.get(key)
    if child is None:
        child = node.children[key] = Node(node.tokens, node)
    return child
