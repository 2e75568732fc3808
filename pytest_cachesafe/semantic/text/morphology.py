"""Base forms by rule, spelling variants folded, small spelling mistakes told from other words. English."""

from __future__ import annotations

from functools import lru_cache

from pytest_cachesafe.semantic.tables.grammar import IRREGULAR
from pytest_cachesafe.semantic.tables.word_set import word_list

__all__ = ["base_form", "one_slip", "spelling", "stem"]

_VOWELS = frozenset("aeiouy")


@lru_cache(maxsize=100_000)
def base_form(word: str, known: frozenset[str]) -> str:
    """Singular or infinitive of a word; the word itself where no rule leads to a word of `known`."""
    found = IRREGULAR.get(word)
    if found is not None:
        return found
    if len(word) < 4 or "_" in word:
        return word
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return _plural(word, known)
    if word[-1] not in "gdrt":
        # None of the endings that follow.
        return word
    for ending in ("ing", "ied", "ed", "ier", "iest", "er", "est"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            root = word[: -len(ending)]
            for candidate in _roots(root, ending):
                if candidate in known:
                    # "er" makes words of its own (printer, buyer): only adjectives lose it, and those are short.
                    if ending in {"er", "est"} and (word in known and (ending == "er" or word.endswith("rest"))):
                        return word
                    return candidate
            return word
    return word


def _plural(word: str, known: frozenset[str]) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-1] if word[:-1] in known else word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    if word.endswith("oes") and word[:-2] in known:
        return word[:-2]
    single = word[:-1]
    if word.endswith("ses") and single not in known and word[:-2] in known:
        return word[:-2]
    return single


def _roots(root: str, ending: str) -> tuple[str, ...]:
    if ending in {"ied", "ier", "iest"}:
        return (root + "y",)
    if root[-1] == "e" and not root.endswith(("ee", "oe", "ye")):
        # A final e falls in front of these endings: no word is made of "cove" and "ed".
        return ()
    if len(root) > 2 and root[-1] == root[-2] and root[-1] not in _VOWELS:
        # "stop" doubles its last letter, "boil" does not.
        single = root[-3:-2] in _VOWELS and root[-4:-3] not in _VOWELS
        return (root, root[:-1]) if single else (root,)
    # "hoping" is of "hope": "hop" would double its last letter. "Open" has two syllables, "list" two consonants.
    short = len(root) <= 4 and root[-1] not in _VOWELS and root[-1] not in "wx" and root[-2] in _VOWELS
    if short and root[-3] not in _VOWELS and not any(c in _VOWELS for c in root[:-2]):
        return (root + "e",)
    return (root, root + "e")


_SPELT = {"isation": "ization", "ising": "izing", "ise": "ize", "yse": "yze", "our": "or", "ourite": "orite",
          "ogue": "og", "tre": "ter", "bre": "ber", "ence": "ense", "amme": "am", "olour": "olor", "llment": "lment",
          "ll": "l"}  # fmt: skip
_BRITISH = tuple(_SPELT)


@lru_cache(maxsize=50_000)
def spelling(word: str) -> str:
    """One spelling for British and American: colour, organise, centre, catalogue, travelled, licence, programme."""
    if len(word) < 5:
        return {"grey": "gray", "tyre": "tire", "okay": "ok"}.get(word, word)
    if word.endswith(_BRITISH):
        for old, new in _SPELT.items():
            if word.endswith(old):
                word = word[: -len(old)] + new
                break
    return word.replace("aem", "em").replace("oed", "ed").replace("dgement", "dgment")


_ENDINGS = word_list(
    "izations ization ations ation itions ition ments ment ances ance ences ence encies ency ancies ancy ities ity "
    "iness ness ically ally ably ibly ical ions ion ings ing able ible ive ors or ers er ants ant ents ent ies ied "
    "ely ily ly ed es al ic y e s"
)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """What is left without derivational endings, at least four letters: cancel and cancellation are one stem."""
    for ending in _ENDINGS if word.endswith(_ENDINGS) else ():
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            break
    if len(word) > 4 and (word[-1] == word[-2] or word[-1] == "e"):
        word = word[:-1]
    return word


def one_slip(a: str, b: str) -> bool:
    """Whether one slip of the fingers makes one word of the other: a letter more, less, other, or two exchanged."""
    if abs(len(a) - len(b)) > 1 or a == b:
        return False
    at = 0
    limit = min(len(a), len(b))
    while at < limit and a[at] == b[at]:
        at += 1
    rest_a, rest_b = a[at:], b[at:]
    if len(a) == len(b):
        swapped = rest_a[:2] == rest_b[1::-1] and rest_a[2:] == rest_b[2:]
        return rest_a[1:] == rest_b[1:] or swapped
    return rest_a[1:] == rest_b if len(a) > len(b) else rest_a == rest_b[1:]
