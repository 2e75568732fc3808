"""`Tables`: what the detector looks up. Immutable; the user's entries come on top of the shipped ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from pytest_cachesafe.semantic.tables import load, measures
from pytest_cachesafe.semantic.text.morphology import base_form, spelling
from pytest_cachesafe.semantic.text.scan import words_of
from pytest_cachesafe.usage import UsageError

__all__ = ["KEYS", "Tables"]

# Keys of `[tool.cachesafe.semantic]`, and arguments of `Tables.with_user`.
KEYS = ("antonyms", "synonyms", "entities", "ignore", "units")


@dataclass(frozen=True, slots=True)
class Tables:
    """Word tables of a detector.

    Make one with `Tables.default()`, add to it with `with_user`.
    """

    antonyms: Mapping[tuple[str, str], str] = field(repr=False)
    broad_antonyms: frozenset[tuple[str, str]] = field(repr=False)
    synonyms: Mapping[str, frozenset[int]] = field(repr=False)
    broad_synonyms: Mapping[str, frozenset[int]] = field(repr=False)
    words: frozenset[str] = field(repr=False)
    names: frozenset[str] = field(repr=False)
    phrases: load.Phrases = field(repr=False)
    units: Mapping[str, tuple[str, float]] = field(repr=False)
    # Word = numbers of the user's sets it belongs to.
    entities: Mapping[str, frozenset[int]] = field(default_factory=dict)
    ignore: frozenset[str] = frozenset()
    # Words that occur in the user's own entries: these are compared in any language.
    own: frozenset[str] = frozenset()

    @staticmethod
    def default() -> Tables:
        """The shipped tables; made once."""
        return _default()

    def with_user(
        self,
        *,
        antonyms: Iterable[Sequence[str]] = (),
        synonyms: Iterable[Sequence[str]] = (),
        entities: Iterable[Sequence[str]] = (),
        ignore: Iterable[str] = (),
        units: Mapping[str, Any] | None = None,
    ) -> Tables:
        """These tables and the user's entries.

        Args:
            antonyms: pairs of words or phrases that need different answers: `("swing bed", "acute bed")`.
            synonyms: groups of words or phrases that may stand for one another.
            entities: sets of siblings (plans, regions, products): two members in one place need different answers.
            ignore: words or phrases that never change an answer.
            units: name = `("base unit", factor)`, or the name of a unit already known.

        Raises:
            UsageError: an entry that is no text, blank, alone in its group, or an antonym and a synonym at once.
        """
        builder = _Builder(self)
        for pair in antonyms:
            builder.antonym(pair)
        for group in synonyms:
            builder.synonym(group)
        for group in entities:
            builder.entity(group)
        for word in _list("ignore", ignore):
            builder.skip(word)
        for name, unit in (units or {}).items():
            builder.unit(name, unit)
        return builder.result()


@lru_cache(maxsize=1)
def _default() -> Tables:
    return Tables(
        antonyms=load.hand_antonyms(),
        broad_antonyms=load.broad_antonyms(),
        synonyms=load.hand_synonyms(),
        broad_synonyms=load.broad_synonyms(),
        words=load.known_words(),
        names=load.known_names(),
        phrases=load.phrase_table(),
        units=measures.UNITS,
    )


def _list(name: str, value: object) -> list[Any]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise UsageError(f"semantic tables: {name}: {value!r} is not a list: write a list of texts")
    return list(value)


class _Builder:
    """Adds entries to copies of the tables."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.antonyms = dict(tables.antonyms)
        self.synonyms = dict(tables.synonyms)
        self.entities = dict(tables.entities)
        self.phrases: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.units = dict(tables.units)
        self.ignore = set(tables.ignore)
        self.own = set(tables.own)
        self.groups = 1 + max((n for found in tables.synonyms.values() for n in found), default=0)
        self.sets = 1 + max((n for found in tables.entities.values() for n in found), default=0)

    def word(self, name: str, value: object) -> str:
        """One token for an entry; several words become a phrase."""
        if not isinstance(value, str):
            raise UsageError(f"semantic tables: {name}: {value!r} is not text: write it in quotes")
        words = words_of(value)
        if not words:
            raise UsageError(f"semantic tables: {name}: {value!r} has no word in it: take it out")
        if len(words) == 1:
            word = spelling(base_form(words[0], self.tables.words))
        else:
            # Also in a form with other endings in the last word: "swing beds".
            word = "_".join((*words[:-1], spelling(base_form(words[-1], self.tables.words))))
            plural = (*words[:-1], words[-1] + "s")
            self.phrases[words] = self.phrases[plural] = (word,)
        self.own.add(word)
        return word

    def group(self, name: str, value: Sequence[str], least: int = 2) -> list[str]:
        words = list(dict.fromkeys(self.word(name, v) for v in _list(name, value)))
        if len(words) < least:
            raise UsageError(
                f"semantic tables: {name}: {list(value)!r} has fewer than {least} different entries: add one"
            )
        return words

    def antonym(self, pair: Sequence[str]) -> None:
        words = self.group("antonyms", pair)
        if len(words) != 2:
            raise UsageError(f"semantic tables: antonyms: {list(pair)!r} is not a pair: write two entries")
        a, b = words
        self.antonyms[a, b] = self.antonyms[b, a] = "antonym"

    def synonym(self, group: Sequence[str]) -> None:
        words = self.group("synonyms", group)
        for at, a in enumerate(words):
            self.synonyms[a] = self.synonyms.get(a, frozenset()) | {self.groups}
            for b in words[:at]:
                # The user's word on a shipped pair of opposites counts; one on the user's own pair is a contradiction.
                kind = self.antonyms.pop((a, b), None)
                self.antonyms.pop((b, a), None)
                if kind and (a, b) not in self.tables.antonyms:
                    raise UsageError(f"semantic tables: {a!r} and {b!r} are antonyms and synonyms: take one out")
        self.groups += 1

    def entity(self, group: Sequence[str]) -> None:
        for word in self.group("entities", group):
            self.entities[word] = self.entities.get(word, frozenset()) | {self.sets}
        self.sets += 1

    def skip(self, value: str) -> None:
        self.ignore.add(self.word("ignore", value))

    def unit(self, name: str, value: object) -> None:
        words = words_of(name) if isinstance(name, str) else ()
        if len(words) != 1:
            raise UsageError(
                f"semantic tables: units: {name!r} is not one word: write the unit as it stands in prompts"
            )
        if isinstance(value, str):
            found = self.units.get(value.lower())
            if found is None:
                raise UsageError(f"semantic tables: units: {value!r} is no known unit: give [base unit, factor]")
        else:
            pair = list(value) if isinstance(value, (list, tuple)) else []
            try:
                found = (str(pair[0]).lower(), float(pair[1]))
            except (IndexError, TypeError, ValueError):
                raise UsageError(f"semantic tables: units: {name} = {value!r}: give [base unit, factor]") from None
            if not 0 < found[1] < float("inf"):
                raise UsageError(
                    f"semantic tables: units: {name}: factor {found[1]} is not above 0: give a positive one"
                )
        self.units[words[0]] = found
        # "2 crates", where nothing else is said about them.
        self.units.setdefault(words[0] + "s", found)

    def result(self) -> Tables:
        phrases = self.tables.phrases
        if self.phrases:
            merged = {words: stands for rest in phrases.values() for same in rest.values() for words, stands in same}
            phrases = load.index_phrases(merged | self.phrases)
        return replace(
            self.tables, antonyms=self.antonyms, synonyms=self.synonyms, entities=self.entities, phrases=phrases,
            units=self.units, ignore=frozenset(self.ignore), own=frozenset(self.own),
        )  # fmt: skip
