"""Random traffic for prefix caches, as steps that any engine's driver can run; the same seed gives the same steps.

A line with `engine` starts an empty cache, the lines after it are steps on it:

    {"engine": "vllm", "block_size": 2, "num_blocks": 9}
    {"request": "r0", "tokens": [1, 2, 3], "salt": "a", "lora": ["x", "/x"], "mm": [["hash", 0, 2]], "read": false}
    {"append": "r0", "tokens": [5, 6]}    {"prefill": "r0", "n": 3}    {"preempt": "r0"}    {"resume": "r0", "n": 2}
    {"free": "r0"}    {"lookup": [1, 2, 3]}    {"evict": 4}    {"reset": true}

A driver leaves out, in the same way for every engine, what makes no sense for a request that was refused or is done;
so the traffic need not know how an engine decides.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

__all__ = ["sglang_traffic", "vllm_traffic"]

Step = dict[str, Any]


class _Text:
    """One conversation so far, with what else is part of its key."""

    def __init__(self, tokens: list[int], key: Step) -> None:
        self.tokens = tokens
        self.key = key

    def fitting_key(self) -> Step:
        """Multimodal items only as far as the text still holds them."""
        key = dict(self.key)
        if items := [item for item in key.pop("mm", []) if item[1] + item[2] <= len(self.tokens)]:
            key["mm"] = items
        return key


class _Traffic:
    """One cache and the requests on it."""

    def __init__(self, rng: random.Random, block: int, vocabulary: int, longest: int, live: int) -> None:
        self.rng = rng
        self.block = block
        self.vocabulary = vocabulary
        self.longest = longest
        self.most_live = live
        self.texts: list[_Text] = []
        # Live requests, oldest first: the text each one grows.
        self.live: dict[str, _Text] = {}
        self.preempted: set[str] = set()
        self.sent = 0

    def ids(self, count: int) -> list[int]:
        return [self.rng.randrange(self.vocabulary) for _ in range(count)]

    def length(self, most: int) -> int:
        """Often a whole number of blocks, or one token off it: that is where engines differ."""
        rng = self.rng
        if rng.random() < 0.5:
            return max(1, min(most, rng.randint(0, max(1, most // self.block)) * self.block + rng.choice((-1, 0, 1))))
        return rng.randint(1, most)

    def prompt(self) -> _Text:
        """A new text, or one like an earlier one: the same, continued, cut, or edited in the middle."""
        rng = self.rng
        if not self.texts or rng.random() < 0.15:
            text = _Text(self.ids(self.length(self.longest)), self.new_key())
            text.key = text.fitting_key()
            return text
        old = rng.choice(self.texts)
        tokens = list(old.tokens)
        way = rng.random()
        if way < 0.15:
            pass
        elif way < 0.6:
            tokens += self.ids(rng.randint(1, max(1, self.longest // 4)))
        elif way < 0.7:
            del tokens[self.length(len(tokens)) :]
        elif way < 0.85:
            tokens[rng.randrange(len(tokens))] = rng.randrange(self.vocabulary)
            tokens += self.ids(rng.randint(0, 3))
        else:
            start = rng.randrange(len(tokens))
            del tokens[start : start + rng.randint(1, self.block)]
            tokens += self.ids(rng.randint(1, self.block))
        tokens = tokens[: self.longest]
        text = _Text(tokens, old.key if rng.random() < 0.9 else self.new_key())
        text.key = text.fitting_key()
        return text

    def new_key(self) -> Step:
        raise NotImplementedError

    def extra(self) -> Step:
        """What only this one request has."""
        return {}

    def send(self) -> Step:
        text = self.prompt()
        name = f"r{self.sent}"
        self.sent += 1
        step: Step = {"request": name, **self.sent_as(text), **self.extra()}
        self.live[name] = text
        self.texts = [*self.texts[-7:], text]
        return step

    def sent_as(self, text: _Text) -> Step:
        return {"tokens": list(text.tokens), **text.key}

    def append(self, name: str, most: int) -> Step:
        new = self.ids(self.rng.randint(1, most))
        self.live[name].tokens.extend(new)
        return {"append": name, "tokens": new}

    def done(self, name: str) -> Step:
        del self.live[name]
        self.preempted.discard(name)
        return {"free": name}


class _VllmTraffic(_Traffic):
    rich = True

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        # Requests whose prompt may not be computed to its end.
        self.chunked: set[str] = set()

    def send(self) -> Step:
        step = super().send()
        if "prefill" in step:
            self.chunked.add(step["request"])
        return step

    def new_key(self) -> Step:
        rng, key = self.rng, dict[str, Any]()
        if not self.rich:
            return key
        if rng.random() < 0.25:
            key["salt"] = rng.choice(("a", "b"))
        if rng.random() < 0.25:
            key["lora"] = rng.choice((["x", "/1"], ["x", "/2"], ["y", "/1"]))
        if rng.random() < 0.2:
            items, at = [], 0
            for _ in range(rng.randint(1, 3)):
                at += rng.randint(0, self.block)
                items.append([rng.choice(("cat", "dog")), at, length := rng.randint(1, 2 * self.block)])
                at += length
            key["mm"] = [item for item in items if item[1] + item[2] <= self.longest]
        elif rng.random() < 0.08:
            key["embedded"] = True
        return key

    def sent_as(self, text: _Text) -> Step:
        step = super().sent_as(text)
        if step.pop("embedded", False):
            # Prompt embeddings, here one number per token; the ids are placeholders then.
            step["embeds"] = step["tokens"]
            step["tokens"] = [0] * len(step["embeds"])
        return step

    def extra(self) -> Step:
        step: Step = {}
        if self.rich and self.rng.random() < 0.08:
            step["read"] = False
        if self.rng.random() < 0.2:
            step["prefill"] = self.rng.randint(1, 2 * self.block)
        return step

    def step(self) -> Step:
        """The next one, on what probably is alive."""
        rng = self.rng
        what = rng.random()
        if not self.live or (what < 0.35 and len(self.live) < self.most_live):
            return self.send()
        name = rng.choice(list(self.live))
        if name in self.preempted:
            if what < 0.6:
                self.preempted.discard(name)
                if rng.random() < 0.7:
                    return {"resume": name}
                self.chunked.add(name)
                return {"resume": name, "n": rng.randint(1, 3 * self.block)}
            if what < 0.65:
                return self.done(name)
            return self.send()
        if name in self.chunked and what < 0.7:
            # None: all that is left.
            n = None if rng.random() < 0.3 else rng.randint(1, 3 * self.block)
            if n is None:
                self.chunked.discard(name)
            return {"prefill": name, "n": n}
        if what < 0.68:
            return self.append(name, self.block + 2)
        if what < 0.74:
            self.preempted.add(name)
            return {"preempt": name}
        if what < 0.78:
            step = self.sent_as(self.prompt())
            return {"lookup": step.pop("tokens"), **step}
        if what < 0.79:
            return {"reset": True}
        return self.done(name)


def vllm_traffic(seed: int, requests: int, **options: Any) -> Iterator[Step]:
    """Steps on many small vLLM caches, until `requests` requests have been sent.

    Half of the caches are hardly larger than one request and see prompts over two or three token ids; the others serve
    conversations. `options` (such as `hash` or `events`) are added to every line that makes a cache.
    """
    rng = random.Random(f"vllm-{seed}")
    sent = 0
    while sent < requests:
        block = rng.choice((1, 1, 2, 3, 4, 5, 8, 16))
        if rng.random() < 0.5:
            blocks = rng.randint(2, 14)
            traffic = _VllmTraffic(
                rng, block, rng.choice((1, 2, 3)), max(2, block * blocks * 2 // 3), rng.randint(1, 4)
            )
        else:
            blocks = rng.randint(10, 80)
            traffic = _VllmTraffic(rng, block, 40, max(8, block * blocks // 3), rng.randint(1, 6))
        traffic.rich = rng.random() < 0.7
        start: Step = {"engine": "vllm", "block_size": block, "num_blocks": blocks, **options}
        if rng.random() < 0.04:
            start["caching"] = False
        if rng.random() < 0.1:
            start["watermark"] = rng.choice((0.01, 0.1, 0.3))
        if rng.random() < 0.08:
            start["eagle"] = True
        if rng.random() < 0.2:
            start["scheduler_reserve_full_isl"] = False
        yield start
        for _ in range(rng.randint(20, 140)):
            yield traffic.step()
        while traffic.live:
            yield traffic.done(next(iter(traffic.live)))
        yield {"reset": True}
        sent += traffic.sent


class _SglangTraffic(_Traffic):
    priorities = False

    def new_key(self) -> Step:
        rng, key = self.rng, dict[str, Any]()
        if rng.random() < 0.25:
            key["salt"] = rng.choice(("a", "b"))
        if rng.random() < 0.25:
            key["extra_key"] = rng.choice(("x", "y"))
        return key

    def extra(self) -> Step:
        step: Step = {}
        if self.rng.random() < 0.05:
            step["read"] = False
        if self.rng.random() < 0.08:
            step["logprob_start"] = self.rng.randint(0, self.longest)
        if self.priorities:
            step["priority"] = self.rng.randint(0, 2)
        return step

    def step(self) -> Step:
        rng = self.rng
        what = rng.random()
        if not self.live or (what < 0.4 and len(self.live) < self.most_live):
            return self.send()
        name = rng.choice(list(self.live))
        if what < 0.68:
            return self.append(name, 2 * self.block + 4)
        if what < 0.74:
            return {"evict": rng.randint(1, 4 * self.block)}
        if what < 0.745:
            return {"reset": True}
        return self.done(name)


_POLICIES = ("lru", "lru", "lru", "lfu", "lfu", "slru", "priority", "fifo", "filo", "mru")


def sglang_traffic(seed: int, requests: int) -> Iterator[Step]:
    """Steps on many small SGLang caches, until `requests` requests have been sent."""
    rng = random.Random(f"sglang-{seed}")
    sent = 0
    while sent < requests:
        page = rng.choice((1, 1, 1, 2, 4, 16))
        pages = rng.randint(4, 40)
        vocabulary = rng.choice((2, 3, 40))
        traffic = _SglangTraffic(rng, page, vocabulary, max(6, page * pages * 2 // 3), rng.randint(1, 5))
        start: Step = {"engine": "sglang", "page_size": page, "capacity": page * pages}
        if (
            policy := rng.choice(("lru", "lru", "lru", "lfu", "lfu", "slru", "priority", "fifo", "filo", "mru"))
        ) != "lru":
            start["policy"] = policy
        traffic.priorities = policy == "priority"
        if rng.random() < 0.1:
            start["bigram"] = True
        if rng.random() < 0.1:
            start["strip_thinking"] = True
        yield start
        for _ in range(rng.randint(20, 140)):
            yield traffic.step()
        while traffic.live:
            yield traffic.done(next(iter(traffic.live)))
        yield {"reset": True}
        sent += traffic.sent
