"""Makes the WordNet tables of `pytest_cachesafe/semantic/tables/wordnet/` from the database files of WordNet 3.1.

    python tests/support/wordnet_tables.py DICT OUT

DICT is a folder with `data.noun`, `data.verb`, `data.adj`, `data.adv` and `index.sense`, in the format of wndb(5WN) and
senseidx(5WN). Written to OUT: `antonyms.txt`, `synonyms.txt`, `words.txt`, `rare.txt`, `names.txt` and `LICENSE`, the
notice WordNet asks for, as it stands at the head of the database files.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PARTS = ("noun", "verb", "adj", "adv")
WORD = re.compile(r"[a-z]{2,}")
# What the notice is set in: two blanks and a line number.
NOTICE = re.compile(r"^  +\d+ ?(.*)$")


class Synset(NamedTuple):
    """One line of a data file."""

    part: str
    # As written, with `_` for blanks.
    lemmas: list[str]
    # (relation, place of the target, part of speech of the target, word here, word there), words from 1, 0 for all.
    pointers: list[tuple[str, int, str, int, int]]


def main(source: Path, target: Path) -> None:
    """Reads the database, writes the tables."""
    synsets = {(s.part, place): s for part in PARTS for place, s in read(source / f"data.{part}", part)}
    counts, ranks = read_counts(source / "index.sense")
    target.mkdir(parents=True, exist_ok=True)
    head = "# {}\n# From WordNet 3.1, Copyright 2011 by Princeton University; see LICENSE. Made by {}.\n"
    for name, what, lines in (
        ("antonyms", "Single-word antonyms, one pair a line", antonyms(synsets)),
        ("synonyms", "Words of one synset, each often or first in that sense", synonyms(synsets, counts, ranks)),
        ("words", "Single words that are not names, seen in WordNet's tagged texts", words(synsets, seen(counts))),
        ("rare", "Single words that are not names, not seen there", rare(synsets, seen(counts))),
        ("names", "Single words that WordNet only has with a capital", names(synsets)),
    ):
        text = head.format(what, "tests/support/wordnet_tables.py") + "\n".join(lines) + "\n"
        (target / f"{name}.txt").write_text(text, encoding="utf-8", newline="\n")
    (target / "LICENSE").write_text(notice(source / "data.adj"), encoding="utf-8", newline="\n")


def read(path: Path, part: str) -> Iterator[tuple[int, Synset]]:
    """The synsets of a data file with their place in it."""
    for line in path.read_text(encoding="latin-1").splitlines():
        if line.startswith("  "):
            continue
        fields = line.partition(" | ")[0].split()
        count = int(fields[3], 16)
        lemmas = [re.sub(r"\([a-z]+\)$", "", fields[4 + 2 * i]) for i in range(count)]
        at = 4 + 2 * count
        pointers = []
        for i in range(int(fields[at])):
            sign, place, to, ends = fields[at + 1 + 4 * i : at + 5 + 4 * i]
            pointers.append((sign, int(place), to, int(ends[:2], 16), int(ends[2:], 16)))
        yield int(fields[0]), Synset(part, lemmas, pointers)


def read_counts(path: Path) -> tuple[dict[tuple[str, str, int], int], dict[tuple[str, str, int], int]]:
    """How often a lemma was tagged with a synset, and which of its senses that is: (lemma, part, place) = number."""
    found, ranks = {}, {}
    for line in path.read_text(encoding="latin-1").splitlines():
        key, place, rank, count = line.split()
        lemma, _, rest = key.partition("%")
        part = {"1": "noun", "2": "verb", "3": "adj", "4": "adv", "5": "adj"}[rest[0]]
        found[lemma, part, int(place)] = int(count)
        ranks[lemma, part, int(place)] = int(rank)
    return found, ranks


def antonyms(synsets: dict[tuple[str, int], Synset]) -> list[str]:
    """Pairs in both directions once, sorted."""
    pairs = set()
    for synset in synsets.values():
        for sign, place, to, here, there in synset.pointers:
            if sign != "!":
                continue
            other = synsets[{"n": "noun", "v": "verb", "a": "adj", "s": "adj", "r": "adv"}[to], place]
            pair = sorted({synset.lemmas[here - 1], other.lemmas[there - 1]})
            if len(pair) == 2 and all(map(WORD.fullmatch, pair)):
                pairs.add(" ".join(pair))
    return sorted(pairs)


def synonyms(
    synsets: dict[tuple[str, int], Synset],
    counts: dict[tuple[str, str, int], int],
    ranks: dict[tuple[str, str, int], int],
) -> list[str]:
    """Groups of two and more, sorted: words tagged in this sense, or nouns that have it first; one of them common."""
    groups = set()
    common = seen(counts)
    for (part, place), synset in synsets.items():
        group = sorted(
            {
                w
                for w in synset.lemmas
                if WORD.fullmatch(w)
                and (counts.get((w, part, place), 0) > 0 or (part == "noun" and ranks.get((w, part, place)) == 1))
            }
        )
        if len(group) > 1 and not common.isdisjoint(group):
            groups.add(" ".join(group))
    return sorted(groups)


def seen(counts: dict[tuple[str, str, int], int]) -> set[str]:
    """Lemmas that were tagged at least once."""
    return {lemma for (lemma, _, _), count in counts.items() if count}


def all_words(synsets: dict[tuple[str, int], Synset]) -> set[str]:
    """Lower-case words."""
    return {w for s in synsets.values() for w in s.lemmas if WORD.fullmatch(w)}


def words(synsets: dict[tuple[str, int], Synset], tagged: set[str]) -> list[str]:
    """The common ones."""
    return sorted(all_words(synsets) & tagged)


def rare(synsets: dict[tuple[str, int], Synset], tagged: set[str]) -> list[str]:
    """The others."""
    return sorted(all_words(synsets) - tagged)


def names(synsets: dict[tuple[str, int], Synset]) -> list[str]:
    """Words with a capital, in lower case, that are no words otherwise."""
    common = all_words(synsets)
    found = {w.lower() for s in synsets.values() if s.part == "noun" for w in s.lemmas if w[:1].isupper()}
    return sorted(w for w in found if WORD.fullmatch(w) and len(w) > 2 and w not in common)


def notice(path: Path) -> str:
    """The lines of the notice."""
    lines = []
    for line in path.read_text(encoding="latin-1").splitlines():
        if not line.startswith("  "):
            break
        found = NOTICE.match(line)
        lines.append((found[1] if found else line).rstrip())
    return "\n".join(lines).strip() + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
