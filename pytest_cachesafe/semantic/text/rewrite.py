"""Folds harmless variation of the tokens of a prompt: phrases, contractions, politeness, hesitation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import eq

from pytest_cachesafe.semantic.tables.grammar import AUX, FUNCTION
from pytest_cachesafe.semantic.tables.load import Phrases
from pytest_cachesafe.semantic.tables.measures import NUMBERS
from pytest_cachesafe.semantic.tables.phrases import (
    CLOSINGS,
    COURTESY,
    COURTESY_MARKS,
    EDGE,
    HESITATION,
    SIGNED,
    TAGS,
    TURNS,
)
from pytest_cachesafe.semantic.tables.word_set import word_set
from pytest_cachesafe.semantic.text.scan import Token, Tokens

__all__ = ["Rewriter"]

# Openers that say nothing in front of a question either: "so how do I …".
_OPENERS = word_set("so ok okay oh and but also sorry now alright ah yeah yep like btw fyi hiya hi hello hey")
# A question begins: "right, what …", "wait, is …".
_ASKS = AUX | word_set("what which when where who whose why how")
_CLOSERS = word_set("asap lol haha mate ta cheers btw urgently thx")
# Words that English says twice on purpose.
_TWICE = frozenset(("that", "had", "is", "no", "very", "so"))
_EXACT = frozenset(("exactly", "precisely"))
_UPWARD = word_set("older over above up upwards higher greater larger bigger longer")
_DOWNWARD = word_set("younger under below lower smaller shorter")
_STRICT = {"older": "more_than", "longer": "more_than", "later": "more_than", "younger": "less_than",
           "shorter": "less_than", "earlier": "less_than"}  # fmt: skip
_BINDING = _EXACT | _STRICT.keys() | {"or", "and"}
# What a bound of two words begins with.
_BOUNDS = {(word, "than") for word in _STRICT}
_BOUNDS |= {(word, after) for word in ("or", "and") for after in _UPWARD | _DOWNWARD}
# Marks between clauses, and the last words of closings and tags.
_ENDS = frozenset(".?!,;:\n")
_CLOSING = frozenset(closing[-1] for closing in CLOSINGS)
_LETTERS = _CLOSING | {closing[-1] for closing in SIGNED}
_TAGGED = frozenset(tag[-1] for tag in TAGS)
# Without one of the first in front or one of the second behind, a clause has no courtesy but that of its marks.
_FRONT = EDGE | _OPENERS | TURNS
_BACK = EDGE | _CLOSERS | _CLOSING | _TAGGED
_MARK = frozenset("p")
# How far a particle may stand behind its verb: "turn the weekly report emails off".
_REACH = 6
# Words of a name below a letter.
_LONGEST_NAME = 2

# Where, of how many tokens, and the words that stand for them.
_Edit = tuple[int, int, Sequence[str]]


class Rewriter:
    """Tokens with phrases in their one form, and without what never changes an answer.

    Most prompts have nothing of it, which is told from all their words at once.
    """

    def __init__(self, phrases: Phrases, separable: Mapping[str, Mapping[str, str]]) -> None:
        self._phrases = phrases
        self._separable = separable
        # Words that may stand for another on their own, and what longer phrases and bounds begin with.
        self._single = {first for first, rest in phrases.items() if "" in rest} | _EXACT
        self._pairs = {(first, second) for first, rest in phrases.items() for second in rest} | _BOUNDS
        self._watched = HESITATION | self._single | separable.keys()

    def rewrite(self, tokens: Tokens) -> Tokens:
        """The same object where nothing changes."""
        words = tokens.words
        out = tokens
        if (
            not self._watched.isdisjoint(words)
            or (not self._pairs.isdisjoint(pairwise(words)) and self._begins(words))
            or any(map(eq, words, words[1:]))
        ):
            out = self._folded(tokens)
        edges = _edges(out.words)
        if edges:
            out = out.spliced(edges)
        # A prompt of nothing but politeness is its words.
        return tokens if out is tokens or _MARK.issuperset(out.kinds) else out

    def _begins(self, words: list[str]) -> bool:
        """Whether a phrase of several words or a bound may begin somewhere."""
        for at, pair in enumerate(pairwise(words)):
            if pair in _BOUNDS:
                return True
            if pair in self._pairs:
                for said, _ in self._phrases[pair[0]][pair[1]]:
                    if tuple(words[at : at + len(said)]) == said:
                        return True
        return False

    def _folded(self, tokens: Tokens) -> Tokens:
        if not HESITATION.isdisjoint(tokens.words):
            said = zip(tokens.words, tokens.kinds, strict=True)
            sounds = [at for at, (word, kind) in enumerate(said) if word in HESITATION and kind == "w"]
            tokens = tokens.spliced([(at, 1, ()) for at in sounds])
        words = tokens.words
        edits: list[_Edit] = []
        done = 0
        for at, pair in enumerate(zip(words, [*words[1:], ""], strict=False)):
            if at >= done and (pair[0] in self._single or pair in self._pairs or (at and pair[0] == words[at - 1])):
                edit = self._at(tokens, at)
                if edit is not None:
                    edits.append(edit)
                    done = at + edit[1]
        if edits:
            tokens = tokens.spliced(edits)
        if not self._separable.keys().isdisjoint(tokens.words):
            tokens = Tokens.of(_join_particles(list(tokens), self._separable))
        return tokens

    def _at(self, tokens: Tokens, at: int) -> _Edit | None:
        """What stands for the tokens from there on, and for how many of them; None where they stand for themselves."""
        words = tokens.words
        word = words[at]
        if at and word == words[at - 1] and tokens.kinds[at] == "w" and word not in _TWICE:
            # A word said twice: "how do I do I".
            return at, 1, ()
        bound = _bound(tokens, at) if word in _BINDING else ""
        if bound:
            return at, 2 if bound != "exactly" else 1, (bound,)
        entries = self._phrases.get(word)
        if entries is None:
            return None
        following = entries.get(words[at + 1], ()) if at + 1 < len(words) else ()
        for said, stands in (*following, *entries.get("", ())):
            size = len(said)
            if size <= 2 or tuple(words[at : at + size]) == said:
                return at, size, stands
        return None


def _bound(tokens: Tokens, at: int) -> str:
    """What binds the number behind it: "older than 65" is more than 65, "exactly 3" is not "3 or more".

    "Older than Rome" is no number, and "and up" in front of a word no bound.
    """
    words = tokens.words
    word = words[at]
    if word in _EXACT and at + 1 < len(words) and _number(tokens[at + 1]):
        return "exactly"
    if word in _STRICT and at + 2 < len(words) and words[at + 1] == "than" and _number(tokens[at + 2]):
        return _STRICT[word]
    if word in {"or", "and"} and at + 1 < len(words) and any(map(_number, tokens[max(at - 3, 0) : at])):
        # "65 or over", "65 years and older".
        after = words[at + 1]
        ends = at + 2 == len(words) or not _number(tokens[at + 2])
        bound = "at_least" if after in _UPWARD else "at_most" if after in _DOWNWARD else ""
        if ends:
            return bound
    return ""


def _number(token: Token) -> bool:
    return token.kind == "n" or token.word in NUMBERS or token.word in "$£€"


def _join_particles(tokens: list[Token], separable: Mapping[str, Mapping[str, str]]) -> list[Token]:
    at = 0
    while at < len(tokens):
        particles = separable.get(tokens[at].word)
        if particles is not None:
            for ahead in range(at + 2, min(at + 2 + _REACH, len(tokens))):
                if tokens[ahead].kind == "p":
                    break
                stands = particles.get(tokens[ahead].word)
                # "turn the tap on Mondays": a particle ends its clause.
                if stands and (ahead + 1 == len(tokens) or tokens[ahead + 1].kind == "p"):
                    tokens[at] = Token(stands, "w", tokens[at].start, tokens[at].end)
                    del tokens[ahead]
                    break
        at += 1
    return tokens


def _edges(words: list[str]) -> list[_Edit]:
    """What goes of clauses of nothing but edge words ("…, right?", "Morning!"), and the openers of a sentence."""
    edits: list[_Edit] = []
    begin = 0
    name = (0, 0) if _LETTERS.isdisjoint(words) else _signed(words)
    if name[1]:
        words = words[: name[0]]
    marked = not COURTESY_MARKS.isdisjoint(words)
    for mark in (*[at for at, word in enumerate(words) if word in _ENDS], len(words)):
        if begin < mark and (marked or words[begin] in _FRONT or words[mark - 1] in _BACK):
            start, end = _without_courtesy(words[begin:mark])
            if start:
                edits.append((begin, start, ()))
            if begin + end < mark:
                edits.append((begin + end, mark - begin - end, ()))
        begin = mark + 1
    if name[1]:
        edits.append((*name, ()))
    return edits


def _signed(words: list[str]) -> tuple[int, int]:
    """Where the name below a letter begins, and its words: "Kind regards, Anna", "Best, Tom Smith"; none: 0 words."""
    end = len(words)
    while end and words[end - 1] in _ENDS:
        end -= 1
    begin = _clause(words, end)
    front = begin
    while front and words[front - 1] in _ENDS:
        front -= 1
    first = _clause(words, front)
    closing = tuple(words[first:front])
    if first and _name(words[begin:end]):
        if closing in CLOSINGS:
            return begin, end - begin
        if closing in SIGNED:
            # It means something elsewhere, so that it goes here or stays.
            return first, end - first
    if begin and tuple(words[begin : begin + 2]) in CLOSINGS and _name(words[begin + 2 : end]):
        return begin + 2, end - begin - 2
    return 0, 0


def _clause(words: list[str], end: int) -> int:
    """Where the clause that ends there begins."""
    while end and words[end - 1] not in _ENDS:
        end -= 1
    return end


def _name(words: list[str]) -> bool:
    return 1 <= len(words) <= _LONGEST_NAME and all(word.isalpha() and word not in FUNCTION for word in words)


def _without_courtesy(words: list[str]) -> tuple[int, int]:
    """Where a clause begins and ends without courtesy; the same place twice if it is nothing else."""
    start, end = 0, len(words)
    if EDGE.issuperset(words) or (not COURTESY_MARKS.isdisjoint(words) and COURTESY.issuperset(words)):
        return 0, 0
    if end <= 3 and (tuple(words) in TAGS or tuple(words) in CLOSINGS):
        return 0, 0
    while start < end - 1:
        turn = words[start] in TURNS and (words[start + 1] in _ASKS or words[start + 1] in _OPENERS)
        if words[start] not in _OPENERS and not turn:
            break
        start += 1
    while end > start + 1:
        last = words[end - 1]
        if last in _CLOSERS:
            end -= 1
        elif last in _CLOSING and end > start + 2 and _closes(words[end - 3 : end]):
            end -= 2
        else:
            break
    # "It is late isn't it"; "why isn't it" is no tag.
    if end > start + 4 and words[end - 1] in _TAGGED and tuple(words[end - 3 : end]) in TAGS:
        end -= 3 if words[end - 4] not in _ASKS else 0
    return start, end


def _closes(words: list[str]) -> bool:
    return tuple(words[1:]) in CLOSINGS and words[0] not in FUNCTION
