"""How data of a request become placed blocks, and how those of an earlier request are used again."""

from __future__ import annotations

import marshal
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from pytest_cachesafe.providers.blocks.block import Block, Level, Marker
from pytest_cachesafe.providers.blocks.canonical import digest, plain_text
from pytest_cachesafe.providers.fronts import Front
from pytest_cachesafe.usage import UsageError

__all__ = [
    "SERVER_RESULTS", "THINKING", "Builder", "Item", "Place", "Plan", "Section", "extend", "leading", "listed",
    "mapping",
]  # fmt: skip

# Keys under which blocks hold blocks or fields again; whatever else is no text is a JSON value, whose order counts.
_STRUCTURE = frozenset(
    (
        *("content", "cache_control", "prompt_cache_breakpoint", "source", "output", "summary", "parts"),
        *("image_url", "cachePoint", "image", "document", "reasoningContent", "reasoningText", "inlineData"),
    )
)


# Results of tools that Anthropic runs itself: it puts breakpoints of its own on them.
SERVER_RESULTS = frozenset(
    (
        *("web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result"),
        *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result"),
    )
)
THINKING = frozenset(("thinking", "redacted_thinking"))
SPECIAL = SERVER_RESULTS | THINKING


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
    # Blocks to be found again without looking at all of them, by number in `blocks`: thinking, results of tools that
    # the provider runs, marked ones.
    special: list[int] = field(default_factory=list)
    # What `==` on the datum does not tell (order of keys, 1 against true): None: nothing; False: not known; True: not
    # asked yet.
    exact: bytes | bool | None = True

    @property
    def notable(self) -> bool:
        """Whether there is more to it than blocks."""
        return bool(self.markers or self.unknown or self.traits or self.special)

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

    def leaf(
        self,
        path: str,
        level: Level,
        kind: str,
        canonical: str,
        text: str,
        value: Any,
        role: str,
        index: int | None,
        marker: Marker | None,
    ) -> None:
        """Add a block that can carry a marker: the way of most blocks, and the shortest."""
        self._blocks.append(
            Block(path, level, kind, digest(canonical), text, role, index, marker, self.place_of(kind), True, value)
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

    def item(self) -> Item:
        """Everything collected."""
        special = [i for i, b in enumerate(self._blocks) if b.marker is not None or b.kind in SPECIAL]
        return Item(self._blocks, self.before, self.place, self._markers, self._unknown, self._traits, special)


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
    # Numbers of the items that are `notable`.
    notable: list[int]
    # How many items at the front are those of the section that it was made from.
    front: int = 0

    @property
    def after(self) -> Place:
        """Where the next section begins."""
        return self.items[-1].after if self.items else self.before


def _same(old: Any, item: Item, new: Any) -> bool:
    if old is new:
        return True
    if old != new:
        return False
    exact = item.exact
    if exact is True:
        # Most data are met again as the same object, and are never asked.
        exact = item.exact = None if _plain(old) else _exact(old)
    return exact is None or (exact is not False and exact == _exact(new))


def leading(earlier: Section, values: Sequence[Any], fronts: Iterable[Front] = ()) -> int:
    """How many data at the front are those of the earlier section; at least, where that is known from `fronts`."""
    if earlier.values is values:
        return len(values)
    for front in fronts:
        if front.now is values and front.earlier is earlier.values:
            return front.shared
    n = -1
    # In line: this is the one loop that every request goes through for all of its messages.
    for n, (old, new) in enumerate(zip(earlier.values, values)):  # noqa: B905 (as far as both go)
        if old is not new and not _same(old, earlier.items[n], new):
            return n
    return n + 1


def extend(
    plan: Plan, place: Place, runs: frozenset[str], earlier: Section | None, known: int | None = None
) -> Section:
    """Carry a plan out; data that an earlier section had at the same index are not read again.

    Args:
        known: what `leading` says of the earlier section, where it was asked already.

    Raises:
        UsageError: a value has no JSON form.
    """
    if earlier is not None and earlier.context != plan.context:
        earlier = None
    if earlier is not None and earlier.values is plan.values and earlier.before == place:
        return earlier
    n = 0
    if earlier is not None and (earlier.before == place or not earlier.items):
        n = leading(earlier, plan.values) if known is None else known
    if earlier is None:
        section = Section(plan.values, [], [], [], place, plan.context, [])
    else:
        ends = earlier.ends[:n]
        notable = earlier.notable[: bisect_left(earlier.notable, n)]
        blocks = earlier.blocks[: ends[-1] if ends else 0]
        section = Section(plan.values, earlier.items[:n], blocks, ends, place, plan.context, notable, n)
    for i in range(n, len(plan.values)):
        datum, now = plan.values[i], section.after
        if earlier is not None and i < len(earlier.items) and _same(earlier.values[i], earlier.items[i], datum):
            item = earlier.items[i]
            item = item if item.before == now else item.moved(now, runs)
        else:
            builder = Builder(now, runs)
            plan.expand(builder, datum, i)
            item = builder.item()
        if item.notable:
            section.notable.append(i)
        section.items.append(item)
        section.blocks.extend(item.blocks)
        section.ends.append(len(section.blocks))
    return section


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
