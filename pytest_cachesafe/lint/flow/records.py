"""Records: what is read back of an object that was kept says when it was made, which is no clock any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.values import Obj, Value

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.atoms import Atoms

__all__ = ["field", "is_stamp", "kept"]

# When an object was made or last written, by the name of its field.
_STAMP = lazy_pattern(r"^_?(?:timestamp|ts|(?:created|updated|modified|added|stored|recorded)(?:_\w+)?|\w+_at)$")


def field(name: str, value: Value) -> Value:
    """A field as any object of its class may have it, made when nobody knows."""
    return Value(_timeless(value.atoms), value.shape, value.latent) if value.atoms and _STAMP.match(name) else value


def is_stamp(name: str, value: Value) -> bool:
    """Whether a field holds the time at which its object is made."""
    return bool(_STAMP.match(name)) and len(_timeless(value.atoms)) < len(value.atoms)


def kept(value: Value) -> Value:
    """An object as it comes back out of the list that it was put into."""
    shape = value.shape
    if not isinstance(shape, Obj) or not any(map(_STAMP.match, shape.fields)):
        return value
    fields = {name: field(name, known) for name, known in shape.fields.items()}
    return Value(value.atoms, Obj(shape.cls, fields, shape.made, shape.above), value.latent)


def _timeless(atoms: Atoms) -> Atoms:
    return {k: a for k, a in atoms.items() if a.source is None or a.source.kind != "clock"}
