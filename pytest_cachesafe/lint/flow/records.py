"""Records: what is read back of something that was kept says when it was made, which is no clock any more."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.flow.values import DictShape, ParamShape, Value

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.atoms import Atoms
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["SOME_KEY", "field", "held", "is_stamp", "is_told", "timeless", "told"]

# Stands for the key of a part of a parameter where the caller chooses it.
SOME_KEY = "\0some"

# When an object was made or last written, by the name of its field.
_STAMP = re.compile(r"^_?(?:timestamp|ts|(?:created|updated|modified|added|stored|recorded)(?:_\w+)?|\w+_at)$")
# Dicts whose fields are put into texts by name, the time among them.
_FILLS = re.compile(r"context|ctx|var|placeholder|templat|slot|value|param|prompt|fill|replac|substitut|macro|input")


def is_stamp(name: str) -> bool:
    """Whether a field is named for when its record was made or last written."""
    return _STAMP.match(name) is not None


def timeless(atoms: Atoms) -> Atoms:
    """Atoms without those of clocks."""
    return {k: a for k, a in atoms.items() if a.source is None or a.source.kind != "clock"}


def field(name: str, value: Value) -> Value:
    """A field as any object of its class may have it, made when nobody knows."""
    return Value(timeless(value.atoms), value.shape, value.latent) if value.atoms and is_stamp(name) else value


def held(name: str, value: Value) -> Value:
    """An attribute as any object of its class may have it."""
    value = field(name, value)
    shape = value.shape
    if not isinstance(shape, DictShape) or not any(map(is_stamp, shape.fields)) or _FILLS.search(name.lower()):
        return value
    return Value(value.atoms, DictShape(shape.fields, shape.mark, shape.rest, more=shape.more, kept=True), value.latent)


def is_told(frame: Frame, node: ast.expr, key: Value) -> bool:
    """Whether a key is one that the caller names: a parameter, or a part of the path to what is looked for."""
    return isinstance(key.shape, ParamShape) or (isinstance(node, ast.Name) and node.id in frame.path_parts)


def told(shape: DictShape) -> DictShape:
    """A dict that is asked for what a caller names: of what an object keeps that is not when it was written, where
    there is something else to be asked for."""
    if not shape.kept or (not shape.more and all(map(is_stamp, shape.fields))):
        return shape
    fields = {name: field(name, known) for name, known in shape.fields.items()}
    return DictShape(fields, shape.mark, shape.rest, more=shape.more)
