"""Modules, summaries and classes on demand, each made once."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cachesafe_rules.model import Source, Span, Step
from pytest_cachesafe.lint.flow.frame import Frame, ParamSink, Summary
from pytest_cachesafe.lint.flow.module import ClassInfo, FunctionInfo, Module, dotted_name
from pytest_cachesafe.lint.flow.values import Atom, Cls, Ext, Func, Lazy, ModShape, Obj, ParamShape, Value, join
from pytest_cachesafe.lint.parse import column
from pytest_cachesafe.lint.project import ProjectIndex
from pytest_cachesafe.lint.tables.sources import SOURCE_WORDS

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arrive import Hit
    from pytest_cachesafe.lint.tables.user import Tables

__all__ = ["Engine"]

_DEPTH = 25
# How many functions in a row may be followed that lie in files without any source.
_IDLE = 2


class Engine:
    """The analysis of one project. Single-threaded; garbage collection is best switched off around it."""

    def __init__(
        self, index: ProjectIndex, parse: Callable[[str], Any], peek: Callable[[str], bytes], tables: Tables
    ) -> None:
        self.index = index
        self.tables = tables
        self._parse = parse
        self._peek = peek
        self._star_trail: set[tuple[str, str]] = set()
        self.modules: dict[str, Module | None] = {}
        self.summaries: dict[tuple[str, str], Summary] = {}
        self._running: set[tuple[str, str]] = set()
        self.depth = 0
        self._idle = 0
        # Classes whose objects were made with something volatile: who gets them by annotation is looked at again.
        self.grown: set[str] = set()
        # Parameters of constructors that reach sinks in methods, by the key of the constructor.
        self.made_sinks: dict[str, dict[tuple[str, str, str], ParamSink]] = {}
        self._inert_files: dict[str, bool] = {}
        # Arrivals and votes by the file whose analysis they belong to.
        self.hits: dict[str, list[Hit]] = {}
        self.votes: dict[str, list[tuple[str, str]]] = {}
        self.lookups: dict[str, set[tuple[str, str, int, str | None]]] = {}

    def shed(self) -> None:
        """Let the bodies of functions go: their summaries stay, and the few that are asked for again are parsed again."""
        for module in self.modules.values():
            if module is None or module.shed or module.env is None:
                continue
            module.shed = True
            module.body = []
            module.parsed.shed()
            for function in (
                *module.functions,
                *module.nested,
                *(m for c in module.classes for m in c.methods.values()),
            ):
                function.node.body = []
            module.nested.clear()

    def body(self, function: FunctionInfo) -> list[ast.stmt]:
        """The statements of a function; those of its whole file come back if they had been let go."""
        if not function.node.body and function.module.shed:
            self.revive(function.module)
        return function.node.body

    def revive(self, module: Module) -> None:
        """Parse a file again whose bodies were let go."""
        parsed = self._parse(module.name)
        module.shed = False
        if parsed is None or parsed.tree is None:
            return
        module.parsed = parsed
        nodes = {(n.lineno, n.name): n for n in _definitions(parsed.tree.body)}
        for function in (*module.functions, *(m for c in module.classes for m in c.methods.values())):
            node = nodes.get((function.node.lineno, function.name))
            if node is not None:
                function.node.body = node.body

    # Modules

    def module(self, name: str) -> Module | None:
        """A file of the project, parsed; None where it cannot be."""
        if name not in self.modules:
            parsed = self._parse(name)
            self.modules[name] = Module(name, parsed) if parsed is not None else None
        return self.modules[name]

    def imported(self, frame: Frame, dotted: str, level: int = 0) -> Module | None:
        """The module an import in this frame means, if it is one of the project's."""
        importer = frame.module.name
        name = self.index.resolve(dotted, importer, level)
        self.lookups.setdefault(importer, set()).add((dotted, importer, level, name))
        if name is None or name == importer:
            return None
        frame.module.used.add(name)
        return self.module(name)

    def run_module(self, module: Module) -> dict[str, Value]:
        """The names its body binds."""
        if module.env is not None:
            return module.env
        module.env = {}
        if self.depth > _DEPTH:
            return module.env
        from pytest_cachesafe.lint.flow.execute import run_body

        frame = Frame(module, frozen=True)
        frame.env = module.env
        self.depth += 1
        try:
            self.hoist(frame, module.body)
            run_body(self, frame, module.body)
        finally:
            self.depth -= 1
        return module.env

    def hoist(self, frame: Frame, body: list[ast.stmt]) -> None:
        """Bind functions and classes before the body runs: circular imports and calls ahead see them."""
        for stmt in body:
            if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
                info = FunctionInfo(stmt, frame.module, stmt.name, None, None)
                info.is_tool = self.tables.is_tool_function(info.decorators)
                frame.module.functions.append(info)
                frame.env[stmt.name] = Value(shape=Func((info,)))
            elif isinstance(stmt, ast.ClassDef):
                frame.env[stmt.name] = Value(shape=Cls(self.make_class(stmt, frame.module, stmt.name)))
            elif isinstance(stmt, (ast.If, ast.Try)):
                self.hoist(frame, stmt.body)

    def make_class(self, node: ast.ClassDef, module: Module, qualname: str) -> ClassInfo:
        """A class and its methods; its body runs when something is asked of it."""
        info = ClassInfo(node, module, qualname)
        for stmt in node.body:
            if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
                method = FunctionInfo(stmt, module, f"{qualname}.{stmt.name}", info, None)
                method.is_tool = self.tables.is_tool_function(method.decorators)
                if stmt.name not in info.methods or not any(
                    d.endswith((".setter", ".deleter")) for d in method.decorators
                ):
                    info.methods[stmt.name] = method
        module.classes.append(info)
        return info

    def forced(self, module: Module, env: dict[str, Value], name: str) -> Value | None:
        """A name of an environment; an import behind it is looked at now."""
        value = env.get(name)
        if value is not None and isinstance(value.shape, Lazy):
            value = env[name] = self._import(module, value.shape)
        return value

    def starred(self, module: Module, name: str) -> Value | None:
        """A name that a star import brings; only files in which the name is written are read."""
        for dotted, level in module.stars:
            where = self.index.resolve(dotted, module.name, level)
            self.lookups.setdefault(module.name, set()).add((dotted, module.name, level, where))
            if where is None or where == module.name or (where, name) in self._star_trail:
                continue
            if (
                where not in self.modules
                and name.encode() not in self._peek(where)
                and not where.endswith("__init__.py")
            ):
                continue
            self._star_trail.add((where, name))
            try:
                module.used.add(where)
                child = self.module(where)
                found = self.attribute_of(Frame(module), child, name) if child is not None else None
            finally:
                self._star_trail.discard((where, name))
            if found is not None:
                return found
        return None

    def _import(self, importer: Module, lazy: Lazy) -> Value:
        frame = Frame(importer)
        module = self.imported(frame, lazy.dotted, lazy.level) if lazy.dotted or lazy.level else None
        if lazy.attribute is None:
            return Value(shape=ModShape(module)) if module is not None else Value(shape=Ext(lazy.dotted))
        value = self.attribute_of(frame, module, lazy.attribute) if module is not None else None
        inner = f"{lazy.dotted}.{lazy.attribute}" if lazy.dotted else lazy.attribute
        if value is None and (module is None or module.name.endswith("__init__.py")):
            child = self.imported(frame, inner, lazy.level)
            value = Value(shape=ModShape(child)) if child is not None else None
        return value if value is not None else Value(shape=Ext(inner))

    def attribute_of(self, frame: Frame, module: Module, name: str) -> Value | None:
        """A name of a module, following re-exports and submodules."""
        found = self.forced(module, self.run_module(module), name)
        if found is not None:
            return found
        found = self.starred(module, name)
        if found is not None:
            return found
        if module.name.endswith("__init__.py"):
            sub = self.index.resolve(name, module.name, 1)
            if sub is not None and sub != module.name:
                frame.module.used.add(sub)
                child = self.module(sub)
                if child is not None:
                    return Value(shape=ModShape(child))
        return None

    # Classes

    def bases(self, cls: ClassInfo) -> list[ClassInfo]:
        """Base classes that are the project's."""
        if cls.bases is None:
            cls.bases = []
            env = self.run_module(cls.module)
            for name in cls.base_names:
                value = self.dotted(cls.module, env, name)
                if value is not None and isinstance(value.shape, Cls) and value.shape.cls is not cls:
                    cls.bases.append(value.shape.cls)
        return cls.bases

    def dotted(self, module: Module, env: dict[str, Value], name: str) -> Value | None:
        """A dotted name in a module's environment."""
        first, *rest = name.split(".")
        value = self.forced(module, env, first)
        frame = Frame(module)
        for part in rest:
            if value is None:
                return None
            if isinstance(value.shape, ModShape):
                value = self.attribute_of(frame, value.shape.module, part)
            elif isinstance(value.shape, Ext):
                value = Value(shape=Ext(f"{value.shape.dotted}.{part}"))
            else:
                return None
        return value

    def mro(self, cls: ClassInfo) -> list[ClassInfo]:
        """The class and its bases, nearest first."""
        if cls.chain is None:
            out: list[ClassInfo] = []
            queue = [cls]
            while queue and len(out) < 20:
                current = queue.pop(0)
                if current not in out:
                    out.append(current)
                    queue += self.bases(current)
            cls.chain = out
        return cls.chain

    def base_words(self, cls: ClassInfo) -> set[str]:
        """Names of the class and all its bases, the last part of each."""
        return {c.name for c in self.mro(cls)} | {b.rsplit(".", 1)[-1] for c in self.mro(cls) for b in c.base_names}

    def method(self, cls: ClassInfo, name: str, above: ClassInfo | None = None) -> FunctionInfo | None:
        """A method by name, from the class or, for `super()`, from above another."""
        chain = self.mro(cls)
        if above is not None:
            chain = chain[chain.index(above) + 1 :] if above in chain else self.mro(above)[1:]
        for current in chain:
            if name in current.methods:
                return current.methods[name]
        return None

    def run_class(self, cls: ClassInfo) -> None:
        """Run a class body, once."""
        if not cls.state:
            cls.state = 1
            from pytest_cachesafe.lint.flow.execute import run_class_body

            run_class_body(self, cls)

    def _write(self, cls: ClassInfo, name: str) -> None:
        """Run the methods of a class that set an attribute, each once."""
        from pytest_cachesafe.lint.flow.execute import run_function

        if cls.writers is None:
            cls.writers = {}
            for method in cls.methods.values():
                for written in _written(method, self.body(method)):
                    cls.writers.setdefault(written, []).append(method)
        for method in cls.writers.get(name, ()):
            if method.name in cls.written or self.depth > _DEPTH:
                continue
            cls.written.add(method.name)
            self.depth += 1
            frame = run_function(self, method, cls, quiet=True)
            self.depth -= 1
            for key, value in frame.writes.items():
                cls.attributes[key] = join(cls.attributes[key], value) if key in cls.attributes else value

    def attribute(self, cls: ClassInfo, name: str) -> Value | None:
        """An attribute as objects of the class have it: written by its methods, or set in a class body."""
        for current in self.mro(cls):
            self.run_class(current)
            self._write(current, name)
            found: Value | None = None
            for table in (current.attributes, current.env, current.constructed):
                if name in table:
                    found = table[name] if found is None else join(found, table[name])
            if found is not None:
                return found
        return None

    def attributes_with_parameters(self, cls: ClassInfo) -> dict[str, Value]:
        """Attributes of the class and its bases that hold a parameter of a method."""
        out: dict[str, Value] = {}
        for current in self.mro(cls):
            init = current.methods.get("__init__")
            if init is not None:
                for name in _written(init, self.body(init)):
                    self._write(current, name)
            for name, value in current.attributes.items():
                if name not in out and any(a.source is None and a.mark is None for a in value.all_atoms().values()):
                    out[name] = value
        return out

    # Functions

    def summary(self, function: FunctionInfo, cls: ClassInfo | None = None) -> Summary:
        """Summary of a function, of a method for objects of `cls`."""
        cls = function.cls if cls is None or function.cls is None else self._context(function.cls, cls)
        key = (function.key, cls.key if cls is not None else "")
        found = self.summaries.get(key)
        if found is not None:
            return found
        if key in self._running or self.depth > _DEPTH:
            return Summary()
        from pytest_cachesafe.lint.flow.execute import run_function

        idle = self._idle
        if self.depth and self._inert(function.module.name):
            if idle >= _IDLE:
                return Summary()
            self._idle = idle + 1
        else:
            self._idle = 0
        self._running.add(key)
        self.depth += 1
        try:
            frame = run_function(self, function, cls)
        finally:
            self._idle = idle
            self.depth -= 1
            self._running.discard(key)
        self.summaries[key] = frame.summary
        return frame.summary

    def again(self, functions: list[FunctionInfo]) -> None:
        """Summarise those functions anew that get an object of a class of `grown`, now that its fields are known."""
        from pytest_cachesafe.lint.flow.execute import annotated_class

        for function in functions:
            arguments = function.node.args
            classes = (annotated_class(self, function, a.annotation) for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
            if any(c is not None and c.key in self.grown for c in classes):
                self.summaries.pop((function.key, function.cls.key if function.cls is not None else ""), None)
                self.summary(function)

    def _context(self, defining: ClassInfo, cls: ClassInfo) -> ClassInfo:
        """The class a method is evaluated for: the defining one, unless a class below brings something volatile."""
        for current in self.mro(cls):
            if current is defining:
                break
            if self.matters(current):
                return cls
        return defining

    def matters(self, cls: ClassInfo) -> bool:
        """Whether what a class overrides or sets holds words of volatile sources."""
        if cls.volatile is None:
            above = {name for base in self.mro(cls)[1:] for name in base.methods}
            lines = cls.module.parsed.lines
            cls.volatile = False
            for stmt in cls.node.body:
                method = isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef))
                if method and (stmt.name not in above or stmt.name == "__init__"):
                    continue
                text = "\n".join(lines[stmt.lineno - 1 : stmt.end_lineno or stmt.lineno])
                if any(word in text for word in (_VOLATILE if method else _CLOCKS)):
                    cls.volatile = True
                    break
        return cls.volatile

    def _inert(self, name: str) -> bool:
        """Whether a file holds no word of a volatile source: functions there only hand on."""
        found = self._inert_files.get(name)
        if found is None:
            data = self._peek(name)
            found = self._inert_files[name] = not any(word in data for word in SOURCE_WORDS) and not any(
                w in data for w in self.tables.source_words
            )
        return found

    # Places and atoms

    def span(self, module: Module, node: ast.AST) -> Span:
        """The place of a node, columns in characters."""
        parsed = module.parsed
        row = getattr(node, "lineno", 1)
        end = getattr(node, "end_lineno", row) or row
        start_column = column(parsed, row, getattr(node, "col_offset", 0))
        return Span(module.name, row, start_column, end, column(parsed, end, getattr(node, "end_col_offset", 0) or 0))

    def source(self, frame: Frame, node: ast.AST, kind: str, granularity: str, api: str) -> Value:
        """A fresh volatile value."""
        span = self.span(frame.module, node)
        source = Source(kind, granularity, api, span, frozen=frame.frozen)
        atom = Atom(
            ("s", span.filename, span.row, span.column, kind),
            source,
            (Step(span.filename, span.row, f"{api} is read here"),),
        )
        return Value({atom.key: atom})


def _definitions(body: list[ast.stmt]) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions and methods, not those nested in functions."""
    out: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    for stmt in body:
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
            out.append(stmt)
        elif isinstance(stmt, (ast.ClassDef, ast.If, ast.Try, ast.With)):
            out += _definitions(stmt.body)
            if isinstance(stmt, (ast.If, ast.Try)):
                out += _definitions(stmt.orelse)
            if isinstance(stmt, ast.Try):
                out += _definitions([s for h in stmt.handlers for s in h.body])
    return out


_VOLATILE = (
    "now(", "today(", "strftime", "time(", "uuid", "random", "platform", "cwd", "environ", "getenv", "memor", "user_", "session_", "gethost", "get_current", "location",
)  # fmt: skip
_CLOCKS = ("now(", "today(", "strftime", "time(", "uuid", "platform", "getcwd")
_CHANGERS = frozenset(("append", "extend", "update", "insert", "add"))


def _written(method: FunctionInfo, body: list[ast.stmt]) -> set[str]:
    """Attributes of its object that a method sets or changes in place."""
    if method.written is not None:
        return method.written
    out: set[str] = set()
    method.written = out
    if method.kind == "static" or not method.params:
        return out
    me = method.params[0]
    stack: list[ast.AST] = list(body)
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


def holder(cls: ClassInfo) -> Value:
    """`self` of a method."""
    return Value(shape=Obj(cls))


def parameter(function: FunctionInfo, name: str) -> Value:
    """A parameter as seen from inside."""
    key = ("p", function.key, name)
    return Value({key: Atom(key)}, ParamShape(name))
