"""Slips of the pen: a word that no table has, in one prompt, is read as the word it nearly is in the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from itertools import pairwise
from operator import add

from pytest_cachesafe.semantic.tables.grammar import CONFUSED, FUNCTION
from pytest_cachesafe.semantic.text.morphology import one_slip
from pytest_cachesafe.semantic.text.scan import Token, Tokens

__all__ = ["mended", "slips"]

# Strange words and candidates looked at for two prompts.
_MOST_STRANGE, _MOST_CANDIDATES = 24, 200
# Of rare words, short ones are what a slip makes of a common one (oder); long ones are meant (hostel, hotel).
_SHORT = 4
# Letters of a word; longer runs are no words.
_LONGEST = 40


def mended(
    tokens: Tokens,
    strange: Collection[str],
    rare: Collection[str],
    other: Tokens,
    other_strange: Collection[str],
    common: Set[str],
) -> Tokens | None:
    """The tokens with slips put right after the other prompt; None where there are none.

    Args:
        tokens: of one prompt.
        strange: words of it that no table has.
        rare: words of it that few texts have: one slip away from a common word, they are that word.
        other: tokens of the other prompt.
        other_strange: strange words of the other prompt; two strange words must be long to be one.
        common: words a slip hardly ever makes.
    """
    # Most prompts have nothing of it, which is told from all their words at once.
    words, others = tokens.words, other.words
    short = [w for w in rare if len(w) <= _SHORT] if rare else []
    known = set(others)
    joins = not known.isdisjoint(map(add, words, words[1:]))
    parts = bool(strange) and not set(strange).isdisjoint(map(add, others, others[1:]))
    changed = None
    if joins or parts:
        joined = Tokens.of(_joined(_parted(tokens, strange, other), other))
        changed = None if joined.words == words else joined
        tokens, words = joined, joined.words
    confused = [word for word in words if word in CONFUSED and not known.isdisjoint(CONFUSED[word])]
    if not (strange or short or confused):
        return changed
    mine = set(words)
    candidates = [word for word, kind in zip(others, other.kinds, strict=True) if kind == "w" and word not in mine]
    candidates = list(dict.fromkeys(candidates))[:_MOST_CANDIDATES]
    right: dict[str, str] = {}
    for word in list(strange)[:_MOST_STRANGE]:
        near = [(slips(word, c, _allowed(word, c, other_strange)), c) for c in candidates if _may(word, c)]
        best = min([found for found in near if found[0]], default=None)
        if best is not None:
            right[word] = best[1]
    for word in short[:_MOST_STRANGE]:
        close = [c for c in candidates if _may(word, c) and c in common and one_slip(word, c)]
        if close:
            right[word] = min(close)
    for word in confused:
        for meant in CONFUSED[word]:
            if meant in candidates:
                right[word] = meant
    if not right:
        return changed
    return Tokens.of([t._replace(word=right[t.word]) if t.kind == "w" and t.word in right else t for t in tokens])


def _may(a: str, b: str) -> bool:
    """Whether two words may be a slip or two apart: of a similar length, with one end in common."""
    return -2 <= len(a) - len(b) <= 2 and (a[0] == b[0] or a[-1] == b[-1])


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


def slips(a: str, b: str, most: int) -> int:
    """Letters more, less, other, or two neighbours exchanged: how many are between two different words.

    0 for more than `most`, of which 2 is the highest.
    """
    if not most or len(a) > _LONGEST:
        return 0
    if most == 1:
        return int(one_slip(a, b))
    # A slip changes two letters of a word at the most.
    if len(set(a) ^ set(b)) > 4:
        return 0
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
            return 0
    return row[-1] if row[-1] <= 2 else 0
