"""Statements, function bodies and class bodies."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from cachesafe_rules.model import Step
from pytest_cachesafe.lint.flow.arrive import arrive, new_mark, role_of
from pytest_cachesafe.lint.flow.calls import call_function
from pytest_cachesafe.lint.flow.engine import Engine, holder, parameter
from pytest_cachesafe.lint.flow.evaluate import evaluate, iterated
from pytest_cachesafe.lint.flow.frame import Frame, ParamSink
from pytest_cachesafe.lint.flow.module import ClassInfo, FunctionInfo, dotted_name
from pytest_cachesafe.lint.flow.values import (
    EMPTY,
    NOTHING,
    Atom,
    Cls,
    Const,
    DictShape,
    Ext,
    Func,
    Lazy,
    ListShape,
    ModShape,
    Obj,
    ParamShape,
    Value,
    join,
    merge,
)
from pytest_cachesafe.lint.tables import sinks, sources

__all__ = ["annotated_class", "assign", "bind", "run_body", "run_class_body", "run_function"]


_BESIDE_SYSTEM = frozenset(
    ("history", "messages", "msgs", "user", "prompt", "user_prompt", "gen_conf", "query", "question")
)


def run_body(engine: Engine, frame: Frame, body: list[ast.stmt]) -> None:
    """Run statements in order."""
    for stmt in body:
        handler = _HANDLERS.get(type(stmt))
        if handler is not None:
            frame.stmt = stmt
            handler(engine, frame, stmt)


def run_function(engine: Engine, function: FunctionInfo, cls: ClassInfo | None, quiet: bool = False) -> Frame:
    """Evaluate a function with symbolic parameters; `quiet` rounds leave no arrivals."""
    engine.run_module(function.module)
    frame = Frame(
        function.module, function=function, cls=cls, parent=function.env, quiet=quiet, qualname=function.qualname
    )
    _parameters(engine, frame, function, cls)
    run_body(engine, frame, engine.body(function))
    returned = NOTHING
    for value in frame.returned:
        returned = join(returned, value)
    frame.summary.returns = returned
    frame.summary.writes = frame.writes
    if not quiet:
        for nested in frame.nested:
            engine.summary(nested, cls)
    for nested in frame.nested:
        nested.env = None
    return frame


def _parameters(engine: Engine, frame: Frame, function: FunctionInfo, cls: ClassInfo | None) -> None:
    arguments = function.node.args
    every = [*arguments.posonlyargs, *arguments.args]
    defaults: dict[str, ast.expr] = (
        dict(zip([a.arg for a in every][len(every) - len(arguments.defaults) :], arguments.defaults))
        if arguments.defaults
        else {}
    )
    defaults.update({a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d is not None})
    outside = Frame(function.module, frozen=True, quiet=frame.quiet, qualname=function.qualname)
    outside.parent = function.env
    for i, arg in enumerate((*every, *arguments.kwonlyargs)):
        name = arg.arg
        if i == 0 and cls is not None and function.kind in ("method", "property"):
            frame.env[name] = holder(cls)
            continue
        if i == 0 and cls is not None and function.kind == "class":
            frame.env[name] = Value(shape=Cls(cls))
            continue
        value = parameter(function, name)
        default = defaults.get(name)
        given = (
            evaluate(engine, outside, default)
            if default is not None and not isinstance(default, ast.Constant)
            else NOTHING
        )
        if isinstance(default, ast.Constant):
            value = Value(value.atoms, ParamShape(name, default.value))
        known = annotated_class(engine, function, arg.annotation)
        if known is not None:
            value = Value(value.atoms, Obj(known))
        if given.atoms:
            value = Value(merge(value.atoms, _frozen(given.all_atoms())), value.shape)
        if _takes_system(engine, function, name) and not function.is_tool:
            row = arg.lineno
            mark = new_mark(frame, arg, "name")
            step = Step(function.module.name, row, f"parameter {name} of {function.name}()")
            frame.summary.sinks[name, f"parameter {name} of {function.name}()", "system"] = ParamSink(
                name, f"argument {name} of {function.name}()", "system", (step,), 0, (mark,)
            )
            if given.atoms and default is not None:
                arrive(engine, frame, default, given, f"parameter {name} of {function.name}()", marks=(mark,))
            value = Value({**value.atoms, ("m", mark.key): Atom(("m", mark.key), mark=mark)}, value.shape)
        frame.env[name] = value
    for rest in (arguments.vararg, arguments.kwarg):
        if rest is not None:
            frame.env[rest.arg] = parameter(function, rest.arg)


def _takes_system(engine: Engine, function: FunctionInfo, name: str) -> bool:
    """Whether a parameter is named like system text; some names count only beside others."""
    if name in ("system", "sys"):
        return any(p in _BESIDE_SYSTEM for p in function.params)
    if name == "instructions":
        owner = f"{function.cls.name if function.cls is not None else ''}.{function.name}"
        return "gent" in owner or "ssistant" in owner
    return engine.tables.is_system_name(name)


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
        found = engine.forced(function.module, env, name) if name else None
        if found is not None and isinstance(found.shape, Cls):
            return found.shape.cls
    return None


def run_class_body(engine: Engine, cls: ClassInfo) -> None:
    """Attributes set in a class body."""
    env = engine.run_module(cls.module)
    frame = Frame(cls.module, cls=None, frozen=True, qualname=cls.qualname)
    frame.env = dict(env)
    before = dict(env)
    words = engine.base_words(cls)
    tool = any(sinks.TOOL_CLASSES.search(w) for w in words)
    for stmt in cls.node.body:
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(stmt, ast.ClassDef):
            cls.env[stmt.name] = Value(shape=Cls(engine.make_class(stmt, cls.module, f"{cls.qualname}.{stmt.name}")))
            frame.env[stmt.name] = cls.env[stmt.name]
            continue
        frame.stmt = stmt
        value_node = getattr(stmt, "value", None)
        # A factory runs for each object.
        frame.frozen = not (
            isinstance(value_node, ast.Call) and any(k.arg == "default_factory" for k in value_node.keywords)
        )
        run_body(engine, frame, [stmt])
        frame.frozen = True
        if tool and isinstance(stmt, (ast.Assign, ast.AnnAssign)) and stmt.value is not None:
            target = stmt.targets[0] if isinstance(stmt, ast.Assign) else stmt.target
            if isinstance(target, ast.Name) and target.id in sinks.TOOL_ATTRIBUTES:
                value = frame.env.get(target.id, NOTHING)
                arrive(
                    engine,
                    frame,
                    stmt.value,
                    value,
                    f"{target.id} of tool {cls.name}",
                    "tools",
                    atoms=value.all_atoms(),
                )
    for name, value in frame.env.items():
        if before.get(name) is not value:
            cls.env[name] = value


# Binding


def _frozen(atoms: Any) -> Any:
    from dataclasses import replace

    return {
        k: a if a.source is None or a.source.frozen else a._replace(source=replace(a.source, frozen=True))
        for k, a in atoms.items()
    }


def bind(engine: Engine, frame: Frame, target: ast.expr, value: Value, mutated: bool = False) -> None:
    """Bind a target to a value, without looking at its name. `mutated`: the object changed in place."""
    if isinstance(target, ast.Name):
        if value.atoms:
            atoms = value.atoms
            if frame.frozen:
                atoms = _frozen(atoms)
            if not mutated:
                step = Step(frame.module.name, target.lineno, f"assigned to {target.id}")
                atoms = {k: a.at(step) for k, a in atoms.items()}
            value = Value(atoms, value.shape, value.latent)
        if frame.frozen and value.latent:
            value = Value(value.atoms, value.shape, _frozen(value.latent))
        if target.id in frame.outer:
            owner = frame.parent
            while owner is not None and target.id not in owner.env:
                owner = owner.parent
            if owner is not None:
                owner.env[target.id] = join(owner.env[target.id], value)
                return
        if target.id in frame.globals and frame.module.env is not None:
            old = frame.module.env.get(target.id)
            frame.module.env[target.id] = join(old, value) if old is not None else value
            return
        if mutated and target.id not in frame.env:
            owner = frame.parent
            while owner is not None and target.id not in owner.env:
                owner = owner.parent
            if owner is not None:
                owner.env[target.id] = value
                return
        frame.env[target.id] = value
        # What was known of attributes and items of the old object is gone.
        if not mutated and target.id in frame.dotted:
            for key in frame.dotted.pop(target.id):
                frame.env.pop(key, None)
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = (
            value.shape.items
            if isinstance(value.shape, ListShape) and value.shape.exact and len(value.shape.items) == len(target.elts)
            else None
        )
        item = iterated(value) if parts is None else NOTHING
        for i, part in enumerate(target.elts):
            if parts is not None:
                bind(engine, frame, part, Value(merge(parts[i].atoms, value.atoms), parts[i].shape, parts[i].latent))
            else:
                bind(engine, frame, part.value if isinstance(part, ast.Starred) else part, item)
    elif isinstance(target, ast.Attribute):
        name = dotted_name(target)
        if value.atoms and not mutated:
            step = Step(frame.module.name, target.lineno, f"assigned to {name}")
            value = Value({k: a.at(step) for k, a in value.atoms.items()}, value.shape, value.latent)
        first = frame.env.get(name.split(".", 1)[0])
        if isinstance(target.value, ast.Name):
            if first is not None and isinstance(first.shape, Obj) and first.shape.cls is frame.cls:
                old = frame.writes.get(target.attr)
                frame.writes[target.attr] = join(old, value) if old is not None else value
            elif first is not None and isinstance(first.shape, Obj) and target.value.id != "self":
                frame.env[target.value.id] = Value(
                    first.atoms, Obj(first.shape.cls, {**first.shape.fields, target.attr: value})
                )
        frame.env[name] = value
        frame.dotted.setdefault(name.split(".", 1)[0], []).append(name)
    elif isinstance(target, ast.Subscript):
        _bind_item(engine, frame, target, value)
    elif isinstance(target, ast.Starred):
        bind(engine, frame, target.value, value)


def _bind_item(engine: Engine, frame: Frame, target: ast.Subscript, value: Value) -> None:
    owner = evaluate(engine, frame, target.value)
    key = target.slice.value if isinstance(target.slice, ast.Constant) else None
    if isinstance(owner.shape, DictShape) and isinstance(key, str):
        new = Value(owner.atoms, DictShape({**owner.shape.fields, key: value}, owner.shape.mark), owner.latent)
    elif owner.shape is None or isinstance(owner.shape, ParamShape):
        new = (
            Value(owner.atoms, DictShape({key: value}))
            if isinstance(key, str)
            else Value(merge(owner.atoms, value.all_atoms()), owner.shape, owner.latent)
        )
    else:
        extra = evaluate(engine, frame, target.slice).all_atoms() if not isinstance(target.slice, ast.Slice) else EMPTY
        new = Value(merge(merge(owner.atoms, value.all_atoms()), extra), owner.shape, owner.latent)
    if isinstance(target.value, (ast.Name, ast.Attribute, ast.Subscript)):
        bind(engine, frame, target.value, new, mutated=True)


def assign(engine: Engine, frame: Frame, target: ast.expr, value: Value, node: ast.expr) -> None:
    """Bind, and take note where the target is named like system text."""
    if isinstance(target, ast.Name):
        constant = frame.function is None and frame.cls is None and engine.tables.is_system_constant(target.id)
        if value.atoms or value.shape is not None:
            if constant or engine.tables.is_system_name(target.id):
                value = _named(engine, frame, target, value, node, target.id)
            elif sinks.FEW_SHOT.search(target.id):
                arrive(
                    engine, frame, node, value, f"few-shot examples ({target.id})", "few_shot", atoms=value.all_atoms()
                )
    elif isinstance(target, ast.Attribute):
        if engine.tables.is_system_name(target.attr):
            value = _named(engine, frame, target, value, node, dotted_name(target) or target.attr)
        elif target.attr in sinks.TOOL_ATTRIBUTES and _is_tool_attribute(engine, frame, target, node):
            owner = f"tool {frame.cls.name}" if frame.cls is not None else "a tool"
            arrive(engine, frame, node, value, f"{target.attr} of {owner}", "tools", atoms=value.all_atoms())
        elif sinks.FEW_SHOT.search(target.attr):
            arrive(
                engine, frame, node, value, f"few-shot examples ({target.attr})", "few_shot", atoms=value.all_atoms()
            )
        elif target.attr == "messages" and _is_history(value):
            arrive(
                engine,
                frame,
                node,
                value,
                f"messages that every conversation begins with ({dotted_name(target)})",
                "few_shot",
                atoms=value.all_atoms(),
            )
        elif target.attr in ("content", "text") and _is_first_message(target.value):
            arrive(engine, frame, node, value, f"{dotted_name(target.value)}.{target.attr}")
    elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        key = target.slice.value
        if isinstance(key, str) and (key in sinks.SYSTEM_KEYS or key == "system"):
            arrive(engine, frame, node, value, f"{key!r} of a request")
        elif key in ("content", "text") and _is_system_dict(engine, frame, target.value):
            arrive(engine, frame, node, value, "system message")
        elif key in ("content", "text") and _is_first_message(target.value):
            arrive(engine, frame, node, value, f"{dotted_name(target.value) or 'the first message'}[{key!r}]")
        elif (
            key == "description"
            and isinstance(target.value, ast.Subscript)
            and isinstance(target.value.slice, ast.Constant)
            and target.value.slice.value == "function"
        ):
            arrive(engine, frame, node, value, "description of a tool", "tools", atoms=value.all_atoms())
        elif key == "tools":
            from pytest_cachesafe.lint.flow.arrive import tools

            tools(engine, frame, node, value)
    elif (
        isinstance(target, (ast.Tuple, ast.List))
        and isinstance(node, (ast.Tuple, ast.List))
        and len(node.elts) == len(target.elts)
        and isinstance(value.shape, ListShape)
        and len(value.shape.items) == len(target.elts)
    ):
        for part, item, where in zip(target.elts, value.shape.items, node.elts):
            assign(engine, frame, part, item, where)
        return
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = (
            value.shape.items
            if isinstance(value.shape, ListShape) and value.shape.exact and len(value.shape.items) == len(target.elts)
            else None
        )
        if parts is not None:
            for part, item in zip(target.elts, parts):
                assign(engine, frame, part, Value(merge(item.atoms, value.atoms), item.shape, item.latent), node)
            return
    bind(engine, frame, target, value)


def _is_history(value: Value) -> bool:
    """Several messages written down: an example conversation."""
    shape = value.shape
    return (
        isinstance(shape, ListShape)
        and shape.exact
        and sum(isinstance(i.shape, DictShape) and "role" in i.shape.fields for i in shape.items) > 1
    )


def _is_tool_attribute(engine: Engine, frame: Frame, target: ast.Attribute, node: ast.expr) -> bool:
    if target.attr == "__doc__":
        return isinstance(node, ast.JoinedStr)
    owner = dotted_name(target.value)
    if owner == "self" and frame.cls is not None:
        return any(sinks.TOOL_CLASSES.search(w) for w in engine.base_words(frame.cls))
    return owner.rsplit(".", 1)[-1].lower().endswith("tool")


def _is_system_dict(engine: Engine, frame: Frame, node: ast.expr) -> bool:
    """A message of the system role that is completed key by key."""
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return False
    shape = evaluate(engine, frame, node).shape
    return isinstance(shape, DictShape) and role_of(shape.fields.get("role")) == "system"


def _is_first_message(node: ast.expr) -> bool:
    """`messages[0]`, or a variable named like a system message."""
    if isinstance(node, ast.Subscript):
        return (
            isinstance(node.slice, ast.Constant)
            and node.slice.value == 0
            and dotted_name(node.value).endswith(("messages", "history"))
        )
    return sinks.is_system_name(dotted_name(node).rsplit(".", 1)[-1])


def _named(engine: Engine, frame: Frame, target: ast.expr, value: Value, node: ast.expr, name: str) -> Value:
    mark = new_mark(frame, target, "name")
    if isinstance(value.shape, (Func, Cls, ModShape, Ext)):
        return value
    arrive(engine, frame, node, value, name, marks=(mark,))
    if not value.all_atoms():
        return value
    return Value({**value.atoms, ("m", mark.key): Atom(("m", mark.key), mark=mark)}, value.shape, value.latent)


# Statements


def _assign(engine: Engine, frame: Frame, stmt: ast.Assign) -> None:
    value = evaluate(engine, frame, stmt.value)
    for target in stmt.targets:
        assign(engine, frame, target, value, stmt.value)


def _annotated_assign(engine: Engine, frame: Frame, stmt: ast.AnnAssign) -> None:
    if stmt.value is not None:
        assign(engine, frame, stmt.target, evaluate(engine, frame, stmt.value), stmt.value)


def _augmented(engine: Engine, frame: Frame, stmt: ast.AugAssign) -> None:
    from pytest_cachesafe.lint.flow.evaluate import added, shown

    value = evaluate(engine, frame, stmt.value)
    old = evaluate(engine, frame, stmt.target)
    if isinstance(old.shape, ListShape) or isinstance(value.shape, ListShape):
        new = added(engine, frame, old, value)
    elif isinstance(old.shape, DictShape) and isinstance(value.shape, DictShape):
        new = Value(
            merge(old.atoms, value.atoms), DictShape({**old.shape.fields, **value.shape.fields}, old.shape.mark)
        )
    else:
        atoms = shown(engine, frame, value, stmt.value).atoms
        step = Step(frame.module.name, stmt.lineno, f"added to {dotted_name(stmt.target)}")
        new = Value(
            merge(old.text().atoms, {k: a.at(step) for k, a in atoms.items()}), None, merge(old.latent, value.latent)
        )
    if isinstance(stmt.op, (ast.Add, ast.Sub)) and isinstance(value.shape, Const) and isinstance(stmt.target, ast.Attribute):
        if isinstance(value.shape.value, int) and sources.COUNTERS.search(stmt.target.attr):
            spelt = dotted_name(stmt.target)
            counted = engine.source(frame, stmt.target, "state", "call", f"{spelt}, which is counted up,")
            new = Value(merge(new.atoms, counted.atoms))
    name = (
        stmt.target.attr
        if isinstance(stmt.target, ast.Attribute)
        else stmt.target.id
        if isinstance(stmt.target, ast.Name)
        else ""
    )
    if isinstance(stmt.target, ast.Subscript):
        assign(engine, frame, stmt.target, new, stmt.value)
        return
    if (
        name
        and value is not NOTHING
        and (engine.tables.is_system_name(name) or (frame.function is None and engine.tables.is_system_constant(name)))
    ):
        named = _named(engine, frame, stmt.target, value, stmt.value, dotted_name(stmt.target))
        new = Value(
            merge(new.atoms, {k: a for k, a in named.atoms.items() if a.mark is not None}), new.shape, new.latent
        )
    bind(engine, frame, stmt.target, new, mutated=True)


def _expression(engine: Engine, frame: Frame, stmt: ast.Expr) -> None:
    evaluate(engine, frame, stmt.value)


def _return(engine: Engine, frame: Frame, stmt: ast.Return) -> None:
    if stmt.value is None:
        return
    value = evaluate(engine, frame, stmt.value)
    function = frame.function
    if function is not None and not function.is_tool:
        for decorator in function.decorators:
            words = sinks.PROMPT_DECORATORS.get(decorator.rsplit(".", 1)[-1])
            if words is not None and ("." in decorator or decorator == "dynamic_prompt"):
                arrive(engine, frame, stmt.value, value, words)
                break
        else:
            if engine.tables.is_system_name(function.name) and not isinstance(value.shape, (Func, Cls, ModShape)):
                mark = new_mark(frame, stmt, "name")
                arrive(engine, frame, stmt.value, value, f"return value of {function.name}()", marks=(mark,))
                if value.atoms:
                    value = Value(
                        {**value.atoms, ("m", mark.key): Atom(("m", mark.key), mark=mark)}, value.shape, value.latent
                    )
    frame.returned.append(value)


def _branches(engine: Engine, frame: Frame, *bodies: list[ast.stmt]) -> None:
    start = frame.env
    ends = []
    for body in bodies:
        frame.env = dict(start)
        run_body(engine, frame, body)
        if not (body and isinstance(body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))):
            ends.append(frame.env)
    merged = ends[0] if ends else dict(start)
    for other in ends[1:]:
        for name, value in other.items():
            old = merged.get(name)
            if old is None:
                merged[name] = value
            elif old is not value:
                merged[name] = join(old, value)
    if start is frame.module.env:
        start.update(merged)
        frame.env = start
    else:
        frame.env = merged


def _if(engine: Engine, frame: Frame, stmt: ast.If) -> None:
    if dotted_name(stmt.test).rsplit(".", 1)[-1] == "TYPE_CHECKING":
        # For annotations; star imports there would read a whole package.
        for inner in stmt.body:
            if isinstance(inner, ast.ImportFrom) and inner.names[0].name != "*":
                _import_from(engine, frame, inner)
        run_body(engine, frame, stmt.orelse)
        return
    evaluate(engine, frame, stmt.test)
    if frame.frozen and _is_main(stmt.test):
        # Runs when called as a script, not when imported.
        frame.frozen = False
        run_body(engine, frame, stmt.body)
        frame.frozen = True
        return
    _branches(engine, frame, stmt.body, stmt.orelse)


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and any(
        isinstance(n, ast.Name) and n.id == "__name__" for n in (test.left, *test.comparators)
    )


def _for(engine: Engine, frame: Frame, stmt: Any) -> None:
    item = iterated(evaluate(engine, frame, stmt.iter))
    if isinstance(stmt.target, ast.Name) and isinstance(stmt.iter, ast.Call) and sources.COUNTERS.search(stmt.target.id):
        if dotted_name(stmt.iter.func) in ("range", "count", "itertools.count"):
            item = engine.source(frame, stmt.target, "state", "call", f"{stmt.target.id}, which is counted up,")
    for _ in range(2):
        bind(engine, frame, stmt.target, item)
        _branches(engine, frame, stmt.body, [])
    run_body(engine, frame, stmt.orelse)


def _while(engine: Engine, frame: Frame, stmt: ast.While) -> None:
    for _ in range(2):
        evaluate(engine, frame, stmt.test)
        _branches(engine, frame, stmt.body, [])
    run_body(engine, frame, stmt.orelse)


def _with(engine: Engine, frame: Frame, stmt: Any) -> None:
    for item in stmt.items:
        value = evaluate(engine, frame, item.context_expr)
        if isinstance(value.shape, Obj):
            enter = engine.method(value.shape.cls, "__enter__") or engine.method(value.shape.cls, "__aenter__")
            if enter is not None:
                value = call_function(engine, frame, (enter,), [], {}, value, item.context_expr, value.shape.cls)
        if item.optional_vars is not None:
            bind(engine, frame, item.optional_vars, value)
    run_body(engine, frame, stmt.body)


def _try(engine: Engine, frame: Frame, stmt: Any) -> None:
    run_body(engine, frame, stmt.body)
    _branches(engine, frame, [], *[h.body for h in stmt.handlers])
    run_body(engine, frame, stmt.orelse)
    run_body(engine, frame, stmt.finalbody)


def _match(engine: Engine, frame: Frame, stmt: ast.Match) -> None:
    subject = iterated(evaluate(engine, frame, stmt.subject))
    for case in stmt.cases:
        for node in ast.walk(case.pattern):
            name = getattr(node, "name", None) or getattr(node, "rest", None)
            if isinstance(name, str):
                frame.env[name] = subject
    _branches(engine, frame, [], *[c.body for c in stmt.cases])


def _function(engine: Engine, frame: Frame, stmt: Any) -> None:
    for decorator in stmt.decorator_list:
        if isinstance(decorator, ast.Call):
            evaluate(engine, frame, decorator)
    if (
        frame.function is None
        and frame.env.get(stmt.name) is not None
        and frame is not None
        and frame.parent is None
        and _is_hoisted(frame, stmt)
    ):
        return
    info = FunctionInfo(
        stmt,
        frame.module,
        f"{frame.qualname}.{stmt.name}" if frame.qualname else stmt.name,
        None,
        frame if frame.function is not None else None,
    )
    info.is_tool = engine.tables.is_tool_function(info.decorators)
    if frame.function is not None:
        frame.nested.append(info)
        frame.module.nested.append(info)
    else:
        frame.module.functions.append(info)
    frame.env[stmt.name] = Value(shape=Func((info,)))


def _is_hoisted(frame: Frame, stmt: Any) -> bool:
    shape = frame.env[stmt.name].shape
    return isinstance(shape, Func) and any(f.node is stmt for f in shape.functions)


def _class(engine: Engine, frame: Frame, stmt: ast.ClassDef) -> None:
    known = frame.env.get(stmt.name)
    if known is not None and isinstance(known.shape, Cls) and known.shape.cls.node is stmt:
        return
    qualname = f"{frame.qualname}.{stmt.name}" if frame.qualname else stmt.name
    frame.env[stmt.name] = Value(shape=Cls(engine.make_class(stmt, frame.module, qualname)))


def _import(engine: Engine, frame: Frame, stmt: ast.Import) -> None:
    for alias in stmt.names:
        if alias.asname is not None or "." not in alias.name:
            frame.env[alias.asname or alias.name] = Value(shape=Lazy(alias.name, 0, None))
        else:
            first = alias.name.split(".", 1)[0]
            frame.env.setdefault(first, Value(shape=Lazy(first, 0, None)))
            frame.env[alias.name] = Value(shape=Lazy(alias.name, 0, None))


def _import_from(engine: Engine, frame: Frame, stmt: ast.ImportFrom) -> None:
    dotted = stmt.module or ""
    for alias in stmt.names:
        if alias.name != "*":
            frame.env[alias.asname or alias.name] = Value(shape=Lazy(dotted, stmt.level, alias.name))
            continue
        frame.module.stars.append((dotted, stmt.level))


def _global(engine: Engine, frame: Frame, stmt: Any) -> None:
    (frame.globals if isinstance(stmt, ast.Global) else frame.outer).update(stmt.names)


def _delete(engine: Engine, frame: Frame, stmt: ast.Delete) -> None:
    for target in stmt.targets:
        if isinstance(target, ast.Name):
            frame.env.pop(target.id, None)


def _assert(engine: Engine, frame: Frame, stmt: ast.Assert) -> None:
    evaluate(engine, frame, stmt.test)


_HANDLERS: dict[type[ast.AST], Callable[[Engine, Frame, Any], None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated_assign,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.Return: _return,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Match: _match,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Global: _global,
    ast.Nonlocal: _global,
    ast.Delete: _delete,
    ast.Assert: _assert,
}
if hasattr(ast, "TryStar"):
    _HANDLERS[ast.TryStar] = _try
