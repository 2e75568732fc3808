"""Reads the shipped tables into the forms that are looked up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from pytest_cachesafe.semantic.tables import antonyms, grammar, measures, names, phrases
from pytest_cachesafe.semantic.text.morphology import base_form, spelling

__all__ = [
    "Phrases",
    "broad_antonyms",
    "broad_synonyms",
    "calendar_words",
    "common_words",
    "hand_antonyms",
    "hand_synonyms",
    "index_phrases",
    "known_names",
    "known_words",
    "phrase_table",
    "separable",
    "wordnet_lines",
]

# First word = second word, empty for a phrase of one = (all words, what stands for them), longest first.
Phrases = Mapping[str, Mapping[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]]]

_WORDNET = Path(__file__).with_name("wordnet")
_ENGLISH = Path(__file__).with_name("english")


def wordnet_lines(name: str) -> Iterator[str]:
    """The lines of a WordNet table without its header."""
    return _lines(_WORDNET / f"{name}.txt")


def _lines(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line[:1] != "#":
            yield line


@lru_cache(maxsize=1)
def known_words() -> frozenset[str]:
    """Words that are no names, base forms mostly."""
    return common_words() | frozenset(wordnet_lines("rare"))


@lru_cache(maxsize=1)
def common_words() -> frozenset[str]:
    """Words that a slip of the pen hardly ever makes."""
    return frozenset(wordnet_lines("words")) | grammar.VOCABULARY | grammar.FUNCTION | frozenset(measures.UNITS)


@lru_cache(maxsize=1)
def known_names() -> frozenset[str]:
    """Words that are names, wherever they stand."""
    found = set(wordnet_lines("names")) | names.NAMES
    found -= grammar.FUNCTION | grammar.VOCABULARY
    return frozenset(found)


def _base(word: str) -> str:
    return spelling(base_form(word, known_words()))


@lru_cache(maxsize=1)
def hand_antonyms() -> dict[tuple[str, str], str]:
    """(one, other) in both orders = kind."""
    found: dict[tuple[str, str], str] = {}
    for kind, text in antonyms.ANTONYMS.items():
        for entry in text.split():
            a, b = map(_base, entry.split("/"))
            if a != b:
                found[a, b] = found[b, a] = kind
    return found


@lru_cache(maxsize=1)
def broad_antonyms() -> frozenset[tuple[str, str]]:
    """WordNet's pairs in both orders, without those that questions do not mean."""
    skip = {frozenset(map(_base, entry.split("/"))) for entry in antonyms.NOT_ANTONYMS.split()}
    found = set()
    for line in wordnet_lines("antonyms"):
        a, b = map(_base, line.split(" "))
        if a != b and frozenset((a, b)) not in skip:
            found |= {(a, b), (b, a)}
    return frozenset(found)


def _groups(lines: Iterable[str]) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for at, line in enumerate(lines):
        for word in line.split():
            found.setdefault(_base(word), set()).add(at)
    return {word: frozenset(groups) for word, groups in found.items()}


@lru_cache(maxsize=1)
def hand_synonyms() -> dict[str, frozenset[int]]:
    """Word = numbers of its groups."""
    return _groups(_lines(_ENGLISH / "synonyms.txt"))


@lru_cache(maxsize=1)
def broad_synonyms() -> dict[str, frozenset[int]]:
    """Word = numbers of its WordNet groups."""
    return _groups(wordnet_lines("synonyms"))


@lru_cache(maxsize=1)
def phrase_table() -> Phrases:
    """Phrases and what is empty, by first word."""
    entries: dict[tuple[str, ...], tuple[str, ...]] = {}
    for line in _lines(_ENGLISH / "empty.txt"):
        empty = tuple(line.split())
        entries[empty] = ()
        if len(empty) > 2 and empty[0] in {"could", "can", "would", "will"} and empty[1] == "you":
            # "Could you please tell me", "please could you tell me".
            for courtesy in ("please", "kindly"):
                for said in ((*empty[:2], courtesy, *empty[2:]), (courtesy, *empty)):
                    entries[said] = ()
    for line in _lines(_ENGLISH / "phrases.txt"):
        words, _, stands = line.partition("=")
        entries[tuple(words.split())] = tuple(stands.split())
    for word, stands in phrases.CONTRACTED.items():
        entries[(word,)] = tuple(stands.split())
    return index_phrases(entries)


def index_phrases(entries: Mapping[tuple[str, ...], tuple[str, ...]]) -> Phrases:
    """By first and second word, longest first."""
    found: dict[str, dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]]] = {}
    for words, stands in entries.items():
        second = words[1] if len(words) > 1 else ""
        found.setdefault(words[0], {}).setdefault(second, []).append((words, stands))
    return {
        first: {second: tuple(sorted(same, key=lambda e: (-len(e[0]), e))) for second, same in rest.items()}
        for first, rest in found.items()
    }


@lru_cache(maxsize=1)
def calendar_words() -> frozenset[str]:
    """Words that values are read from: they are known, whatever WordNet has."""
    numbers = (measures.NUMBERS, measures.SCALES, measures.ORDINALS, measures.CURRENCIES)
    dates = (measures.MONTHS, measures.WEEKDAYS, measures.PERIODS, measures.RELATIVE)
    closed = (measures.LANGUAGES, measures.FORMATS, phrases.CONTRACTED)
    single = {first for first, rest in phrase_table().items() if "" in rest}
    return frozenset(single.union(*numbers, *dates, *closed))


@lru_cache(maxsize=1)
def separable() -> dict[str, dict[str, str]]:
    """Verb = particle = one word."""
    found: dict[str, dict[str, str]] = {}
    for line in phrases.SEPARABLE.strip().splitlines():
        words, _, stands = line.partition("=")
        verb, particle = words.split()
        found.setdefault(verb, {})[particle] = stands.strip()
    return found
