"""Slips of the pen: a word that no table has, in one prompt, is read as the word it nearly is in the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from itertools import pairwise

from pytest_cachesafe.semantic.tables.grammar import CONFUSED, FUNCTION
from pytest_cachesafe.semantic.text.scan import Token

__all__ = ["mended", "slips"]

# Strange words and candidates looked at for two prompts.
_MOST_STRANGE, _MOST_CANDIDATES = 24, 200
# Of rare words, short ones are what a slip makes of a common one (oder); long ones are meant (hostel, hotel).
_SHORT = 4
# Letters of a word; longer runs are no words.
_LONGEST = 40


def mended(
    tokens: Sequence[Token],
    strange: Collection[str],
    rare: Collection[str],
    other: Sequence[Token],
    other_strange: Collection[str],
    common: Set[str],
) -> list[Token] | None:
    """The tokens with slips put right after the other prompt; None where there are none.

    Args:
        tokens: of one prompt.
        strange: words of it that no table has.
        rare: words of it that few texts have: one slip away from a common word, they are that word.
        other: tokens of the other prompt.
        other_strange: strange words of the other prompt; two strange words must be long to be one.
        common: words a slip hardly ever makes.
    """
    joined = _joined(_parted(tokens, strange, other), other)
    changed = None if joined == list(tokens) else joined
    tokens = joined
    mine = {t.word for t in tokens}
    candidates = list(dict.fromkeys(t.word for t in other if t.kind == "w" and t.word not in mine))[:_MOST_CANDIDATES]
    if not candidates:
        return changed
    right: dict[str, str] = {}
    for word in list(strange)[:_MOST_STRANGE]:
        best = min(
            (n for n in ((slips(word, c), c) for c in candidates) if n[0] <= _allowed(word, n[1], other_strange)),
            default=None,
        )
        if best is not None:
            right[word] = best[1]
    for word in [w for w in rare if len(w) <= _SHORT][:_MOST_STRANGE]:
        best = min(((slips(word, c), c) for c in candidates if c in common), default=None)
        if best is not None and best[0] > 1:
            continue
        if best is not None:
            right[word] = best[1]
    wanted = set(candidates)
    for word in mine & CONFUSED.keys():
        for meant in CONFUSED[word]:
            if meant in wanted:
                right[word] = meant
    if not right:
        return changed
    return [t._replace(word=right[t.word]) if t.kind == "w" and t.word in right else t for t in tokens]


def _parted(tokens: Sequence[Token], strange: Collection[str], other: Sequence[Token]) -> Sequence[Token]:
    """A strange word that the other prompt writes as two (howdo)."""
    if not strange:
        return tokens
    wanted = set(strange)
    pairs = {x.word + y.word: x.word for x, y in pairwise(other) if x.kind == y.kind == "w"}
    out: list[Token] = []
    for token in tokens:
        head = pairs.get(token.word) if token.word in wanted else None
        if head is None:
            out.append(token)
        else:
            middle = token.start + len(head)
            out += [
                Token(head, "w", token.start, middle),
                Token(token.word[len(head) :], "w", middle, token.end),
            ]
    return out


def _joined(tokens: Sequence[Token], other: Sequence[Token]) -> list[Token]:
    """Two words that the other prompt writes as one (wi-fi, voice mail) made one."""
    single = {t.word for t in other if t.kind == "w" and len(t.word) > 3}
    out: list[Token] = []
    for token in tokens:
        last = out[-1] if out else None
        both = last is not None and last.kind == token.kind == "w" and last.word + token.word in single
        # "In formal" is not "informal".
        if both and last is not None and last.word not in FUNCTION:
            out[-1] = Token(last.word + token.word, "w", last.start, token.end)
        else:
            out.append(token)
    return out


def _allowed(a: str, b: str, strange: Collection[str]) -> int:
    short = min(len(a), len(b))
    if b in strange:
        return 1 if short >= 7 and a[0] == b[0] else 0
    if short >= 5:
        return 2 if a[0] == b[0] else 1
    return 1 if short >= 3 else 0


def slips(a: str, b: str) -> int:
    """Letters more, less, other, or two neighbours exchanged: how many are between two words; 3 for more."""
    if abs(len(a) - len(b)) > 2 or len(a) > _LONGEST or (a[0] != b[0] and a[-1:] != b[-1:]):
        return 3
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, before_last = row, before
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before_last[j - 2] + 1)
            row.append(cost)
        before = last
        if min(row) > 2:
            return 3
    return min(row[-1], 3)
