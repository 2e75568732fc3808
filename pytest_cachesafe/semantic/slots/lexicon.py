"""What a word is wherever it stands: looked up in all tables once, and kept for the prompts that follow."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from pytest_cachesafe.semantic.slots.values import begins
from pytest_cachesafe.semantic.tables import Tables, grammar
from pytest_cachesafe.semantic.tables.load import calendar_words, common_words, separable
from pytest_cachesafe.semantic.tables.names import NAMES
from pytest_cachesafe.semantic.tables.word_set import word_list, word_set
from pytest_cachesafe.semantic.text.morphology import base_form, spelling
from pytest_cachesafe.semantic.text.rewrite import Rewriter
from pytest_cachesafe.semantic.text.scan import Tokens

__all__ = ["Entry", "Lexicon"]

# Words kept; support prompts have some ten thousand.
_KEPT = 50_000

_MARKS = frozenset('.?!,;:\n()"')

_SELF = word_set("i me we us you one myself yourself ourselves")
_OWN = word_set("my mine our ours your yours")
_LINKS = frozenset(("to", "from"))
_ARGUMENTS = word_set(
    "from to into onto by than before after against over under for with on behind above below more_than less_than"
)
_FOLDED = dict(
    pair.split("/")
    for pair in word_list(
        "whom/who till/until upon/on onto/on vs/versus via/through which/what among/between amongst/between inside/in "
        "within/in using/with into/in toward/to towards/to"
    )
)


@dataclass(slots=True)
class Entry:
    """One word, without its place; never changed once made."""

    # "word", "function", "filler", "link", "self", "person", "tense", "quantifier", "negation"; "skip" for what never
    # decides; "most", "one" and "a" for words that are one thing or another by what stands around them.
    group: str
    # Of the item that is made of it.
    kind: str
    value: str
    name: int
    raw: tuple[str, str]
    # Kind and value as they stand in the key of a profile.
    key: str
    # Words of which one follows where a value begins with it; None where that has to be read.
    reads: Set[str] | None
    # Whether an argument follows it.
    waits: bool
    # Of words that are one thing or another: the other.
    other: Entry | None


class Lexicon:
    """The words of one set of tables. Thread-safe: an entry made twice is the same."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.rewriter = Rewriter(tables.phrases, separable())
        self.entries: dict[str, Entry] = {}
        # 0 usual, 1 strange, 2 rare. Marks are asked about like words.
        self._oddness = dict.fromkeys(_MARKS, 0)

    def entry(self, word: str) -> Entry:
        """What a word is."""
        found = self.entries.get(word)
        if found is None:
            found = self._made(word)
            if len(self.entries) >= _KEPT:
                self.entries.clear()
            self.entries[word] = found
        return found

    def unusual(self, tokens: Tokens) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Words that no table has, and such that few texts have, each once."""
        oddness = self._oddness
        odd = [at for at, word in enumerate(tokens.words) if oddness.get(word, 1)]
        if not odd:
            return (), ()
        found: tuple[dict[str, None], ...] = ({}, {}, {})
        for at in odd:
            word = tokens.words[at]
            if tokens.kinds[at] == "w":
                found[self._odd(word)][word] = None
        return tuple(found[1]), tuple(found[2])

    def _odd(self, word: str) -> int:
        found = self._oddness.get(word)
        if found is None:
            base = base_form(word, self.tables.words)
            found = 0 if self._is_usual(word, base) else 1 if self.name(word, base) == 1 else 2
            if len(self._oddness) >= _KEPT:
                self._oddness = dict.fromkeys(_MARKS, 0)
            self._oddness[word] = found
        return found

    def name(self, word: str, base: str) -> int:
        """0 a common word, 1 a word no table has, 2 a name."""
        tables = self.tables
        if word in tables.names or base in tables.names or base in tables.entities:
            return 2
        if "_" in word or word in tables.words or base in tables.words or word in tables.own:
            return 0
        return 1

    def _is_usual(self, word: str, base: str) -> bool:
        known = common_words()
        if len(word) < 3 or word in known or word in NAMES or word in calendar_words():
            return True
        return base in known or base in self.tables.own

    def _made(self, word: str) -> Entry:
        tables = self.tables
        if word in tables.ignore:
            return Entry("skip", "", word, 0, ("", ""), "", frozenset(), False, None)
        reads = begins(word, tables.units)
        if word in grammar.NEGATIONS:
            return Entry("negation", "negation", word, 0, ("", ""), "", reads, False, None)
        if word in grammar.QUANTIFIERS or word == "one":
            value = grammar.QUANTIFIERS.get(word, "one")
            group = word if word in {"one", "most"} else "quantifier"
            other = self._plain(word, reads) if word in {"one", "most"} else None
            return Entry(group, "quantifier", value, 0, (word, ""), f"quantifier:{value}", reads, False, other)
        if word == "a":
            other = self._plain(word, reads)
            return Entry("a", "word", "a", self.name("b", "b"), ("", ""), "word:a", reads, False, other)
        return self._plain(word, reads)

    def _plain(self, word: str, reads: Set[str] | None) -> Entry:
        """What a word is that neither negates nor counts."""
        tables = self.tables
        folded = _FOLDED.get(word, word)
        if word in grammar.PERSONS:
            return Entry("person", "person", word, 0, ("", ""), "", reads, False, None)
        if word in grammar.TENSES:
            return Entry("tense", "tense", grammar.TENSES[word], 0, ("", ""), "", reads, False, None)
        if word in _LINKS:
            return Entry("link", "function", folded, 0, ("", ""), f"function:{folded}", reads, False, None)
        if word in grammar.ARTICLES or word in grammar.AUX or word in _OWN:
            return Entry("skip", "", word, 0, ("", ""), "", reads, False, None)
        if word in _SELF:
            return Entry("self", "function", "i", 0, ("", ""), "function:i", reads, False, None)
        if word in grammar.FUNCTION or word in {"must", "should"}:
            waits = word in _ARGUMENTS
            return Entry("function", "function", folded, 0, (word, ""), f"function:{folded}", reads, waits, None)
        base = word if word in tables.names else spelling(base_form(word, tables.words))
        if base in tables.ignore:
            return Entry("skip", "", word, 0, ("", ""), "", reads, False, None)
        if word in grammar.FILLERS and base not in tables.own:
            return Entry("filler", "filler", base, 0, ("", ""), f"filler:{base}", reads, False, None)
        plural = "s" if word != base and word.endswith("s") and not word.endswith("ss") else ""
        return Entry("word", "word", base, self.name(word, base), ("", plural), f"word:{base}", reads, False, None)
