"""The same words in another order: who does it to whom, from where to where."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_cachesafe.semantic.slots.found import Found
from pytest_cachesafe.semantic.slots.item import Item
from pytest_cachesafe.semantic.slots.profile import Profile
from pytest_cachesafe.semantic.slots.pronouns import owners, pronouns
from pytest_cachesafe.semantic.tables.grammar import BOTH_WAYS, CONNECTORS, SYMMETRIC

__all__ = ["exchanged_arguments", "exchanged_roles"]

# Prepositions whose argument decides: "from A" is not "to A". After for, with and on either order may be meant.
_DECISIVE = (
    "from",
    "to",
    "than",
    "before",
    "after",
    "against",
    "over",
    "under",
    "above",
    "below",
    "behind",
    "by",
    "more_than",
    "less_than",
)

_MOST = 2
_REPLACING = frozenset(("replace", "substitute", "supplant"))
# Kinds of what may act and be acted on; parts of a date stand in any order.
_THINGS = frozenset(("word", "number", "code", "language", "format", "version"))
# Words of the place in which two parts have changed places.
_LONGEST = 8


def exchanged_arguments(a: Profile, b: Profile) -> Found | None:
    """One preposition in both prompts, followed by words that have changed places: from X to Y, from Y to X."""
    if not a.arguments or not b.arguments:
        return None
    if (_symmetric(a) or _symmetric(b)) and not _there_and_back(a, b):
        return None
    for word in _DECISIVE:
        heads_a, heads_b = a.arguments.get(word), b.arguments.get(word)
        # Long prompts have a "to" in every clause: which belongs to which is anybody's guess.
        if not heads_a or not heads_b or max(len(heads_a), len(heads_b)) > _MOST:
            continue
        set_a, set_b = {h.value for h in heads_a}, {h.value for h in heads_b}
        only_a, only_b = (set_a - set_b) & b.said, (set_b - set_a) & a.said
        if only_a and only_b:
            a_heads = tuple(h for h in heads_a if h.value in only_a)
            return Found("direction", "certain", a_heads, tuple(h for h in heads_b if h.value in only_b))
    return None


def exchanged_roles(a: Profile, b: Profile) -> Found | None:
    """Two words that have changed places in prompts that are the same otherwise."""
    if _symmetric(a) or _symmetric(b):
        return None
    return (
        _swap(a.template, b.template)
        or _parts(a.template, b.template)
        or _voice(a, b)
        or _asked_for(a, b)
        or owners(a, b)
        or pronouns(a, b)
    )


def _there_and_back(a: Profile, b: Profile) -> bool:
    """From X to Y, from Y to X: another way, also where something is compared, shared or exchanged on it."""
    if not (BOTH_WAYS.isdisjoint(a.said) and BOTH_WAYS.isdisjoint(b.said)):
        return False
    ends = [[tuple(h.value for h in p.arguments.get(word, ())) for word in ("from", "to")] for p in (a, b)]
    return all(len(heads) == 1 for p in ends for heads in p) and ends[0] == ends[1][::-1] and ends[0][0] != ends[0][1]


def _symmetric(profile: Profile) -> bool:
    return not SYMMETRIC.isdisjoint(profile.said)


def _swap(a: Sequence[Item], b: Sequence[Item]) -> Found | None:
    if len(a) != len(b):
        return None
    apart = _apart(a, b)
    if len(apart) != 2:
        return None
    i, j = apart
    if a[i].value != b[j].value or a[j].value != b[i].value:
        return None
    between = a[i + 1 : j]
    if not {a[i].kind, a[j].kind} <= _THINGS:
        # "The bank charges me" and "I charge the bank": with a verb between, and in no list.
        me = {a[i].value, a[j].value} >= {"i"} and {a[i].kind, a[j].kind} <= _THINGS | {"function"}
        if not me or not any(x.kind == "word" for x in between):
            return None
    # "A and B", "A with B": either order is the same; neighbours may be two words of one noun.
    # "Replace A with B": what goes and what comes.
    turned = any(x.value in _REPLACING for x in a[:i]) and any(x.value == "with" for x in between)
    if not between or (not turned and any(x.value in CONNECTORS for x in between)):
        return None
    return Found("role_swap", "suspect", (a[i], a[j]), (b[i], b[j]))


def _apart(a: Sequence[Item], b: Sequence[Item]) -> list[int]:
    """Where two templates of one length differ."""
    return [at for at, (x, y) in enumerate(zip(a, b, strict=True)) if x[1] != y[1]]


def _parts(a: Sequence[Item], b: Sequence[Item]) -> Found | None:
    """One or two words that have changed places with one or two: "the parent", "the child process"."""
    if len(a) != len(b):
        return None
    apart = _apart(a, b)
    if not apart or apart[-1] - apart[0] >= _LONGEST:
        return None
    x, y = a[apart[0] : apart[-1] + 1], b[apart[0] : apart[-1] + 1]
    values_x, values_y = [i.value for i in x], [i.value for i in y]
    for first in (1, 2):
        for last in (1, 2):
            verb = x[first : len(x) - last]
            if not any(i.kind == "word" for i in verb) or any(i.value in CONNECTORS for i in verb):
                continue
            if values_y == values_x[-last:] + [i.value for i in verb] + values_x[:first] and all(
                i.kind in _THINGS for i in (*x[:first], *x[-last:])
            ):
                return Found("role_swap", "suspect", (x[0], x[-1]), (y[0], y[-1]))
    return None


def _voice(a: Profile, b: Profile) -> Found | None:
    """Active and passive with the same subject: "does X use Y", "is X used by Y"."""
    agents_a, agents_b = a.arguments.get("by", ()), b.arguments.get("by", ())
    if len(agents_a) + len(agents_b) != 1:
        return None
    active, passive, agent = (b, a, agents_a[0]) if agents_a else (a, b, agents_b[0])
    order = [w.value for w in active.words]
    if len(order) < 3:
        # Subject, verb and agent; "by card" is none.
        return None
    subject = passive.words[0].value if passive.words else None
    if agent.value not in order or subject not in order or subject == agent.value:
        return None
    if order.index(subject) > order.index(agent.value):
        return None
    return Found("role_swap", "suspect", (a.words[0],), (b.words[0],))


def _asked_for(a: Profile, b: Profile) -> Found | None:
    """Who does it, and to whom: "who reports to X", "who does X report to"."""
    if not (a.template and b.template and a.template[0].value == b.template[0].value == "who"):
        return None
    if any(i.value == "of" for i in (*a.template, *b.template)):
        # "X's manager", "the manager of X".
        return None
    for x, y in ((a, b), (b, a)):
        said_x, said_y = [w.value for w in x.words], [w.value for w in y.words]
        ends = {h.value for word in ("to", "from") for h in x.arguments.get(word, ())}
        # "Who lent money to Bob", "who did Bob lend money to".
        if len(said_x) > 2 and said_x[-1] in ends and said_y == [said_x[-1], *said_x[:-1]]:
            return Found("role_swap", "suspect", a.words, b.words)
    if len(a.words) != 2 or [w.value for w in a.words] != [w.value for w in reversed(b.words)]:
        return None
    return Found("role_swap", "suspect", a.words, b.words)
