"""Mutators of values: number, money, percentage, unit, period, date, version, code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_cachesafe.semantic.mutants.mutant import Change, Context, like, replaced
from pytest_cachesafe.semantic.mutants.vocabulary import WRITTEN
from pytest_cachesafe.semantic.tables.measures import CURRENCIES, NUMBERS

__all__ = ["code", "date", "number", "number_words", "period", "unit", "version"]

_I = re.IGNORECASE
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTH = "|".join(_MONTHS)
# A number of its own: no part of a code, a date, a clock time, a version, a larger number, a sum.
_NUMBER = re.compile(
    r"(?<![\w.,:/#+*=-])(?P<sign>[$€£])?(?P<value>\d{1,3}(?:,\d{3})+|\d{1,7})(?P<part>\.\d{1,2})?(?![\w:/+*=-]|[.,]\d)"
    r"(?P<after>\s?%|\s+per\s?cent\b|\s+percent\b)?"
)  # fmt: skip
_CURRENCY = re.compile(
    rf"(?:\.\d+)?\s?(?:{'|'.join(map(re.escape, sorted(CURRENCIES, key=len, reverse=True)))})(?!\w)", _I
)
_YEAR = re.compile(r"(?<![\w.,:/#$€£-])(?:19[5-9]|20[0-4])\d(?![\w:/%-]|[.,]\d)")
_ISO = re.compile(r"(?<![\w-])(\d{4})-(\d{2})-(\d{2})(?![\w-])")
_CLOCK = re.compile(r"(?<![\w:.])(\d{1,2})(:\d{2})?\s?(am|pm)\b", _I)
# No part of a larger number or of a clock time: forty-two, half four, at six.
_IN_WORDS = re.compile(
    rf"(?<![\w-])(?<!half )(?<!past )(?<!to )(?<!at )(?<!hundred )({'|'.join(sorted(WRITTEN))})\b"
    rf"(?!-|\s+(?:{'|'.join(sorted(NUMBERS))}|hundred|thousand|million|o'clock|in\s+the)\b)",
    _I,
)
_BEFORE_NAME = re.compile(r"(?:^|[\s(])([A-Z][A-Za-z+#]*[A-Za-z])\s+$")
_NO_NAME = frozenset((
    "A", "About", "After", "All", "An", "And", "Are", "At", "Before", "By", "Can", "Count", "Did", "Do", "Does",
    "For", "From", "Has", "Have", "How", "I", "If", "In", "Is", "List", "My", "Need", "Of", "On", "Or", "Over",
    "Please", "Set", "Show", "Step", "The", "To", "Under", "Use", "Was", "We", "What", "When", "Where", "Which",
    "Who", "Why", "Will", "With", "You",
))  # fmt: skip


def number(prompt: str, context: Context) -> Iterator[Change]:
    """Another number: ten times, twice, three more. In figures or in words."""
    years = {match.span() for match in _YEAR.finditer(prompt)}
    for match in _NUMBER.finditer(prompt):
        if match.span("value") in years or _dated(prompt, match) or _name_before(prompt, match.start()):
            continue
        value = int(match["value"].replace(",", ""))
        money = match["sign"] or _CURRENCY.match(prompt, match.end("value"))
        kind = "money" if money else "percent" if match["after"] else "number"
        for new in dict.fromkeys((value * 10, value * 2, value + 3)):
            # A share of more than a hundred, a day of the month beyond its end: other words would show it at once.
            if new == value or (kind == "percent" and new > 100):
                continue
            words = f"{new:,}" if "," in match["value"] else str(new)
            yield Change(replaced(prompt, match, words, "value"), match["value"], words, (kind,))
    for match in _IN_WORDS.finditer(prompt):
        value = NUMBERS[match[1].lower()]
        for other, new in NUMBERS.items():
            if new in (value * 2, value * 10) and other in WRITTEN:
                yield Change(replaced(prompt, match, like(other, match[1])), match[1], other, ("number",))


def number_words(prompt: str) -> Iterator[Change]:
    """The same number in words or in figures, for a twin."""
    words = {value: word for word, value in NUMBERS.items() if word in WRITTEN}
    years = {match.span() for match in _YEAR.finditer(prompt)}
    for match in _NUMBER.finditer(prompt):
        plain = not match["sign"] and not match["part"] and "," not in match["value"] and not match["after"]
        outside = match.span("value") not in years and not _dated(prompt, match)
        if plain and outside and not _name_before(prompt, match.start()) and int(match["value"]) in words:
            word = words[int(match["value"])]
            yield Change(replaced(prompt, match, word, "value"), match["value"], word)
    for match in _IN_WORDS.finditer(prompt):
        figure = str(NUMBERS[match[1].lower()])
        yield Change(replaced(prompt, match, figure), match[1], figure)


def _dated(prompt: str, match: re.Match[str]) -> bool:
    """Whether a number is the day of a date, a clock time, or the number of a thing (page 3)."""
    before, after = prompt[: match.start()], prompt[match.end() :]
    return bool(
        re.search(rf"\b(?:{_MONTH})\.?\s+$", before, _I)
        or re.match(rf"\s+(?:of\s+)?(?:{_MONTH})\b", after, _I)
        or re.match(r"\s?(?:am|pm|a\.m|p\.m|o'clock)\b", after, _I)
        or re.search(r"\b(?:at|version|release|v)\s+$", before, _I)
    )


def _name_before(prompt: str, start: int) -> str | None:
    """The product or place that a number belongs to: Postgres 14."""
    found = _BEFORE_NAME.search(prompt[:start])
    if found is None or found[1] in _NO_NAME or found[1] in _MONTHS or found[1] in _DAYS:
        return None
    # A capital at the start of a sentence says nothing.
    head = prompt[: found.start(1)].rstrip()
    return found[1] if head and head[-1] not in ".!?:;" else None


_FAMILIES = tuple(
    tuple(line.split())
    for line in (
        "second minute hour day week month year", "KB MB GB TB", "mcg mg g", "kg lb", "km mile", "ml litre", "cm mm",
        "kilometre metre",
    )
)  # fmt: skip
_PLURAL = frozenset(("second", "minute", "hour", "day", "week", "month", "year", "mile", "litre", "kilometre", "metre"))
_UNIT = {name.lower(): family for family in _FAMILIES for name in family}
_NAMES = "|".join(sorted(_UNIT, key=len, reverse=True))
_MEASURE = re.compile(rf"(?:(?<![\w.])\d[\d,.]*|\b(?:{'|'.join(sorted(WRITTEN))}))(?:\s|-)?({_NAMES})(s?)\b", _I)


def unit(prompt: str, context: Context) -> Iterator[Change]:
    """The same number of another unit: 30 seconds, 30 minutes."""
    for match in _MEASURE.finditer(prompt):
        name = match[1].lower()
        if match[2] and name not in _PLURAL:
            continue
        family = _UNIT[name]
        at = [n.lower() for n in family].index(name)
        for other in family[at + 1 : at + 2] + family[max(at - 1, 0) : at]:
            # "mile" takes its s from the number, "mg" never has one.
            many = "s" if (match[2] or name not in _PLURAL) and other in _PLURAL else ""
            words = other + many
            text = prompt[: match.start(1)] + words + prompt[match.end() :]
            yield Change(text, match[1] + match[2], words, ("unit",))


_PERIODS = ("daily", "weekly", "monthly", "quarterly", "yearly")
_SAME = {"annual": "yearly", "annually": "yearly"}
_EACH = re.compile(r"\b(per|each|every)(\s+)(day|week|month|quarter|year)\b", _I)


def period(prompt: str, context: Context) -> Iterator[Change]:
    """Monthly for annual, per month for per year."""
    for match in re.finditer(rf"\b({'|'.join((*_PERIODS, *_SAME))})\b", prompt, _I):
        low = match[1].lower()
        for other in ("monthly", "annual" if low == "monthly" else "weekly"):
            if other != low and not (low in ("daily", "quarterly") and other == "weekly"):
                text = replaced(prompt, match, like(other, match[1]))
                yield Change(_a_an(text, match.start()), match[1], other, ("period",))
    for match in _EACH.finditer(prompt):
        low = match[3].lower()
        for other in ("year", "month", "week"):
            if other != low:
                yield Change(replaced(prompt, match, other, 3), match[3], other, ("period",))


def _a_an(text: str, start: int) -> str:
    found = re.search(r"\b(an?)\s+$", text[:start], _I)
    if found is None:
        return text
    return (
        text[: found.start(1)] + like("an" if text[start].lower() in "aeio" else "a", found[1]) + text[found.end(1) :]
    )


def date(prompt: str, context: Context) -> Iterator[Change]:
    """Another year, month, day of the week, date, or time of day."""
    for match in _YEAR.finditer(prompt):
        for new in (int(match[0]) + 1, int(match[0]) - 1):
            yield Change(replaced(prompt, match, str(new)), match[0], str(new), ("date",))
    for match in _ISO.finditer(prompt):
        words = f"{match[1]}-{int(match[2]) % 12 + 1:02d}-{match[3]}"
        yield Change(replaced(prompt, match, words), match[0], words, ("date",))
    for names, kind in ((_MONTHS, "month"), (_DAYS, "weekday")):
        for at, name in enumerate(names):
            # "May" and "March" are words as well: only with a capital, and not as the first word.
            for match in re.finditer(rf"(?<=\w\s)\b{name}\b", prompt):
                other = names[(at + 1) % len(names)]
                yield Change(replaced(prompt, match, other), match[0], other, (kind,))
    for one, other in (("today", "tomorrow"), ("tomorrow", "yesterday"), ("yesterday", "today")):
        for match in re.finditer(rf"\b{one}\b", prompt, _I):
            yield Change(replaced(prompt, match, like(other, match[0])), match[0], other, ("date",))
    for match in _CLOCK.finditer(prompt):
        other = like("pm" if match[3].lower() == "am" else "am", match[3])
        yield Change(replaced(prompt, match, other, 3), match[3], other, ("time",))


def version(prompt: str, context: Context) -> Iterator[Change]:
    """The next version of the same thing."""
    for match in re.finditer(r"(?<![\w.-])v?\d+(?:\.\d+){2,}(?![\w-])", prompt, _I):
        head, _, tail = match[0].rpartition(".")
        words = f"{head}.{int(tail) + 1}"
        yield Change(replaced(prompt, match, words), match[0], words, ("version",))
    for match in re.finditer(r"\b(?:v|version\s|release\s)(\d+(?:\.\d+)?)(?![\w.]*\d)\b", prompt, _I):
        yield _next(prompt, match, 1)
    for match in re.finditer(r"(?<=[A-Za-z+#]\s)(\d{1,2}(?:\.\d{1,2})?)(?![\w:/%-]|[.,]\d|\s?(?:am|pm)\b)", prompt):
        name = _name_before(prompt, match.start())
        if name is not None:
            yield _next(prompt, match, 1)


def _next(prompt: str, match: re.Match[str], group: int) -> Change:
    head, dot, tail = match[group].rpartition(".")
    words = f"{head}{dot}{int(tail) + 1}"
    return Change(replaced(prompt, match, words, group), match[group], words, ("version", "number"))


def code(prompt: str, context: Context) -> Iterator[Change]:
    """The next code: INV-2217, INV-2218."""
    for match in re.finditer(r"(?<![\w-])[A-Z]{2,6}[-_#]?(\d{3,8})(?![\w-])", prompt):
        new = str(int(match[1]) + 1).zfill(len(match[1]))
        yield Change(replaced(prompt, match, new, 1), match[0], match[0][: -len(match[1])] + new, ("code",))
