"""The abstract values of the analysis: what a value may hold (atoms) and what it is (shape).

Immutable, so that values can be shared between frames, summaries and caches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_cachesafe.lint.flow.atoms import EMPTY, merge

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.atoms import Atoms, Mark
    from pytest_cachesafe.lint.flow.module import ClassInfo, FunctionInfo, Module

__all__ = [
    "NOTHING",
    "Bound",
    "Cls",
    "Const",
    "DictShape",
    "Ext",
    "Func",
    "Lambda",
    "Lazy",
    "ListShape",
    "ModShape",
    "Obj",
    "ParamShape",
    "PartShape",
    "Partial",
    "Shape",
    "TemplateShape",
    "TextFile",
    "Value",
    "join",
    "join_all",
    "whole",
]

_NONE: frozenset[tuple[Any, ...]] = frozenset()
# Loops and recursion make lists that no program has.
_LONGEST_LIST = 40


class Shape:
    """What a value is, where that is known."""

    __slots__ = ()


class Const(Shape):
    """A literal."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class DictShape(Shape):
    """A dict with known string keys; `mark` if it is a message whose position decides; `rest` are those of its atoms
    that stand for dicts which were taken into it as a whole."""

    __slots__ = ("fields", "mark", "rest")

    def __init__(
        self, fields: dict[str, Value], mark: Mark | None = None, rest: frozenset[tuple[Any, ...]] = _NONE
    ) -> None:
        self.fields = fields
        self.mark = mark
        self.rest = rest


class ListShape(Shape):
    """A list or tuple. `exact`: nothing unknown stands before the end, so positions are true. `drawn`: those of its
    atoms that say of a part that it was drawn at random, and that something stands behind that part."""

    __slots__ = ("drawn", "exact", "items")

    def __init__(self, items: tuple[Value, ...], exact: bool = True, drawn: frozenset[tuple[Any, ...]] = _NONE) -> None:
        if len(items) > _LONGEST_LIST:
            items, exact = (*items[: _LONGEST_LIST - 1], join_all(list(items[_LONGEST_LIST - 1 :]))), False
        self.items = items
        self.exact = exact
        self.drawn = drawn


class Obj(Shape):
    """An object of a class of the project; `fields` are set on this very object, the class knows the rest.

    `made` are the arguments of its constructor (key of `__init__`, values by name); `above` is set on what `super()`
    gives: methods are looked for behind that class.
    """

    __slots__ = ("above", "cls", "fields", "made")

    def __init__(
        self,
        cls: ClassInfo,
        fields: dict[str, Value] | None = None,
        made: tuple[str, dict[str, Value]] | None = None,
        above: ClassInfo | None = None,
    ) -> None:
        self.cls = cls
        self.fields = fields or {}
        self.made = made
        self.above = above


class Cls(Shape):
    """A class of the project."""

    __slots__ = ("cls",)

    def __init__(self, cls: ClassInfo) -> None:
        self.cls = cls


class Func(Shape):
    """Functions of the project (one of several where a table or a condition chooses), with what they are bound to."""

    __slots__ = ("bound", "env", "functions")

    def __init__(self, functions: tuple[FunctionInfo, ...], bound: Value | None = None, env: Any = None) -> None:
        self.functions = functions
        self.bound = bound
        self.env = env


class Lambda(Shape):
    """A lambda: its body is evaluated where it is made."""

    __slots__ = ("result",)

    def __init__(self, result: Value) -> None:
        self.result = result


class Partial(Lambda):
    """`partial(target, …)`: called with the arguments that it holds and those of the call; `result` is what it gives
    without any."""

    __slots__ = ("arguments", "spelt", "target")

    def __init__(self, result: Value, target: Value, spelt: str, arguments: Arguments) -> None:
        super().__init__(result)
        self.target = target
        self.spelt = spelt
        self.arguments = arguments


class Bound(Shape):
    """A method of a value of unknown class, not yet called."""

    __slots__ = ("name", "receiver")

    def __init__(self, receiver: Value, name: str) -> None:
        self.receiver = receiver
        self.name = name


class Ext(Shape):
    """Something outside the project, by its dotted name."""

    __slots__ = ("dotted",)

    def __init__(self, dotted: str) -> None:
        self.dotted = dotted


class ModShape(Shape):
    """A module of the project."""

    __slots__ = ("module",)

    def __init__(self, module: Module) -> None:
        self.module = module


class ParamShape(Shape):
    """The parameter itself, unchanged: a caller's value keeps its shape through it. `callee` is what is called by its
    name where a caller gives none."""

    __slots__ = ("callee", "default", "name")

    def __init__(self, name: str, default: Any = None, callee: Value | None = None) -> None:
        self.name = name
        self.default = default
        self.callee = callee


class RequestShape(ParamShape):
    """A parameter that a web framework fills from the request."""

    __slots__ = ()


class PartShape(Shape):
    """What was found under a key of a parameter, unchanged; the one atom says under which. Of a caller's dict it is
    that part, with its fields."""

    __slots__ = ()


class Lazy(Shape):
    """An imported name that nobody has asked for yet: its module is not read before."""

    __slots__ = ("attribute", "dotted", "level")

    def __init__(self, dotted: str, level: int, attribute: str | None) -> None:
        self.dotted = dotted
        self.level = level
        self.attribute = attribute


class TextFile(Shape):
    """The text of a file of the project that is named like a system prompt, not yet filled."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class TemplateShape(Shape):
    """A chat prompt template: the placeholders of its system part and of the others."""

    __slots__ = ("others", "system")

    def __init__(self, system: frozenset[str], others: frozenset[str]) -> None:
        self.system = system
        self.others = others


class Value:
    """`atoms` are in the value now; `latent` ones only once it is turned into a sequence or text (order of a set)."""

    __slots__ = ("_every", "atoms", "latent", "shape")

    def __init__(self, atoms: Atoms = EMPTY, shape: Shape | None = None, latent: Atoms = EMPTY) -> None:
        self.atoms = atoms
        self.shape = shape
        self.latent = latent
        self._every: Atoms | None = None

    def all_atoms(self) -> Atoms:
        """Everything the value holds as text, parts included."""
        found = self._every
        if found is None:
            found = merge(self.atoms, self.latent) if self.latent else self.atoms
            shape = self.shape
            if isinstance(shape, DictShape):
                for part in shape.fields.values():
                    found = merge(found, part.all_atoms())
            elif isinstance(shape, ListShape):
                for part in shape.items:
                    found = merge(found, part.all_atoms())
            elif isinstance(shape, Lambda):
                found = merge(found, shape.result.all_atoms())
            self._every = found
        return found

    def handed(self) -> Atoms:
        """What it brings along as an argument: of a dict not the order of the sets in it, which need not be printed."""
        if not isinstance(self.shape, DictShape):
            return self.all_atoms()
        atoms = merge(self.atoms, self.latent)
        for item in self.shape.fields.values():
            inner = isinstance(item.shape, (DictShape, ListShape, Lambda))
            atoms = merge(atoms, item.all_atoms() if inner else item.atoms)
        return atoms

    def text(self) -> Value:
        """The value as text: what it holds, without its shape."""
        if self.shape is None and not self.latent:
            return self
        atoms = self.all_atoms()
        return Value(atoms) if atoms else NOTHING


NOTHING = Value()


def whole(value: Value) -> frozenset[tuple[Any, ...]]:
    """Those atoms of a dict that stand for whole dicts: a parameter, a part of one, what is told of a copy."""
    if isinstance(value.shape, DictShape):
        return value.shape.rest
    return (
        frozenset(value.atoms) if isinstance(value.shape, (ParamShape, PartShape)) and len(value.atoms) == 1 else _NONE
    )


def join(a: Value, b: Value) -> Value:
    """What a value may be that is one or the other."""
    if a is b or b is NOTHING:
        return a
    if a is NOTHING:
        return b
    return Value(merge(a.atoms, b.atoms), _join_shapes(a.shape, b.shape), merge(a.latent, b.latent))


def join_all(values: list[Value]) -> Value:
    """`join` of several; nothing for none."""
    out = NOTHING
    for value in values:
        out = join(out, value)
    return out


def _join_shapes(a: Shape | None, b: Shape | None) -> Shape | None:
    if isinstance(a, PartShape) or isinstance(b, PartShape):
        return _join_parts(a, b)
    if a is b or b is None:
        return a
    if a is None:
        return b
    if isinstance(a, DictShape) and isinstance(b, DictShape):
        fields = dict(a.fields)
        for key, value in b.fields.items():
            fields[key] = join(fields[key], value) if key in fields else value
        return DictShape(fields, a.mark or b.mark, a.rest | b.rest)
    if isinstance(a, ListShape) and isinstance(b, ListShape):
        drawn = a.drawn | b.drawn
        if len(a.items) == len(b.items):
            return ListShape(
                tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True)), a.exact and b.exact, drawn
            )
        longer, shorter = (a, b) if len(a.items) > len(b.items) else (b, a)
        items = tuple(join(x, shorter.items[i]) if i < len(shorter.items) else x for i, x in enumerate(longer.items))
        return ListShape(items, a.exact and b.exact, drawn)
    if isinstance(a, Func) and isinstance(b, Func):
        extra = tuple(f for f in b.functions if f not in a.functions)
        return Func((a.functions + extra)[:8], a.bound or b.bound, a.env or b.env) if extra else a
    if isinstance(a, Obj) and isinstance(b, Obj) and a.cls is b.cls:
        fields = dict(a.fields)
        for key, value in b.fields.items():
            fields[key] = join(fields[key], value) if key in fields else value
        return Obj(a.cls, fields, _joined_made(a.made, b.made), a.above or b.above)
    if isinstance(a, Lambda) and isinstance(b, Lambda):
        return Lambda(join(a.result, b.result))
    if isinstance(a, ParamShape) and isinstance(b, (Ext, Func, Lambda)):
        # `clock or datetime.now`
        return ParamShape(a.name, a.default, Value(shape=b))
    if isinstance(a, Const) and isinstance(b, Const):
        return a if a.value == b.value else None
    return a if isinstance(b, Const) else b if isinstance(a, Const) else a


def _join_parts(a: Shape | None, b: Shape | None) -> Shape | None:
    """`data.get("meta") or {}` is still that part; beside anything else nothing is known of it."""
    part, other = (a, b) if isinstance(a, PartShape) else (b, a)
    empty = isinstance(other, (PartShape, Const)) or (isinstance(other, DictShape) and not other.fields)
    return part if empty else other


def _joined_made(
    a: tuple[str, dict[str, Value]] | None, b: tuple[str, dict[str, Value]] | None
) -> tuple[str, dict[str, Value]] | None:
    """What an object may be made with that is one or the other."""
    if a is None or b is None or a is b or a[0] != b[0]:
        return a or b
    return a[0], {name: join(a[1].get(name, NOTHING), b[1].get(name, NOTHING)) for name in {**a[1], **b[1]}}
