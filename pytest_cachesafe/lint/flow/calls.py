"""Values of calls: sources, transfers, functions and classes of the project; and the sinks a call is."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from cachesafe_rules.model import Step
from pytest_cachesafe.lint.flow import clock, construct, methods, requests
from pytest_cachesafe.lint.flow.arrive import hit, marks_of, user_text, vote
from pytest_cachesafe.lint.flow.engine import Engine
from pytest_cachesafe.lint.flow.frame import Frame, ParamSink, Summary
from pytest_cachesafe.lint.flow.module import ClassInfo, FunctionInfo, dotted_name
from pytest_cachesafe.lint.flow.values import (
    EMPTY,
    NOTHING,
    Bound,
    Cls,
    Const,
    DictShape,
    Ext,
    Func,
    Lambda,
    ListShape,
    Obj,
    ParamShape,
    TextFile,
    Value,
    join,
    join_all,
    merge,
)
from pytest_cachesafe.lint.tables import sources, transfers

__all__ = ["Arguments", "call", "call_function", "substitute"]

_COUNTING = re.compile(
    r"(?:count|num|estimate|calculate|measure|get)_?\w*tokens?|token_?(?:count|len|usage|size)|^len$|tokenize"
)
_HARMLESS = re.compile(r"^(?:print|len|isinstance|debug|info|warning|log|append|extend|insert)$")


class Arguments:
    """Evaluated arguments with their nodes; `rest` holds what came through `*` and `**`."""

    __slots__ = ("keywords", "nodes", "positional", "rest")

    def __init__(self) -> None:
        self.positional: list[Value] = []
        self.nodes: list[ast.expr] = []
        self.keywords: dict[str, tuple[Value, ast.expr]] = {}
        self.rest: Value = NOTHING

    def every(self) -> list[Value]:
        """All values."""
        out = [*self.positional, *(v for v, _ in self.keywords.values())]
        return [*out, self.rest] if self.rest is not NOTHING else out

    def first(self, *names: str) -> tuple[Value, ast.expr] | None:
        """The argument of one of these names, or else the first positional one."""
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        return (self.positional[0], self.nodes[0]) if self.positional else None


def call(engine: Engine, frame: Frame, node: ast.Call) -> Value:
    """The value of a call; arrivals at the sinks it is are written down."""
    from pytest_cachesafe.lint.flow.evaluate import evaluate, iterated

    function = evaluate(engine, frame, node.func)
    spelt = dotted_name(node.func)
    last = node.func.attr if isinstance(node.func, ast.Attribute) else spelt
    arguments = Arguments()
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            value = evaluate(engine, frame, arg.value)
            if isinstance(value.shape, ListShape) and value.shape.exact:
                arguments.positional += value.shape.items
                arguments.nodes += [arg] * len(value.shape.items)
            else:
                arguments.rest = join(arguments.rest, Value(iterated(value).all_atoms()))
            continue
        arguments.positional.append(evaluate(engine, frame, arg))
        arguments.nodes.append(arg)
    for keyword in node.keywords:
        value = evaluate(engine, frame, keyword.value)
        if keyword.arg is not None:
            arguments.keywords[keyword.arg] = (value, keyword.value)
        elif isinstance(value.shape, DictShape):
            for name, item in value.shape.fields.items():
                arguments.keywords.setdefault(name, (item, keyword.value))
            arguments.rest = join(arguments.rest, Value(value.atoms))
        else:
            arguments.rest = join(arguments.rest, Value(value.atoms))
    _votes(engine, frame, last, arguments)
    made = requests.sinks_of_call(engine, frame, node, function, spelt, last, arguments)
    if made is not None:
        return made
    return _result(engine, frame, node, function, spelt, last, arguments)


def _votes(engine: Engine, frame: Frame, last: str, arguments: Arguments) -> None:
    counting = bool(_COUNTING.search(last))
    if not counting and _HARMLESS.match(last):
        return
    for value in arguments.every():
        if value.shape is not None or value.atoms:
            for mark in marks_of(value):
                vote(engine, frame, mark, "counted" if counting else "sent")


def _result(
    engine: Engine, frame: Frame, node: ast.Call, function: Value, spelt: str, last: str, arguments: Arguments
) -> Value:
    shape = function.shape
    if last in engine.tables.sanitizers or spelt in engine.tables.sanitizers:
        return NOTHING
    if isinstance(shape, Func):
        value = call_function(
            engine,
            frame,
            shape.functions,
            arguments.positional,
            arguments.keywords,
            shape.bound,
            node,
            None,
            arguments.nodes,
            arguments.rest,
        )
        return _recalled(engine, frame, node, spelt, last, value, shape.functions)
    if isinstance(shape, Cls):
        return construct.construct(engine, frame, node, shape.cls, arguments)
    if isinstance(shape, Lambda):
        return shape.result
    if isinstance(shape, Obj):
        called = engine.method(shape.cls, "__call__")
        if called is None:
            return NOTHING
        return call_function(
            engine, frame, (called,), arguments.positional, arguments.keywords, function, node, shape.cls, arguments.nodes, arguments.rest
        )
    if isinstance(shape, Bound):
        return methods.method(engine, frame, node, shape.receiver, last, arguments)
    dotted = shape.dotted if isinstance(shape, Ext) else ""
    if (
        isinstance(shape, Ext)
        and isinstance(node.func, ast.Attribute)
        and shape.dotted.startswith(("os.environ.",))
        and last in ("get", "pop")
    ):
        from pytest_cachesafe.lint.flow.evaluate import _environment

        return _environment(engine, frame, node, arguments.positional[0] if arguments.positional else NOTHING)
    return external(engine, frame, node, dotted, spelt, last, arguments)


def _recalled(
    engine: Engine, frame: Frame, node: ast.Call, spelt: str, last: str, value: Value, functions: Sequence[FunctionInfo]
) -> Value:
    if (
        (sources.MEMORY_CALLS.match(last) or sources.MEMORY_OWNERS.search(spelt))
        and not any(f.is_tool for f in functions)
        and not any(a.source is not None for a in value.atoms.values())
    ):
        return Value(merge(value.atoms, engine.source(frame, node, "memory", "call", f"{last}()").atoms), value.shape)
    return value


def external(
    engine: Engine, frame: Frame, node: ast.Call, dotted: str, spelt: str, last: str, arguments: Arguments
) -> Value:
    """A call out of the project."""
    from pytest_cachesafe.lint.flow.evaluate import _environment, cut, iterated, shown

    name = dotted or spelt
    tables = engine.tables
    if dotted in ("os.getenv", "os.environ.get") or spelt in ("os.getenv", "os.environ.get"):
        return _environment(engine, frame, node, arguments.positional[0] if arguments.positional else NOTHING)
    known = tables.calls.get(name) or tables.tails.get(".".join(name.split(".")[-2:]) if "." in name else "")
    if known is not None:
        kind, granularity = known
        api = spelt or last
        if kind == "listing":
            return Value(EMPTY, None, engine.source(frame, node, kind, granularity, api).atoms)
        value = engine.source(frame, node, kind, granularity, f"{api}()")
        if kind == "clock":
            return _formatted_clock(value, name, last, arguments)
        if kind == "temp" or kind == "build":
            return Value(value.atoms)
        return value
    if last == "shuffle" and arguments.nodes:
        return methods.shuffled(engine, frame, node, arguments)
    if name == "object" and not arguments.positional:
        return Value(EMPTY, None, engine.source(frame, node, "repr", "process", "the default text of an object").atoms)
    if last == "get_template" and arguments.positional:
        file = arguments.positional[0].shape
        if isinstance(file, Const) and isinstance(file.value, str) and sources.PROMPT_FILES.search(file.value):
            return Value(shape=TextFile(file.value.rsplit("/", 1)[-1]))
    if last == "get" and arguments.positional and isinstance(arguments.positional[0].shape, Const):
        if sources.PLACE_SERVICES.search(str(arguments.positional[0].shape.value)):
            return engine.source(frame, node, "user", "user", f"{spelt}()")
    if last == "super":
        if frame.cls is None:
            return NOTHING
        return Value(shape=Obj(frame.cls, above=frame.function.cls if frame.function is not None else None))
    if last in ("set", "frozenset") and name in ("set", "frozenset"):
        if not arguments.positional:
            return Value(EMPTY, None, engine.source(frame, node, "set", "process", "a set").atoms)
        inner = arguments.positional[0]
        if isinstance(inner.shape, ListShape) and inner.shape.exact and len(inner.shape.items) < 2:
            return Value(inner.all_atoms())
        atoms = {
            k: a for k, a in inner.all_atoms().items() if a.source is None or a.source.kind not in ("set", "listing")
        }
        return Value(atoms, None, engine.source(frame, node, "set", "process", f"{name}()").atoms)
    if last in ("sorted", "natsorted") and arguments.positional:
        return ordered(arguments.positional[0])
    if last in ("list", "tuple") and name in ("list", "tuple") and arguments.positional:
        inner = arguments.positional[0]
        if isinstance(inner.shape, ListShape):
            return Value(merge(inner.atoms, inner.latent), inner.shape)
        return Value(merge(inner.atoms, inner.latent))
    if last == "dict" and name == "dict":
        from pytest_cachesafe.lint.flow.arrive import dict_arrivals

        fields = {k: v for k, (v, _) in arguments.keywords.items()}
        base = arguments.positional[0] if arguments.positional else NOTHING
        if isinstance(base.shape, DictShape):
            fields = {**base.shape.fields, **fields}
        made = Value(merge(base.atoms, arguments.rest.atoms), DictShape(fields))
        return dict_arrivals(engine, frame, node, made, {k: n for k, (_, n) in arguments.keywords.items()})
    if last in ("reversed", "enumerate", "iter", "islice", "zip", "map", "filter", "chain", "from_iterable"):
        if (
            last == "map"
            and len(arguments.positional) > 1
            and isinstance(arguments.positional[0].shape, (Func, Lambda))
        ):
            first = arguments.positional[0].shape
            item = iterated(arguments.positional[1])
            result = (
                first.result
                if isinstance(first, Lambda)
                else call_function(engine, frame, first.functions, [item], {}, first.bound, node, None)
            )
            return Value(merge(item.atoms, result.all_atoms()))
        items = [iterated(v) for v in arguments.positional]
        if last == "enumerate" and items:
            return Value(EMPTY, ListShape((Value(EMPTY, ListShape((NOTHING, items[0]))),), False))
        if last == "zip":
            return Value(EMPTY, ListShape((Value(EMPTY, ListShape(tuple(items))),), False))
        atoms = EMPTY
        for item in items:
            atoms = merge(atoms, item.all_atoms())
        return Value(atoms)
    if last == "gather":
        return Value(EMPTY, ListShape(tuple(arguments.positional)))
    if last in transfers.AWAITERS or (last == "partial" and name in ("functools.partial", "partial")):
        return _awaited(engine, frame, node, last, arguments)
    if last == "open" and arguments.positional:
        return Value(
            EMPTY,
            arguments.positional[0].shape if isinstance(arguments.positional[0].shape, (Const, ParamShape)) else None,
        )
    if last in ("Path", "PurePath", "PosixPath", "join", "abspath", "realpath", "expanduser") and arguments.positional:
        tail = arguments.positional[-1]
        atoms = EMPTY
        for value in arguments.positional:
            atoms = merge(atoms, value.atoms)
        return Value(atoms, tail.shape if isinstance(tail.shape, (Const, ParamShape)) else None)
    if last == "import_module" or last in transfers.STABLE:
        return NOTHING
    if spelt.startswith("subprocess.") or last in (
        "check_output",
        "run",
        "Popen",
        "getoutput",
        "create_subprocess_exec",
        "popen",
    ):
        return _process(engine, frame, node, spelt, arguments)
    helper = sources.HELPERS.get(last.lstrip("_"))
    if helper is not None and not (frame.function is not None and frame.function.is_tool):
        value = engine.source(frame, node, *helper, f"{last}()")
        return Value(EMPTY, None, value.atoms) if helper[0] == "listing" else value
    if sources.MEMORY_CALLS.match(last) or sources.MEMORY_OWNERS.search(spelt):
        return engine.source(frame, node, "memory", "call", f"{last}()")
    if last in ("str", "repr", "format") and arguments.positional:
        value = shown(engine, frame, arguments.positional[0], node)
        if last == "format" and len(arguments.positional) > 1:
            spec = arguments.positional[1].shape
            if isinstance(spec, Const) and isinstance(spec.value, str):
                return cut(value, clock.of_format(spec.value))
        return value
    if last == "int" and arguments.positional:
        return cut(arguments.positional[0].text(), "second")
    if last in ("dumps",):
        atoms = arguments.positional[0].all_atoms() if arguments.positional else EMPTY
        return Value(atoms) if atoms else NOTHING
    if name.endswith("random.Random") and not arguments.positional:
        return Value(shape=Ext("random"))
    if last == "strftime" and len(arguments.positional) == 2 and not name.startswith("time."):
        spec = arguments.positional[1].shape
        clock_value = arguments.positional[0].text()
        return cut(clock_value, clock.of_format(spec.value)) if isinstance(spec, Const) and isinstance(spec.value, str) else clock_value
    if last == "strftime" and name.startswith("time.") and len(arguments.positional) > 1:
        return _formatted_clock(arguments.positional[1].text(), name, last, arguments)
    if last in transfers.FUNCTIONS:
        value = join_all([v for v in arguments.every()])
        if last in (
            "deepcopy",
            "copy",
            "cast",
            "asdict",
            "vars",
            "Field",
            "field",
            "wait_for",
            "shield",
            "create_task",
            "ensure_future",
            "run",
        ):
            picked = (
                arguments.positional[-1]
                if last == "cast" and arguments.positional
                else arguments.positional[0]
                if arguments.positional
                else value
            )
            if last in ("Field", "field"):
                return construct.field_default(engine, frame, arguments)
            if last in ("asdict", "vars") and isinstance(picked.shape, Obj):
                cls = picked.shape.cls
                known = {
                    n: engine.attribute(cls, n)
                    for c in engine.mro(cls)
                    for n in construct.annotated(c)
                    if n not in picked.shape.fields
                }
                return Value(
                    picked.atoms,
                    DictShape({**{n: v for n, v in known.items() if v is not None}, **picked.shape.fields}),
                )
            return picked
        atoms = EMPTY
        for item in arguments.every():
            atoms = merge(
                atoms, shown(engine, frame, item, node).atoms if last in ("indent", "dedent") else item.all_atoms()
            )
        return Value(atoms) if atoms else NOTHING
    if transfers.TEXT_CLASSES.search(last) and last[:1].isupper():
        return construct.text_object(engine, frame, node, last, arguments)
    return NOTHING


def ordered(value: Value) -> Value:
    """What `sorted` gives: the order no longer depends on sets and directories."""

    def clean(atoms: Any) -> Any:
        return (
            {k: a for k, a in atoms.items() if a.source is None or a.source.kind not in ("set", "listing")}
            if atoms
            else atoms
        )

    shape = value.shape
    if isinstance(shape, ListShape):
        shape = ListShape(tuple(Value(clean(i.atoms), i.shape, clean(i.latent)) for i in shape.items), False)
    return Value(clean(value.atoms), shape)


def _formatted_clock(value: Value, name: str, last: str, arguments: Arguments) -> Value:
    from pytest_cachesafe.lint.flow.evaluate import cut

    if last == "strftime" and arguments.positional:
        spec = arguments.positional[0].shape
        if isinstance(spec, Const) and isinstance(spec.value, str):
            return cut(value, clock.of_format(spec.value))
    return value


def _awaited(engine: Engine, frame: Frame, node: ast.Call, last: str, arguments: Arguments) -> Value:
    skip = 1 if last == "run_in_executor" else 0
    if len(arguments.positional) <= skip:
        return NOTHING
    target = arguments.positional[skip].shape
    if isinstance(target, Func):
        result = call_function(
            engine,
            frame,
            target.functions,
            arguments.positional[skip + 1 :],
            arguments.keywords,
            target.bound,
            node,
            None,
            arguments.nodes[skip + 1 :],
        )
        return Value(shape=Lambda(result)) if last == "partial" else result
    if isinstance(target, Lambda):
        return target.result
    if isinstance(target, Ext):
        rest = Arguments()
        rest.positional, rest.nodes = arguments.positional[skip + 1 :], arguments.nodes[skip + 1 :]
        rest.keywords = arguments.keywords
        spelt = dotted_name(arguments.nodes[skip])
        result = external(engine, frame, node, target.dotted, spelt, target.dotted.rsplit(".", 1)[-1], rest)
        return Value(shape=Lambda(result)) if last == "partial" else result
    return NOTHING


def _process(engine: Engine, frame: Frame, node: ast.Call, spelt: str, arguments: Arguments) -> Value:
    if not arguments.positional:
        return NOTHING
    words = [
        v.shape.value for v in arguments.positional if isinstance(v.shape, Const) and isinstance(v.shape.value, str)
    ]
    shape = arguments.positional[0].shape
    if isinstance(shape, ListShape):
        words += [v.shape.value for v in shape.items if isinstance(v.shape, Const) and isinstance(v.shape.value, str)]
    command = " ".join(words)
    if re.match(r"git\b", command):
        return engine.source(frame, node, "build", "call", f"git {command[4:].split(' ')[0]}".strip())
    if re.match(r"date\b", command):
        return engine.source(frame, node, "clock", "second", "the date command")
    if re.match(r"(?:uname|hostname|whoami|sw_vers|lsb_release)\b", command):
        return engine.source(frame, node, "host", "host", command.split(" ")[0])
    if re.match(r"(?:ls|tree|find)\b", command):
        return engine.source(frame, node, "state", "call", f"{command.split(' ')[0]} command")
    return NOTHING


def call_function(
    engine: Engine, frame: Frame, functions: Sequence[FunctionInfo], positional: list[Value], keywords: Any, bound: Value | None,
    node: ast.AST, cls: ClassInfo | None, nodes: Sequence[ast.expr] = (), rest: Value = NOTHING,
) -> Value:  # fmt: skip
    """Apply the summaries of the functions a call may reach."""
    results = []
    holding = (
        bool(rest.atoms) or any(v.all_atoms() for v in positional) or any(v.all_atoms() for v, _ in keywords.values())
    )
    # A function in a function may set the names of the outer one.
    inner = any(f.env is not None for f in functions)
    if (
        not holding
        and not inner
        and frame.stmt is not None
        and isinstance(frame.stmt, ast.Expr)
        and _is_whole(frame.stmt.value, node)
    ):
        # Nothing goes in, and nobody asks what comes out.
        return NOTHING
    for function in functions:
        if function.plain and not holding and not inner:
            continue
        frame.module.used.add(function.module.name)
        owner = cls
        if owner is None and bound is not None and isinstance(bound.shape, (Obj, Cls)) and function.cls is not None:
            owner = bound.shape.cls
        summary = engine.summary(function, owner)
        values = _bind(function, positional, keywords, bound, nodes, node, rest)
        _param_sinks(engine, frame, function, summary, values, node)
        results.append(_returned(engine, frame, function, summary, values, node, bound))
        if bound is not None and isinstance(bound.shape, Obj):
            after = _changed(engine, frame, function, summary, values, bound, bound.shape, node) if holding else bound
            last = results[-1].shape
            if isinstance(last, Obj) and last.cls is bound.shape.cls and not last.fields and last.made is None:
                # `return self`
                results[-1] = after
        if function.decorators:
            results.append(_wrapped(engine, frame, function, node))
    return join_all(results)


def _changed(
    engine: Engine,
    frame: Frame,
    function: FunctionInfo,
    summary: Summary,
    values: dict[str, tuple[Value, ast.AST]],
    bound: Value,
    shape: Obj,
    node: ast.AST,
) -> Value:
    """The object after a method put its argument into it: `builder.add(text)`."""
    target = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if shape.above is not None or function.name == "__init__":
        return bound
    fields = dict(shape.fields)
    given = {k: v for k, (v, _) in values.items()}
    for name, value in summary.writes.items():
        new = substitute(value, function.key, given, None)
        if any(a.source is not None for a in new.all_atoms().values()):
            fields[name] = join(fields[name], new) if name in fields else new
    if fields.keys() == shape.fields.keys() and all(fields[k] is shape.fields[k] for k in fields):
        return bound
    after = Value(bound.atoms, Obj(shape.cls, fields, shape.made))
    if isinstance(target, ast.Name):
        from pytest_cachesafe.lint.flow.execute import bind

        bind(engine, frame, target, after, mutated=True)
    return after


def _wrapped(engine: Engine, frame: Frame, function: FunctionInfo, node: ast.AST) -> Value:
    """What decorators of the project add to the result of a function: the sources in the wrappers they return."""
    env = engine.run_module(function.module)
    atoms = EMPTY
    for name in function.decorators:
        decorator = engine.dotted(function.module, env, name)
        if decorator is None or not isinstance(decorator.shape, Func):
            continue
        for outer in decorator.shape.functions:
            made = engine.summary(outer).returns.shape
            for wrapper in made.functions if isinstance(made, Func) else ():
                step = Step(
                    frame.module.name,
                    getattr(node, "lineno", 1),
                    f"returned by {function.name}(), which is wrapped by {name}",
                )
                found = engine.summary(wrapper).returns.all_atoms()
                atoms = merge(atoms, {k: a.at(step) for k, a in found.items() if a.source is not None})
    return Value(atoms) if atoms else NOTHING


def _is_whole(value: ast.expr, node: ast.AST) -> bool:
    return value is node or (isinstance(value, ast.Await) and value.value is node)


def _bind(
    function: FunctionInfo,
    positional: list[Value],
    keywords: Any,
    bound: Value | None,
    nodes: Sequence[ast.expr],
    node: ast.AST,
    rest: Value,
) -> dict[str, tuple[Value, ast.AST]]:
    values: dict[str, tuple[Value, ast.AST]] = {}
    names = list(function.params)
    if (
        function.cls is not None
        and function.kind in ("method", "property", "class")
        and (bound is not None or function.kind == "class")
    ):
        me = names.pop(0) if names else None
        if me is not None and bound is not None:
            values[me] = (bound, node)
    for i, value in enumerate(positional):
        where = nodes[i] if i < len(nodes) else node
        if i < len(names):
            values[names[i]] = (value, where)
        elif function.vararg:
            old = values.get(function.vararg)
            values[function.vararg] = (
                join(old[0], Value(value.all_atoms())) if old else Value(value.all_atoms()),
                where,
            )
    kwarg = function.node.args.kwarg
    known = {*names, *(a.arg for a in function.node.args.kwonlyargs)}
    for name, given in keywords.items():
        if name in known:
            values[name] = given
        elif kwarg is not None:
            old = values.get(kwarg.arg)
            fields = dict(old[0].shape.fields) if old is not None and isinstance(old[0].shape, DictShape) else {}
            fields[name] = given[0]
            values[kwarg.arg] = (Value(EMPTY, DictShape(fields)), given[1])
    return values


def _param_sinks(
    engine: Engine,
    frame: Frame,
    function: FunctionInfo,
    summary: Summary,
    values: dict[str, tuple[Value, ast.AST]],
    node: ast.AST,
) -> None:
    from pytest_cachesafe.lint.flow.arrive import ORDER_KINDS, TOOL_LIST, _function_of, prompt_atoms

    sinks_of_init = engine.made_sinks.get(function.key, {}) if function.name == "__init__" else {}
    for sink in (*summary.sinks.values(), *sinks_of_init.values()):
        given = values.get(sink.param)
        if given is None:
            continue
        value, where = given
        if sink.vote:
            user_text(engine, frame, value)
            continue
        listed = sink.sink == TOOL_LIST
        atoms = value.all_atoms() if listed else prompt_atoms(engine, frame, value, where)
        for atom in atoms.values():
            if listed and atom.source is not None and atom.source.kind not in ORDER_KINDS:
                continue
            if atom.mark is not None:
                vote(
                    engine,
                    frame,
                    atom.mark,
                    "named" if any(m.key.startswith("name:") for m in sink.marks) else "system",
                )
            elif atom.source is not None:
                far = sink.hops + 1
                if far > 1 and atom.source.kind not in ("clock", "memory", "cwd", "host", "build", "flag"):
                    continue
                hit(engine, frame, where, atom, sink.sink, sink.part, sink.marks, sink.steps, far)
            elif sink.hops + 1 < 3 and atom.key[0] == "p":
                owner = _function_of(frame, atom)
                if owner is not None and not frame.quiet:
                    step = Step(frame.module.name, getattr(where, "lineno", 1), f"passed to {function.name}()")
                    owner.summary.sinks.setdefault(
                        (atom.key[2], sink.sink, sink.part),
                        ParamSink(
                            atom.key[2], sink.sink, sink.part, (step, *sink.steps)[:6], sink.hops + 1, sink.marks
                        ),
                    )


def _kept(value: Value) -> Value:
    """The result of a cached function: read once in a process, so files count no more and clocks stand still."""
    from dataclasses import replace

    atoms = {
        k: a._replace(source=replace(a.source, frozen=True)) if a.source is not None else a
        for k, a in value.all_atoms().items()
        if a.source is None or a.source.kind not in ("file", "listing", "memory")
    }
    return Value(atoms) if atoms else NOTHING


def _returned(
    engine: Engine,
    frame: Frame,
    function: FunctionInfo,
    summary: Summary,
    values: dict[str, tuple[Value, ast.AST]],
    node: ast.AST,
    bound: Value | None,
) -> Value:
    returns = summary.returns
    if returns is NOTHING:
        return NOTHING
    if any(d.rsplit(".", 1)[-1] in ("cache", "lru_cache", "cached", "alru_cache") for d in function.decorators):
        returns = _kept(returns)
    step = Step(frame.module.name, getattr(node, "lineno", 1), f"returned by {function.name}()")
    result = substitute(returns, function.key, {k: v for k, (v, _) in values.items()}, step)
    if bound is not None and isinstance(bound.shape, Obj) and bound.shape.made is not None:
        # What the object was made with comes out of its methods.
        result = substitute(result, *bound.shape.made, None)
    if bound is not None and isinstance(bound.shape, Obj) and bound.shape.fields:
        result = _with_fields(engine, result, bound.shape)
    return result


def _with_fields(engine: Engine, result: Value, shape: Obj) -> Value:
    """What methods put into this object, where a result holds their parameters."""
    open_keys = {k for k, a in result.all_atoms().items() if a.source is None and a.mark is None}
    if not open_keys:
        return result
    atoms = result.atoms
    for name, value in shape.fields.items():
        known = engine.attribute(shape.cls, name)
        if known is not None and not open_keys.isdisjoint(known.all_atoms()):
            atoms = merge(atoms, {k: a for k, a in value.all_atoms().items() if a.source is not None})
    return Value(atoms, result.shape, result.latent)


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
                for other, a in value.all_atoms().items():
                    out.setdefault(other, a)
    return out
