"""Mutators of what stands where: direction, entities of the same set, language and format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_cachesafe.semantic.mutants.mutant import Change, Context, like, replaced
from pytest_cachesafe.semantic.tables.grammar import ARTICLES, AUX, FUNCTION, NEGATIONS, PERSONS, QUANTIFIERS
from pytest_cachesafe.semantic.tables.measures import FORMATS, LANGUAGES, MONTHS, PERIODS, WEEKDAYS
from pytest_cachesafe.semantic.text.morphology import base_form, one_slip

if TYPE_CHECKING:
    from pytest_cachesafe.semantic.tables import Tables

__all__ = ["context_of", "direction", "entity", "form", "language"]

_I = re.IGNORECASE
# An argument: one to three words, none of which begins another part of the sentence.
_STOP = (
    r"(?!(?:from|to|for|in|on|at|with|when|and|or|if|by|as|the\s+same|of|than|before|after|via|using|without|is|are)\b)"
)
_BARE = rf"(?!(?:a|an|the|my|our|your)\b){_STOP}[A-Za-z][\w+#.'-]*\w"
# The second word is no participle, which goes on about the whole: from Berlin to Munich delayed.
_ARGUMENT = (
    rf"(?:the\s+)?(?!(?:a|an|my|our|your)\b){_STOP}[A-Za-z][\w+#.'-]*\w"
    rf"(?:\s+{_STOP}(?!\w+(?:ed|ing)\b)[A-Za-z][\w'-]*\w)??"
)
_END = r"(?=\s*(?:[?.!,;:]|$)|\s+(?:for|in|on|with|when|and|if|using|without|at|by|per|via)\b)"
_FROM_TO = re.compile(rf"\bfrom\s+(?P<x>{_ARGUMENT})\s+to\s+(?P<y>{_ARGUMENT}){_END}", _I)
_VERB_TO = re.compile(
    rf"\b(?:convert|migrate|translate|transfer|prefer)\s+(?!from\b)(?P<x>{_BARE})\s+to\s+(?P<y>{_BARE}){_END}", _I
)
# A capital at the start of a sentence makes no name of "Is", "Which" or "Find": there, only what has a verb behind it.
_CLOSED = ARTICLES | AUX | FUNCTION | NEGATIONS | set(PERSONS) | set(QUANTIFIERS)
# As a sentence begins with them; US and IT are names.
_NO_NAME = rf"(?!(?:{'|'.join(sorted(word.capitalize() for word in _CLOSED))})\b)"
_PART = r"[A-Z](?:[\w+#.-]*[\w+#])?"
_NAMED = rf"(?<![\w+#.-]){_NO_NAME}{_PART}(?:\s+{_PART}){{0,2}}(?![\w+#-])(?!\s+[A-Z])"
_VERB = r"(?:is|are|was|were|has|costs?|runs?|takes?|uses?|performs?|scales?|works?|pays?|gets?)\b"
_THAN = re.compile(
    rf"(?P<x>(?<=\w\s){_NAMED}|(?<!\w\s){_NAMED}(?=\s+{_VERB}))\s+(?:\w+\s+){{0,2}}than\s+(?P<y>{_NAMED})"
)


def direction(prompt: str, context: Context) -> Iterator[Change]:
    """From X to Y for from Y to X, before for after."""
    for pattern in (_FROM_TO, _VERB_TO, _THAN):
        for match in pattern.finditer(prompt):
            x, y = match["x"], match["y"]
            if x.lower() == y.lower():
                continue
            between = prompt[match.end("x") : match.start("y")]
            text = prompt[: match.start("x")] + y + between + x + prompt[match.end("y") :]
            yield Change(text, f"{x} … {y}", f"{y} … {x}", ("direction",))
    for one, other in (("before", "after"), ("after", "before")):
        for match in re.finditer(rf"(?<=\w\s)\b{one}\b(?=\s+\w)", prompt, _I):
            yield Change(replaced(prompt, match, like(other, match[0])), match[0], other, ("direction",))


def entity(prompt: str, context: Context) -> Iterator[Change]:
    """A name replaced by another one that the set uses in such a place."""
    low = prompt.lower()
    # What is looked up is in the prompt; a set may have thousands of names.
    words = [match.span() for match in _NAME.finditer(prompt)]
    spans = [span for span in words if low[slice(*span)] in context.siblings]
    for phrase in context.phrases:
        spans += [match.span() for match in re.finditer(rf"(?<![\w-]){re.escape(phrase)}(?![\w-])", prompt, _I)]
    for start, end in spans:
        for other in context.siblings.get(low[start:end], ()):
            # One that the prompt names already would say something twice.
            if not re.search(rf"(?<![\w-]){re.escape(other)}(?![\w-])", prompt, _I):
                name = like(other, prompt[start:end])
                yield Change(prompt[:start] + name + prompt[end:], prompt[start:end], name, ("entity",))


_LANGUAGES = ("German", "French", "Spanish", "Italian", "Dutch", "Polish", "Japanese", "Portuguese")
_PROGRAMMING = ("Python", "Java", "JavaScript", "Rust", "Ruby", "Kotlin", "PHP")
_FORMATS = ("JSON", "CSV", "XML", "YAML", "PDF", "HTML", "Markdown")


def language(prompt: str, context: Context) -> Iterator[Change]:
    """Another language, spoken or of programming."""
    for family in (_LANGUAGES, _PROGRAMMING):
        yield from _others(prompt, family, ("language",))


def form(prompt: str, context: Context) -> Iterator[Change]:
    """Another file format."""
    yield from _others(prompt, _FORMATS, ("format",))


def _others(prompt: str, family: Sequence[str], kinds: tuple[str, ...]) -> Iterator[Change]:
    for at, name in enumerate(family):
        for match in re.finditer(rf"(?<![\w-]){name}(?![\w-])", prompt, _I):
            # The next two that the prompt does not name.
            rest = [other for other in (*family[at + 1 :], *family[:at]) if other.lower() not in prompt.lower()]
            for other in rest[:2]:
                yield Change(replaced(prompt, match, other), match[0], other, kinds)


# A name that is an argument by itself, no part of a longer one (Companies House, a Windows PC).
_CAPITAL = re.compile(
    r"(?<=[a-z]\s)([A-Z][\w+#]*[a-zA-Z])(?=\s*(?:[?.!,;:]|$)|\s+(?:for|in|on|with|when|and|or|if|to|from|using|at|by|per|run|work)\b)"
)
_NO_NAMES = frozenset((*LANGUAGES, *FORMATS, *MONTHS, *WEEKDAYS, *PERIODS))
_NAME = re.compile(r"(?<![\w-])[\w+#]+(?![\w-])")
# Siblings that a name may be replaced by.
_MOST = 5
_PLACE = re.compile(r"([a-z]+)\s+$")


def context_of(prompts: Sequence[str], tables: Tables) -> Context:
    """What each prompt's mutants may take from the others: names in like places, the user's own sets and opposites."""
    siblings: dict[str, list[str]] = {}
    groups: dict[int, list[str]] = {}
    for word, numbers in tables.entities.items():
        for group in numbers:
            groups.setdefault(group, []).append(word.replace("_", " "))
    for _, words in sorted(groups.items()):
        _link(sorted(words), siblings)
    own = frozenset(siblings)
    for _, names in sorted(_names(prompts, tables).items()):
        # The user's own sets are better than a guess.
        _link(sorted(name for name in names if name.lower() not in own), siblings)
    return Context(
        {word: tuple(dict.fromkeys(words)) for word, words in siblings.items()},
        tuple(sorted(word for word in siblings if not _NAME.fullmatch(word))),
        _own_antonyms(tables),
    )


def _link(names: Sequence[str], siblings: dict[str, list[str]]) -> None:
    """Give each name the ones after it, round the end."""
    for at, name in enumerate(names):
        others = (names[(at + step) % len(names)] for step in range(1, min(len(names), _MOST + 4)))
        # One letter apart is how a name is misspelt.
        apart = [n for n in others if n.lower() != name.lower() and not one_slip(n.lower(), name.lower())]
        siblings.setdefault(name.lower(), []).extend(apart[:_MOST])


def _names(prompts: Sequence[str], tables: Tables) -> dict[str, set[str]]:
    """Names by the word before them: those that stand behind the same word are of a kind."""
    found: dict[str, set[str]] = {}
    for prompt in prompts:
        for match in _CAPITAL.finditer(prompt):
            low = match[1].lower()
            before = _PLACE.search(prompt[: match.start()])
            # A capital alone is how titles are written; what the tables know as a common word is none.
            common = low in tables.words or base_form(low, tables.words) in tables.words
            if before and low not in _NO_NAMES and (low in tables.names or not common):
                found.setdefault(before[1], set()).add(match[1])
    return found


def _own_antonyms(tables: Tables) -> Mapping[str, tuple[str, ...]]:
    shipped = type(tables).default().antonyms
    own: dict[str, list[str]] = {}
    for a, b in sorted(tables.antonyms):
        if (a, b) not in shipped:
            own.setdefault(a.replace("_", " "), []).append(b.replace("_", " "))
    return {word: tuple(words) for word, words in own.items()}
