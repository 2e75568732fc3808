"""SGLang's radix cache as slowly and plainly as its rules can be written down: lists of tokens, no packing, no heap.

Rules: SGLang 0.5.23, srt/mem_cache/radix_cache.py, evict_policy.py and allocation.py, 2026-11.
"""

from __future__ import annotations

import itertools
from typing import Any

__all__ = ["NaiveSglang", "Sent"]


class Run:
    """A node: units below its parent's."""

    def __init__(self, parent: Run | None, units: list[Any], now: int, priority: int = 0) -> None:
        self.parent = parent
        self.units = units
        self.below: list[Run] = []
        self.locks = 0
        self.hits = 0
        self.priority = priority
        self.used = self.created = now


class Sent:
    """A request."""

    def __init__(self, tokens: list[int], name: tuple[Any, ...], priority: int) -> None:
        self.tokens = list(tokens)
        self.prompt = len(tokens)
        self.name = name
        self.priority = priority
        self.admitted = False
        self.cached_tokens = 0
        self.counted = 0
        self.owned = 0
        self.at: Run | None = None

    @property
    def computed(self) -> int:
        return max(self.prompt, len(self.tokens) - 1)


class NaiveSglang:
    def __init__(self, page: int, capacity: int | None, policy: str, bigram: bool = False, strip: bool = False) -> None:
        self.page = page
        self.capacity = None if capacity is None else capacity // page * page
        self.policy = policy
        self.bigram = bigram
        self.strip = strip
        self.roots: dict[tuple[Any, ...], Run] = {}
        self.clock = itertools.count(1)
        self.private = 0

    # The tree.

    def key(self, tokens: list[int], count: int) -> list[Any]:
        units: list[Any] = tokens[:count]
        if self.bigram:
            units = list(itertools.pairwise(units))
        return units[: len(units) // self.page * self.page]

    def shared(self, a: list[Any], b: list[Any]) -> int:
        same = 0
        while same < min(len(a), len(b)) and a[same] == b[same]:
            same += 1
        return same // self.page * self.page

    def walk(self, name: tuple[Any, ...], key: list[Any], visit: Any = None) -> tuple[int, Run]:
        root = self.roots.setdefault(name, Run(None, [], 0))
        now = next(self.clock)
        node, done = root, 0
        while done < len(key):
            follow = [child for child in node.below if child.units[: self.page] == key[done : done + self.page]]
            if not follow:
                break
            (child,) = follow
            child.used = now
            same = self.shared(child.units, key[done:])
            if same < len(child.units):
                child = self.split(child, same)
            node = child
            done += same
            if visit is not None:
                visit(node, done)
        return done, node

    def split(self, child: Run, at: int) -> Run:
        node = Run(child.parent, child.units[:at], next(self.clock), child.priority)
        node.hits, node.locks = child.hits, child.locks
        assert child.parent is not None
        child.parent.below[child.parent.below.index(child)] = node
        child.units, child.parent = child.units[at:], node
        node.below = [child]
        return node

    def insert(self, name: tuple[Any, ...], key: list[Any], priority: int, counted: int) -> Run:
        def visit(node: Run, done: int) -> None:
            node.priority = max(node.priority, priority)
            node.hits += done > counted

        done, node = self.walk(name, key, visit)
        if done < len(key):
            leaf = Run(node, key[done:], next(self.clock), priority)
            leaf.hits = int(len(key) > counted)
            node.below.append(leaf)
            node = leaf
        return node

    def lock(self, node: Run | None, by: int) -> None:
        while node is not None and node.parent is not None:
            node.locks += by
            node = node.parent

    def nodes(self) -> list[tuple[tuple[Any, ...], Run]]:
        found = []
        stack = list(self.roots.items())
        while stack:
            name, node = stack.pop()
            stack += [(name, child) for child in node.below]
            found += [(name, child) for child in node.below]
        return found

    def size(self, locked: bool) -> int:
        return sum(len(node.units) for _, node in self.nodes() if bool(node.locks) == locked)

    def order(self, node: Run) -> tuple[Any, ...]:
        return {
            "lru": (node.used,),
            "mru": (-node.used,),
            "fifo": (node.created,),
            "filo": (-node.created,),
            "lfu": (node.hits, node.used),
            "slru": (node.hits >= 2, node.used),
            "priority": (node.priority, node.used),
        }[self.policy]

    def evict(self, wanted: int) -> int:
        gone = 0
        while gone < wanted:
            leaves = [node for _, node in self.nodes() if not node.below and not node.locks]
            if not leaves:
                break
            victim = min(leaves, key=self.order)
            assert victim.parent is not None
            victim.parent.below.remove(victim)
            gone += len(victim.units)
        return gone

    # Requests.

    @property
    def free_tokens(self) -> int | None:
        if self.capacity is None:
            return None
        return self.capacity - self.size(True) - self.size(False) - self.private

    def room(self, wanted: int) -> None:
        free = self.free_tokens
        if free is not None and free < wanted:
            self.evict(wanted - free)

    def pages(self, tokens: int) -> int:
        return -(-tokens // self.page) * self.page

    def request(
        self,
        tokens: list[int],
        name: tuple[Any, ...] = (),
        read: bool = True,
        logprob: int | None = None,
        priority: int = 0,
    ) -> Sent:
        sent = Sent(tokens, name, priority)
        limit = len(tokens) - 1 if read else 0
        if logprob is not None:
            limit = min(limit, logprob)
        key = self.key(tokens, limit)
        done, node = self.walk(name, key) if key else (0, None)
        sent.cached_tokens = done
        self.lock(node, 1)
        need = self.pages(len(tokens)) - done
        free = self.free_tokens
        if free is not None:
            if need > free + self.size(False):
                self.lock(node, -1)
                return sent
            self.room(len(tokens) - done + (self.page if self.page > 1 else 0))
        sent.admitted = True
        sent.at, sent.owned = node, done
        self.private += need
        self.hold(sent, len(tokens), False)
        return sent

    def hold(self, sent: Sent, count: int, split: bool) -> None:
        key = self.key(sent.tokens, count)
        if key:
            self.insert(sent.name, key, sent.priority, sent.counted)
        sent.counted = max(sent.counted, len(key))
        prompt = self.key(sent.tokens, sent.prompt)
        if split and 0 < len(prompt) < len(key):
            self.insert(sent.name, prompt, sent.priority + 1, len(prompt))
        node = self.walk(sent.name, key)[1] if key else None
        self.private -= len(key) - sent.owned
        self.lock(sent.at, -1)
        self.lock(node, 1)
        sent.at, sent.owned = node, len(key)

    def append(self, sent: Sent, tokens: list[int]) -> bool:
        before = sent.computed
        after = max(before, len(sent.tokens) + len(tokens) - 1)
        free = self.free_tokens
        if free is not None and self.pages(after) - self.pages(before) > free + self.size(False):
            return False
        for place in range(before, after):
            self.room(self.page)
            if place % self.page == 0:
                self.private += self.page
        sent.tokens += tokens
        return True

    def free(self, sent: Sent) -> None:
        held = self.pages(sent.computed)
        self.hold(sent, sent.prompt if self.strip else sent.computed, True)
        self.private -= held - sent.owned
        self.lock(sent.at, -1)

    def paths(self) -> list[tuple[tuple[Any, ...], tuple[tuple[int, ...], ...]]]:
        found = []
        for name, node in self.nodes():
            if node.below:
                continue
            path: list[tuple[int, ...]] = []
            at: Run | None = node
            while at is not None and at.parent is not None:
                ids = (*(first for first, _ in at.units), at.units[-1][1]) if self.bigram else tuple(at.units)
                path.insert(0, ids)
                at = at.parent
            found.append((name, tuple(path)))
        return sorted(found, key=lambda item: ([str(part) for part in item[0]], item[1]))
