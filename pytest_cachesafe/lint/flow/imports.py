"""Names behind imports, looked up only when they are asked for; and what the body of a module defines."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.flow.frame import Frame
from pytest_cachesafe.lint.flow.module import ClassInfo, FunctionInfo
from pytest_cachesafe.lint.flow.values import Cls, Ext, Func, Lazy, ModShape, Value
from pytest_cachesafe.lint.leaving import reached

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.module import Module

__all__ = ["forced", "hoist", "imported_module", "make_class", "module_attribute", "resolve_dotted", "star_imported"]


def imported_module(engine: Engine, frame: Frame, dotted: str, level: int = 0) -> Module | None:
    """The module an import in this frame means, if it is one of the project's."""
    importer = frame.module.name
    name = engine.index.resolve(dotted, importer, level)
    if name is None or name == importer:
        return None
    frame.module.used.add(name)
    return engine.module(name)


def forced(engine: Engine, module: Module, env: dict[str, Value], name: str) -> Value | None:
    """A name of an environment; an import behind it is looked at now."""
    value = env.get(name)
    if value is not None and isinstance(value.shape, Lazy):
        value = env[name] = _import(engine, module, value.shape)
    return value


def star_imported(engine: Engine, module: Module, name: str) -> Value | None:
    """A name that a star import brings; only files in which the name is written are read."""
    for dotted, level in module.stars:
        where = engine.index.resolve(dotted, module.name, level)
        if where is None or where == module.name or (where, name) in engine.star_trail:
            continue
        if (
            where not in engine.modules
            and name.encode() not in engine.peek(where)
            and not where.endswith("__init__.py")
        ):
            continue
        engine.star_trail.add((where, name))
        try:
            module.used.add(where)
            child = engine.module(where)
            found = module_attribute(engine, Frame(module), child, name) if child is not None else None
        finally:
            engine.star_trail.discard((where, name))
        if found is not None:
            return found
    return None


def _import(engine: Engine, importer: Module, lazy: Lazy) -> Value:
    frame = Frame(importer)
    module = imported_module(engine, frame, lazy.dotted, lazy.level) if lazy.dotted or lazy.level else None
    if lazy.attribute is None:
        return Value(shape=ModShape(module)) if module is not None else Value(shape=Ext(lazy.dotted))
    value = module_attribute(engine, frame, module, lazy.attribute) if module is not None else None
    inner = f"{lazy.dotted}.{lazy.attribute}" if lazy.dotted else lazy.attribute
    if value is None and (module is None or module.name.endswith("__init__.py")):
        child = imported_module(engine, frame, inner, lazy.level)
        value = Value(shape=ModShape(child)) if child is not None else None
    return value if value is not None else Value(shape=Ext(inner))


def module_attribute(engine: Engine, frame: Frame, module: Module, name: str) -> Value | None:
    """A name of a module, following re-exports and submodules."""
    found = forced(engine, module, engine.run_module(module), name)
    if found is not None:
        return found
    found = star_imported(engine, module, name)
    if found is not None:
        return found
    if module.name.endswith("__init__.py"):
        sub = engine.index.resolve(name, module.name, 1)
        if sub is not None and sub != module.name:
            frame.module.used.add(sub)
            child = engine.module(sub)
            if child is not None:
                return Value(shape=ModShape(child))
    return None


def resolve_dotted(engine: Engine, module: Module, env: dict[str, Value], name: str) -> Value | None:
    """A dotted name in a module's environment."""
    first, *rest = name.split(".")
    value = forced(engine, module, env, first)
    frame = Frame(module)
    for part in rest:
        if value is None:
            return None
        if isinstance(value.shape, ModShape):
            value = module_attribute(engine, frame, value.shape.module, part)
        elif isinstance(value.shape, Ext):
            value = Value(shape=Ext(f"{value.shape.dotted}.{part}"))
        else:
            return None
    return value


def hoist(engine: Engine, frame: Frame, body: list[ast.stmt]) -> None:
    """Bind functions and classes before the body runs: circular imports and calls ahead see them."""
    for stmt in reached(body):
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
            info = FunctionInfo(stmt, frame.module, stmt.name, None, None)
            info.is_tool = engine.tables.is_tool_function(info.decorators)
            info.hoisted = True
            engine.fresh.append(info)
            frame.module.functions.append(info)
            frame.env[stmt.name] = Value(shape=Func((info,)))
        elif isinstance(stmt, ast.ClassDef):
            frame.env[stmt.name] = Value(shape=Cls(make_class(engine, stmt, frame.module, stmt.name, hoisted=True)))
        elif isinstance(stmt, (ast.If, ast.Try)):
            hoist(engine, frame, stmt.body)


def make_class(
    engine: Engine, node: ast.ClassDef, module: Module, qualname: str, *, hoisted: bool = False
) -> ClassInfo:
    """A class and its methods; its body runs when something is asked of it."""
    info = ClassInfo(node, module, qualname, hoisted)
    for stmt in node.body:
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
            method = FunctionInfo(stmt, module, f"{qualname}.{stmt.name}", info, None)
            method.is_tool = engine.tables.is_tool_function(method.decorators)
            engine.fresh.append(method)
            if stmt.name not in info.methods or not any(d.endswith((".setter", ".deleter")) for d in method.decorators):
                info.methods[stmt.name] = method
    module.classes.append(info)
    engine.fresh.append(info)
    return info
