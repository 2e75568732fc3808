"""Folds harmless variation of the tokens of a prompt: phrases, contractions, politeness, hesitation."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_cachesafe.semantic.tables.grammar import AUX, FUNCTION
from pytest_cachesafe.semantic.tables.load import Phrases
from pytest_cachesafe.semantic.tables.measures import NUMBERS
from pytest_cachesafe.semantic.tables.phrases import CLOSINGS, COURTESY, COURTESY_MARKS, EDGE, HESITATION, TAGS, TURNS
from pytest_cachesafe.semantic.tables.word_set import word_set
from pytest_cachesafe.semantic.text.scan import Token

__all__ = ["rewrite"]

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
# How far a particle may stand behind its verb: "turn the weekly report emails off".
_REACH = 6


def rewrite(tokens: list[Token], phrases: Phrases, separable: Mapping[tuple[str, str], str]) -> list[Token]:
    """Tokens with phrases in their one form, and without what never changes an answer."""
    given, tokens = tokens, [t for t in tokens if t.word not in HESITATION or t.kind != "w"]
    out: list[Token] = []
    at = 0
    count = len(tokens)
    while at < count:
        token = tokens[at]
        if at and token.word == tokens[at - 1].word and token.kind == "w" and token.word not in _TWICE:
            # A word said twice: "how do I do I".
            at += 1
            continue
        bound = _bound(tokens, at)
        if bound is not None:
            out.append(bound)
            at += 2 if bound.word != "exactly" else 1
            continue
        entries = phrases.get(token.word)
        if entries is not None:
            for words, stands in entries:
                size = len(words)
                if size == 1 or _follows(tokens, at, words):
                    end = tokens[at + size - 1].end
                    out += [Token(word, "w", token.start, end) for word in stands]
                    at += size
                    break
            else:
                out.append(token)
                at += 1
        else:
            out.append(token)
            at += 1
    _join_particles(out, separable)
    kept = _without_edges(out)
    # A prompt of nothing but politeness is its words.
    return kept if any(t.kind != "p" for t in kept) else given


def _bound(tokens: list[Token], at: int) -> Token | None:
    """What binds the number behind it: "older than 65" is more than 65, "exactly 3" is not "3 or more".

    "Older than Rome" is no number, and "and up" in front of a word no bound.
    """
    word = tokens[at].word
    if word in _EXACT and at + 1 < len(tokens) and _number(tokens[at + 1]):
        return tokens[at]._replace(word="exactly")
    if word in _STRICT and at + 2 < len(tokens) and tokens[at + 1].word == "than" and _number(tokens[at + 2]):
        return Token(_STRICT[word], "w", tokens[at].start, tokens[at + 1].end)
    if word in {"or", "and"} and at + 1 < len(tokens) and any(map(_number, tokens[max(at - 3, 0) : at])):
        # "65 or over", "65 years and older".
        after = tokens[at + 1].word
        ends = at + 2 == len(tokens) or not _number(tokens[at + 2])
        bound = "at_least" if after in _UPWARD else "at_most" if after in _DOWNWARD else ""
        if bound and ends:
            return Token(bound, "w", tokens[at].start, tokens[at + 1].end)
    return None


def _number(token: Token) -> bool:
    return token.kind == "n" or token.word in NUMBERS or token.word in "$£€"


def _follows(tokens: list[Token], at: int, words: tuple[str, ...]) -> bool:
    if at + len(words) > len(tokens):
        return False
    return all(tokens[at + i].word == word for i, word in enumerate(words))


def _join_particles(tokens: list[Token], separable: Mapping[tuple[str, str], str]) -> None:
    verbs = {verb for verb, _ in separable}
    at = 0
    while at < len(tokens):
        if tokens[at].word in verbs:
            for ahead in range(at + 2, min(at + 2 + _REACH, len(tokens))):
                if tokens[ahead].kind == "p":
                    break
                stands = separable.get((tokens[at].word, tokens[ahead].word))
                # "turn the tap on Mondays": a particle ends its clause.
                if stands and (ahead + 1 == len(tokens) or tokens[ahead + 1].kind == "p"):
                    tokens[at] = Token(stands, "w", tokens[at].start, tokens[at].end)
                    del tokens[ahead]
                    break
        at += 1


def _without_edges(tokens: list[Token]) -> list[Token]:
    """Without clauses of nothing but edge words ("…, right?", "Morning!"), and without openers of a sentence."""
    out: list[Token] = []
    clause: list[Token] = []
    for token in (*tokens, None):
        if token is not None and (token.kind != "p" or token.word in '%°£$€¥₹/()"'):
            clause.append(token)
            continue
        out += _without_courtesy(clause)
        if token is not None:
            out.append(token)
        clause = []
    return out


def _without_courtesy(clause: list[Token]) -> list[Token]:
    words = [t.word for t in clause]
    if tuple(words) in TAGS or tuple(words) in CLOSINGS:
        return []
    if all(w in EDGE for w in words):
        return []
    if not COURTESY_MARKS.isdisjoint(words) and all(w in COURTESY for w in words):
        return []
    start, end = 0, len(clause)
    while start < end - 1:
        turn = words[start] in TURNS and (words[start + 1] in _ASKS or words[start + 1] in _OPENERS)
        if words[start] not in _OPENERS and not turn:
            break
        start += 1
    while end > start + 1:
        if words[end - 1] in _CLOSERS:
            end -= 1
        elif end > start + 2 and tuple(words[end - 2 : end]) in CLOSINGS and words[end - 3] not in FUNCTION:
            end -= 2
        else:
            break
    # "It is late isn't it"; "why isn't it" is no tag.
    if end > start + 4 and tuple(words[end - 3 : end]) in TAGS and words[end - 4] not in _ASKS:
        end -= 3
    return clause[start:end]
