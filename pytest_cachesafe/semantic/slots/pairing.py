"""Pairs the words that one prompt has and the other has not: the same said otherwise, or the opposite."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_cachesafe.semantic.slots.item import Item
from pytest_cachesafe.semantic.tables import Tables
from pytest_cachesafe.semantic.tables.word_set import word_set
from pytest_cachesafe.semantic.text.morphology import one_slip, stem

__all__ = ["leftovers", "opposites", "same_word"]

# Word pairs looked at between two prompts; beyond, prompts are so different that single words tell nothing.
_MOST = 40
_PEOPLE = word_set("n ns an ans ian ians s ese i")
_NONE: frozenset[int] = frozenset()
# Prefixes that make no opposite here: deliver, increase, install, …
_ROOTLESS = word_set("liver crease stall form dex side put come vest fer tend sure port press prove pact age agree_")


def leftovers(a: Sequence[Item], b: Sequence[Item], tables: Tables, close: bool) -> tuple[list[Item], list[Item]]:
    """The words of either side without their like on the other; `close` allows WordNet's synonyms as well."""
    have_a, have_b = {x[1] for x in a}, {y[1] for y in b}
    if have_a == have_b:
        return [], []
    rest_a = _once([x for x in a if x.value not in have_b])
    rest_b = _once([y for y in b if y.value not in have_a])
    if not rest_a or not rest_b:
        return _unsaid(rest_a, b, tables), _unsaid(rest_b, a, tables)
    gone_a: set[int] = set()
    gone_b: set[int] = set()
    synonyms, broad = tables.synonyms, tables.broad_synonyms if close else {}
    # Looked up once a word, not once a pair.
    others = [(y, y[1], y[5], synonyms.get(y[1], _NONE), broad.get(y[1], _NONE)) for y in rest_b[:_MOST]]
    for i, x in enumerate(rest_a[:_MOST]):
        word, name = x[1], x[5]
        head, groups, wide = word[:4], synonyms.get(word, _NONE), broad.get(word, _NONE)
        for j, (y, other, other_name, other_groups, other_wide) in enumerate(others):
            may = (
                name
                or other_name
                or other[:4] == head
                or not groups.isdisjoint(other_groups)
                or not wide.isdisjoint(other_wide)
            )
            if may and j not in gone_b and same_word(x, y, tables, close):
                gone_a.add(i)
                gone_b.add(j)
                break
    if not gone_a:
        return rest_a, rest_b
    # A word whose like is spoken for already ("kids" and "children" for "kids").
    matched_b = [rest_b[j] for j in gone_b]
    matched_a = [rest_a[i] for i in gone_a]
    out_a = [x for i, x in enumerate(rest_a) if i not in gone_a and not _said(x, matched_b, tables, close)]
    out_b = [y for j, y in enumerate(rest_b) if j not in gone_b and not _said(y, matched_a, tables, close)]
    return out_a, out_b


def _unsaid(rest: list[Item], others: Sequence[Item], tables: Tables) -> list[Item]:
    """Without words that repeat what both say: "what price does it cost" and "what is the price"."""
    if not rest:
        return rest
    mine = {x.value for x in rest}
    groups: set[int] = set()
    for y in others:
        if y.value not in mine:
            groups |= tables.synonyms.get(y.value, frozenset())
    return [x for x in rest if groups.isdisjoint(tables.synonyms.get(x.value, ()))]


def _once(items: list[Item]) -> list[Item]:
    if len(items) < 2:
        return items
    seen: dict[object, Item] = {}
    for item in items:
        seen.setdefault(item.value, item)
    return list(seen.values())


def _said(x: Item, others: Sequence[Item], tables: Tables, close: bool) -> bool:
    return any(same_word(x, y, tables, close) for y in others[:_MOST])


def same_word(x: Item, y: Item, tables: Tables, close: bool) -> bool:
    """Whether two words ask for the same: synonyms, one stem, or a slip of the fingers."""
    # Hardly any two words are the same, so that it is asked first what may make them so.
    return _alike(x, y, tables, close) and not _told_apart(x.value, y.value, tables)


def _told_apart(a: str, b: str, tables: Tables) -> bool:
    """Opposites, and siblings of a set of the user's."""
    if (a, b) in tables.antonyms:
        return True
    sets = tables.entities
    return a in sets and b in sets and not sets[a].isdisjoint(sets[b])


def _alike(x: Item, y: Item, tables: Tables, close: bool) -> bool:
    a, b = x.value, y.value
    groups = tables.synonyms.get(a)
    if groups and not groups.isdisjoint(tables.synonyms.get(b, ())):
        return True
    if close:
        groups = tables.broad_synonyms.get(a)
        if groups and not groups.isdisjoint(tables.broad_synonyms.get(b, ())) and (a, b) not in tables.broad_antonyms:
            return True
    # A stem has four letters at the least.
    if x.name + y.name < 2 and a[:4] == b[:4] and len(a) > 4 and len(b) > 4 and stem(a) == stem(b):
        return not _apart(a, b) or _misspelt(x, y, a, b)
    return bool(x.name or y.name) and _misspelt(x, y, a, b)


def _misspelt(x: Item, y: Item, a: str, b: str) -> bool:
    """People of a country, and slips of the fingers."""
    if x.name or y.name:
        longer, shorter = (a, b) if len(a) > len(b) else (b, a)
        # India, Indian, Indians.
        if len(shorter) >= 4 and longer.startswith(shorter) and longer[len(shorter) :] in _PEOPLE:
            return True
    if x.name == 2 and y.name == 2:
        return False
    # A slip makes a word nobody has; two known words are two words (form, from).
    if x.name == 1 or y.name == 1:
        short = min(len(a), len(b))
        if x.name == y.name == 1:
            return short >= 7 and a[0] == b[0] and one_slip(a, b)
        if short >= 4 and one_slip(a, b):
            # A new name beside a common word (gmail, email) is one where it is longer than a slip leaves it.
            return 2 not in (x.name, y.name) or short >= 6
        return short >= 9 and _two_slips(a, b)
    return False


def _apart(a: str, b: str) -> bool:
    """employer and employee, payer and payee: one stem, two sides."""
    return {a[-2:], b[-2:]} & {"ee"} != set() and a[-2:] != b[-2:]


def _two_slips(a: str, b: str) -> bool:
    """Two slips in a long word: the first and last letters agree, and all but two letters."""
    if a[0] != b[0] or abs(len(a) - len(b)) > 1:
        return False
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    return max(len(a), len(b)) - head - tail <= 3


def opposites(
    ones: Sequence[Item], others: Sequence[Item], tables: Tables, close: bool
) -> list[tuple[Item, Item, str]]:
    """Pairs that are opposites, and the kind of difference; `close` asks WordNet as well."""
    antonyms, broad = tables.antonyms, tables.broad_antonyms if close else frozenset()
    found = []
    for x in ones:
        a = x.value
        for y in others:
            b = y.value
            kind = antonyms.get((a, b))
            if kind is not None:
                found.append((x, y, kind))
            elif (a, b) in broad or ((a.endswith(b) or b.endswith(a)) and _prefixed(a, b)):
                found.append((x, y, "antonym"))
    return found


def _prefixed(a: str, b: str) -> bool:
    """Whether one word is the other with a prefix that makes its opposite."""
    if abs(len(a) - len(b)) not in {2, 3} or "_" in a or "_" in b:
        return False
    longer, shorter = (a, b) if len(a) > len(b) else (b, a)
    if len(shorter) < 4 or shorter in _ROOTLESS:
        return False
    prefix = longer[: -len(shorter)]
    # in-, im-, mis- and de- make words of their own as often as opposites: WordNet must agree on those.
    return prefix in {"un", "non", "dis"} or (
        prefix == "de" and longer.endswith(("ate", "ize", "fy", "ated", "code", "link", "select", "compile"))
    )
