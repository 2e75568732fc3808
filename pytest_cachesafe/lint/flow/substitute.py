"""Values of a summary in the terms of a caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_cachesafe.lint.flow.places import is_last_part, last_part
from pytest_cachesafe.lint.flow.values import DictShape, Lambda, ListShape, Obj, ParamShape, Value

if TYPE_CHECKING:
    from cachesafe_rules.model import Step

__all__ = ["substitute"]


def substitute(value: Value, key: str, given: dict[str, Value], step: Step | None, depth: int = 4) -> Value:
    """A value of a summary in a caller's terms."""
    shape = value.shape
    if isinstance(shape, ParamShape) and shape.name in given and len(value.atoms) <= 1:
        return given[shape.name]
    every = value.all_atoms()
    if not every and not isinstance(shape, (Obj, ParamShape)):
        return value
    if (
        shape is not None
        and not isinstance(shape, (Obj, ParamShape))
        and all(a.source is not None or a.mark is not None for a in every.values())
    ):
        # Nothing to fill in: only the way grows, and only for what is in the value itself.
        return Value(_substitute_atoms(value.atoms, key, given, step), shape, value.latent) if value.atoms else value
    atoms = _substitute_atoms(value.atoms, key, given, step)
    latent = _substitute_atoms(value.latent, key, given, step)
    if depth and shape is not None:
        if isinstance(shape, ListShape):
            shape = ListShape(tuple(substitute(i, key, given, step, depth - 1) for i in shape.items), shape.exact)
        elif isinstance(shape, DictShape):
            shape = DictShape(
                {k: substitute(v, key, given, step, depth - 1) for k, v in shape.fields.items()}, shape.mark
            )
        elif isinstance(shape, Obj) and shape.fields:
            inner = {k: substitute(v, key, given, step, depth - 1) for k, v in shape.fields.items()}
            shape = Obj(shape.cls, inner, shape.made)
        elif isinstance(shape, Lambda):
            shape = Lambda(substitute(shape.result, key, given, step, depth - 1))
        elif isinstance(shape, ParamShape):
            shape = None
    elif isinstance(shape, ParamShape):
        shape = None
    if shape is value.shape and atoms is value.atoms and latent is value.latent:
        return value
    return Value(atoms, shape, latent)


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
                handed = value.handed()
                for other, a in (last_part(handed) if is_last_part(atom) else handed).items():
                    out.setdefault(other, a)
    return out
