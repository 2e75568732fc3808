"""The analysis of a project file by file: entries in, arrivals out."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cachesafe_rules.model import Arrival, Source, Taint
from pytest_cachesafe.lint.flow.arrive import Hit
from pytest_cachesafe.lint.flow.classes import base_words, find_method, matters, mro
from pytest_cachesafe.lint.flow.clock import rank
from pytest_cachesafe.lint.flow.engine import Engine
from pytest_cachesafe.lint.flow.values import TemplateShape
from pytest_cachesafe.lint.prefilter import is_entry, may_matter
from pytest_cachesafe.lint.project import ProjectIndex
from pytest_cachesafe.lint.tables import sinks
from pytest_cachesafe.lint.tables.user import Tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_cachesafe.lint.flow.module import ClassInfo
    from pytest_cachesafe.lint.settings import Settings

# What is wrong in every text that is named like a prompt.
_CLOCKS = frozenset(("clock", "flag"))

__all__ = ["Analysis", "EntryResult", "settle"]

# Bytes of source whose trees may live at one time, and those beside the tree of a long file that is looked at; trees
# take about thirty times as much.
_LIVE_BYTES = 1_500_000
_LEAST_LIVE_BYTES = 500_000
# Python frames for `DEEPEST` expressions in one another, about five each.
_RECURSION = 6000
# Characters of a short file.
_SMALL = 24_000


class EntryResult(NamedTuple):
    """What the analysis of one file found. `hits` and `votes` of all files together are settled by `settle`; `used` are
    the files it depends on."""

    hits: tuple[Hit, ...]
    votes: tuple[tuple[str, str], ...]
    used: tuple[str, ...]
    parsed: Any
    taints: Callable[[ast.AST], tuple[Taint, ...]]


class Analysis:
    """The files of one project; nothing of them is imported or executed.

    Args:
        root: project root.
        files: anything with a `path` and a `size`, by relative posix name.
        settings: the project's additions to the tables; None for none.
        overlay: unsaved text by name, instead of the file's.
    """

    def __init__(
        self,
        root: Path,
        files: Mapping[str, Any],
        settings: Settings | None = None,
        overlay: Mapping[str, bytes] | None = None,
    ) -> None:
        self.root = root
        self._files = files
        self._overlay = overlay or {}
        self._tables = Tables(settings)
        self._index = ProjectIndex([*files, *(n for n in self._overlay if n not in files)])
        self._live = 0
        # Size of the file that is looked at: its tree stays.
        self._current = 0
        self._engine = self._fresh()

    def _fresh(self) -> Engine:
        return Engine(self._index, self._parse, self._parsed_more, self._peek, self._tables)

    def read(self, name: str) -> bytes:
        """Bytes of a file, the overlay's where there is one.

        Raises:
            OSError: the file cannot be read.
        """
        if name in self._overlay:
            return self._overlay[name]
        path = self._files[name].path
        with open(path, "rb") as file:
            return file.read()

    def is_entry(self, name: str, data: bytes) -> bool:
        """Whether a file may hold a sink."""
        return is_entry(data, self._tables)

    def _peek(self, name: str) -> bytes:
        try:
            return self.read(name)
        except OSError:
            return b""

    def _size(self, name: str) -> int:
        return len(self._overlay[name]) if name in self._overlay else self._files[name].size

    def _parse(self, name: str) -> Any:
        from pytest_cachesafe.lint.parse import parse

        try:
            data = self.read(name)
        except OSError:
            return None
        self._parsed_more(0 if name == self._engine.current else len(data))
        return parse(data, name)

    def _parsed_more(self, size: int) -> None:
        if self._live + size > max(_LIVE_BYTES - self._current, min(_LIVE_BYTES, _LEAST_LIVE_BYTES)):
            self._engine.shed()
            self._live = 0
        self._live += size

    def shed(self, name: str = "") -> None:
        """Let all trees go but that of one file."""
        self._engine.current = name
        self._engine.shed()
        self._live = 0
        if not name:
            self._current = 0

    def analyse(self, name: str) -> EntryResult:
        """Evaluate every function and class of a file, and what they reach."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _RECURSION))
        try:
            return self._analyse(name)
        finally:
            sys.setrecursionlimit(limit)

    def _analyse(self, name: str) -> EntryResult:
        engine = self._engine
        engine.current = name
        # The tree of the file before may go from now on.
        self._live += self._current
        self._current = self._size(name)
        module = engine.module(name)
        if module is None:
            return EntryResult((), (), (name,), None, lambda node: ())
        if module.parsed.tree is not None or module.shed:
            engine.run_module(module)
            if module.shed:
                # Rules want the tree.
                engine.revive(module)
            lines = engine.lines(module)
            # In a short file every function is worth a look; in a long one those that deal with prompts.
            small = len(module.parsed.text) < _SMALL
            tools = not small and "Tool" in module.parsed.text
            names = tuple(k for k, v in (module.env or {}).items() if isinstance(v.shape, TemplateShape))
            done = 0
            while done < len(module.functions):
                function = module.functions[done]
                if small or may_matter(_text(lines, engine.node(function)), names):
                    engine.summary(function)
                done += 1
            done = 0
            while done < len(module.classes):
                _analyse_class(engine, module.classes[done], lines, small, tools, names)
                done += 1
            if engine.grown:
                engine.again([*module.functions, *(m for c in module.classes for m in c.methods.values())])
        module.done = True
        used = _closure(engine, name)
        return EntryResult(
            tuple(engine.hits.get(name, ())),
            tuple(engine.votes.get(name, ())),
            used,
            module.parsed,
            module.taints,
        )


def _text(lines: list[str], node: ast.stmt) -> str:
    """Source of a function without its documentation, which likes to show chats."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    last = node.end_lineno or node.lineno
    body: list[ast.stmt] = getattr(node, "body", [])
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and len(body) > 1:
        return "\n".join((*lines[first - 1 : body[0].lineno - 1], *lines[body[1].lineno - 1 : last]))
    return "\n".join(lines[first - 1 : last])


def _analyse_class(
    engine: Engine, cls: ClassInfo, lines: list[str], small: bool, tools: bool, names: tuple[str, ...]
) -> None:
    engine.run_class(cls)
    # Bases are looked up only where the file speaks of tools: they may lie in files that nothing else needs.
    tool = tools and any(sinks.TOOL_CLASSES.search(word) for word in base_words(engine, cls))
    for method in cls.methods.values():
        if tool or small or may_matter(_text(lines, engine.node(method)), names):
            engine.summary(method, cls)
    if not matters(engine, cls):
        return
    chain = mro(engine, cls)[1:]
    overridden = {name for base in chain for name in base.methods if name in cls.methods and name != "__init__"}
    if not overridden:
        return
    for base in chain:
        for method in base.methods.values():
            if (
                method.name not in cls.methods
                and find_method(engine, cls, method.name) is method
                and _calls_any(engine.node(method).body, overridden)
                and may_matter(_text(engine.lines(base.module), engine.node(method)))
            ):
                # A method of the base that means this class's own when it runs for its objects.
                engine.summary(method, cls)


def _calls_any(body: list[ast.stmt], names: set[str]) -> bool:
    return any(
        isinstance(n, ast.Attribute)
        and n.attr in names
        and isinstance(n.value, ast.Name)
        and n.value.id in ("self", "cls")
        for stmt in body
        for n in ast.walk(stmt)
    )


def _closure(engine: Engine, name: str) -> tuple[str, ...]:
    seen = {name}
    queue = [name]
    while queue:
        module = engine.modules.get(queue.pop())
        for other in module.used if module is not None else ():
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return tuple(sorted(seen))


def settle(results: Iterable[EntryResult]) -> dict[str, list[Arrival]]:
    """Arrivals by file, after the votes of all files: text that only looked like a system prompt is left out."""
    votes: dict[str, set[str]] = {}
    hits: list[Hit] = []
    for result in results:
        hits += result.hits
        for key, word in result.votes:
            votes.setdefault(key, set()).add(word)
    for words in votes.values():
        # Text of messages that count, and text of those that do not.
        for word in [w for w in words if w.startswith("in ")]:
            words.remove(word)
            own = votes.get(word[3:], set())
            words.add("filed" if _only_filed(own) else "system")
    kept: dict[tuple[Any, ...], dict[tuple[Any, ...], Taint]] = {}
    for hit in hits:
        strict = hit.taint.source.kind not in _CLOCKS
        if any(_withdrawn(mark, votes.get(mark, frozenset()), strict) for mark in hit.marks):
            continue
        taints = kept.setdefault((hit.span, hit.sink, hit.part, hit.function), {})
        source: Source = hit.taint.source
        arrived = (source.span, source.kind)
        old = taints.get(arrived)
        better = old is None or rank(source.granularity) < rank(old.source.granularity)
        if better or (
            old is not None and source.granularity == old.source.granularity and len(hit.taint.steps) < len(old.steps)
        ):
            taints[arrived] = hit.taint
    out: dict[str, list[Arrival]] = {}
    for (span, sink, part, function), taints in sorted(kept.items(), key=lambda item: (item[0][0], item[0][1])):
        ordered = tuple(taints[k] for k in sorted(taints))
        out.setdefault(span.filename, []).append(Arrival(sink, part, span, function, ordered))
    return out


def _only_filed(words: frozenset[str] | set[str]) -> bool:
    """Whether a message was seen to be written to a file, and nowhere else."""
    return "filed" in words and "sent" not in words


def _withdrawn(mark: str, words: frozenset[str] | set[str], strict: bool = False) -> bool:
    if strict and mark.startswith(("weak:", "task:", "soft:")):
        # Instructions of whom, a prompt for what? The name alone does not say that a model gets it as system text.
        return "system" not in words
    if mark.startswith("weak:"):
        # A word for many things: somebody has to send it as a prompt.
        return words.isdisjoint(("system", "named"))
    if mark.startswith("task:"):
        # Named after a task, which is often asked in one user message.
        return "system" not in words and not words.isdisjoint(("user", "asked", "filed"))
    if mark.startswith(("name:", "soft:")):
        return "system" not in words and not words.isdisjoint(("user", "filed", "behind"))
    if _only_filed(words):
        return True
    if "counted" in words and "sent" not in words:
        return True
    if "handed" in words and "head" not in words:
        # Given away alone, and nobody was seen to put it first.
        return True
    return bool(words & {"tail", "second"})
