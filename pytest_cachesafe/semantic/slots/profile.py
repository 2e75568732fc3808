"""A prompt as the detector compares it: values, words, negations, and the template they stand in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pytest_cachesafe.semantic.slots.item import Item
from pytest_cachesafe.semantic.slots.lexicon import Lexicon
from pytest_cachesafe.semantic.slots.values import Reader
from pytest_cachesafe.semantic.tables import grammar
from pytest_cachesafe.semantic.tables.word_set import word_set
from pytest_cachesafe.semantic.text.language import not_english
from pytest_cachesafe.semantic.text.morphology import base_form
from pytest_cachesafe.semantic.text.scan import Tokens, scan

__all__ = ["Profile", "build_profile", "profile_of"]

_WH = word_set("what which when where who whom whose why how")
# "Which one is", "a new one": one of what was spoken of.
_POINTING = word_set("which this that the each any every no another other new old last next first a your my")
# What stands in front of a letter as a name, and behind one: no article has these behind it.
_LETTERED = word_set("vitamin hepatitis tier option appendix")
_BEHIND_LETTERS = word_set("to than or and is are vs versus after before has was does")
# How a clause begins that tells where the asker stands, in front of the question itself.
_TELLING = word_set("i we my our there it the this he she they")
# Contracted "not" in front of the subject asks the same as without: "Don't you ship …?".
_ASKS = word_set("does is are can could would will was were did has have should must")
_SUBJECTS = word_set("i you we they he she it the a an my your our this that these those there")
_QUESTIONS = grammar.AUX | _WH | {"if", "must", "should", "for", "at", "in"}
# Marks between clauses.
_ENDS = frozenset(".?!,;:\n")
# `Item(*fields)` without the call of a Python function.
_item: Callable[[Iterable[object]], Item] = partial(tuple.__new__, Item)


@dataclass(slots=True)
class Profile:
    """What is compared of one prompt; never changed once made (frozen, it would take three times as long to make)."""

    # Content words, in order.
    words: tuple[Item, ...]
    values: tuple[Item, ...]
    negations: tuple[Item, ...]
    quantifiers: tuple[Item, ...]
    persons: tuple[Item, ...]
    tenses: tuple[Item, ...]
    # What the prompt is made of without articles, auxiliaries, fillers and negations, in order.
    template: tuple[Item, ...]
    # Every item with a meaning of its own in order, for what stands next to what.
    items: tuple[Item, ...]
    # Kind and value of each item of the template: "word:plan".
    shape: Sequence[str]
    # Values of all items.
    said: frozenset[Any]
    # Preposition = the words that follow it first.
    arguments: Mapping[str, Sequence[Item]]
    # Clauses that tell something before the question.
    telling: frozenset[int]
    foreign: bool
    # As scanned, and the words of it that no table has: slips of the pen are put right after the other prompt.
    tokens: Tokens
    strange: tuple[str, ...]
    rare: tuple[str, ...]
    # Equal for prompts that differ in nothing but what never changes an answer; also puts two prompts in one order.
    key: str


def build_profile(text: str, lexicon: Lexicon) -> Profile:
    """Reads a prompt. Linear in its length."""
    return profile_of(scan(text), lexicon)


def profile_of(tokens: Tokens, lexicon: Lexicon) -> Profile:
    """The profile of scanned tokens."""
    return _Builder(tokens, lexicon.rewriter.rewrite(tokens), lexicon).result()


class _Builder:
    def __init__(self, scanned: Tokens, tokens: Tokens, lexicon: Lexicon) -> None:
        self.scanned = scanned
        self.tokens = tokens
        self.lexicon = lexicon
        self.tables = lexicon.tables
        self.values: list[Item] = []
        self.negations: list[Item] = []
        self.template: list[Item] = []
        self.items: list[Item] = []
        self.arguments: dict[str, list[Item]] = {}
        # Kind and value of the items of the template and of all.
        self.shape: list[str] = []
        self.keys: list[str] = []
        self.said: list[Any] = []

    def result(self) -> Profile:
        """One pass over the tokens: everything that does not depend on a word's place is in its entry."""
        lexicon = self.lexicon
        own = self.tables.own
        foreign = not_english(self.scanned)
        reader = Reader(self.tokens, self.tables.units, self.tables.names)
        words: list[Item] = []
        quantifiers: list[Item] = []
        persons: list[Item] = []
        tenses: list[Item] = []
        template, items, shape, keys, said = self.template, self.items, self.shape, self.keys, self.said
        openers: dict[int, str] = {}
        clause = done = 0
        # The preposition that waits for its argument.
        waiting = ""
        fresh = True
        tokens = self.tokens
        known, taken = lexicon.entries, reader.taken
        for at, (word, kind, start, end, joined) in enumerate(
            zip(tokens.words, tokens.kinds, tokens.starts, tokens.ends, tokens.joined, strict=True)
        ):
            if at < done:
                continue
            if kind == "w":
                if fresh:
                    openers[clause] = word
                if taken and at in taken:
                    continue
                fresh = False
                entry = known.get(word) or lexicon.entry(word)
                found = None
                follows = entry.reads
                if (follows is None or (follows and reader.word(at + 1) in follows)) and not foreign:
                    found = reader.read(at, clause)
                    if word in own:
                        found = None
            else:
                if kind == "p" and word in _ENDS:
                    if not fresh:
                        clause += 1
                        fresh = True
                        waiting = ""
                    continue
                if fresh and kind != "p":
                    openers[clause] = word
                if taken and at in taken:
                    continue
                fresh = fresh and kind == "p"
                if foreign or word in self.tables.ignore:
                    continue
                found = reader.read(at, clause)
                if found is None:
                    continue
            if found is not None:
                for item in found[0]:
                    self._value(item)
                    if waiting:
                        self.arguments.setdefault(waiting, []).append(item)
                        waiting = ""
                done = found[1]
                continue
            group = entry.group
            if group == "skip":
                continue
            if entry.other is not None and not self._stands(group, at):
                entry = entry.other
                group = entry.group
                if group == "skip":
                    continue
            item = _item((entry.kind, entry.value, start, end, clause, entry.name, entry.raw))
            if group == "word" or group == "a":
                if joined:
                    item = item._replace(raw=("_", entry.raw[1]))
                words.append(item)
                template.append(item)
                items.append(item)
                shape.append(entry.key)
                keys.append(entry.key)
                said.append(entry.value)
                if waiting:
                    self.arguments.setdefault(waiting, []).append(item)
                    waiting = ""
            elif group == "function":
                template.append(item)
                items.append(item)
                shape.append(entry.key)
                keys.append(entry.key)
                said.append(entry.value)
                if entry.waits:
                    waiting = word
            elif group == "tense":
                tenses.append(item)
            elif group == "self":
                template.append(item)
                shape.append(entry.key)
            elif group == "person":
                persons.append(item)
            elif group == "negation":
                self._negation(at, clause)
            else:
                # "To" and "from" say where a word belongs, not what is asked; fillers and quantifiers stand apart too.
                items.append(item)
                keys.append(entry.key)
                said.append(entry.value)
                if group == "link":
                    waiting = word
                elif group != "filler":
                    quantifiers.append(item)
        strange, rare = lexicon.unusual(self.scanned)
        return Profile(
            words=tuple(words),
            values=tuple(self.values),
            negations=tuple(self.negations),
            quantifiers=tuple(quantifiers),
            persons=tuple(persons),
            tenses=tuple(tenses),
            template=tuple(template),
            items=tuple(items),
            shape=shape,
            said=frozenset(said),
            arguments=self.arguments,
            telling=_telling(openers) if len(openers) > 1 else frozenset(),
            foreign=foreign,
            tokens=self.scanned,
            strange=strange,
            rare=rare,
            key="\n".join((" ".join(shape), " ".join(keys), _key(tenses), _key(persons))),
        )

    def _value(self, item: Item) -> None:
        key = f"{item.kind}:{item.value}"
        self.values.append(item)
        self.template.append(item)
        self.items.append(item)
        self.shape.append(key)
        self.keys.append(key)
        self.said.append(item.value)

    def _stands(self, word: str, at: int) -> bool:
        """Whether a word that may be something else is meant: a quantifier, or the letter a."""
        if word == "one":
            return self._counts(at)
        return self._letter(at) if word == "a" else not self._followed_by_adjective(at)

    def _followed_by_adjective(self, at: int) -> bool:
        """ "The most users", "most famous"; "most users" is a share of them."""
        if at + 1 >= len(self.tokens) or self.tokens.words[at + 1] in grammar.FUNCTION:
            return False
        after = self.tokens.words[at + 1]
        plural = after.endswith("s") and base_form(after, self.tables.words) == after[:-1]
        return not plural or (at > 0 and self.tokens.words[at - 1] == "the")

    def _letter(self, at: int) -> bool:
        """Whether "a" is a name: "from A to B", "plan A is", "is A better than B". Case tells nothing."""
        before = self.tokens.words[at - 1] if at else ""
        after = self.tokens.words[at + 1 : at + 3]
        if not after or after[0] in ".?!,;:/\n" or before in _LETTERED or after[0] == "b":
            return True
        if after[0] in _BEHIND_LETTERS:
            return len(after) < 2 or (after[0], after[1]) not in {("to", "do"), ("before", "and"), ("to", "be")}
        if (
            len(after) == 2
            and after[1] == "than"
            and (after[0].endswith("er") or after[0] in {"worse", "more", "less"})
        ):
            return True
        opens = at == 0 or self.tokens.kinds[at - 1] == "p"
        return opens and "b" in self.tokens.words[at + 2 : at + 12]

    def _counts(self, at: int) -> bool:
        """Whether "one" counts what follows: "delete one file", not "which one is" nor "can one pay"."""
        before = self.tokens.words[at - 1] if at else ""
        if at + 1 >= len(self.tokens) or self.tokens.kinds[at + 1] != "w":
            return False
        after = self.tokens.words[at + 1]
        if after in grammar.FUNCTION or after in {"day", "time"}:
            return False
        return before not in grammar.AUX and before not in _POINTING

    def _negation(self, at: int, clause: int) -> None:
        token = self.tokens[at]
        before = self.tokens.words[at - 1] if at else ""
        after = self.tokens.words[at + 1] if at + 1 < len(self.tokens) else ""
        opens = at == 1 or (at > 1 and self.tokens.kinds[at - 2] == "p")
        if token.word == "not" and opens and after and (before in _ASKS or (before == "do" and after in _SUBJECTS)):
            return
        asks = at > 1 and before == "it" and self.tokens.words[at - 2] in {"is", "was"}
        if asks and (at == 2 or self.tokens.kinds[at - 3] == "p") and self._written(token.start):
            # "Is it not legal?" asks both whether it is legal and whether it is illegal.
            self._loose(Item("negation", "either", token.start, token.end, clause))
            return
        if token.word == "no" and (after.isdigit() or not after):
            return
        item = Item("negation", "without" if token.word == "without" else "not", token.start, token.end, clause)
        self.negations.append(item)
        self._loose(item)

    def _loose(self, item: Item) -> None:
        self.items.append(item)
        self.keys.append(f"{item.kind}:{item.value}")
        self.said.append(item.value)

    def _written(self, start: int) -> bool:
        """Whether "not" is a word of the prompt, and not of the phrase that stands for one (impossible)."""
        said = zip(self.scanned.starts, self.scanned.words, strict=True)
        return any(at == start and word == "not" for at, word in said)


def _key(items: Sequence[Item]) -> str:
    return " ".join([f"{i.kind}:{i.value}" for i in items])


def _telling(openers: Mapping[int, str]) -> frozenset[int]:
    """Clauses in front of a question that tell where the asker stands."""
    asks = {c for c, w in openers.items() if w in _QUESTIONS}
    if not asks:
        return frozenset()
    return frozenset(c for c, w in openers.items() if c not in asks and w in _TELLING)
