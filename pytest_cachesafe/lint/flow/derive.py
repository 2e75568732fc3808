"""Values made of other values, whatever the program: items, sorted lists, clocks cut to a day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cachesafe_rules.model import Step
from pytest_cachesafe.lint.flow import clock
from pytest_cachesafe.lint.flow.atoms import EMPTY, is_order, merge, unordered, volatile_atoms
from pytest_cachesafe.lint.flow.parts import sorted_part
from pytest_cachesafe.lint.flow.values import NOTHING, DictShape, ListShape, Obj, ParamShape, Value, join_all
from pytest_cachesafe.lint.tables import transfers

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.atoms import Atom, Atoms

__all__ = [
    "ANY_KEY",
    "cut",
    "fallback",
    "finer",
    "first_match",
    "given",
    "is_record",
    "item_of",
    "iterated",
    "ordered",
    "record_of",
    "taken",
]

# The field of a dict for what was stored under keys that are only known at run time.
ANY_KEY = "\0any"
_FALLBACK = "used only where nothing was given"


def fallback(value: Value, filename: str, row: int) -> Value:
    """`x or value`: random values in it are noted as what is used only where nothing was given."""
    if not any(a.source is not None and a.source.kind == "random" for a in value.atoms.values()):
        return value
    step = Step(filename, row, _FALLBACK)
    noted = {
        k: a._replace(steps=(*a.steps, step)) if a.source is not None and a.source.kind == "random" else a
        for k, a in value.atoms.items()
    }
    return Value(noted, value.shape, value.latent)


def given(value: Value) -> Atoms:
    """All that a value holds, without such fallbacks: an identifier is there as a rule."""
    return {k: a for k, a in value.all_atoms().items() if all(s.message != _FALLBACK for s in a.steps)}


def iterated(value: Value) -> Value:
    """What iteration over a value gives: sources stay, parameters do not."""
    if isinstance(value.shape, ListShape):
        items = join_all(list(value.shape.items))
        return Value(merge(items.atoms, merge(value.latent, volatile_atoms(value.atoms))), items.shape, items.latent)
    if isinstance(value.shape, DictShape):
        return Value(volatile_atoms(merge(value.atoms, value.latent)))
    if isinstance(value.shape, ParamShape) and transfers.TEXT_LISTS.search(value.shape.name):
        return Value(merge(value.atoms, value.latent))
    atoms = merge(volatile_atoms(value.atoms), value.latent)
    return Value(atoms) if atoms else NOTHING


def record_of(values: list[Value]) -> Value | None:
    """What stands in these lists, where it is records: of such a one is read what a key or a place asks for."""
    if not values or not all(isinstance(v.shape, ListShape) and not v.atoms and not v.latent for v in values):
        return None
    item = join_all([iterated(v) for v in values])
    return item if isinstance(item.shape, DictShape) else None


def is_record(value: Value) -> bool:
    """Several things under names or places of their own, and nothing said of all of them."""
    shape = value.shape
    if isinstance(shape, DictShape):
        return len(shape.fields) > 1 and shape.mark is None and not value.atoms
    if isinstance(shape, Obj):
        return len(shape.fields) > 1 and not value.atoms
    return isinstance(shape, ListShape) and shape.exact and len(shape.items) > 1 and not value.atoms


def taken(value: Value) -> Value:
    """What one round of a loop gets: nothing of the order in which the rounds come. Who collects the rounds has it."""
    item = iterated(value)
    outer = merge(value.atoms, value.latent)
    if not any(is_order(a) for a in outer.values()):
        return item
    own = join_all(list(value.shape.items)).all_atoms() if isinstance(value.shape, ListShape) else {}
    gone = {k for k, a in outer.items() if is_order(a) and k not in own}
    return _without(item, gone)


def item_of(value: Value) -> Value:
    """What is found under a key: the order of the rest does not matter."""
    return _without(value, {k for k, a in value.all_atoms().items() if is_order(a)})


def _without(value: Value, gone: set[tuple[Any, ...]]) -> Value:
    if not gone:
        return value
    return Value(
        {k: a for k, a in value.atoms.items() if k not in gone},
        value.shape,
        {k: a for k, a in value.latent.items() if k not in gone},
    )


def first_match(value: Value) -> Value:
    """One of the files that a pattern found: who takes one expects one."""
    return _without(
        value,
        {
            k
            for k, a in value.all_atoms().items()
            if a.source is not None and a.source.kind == "listing" and a.source.api.endswith("glob()")
        },
    )


def ordered(value: Value) -> Value:
    """What `sorted` gives: the order no longer depends on sets and directories."""
    shape = value.shape
    given_sorted = sorted_part(value)
    if given_sorted:
        # Those that are known to hold text give it item by item.
        texts = isinstance(shape, ParamShape) and transfers.TEXT_LISTS.search(shape.name)
        return Value(EMPTY, None, given_sorted) if texts else Value(given_sorted)
    if isinstance(shape, ListShape):
        shape = ListShape(tuple(Value(unordered(i.atoms), i.shape, unordered(i.latent)) for i in shape.items), False)
    return Value(unordered(value.atoms), shape)


def finer(atom: Atom, granularity: str | None) -> Atom:
    """A clock atom after its value was cut to `granularity`."""
    source = atom.source
    if source is None or granularity is None or not clock.tells_time(source):
        return atom
    cut = clock.coarser(source.granularity, granularity)
    if cut == source.granularity:
        return atom
    from dataclasses import replace

    return atom._replace(source=replace(source, granularity=cut))


def cut(value: Value, granularity: str | None) -> Value:
    """A value whose clocks were cut."""
    if granularity is None or not value.atoms:
        return value
    return Value({k: finer(a, granularity) for k, a in value.atoms.items()}, value.shape, value.latent)
