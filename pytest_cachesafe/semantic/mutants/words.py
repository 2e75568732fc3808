"""Mutators of words: negation, opposites, quantifiers and comparatives, roles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from pytest_cachesafe.semantic.mutants.mutant import Change, Context, like, replaced
from pytest_cachesafe.semantic.mutants.vocabulary import COMMANDS, COMPARATIVES, NOUNS_TOO, QUANTIFIERS, ROLES, VAGUE
from pytest_cachesafe.semantic.tables.antonyms import ANTONYMS
from pytest_cachesafe.semantic.tables.grammar import IRREGULAR, NEGATIONS

__all__ = ["antonym", "comparative", "negation", "quantifier", "role"]

_I = re.IGNORECASE
_PRONOUN = r"(?:I|you|we|they|he|she)"
_BE = r"(?:am|is|are|was|were|can|could|may|must|should|will|would)"
_THING = rf"(?:{_PRONOUN}|(?:my|your|our|their|the|this|that)\s+[a-z]+)"
# Where "not" can be put in without turning the sentence into a polite form of itself ("isn't it …"): behind the group.
_PUT_IN = (
    # if I am (not) pregnant
    re.compile(rf"\b(?:if|when|because|while)\s+{_THING}\s+({_BE})\b(?!\s*(?:not\b|n?['’]t))", _I),
    # how can I (not) …, can I (not) …; "do you not …" asks the same as "don't you …" and is left alone
    re.compile(
        rf"^\W*(?:how|where|when|what|which\s+\w+)\s+(?:can|could|do|may|must|should)\s+({_PRONOUN})\b(?!\s+not\b)", _I
    ),
    re.compile(rf"^\W*(?:can|may|should|must)\s+({_PRONOUN})\b(?!\s+not\b)", _I),
    # which plans are (not) …, who can (not) …
    re.compile(rf"^\W*(?:which\s+(?:\w+\s+){{1,2}}?|who\s+)({_BE})\b(?!\s*(?:not\b|n?['’]t))(?!\s+{_PRONOUN}\b)", _I),
    # I am (not) …, the server is (not) …
    re.compile(rf"^\W*{_THING}\s+({_BE})\b(?!\s*(?:not\b|n?['’]t))", _I),
)  # fmt: skip
# And where it can be taken out: not in front, where it is a polite form.
_TAKE_OUT = re.compile(rf"(?<=\w)\s+({_BE}|do|does|did|have|has)(\s+not)\b", _I)
_OBJECT = re.compile(
    r"\s+(?:the|an?|my|our|your|this|that|these|those|all|every|each|only|any|some|it|them|me|us|up|off|on|\d|[A-Z])\b|\s+\d"
)
_COMMAND = re.compile(r"^(\W*(?:please\s+)?)([a-z]+)(?=\s)", _I)


def negation(prompt: str, context: Context) -> Iterator[Change]:
    """A "not" put in, or one taken out."""
    for pattern in _PUT_IN:
        for match in pattern.finditer(prompt):
            yield Change(prompt[: match.end(1)] + " not" + prompt[match.end(1) :], "", "not", ("negation",))
    command = _COMMAND.match(prompt)
    if command is not None and _is_verb(command[2].lower(), prompt[command.end() :]):
        word = command[2][0].lower() + command[2][1:] if not command[2].isupper() else command[2]
        words = f"{command[1]}{'do' if command[1].strip() else 'Do'} not {word}"
        yield Change(replaced(prompt, command, words), "", "not", ("negation",))
    for match in _TAKE_OUT.finditer(prompt):
        yield Change(replaced(prompt, match, "", 2), "not", "", ("negation",))


_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)?")


@lru_cache(maxsize=1)
def _opposites() -> dict[str, tuple[str, ...]]:
    """As the shipped table is written, phrases left out, without words of many senses."""
    found: dict[str, list[str]] = {}
    roles = {word for pair in ROLES for word in pair}
    for entry in ANTONYMS["antonym"].split():
        a, b = entry.split("/")
        if "_" in entry or {a, b} & VAGUE or {a, b} <= roles:
            continue
        found.setdefault(a, []).append(b)
        found.setdefault(b, []).append(a)
    # The first ones are the plainest.
    return {word: tuple(dict.fromkeys(words))[:2] for word, words in found.items()}


def _is_verb(word: str, rest: str) -> bool:
    """Whether a sentence begins with a command: "Refund my order", not "Refund policy"."""
    if word in NOUNS_TOO:
        return bool(_OBJECT.match(rest))
    return word in COMMANDS


def antonym(prompt: str, context: Context) -> Iterator[Change]:
    """A word replaced by its opposite, in the same form; the user's own pairs come first."""
    for own, others in sorted(context.antonyms.items()):
        for match in re.finditer(rf"\b{re.escape(own)}\b", prompt, _I):
            for other in others:
                yield Change(replaced(prompt, match, like(other, match[0])), match[0], other, ("antonym",))
    table = _opposites()
    for match in _WORD.finditer(prompt):
        low = match[0].lower()
        for base, inflect in _bases(low):
            for other in table.get(base, ()):
                words = inflect(other)
                if words is not None:
                    # "Always" has "never" for opposite, which negates.
                    kinds = ("antonym", "comparative", *(("negation",) if {low, words} & NEGATIONS else ()))
                    yield Change(replaced(prompt, match, like(words, match[0])), match[0], words, kinds)
            if base in table:
                break


def _bases(word: str) -> Iterator[tuple[str, Callable[[str], str | None]]]:
    """Base forms that a word may have, and how to give another base the same ending."""
    yield word, lambda other: other
    for ending, inflect in (("ing", _ing), ("ed", _ed), ("s", _s)):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            root = word[: -len(ending)]
            for base in (root, root + "e", root[:-1] if root[-1] == root[-2] else root, root[:-1] + "y"):
                if inflect(base) == word:
                    yield base, inflect


_PAST = frozenset(base for form, base in IRREGULAR.items() if form != base and not form.endswith("s"))
_DOUBLED = re.compile(r"(?:[^aeiouy]|^|qu)[aeiou][bdgmnpt]$")


def _ing(word: str) -> str | None:
    if word.endswith("e") and not word.endswith("ee"):
        return word[:-1] + "ing"
    return word + (word[-1] if _short(word) else "") + "ing"


def _ed(word: str) -> str | None:
    if word in _PAST:
        return None
    if word.endswith("e"):
        return word + "d"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ied"
    return word + (word[-1] if _short(word) else "") + "ed"


def _s(word: str) -> str | None:
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")


def _short(word: str) -> bool:
    """Whether the last letter is doubled before an ending: one syllable, or stressed as in permit, submit, admit."""
    return bool(_DOUBLED.search(word)) and (len(word) <= 4 or word.endswith("mit"))


def quantifier(prompt: str, context: Context) -> Iterator[Change]:
    """All for some and the like, or "only" taken out."""
    for pattern, other in QUANTIFIERS:
        for match in re.finditer(rf"\b{pattern}\b", prompt, _I):
            yield Change(replaced(prompt, match, like(other, match[0])), match[0], other, ("quantifier",))
    for match in re.finditer(r"(?<=\w)\s+only\b(?=\s+\w)", prompt, _I):
        yield Change(replaced(prompt, match, ""), "only", "", ("quantifier",))


def comparative(prompt: str, context: Context) -> Iterator[Change]:
    """At least for at most, highest for lowest."""
    for entry in COMPARATIVES:
        one, other = entry.split("/")
        for old, new in ((one, other), (other, one)):
            for match in re.finditer(rf"\b{old}\b", prompt, _I):
                words = like(new, match[0])
                yield Change(replaced(prompt, match, words), match[0], words, ("comparative",))


def role(prompt: str, context: Context) -> Iterator[Change]:
    """Two roles exchanged, or one replaced by its counterpart."""
    for one, other in ROLES:
        first, second = (list(re.finditer(rf"\b{word}(s?)\b", prompt, _I)) for word in (one, other))
        if len(first) == 1 and len(second) == 1:
            a, b = sorted((first[0], second[0]), key=lambda match: match.start())
            # A counterpart takes the other's place and keeps its number.
            names = (other, one) if a is first[0] else (one, other)
            words = [like(name + match[1], match[0]) for name, match in zip(names, (a, b), strict=True)]
            text = prompt[: a.start()] + words[0] + prompt[a.end() : b.start()] + words[1] + prompt[b.end() :]
            between = prompt[a.end() : b.start()].strip().lower()
            if between not in ("and", "or", "/"):
                yield Change(text, f"{a[0]} … {b[0]}", f"{words[0]} … {words[1]}", ("role_swap",))
            continue
        if len(first) + len(second) > 1:
            # Changed in one place only, the sentence would speak of both: are EU clients slower than US servers.
            continue
        for match in (*first, *second):
            new = other if match in first else one
            word = like(new + match[1], match[0])
            text = _article(replaced(prompt, match, word), match.start())
            yield Change(text, match[0], word, ("antonym",))


def _article(text: str, start: int) -> str:
    """The article before a place as the word there wants it: an admin, a viewer."""
    found = re.search(r"\b(an?)\s+$", text[:start], _I)
    if found is None:
        return text
    wanted = "an" if text[start : start + 1].lower() in "aeio" else "a"
    return text[: found.start(1)] + like(wanted, found[1]) + text[found.end(1) :]
