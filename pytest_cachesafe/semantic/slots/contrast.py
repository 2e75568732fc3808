"""All differences of two profiles, in one canonical order of the two."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

from pytest_cachesafe.semantic.slots.compare_values import compare_values
from pytest_cachesafe.semantic.slots.found import Found
from pytest_cachesafe.semantic.slots.item import Item
from pytest_cachesafe.semantic.slots.order import exchanged_arguments, exchanged_roles
from pytest_cachesafe.semantic.slots.pairing import leftovers, opposites, same_word
from pytest_cachesafe.semantic.slots.profile import Profile
from pytest_cachesafe.semantic.slots.quantity import bounds, single_of
from pytest_cachesafe.semantic.tables import Tables
from pytest_cachesafe.semantic.tables.grammar import LIGHT, THIN
from pytest_cachesafe.semantic.tables.word_set import word_set

__all__ = ["Contrast", "contrast"]

# Words that may stand in the one place in which two prompts differ, on either side.
_PLACE = 4
# Shares of content words that both prompts have, for certain and for suspect findings in reworded prompts.
_CLOSE, _NEAR = 0.7, 0.34
# A negation reaches this many words on.
_REACH = 3
_WH_APART = frozenset(("when", "where", "who", "why"))
_DEGREES = frozenset(("more", "less", "most", "least"))
# Function words that make another kind of question of a prompt.
_ASKING = word_set("i what when where who why how if")


def contrast(a: Profile, b: Profile, tables: Tables) -> list[Found]:
    """What differs; both profiles are English."""
    return Contrast(a, b, tables).found()


def _as_said(mark: Item) -> Item:
    """ "Within 30 days" is "in 30 days", but only the first is the opposite of "after 30 days"."""
    return mark._replace(value="within") if mark.raw[0] == "within" else mark


class Contrast:
    """One comparison under way."""

    def __init__(self, a: Profile, b: Profile, tables: Tables) -> None:
        self.a, self.b, self.tables = a, b, tables
        self.place_a, self.place_b = self._place()
        shared = len(a.template) - len(self.place_a)
        longest = max(len(self.place_a), len(self.place_b))
        # The same template but for one small place; "is it safe" has nothing else.
        self.aligned = longest <= _PLACE if shared > 0 else longest <= 2
        self.rest_a, self.rest_b = leftovers(a.words, b.words, tables, close=self.aligned)
        largest = max(len(a.words), len(b.words), 1)
        self.share = 1 - max(len(self.rest_a), len(self.rest_b)) / largest
        self.framed = self.aligned and self._framed()
        # Negations that an opposite word has turned back, and words that are opposites.
        self.cancelled: set[int] = set()
        self.opposed: set[int] = set()

    def found(self) -> list[Found]:
        """All differences, in the order of the rules."""
        a, b = self.a, self.b
        out = compare_values(a.values, b.values, self.framed or self.share >= _CLOSE, self.framed)
        opposites = self._opposites()
        swapped = exchanged_arguments(a, b)
        if swapped and opposites and "than" in a.said and any(i.value == "than" for i in a.template):
            # "Is A cheaper than B" and "is B dearer than A": turned twice.
            swapped, opposites = None, []
        out += opposites
        if swapped and (self.aligned or self.share >= _CLOSE):
            out.append(swapped)
        out += self._negation()
        out += self._words()
        out += self._quantifiers()
        bound = bounds(a, b) if not out and (self.aligned or self.share >= _CLOSE) else None
        if bound is not None:
            out.append(bound)
        if not out and not self._meant(self.rest_a) and not self._meant(self.rest_b):
            roles = exchanged_roles(a, b)
            if roles:
                out.append(roles)
            out += self._persons() + self._tenses() + self._question_words()
        return out

    def _place(self) -> tuple[Sequence[Item], Sequence[Item]]:
        """What is left of the templates without their common beginning and end."""
        a, b = self.a.template, self.b.template
        shape_a, shape_b = self.a.shape, self.b.shape
        head = 0
        limit = min(len(a), len(b))
        while head < limit and (shape_a[head] == shape_b[head] or self._same(a[head], b[head])):
            head += 1
        tail = -1
        limit = head - limit
        while tail >= limit and (shape_a[tail] == shape_b[tail] or self._same(a[tail], b[tail])):
            tail -= 1
        tail = -1 - tail
        if len(a) == len(b) and len(a) - head - tail > 2:
            # Of one length, with a few words exchanged here and there.
            apart = [i for i in range(head, len(a) - tail) if not self._same(a[i], b[i])]
            if len(apart) <= _PLACE and len(apart) * 2 <= len(a):
                return [a[i] for i in apart], [b[i] for i in apart]
        return a[head : len(a) - tail], b[head : len(b) - tail]

    def _framed(self) -> bool:
        """Whether the one place holds nothing but what differs: no word that has only moved, no other question.

        "For myself" and "for my mother" differ in one place though one of them is a function word.
        """
        left = {id(x) for x in (*self.rest_a, *self.rest_b)}
        asks: list[list[object]] = [[], []]
        for asked, place in zip(asks, (self.place_a, self.place_b), strict=True):
            for x in place:
                if x.kind == "word" and id(x) not in left:
                    return False
                if x.kind == "function" and x.value in _ASKING:
                    asked.append(x.value)
        alone = [len(p) == 1 and p[0].value == "i" for p in (self.place_a, self.place_b)]
        return asks[0] == asks[1] or any(alone)

    def _same(self, x: Item, y: Item) -> bool:
        if x.kind != y.kind:
            return False
        if x.value == y.value:
            return True
        if x.kind == "word":
            return same_word(x, y, self.tables, close=True)
        # Values of one kind are compared on their own.
        return x.kind != "function"

    def _opposites(self) -> list[Found]:
        marks_a, marks_b = self._marks()
        ones = [*self.rest_a[:40], *marks_a]
        others = [*self.rest_b[:40], *marks_b]
        pairs = opposites(ones, others, self.tables, close=self.aligned)
        if not pairs:
            return []
        out = []
        qualified = {id(p[0]) for p in pairs if p[0].value not in _DEGREES}
        for x, y, kind in pairs:
            if x.value in _DEGREES and self._before_one_of(self.a, x, qualified):
                # "more patient" and "less impatient".
                return []
            if self._turned_about(x, y) or ({x.value, y.value} == {"to", "from"} and not self._one_end(x, y)):
                continue
            self.opposed |= {id(x), id(y)}
            negated_x, negated_y = self._negated(self.a, x), self._negated(self.b, y)
            if (negated_x is None) != (negated_y is None):
                self.cancelled.add(id(negated_x or negated_y))
                continue
            if negated_x is not None and negated_y is not None:
                self.cancelled |= {id(negated_x), id(negated_y)}
            tier = self._tier()
            if tier is not None:
                out.append(Found(kind, tier, (x,), (y,)))
        return out

    def _one_end(self, x: Item, y: Item) -> bool:
        """ "To X" and "from X", not "to do" and "from X"."""
        heads_x, heads_y = self.a.arguments.get(str(x.value), ()), self.b.arguments.get(str(y.value), ())
        return not {h.value for h in heads_x}.isdisjoint(h.value for h in heads_y)

    def _turned_about(self, x: Item, y: Item) -> bool:
        """ "X larger than Y" and "Y smaller than X" say the same."""
        heads_x, heads_y = self.a.arguments.get(str(x.value), ()), self.b.arguments.get(str(y.value), ())
        if {x.value, y.value} != {"more_than", "less_than"} or not heads_x or not heads_y:
            return False
        said_a, said_b = self.a.said, self.b.said
        return heads_x[0].value != heads_y[0].value and heads_x[0].value in said_b and heads_y[0].value in said_a

    def _tier(self) -> Literal["certain", "suspect"] | None:
        if self.framed or self.share >= _CLOSE:
            return "certain"
        return "suspect" if self.share >= _NEAR else None

    def _marks(self) -> tuple[list[Item], list[Item]]:
        """Function words and fillers that one side has alone: before, after, more, off, …"""
        if not self.aligned and (self.rest_a or self.rest_b):
            return [], []
        have_a, have_b = self.a.said, self.b.said
        if have_a == have_b:
            return [], []
        loose = ("function", "filler")
        marks_a = [i for i in self.a.items if i.value not in have_b and i.kind in loose]
        marks_b = [i for i in self.b.items if i.value not in have_a and i.kind in loose]
        return [_as_said(i) for i in marks_a[:20]], [_as_said(i) for i in marks_b[:20]]

    @staticmethod
    def _before_one_of(profile: Profile, item: Item, others: set[int]) -> bool:
        at = next((i for i, x in enumerate(profile.items) if x is item), -1)
        return 0 <= at < len(profile.items) - 1 and id(profile.items[at + 1]) in others

    @staticmethod
    def _negated(profile: Profile, item: Item) -> Item | None:
        """The negation whose reach the item is in."""
        items = profile.items
        at = next((i for i, x in enumerate(items) if x is item), 0)
        for i in range(at - 1, max(at - 1 - _REACH, -1), -1):
            if items[i].clause != item.clause:
                break
            if items[i].kind == "negation":
                return items[i]
        return None

    def _negation(self) -> list[Found]:
        if not self.a.negations and not self.b.negations:
            return []
        a = [n for n in self.a.negations if id(n) not in self.cancelled]
        b = [n for n in self.b.negations if id(n) not in self.cancelled]
        main_a = [n for n in a if n.clause not in self.a.telling]
        main_b = [n for n in b if n.clause not in self.b.telling]
        if any(i.value == "either" for i in (*self.a.items, *self.b.items) if i.kind == "negation"):
            return []
        if (len(main_a) - len(main_b)) % 2:
            if self.framed and not self._meant(self.rest_a) and not self._meant(self.rest_b):
                tier: Literal["certain", "suspect"] = "certain"
            elif self.aligned or self.share >= _NEAR:
                # A negation in words of its own ("… and some don't") often tells, and changes nothing.
                tier = "suspect"
            else:
                return []
            return [Found("negation", tier, tuple(main_a), tuple(main_b))]
        if (len(a) - len(b)) % 2 and self.aligned:
            return [Found("negation", "suspect", tuple(a), tuple(b))]
        return []

    @staticmethod
    def _meant(words: Sequence[Item]) -> list[Item]:
        """Words with a meaning of their own."""
        return [w for w in words if w.value not in LIGHT or w.raw[0]]

    def _words(self) -> list[Found]:
        """Words that differ and are no opposites: names, words of one set, others."""
        if not self.rest_a and not self.rest_b:
            return []
        tables = self.tables
        a = [x for x in self.rest_a if id(x) not in self.opposed]
        b = [y for y in self.rest_b if id(y) not in self.opposed]
        out = []
        units = tables.units if self.framed else {}
        sets = tables.entities
        for x in [x for x in a if x.value in units or x.value in sets]:
            for y in b:
                if x.value in units and y.value in units:
                    return [Found("unit", "certain", (x,), (y,))]
                if x.value in sets and y.value in sets and sets[x.value] & sets[y.value]:
                    return [Found("entity", "certain", (x,), (y,))]
        names_a, names_b = [x for x in a if x.name], [y for y in b if y.name]
        if names_a and names_b:
            if self.framed and (any(i.name == 2 for i in (*names_a, *names_b)) or not self._one_root(names_a, names_b)):
                return [Found("entity", "certain", tuple(names_a), tuple(names_b))]
            if self.share >= _NEAR:
                return [Found("entity", "suspect", tuple(names_a), tuple(names_b))]
        if not self.framed:
            return []
        a = [x for x in self._meant(a) if self._inside(x, self.place_a)]
        b = [y for y in self._meant(b) if self._inside(y, self.place_b)]
        if a and b:
            out.append(Found("substitution", "suspect", tuple(a), tuple(b)))
        elif any(not str(x.value).endswith("ly") and x.value not in THIN for x in (*a, *b)):
            # An adverb more tells how, hardly ever what; "good films to watch" are good films.
            out.append(Found("scope", "suspect", tuple(a), tuple(b)))
        return out

    @staticmethod
    def _one_root(names_a: Sequence[Item], names_b: Sequence[Item]) -> bool:
        """New words that begin alike may be one word with two endings."""
        return any(str(x.value)[:5] == str(y.value)[:5] for x in names_a for y in names_b)

    @staticmethod
    def _inside(item: Item, place: Sequence[Item]) -> bool:
        return any(x is item for x in place)

    def _quantifiers(self) -> list[Found]:
        a, b = self.a.quantifiers, self.b.quantifiers
        if not a and not b:
            return []
        have_a, have_b = {i.value for i in a}, {i.value for i in b}
        if "each" in {i.raw[0] for i in (*a, *b)} and "one" in have_a | have_b:
            # "What does each seat cost" is "what does one seat cost".
            return []
        if have_a == have_b or not (self.aligned or self.share == 1):
            return []
        only_a = tuple(i for i in a if i.value not in have_b)
        only_b = tuple(i for i in b if i.value not in have_a)
        if (only_a and only_b) or "only" in {i.value for i in (*only_a, *only_b)}:
            return [Found("quantifier", "suspect", only_a, only_b)]
        for mine, profile, other in ((only_a, self.a, self.b), (only_b, self.b, self.a)):
            if any(i.value in {"all", "both"} and single_of(i, profile, other) for i in mine) and not (
                other.quantifiers or self._meant(self.rest_a) or self._meant(self.rest_b)
            ):
                return [Found("quantifier", "suspect", only_a, only_b)]
        return []

    def _persons(self) -> list[Found]:
        a, b = self.a.persons, self.b.persons
        genders = {"he": "he", "him": "he", "his": "he", "himself": "he"}
        order_a = [genders.get(str(i.value), "she") for i in a if not str(i.value).startswith("the")]
        order_b = [genders.get(str(i.value), "she") for i in b if not str(i.value).startswith("the")]
        if order_a != order_b and order_a and order_b and self.aligned:
            return [Found("person", "suspect", a, b)]
        return []

    def _tenses(self) -> list[Found]:
        a, b = {i.value for i in self.a.tenses}, {i.value for i in self.b.tenses}
        if not self.aligned or a == b or self.a.negations or self.b.negations:
            return []
        if "being" in a | b:
            # "Why is it declined", "why was it being declined".
            return []
        # "Is" for "was" is written as often for no reason as for one; "used to" and "will" are meant.
        meant = ("used" in a) != ("used" in b) or self._one_each(a, b, "did", "does")
        apart = any(self._one_each(a, b, past, "future") for past in ("past", "did"))
        who = self.a.template[:1] and self.a.template[0].value == "who" and self._one_each(a, b, "past", "present")
        if meant or apart or who or ("becoming" in a) != ("becoming" in b):
            return [Found("tense", "suspect", self.a.tenses, self.b.tenses)]
        return []

    @staticmethod
    def _one_each(a: set[Hashable], b: set[Hashable], one: str, other: str) -> bool:
        return (one in a and one not in b and other in b - a) or (one in b and one not in a and other in a - b)

    def _question_words(self) -> list[Found]:
        if not self.aligned:
            return []
        a = [i for i in self.place_a if i.value in _WH_APART]
        b = [i for i in self.place_b if i.value in _WH_APART]
        if a and b and a[0].value != b[0].value:
            return [Found("substitution", "suspect", (a[0],), (b[0],))]
        return []
