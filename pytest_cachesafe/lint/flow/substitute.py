"""Values of a summary in the terms of a caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_cachesafe.lint.flow.atoms import CALLED, ORDER_PART, SORTED_PART, is_order, merge, under, unordered
from pytest_cachesafe.lint.flow.derive import iterated
from pytest_cachesafe.lint.flow.parts import handed_order
from pytest_cachesafe.lint.flow.places import LAST_PART, last_part
from pytest_cachesafe.lint.flow.values import (
    NOTHING,
    DictShape,
    Lambda,
    ListShape,
    Obj,
    ParamShape,
    PartShape,
    Value,
    whole,
)

if TYPE_CHECKING:
    from cachesafe_rules.model import Step

__all__ = ["part_of", "picked", "substitute"]


def substitute(value: Value, key: str, given: dict[str, Value], step: Step | None, depth: int = 4) -> Value:
    """A value of a summary in a caller's terms."""
    shape = value.shape
    if isinstance(shape, ParamShape) and shape.name in given and len(value.atoms) <= 1:
        return given[shape.name]
    if isinstance(shape, PartShape) and len(value.atoms) == 1:
        (atom,) = value.atoms.values()
        if atom.key[1] == key and atom.key[2] in given:
            part = picked(given[atom.key[2]], atom.key[3:])
            if isinstance(part.shape, (DictShape, PartShape)):
                return part
    every = value.all_atoms()
    if not every and not isinstance(shape, (Obj, ParamShape, PartShape)):
        return value
    if (
        shape is not None
        and not isinstance(shape, (Obj, ParamShape, PartShape))
        and all(a.source is not None or a.mark is not None for a in every.values())
    ):
        # Nothing to fill in: only the way grows, and only for what is in the value itself.
        return Value(_substitute_atoms(value.atoms, key, given, step), shape, value.latent) if value.atoms else value
    atoms = _substitute_atoms(value.atoms, key, given, step)
    latent = _substitute_atoms(value.latent, key, given, step)
    if depth and shape is not None:
        if isinstance(shape, ListShape):
            items = tuple(substitute(i, key, given, step, depth - 1) for i in shape.items)
            shape = ListShape(items, shape.exact, shape.drawn)
        elif isinstance(shape, DictShape):
            fields = {k: substitute(v, key, given, step, depth - 1) for k, v in shape.fields.items()}
            rest: frozenset[Any] = frozenset()
            if shape.rest:
                atoms, latent, rest = _taken_in(value, shape, fields, key, given, step, latent)
            shape = DictShape(fields, shape.mark, rest)
        elif isinstance(shape, Obj) and shape.fields:
            inner = {k: substitute(v, key, given, step, depth - 1) for k, v in shape.fields.items()}
            shape = Obj(shape.cls, inner, shape.made)
        elif isinstance(shape, Lambda):
            shape = Lambda(substitute(shape.result, key, given, step, depth - 1))
        elif isinstance(shape, (ParamShape, PartShape)):
            shape = None
    elif isinstance(shape, (ParamShape, PartShape)):
        shape = None
    if shape is value.shape and atoms is value.atoms and latent is value.latent:
        return value
    return Value(atoms, shape, latent)


def _taken_in(
    value: Value, shape: DictShape, fields: dict[str, Value], key: str, given: dict[str, Value], step: Any, latent: Any
) -> tuple[Any, Any, frozenset[Any]]:
    """A dict that parameters were taken into: of what the caller gives each field stays under its key."""
    own = {k for k in value.atoms if k in shape.rest and k[0] == "p" and k[1] == key and k[2] in given}
    atoms = _substitute_atoms({k: a for k, a in value.atoms.items() if k not in own}, key, given, step)
    rest = shape.rest - own
    for k in own:
        part = picked(given[k[2]], k[3:])
        if isinstance(part.shape, DictShape):
            for name, field in part.shape.fields.items():
                fields.setdefault(name, field)
            atoms, latent = merge(atoms, part.atoms), merge(latent, part.latent)
        else:
            atoms = merge(atoms, part.handed())
        rest |= whole(part)
    return atoms, latent, rest


def _substitute_atoms(atoms: Any, key: str, given: dict[str, Value], step: Step | None) -> Any:
    if not atoms:
        return atoms
    out: dict[Any, Any] = {}
    for k, atom in atoms.items():
        if atom.source is not None:
            out[k] = atom.at(step) if step is not None else atom
        elif atom.mark is not None or atom.key[1] != key:
            out[k] = atom
        else:
            value = given.get(atom.key[2])
            if value is not None:
                for other, a in picked(value, atom.key[3:]).handed().items():
                    for told in atom.steps:
                        # An order was written out on its way here.
                        a = a.at(told)
                    out.setdefault(other, a)
    return out


def part_of(value: Value, fields: tuple[str, ...]) -> Value | None:
    """What stands under these keys of a parameter; None for anything else, and where that is too deep to be told."""
    if not isinstance(value.shape, (ParamShape, PartShape)) or len(value.atoms) != 1 or LAST_PART in fields:
        return None
    atoms = under(value.atoms, fields)
    ((old, new),) = zip(value.atoms, atoms, strict=True)
    return Value(atoms, PartShape()) if len(new) == len(old) + len(fields) else None


def picked(value: Value, fields: tuple[str, ...]) -> Value:
    """What stands under these keys of an argument; all of it where it is no dict that is seen."""
    for depth, name in enumerate(fields):
        if name == CALLED:
            if not isinstance(value.shape, Lambda):
                open_atoms = {k: a for k, a in value.atoms.items() if a.source is None and a.mark is None}
                return Value(under(open_atoms, fields[depth:])) if isinstance(value.shape, ParamShape) else NOTHING
            value = value.shape.result
            continue
        if name == LAST_PART:
            return Value(last_part(value.handed()))
        if name == ORDER_PART:
            found = iterated(value).atoms
            return Value(merge(handed_order(value), {k: a for k, a in found.items() if is_order(a)}))
        if name == SORTED_PART:
            return Value(unordered(value.handed()))
        if not isinstance(value.shape, DictShape):
            return part_of(value, fields[depth:]) or Value(under(value.handed(), fields[depth:]))
        value = value.shape.fields.get(name) or Value(under(value.atoms, (name,)))
    return value
