"""Values of expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from cachesafe_rules.model import Step
from pytest_cachesafe.lint.flow import clock
from pytest_cachesafe.lint.flow.arrive import dict_arrivals, list_positions
from pytest_cachesafe.lint.flow.calls import call, call_function
from pytest_cachesafe.lint.flow.engine import Engine
from pytest_cachesafe.lint.flow.frame import Frame
from pytest_cachesafe.lint.flow.module import dotted_name, place
from pytest_cachesafe.lint.flow.values import (
    EMPTY,
    NOTHING,
    Atom,
    Bound,
    Cls,
    Const,
    DictShape,
    Ext,
    Func,
    Lambda,
    Lazy,
    ListShape,
    ModShape,
    Obj,
    ParamShape,
    TemplateShape,
    TextFile,
    Value,
    join,
    join_all,
    merge,
)
from pytest_cachesafe.lint.tables import sources, transfers

__all__ = ["evaluate", "finer", "iterated"]

_ORDER_KINDS = frozenset(("set", "listing"))
_RECALLED = frozenset(("memory", "memories", "summary", "fact", "facts", "topics", "input"))
_BUILTINS = frozenset((
    "id", "hash", "str", "repr", "list", "tuple", "dict", "set", "frozenset", "sorted", "reversed", "map", "filter", "zip", "enumerate", "format", "open", "len", "min", "max",
    "sum", "int", "float", "round", "getattr", "next", "iter", "vars", "super", "print", "isinstance", "bytes", "any", "all", "type", "bool", "object", "abs", "range", "hasattr", "setattr", "Exception",
))  # fmt: skip


def evaluate(engine: Engine, frame: Frame, node: ast.expr | None) -> Value:
    """The value of an expression; remembered for rules where its file is recorded and it holds something volatile."""
    if node is None:
        return NOTHING
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return NOTHING
    value = handler(engine, frame, node)
    if value.atoms and any(a.source is not None for a in value.atoms.values()):
        frame.module.tainted[place(node)] = value
    return value


def _constant(engine: Engine, frame: Frame, node: ast.Constant) -> Value:
    return Value(shape=Const(node.value))


def _name(engine: Engine, frame: Frame, node: ast.Name) -> Value:
    value = frame.lookup(node.id)
    if value is None:
        env = frame.module.env
        value = engine.forced(frame.module, env, node.id) if env is not None else None
        if value is None:
            if node.id in _BUILTINS:
                return Value(shape=Ext(node.id))
            value = engine.starred(frame.module, node.id) if frame.module.stars else None
            if value is None:
                return NOTHING
    elif isinstance(value.shape, Lazy):
        env = frame.env if frame.env.get(node.id) is value else {node.id: value}
        value = engine.forced(frame.module, env, node.id) or NOTHING
    if isinstance(value.shape, (ParamShape, type(None))) and node.id in sources.PERSONAL_NAMES and _only_params(value):
        kind, granularity = sources.PERSONAL_NAMES[node.id]
        return Value(merge(value.atoms, engine.source(frame, node, kind, granularity, node.id).atoms), value.shape)
    if isinstance(value.shape, (ParamShape, type(None))) and node.id in sources.STATE_NAMES and _only_params(value):
        kind, granularity = sources.STATE_NAMES[node.id]
        return Value(merge(value.atoms, engine.source(frame, node, kind, granularity, node.id).atoms), value.shape)
    if isinstance(value.shape, ParamShape) and sources.MEMORY_NAMES.match(node.id) and _only_params(value):
        return Value(merge(value.atoms, engine.source(frame, node, "memory", "call", node.id).atoms), value.shape)
    return value


def _only_params(value: Value) -> bool:
    return bool(value.atoms) and all(a.source is None for a in value.atoms.values())


def _attribute(engine: Engine, frame: Frame, node: ast.Attribute) -> Value:
    # What this very function wrote last is truer than what the class knows.
    if isinstance(node.value, ast.Name):
        written = frame.lookup(f"{node.value.id}.{node.attr}")
        if written is not None:
            return written
    env = frame.module.env
    if env:
        whole = env.get(dotted_name(node))
        if whole is not None and isinstance(whole.shape, (Lazy, ModShape)):
            # import a.b
            return engine.forced(frame.module, env, dotted_name(node)) or NOTHING
    owner = evaluate(engine, frame, node.value)
    value = attribute(engine, frame, owner, node.attr, node)
    if not value.atoms and not isinstance(value.shape, (Func, Cls, ModShape, Const)):
        personal = _personal(engine, frame, node)
        if personal is not None:
            return Value(personal.atoms, value.shape)
    return value


def _personal(engine: Engine, frame: Frame, node: ast.Attribute) -> Value | None:
    owner = dotted_name(node.value).rsplit(".", 1)[-1].lstrip("_")
    name = f"{owner}.{node.attr}"
    if node.attr in sources.PERSONAL_NAMES:
        kind, granularity = sources.PERSONAL_NAMES[node.attr]
        return engine.source(frame, node, kind, granularity, name)
    if node.attr in sources.PERSONAL_FIELDS and sources.PERSONAL_OWNERS.match(owner):
        return engine.source(frame, node, "user", "user", name)
    if node.attr in sources.STATE_NAMES:
        kind, granularity = sources.STATE_NAMES[node.attr]
        return engine.source(frame, node, kind, granularity, name)
    if node.attr in ("url", "title", "position") and sources.STATE_OWNERS.match(owner):
        return engine.source(frame, node, "state", "call", name)
    if node.attr in ("work_dir", "working_dir", "workspace_path", "working_directory", "cwd", "workdir"):
        return engine.source(frame, node, "cwd", "session", name)
    if node.attr in ("os_kind", "os_name", "os_version", "platform_name"):
        return engine.source(frame, node, "host", "host", name)
    return None


def attribute(engine: Engine, frame: Frame, owner: Value, name: str, node: ast.expr) -> Value:
    """`owner.name`."""
    shape = owner.shape
    if isinstance(shape, Ext):
        dotted = f"{shape.dotted}.{name}"
        known = sources.ATTRIBUTES.get(dotted)
        if known is not None:
            return Value(engine.source(frame, node, *known, dotted).atoms, Ext(dotted))
        return Value(owner.atoms, Ext(dotted))
    if isinstance(shape, ModShape):
        return engine.attribute_of(frame, shape.module, name) or NOTHING
    if isinstance(shape, Obj):
        if name in shape.fields:
            return shape.fields[name]
        method = engine.method(shape.cls, name, shape.above)
        if method is not None:
            if method.kind == "property":
                return call_function(engine, frame, (method,), [], {}, owner, node, shape.cls)
            return Value(shape=Func((method,), owner))
        found = engine.attribute(shape.cls, name)
        return found if found is not None else Value(shape=Bound(owner, name))
    if isinstance(shape, Cls):
        method = engine.method(shape.cls, name)
        if method is not None:
            return Value(shape=Func((method,), Value(shape=shape) if method.kind == "class" else None))
        return engine.attribute(shape.cls, name) or Value(shape=Ext(f"{shape.cls.name}.{name}"))
    if isinstance(shape, DictShape) and name in shape.fields and name not in transfers.STRING_METHODS:
        return shape.fields[name]
    atoms: dict[Any, Atom] = {}
    part = clock.of_attribute(name)
    for key, atom in owner.atoms.items():
        if atom.source is None:
            continue
        if part is not None and atom.source.kind == "clock":
            atoms[key] = finer(atom, part)
        elif name in transfers.KEPT_ATTRIBUTES or (atom.source.kind == "memory" and name in _RECALLED):
            atoms[key] = atom
    known_method = sources.METHODS.get(name)
    if known_method is not None and name == "hexsha":
        return engine.source(frame, node, *known_method, name)
    return Value(atoms or EMPTY, Bound(owner, name))


def finer(atom: Atom, granularity: str | None) -> Atom:
    """A clock atom after its value was cut to `granularity`."""
    source = atom.source
    if source is None or source.kind != "clock" or granularity is None:
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


def _joined(engine: Engine, frame: Frame, node: ast.JoinedStr) -> Value:
    atoms = EMPTY
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            value = evaluate(engine, frame, part.value)
            spec = part.format_spec
            if isinstance(spec, ast.JoinedStr) and any(
                a.source is not None and a.source.kind == "clock" for a in value.atoms.values()
            ):
                words = "".join(str(v.value) for v in spec.values if isinstance(v, ast.Constant))
                if "%" in words:
                    value = cut(value, clock.of_format(words))
            atoms = merge(atoms, shown(engine, frame, value, part).atoms)
    if atoms:
        row = node.lineno
        atoms = {k: a.at(Step(frame.module.name, row, "formatted into a string")) for k, a in atoms.items()}
    return Value(atoms) if atoms else NOTHING


def shown(engine: Engine, frame: Frame, value: Value, node: ast.AST) -> Value:
    """A value as text; an object without text of its own shows its address."""
    if isinstance(value.shape, Obj):
        cls = value.shape.cls
        for name in ("__str__", "__format__", "__repr__"):
            method = engine.method(cls, name)
            if method is not None:
                return call_function(engine, frame, (method,), [], {}, value, node, cls).text()
        if engine.base_words(cls) == {cls.name} and not cls.node.decorator_list:
            return engine.source(frame, node, "repr", "process", f"the default text of a {cls.name} object")
        return NOTHING
    if isinstance(value.shape, ListShape):
        inner = next((i.shape for i in value.shape.items if isinstance(i.shape, Func) and i.shape.functions), None)
        if isinstance(inner, Func):
            source = engine.source(frame, node, "repr", "process", f"the text of function {inner.functions[0].name}")
            return Value(merge(value.all_atoms(), source.atoms))
    if isinstance(value.shape, Func) and value.shape.functions:
        return engine.source(frame, node, "repr", "process", f"the text of function {value.shape.functions[0].name}")
    return value.text()


def _binary(engine: Engine, frame: Frame, node: ast.BinOp) -> Value:
    left = evaluate(engine, frame, node.left)
    right = evaluate(engine, frame, node.right)
    if isinstance(node.op, ast.Add) and (isinstance(left.shape, ListShape) or isinstance(right.shape, ListShape)):
        return added(engine, frame, left, right)
    if isinstance(node.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)) and (left.latent or right.latent):
        return Value(merge(left.atoms, right.atoms), None, merge(left.latent, right.latent))
    if isinstance(node.op, ast.BitOr) and (
        isinstance(left.shape, TemplateShape) or isinstance(right.shape, TemplateShape)
    ):
        # prompt | model | parser: what the chain is called with fills the prompt.
        return left if isinstance(left.shape, TemplateShape) else right
    if isinstance(node.op, ast.BitOr) and isinstance(left.shape, DictShape) and isinstance(right.shape, DictShape):
        return Value(
            merge(left.atoms, right.atoms),
            DictShape({**left.shape.fields, **right.shape.fields}, left.shape.mark or right.shape.mark),
        )
    if (
        isinstance(node.op, (ast.FloorDiv, ast.Mod))
        and isinstance(right.shape, Const)
        and isinstance(right.shape.value, (int, float))
    ):
        size = right.shape.value
        if isinstance(node.op, ast.FloorDiv):
            return cut(
                left.text(), "day" if size >= 86400 else "hour" if size >= 3600 else "minute" if size >= 60 else None
            )
    if isinstance(node.op, ast.Div):
        # Paths; quotients of clocks are durations.
        return Value(merge(left.text().atoms, right.text().atoms))
    if isinstance(node.op, ast.Sub) and left.atoms and right.atoms:
        return Value(merge(left.atoms, right.atoms))
    if isinstance(node.op, ast.Mod) and not isinstance(left.shape, Const):
        left = left.text()
    if isinstance(node.op, (ast.Add, ast.Mod)):
        a, b = (
            shown(engine, frame, left, node.left) if not isinstance(left.shape, Const) else left,
            shown(engine, frame, right, node.right),
        )
        atoms = merge(a.atoms, b.atoms)
        if atoms:
            return Value({k: x.at(Step(frame.module.name, node.lineno, "put into a string")) for k, x in atoms.items()})
        return NOTHING
    atoms = merge(left.text().atoms, right.text().atoms)
    return Value(atoms) if atoms else NOTHING


def added(engine: Engine, frame: Frame, left: Value, right: Value) -> Value:
    """`left + right` of lists: what stands in the right one stands behind the left one."""
    if isinstance(left.shape, ListShape):
        items, exact = left.shape.items, left.shape.exact
    else:
        items, exact = ((left,) if left.atoms else ()), False
    if isinstance(right.shape, ListShape):
        list_positions(engine, frame, right.shape.items, items, exact)
        items, exact = items + right.shape.items, exact and right.shape.exact
    else:
        items, exact = (*items, right) if right.atoms else items, False
    return Value(merge(left.atoms, right.atoms), ListShape(items, exact), merge(left.latent, right.latent))


def _dict(engine: Engine, frame: Frame, node: ast.Dict) -> Value:
    fields: dict[str, Value] = {}
    atoms = EMPTY
    for key, item in zip(node.keys, node.values):
        value = evaluate(engine, frame, item)
        if key is None:
            if isinstance(value.shape, DictShape):
                fields.update(value.shape.fields)
            else:
                atoms = merge(atoms, value.atoms)
        else:
            k = evaluate(engine, frame, key)
            if isinstance(k.shape, Const) and isinstance(k.shape.value, str):
                fields[k.shape.value] = value
            else:
                atoms = merge(atoms, merge(k.text().atoms, value.all_atoms()))
    out = Value(atoms, DictShape(fields))
    return dict_arrivals(
        engine,
        frame,
        node,
        out,
        {
            k.value: v
            for k, v in zip(node.keys, node.values)
            if isinstance(k, ast.Constant) and isinstance(k.value, str)
        },
    )


def _list(engine: Engine, frame: Frame, node: ast.List | ast.Tuple) -> Value:
    items: list[Value] = []
    exact = True
    for part in node.elts:
        if isinstance(part, ast.Starred):
            value = evaluate(engine, frame, part.value)
            if isinstance(value.shape, ListShape):
                list_positions(engine, frame, value.shape.items, tuple(items), exact)
                items += value.shape.items
                exact = exact and value.shape.exact
            else:
                items.append(iterated(value))
                exact = False
            continue
        value = evaluate(engine, frame, part)
        list_positions(engine, frame, (value,), tuple(items), exact)
        items.append(value)
    shape = ListShape(tuple(items), exact)
    if isinstance(node, ast.Tuple) and len(items) == 2:
        return dict_arrivals(engine, frame, node, Value(EMPTY, shape), {})
    return Value(EMPTY, shape)


def _set(engine: Engine, frame: Frame, node: ast.Set) -> Value:
    atoms = EMPTY
    for part in node.elts:
        atoms = merge(atoms, evaluate(engine, frame, part).all_atoms())
    return Value(
        atoms, None, engine.source(frame, node, "set", "process", "a set").atoms if len(node.elts) > 1 else EMPTY
    )


def iterated(value: Value) -> Value:
    """What iteration over a value gives: sources stay, parameters do not."""
    if isinstance(value.shape, ListShape):
        items = join_all(list(value.shape.items))
        return Value(merge(items.atoms, merge(value.latent, _sources(value.atoms))), items.shape, items.latent)
    if isinstance(value.shape, DictShape):
        return Value(_sources(merge(value.atoms, value.latent)))
    if isinstance(value.shape, ParamShape) and transfers.TEXT_LISTS.search(value.shape.name):
        return Value(merge(value.atoms, value.latent))
    atoms = merge(_sources(value.atoms), value.latent)
    return Value(atoms) if atoms else NOTHING


def _sources(atoms: Any) -> Any:
    if not atoms:
        return atoms
    return {k: a for k, a in atoms.items() if a.source is not None or a.mark is not None}


def _comprehension(engine: Engine, frame: Frame, node: Any) -> Value:
    saved = frame.fork()
    from pytest_cachesafe.lint.flow.execute import bind

    order = EMPTY
    for generator in node.generators:
        source = evaluate(engine, frame, generator.iter)
        item = iterated(source)
        order = merge(
            order, {k: a for k, a in item.atoms.items() if a.source is not None and a.source.kind in _ORDER_KINDS}
        )
        bind(engine, frame, generator.target, item)
        for test in generator.ifs:
            evaluate(engine, frame, test)
    if isinstance(node, ast.DictComp):
        key, value = evaluate(engine, frame, node.key), evaluate(engine, frame, node.value)
        frame.env.clear()
        frame.env.update(saved)
        return Value(merge(order, merge(key.all_atoms(), value.all_atoms())))
    item = evaluate(engine, frame, node.elt)
    frame.env.clear()
    frame.env.update(saved)
    if isinstance(node, ast.SetComp):
        return Value(_unordered(item.all_atoms()), None, engine.source(frame, node, "set", "process", "a set").atoms)
    return Value(order, ListShape((item,), False))


def _unordered(atoms: Any) -> Any:
    return {k: a for k, a in atoms.items() if a.source is None or a.source.kind not in _ORDER_KINDS} if atoms else atoms


def _subscript(engine: Engine, frame: Frame, node: ast.Subscript) -> Value:
    spelt = _subscript_name(node)
    if spelt:
        written = frame.lookup(spelt)
        if written is not None:
            return written
    owner = evaluate(engine, frame, node.value)
    index = evaluate(engine, frame, node.slice) if not isinstance(node.slice, ast.Slice) else NOTHING
    if isinstance(owner.shape, Ext) and owner.shape.dotted == "os.environ":
        return _environment(engine, frame, node, index)
    if any(a.source is not None for a in owner.atoms.values()):
        granularity = _sliced(node)
        if granularity is not None:
            return cut(Value(_sources(merge(owner.atoms, owner.latent))), granularity)
    elif (
        isinstance(index.shape, Const)
        and isinstance(index.shape.value, str)
        and (owner.shape is None or isinstance(owner.shape, (ParamShape, Ext, Bound)))
    ):
        personal = _personal_item(engine, frame, node, index.shape.value)
        if personal is not None:
            return personal
        if engine.tables.is_system_name(index.shape.value):
            # A prompt out of a table that was read from somewhere.
            return Value(shape=TextFile(index.shape.value))
    if isinstance(index.shape, Const):
        key = index.shape.value
        if isinstance(owner.shape, DictShape) and isinstance(key, str):
            return owner.shape.fields.get(key) or Value(_sources(owner.atoms))
        if (
            isinstance(owner.shape, ListShape)
            and isinstance(key, int)
            and owner.shape.exact
            and -len(owner.shape.items) <= key < len(owner.shape.items)
        ):
            return owner.shape.items[key]
    if isinstance(owner.shape, DictShape):
        # A table of functions or texts, chosen by a key that is only known at run time.
        chosen = join_all(list(owner.shape.fields.values()))
        return Value(merge(_sources(chosen.atoms), _sources(owner.atoms)), chosen.shape)
    if isinstance(owner.shape, ListShape):
        if isinstance(node.slice, ast.Slice):
            return Value(owner.atoms, ListShape(owner.shape.items, False), owner.latent)
        return iterated(owner)
    atoms = _sources(merge(owner.atoms, owner.latent))
    return Value(atoms) if atoms else NOTHING


# ISO 8601: how much of it is left.
_ISO = {4: "year", 7: "month", 10: "day", 13: "hour", 16: "minute", 19: "second"}


def _sliced(node: ast.Subscript) -> str | None:
    """What is left of an ISO time after `[:10]` or `.split("T")[0]`."""
    part = node.slice
    if isinstance(part, ast.Slice):
        start = part.lower is None or (isinstance(part.lower, ast.Constant) and part.lower.value == 0)
        end = part.upper.value if isinstance(part.upper, ast.Constant) else None
        return _ISO.get(end) if start and part.step is None and isinstance(end, int) else None
    split = node.value
    if isinstance(split, ast.Call) and isinstance(split.func, ast.Attribute) and split.func.attr in ("split", "partition"):
        first = split.args[0] if split.args else None
        zero = isinstance(part, ast.Constant) and part.value == 0
        return "day" if zero and (first is None or (isinstance(first, ast.Constant) and first.value in ("T", " "))) else None
    return None


def _personal_item(engine: Engine, frame: Frame, node: ast.Subscript, key: str) -> Value | None:
    owner = dotted_name(node.value).rsplit(".", 1)[-1].lstrip("_")
    if key in sources.PERSONAL_NAMES and owner not in ("config", "settings", "env", "environ", "defaults"):
        return engine.source(frame, node, *sources.PERSONAL_NAMES[key], f"{owner}[{key!r}]")
    if key in sources.PERSONAL_FIELDS and sources.PERSONAL_OWNERS.match(owner):
        return engine.source(frame, node, "user", "user", f"{owner}[{key!r}]")
    if owner in ("headers", "cookies"):
        return engine.source(frame, node, "session", "session", f"{owner}[{key!r}]")
    return None


def _subscript_name(node: ast.Subscript) -> str:
    if isinstance(node.slice, ast.Constant) and isinstance(node.value, (ast.Name, ast.Attribute)):
        return f"{dotted_name(node.value)}[{node.slice.value!r}]"
    return ""


_ENV_SAFE = (
    "PROMPT",
    "MODEL",
    "KEY",
    "URL",
    "TOKEN",
    "MODE",
    "PORT",
    "ENV",
    "DEBUG",
    "LEVEL",
    "PROVIDER",
    "SECRET",
    "ENDPOINT",
    "VERSION",
    "NAME",
    "LANGUAGE",
    "ENABLE",
    "DISABLE",
    "MAX",
    "MIN",
    "LIMIT",
    "TIMEOUT",
    "COMPANY",
    "BRAND",
    "PRODUCT",
    "INSTRUCTION",
    "AGENT",
)


def _environment(engine: Engine, frame: Frame, node: ast.AST, key: Value) -> Value:
    name = key.shape.value if isinstance(key.shape, Const) else None
    if not isinstance(name, str) or any(word in name.upper() for word in _ENV_SAFE):
        return NOTHING
    return engine.source(frame, node, "env", "host", f"environment variable {name}")


def _conditional(engine: Engine, frame: Frame, node: ast.IfExp) -> Value:
    evaluate(engine, frame, node.test)
    return join(evaluate(engine, frame, node.body), evaluate(engine, frame, node.orelse))


def _boolean(engine: Engine, frame: Frame, node: ast.BoolOp) -> Value:
    return join_all([evaluate(engine, frame, v) for v in node.values])


def _compare(engine: Engine, frame: Frame, node: ast.Compare) -> Value:
    evaluate(engine, frame, node.left)
    for part in node.comparators:
        evaluate(engine, frame, part)
    return NOTHING


def _unary(engine: Engine, frame: Frame, node: ast.UnaryOp) -> Value:
    value = evaluate(engine, frame, node.operand)
    return NOTHING if isinstance(node.op, ast.Not) else value


def _inner(engine: Engine, frame: Frame, node: Any) -> Value:
    return evaluate(engine, frame, node.value)


def _walrus(engine: Engine, frame: Frame, node: ast.NamedExpr) -> Value:
    from pytest_cachesafe.lint.flow.execute import assign

    value = evaluate(engine, frame, node.value)
    assign(engine, frame, node.target, value, node.value)
    return value


def _lambda(engine: Engine, frame: Frame, node: ast.Lambda) -> Value:
    saved = frame.env
    frame.env = dict(saved)
    for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        frame.env[arg.arg] = NOTHING
    frozen, frame.frozen = frame.frozen, False
    result = evaluate(engine, frame, node.body)
    frame.frozen = frozen
    frame.env = saved
    return Value(shape=Lambda(result))


def _yield(engine: Engine, frame: Frame, node: Any) -> Value:
    if node.value is not None:
        value = evaluate(engine, frame, node.value)
        frame.returned.append(Value(value.all_atoms()))
    return NOTHING


def _call(engine: Engine, frame: Frame, node: ast.Call) -> Value:
    return call(engine, frame, node)


_HANDLERS: dict[type[ast.AST], Callable[[Engine, Frame, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.JoinedStr: _joined,
    ast.FormattedValue: _inner,
    ast.BinOp: _binary,
    ast.Dict: _dict,
    ast.List: _list,
    ast.Tuple: _list,
    ast.Set: _set,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Subscript: _subscript,
    ast.IfExp: _conditional,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.UnaryOp: _unary,
    ast.Await: _inner,
    ast.Starred: _inner,
    ast.NamedExpr: _walrus,
    ast.Lambda: _lambda,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
    ast.Call: _call,
}
