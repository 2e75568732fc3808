"""Why tokens were not found in a cache, told from the outside: what was sent before, and when."""

from __future__ import annotations

import marshal
from typing import NamedTuple

__all__ = ["REASONS", "End", "Reasons"]

# In the order in which they follow each other in a prompt.
REASONS = {
    "cannot_rewind": "kept, but this model (recurrent, hybrid) cannot go back to an earlier token of it",
    "evicted": "computed before, gone by now",
    "engine_limit": "computed before, but the engine, set up like this, cannot reuse it",
    "salt": "computed before under another salt or adapter",
    "edited_history": "the conversation's earlier text was changed",
    "new_prefix": "not seen before",
    "below_block": "last token or unfull last block, which is always computed",
}
# Blocks that are remembered, in two generations; about 100 bytes each.
REMEMBERED = 2**20
_CONVERSATIONS = 2**16
# marshal writes a list as 5 bytes and then each whole number of 32 bits as 5 bytes.
_HEAD = 5
_WIDTH = 5


class End(NamedTuple):
    """Where a prompt ends in the memory."""

    # Hash of its last whole block, with its namespace, and without where it has one.
    last: int
    bare: int | None
    # What is behind that block.
    rest: list[int]


class Reasons:
    """Remembers the blocks of a log by 64-bit chained hashes, with and without their namespace.

    Memory is bounded: of two generations the older one is dropped when the younger is full; `forgot` counts what was
    dropped. After that, tokens may be counted as new that had been evicted or edited.
    """

    def __init__(
        self, block: int, exact: bool = True, limits: bool = False, dropped: int = 0, remember: int = REMEMBERED
    ) -> None:
        """
        Args:
            block: tokens that the engine reuses together.
            exact: look at every block; otherwise in steps of at least 16 tokens.
            limits: the engine cannot reuse at all.
            dropped: tokens behind the hit that were found as well and that the engine computes anew (drafting).
            remember: blocks that are remembered.
        """
        self.block = block
        self.step = block if exact else block * -(-16 // block)
        self._gone = "engine_limit" if limits else "evicted"
        self._dropped = dropped
        self._half = max(remember // 2, 1)
        self._young: set[int] = set()
        self._old: set[int] = set()
        self._bare_young: set[int] = set()
        self._bare_old: set[int] = set()
        self._turns: dict[tuple[str | None, str], tuple[int, int]] = {}
        self._turns_old: dict[tuple[str | None, str], tuple[int, int]] = {}
        self.forgot = 0

    def account(
        self,
        ids: list[int],
        hit: int,
        namespace: tuple[object, ...] | None,
        conversation: tuple[str | None, str] | None,
        unusable: int = 0,
    ) -> tuple[list[tuple[str, int]], End]:
        """Tokens of a prompt per reason, in order, for those behind the first `hit`; then remember the prompt.

        Args:
            ids: of the prompt.
            hit: tokens that were found.
            namespace: salt and adapter.
            conversation: tenant and name.
            unusable: first tokens that are kept and that the model cannot go back to (`Request.unusable_tokens`).

        Returns:
            The pairs (they add up to all tokens but `hit`), and where `grow` goes on.
        """
        step, tokens = self.step, len(ids)
        chain = _chain(0 if namespace is None else hash(namespace), ids, step)
        bare = chain if namespace is None else _chain(0, ids, step)
        cap = (tokens - 1) // self.block * self.block
        found: list[tuple[str, int]] = []
        if hit < cap:
            at = hit
            if unusable > at:
                found.append(("cannot_rewind", min(unusable, cap) - at))
                at = min(unusable, cap)
            end = self._seen(chain, at // step, cap)
            if end > at and self._dropped:
                found.append(("engine_limit", min(self._dropped, end - at)))
                at += found[-1][1]
            if end > at:
                found.append((self._gone, end - at))
                at = end
            if at < cap:
                end = self._seen_elsewhere(bare, at // step, cap, namespace is not None)
                if end > at:
                    found.append(("salt", end - at))
                    at = end
            if at < cap and conversation is not None:
                end = self._edited(chain, conversation, at, cap)
                if end > at:
                    found.append(("edited_history", end - at))
                    at = end
            if at < cap:
                found.append(("new_prefix", cap - at))
        if tokens > max(cap, hit):
            found.append(("below_block", tokens - max(cap, hit)))
        _remember(self._young, chain, hit // step)
        if namespace is not None:
            _remember(self._bare_young, bare, hit // step)
        if conversation is not None:
            self._turns[conversation] = (len(chain), chain[-1] if chain else 0)
        self._forget()
        rest = ids[len(chain) * step :]
        if namespace is None:
            return found, End(chain[-1] if chain else 0, None, rest)
        return found, End(chain[-1] if chain else hash(namespace), bare[-1] if bare else 0, rest)

    def grow(self, end: End, output_ids: list[int], conversation: tuple[str | None, str] | None) -> None:
        """Remember what a reply added to a prompt; its last token has no KV."""
        ids = end.rest + output_ids[:-1]
        chain = _chain(end.last, ids, self.step)
        if not chain:
            return
        self._young.update(chain)
        if end.bare is not None:
            self._bare_young.update(_chain(end.bare, ids, self.step))
        if conversation is not None and conversation in self._turns:
            self._turns[conversation] = (self._turns[conversation][0] + len(chain), chain[-1])
        self._forget()

    def _seen(self, chain: list[int], first: int, cap: int) -> int:
        """Tokens up to the first block that was not sent before."""
        young, old = self._young, self._old
        end = len(chain)
        at = first
        while at < end and (chain[at] in young or chain[at] in old):
            at += 1
        return self._tokens(at, first, end, cap)

    def _seen_elsewhere(self, bare: list[int], first: int, cap: int, salted: bool) -> int:
        """Tokens up to the first block that was not sent before under any namespace."""
        sets = [self._bare_young, self._bare_old]
        if salted:
            # Prompts without a namespace are remembered once.
            sets += [self._young, self._old]
        end = len(bare)
        at = first
        while at < end and any(bare[at] in one for one in sets):
            at += 1
        return self._tokens(at, first, end, cap)

    def _tokens(self, at: int, first: int, end: int, cap: int) -> int:
        if at == first:
            return 0
        # Behind the last whole step nothing is known; it goes with what is before it.
        return cap if at == end else min(at * self.step, cap)

    def _edited(self, chain: list[int], conversation: tuple[str | None, str], at: int, cap: int) -> int:
        """Tokens up to where the conversation's last turn ended, if it is no longer the beginning of this one."""
        before = self._turns.get(conversation) or self._turns_old.get(conversation)
        if before is None:
            return 0
        blocks, last = before
        if blocks <= len(chain) and (not blocks or chain[blocks - 1] == last):
            return 0
        return min(blocks * self.step, cap)

    def _forget(self) -> None:
        if len(self._young) > self._half:
            self.forgot += len(self._old)
            self._old, self._young = self._young, set()
        if len(self._bare_young) > self._half:
            self.forgot += len(self._bare_old)
            self._bare_old, self._bare_young = self._bare_young, set()
        if len(self._turns) > _CONVERSATIONS:
            self.forgot += len(self._turns_old)
            self._turns_old, self._turns = self._turns, {}


def _remember(young: set[int], chain: list[int], found: int) -> None:
    """Make the blocks of a prompt young; where the last one that was found is, all before it are."""
    young.update(chain[found:] if found and chain[found - 1] in young else chain)


def _chain(seed: int, ids: list[int], step: int) -> list[int]:
    """A hash per whole step, over its ids and everything before it."""
    chained = seed
    if step == 1:
        return [chained := hash((chained, one)) for one in ids]
    # As bytes, ids are cut and hashed without a look at each of them.
    data = marshal.dumps(ids, 2)
    width = _WIDTH * step
    last = _HEAD + len(ids) // step * width
    return [chained := hash((chained, data[at : at + width])) for at in range(_HEAD, last, width)]
