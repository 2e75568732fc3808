"""vLLM's prefix cache the slow way: lists, whole prefixes as keys, every rule where it applies. For comparison only.

Written from the rules alone (vLLM 0.33.0, 2026-11), shares nothing with the package.
"""

from __future__ import annotations

from typing import Any


class NaiveRequest:
    def __init__(self, tokens: list[int], salt: Any, lora: Any, mm: Any, read: bool) -> None:
        self.tokens = list(tokens)
        self.salt, self.lora, self.mm, self.read = salt, lora, sorted(mm, key=lambda item: item[1]), read
        self.blocks: list[int] = []
        self.computed = 0
        self.indexed = 0
        self.preemptions = 0
        self.cached_tokens = 0
        self.state = "waiting"


class NaiveVllm:
    def __init__(
        self,
        block_size: int,
        num_blocks: int,
        *,
        caching: bool = True,
        unhashed_first: bool = True,
        watermark: float = 0.0,
        reserve: bool = True,
        eagle: bool = False,
    ) -> None:
        self.size = block_size
        self.queue = list(range(1, num_blocks))
        self.refs = dict.fromkeys(range(1, num_blocks), 0)
        self.key_of: dict[int, Any] = dict.fromkeys(range(1, num_blocks))
        # Key to its blocks, in the order of insertion.
        self.blocks_of: dict[Any, list[int]] = {}
        self.caching, self.unhashed_first, self.reserve, self.eagle = caching, unhashed_first, reserve, eagle
        self.watermark = int(watermark * num_blocks)
        self.live: list[NaiveRequest] = []
        self.queries = self.hits = self.preempted_queries = self.preempted_hits = 0

    # Keys: the whole prefix up to the end of the block, with the extra keys of all its blocks.

    def extra(self, request: NaiveRequest, block: int) -> tuple[Any, ...]:
        start, end = block * self.size, (block + 1) * self.size
        found: list[Any] = []
        if request.lora:
            found.append(("lora", *request.lora))
        for name, offset, length in request.mm:
            if offset < end and offset + length > start:
                found.append(("mm", name, offset - start))
        if block == 0 and request.salt:
            found.append(("cache_salt", request.salt))
        return tuple(found)

    def key(self, request: NaiveRequest, block: int) -> Any:
        tokens = tuple(request.tokens[: (block + 1) * self.size])
        return tokens, tuple(self.extra(request, i) for i in range(block + 1))

    def find(self, request: NaiveRequest) -> list[int]:
        if not self.caching or not request.read:
            return []
        found: list[int] = []
        for block in range((len(request.tokens) - 1) // self.size):
            blocks = self.blocks_of.get(self.key(request, block))
            if not blocks:
                break
            found.append(blocks[0])
        return found[:-1] if self.eagle else found

    # The queue.

    def take(self, count: int) -> list[int]:
        taken, self.queue = self.queue[:count], self.queue[count:]
        for block in taken:
            key = self.key_of[block]
            if key is not None:
                self.blocks_of[key].remove(block)
                if not self.blocks_of[key]:
                    del self.blocks_of[key]
                self.key_of[block] = None
            self.refs[block] += 1
        return taken

    def index(self, request: NaiveRequest) -> None:
        if not self.caching:
            return
        full = min(request.computed, len(request.tokens)) // self.size
        for at in range(request.indexed, full):
            key = self.key(request, at)
            self.key_of[request.blocks[at]] = key
            self.blocks_of.setdefault(key, []).append(request.blocks[at])
        request.indexed = max(request.indexed, full)

    def release(self, request: NaiveRequest) -> None:
        first, last = [], []
        for block in reversed(request.blocks):
            self.refs[block] -= 1
            if self.refs[block] == 0:
                hashed = self.key_of[block] is not None or not self.unhashed_first
                (last if hashed else first).append(block)
        self.queue = first + self.queue + last
        self.live.remove(request)
        request.blocks, request.computed, request.indexed = [], 0, 0

    # Requests.

    def schedule(self, request: NaiveRequest, prefill: int | None) -> bool:
        found = self.find(request)
        if request.preemptions == 0:
            request.cached_tokens = len(found) * self.size
        start, known = len(found) * self.size, len(request.tokens)
        computed = known if prefill is None else min(known, start + prefill)
        in_queue = sum(self.refs[block] == 0 for block in found)
        keep = self.watermark if self.live else 0
        needed = -(-computed // self.size) - len(found)
        whole = -(-known // self.size) - len(found)
        if (whole if self.reserve else needed) + in_queue + keep > len(self.queue):
            return False
        for block in found:
            if self.refs[block] == 0:
                self.queue.remove(block)
            self.refs[block] += 1
        request.blocks = found + self.take(needed)
        request.computed, request.indexed = computed, len(found)
        request.state = "running"
        self.live.append(request)
        self.index(request)
        if self.caching and request.read:
            if request.preemptions:
                self.preempted_queries += known
                self.preempted_hits += start
            else:
                self.queries += known
                self.hits += start
        return True

    def request(
        self,
        tokens: list[int],
        salt: Any = None,
        lora: Any = None,
        read: bool = True,
        mm: Any = (),
        prefill: int | None = None,
    ) -> NaiveRequest:
        made = NaiveRequest(tokens, salt, lora, mm, read)
        if not self.schedule(made, prefill):
            made.state = "refused"
        return made

    def step(self, request: NaiveRequest, tokens: int) -> bool:
        """Compute the next tokens."""
        needed = -(-(request.computed + tokens) // self.size) - len(request.blocks)
        if needed > len(self.queue):
            return False
        request.blocks += self.take(max(needed, 0))
        request.computed += tokens
        self.index(request)
        return True

    def append(self, request: NaiveRequest, sampled: list[int]) -> bool:
        """One token a step, in which the token sampled before is computed."""
        end = len(request.tokens) + len(sampled) - 1
        if -(-end // self.size) - len(request.blocks) > len(self.queue):
            return False
        for token in sampled:
            if request.computed < len(request.tokens):
                assert self.step(request, 1)
            request.tokens.append(token)
        return True

    def preempt(self, request: NaiveRequest) -> None:
        self.release(request)
        request.preemptions += 1
        request.state = "preempted"

    def resume(self, request: NaiveRequest, prefill: int | None = None) -> bool:
        return self.schedule(request, prefill)

    def free(self, request: NaiveRequest) -> None:
        if request.state == "running":
            self.release(request)
        request.state = "freed"

    def reset(self) -> bool:
        if self.live:
            return False
        self.blocks_of.clear()
        self.key_of = dict.fromkeys(self.key_of)
        return True
