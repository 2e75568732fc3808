"""Classes of the project: their bases, methods and attributes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.imports import forced, resolve_dotted
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.records import field
from pytest_cachesafe.lint.flow.values import Cls, join

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.module import ClassInfo, FunctionInfo
    from pytest_cachesafe.lint.flow.values import Value

__all__ = [
    "annotated_class",
    "annotated_names",
    "attributes_with_parameters",
    "base_words",
    "bases",
    "class_attribute",
    "context_class",
    "default_of",
    "find_method",
    "matters",
    "mro",
    "written_names",
]

_VOLATILE = (
    "now(", "today(", "strftime", "time(", "uuid", "random", "platform", "cwd", "environ", "getenv", "memor", "user_",
    "session_", "gethost", "get_current", "location",
)  # fmt: skip
_CLOCKS: tuple[str, ...] = ("now(", "today(", "strftime", "time(", "uuid", "platform", "getcwd")
# Calls that send a request to a model.
_REQUESTS = lazy_pattern(
    r"\b(?:messages|completions|responses)\.(?:create|stream|parse)\(|\ba?completion\(|\bgenerate_content(?:_async|_stream)?\(|"
    r"\b(?:llm|model|client|chat|agent)\w*\.(?:a?invoke|a?stream|a?chat|a?generate|converse(?:_stream)?|run(?:_sync)?)\("
)
_CHANGERS = frozenset(("append", "extend", "update", "insert", "add"))


def bases(engine: Engine, cls: ClassInfo) -> list[ClassInfo]:
    """Base classes that are the project's."""
    if cls.bases is None:
        cls.bases = []
        env = engine.run_module(cls.module)
        for name in cls.base_names:
            value = resolve_dotted(engine, cls.module, env, name)
            if value is not None and isinstance(value.shape, Cls) and value.shape.cls is not cls:
                cls.bases.append(value.shape.cls)
    return cls.bases


def mro(engine: Engine, cls: ClassInfo) -> list[ClassInfo]:
    """The class and its bases, nearest first."""
    if cls.chain is None:
        out: list[ClassInfo] = []
        queue = [cls]
        while queue and len(out) < 20:
            current = queue.pop(0)
            if current not in out:
                out.append(current)
                queue += bases(engine, current)
        cls.chain = out
    return cls.chain


def base_words(engine: Engine, cls: ClassInfo) -> set[str]:
    """Names of the class and all its bases, the last part of each."""
    return {c.name for c in mro(engine, cls)} | {b.rsplit(".", 1)[-1] for c in mro(engine, cls) for b in c.base_names}


def find_method(engine: Engine, cls: ClassInfo, name: str, above: ClassInfo | None = None) -> FunctionInfo | None:
    """A method by name, from the class or, for `super()`, from above another."""
    chain = mro(engine, cls)
    if above is not None:
        chain = chain[chain.index(above) + 1 :] if above in chain else mro(engine, above)[1:]
    for current in chain:
        if name in current.methods:
            return current.methods[name]
    return None


def class_attribute(engine: Engine, cls: ClassInfo, name: str) -> Value | None:
    """An attribute as objects of the class have it: written by its methods, or set in a class body."""
    for current in mro(engine, cls):
        engine.run_class(current)
        _write(engine, current, name)
        found: Value | None = None
        for table in (current.attributes, current.env, current.constructed):
            if name in table:
                found = table[name] if found is None else join(found, table[name])
        if found is not None:
            return found if _talks(engine, cls) else field(name, found)
    return None


def _talks(engine: Engine, cls: ClassInfo) -> bool:
    """Whether a class sends requests itself: when such an object was opened is no stamp of a record."""
    if cls.talks is None:
        lines = engine.lines(cls.module)[cls.row - 1 : cls.end_row]
        cls.talks = any(map(_REQUESTS.search, lines))
    return cls.talks


def default_of(engine: Engine, cls: ClassInfo, name: str) -> Value | None:
    """What a class body gives a field, as an object has it that is made without a value for it."""
    for current in mro(engine, cls):
        engine.run_class(current)
        if name in current.env:
            return current.env[name]
    return None


def attributes_with_parameters(engine: Engine, cls: ClassInfo) -> dict[str, Value]:
    """Attributes of the class and its bases that hold a parameter of a method."""
    out: dict[str, Value] = {}
    for current in mro(engine, cls):
        init = current.methods.get("__init__")
        if init is not None:
            for name in written_names(engine, init):
                _write(engine, current, name)
        for name, value in current.attributes.items():
            if name not in out and any(a.source is None and a.mark is None for a in value.all_atoms().values()):
                out[name] = value
    return out


def _write(engine: Engine, cls: ClassInfo, name: str) -> None:
    """Run the methods of a class that set an attribute, each once."""
    if cls.writers is None:
        cls.writers = {}
        for method in cls.methods.values():
            for written in written_names(engine, method):
                cls.writers.setdefault(written, []).append(method)
    for method in cls.writers.get(name, ()):
        if method.name in cls.written or engine.exhausted:
            continue
        cls.written.add(method.name)
        for key, value in engine.writes(method, cls).items():
            cls.attributes[key] = join(cls.attributes[key], value) if key in cls.attributes else value


def written_names(engine: Engine, method: FunctionInfo) -> set[str]:
    """Attributes of its object that a method sets or changes in place."""
    if method.written is not None:
        return method.written
    out: set[str] = set()
    method.written = out
    if method.kind == "static" or not method.params:
        return out
    me = method.params[0]
    stack: list[ast.AST] = list(engine.node(method).body)
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is ast.Constant or kind is ast.Name:
            continue
        if isinstance(node, ast.Attribute):
            if type(node.ctx) is ast.Store and isinstance(node.value, ast.Name) and node.value.id == me:
                out.add(node.attr)
            stack.append(node.value)
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGERS:
            name = dotted_name(node.func.value)
            if name.startswith(f"{me}."):
                out.add(name.split(".")[1])
        elif isinstance(node, ast.Subscript) and type(node.ctx) is ast.Store:
            name = dotted_name(node.value)
            if name.startswith(f"{me}."):
                out.add(name.split(".")[1])
        for name in node._fields:
            child = getattr(node, name, None)
            if type(child) is list:
                stack += [c for c in child if isinstance(c, ast.AST)]
            elif isinstance(child, ast.AST):
                stack.append(child)
    return out


def context_class(engine: Engine, defining: ClassInfo, cls: ClassInfo) -> ClassInfo:
    """The class a method is evaluated for: the defining one, unless a class below brings something volatile."""
    if cls is defining:
        return cls
    for current in mro(engine, cls):
        if current is defining:
            break
        if matters(engine, current):
            return cls
    return defining


def matters(engine: Engine, cls: ClassInfo) -> bool:
    """Whether what a class overrides or sets holds words of volatile sources."""
    if cls.volatile is None:
        lines = engine.lines(cls.module)
        cls.volatile = False
        above: set[str] | None = None
        for stmt in engine.class_body(cls):
            method = isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef))
            text = "\n".join(lines[stmt.lineno - 1 : stmt.end_lineno or stmt.lineno])
            if not any(word in text for word in (_VOLATILE if method else _CLOCKS)):
                continue
            if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if stmt.name == "__init__":
                    continue
                if above is None:
                    # Asked late: bases may lie in files that nothing else needs.
                    above = {name for base in mro(engine, cls)[1:] for name in base.methods}
                if stmt.name not in above:
                    continue
            cls.volatile = True
            break
    return cls.volatile


def annotated_names(engine: Engine, cls: ClassInfo) -> list[str]:
    """Annotated names of a class body in order: the fields of a dataclass or model."""
    if cls.fields is None:
        cls.fields = [
            s.target.id
            for s in engine.class_body(cls)
            if isinstance(s, ast.AnnAssign)
            and isinstance(s.target, ast.Name)
            and not dotted_name(s.annotation).endswith("ClassVar")
        ]
    return cls.fields


def annotated_class(engine: Engine, function: FunctionInfo, annotation: ast.expr | None) -> ClassInfo | None:
    """The class of the project that an annotation means."""
    if annotation is None:
        return None
    env = function.module.env or {}
    for node in (annotation, *([annotation.left, annotation.right] if isinstance(annotation, ast.BinOp) else [])):
        name = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            name = node.id
        elif (
            isinstance(node, ast.Subscript)
            and dotted_name(node.value).endswith("Optional")
            and isinstance(node.slice, ast.Name)
        ):
            name = node.slice.id
        found = forced(engine, function.module, env, name) if name else None
        if found is not None and isinstance(found.shape, Cls):
            return found.shape.cls
    return None
