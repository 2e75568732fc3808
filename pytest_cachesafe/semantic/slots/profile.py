"""A prompt as the detector compares it: values, words, negations, and the template they stand in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_cachesafe.semantic.slots.item import Item
from pytest_cachesafe.semantic.slots.values import Reader
from pytest_cachesafe.semantic.tables import Tables, grammar
from pytest_cachesafe.semantic.tables.load import calendar_words, common_words, separable
from pytest_cachesafe.semantic.tables.names import NAMES
from pytest_cachesafe.semantic.tables.word_set import word_list, word_set
from pytest_cachesafe.semantic.text.language import not_english
from pytest_cachesafe.semantic.text.morphology import base_form, spelling
from pytest_cachesafe.semantic.text.rewrite import rewrite
from pytest_cachesafe.semantic.text.scan import Token, scan

__all__ = ["Profile", "build_profile", "profile_of"]

_SELF = word_set("i me we us you one myself yourself ourselves")
_OWN = word_set("my mine our ours your yours")
_WH = {"what": "what", "which": "what", "when": "when", "where": "where", "who": "who", "whom": "who", "whose": "who",
       "why": "why", "how": "how"}  # fmt: skip
# "Which one is", "a new one": one of what was spoken of.
_POINTING = word_set("which this that the each any every no another other new old last next first a your my")
# What stands in front of a letter as a name, and behind one: no article has these behind it.
_LETTERED = word_set("vitamin hepatitis tier option appendix")
_BEHIND_LETTERS = word_set("to than or and is are vs versus after before has was does")
# How a clause begins that tells where the asker stands, in front of the question itself.
_TELLING = word_set("i we my our there it the this he she they")
_LINKS = frozenset(("to", "from"))
_ARGUMENTS = word_set(
    "from to into onto by than before after against over under for with on behind above below more_than less_than"
)
# Contracted "not" in front of the subject asks the same as without: "Don't you ship …?".
_ASKS = word_set("does is are can could would will was were did has have should must")
_SUBJECTS = word_set("i you we they he she it the a an my your our this that these those there")
_FOLDED = dict(
    pair.split("/")
    for pair in word_list(
        "whom/who till/until upon/on onto/on vs/versus via/through which/what among/between amongst/between inside/in "
        "within/in using/with into/in toward/to towards/to"
    )
)


@dataclass(frozen=True, slots=True)
class Profile:
    """What is compared of one prompt."""

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
    # Preposition = the words that follow it first.
    arguments: Mapping[str, tuple[Item, ...]]
    # Clauses that tell something before the question.
    telling: frozenset[int]
    foreign: bool
    # As scanned, and the words of it that no table has: slips of the pen are put right after the other prompt.
    tokens: tuple[Token, ...]
    strange: tuple[str, ...]
    rare: tuple[str, ...]
    # Equal for prompts that differ in nothing but what never changes an answer; also puts two prompts in one order.
    key: str


def build_profile(text: str, tables: Tables) -> Profile:
    """Reads a prompt. Linear in its length."""
    return profile_of(scan(text), tables)


def profile_of(tokens: Sequence[Token], tables: Tables) -> Profile:
    """The profile of scanned tokens."""
    rewritten = rewrite(list(tokens), tables.phrases, separable())
    return _Builder(tokens, rewritten, tables).result()


class _Builder:
    def __init__(self, scanned: Sequence[Token], tokens: list[Token], tables: Tables) -> None:
        self.scanned = tuple(scanned)
        self.tokens = tokens
        self.tables = tables
        self.foreign = not_english(scanned)
        self.words: list[Item] = []
        self.values: list[Item] = []
        self.negations: list[Item] = []
        self.quantifiers: list[Item] = []
        self.persons: list[Item] = []
        self.tenses: list[Item] = []
        self.template: list[Item] = []
        self.items: list[Item] = []
        self.arguments: dict[str, list[Item]] = {}
        # The preposition that waits for its argument.
        self.waiting = ""
        self.openers: dict[int, str] = {}

    def result(self) -> Profile:
        clause = 0
        at = 0
        fresh = True
        reader = Reader(self.tokens, self.tables.units, self.tables.names)
        while at < len(self.tokens):
            token = self.tokens[at]
            if token.kind == "p" and token.word in ".?!,;:\n":
                if not fresh:
                    clause += 1
                    fresh = True
                    self.waiting = ""
                at += 1
                continue
            if fresh and token.kind != "p":
                self.openers[clause] = token.word
            if at in reader.taken:
                at += 1
                continue
            found = None if self.foreign or token.word in self.tables.ignore else reader.read(at, clause)
            if found is not None and not (token.kind == "w" and token.word in self.tables.own):
                for item in found[0]:
                    self._value(item)
                at = found[1]
            else:
                if token.kind == "w":
                    self._word(token, at, clause, fresh)
                at += 1
            if token.kind != "p":
                fresh = False
        strange, rare = self._unusual()
        return Profile(
            words=tuple(self.words),
            values=tuple(self.values),
            negations=tuple(self.negations),
            quantifiers=tuple(self.quantifiers),
            persons=tuple(self.persons),
            tenses=tuple(self.tenses),
            template=tuple(self.template),
            items=tuple(self.items),
            arguments={word: tuple(found) for word, found in self.arguments.items()},
            telling=self._telling(),
            foreign=self.foreign,
            tokens=self.scanned,
            strange=strange,
            rare=rare,
            key=self._key(),
        )

    def _key(self) -> str:
        parts = (self.template, self.items, self.tenses, self.persons)
        return "\n".join(" ".join(f"{i.kind}:{i.value}" for i in part) for part in parts)

    def _unusual(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        strange: dict[str, None] = {}
        rare: dict[str, None] = {}
        usual = common_words()
        for token in self.scanned:
            word = token.word
            if token.kind != "w" or len(word) < 3 or word in usual or word in NAMES or word in calendar_words():
                continue
            base = base_form(word, self.tables.words)
            if base in usual or base in self.tables.own:
                continue
            (strange if self._name(word, base) == 1 else rare)[word] = None
        return tuple(strange), tuple(rare)

    def _telling(self) -> frozenset[int]:
        asks = {
            c
            for c, w in self.openers.items()
            if w in _WH or w in grammar.AUX or w in {"if", "must", "should", "for", "at", "in"}
        }
        if not asks:
            return frozenset()
        return frozenset(c for c, w in self.openers.items() if c not in asks and w in _TELLING)

    def _value(self, item: Item) -> None:
        self.values.append(item)
        self.template.append(item)
        self.items.append(item)
        self._argument(item)

    def _argument(self, item: Item) -> None:
        if self.waiting:
            self.arguments.setdefault(self.waiting, []).append(item)
            self.waiting = ""

    def _word(self, token: Token, at: int, clause: int, fresh: bool) -> None:
        word = token.word
        tables = self.tables
        if word in tables.ignore:
            return
        if word in grammar.NEGATIONS:
            self._negation(token, at, clause)
            return
        folded = _FOLDED.get(word, word)
        counted = word == "one" and self._counts(at)
        if counted or (word in grammar.QUANTIFIERS and not (word == "most" and self._followed_by_adjective(at))):
            value = "one" if counted else grammar.QUANTIFIERS[word]
            item = Item("quantifier", value, token.start, token.end, clause, 0, (word, ""))
            self.quantifiers.append(item)
            self.items.append(item)
            return
        if word in grammar.PERSONS:
            self.persons.append(Item("person", word, token.start, token.end, clause))
            return
        if word in grammar.TENSES:
            self.tenses.append(Item("tense", grammar.TENSES[word], token.start, token.end, clause))
            return
        if word in _LINKS:
            # They say where a word belongs, not what is asked: no part of the template.
            self.items.append(Item("function", folded, token.start, token.end, clause))
            self.waiting = word if word in _ARGUMENTS else self.waiting
            return
        if word == "a" and self._letter(at):
            item = Item("word", "a", token.start, token.end, clause, self._name("b", "b"))
            self.words.append(item)
            self.template.append(item)
            self.items.append(item)
            self._argument(item)
            return
        if word in grammar.ARTICLES or word in grammar.AUX or word in _OWN:
            return
        if word in _SELF:
            self.template.append(Item("function", "i", token.start, token.end, clause))
            return
        if word in grammar.FUNCTION or word in {"must", "should"}:
            item = Item("function", folded, token.start, token.end, clause, 0, (word, ""))
            self.template.append(item)
            self.items.append(item)
            if word in _ARGUMENTS:
                self.waiting = word
            return
        base = word if word in tables.names else spelling(base_form(word, tables.words))
        if base in tables.ignore:
            return
        if word in grammar.FILLERS and base not in tables.own:
            self.items.append(Item("filler", base, token.start, token.end, clause))
            return
        name = self._name(word, base)
        plural = "s" if word != base and word.endswith("s") and not word.endswith("ss") else ""
        joined = "_" if token.joined else ""
        item = Item("word", base, token.start, token.end, clause, name, (joined, plural))
        self.words.append(item)
        self.template.append(item)
        self.items.append(item)
        self._argument(item)

    def _followed_by_adjective(self, at: int) -> bool:
        """ "The most users", "most famous"; "most users" is a share of them."""
        if at + 1 >= len(self.tokens) or self.tokens[at + 1].word in grammar.FUNCTION:
            return False
        after = self.tokens[at + 1].word
        plural = after.endswith("s") and base_form(after, self.tables.words) == after[:-1]
        return not plural or (at > 0 and self.tokens[at - 1].word == "the")

    def _letter(self, at: int) -> bool:
        """Whether "a" is a name: "from A to B", "plan A is", "is A better than B". Case tells nothing."""
        before = self.tokens[at - 1].word if at else ""
        after = [t.word for t in self.tokens[at + 1 : at + 3]]
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
        opens = at == 0 or self.tokens[at - 1].kind == "p"
        return opens and any(t.word == "b" and t.kind == "w" for t in self.tokens[at + 2 : at + 12])

    def _counts(self, at: int) -> bool:
        """Whether "one" counts what follows: "delete one file", not "which one is" nor "can one pay"."""
        before = self.tokens[at - 1].word if at else ""
        after = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        if after is None or after.kind != "w" or after.word in grammar.FUNCTION or after.word in {"day", "time"}:
            return False
        return before not in grammar.AUX and before not in _POINTING

    def _name(self, word: str, base: str) -> int:
        tables = self.tables
        if word in tables.names or base in tables.names or base in tables.entities:
            return 2
        if "_" in word or word in tables.words or base in tables.words or word in tables.own:
            return 0
        return 1

    def _negation(self, token: Token, at: int, clause: int) -> None:
        before = self.tokens[at - 1].word if at else ""
        after = self.tokens[at + 1].word if at + 1 < len(self.tokens) else ""
        opens = at == 1 or (at > 1 and self.tokens[at - 2].kind == "p")
        if token.word == "not" and opens and after and (before in _ASKS or (before == "do" and after in _SUBJECTS)):
            return
        asks = at > 1 and before == "it" and self.tokens[at - 2].word in {"is", "was"}
        if asks and (at == 2 or self.tokens[at - 3].kind == "p") and self._written(token):
            # "Is it not legal?" asks both whether it is legal and whether it is illegal.
            self.items.append(Item("negation", "either", token.start, token.end, clause))
            return
        if token.word == "no" and (after.isdigit() or not after):
            return
        item = Item("negation", "without" if token.word == "without" else "not", token.start, token.end, clause)
        self.negations.append(item)
        self.items.append(item)

    def _written(self, token: Token) -> bool:
        """Whether "not" is a word of the prompt, and not of the phrase that stands for one (impossible)."""
        return any(t.start == token.start and t.word == "not" for t in self.scanned)
