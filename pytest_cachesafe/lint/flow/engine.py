"""Modules and summaries on demand, each made once."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cachesafe_rules.model import Source, Span, Step
from cachesafe_rules.needles import SHORT_FILE
from pytest_cachesafe.lint.flow.atoms import Atom
from pytest_cachesafe.lint.flow.classes import annotated_class, context_class
from pytest_cachesafe.lint.flow.execute import run_body
from pytest_cachesafe.lint.flow.expressions import EXPRESSIONS
from pytest_cachesafe.lint.flow.frame import Frame, Summary
from pytest_cachesafe.lint.flow.functions import run_class_body, run_function
from pytest_cachesafe.lint.flow.imports import hoist
from pytest_cachesafe.lint.flow.module import FunctionInfo, Module
from pytest_cachesafe.lint.flow.values import Value
from pytest_cachesafe.lint.parse import column, parse_rows
from pytest_cachesafe.lint.tables.sources import EXCERPT_WORDS, SOURCE_WORDS

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arrive import Hit
    from pytest_cachesafe.lint.flow.frame import ParamSink
    from pytest_cachesafe.lint.flow.module import ClassInfo
    from pytest_cachesafe.lint.parse import Parsed
    from pytest_cachesafe.lint.project import ProjectIndex
    from pytest_cachesafe.lint.tables.user import Tables

__all__ = ["Engine"]

_DEPTH = 25
# How many functions in a row may be followed that lie in files without any source.
_IDLE = 2


class Engine:
    """The analysis of one project. Single-threaded; garbage collection is best switched off around it."""

    def __init__(
        self,
        index: ProjectIndex,
        parse: Callable[[str], Any],
        parsed_more: Callable[[int], None],
        peek: Callable[[str], bytes],
        tables: Tables,
    ) -> None:
        self.index = index
        self.tables = tables
        self._parse = parse
        # Told of every part of a file that is parsed again, in characters, before it is.
        self.parsed_more = parsed_more
        self.peek = peek
        self.star_trail: set[tuple[str, str]] = set()
        self.expressions = EXPRESSIONS
        self.modules: dict[str, Module | None] = {}
        self.summaries: dict[tuple[str, str], Summary] = {}
        self._running: set[tuple[str, str]] = set()
        self.depth = 0
        # How deep expressions and statements lie in one another at this moment.
        self.nesting = 0
        self._idle = 0
        # Classes whose objects were made with something volatile: who gets them by annotation is looked at again.
        self.grown: set[str] = set()
        # Parameters of constructors that reach sinks in methods, by the key of the constructor.
        self.made_sinks: dict[str, dict[tuple[str, str, str], ParamSink]] = {}
        self._inert_files: dict[str, bool] = {}
        # Arrivals and votes by the file whose analysis they belong to.
        # What was parsed since the last `shed`: its trees may still be there.
        self.fresh: list[Module | FunctionInfo | ClassInfo] = []
        # The file whose own functions are evaluated, for rules that want its tree as well.
        self.current = ""
        self.hits: dict[str, list[Hit]] = {}
        self.votes: dict[str, list[tuple[str, str]]] = {}

    def shed(self) -> None:
        """Let the trees go, at any moment; summaries stay, and the few functions asked for again are parsed again."""
        kept: list[Module | FunctionInfo | ClassInfo] = []
        for item in self.fresh:
            module = item if isinstance(item, Module) else item.module
            if module.name == self.current:
                # Rules will ask for its tree.
                kept.append(item)
            elif isinstance(item, Module):
                item.shed = True
                if not item.ran:
                    # The rest of its body is still to be run, without the functions below.
                    kept.append(item)
                    continue
                item.body = []
                item.parsed.shed()
                if item.done:
                    # Rules have seen the file.
                    item.tainted.clear()
            elif item.node is not None:
                if item.hoisted:
                    # The module's own tree may stay a while. The list itself may be in use.
                    item.node.body = []
                item.node = None
        self.fresh = kept

    def node(self, function: FunctionInfo) -> ast.FunctionDef | ast.AsyncFunctionDef:
        """The tree of a function, parsed again if it had been let go."""
        if function.node is None:
            self.fresh.append(function)
            found = self._again(function.module, function.first, function.end_row)
            if not isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)):
                # The file has changed while it was looked at.
                found = ast.parse("def changed(): ...").body[0]
                assert isinstance(found, ast.FunctionDef)
            function.node = found
        return function.node

    def class_body(self, cls: ClassInfo) -> list[ast.stmt]:
        """The statements of a class, parsed again if they had been let go."""
        if cls.node is None:
            self.fresh.append(cls)
            found = self._again(cls.module, cls.row, cls.end_row)
            if not isinstance(found, ast.ClassDef):
                found = ast.parse("class Changed: ...").body[0]
                assert isinstance(found, ast.ClassDef)
            cls.node = found
        return cls.node.body

    def lines(self, module: Module) -> list[str]:
        """The lines of a file, read again if they had been let go."""
        parsed: Parsed = module.parsed
        if module.shed and not parsed.text:
            parsed.restore(self.peek(module.name))
            self.fresh.append(module)
        return parsed.lines

    def _again(self, module: Module, first: int, last: int) -> ast.stmt | None:
        lines = self.lines(module)
        self.parsed_more(sum(map(len, lines[first - 1 : last])))
        return parse_rows(lines, first, last, module.name)

    def revive(self, module: Module) -> None:
        """Parse a whole file again whose trees were let go."""
        parsed = self._parse(module.name)
        module.shed = False
        if parsed is None or parsed.tree is None:
            return
        module.parsed = parsed
        self.fresh.append(module)
        nodes = {(n.lineno, n.name): n for n in _definitions(parsed.tree.body)}
        for function in (*module.functions, *(m for c in module.classes for m in c.methods.values())):
            node = nodes.get((function.row, function.name))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                function.node = node
                self.fresh.append(function)
        for cls in module.classes:
            node = nodes.get((cls.row, cls.name))
            if isinstance(node, ast.ClassDef):
                cls.node = node
                self.fresh.append(cls)

    # Modules

    def module(self, name: str) -> Module | None:
        """A file of the project, parsed; None where it cannot be."""
        if name not in self.modules:
            parsed = self._parse(name)
            module = self.modules[name] = Module(name, parsed) if parsed is not None else None
            if module is not None:
                self.fresh.append(module)
        return self.modules[name]

    def run_module(self, module: Module) -> dict[str, Value]:
        """The names its body binds."""
        if module.env is not None:
            return module.env
        if self.exhausted:
            # Not for good: who asks for it from less deep gets its names.
            return {}
        module.env = {}
        frame = Frame(module, frozen=True)
        frame.env = module.env
        self.depth += 1
        try:
            hoist(self, frame, module.body)
            run_body(self, frame, module.body)
        finally:
            self.depth -= 1
            module.ran = True
        return module.env

    @property
    def exhausted(self) -> bool:
        """Whether so many bodies are being evaluated in one another that no more may be begun."""
        return self.depth > _DEPTH

    def writes(self, method: FunctionInfo, cls: ClassInfo) -> dict[str, Value]:
        """What a method sets on its object; nothing arrives anywhere by this round."""
        self.depth += 1
        frame = run_function(self, method, cls, quiet=True)
        self.depth -= 1
        return frame.writes

    def run_class(self, cls: ClassInfo) -> None:
        """Run a class body, once."""
        if not cls.state:
            cls.state = 1
            run_class_body(self, cls)

    # Functions

    def summary(self, function: FunctionInfo, cls: ClassInfo | None = None) -> Summary:
        """Summary of a function, of a method for objects of `cls`."""
        cls = function.cls if cls is None or function.cls is None else context_class(self, function.cls, cls)
        key = (function.key, cls.key if cls is not None else "")
        found = self.summaries.get(key)
        if found is not None:
            return found
        if key in self._running or self.exhausted:
            return Summary()
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
        for function in functions:
            arguments = self.node(function).args
            classes = (
                annotated_class(self, function, a.annotation)
                for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            )
            if any(c is not None and c.key in self.grown for c in classes):
                self.summaries.pop((function.key, function.cls.key if function.cls is not None else ""), None)
                self.summary(function)

    def _inert(self, name: str) -> bool:
        """Whether a file holds no word of a volatile source: functions there only hand on."""
        found = self._inert_files.get(name)
        if found is None:
            data = self.peek(name)
            words = (*SOURCE_WORDS, *self.tables.source_words)
            if data.count(b"\n") <= SHORT_FILE:
                words += EXCERPT_WORDS
            found = self._inert_files[name] = not any(word in data for word in words)
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


def _definitions(body: list[ast.stmt]) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Functions, classes and methods, not what is nested in functions."""
    out: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = []
    for stmt in body:
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            out.append(stmt)
        if isinstance(stmt, (ast.ClassDef, ast.If, ast.Try, ast.With)):
            out += _definitions(stmt.body)
            if isinstance(stmt, (ast.If, ast.Try)):
                out += _definitions(stmt.orelse)
            if isinstance(stmt, ast.Try):
                out += _definitions([s for h in stmt.handlers for s in h.body])
    return out
