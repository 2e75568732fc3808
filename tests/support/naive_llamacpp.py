"""The slots and the RAM cache of llama.cpp's server as plainly as they can be written down.

Rules: ggml-org/llama.cpp, tools/server/server-context.cpp and server-task.cpp, read 2026-11. Shares are fractions, not
32-bit numbers; the tests keep to lengths where both compare alike.
"""

from __future__ import annotations

from fractions import Fraction

__all__ = ["NaiveLlamaCpp", "NaiveSlot"]


class NaiveSlot:
    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.used = -1
        self.busy = False


def common(a: list[int], b: list[int]) -> int:
    same = 0
    while same < min(len(a), len(b)) and a[same] == b[same]:
        same += 1
    return same


class NaiveLlamaCpp:
    def __init__(
        self,
        slots: int,
        similarity: Fraction,
        ram: bool,
        most: int | None,
        idle: bool,
        unified: bool,
        reuse: int,
        rewinds: bool,
    ) -> None:
        self.slots = [NaiveSlot() for _ in range(slots)]
        self.similarity = similarity
        self.ram: list[list[int]] | None = [] if ram else None
        self.most = most
        self.idle = idle and ram
        self.unified = unified
        self.reuse = reuse
        self.rewinds = rewinds
        self.now = 0

    def request(self, prompt: list[int]) -> tuple[NaiveSlot, int] | None:
        slot = self.choose(prompt)
        if slot is None:
            return None
        slot.busy = True
        if self.idle:
            for other in self.slots:
                if not other.busy:
                    self.save(other.tokens)
                    if self.unified:
                        other.tokens = []
        found = self.found(slot.tokens, prompt)
        slot.tokens = list(prompt)
        return slot, found

    def release(self, slot: NaiveSlot) -> None:
        self.now += 1
        slot.used = self.now
        slot.busy = False

    def choose(self, prompt: list[int]) -> NaiveSlot | None:
        free = [slot for slot in self.slots if not slot.busy]
        best, update = None, False
        if self.similarity:
            alike = Fraction(0)
            for slot in free:
                here = Fraction(common(slot.tokens, prompt), len(prompt))
                if slot.tokens and here > alike and here > self.similarity:
                    best, alike = slot, here
            if best is not None:
                update = Fraction(common(best.tokens, prompt), len(best.tokens)) < Fraction(1, 2)
        if best is None:
            update = True
            for slot in free:
                if best is None or slot.used <= best.used:
                    best = slot
        if best is not None and update and self.ram is not None:
            self.save(best.tokens)
            self.load(best, prompt)
        return best

    def save(self, tokens: list[int]) -> None:
        assert self.ram is not None
        if not tokens or any(common(state, tokens) == len(tokens) for state in self.ram):
            return
        if self.most is not None and len(tokens) > self.most:
            return
        self.ram = [state for state in self.ram if common(state, tokens) < len(state)]
        while self.most is not None and self.ram and sum(map(len, self.ram)) + len(tokens) > self.most:
            self.ram.pop(0)
        self.ram.append(list(tokens))

    def load(self, slot: NaiveSlot, prompt: list[int]) -> None:
        assert self.ram is not None
        shared = common(slot.tokens, prompt)
        keep = Fraction(shared, len(slot.tokens)) if slot.tokens else Fraction(-1)
        alike = Fraction(shared, len(prompt))
        best = None
        for state in self.ram:
            shared = common(state, prompt)
            keep_here, alike_here = Fraction(shared, len(state)), Fraction(shared, len(prompt))
            if keep_here < Fraction(1, 4):
                continue
            if keep < keep_here and alike < alike_here:
                best, keep, alike = state, keep_here, alike_here
        if best is not None:
            self.ram.remove(best)
            slot.tokens = best

    def found(self, held: list[int], prompt: list[int]) -> int:
        past = common(held, prompt)
        if self.rewinds and self.reuse:
            at = to = past
            while at < len(held) and to < len(prompt):
                run = common(held[at:], prompt[to:])
                if run >= self.reuse:
                    past += run
                    at += run
                    to += run
                else:
                    at += 1
        if not self.rewinds and past:
            threshold = past - (0 if past < len(prompt) else 1)
            if len(held) - 1 >= threshold:
                past = 0
        return past - 1 if past == len(prompt) else past
