"""Which leaf of the tree goes next: SGLang's eviction policies and a queue that keeps their order.

Source: SGLang 0.5.23, srt/mem_cache/evict_policy.py, 2026-11.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_cachesafe.engines.sglang.radix_tree import Node

__all__ = ["POLICIES", "EvictionQueue"]

Order = tuple[int, int]

# Lowest goes first. Hits count insertions of requests through a node, not look-ups; two of them protect under slru.
POLICIES: dict[str, Callable[[Node], Order]] = {
    "lru": lambda node: (0, node.used),
    "lfu": lambda node: (node.hits, node.used),
    "slru": lambda node: (1 if node.hits >= 2 else 0, node.used),
    "priority": lambda node: (node.priority, node.used),
    "fifo": lambda node: (0, node.created),
    "filo": lambda node: (0, -node.created),
    "mru": lambda node: (0, -node.used),
}


class EvictionQueue:
    """Unlocked leaves in the policy's order.

    SGLang builds a heap over all its leaves in every eviction. This one lives on: what may have changed is noted by
    `mark` and looked at when room is needed, so that an eviction costs what it evicts.
    """

    def __init__(self, policy: str) -> None:
        self._order = POLICIES[policy]
        self._heap: list[tuple[Order, int, Node]] = []
        self._changed: dict[Node, None] = {}
        self._serial = 0
        self._bound = 64

    def mark(self, node: Node) -> None:
        """The node's place may have changed, or it may have become a leaf, or unlocked."""
        self._changed[node] = None

    def forget(self, node: Node) -> None:
        """The node is gone from the tree."""
        self._changed.pop(node, None)
        node.entry = -1

    def pop(self) -> Node | None:
        """The next leaf to go, None if every node is locked or the tree is empty."""
        for node in self._changed:
            if node.evictable:
                self._serial += 1
                node.entry = self._serial
                heapq.heappush(self._heap, (self._order(node), self._serial, node))
        self._changed.clear()
        if len(self._heap) > self._bound:
            # Outdated entries of policies that put what was touched first stay behind.
            self._heap = [item for item in self._heap if item[2].entry == item[1]]
            heapq.heapify(self._heap)
            self._bound = 2 * len(self._heap) + 64
        while self._heap:
            _, serial, node = heapq.heappop(self._heap)
            # Unlocking marks a node again, so that one which is locked now may be dropped here.
            if node.entry == serial and node.evictable:
                return node
        return None
