"""How data of a request become placed blocks, and how those of an earlier request are used again."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from pytest_cachesafe.providers.blocks.block import Block, Level, Marker
from pytest_cachesafe.providers.blocks.canonical import digest, plain_text
from pytest_cachesafe.usage import UsageError

__all__ = ["Builder", "Item", "Place", "Plan", "Section", "extend", "leading", "listed", "mapping"]

# Keys under which blocks hold blocks or fields again; whatever else is no text is a JSON value, whose order counts.
_STRUCTURE = frozenset(
    (
        *("content", "cache_control", "prompt_cache_breakpoint", "source", "output", "summary", "parts"),
        *("image_url", "cachePoint", "image", "document", "reasoningContent", "reasoningText", "inlineData"),
    )
)


class Place(NamedTuple):
    """Where the next block comes to stand: its position, and the kind of run it would continue ("": none)."""

    position: int = 0
    run: str = ""


@dataclass(slots=True)
class Item:
    """One datum of a request (a tool, a system block, a message) as blocks, with what else was seen in it."""

    blocks: list[Block]
    before: Place
    after: Place
    markers: list[Marker] = field(default_factory=list)
    unknown: list[tuple[str, str]] = field(default_factory=list)
    # What counts for a whole level once it is anywhere in the request ("images", "citations"): name -> first path.
    traits: dict[str, str] = field(default_factory=dict)
    # What `==` on the datum does not tell (order of keys, 1 against true): None: nothing; False: not known.
    exact: bytes | bool | None = None

    def moved(self, before: Place, runs: frozenset[str]) -> Item:
        """The same item at another place of the chain; nothing is hashed again."""
        builder = Builder(before, runs)
        blocks = [replace(block, position=builder.place_of(block.kind)) for block in self.blocks]
        return replace(self, blocks=blocks, before=before, after=builder.place)


class Builder:
    """Collects the blocks of one datum."""

    def __init__(self, place: Place, runs: frozenset[str]) -> None:
        self.before = self.place = place
        self._runs = runs
        self._blocks: list[Block] = []
        self._markers: list[Marker] = []
        self._unknown: list[tuple[str, str]] = []
        self._traits: dict[str, str] = {}

    def place_of(self, kind: str) -> int:
        """Take the next position; a run of blocks of one kind that counts as one stays where it is."""
        position, run = self.place
        if kind in self._runs:
            if run != kind:
                self.place = Place(position + 1, kind)
            return self.place.position - 1
        self.place = Place(position + 1)
        return position

    def block(
        self,
        path: str,
        level: Level,
        kind: str,
        canonical: str,
        value: Any,
        *,
        role: str | None = None,
        index: int | None = None,
        marker: Marker | None = None,
        markable: bool = True,
        text: str | None = None,
    ) -> None:
        """Add a block; a marker that may not be here is only noted."""
        self._blocks.append(
            Block(
                path=path,
                level=level,
                kind=kind,
                key=digest(canonical),
                text=plain_text(value) if text is None else text,
                role=role,
                message_index=index,
                marker=marker if markable else None,
                position=self.place_of(kind),
                markable=markable,
                value=value,
            )
        )
        if marker is not None:
            self._markers.append(marker)

    def mark(self, marker: Marker) -> None:
        """Put a marker on the block before, as an entry of its own does; without one it is only noted."""
        self._markers.append(marker)
        if self._blocks and self._blocks[-1].markable and self._blocks[-1].marker is None:
            self._blocks[-1] = replace(self._blocks[-1], marker=marker)

    def stray(self, marker: Marker) -> None:
        """A marker on no block."""
        self._markers.append(marker)

    def unknown(self, path: str, kind: str) -> None:
        """A part that is kept and not understood."""
        self._unknown.append((path, kind))

    def trait(self, name: str, path: str) -> None:
        """Something that counts wherever it is."""
        self._traits.setdefault(name, path)

    def item(self, datum: Any) -> Item:
        """Everything collected."""
        exact = None if _plain(datum) else _exact(datum)
        return Item(self._blocks, self.before, self.place, self._markers, self._unknown, self._traits, exact)


def _plain(value: Any) -> bool:
    """Whether equal values of this shape have equal canonical text: texts and fields only, whose order is free."""
    if value is None or type(value) is str:
        return True
    if type(value) is dict:
        return all(
            item is None or type(item) is str or (key in _STRUCTURE and _plain(item)) for key, item in value.items()
        )
    return type(value) in (list, tuple) and all(map(_plain, value))


def _exact(value: Any) -> bytes | bool:
    """The value with its types and order, to be compared beside `==`; False if it has no such form."""
    try:
        # Version 2: later ones write a value differently where its objects are shared.
        return marshal.dumps(value, 2)
    except ValueError:
        return False


@dataclass(slots=True)
class Plan:
    """A list of data in a request: what they are, and how one becomes blocks."""

    # Requests share sections of the same name.
    name: str
    values: Sequence[Any]
    # (builder, datum, index in `values`)
    expand: Callable[[Builder, Any, int], None]
    # What the blocks depend on beside the datum (the request's default lifetime); equal for sections that share.
    context: tuple[Any, ...] = ()


@dataclass(slots=True)
class Section:
    """A plan carried out."""

    values: Sequence[Any]
    items: list[Item]
    blocks: list[Block]
    # Number of blocks up to and with each item.
    ends: list[int]
    before: Place
    context: tuple[Any, ...]

    @property
    def after(self) -> Place:
        """Where the next section begins."""
        return self.items[-1].after if self.items else self.before


def _same(old: Any, item: Item, new: Any) -> bool:
    if old is new:
        return True
    if old != new:
        return False
    return item.exact is None or (item.exact is not False and item.exact == _exact(new))


def leading(earlier: Section, values: Sequence[Any]) -> int:
    """How many data at the front are those of the earlier section."""
    n = 0
    for old, item, new in zip(earlier.values, earlier.items, values):  # noqa: B905 (as far as both go)
        if not _same(old, item, new):
            break
        n += 1
    return n


def extend(plan: Plan, place: Place, runs: frozenset[str], earlier: Section | None) -> Section:
    """Carry a plan out; data that an earlier section had at the same index are not read again.

    Raises:
        UsageError: a value has no JSON form.
    """
    if earlier is not None and earlier.context != plan.context:
        earlier = None
    n = 0
    if earlier is not None and (earlier.before == place or not earlier.items):
        n = leading(earlier, plan.values)
    items = earlier.items[:n] if earlier is not None else []
    ends = earlier.ends[:n] if earlier is not None else []
    blocks = earlier.blocks[: ends[-1]] if earlier is not None and ends else []
    now = items[-1].after if items else place
    for i in range(n, len(plan.values)):
        datum = plan.values[i]
        if earlier is not None and i < len(earlier.items) and _same(earlier.values[i], earlier.items[i], datum):
            item = earlier.items[i]
            item = item if item.before == now else item.moved(now, runs)
        else:
            builder = Builder(now, runs)
            plan.expand(builder, datum, i)
            item = builder.item(datum)
        items.append(item)
        blocks.extend(item.blocks)
        ends.append(len(blocks))
        now = item.after
    return Section(plan.values, items, blocks, ends, place, plan.context)


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, an empty one otherwise."""
    return value if isinstance(value, Mapping) else {}


def listed(body: Mapping[str, Any], name: str, path: str | None = None) -> list[Any]:
    """A list of a body; absent and null are empty.

    Raises:
        UsageError: it is something else.
    """
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, (list, tuple)):
        raise UsageError(f"{path or name} is {type(value).__name__}; a list is meant")
    return list(value) if isinstance(value, tuple) else value
