"""Reads values: numbers with units, money, percentages, times, dates, periods, versions, codes."""

from __future__ import annotations

from collections.abc import Mapping, Set

from pytest_cachesafe.semantic.slots.item import Item
from pytest_cachesafe.semantic.tables import measures
from pytest_cachesafe.semantic.tables.word_set import word_set
from pytest_cachesafe.semantic.text.scan import Tokens

__all__ = ["Reader", "begins"]

_SHORT_DATES = word_set("sat jan feb mar apr may jun jul aug sep sept oct nov dec march mon tue wed thu fri sun")
_BEFORE_DATES = word_set("in of a by since until till next last this every during from through on before after each")
_CURRENCY_SIGNS = frozenset("£$€¥₹")
_CURRENCY_CODES = frozenset(("rs", "usd", "eur", "gbp", "inr", "chf", "cad", "aud", "jpy"))
_FRONT = frozenset(("this", "next", "last", "previous"))
_SPANS = frozenset(
    ("week", "month", "year", "quarter", "night", "weekend", "fortnight", "decade", "morning", "evening")
)
_YEAR_FRONT = word_set("in of since for by until during before after from to the and or between year")
_VERSIONED = frozenset(("version", "release", "ver", "v", "python", "java", "node", "php", "ruby", "perl", "go"))
# "a week" is one week, but "twice a week" is weekly.
_TIMES = frozenset(("minute", "hour", "day", "week", "fortnight", "month", "quarter", "year", "decade"))
_OFTEN = frozenset(
    ("once", "twice", "times", "often", "much", "many", "days", "hours", "people", "million", "thousand")
)
_PER = frozenset(("per", "each", "every", "/"))
_C_NEXT = word_set("code program programs compiler compilers language programming library libraries header headers")
# What makes "a day" a stretch of time, and words between a number and it that belong to neither.
_APART = word_set("later earlier before after ago early late in from prior ahead or and")
_PLACED = word_set("in for within after before of by at on to from and or is was than over under with a an the about")
# "5 m" may be minutes or millions; in front of these it is a length.
_LENGTHS = word_set("of long high deep tall wide away apart swim sprint race run")
# "5 m" may be minutes or millions; in front of these it is a length.
_LENGTHS = word_set("of long high deep tall wide away apart swim sprint race run")
_WHOLE_DAY = {"noon": 720, "midday": 720, "midnight": 0}

# Words that a value may begin with: `Reader.read` gives None for every other one.
_READS = frozenset(
    ("hundred", "thousand", "million", "half", "a", "an", "quarter", "c", *measures.NUMBERS, *measures.PERIODS)
).union(
    _CURRENCY_CODES, _PER, _FRONT, _WHOLE_DAY, measures.RELATIVE, measures.MONTHS, measures.WEEKDAYS,
    measures.ORDINALS, measures.LANGUAGES, measures.FORMATS,
)  # fmt: skip


def begins(word: str, units: Mapping[str, tuple[str, float]]) -> Set[str] | None:
    """Words of which one must follow where a value begins with a word; None where what follows is not all."""
    if word not in _READS:
        return frozenset()
    if word in {"a", "an"}:
        return _TIMES
    if word in _FRONT:
        return _SPANS
    return units.keys() if word in _PER else None


class Reader:
    """Reads one prompt's tokens from the left; `read(at, clause)` gives items and where to go on, or None."""

    def __init__(self, tokens: Tokens, units: Mapping[str, tuple[str, float]], names: Set[str]) -> None:
        self.words, self.kinds, self.starts, self.ends = tokens.words, tokens.kinds, tokens.starts, tokens.ends
        self.units = units
        self.names = names
        # Tokens that another value has taken along ("3 o'clock tomorrow AFTERNOON").
        self.taken: set[int] = set()

    def word(self, at: int) -> str:
        """The word there, empty outside."""
        return self.words[at] if 0 <= at < len(self.words) else ""

    def kind(self, at: int) -> str:
        """The kind of token there, empty outside."""
        return self.kinds[at] if 0 <= at < len(self.kinds) else ""

    def read(self, at: int, clause: int) -> tuple[list[Item], int] | None:
        """The value that begins at token `at`, and the token behind it."""
        word, kind = self.words[at], self.kinds[at]
        if kind == "w":
            return self._word(at, clause)
        if kind == "n":
            return self._number(at, clause)
        if kind == "p":
            if word in _CURRENCY_SIGNS and self.kind(at + 1) == "n":
                return self._number(at + 1, clause, sign=word)
            if word == "/" and self.word(at + 1) in self.units:
                return self._period(at, at + 2, self.word(at + 1), clause)
            return None
        if kind == "o":
            return self._item("ordinal", ("o", int(word[:-2])), at, at + 1, clause)
        if kind == "v":
            return self._item("version", ("n", _plain(word.lstrip("v"))), at, at + 1, clause)
        if kind == "c":
            if word in measures.FORMATS:
                return self._item("format", measures.FORMATS[word], at, at + 1, clause)
            return self._item("code", word.replace("-", "").replace("_", ""), at, at + 1, clause)
        if kind == "d":
            return self._date(at, clause)
        if kind == "t":
            minutes, known = _clock(word)
            part = self.word(at + 3) if (self.word(at + 1), self.word(at + 2)) == ("in", "the") else ""
            if not known and part in measures.DAY_PARTS and 60 <= minutes < 780:
                # "9:00 in the morning".
                self.taken.add(at + 3)
                return self._item(
                    "time", ("t", minutes % 720 + 60 * measures.DAY_PARTS[part], True), at, at + 1, clause
                )
            return self._item("time", ("t", *_clock(word)), at, at + 1, clause)
        if kind == "+":
            return self._item("code", word, at, at + 1, clause)
        return None

    def _item(
        self, kind: str, value: object, at: int, end: int, clause: int, raw: tuple[str, str] = ("", "")
    ) -> tuple[list[Item], int]:
        start, stop = self.starts[at], self.ends[end - 1]
        return [Item(kind, value, start, stop, clause, 0, raw)], end

    def _word(self, at: int, clause: int) -> tuple[list[Item], int] | None:
        word = self.word(at)
        if word not in _READS:
            return None
        if word == "half" and self.word(at + 1) == "past":
            return self._spoken(at, at + 2, 30, clause)
        if word == "half" and self.word(at + 1) == "off":
            return self._item("percent", ("%", 50.0), at, at + 1, clause, ("50", "%"))
        if word == "half" and self.word(at + 1) in measures.NUMBERS:
            # British: half four is half past four.
            return self._spoken(at, at + 1, 30, clause)
        if word in measures.NUMBERS or word in {"hundred", "thousand", "million", "half"}:
            return self._number(at, clause)
        if word in _CURRENCY_CODES and (number_at := at + (2 if self.word(at + 1) == "." else 1)) < len(self.words):
            found = self._number(number_at, clause, sign=word) if self.kind(number_at) == "n" else None
            if found is not None:
                return [found[0][0]._replace(start=self.starts[at])], found[1]
        if word in measures.PERIODS:
            return self._item("period", measures.PERIODS[word], at, at + 1, clause)
        if word in _PER and self.word(at + 1) in self.units and self.units[self.word(at + 1)][0] in {"second", "month"}:
            return self._period(at, at + 2, self.word(at + 1), clause)
        if word in {"a", "an"} and self.word(at + 1) in _TIMES:
            unit = self.word(at + 1)
            if (
                self._counted(at)
                or self.kind(at - 1) == "n"
                or self.word(at - 1) in _OFTEN
                or self.word(at - 1) in measures.CURRENCIES
            ):
                return self._period(at, at + 2, unit, clause)
            base, factor = self.units[unit]
            # "Drink a day" may be one day or each day; "in a day" is one.
            loose = "" if self.word(at - 1) in _PLACED else "/"
            return self._item("number", ("q", base, factor), at, at + 2, clause, ("1", unit + loose))
        if word in measures.RELATIVE:
            return self._item("date", ("r", word), at, at + 1, clause)
        if word in _FRONT and self.word(at + 1) in _SPANS:
            front = "last" if word == "previous" else word
            return self._item("date", ("r", front, self.word(at + 1)), at, at + 2, clause)
        if word in measures.MONTHS and self._dated(at, word):
            return self._item("month", ("m", measures.MONTHS[word]), at, at + 1, clause)
        if word in measures.WEEKDAYS and self._dated(at, word):
            return self._weekday(at, clause)
        if word in _WHOLE_DAY:
            return self._item("time", ("t", _WHOLE_DAY[word], True), at, at + 1, clause)
        if word == "quarter" and self.word(at + 1) in {"past", "to"}:
            return self._spoken(at, at + 2, 15 if self.word(at + 1) == "past" else -15, clause)
        if word in measures.ORDINALS:
            return self._item("ordinal", ("o", measures.ORDINALS[word]), at, at + 1, clause)
        if word == "c" and self._language_c(at):
            return self._item("language", "c", at, at + 1, clause)
        if word in measures.LANGUAGES:
            return self._item("language", measures.LANGUAGES[word], at, at + 1, clause)
        if word in measures.FORMATS:
            return self._item("format", measures.FORMATS[word], at, at + 1, clause)
        return None

    def _dated(self, at: int, word: str) -> bool:
        """Whether a word that may mean something else (may, march, sun) is a date here."""
        if word not in _SHORT_DATES:
            return True
        dates = measures.WEEKDAYS if word in measures.WEEKDAYS else measures.MONTHS
        for i in (at - 1, at + 1):
            # "Mon-Fri": joined by a hyphen or dash.
            if self.word(i) in dates and abs(self.starts[i] - self.starts[at]) <= len(self.word(min(i, at))) + 1:
                return True
        return any(self.kind(i) in {"n", "o"} for i in (at - 1, at + 1)) or (
            self.word(at - 1) in _BEFORE_DATES and self.word(at + 1) not in {"i", "we", "you", "the"}
        )

    def _touch(self, at: int) -> bool:
        """Whether at most one character stands between a token and the next."""
        return self.starts[at + 1] - self.ends[at] <= 1

    def _counted(self, at: int) -> bool:
        """Whether something is counted in front of "a day": "1000 requests a day", not "3 users a day later"."""
        if self.word(at + 2) in _APART:
            return False
        for back in (2, 3):
            if any(self.kind(at - i) != "w" or self.word(at - i) in _PLACED for i in range(1, back)):
                return False
            if self.kind(at - back) == "n" or (
                self.word(at - back) in measures.NUMBERS and self.word(at - back) != "one"
            ):
                return True
        return False

    def _language_c(self, at: int) -> bool:
        """ANSI C; "in C major" and "in C or in F" are music and degrees."""
        if self.word(at + 1) in _C_NEXT:
            return True
        music = self.word(at + 1) in {"major", "minor", "flat", "sharp", "or", "to", "and"}
        return self.word(at - 1) in {"in", "using"} and not music

    def _weekday(self, at: int, clause: int) -> tuple[list[Item], int]:
        day = measures.WEEKDAYS[self.word(at)]
        # "Monday to Friday" is what "weekdays" says.
        until = self.word(at + 1) in {"to", "through", "till", "until"}
        if day == "monday" and measures.WEEKDAYS.get(self.word(at + 1)) == "friday" and self._touch(at):
            return self._item("weekday", "weekday", at, at + 2, clause)
        if day == "monday" and until and measures.WEEKDAYS.get(self.word(at + 2)) == "friday":
            return self._item("weekday", "weekday", at, at + 3, clause)
        ends = self.word(at + 1) in {"and", "or"} and day in {"saturday", "sunday"}
        if ends and {day, measures.WEEKDAYS.get(self.word(at + 2))} == {"saturday", "sunday"}:
            return self._item("weekday", "weekend", at, at + 3, clause)
        return self._item("weekday", day, at, at + 1, clause)

    def _period(self, at: int, end: int, unit: str, clause: int) -> tuple[list[Item], int] | None:
        base, factor = self.units[unit]
        names = {("second", 1.0): "second", ("second", 60.0): "minute", ("second", 3600.0): "hour",
                 ("second", 86400.0): "day", ("second", 604800.0): "week", ("second", 1209600.0): "2 weeks",
                 ("month", 1.0): "month", ("month", 3.0): "quarter", ("month", 12.0): "year"}  # fmt: skip
        name = names.get((base, factor))
        return self._item("period", name, at, end, clause) if name else None

    def _number(self, at: int, clause: int, sign: str = "") -> tuple[list[Item], int] | None:
        begin = at - 1 if sign else at
        parsed = self._value(at)
        if parsed is None:
            return None
        value, text, end = parsed
        nxt = self.word(end)
        national = measures.NATIONAL.get((nxt, self.word(end + 1)))
        if national is not None and not sign:
            return self._item("money", ("$", national, value), begin, end + 2, clause, (text, national))
        if sign or (nxt in measures.CURRENCIES and self.kind(end) in {"w", "p"} and nxt not in {"$", "£", "€"}):
            if sign and nxt in {"k", "m", "mn", "bn"}:
                value *= measures.SCALES.get(nxt, 1_000_000)
                end += 1
            elif sign and nxt in measures.SCALES:
                value *= measures.SCALES[nxt]
                end += 1
            currency = measures.CURRENCIES[sign or nxt]
            end = end if sign else end + 1
            return self._item("money", ("$", currency, value), begin, end, clause, (text, currency))
        if nxt in {"%", "percent", "pct"} or (nxt == "per" and self.word(end + 1) == "cent"):
            return self._item("percent", ("%", value), begin, end + (2 if nxt == "per" else 1), clause, (text, "%"))
        if nxt in {"am", "pm"} and 1 <= value <= 12 and value == int(value):
            return self._item(
                "time", ("t", int(value) % 12 * 60 + (720 if nxt == "pm" else 0), True), begin, end + 1, clause
            )
        if nxt == "o'clock" and 1 <= value <= 12:
            return self._clock_words(begin, end + 1, int(value) * 60 % 720, clause)
        part = (
            self.word(end + 2)
            if nxt == "in" and self.word(end + 1) == "the"
            else self.word(end + 1)
            if nxt == "at"
            else ""
        )
        if part in measures.DAY_PARTS and 1 <= value <= 12 and value == int(value):
            return self._clock_words(begin, end, int(value) * 60 % 720, clause)
        counted = self.units.get(self.word(end + 1), ("", 0.0))[0]
        if nxt == "m" and counted in {"token", "pixel"} and self.starts[end] == self.ends[end - 1]:
            # "1M tokens".
            value, end, nxt = value * 1_000_000, end + 1, self.word(end + 1)
            text = _shown(value)
        unit = self.units.get(nxt)
        # One letter is a unit where it touches its number, or can hardly be anything else: "5 m", "add 3 s" are none.
        clear = len(nxt) > 1 or nxt in {"g", "l", "h"} or (nxt == "m" and self.word(end + 1) in _LENGTHS)
        if unit and (clear or self.starts[end] == self.ends[end - 1]):
            base, factor = unit
            stop = end + 1
            if self.word(stop) == "old":
                stop += 1
            return self._item("number", ("q", base, round(value * factor, 9)), begin, stop, clause, (text, nxt))
        return self._bare(begin, end, value, text, clause)

    def _bare(self, begin: int, end: int, value: float, text: str, clause: int) -> tuple[list[Item], int] | None:
        if (
            any(self.word(i) in measures.MONTHS and self._dated(i, self.word(i)) for i in (begin - 1, end))
            and value <= 31
        ):
            return self._item("date", ("o", int(value)), begin, end, clause)
        if len(text) == 4 and 1900 <= value < 2100 and value == int(value):
            before = self.word(begin - 1)
            if before in _YEAR_FRONT or before in measures.MONTHS or self.kind(end) in {"", "p"}:
                return self._item("date", ("n", text), begin, end, clause)
        # "Postgres 14", "version 2".
        kind = "version" if self.word(begin - 1) in self.names or self.word(begin - 1) in _VERSIONED else "number"
        return self._item(kind, ("n", _plain(text)), begin, end, clause, (text, ""))

    def _value(self, at: int) -> tuple[float, str, int] | None:
        """Number in digits or words, its text in digits, and the token behind it."""
        if self.kind(at) == "n":
            text = self.word(at).replace(",", "").replace("−", "-")
            # A log may hold numbers of any length; they are compared as text, the value only orders units.
            value = float(text) if len(text) < 300 else float("inf")
            end = at + 1
            nxt = self.word(end)
            if nxt in {"hundred", "thousand", "million", "billion", "trillion"} or (
                nxt in {"k", "bn", "mn"} and self.starts[end] == self.ends[at]
            ):
                value *= measures.SCALES[nxt]
                text = _shown(value)
                end += 1
            return value, text, end
        return self._spelt(at)

    def _spelt(self, at: int) -> tuple[float, str, int] | None:
        start = at
        word = self.word(at)
        if word == "half":
            if self.word(at + 1) in {"a", "an"} and self.word(at + 2) in self.units:
                return 0.5, "0.5", at + 2
            return None
        total, group, seen = 0, 0, False
        while True:
            word = self.word(at)
            if word in measures.NUMBERS:
                step = measures.NUMBERS[word]
                # "twenty five" is one number, "five five" is two.
                if seen and group % 100 and not (group % 10 == 0 and group % 100 >= 20 and step < 10):
                    break
                group += step
            elif word in measures.SCALES and len(word) > 2:
                scale = measures.SCALES[word]
                group = max(group, 1) * scale
                if scale > 100:
                    total, group = total + group, 0
            elif word == "and" and seen and self.word(at + 1) in measures.NUMBERS and (group >= 100 or total):
                at += 1
                continue
            else:
                break
            seen = True
            at += 1
        value = total + group
        if not seen:
            return None
        follows = self.word(at)
        # "one" and "zero" are pronoun and figure of speech unless something is counted.
        if (
            at == start + 1
            and self.word(start) == "one"
            and follows not in self.units
            and follows not in measures.CURRENCIES
            and follows != "percent"
        ):
            return None
        return float(value), str(value), at

    def _clock_words(self, begin: int, end: int, minutes: int, clause: int) -> tuple[list[Item], int]:
        for ahead in range(end, min(end + 4, len(self.words))):
            part = measures.DAY_PARTS.get(self.word(ahead))
            if part is not None:
                self.taken.add(ahead)
                return self._item("time", ("t", minutes + 60 * part, True), begin, end, clause)
        return self._item("time", ("t", minutes, False), begin, end, clause)

    def _spoken(self, at: int, hour_at: int, shift: int, clause: int) -> tuple[list[Item], int] | None:
        parsed = self._value(hour_at) if self.word(hour_at) != "one" else (1.0, "1", hour_at + 1)
        if parsed is None or not 1 <= parsed[0] <= 12:
            return None
        return self._clock_words(at, parsed[2], (int(parsed[0]) * 60 + shift) % 720, clause)

    def _date(self, at: int, clause: int) -> tuple[list[Item], int]:
        word = self.word(at)
        if word[4:5] == "-":
            year, month, day = word.split("-")
            found: list[Item] = []
            for kind, value in (("date", ("n", year)), ("month", ("m", int(month))), ("date", ("o", int(day)))):
                found += self._item(kind, value, at, at + 1, clause)[0]
            return found, at + 1
        parts = tuple(int(p) for p in word.replace(".", "/").split("/"))
        return self._item("date", ("d", *parts), at, at + 1, clause)


def _plain(text: str) -> str:
    """A number's text without what adds nothing: 007 and 7, 2.0 and 2; 3.10 stays apart from 3.1, as versions are."""
    text = text.removesuffix(".0") if text.count(".") == 1 else text
    sign = "-" if text.startswith("-") else ""
    return sign + (text.lstrip("-").lstrip("0") or "0")


def _shown(value: float) -> str:
    return str(int(value)) if value == value and value not in {float("inf")} and value == int(value) else str(value)


def _clock(word: str) -> tuple[int, bool]:
    """Minutes of the day, and whether the half of the day is known."""
    compact = word.replace(" ", "").replace("a.m", "am").replace("p.m", "pm").rstrip(".")
    half = compact[-2:] if compact[-2:] in {"am", "pm"} else ""
    digits = compact.removesuffix(half).replace(".", ":").split(":")
    hour, minute = int(digits[0]), int(digits[1]) if len(digits) > 1 else 0
    if half:
        return hour % 12 * 60 + minute + (720 if half == "pm" else 0), True
    # Two digits or more than twelve: the 24 h clock. "9:15" may be either half.
    return hour * 60 + minute, hour > 12 or hour == 0 or digits[0][0] == "0"
