"""`Detector`: whether two prompts need different answers, by their words alone. No model, standard library only."""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from threading import Lock

from pytest_cachesafe.semantic.slots.contrast import contrast
from pytest_cachesafe.semantic.slots.found import Found
from pytest_cachesafe.semantic.slots.lexicon import Lexicon
from pytest_cachesafe.semantic.slots.profile import Profile, build_profile, profile_of
from pytest_cachesafe.semantic.tables import Tables
from pytest_cachesafe.semantic.tables.load import common_words
from pytest_cachesafe.semantic.text.slips import mended
from pytest_cachesafe.semantic.verdict import Difference, Span, TextVerdict

__all__ = ["Detector"]

# Profiles kept; one of a prompt of a few lines takes some 10 kB.
_KEPT = 4096
# Characters of a prompt that are read. Of longer prompts: what differs, with its surroundings.
_READ = 12_000
_AROUND = 400
_SHOWN = 40

_NOTHING = TextVerdict()
NOT_ENGLISH = "not judged by its words: not English; give your own antonyms or entities for it"
CUT = f"only {_READ} characters around the first difference were read"


class Detector:
    """Compares prompts with one set of tables.

    `certain`: a typed difference (an opposite, a number, a negation, a direction, …) in prompts that share their frame
    or most of their words. `suspect`: something differs that often matters, or differs in prompts worded apart.
    Thread-safe.
    """

    def __init__(self, tables: Tables | None = None) -> None:
        self.tables = tables if tables is not None else Tables.default()
        self._lexicon = _shared_lexicon() if self.tables is Tables.default() else Lexicon(self.tables)
        self._profiles: OrderedDict[str, Profile] = OrderedDict()
        self._lock = Lock()

    def profile(self, text: str) -> Profile:
        """What is compared of a prompt; the last few thousand are kept."""
        with self._lock:
            found = self._profiles.get(text)
            if found is not None:
                self._profiles.move_to_end(text)
                return found
        found = build_profile(text, self._lexicon)
        with self._lock:
            self._profiles[text] = found
            if len(self._profiles) > _KEPT:
                self._profiles.popitem(last=False)
        return found

    def compare(self, a: str, b: str) -> TextVerdict:
        """Whether the prompts need different answers. (b, a) gives the mirror image; equal prompts give none.

        Raises:
            TypeError: something that is not text.
        """
        if not isinstance(a, str) or not isinstance(b, str):
            raise TypeError(f"prompts must be text, not {type(a).__name__} and {type(b).__name__}")
        if a == b:
            return TextVerdict()
        shift, note = 0, None
        whole_a, whole_b = a, b
        if len(a) > _READ or len(b) > _READ:
            a, b, shift, cut = _window(a, b)
            note = CUT if cut else None
        one, other = self._mended(self.profile(a), self.profile(b))
        if one.foreign or other.foreign:
            if not self.tables.own:
                return TextVerdict(note=NOT_ENGLISH)
            rules = _own_only
        elif one.key == other.key:
            return TextVerdict(note=note) if note else _NOTHING
        else:
            rules = contrast
        # One order of the two for all rules, so that the answer cannot depend on who comes first; it is taken from what
        # is compared, so that neither case nor politeness can change it.
        turned = other.key < one.key
        found = rules(other, one, self.tables) if turned else rules(one, other, self.tables)
        if rules is _own_only and not found:
            note = NOT_ENGLISH
        if not found and not note:
            return _NOTHING
        # By place in the first of the two, then what only the second has.
        found.sort(key=lambda f: (f.tier != "certain", not f.a, min(i.start for i in f.a or f.b), f.kind))
        if turned:
            found = [Found(f.kind, f.tier, f.b, f.a) for f in found]
        return TextVerdict(tuple(_difference(f, whole_a, whole_b, shift) for f in found), note)

    def _mended(self, one: Profile, other: Profile) -> tuple[Profile, Profile]:
        """The profiles with slips of the pen put right, each after the other prompt as given."""
        if one.key == other.key:
            return one, other
        common = common_words()
        left = mended(one.tokens, one.strange, one.rare, other.tokens, other.strange, common)
        if left is not None:
            one = profile_of(left, self._lexicon)
        right = mended(other.tokens, other.strange, other.rare, one.tokens, one.strange, common)
        return one, other if right is None else profile_of(right, self._lexicon)


@lru_cache(maxsize=1)
def _shared_lexicon() -> Lexicon:
    """That of the shipped tables: every assertion makes a detector of its own."""
    return Lexicon(Tables.default())


def _own_only(a: Profile, b: Profile, tables: Tables) -> list[Found]:
    """In other languages: the user's own opposites and entities, nothing else."""
    values_a, values_b = {i.value for i in a.words}, {i.value for i in b.words}
    out = []
    for x in a.words:
        if x.value not in tables.own or x.value in values_b:
            continue
        for y in b.words:
            if y.value not in tables.own or y.value in values_a:
                continue
            kind = tables.antonyms.get((str(x.value), str(y.value)))
            if kind is None and not tables.entities.get(str(x.value), frozenset()).isdisjoint(
                tables.entities.get(str(y.value), frozenset())
            ):
                kind = "entity"
            if kind is not None:
                out.append(Found(kind, "certain", (x,), (y,)))
                break
    return out


def _window(a: str, b: str) -> tuple[str, str, int, bool]:
    """The differing middle of two long prompts with its surroundings, where it begins, and whether it was cut."""
    head = _shared(a, b)
    tail = _shared(a[head:][::-1], b[head:][::-1])
    start = max(head - _AROUND, 0)
    # To the beginning of a line or word.
    at = max(a.rfind("\n", start, head), a.rfind(". ", start, head), a.rfind(" ", start, min(start + 40, head)))
    start = at + 1 if start and at >= 0 else start
    ends = [len(text) - max(tail - _AROUND, 0) for text in (a, b)]
    cut = max(ends) - start > _READ
    return a[start : min(ends[0], start + _READ)], b[start : min(ends[1], start + _READ)], start, cut


def _shared(a: str, b: str) -> int:
    """Length of the common beginning, by halving: comparing slices is quick, characters one by one are not."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _difference(found: Found, a: str, b: str, shift: int) -> Difference:
    spans_a = tuple(Span(i.start + shift, i.end + shift) for i in found.a)
    spans_b = tuple(Span(i.start + shift, i.end + shift) for i in found.b)
    return Difference(found.kind, found.tier, spans_a, spans_b, f"{_cut(a, spans_a)} / {_cut(b, spans_b)}")


def _cut(text: str, spans: tuple[Span, ...]) -> str:
    words = " … ".join(" ".join(text[s.start : s.end].split()) for s in spans[:3])
    return (words if len(words) <= _SHOWN else words[: _SHOWN - 1] + "…") or "–"
