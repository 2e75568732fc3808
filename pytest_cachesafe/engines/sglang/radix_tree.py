"""SGLang's radix tree over token ids: look-up, insertion, locks, eviction of leaves.

Rules: SGLang 0.5.23, srt/mem_cache/radix_cache.py, 2026-11. Since that version a server holds its prefixes in the
unified tree (unified_cache/unified_tree_core.py), whose rules for full attention are the same but for two things:
it stamps the nodes of a path one by one, which never changes the order of two leaves, and a node that is split off
keeps the age of the whole, which shows under `fifo` and `filo` only.
"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_cachesafe.engines.sglang.eviction import EvictionQueue
from pytest_cachesafe.engines.token_ids import common_prefix

__all__ = ["Namespace", "Node", "RadixTree"]

# Extra key, cache salt, adapter: requests that differ in one of them share nothing.
Namespace = tuple[str | None, ...]


class Node:
    """A run of tokens that continues its parent's; a root has neither key nor parent."""

    __slots__ = ("children", "created", "entry", "hits", "key", "locks", "parent", "priority", "used")

    def __init__(self, key: bytes, parent: Node | None, now: int, priority: int = 0) -> None:
        self.key = key
        self.parent = parent
        # By the first page of their keys.
        self.children: dict[bytes, Node] = {}
        # Live requests whose prefix goes through here.
        self.locks: int = 0
        self.hits: int = 0
        self.priority: int = priority
        self.used: int = now
        self.created: int = now
        # Its valid entry in the eviction queue.
        self.entry: int = -1

    @property
    def evictable(self) -> bool:
        """An unlocked leaf that is still in the tree."""
        return self.locks == 0 and not self.children and self.parent is not None


class _Root(Node):
    __slots__ = ("namespace",)

    def __init__(self, namespace: Namespace) -> None:
        super().__init__(b"", None, 0)
        self.namespace = namespace


class RadixTree:
    """Prefixes of all namespaces under one eviction order.

    Keys are packed units (`width` bytes each: one id, or two of them in bigram mode), whole pages of them. Lengths and
    counts are in units. The clock counts steps: the real one is monotonic, and only its order is ever used.
    """

    def __init__(self, page_size: int, width: int, policy: str) -> None:
        self.width = width
        self.page_bytes = page_size * width
        # Units in unlocked and in locked nodes.
        self.evictable = 0
        self.protected = 0
        self._roots: dict[Namespace, _Root] = {}
        self._queue = EvictionQueue(policy)
        self._now = 0

    def match(self, namespace: Namespace, key: bytes) -> tuple[int, Node | None]:
        """Longest prefix of `key` that is held, and the node it ends at; its path becomes the most recent.

        A node that is matched in part is split there. The caller locks the node: unlocking puts it in line again.
        """
        node: Node | None = self._roots.get(namespace)
        if node is None or not key:
            return 0, None
        now = self._tick()
        at, end, page = 0, len(key), self.page_bytes
        while at < end:
            child = node.children.get(key[at : at + page])
            if child is None:
                break
            child.used = now
            if key.startswith(child.key, at):
                at += len(child.key)
                node = child
                continue
            shared = common_prefix(child.key, key, at) // page * page
            node = self._split(child, shared)
            at += shared
            break
        return at // self.width, node if at else None

    def held(self, namespace: Namespace, key: bytes) -> int:
        """What `match` would find. Changes nothing."""
        node: Node | None = self._roots.get(namespace)
        at, end, page = 0, len(key), self.page_bytes
        while node is not None and at < end:
            node = node.children.get(key[at : at + page])
            if node is not None:
                shared = len(node.key) if key.startswith(node.key, at) else common_prefix(node.key, key, at)
                at += shared // page * page
                if shared < len(node.key):
                    break
        return at // self.width

    def insert(self, namespace: Namespace, key: bytes, priority: int = 0, counted: int = 0) -> tuple[int, Node | None]:
        """Hold `key`; returns how much of it was held before and the node where it ends, which the caller locks.

        Args:
            namespace: whose prefixes it joins.
            key: whole pages of units.
            priority: raised to on the whole path.
            counted: units that the same request inserted before; nodes within them count no second hit.
        """
        if not key:
            return 0, None
        now = self._tick()
        node: Node = self._roots.setdefault(namespace, _Root(namespace))
        at, end, page = 0, len(key), self.page_bytes
        counted_bytes = counted * self.width
        while at < end:
            child = node.children.get(key[at : at + page])
            if child is None:
                break
            child.used = now
            if key.startswith(child.key, at):
                at += len(child.key)
                node = child
            else:
                shared = common_prefix(child.key, key, at) // page * page
                node = self._split(child, shared)
                at += shared
            node.priority = max(node.priority, priority)
            if at > counted_bytes:
                node.hits += 1
        held = at // self.width
        if at < end:
            leaf = Node(key[at:], node, self._tick(), priority)
            if end > counted_bytes:
                leaf.hits = 1
            node.children[key[at : at + page]] = leaf
            self.evictable += (end - at) // self.width
            node = leaf
        return held, node

    def lock(self, node: Node | None) -> None:
        """Keep the path to `node` while a request lives."""
        while node is not None and node.parent is not None:
            if node.locks == 0:
                self._shift(node, 1)
            node.locks += 1
            node = node.parent

    def unlock(self, node: Node | None) -> None:
        """The reverse of `lock`."""
        while node is not None and node.parent is not None:
            node.locks -= 1
            if node.locks == 0:
                self._shift(node, -1)
                self._queue.mark(node)
            node = node.parent

    def evict(self, units: int) -> int:
        """Remove whole leaves in the policy's order until `units` are gone or all that is left is locked."""
        gone = 0
        while gone < units:
            node = self._queue.pop()
            if node is None:
                break
            gone += len(node.key) // self.width
            self._delete(node)
        return gone

    def leaves(self) -> Iterator[tuple[Namespace, tuple[bytes, ...]]]:
        """The keys on the path to every leaf."""
        for namespace, root in self._roots.items():
            stack: list[tuple[Node, tuple[bytes, ...]]] = [(root, ())]
            while stack:
                node, path = stack.pop()
                if not node.children:
                    yield namespace, path
                stack.extend((child, (*path, child.key)) for child in node.children.values())

    def _tick(self) -> int:
        self._now += 1
        return self._now

    def _shift(self, node: Node, sign: int) -> None:
        units = sign * (len(node.key) // self.width)
        self.evictable -= units
        self.protected += units

    def _split(self, child: Node, at: int) -> Node:
        """A new node for the first `at` bytes of `child`, which keeps the rest."""
        parent, key, page = child.parent, child.key, self.page_bytes
        assert parent is not None
        node = Node(key[:at], parent, self._tick(), child.priority)
        node.hits = child.hits
        node.locks = child.locks
        child.key = key[at:]
        child.parent = node
        node.children[child.key[:page]] = child
        parent.children[key[:page]] = node
        # The rest was touched with the part that matched.
        self._queue.mark(child)
        return node

    def _delete(self, node: Node) -> None:
        parent = node.parent
        assert parent is not None
        del parent.children[node.key[: self.page_bytes]]
        self.evictable -= len(node.key) // self.width
        node.parent = None
        self._queue.forget(node)
        if parent.children:
            return
        if parent.parent is not None:
            self._queue.mark(parent)
            return
        # An empty namespace is no longer known, so that memory follows what is cached.
        assert isinstance(parent, _Root)
        del self._roots[parent.namespace]
