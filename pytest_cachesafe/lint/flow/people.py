"""Attributes of people: what is read off an object whose class says that it is a user, a customer or an account."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.classes import mro
from pytest_cachesafe.lint.flow.imports import module_attribute
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import Bound, Cls, Func, ModShape, Obj, ParamShape

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.module import ClassInfo, FunctionInfo, Module
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["person_attribute"]

# `Customer`, `AppUser`, `PatientRecord`; not `UserMessage`, `UserProxyAgent` or `AccountService`.
_PERSON = (
    r"(?:User|Customer|Account|Member|Patient|Student|Subscriber|Employee|Tenant|Guest|Learner|Shopper|"
    r"Traveller|Traveler|Policyholder|Household)(?:Profile|Record|Data|Info|Details|Context|Model|Entity|Schema|Dto|DTO|"
    r"Out|Read|Row|Account)?"
)
_PEOPLE = lazy_pattern(r"(?:^|[a-z_])" + _PERSON + "$")
_SPOKEN = lazy_pattern(_PERSON + r"\b")
_OBJECTS = frozenset(("self", "cls"))
# What a framework's context holds of the program's own: `RunContext[Customer]` has a customer in its `deps`.
_HANDED = frozenset(("deps", "context", "userdata"))


def person_attribute(engine: Engine, frame: Frame, owner: Value, node: ast.Attribute, found: Value) -> Value | None:
    """`customer.tariff` of a `customer: Customer`; None for anything else. `found`: what is known of it otherwise."""
    if not isinstance(owner.shape, (Obj, Bound, ParamShape)) or not _speaks_of_people(engine, frame.module):
        return None
    if node.attr.startswith("_") or isinstance(found.shape, (Func, Cls, ModShape)):
        return None
    if any(atom.source is not None for atom in found.atoms.values()) or dotted_name(node.value) in _OBJECTS:
        return None
    if not _is_person(engine, frame, owner):
        return None
    return engine.source(frame, node, "user", "user", dotted_name(node) or node.attr)


def _is_person(engine: Engine, frame: Frame, owner: Value) -> bool:
    shape = owner.shape
    if isinstance(shape, Obj):
        return _PEOPLE.search(shape.cls.name) is not None
    if isinstance(shape, Bound):
        return any(map(_PEOPLE.search, _of_part(engine, frame, shape)))
    if not isinstance(shape, ParamShape):
        return False
    return any(map(_PEOPLE.search, (word for a in _annotations(engine, frame, owner) for word in _words(a))))


def _of_part(engine: Engine, frame: Frame, part: Bound) -> Iterator[str]:
    """The classes of `self.customer`, of `ctx.deps` and of `ctx.deps.customer`."""
    holder = part.receiver.shape
    if isinstance(holder, Obj):
        yield from _of_field(engine, holder.cls, part.name)
    elif isinstance(holder, ParamShape) and part.name in _HANDED:
        for annotation in _annotations(engine, frame, part.receiver):
            if isinstance(annotation, ast.Subscript):
                yield from _words(annotation.slice)
    elif isinstance(holder, Bound) and holder.name in _HANDED:
        for word in _of_part(engine, frame, holder):
            found = module_attribute(engine, frame, frame.module, word)
            if found is not None and isinstance(found.shape, Cls):
                yield from _of_field(engine, found.shape.cls, part.name)


def _annotations(engine: Engine, frame: Frame, given: Value) -> Iterator[ast.expr]:
    """What is said of a parameter where it is declared."""
    for atom in given.atoms.values():
        if atom.source is None and atom.mark is None and len(atom.key) == 3:
            function = _function(frame, atom.key[1])
            arguments = engine.node(function).args if function is not None else None
            for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs) if arguments else ():
                if arg.arg == atom.key[2] and arg.annotation is not None:
                    yield arg.annotation


def _function(frame: Frame, key: str) -> FunctionInfo | None:
    """The function around that has a parameter, or the constructor of the class around."""
    current: Frame | None = frame
    while current is not None:
        if current.function is not None and current.function.key == key:
            return current.function
        current = current.parent
    made = frame.cls.methods.get("__init__") if frame.cls is not None else None
    return made if made is not None and made.key == key else None


def _of_field(engine: Engine, cls: ClassInfo, name: str) -> Iterator[str]:
    for current in mro(engine, cls):
        if not _speaks_of_people(engine, current.module):
            continue
        for stmt in engine.class_body(current):
            if isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Name) and stmt.target.id == name:
                yield from _words(stmt.annotation)


def _speaks_of_people(engine: Engine, module: Module) -> bool:
    """Whether a file names such a class at all: bodies of classes are parsed again where they are asked for."""
    if module.people is None:
        module.people = any(_SPOKEN.search(line) for line in engine.lines(module))
    return module.people


def _words(annotation: ast.expr) -> Iterator[str]:
    """The classes that an annotation means: of `Optional[Customer]`, `models.Customer | None`, `"Customer"`."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        yield annotation.value.strip().partition(" ")[0].rpartition(".")[2]
    elif isinstance(annotation, (ast.Name, ast.Attribute)):
        yield dotted_name(annotation).rpartition(".")[2]
    elif isinstance(annotation, ast.BinOp):
        yield from _words(annotation.left)
        yield from _words(annotation.right)
    elif isinstance(annotation, ast.Subscript) and dotted_name(annotation.value).rpartition(".")[2] in (
        "Optional",
        "Annotated",
    ):
        part = annotation.slice
        yield from _words(part.elts[0] if isinstance(part, ast.Tuple) and part.elts else part)
