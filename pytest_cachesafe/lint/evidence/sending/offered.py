"""Values that are only offered to a template: `text.format(timestamp=…)` prints the time if the text says so.

Where the analysis does not know the text that is filled, the project is asked for a text that holds the placeholder. If
none of its files does, the value stands in no prompt but one that a user may write some day.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.trees import spelt
from pytest_cachesafe.lint.flow.filled import OFFERED
from pytest_cachesafe.lint.parse import tree_of
from pytest_cachesafe.lint.path_kinds import is_test_path

if TYPE_CHECKING:
    from cachesafe_rules.model import Arrival, Source, Step

__all__ = ["Offered"]

_NAME = lazy_pattern(re.escape(OFFERED) + r"\{([^{}]+)\}$")
# `day = …`, and how a file of texts is read.
_GIVEN = lazy_pattern(r"\s*(\w+)\s*(?::[^=]+)?=[^=]")
_READS = lazy_pattern(
    rb"\byaml\.(?:safe_)?load\(|\.read_text\(|\bopen\(|\bjson\.load\(|\btomllib\.load\(|"
    rb"\b(?:config|settings|cfg)\.\w*prompt\w*\.replace\("
)
# Where texts of prompts are kept beside Python code.
_TEXTS = (
    ".txt", ".md", ".mdx", ".yaml", ".yml", ".json", ".jsonl", ".toml", ".jinja", ".jinja2", ".j2", ".prompt", ".tmpl",
    ".tpl", ".template", ".mustache", ".hbs", ".html", ".xml", ".ini", ".cfg", ".csv", ".sql", ".prompty", ".poml",
)  # fmt: skip
_PASSED_OVER = frozenset(
    {"node_modules", "docs", "doc", "site-packages", "__pycache__", "venv", "env", "build", "dist", "target"}
)
# Larger files are data, and in larger projects nobody can say that there is none.
_LARGEST = 1_000_000
_MOST = 20_000
# A few files and no text beside them: the template lies elsewhere.
_FEWEST = 20
_FILLS = lazy_pattern(r"(?:^|_)(?:render|fill|format|load|get)_?(?:\w+_)?(?:template|prompt)|^render$|^render_")
# Shorter words name no file; a template that takes in another one prints what that prints.
_SHORTEST = 3
_TAKES_IN = lazy_pattern(rb"\{%-?\s*(?:include|extends|import|from)\b|\{\{\s*[>#]")
_DOCUMENTED = lazy_pattern(
    r"^(?:readme|changelog|contributing|license|news|history|pyproject|setup|tox|requirements|package(?:-lock)?)\b",
    re.IGNORECASE,
)


class Offered:
    """Asks whether the project has a text that prints what is offered. `read` gives the bytes of one of its files."""

    def __init__(self, root: str, files: Collection[str], read: Callable[[str], bytes | None]) -> None:
        self._root = root
        self._files = files
        self._read = read
        self._known: dict[str, bool] = {}
        self._texts: list[str] | None = None
        self._last: tuple[str, list[ast.Call]] | None = None

    def printed(self, arrival: Arrival) -> Arrival | None:
        """The arrival without values that no text of the project prints; None where nothing is left."""
        taints = tuple(
            t
            for t in arrival.taints
            if all(map(self._is_printed, (*_names(t.steps), *self._replaced(t.source))))
            and self._is_named(t.source, t.steps)
        )
        if len(taints) == len(arrival.taints):
            return arrival
        return replace(arrival, taints=taints) if taints else None

    def _replaced(self, source: Source) -> tuple[str, ...]:
        """The placeholder that a value is read for, where nothing else becomes of it in its file than
        `text.replace("{day}", day)`, and the text comes from a file as well."""
        name = source.span.filename
        data = self._read(name) if name.endswith(".py") else None
        if data is None or b".replace(" not in data or _READS.search(data) is None:
            return ()
        rows = data.decode("utf-8", "replace").splitlines()
        if source.span.row > len(rows):
            return ()
        given = _GIVEN.match(rows[source.span.row - 1])
        if given is None:
            return ()
        word = re.escape(given[1])
        text = "\n".join(rows)
        if re.search(rf"""\.replace\(\s*["']\{{{word}\}}["'],\s*{word}\s*,?\)""", text) is None:
            return ()
        # What an f-string prints, or puts together, is printed.
        shown = re.search(rf"""\bf["'][^\n]*\{{{word}\b|\+\s*{word}\b|\b{word}\s*\+""", text)
        return () if shown is not None else (given[1],)

    def _is_named(self, source: Source, steps: Iterable[Step]) -> bool:
        """Whether the template prints a value, where the call that it is given to names one that lies beside the code:
        `render("clerk_system", now=now)` and `clerk_system_1.0.j2`. Of other calls nothing is asked."""
        name = source.span.filename
        rows = {step.row for step in steps if step.filename == name} if name.endswith(".py") else set()
        given = self._given_name(source) if rows else None
        for call in self._calls(name) if rows else ():
            if call.lineno not in rows:
                continue
            keys = [k.arg for k in call.keywords if k.arg and _holds(k.value, source, given)]
            texts = self._named(call) if keys else []
            if texts and not any(map(_TAKES_IN.search, texts)):
                places = [_placeholder(key) for key in keys]
                return any(place.search(line) for text in texts for line in _lines(text) for place in places)
        return True

    def _calls(self, name: str) -> list[ast.Call]:
        """The calls of a file that fill a template by its name; the reports of one file come in turn."""
        if self._last is None or self._last[0] != name:
            tree = tree_of(self._read(name) or b"")
            calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and n.keywords] if tree is not None else []
            self._last = name, [n for n in calls if n.args and _word(n.args[0]) and _FILLS.search(spelt(n.func))]
        return self._last[1]

    def _given_name(self, source: Source) -> str | None:
        """The name that is given a value where it is read."""
        rows = (self._read(source.span.filename) or b"").decode("utf-8", "replace").splitlines()
        found = _GIVEN.match(rows[source.span.row - 1]) if source.span.row <= len(rows) else None
        return None if found is None else found[1]

    def _named(self, call: ast.Call) -> list[bytes]:
        """The texts beside the code whose files begin with the word that a call is given first."""
        name = _word(call.args[0])
        return [_content(path) for path in self._text_files() or () if os.path.basename(path).startswith(name)]

    def _is_printed(self, name: str) -> bool:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._found(name)
        return known

    def _found(self, name: str) -> bool:
        word = name.encode("utf-8", "surrogatepass")
        place = _placeholder(name)
        for file in self._files:
            # A text that only a test fills is sent by nobody.
            data = None if is_test_path(file) else self._read(file)
            if data is not None and word in data and _in_code(data, place):
                return True
        texts = self._text_files()
        if texts is None or (not texts and len(self._files) < _FEWEST):
            return True
        for path in texts:
            data = _content(path)
            if word in data and any(place.search(line) and not _F_STRING.search(line) for line in _lines(data)):
                return True
        return False

    def _text_files(self) -> list[str] | None:
        """Files of text in the project; None where there are too many to read."""
        if self._texts is None:
            self._texts = []
            for folder, folders, names in os.walk(self._root):
                folders[:] = [f for f in folders if not f.startswith(".") and f.lower() not in _PASSED_OVER]
                for name in names:
                    if not name.lower().endswith(_TEXTS) or _DOCUMENTED.match(name):
                        continue
                    path = os.path.join(folder, name)
                    try:
                        if os.path.getsize(path) <= _LARGEST:
                            self._texts.append(path)
                    except OSError:
                        continue
                if len(self._texts) > _MOST:
                    break
        return None if len(self._texts) > _MOST else self._texts


# Code in a document: its braces are no placeholders.
_F_STRING = lazy_pattern(r"\b[fF]r?[\"']")


def _holds(value: ast.expr, source: Source, given: str | None) -> bool:
    """Whether an argument is a source, or the name that its row gives it."""
    if isinstance(value, ast.Name):
        return value.id == given
    return (value.lineno, value.col_offset + 1) == (source.span.row, source.span.column)


def _word(value: ast.expr) -> str:
    text = value.value if isinstance(value, ast.Constant) else ""
    return os.path.basename(text) if isinstance(text, str) and len(text) > _SHORTEST else ""


def _placeholder(name: str) -> re.Pattern[str]:
    # `{now}`, `{{ now | date }}`, `{% if now %}`, `${now}`, `$now`, `%(now)s`, `<now>`, `[now]`.
    # In a tag of a template the name stands anywhere: `{% if now %}`.
    word = re.escape(name)
    return re.compile(rf"\{{[{{%]?[^{{}}\n]*?\b{word}\b|\$\{{?{word}\b|%\({word}\)|<{word}>|\[{word}\]", re.IGNORECASE)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return b""


def _names(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        found = _NAME.match(step.message)
        if found is not None:
            yield found[1]


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").splitlines()


def _in_code(data: bytes, place: re.Pattern[str]) -> bool:
    """Whether a literal of a Python file holds the placeholder; what an f-string prints is no literal, and a text that
    is nothing but the placeholder is what a program looks for."""
    if place.search(data.decode("utf-8", "replace")) is None:
        return False
    tree = tree_of(data)
    if tree is None:
        # Whatever it says, it may be a template.
        return True
    notes = {id(stmt.value) for stmt in ast.walk(tree) if isinstance(stmt, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes:
            found = place.search(node.value)
            if found is not None and len(node.value.strip()) > len(found[0]) + 2:
                return True
    return False
