"""Whether the code shows what stands behind a clock: without it a text is as likely one that nobody sends again.

A chat, an agent or fixed text. It is looked for where the text is put into what is sent, in what reads the attribute
that it is kept in, and in the functions that call these, in any file of the project.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.files import Files
from pytest_cachesafe.lint.evidence.prefix.chats import chat_in, is_system
from pytest_cachesafe.lint.evidence.trees import Function, called, nodes_of, own_nodes, spelt
from pytest_cachesafe.lint.path_kinds import is_test_path

__all__ = ["Followed"]

_HOPS = 2
# A name that so many files use is too common to say who calls whom; then nothing is known to be missing.
_MANY = 30
# What frameworks call before each step of an agent.
_MIDDLEWARE = frozenset({"wrap_model_call", "awrap_model_call", "before_model", "abefore_model", "modify_request"})
_READS = lazy_pattern(
    r"_?a?(?:get|load|fetch|read|list)_(?:\w+_)?(?:messages|msgs|turns|history|conversation|transcript)$"
)
_AGENT_FIELDS = frozenset({"system_prompt", "instructions", "prompt", "system_message", "tools"})

_At = tuple[str, Function]


class Followed:
    """Asks it of functions."""

    def __init__(self, files: Sequence[str], seen: Files) -> None:
        self._files = files
        self._seen = seen
        self._callers: dict[str, list[_At] | None] = {}

    def holds(self, ends: Sequence[tuple[str, Function, int]]) -> bool:
        """Whether a chat or an agent is seen, or cannot be told; `ends`: where a text is put into what is sent."""
        asked: list[_At] = [(name, function) for name, function, _ in ends]
        if not asked:
            return True
        asked += [(name, reader) for name, function, row in ends for reader in self._readers(name, function, row)]
        for hop in range(_HOPS + 1):
            if any(map(_begins_more, (function for _, function in asked))):
                return True
            if hop == _HOPS:
                return False
            callers: dict[int, _At] = {}
            for _, function in asked:
                found = self._calling(function.name)
                if found is None:
                    return True
                callers.update({id(caller): (name, caller) for name, caller in found})
            asked = list(callers.values())
        return False

    def _readers(self, name: str, function: Function, row: int) -> Iterator[Function]:
        """The functions of a file that read an attribute to which a text is given in a row."""
        kept = {
            target.attr
            for node in nodes_of(function, ast.Assign, ast.AugAssign, ast.AnnAssign)
            if node.lineno <= row <= (node.end_lineno or node.lineno)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Attribute)
        }
        for reader in (f for same in self._seen[name].known.values() for f in same) if kept else ():
            if any(n.attr in kept for n in nodes_of(reader, ast.Attribute)):
                yield reader

    def _calling(self, name: str) -> list[_At] | None:
        """The functions that call one of a name or hand it on; None where too many files do."""
        if name.startswith("__"):
            return []
        if name not in self._callers:
            word = re.compile(rb"\b" + name.encode() + rb"\b")
            spelling = [
                file
                for file in self._files
                if file.endswith(".py")
                and not is_test_path(file)
                and name.encode() in (data := self._seen.read(file) or b"")
                and word.search(data)
            ]
            many = len(spelling) > _MANY
            self._callers[name] = None if many else [at for file in spelling for at in self._using(file, name)]
        return self._callers[name]

    def _using(self, file: str, name: str) -> Iterator[_At]:
        for same in self._seen[file].known.values():
            for function in same:
                if function.name != name and any(
                    spelt(node) == name for node in nodes_of(function, ast.Name, ast.Attribute)
                ):
                    yield file, function


def _begins_more(function: Function) -> bool:
    """Whether a chat or an agent is seen in a function."""
    return function.name in _MIDDLEWARE or chat_in(function) or any(map(_is_begun, own_nodes(function)))


def _is_begun(node: ast.AST) -> bool:
    """Whether an agent is built with a system text or tools, a chat is read, or one is begun and kept in an object."""
    if isinstance(node, ast.Call):
        agent = "agent" in called(node).lower() and any(k.arg in _AGENT_FIELDS for k in node.keywords)
        return agent or _READS.match(called(node)) is not None
    if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.List) and node.value.elts:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        return isinstance(target, ast.Attribute) and is_system(node.value.elts[0])
    return False
