"""Whether a value is seen to come with a request: off a user, a message or a session, not off what a program is set up
with.

A parameter says nothing by itself: what its callers pass is looked at, over files, up to the handler of a request. A
program for one person passes its owner's name from a configuration, and what nobody is seen to pass is not known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.files import File, Files
from pytest_cachesafe.lint.evidence.prefix.behind import given
from pytest_cachesafe.lint.evidence.prefix.fixed import is_at
from pytest_cachesafe.lint.evidence.trees import Function, called, nodes_of, own_nodes, spelt
from pytest_cachesafe.lint.path_kinds import is_test_path

__all__ = ["Requesters"]

_HOPS = 4
# What a request brings along, or is made for each.
_REQUESTER = lazy_pattern(
    r"^(?:request|req|(?:current_|from_|effective_)?user|customer|account|member|patient|student|"
    r"subscriber|employee|tenant|guest|learner|visitor|message|msg|ctx|context|session|event|"
    r"update|state|author|sender|payload|body|params|conversation|conv|chat|thread|form|filters|metadata|"
    r"configurable|uuid[1-8]|ulid|nanoid)$"
)
# Whose address is looked up.
_ADDRESS = lazy_pattern(r"^(?:client_|remote_|user_|caller_)?ip(?:_?addr(?:ess)?)?$")
_INSTALLATION = lazy_pattern(
    r"^(?:\w+_)?(?:config|cfg|conf|settings?|env|environ|getenv|args|opts|options|org|bot|persona)$"
)
# What is made once keeps one value.
_ONCE = lazy_pattern(r"^(?:__init__|__post_init__|setup|start|startup|initiali[sz]e|init)$")
# `@app.post("/chat")`, `@router.websocket(…)`, `@bot.message_handler(…)`, `@cl.on_message`, `@app.event("message")`.
_HANDLERS = frozenset(
    {"get", "post", "put", "patch", "delete", "route", "websocket", "api_route", "message_handler", "message", "event",
     "on_message", "command", "api_view"}
)  # fmt: skip
_FROM_REQUEST = frozenset({"Depends", "Header", "Query", "Body", "Form", "Path", "Cookie", "Security"})


class Requesters:
    """Asks of values of reports. `files` are the names of those of the project, `seen` gives them."""

    def __init__(self, files: Sequence[str], seen: Files) -> None:
        self._files = [name for name in files if name.endswith(".py") and not is_test_path(name)]
        self._seen = seen
        self._known: dict[tuple[int, str], bool] = {}

    def bring(self, source: Mapping[str, Any]) -> bool:
        """Whether a value is read off a request, a message or a user, or is a parameter that is seen to be given it."""
        file = self._seen[source["filename"]]
        function = file.around(source["row"])
        if function is None or _ONCE.match(function.name):
            return False
        found = (node for node in own_nodes(function) if isinstance(node, ast.expr) and is_at(node, source))
        return any(self._comes(node, file, function, _HOPS) for node in found)

    def _comes(self, node: ast.expr, file: File, function: Function, hops: int) -> bool:
        """Whether an expression of a function has a requester's value."""
        parts: list[ast.expr] = []
        if isinstance(node, ast.Await):
            parts = [node.value]
        elif isinstance(node, ast.BoolOp):
            parts = node.values
        elif isinstance(node, ast.IfExp):
            parts = [node.body, node.orelse]
        if parts:
            return any(self._comes(part, file, function, hops) for part in parts)
        words = _chain(node)
        if words[-2:] in (["args", "request"], ["args", "req"]):
            # The query of a request, not the options of a program.
            words = [*words[:-2], words[-1]]
        if "configurable" not in words and any(map(_INSTALLATION.match, words)):
            return False
        if isinstance(node, ast.Name):
            return self._is_given(node.id, file, function, hops)
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Call) and any(map(_REQUESTER.match, words)):
            return True
        # `body = await request.json()`, then `body["name"]`
        root = _root(node)
        if root is not None and self._is_given(root.id, file, function, hops):
            return True
        # `find_name(user)`, `str(user_id)`
        return isinstance(node, ast.Call) and any(
            _REQUESTER.match(spelt(arg).lower())
            or _ADDRESS.match(spelt(arg).lower())
            or self._comes(arg, file, function, hops - 1)
            for arg in node.args
            if hops
        )

    def _is_given(self, name: str, file: File, function: Function, hops: int) -> bool:
        """Whether a name of a function is given a requester's value: in it, around it or by a call of it."""
        key = id(function), name
        if key not in self._known:
            self._known[key] = False
            # A function in another one reads its names.
            self._known[key] = bool(hops) and any(
                self._is_written(name, file, one, hops - 1) or self._is_passed(name, one, hops - 1)
                for one in file.enclosing(function)
            )
        return self._known[key]

    def _is_written(self, name: str, file: File, function: Function, hops: int) -> bool:
        values = (getattr(statement, "value", None) for statement in given(name, function))
        return any(self._comes(value, file, function, hops) for value in values if value is not None)

    def _is_passed(self, name: str, function: Function, hops: int) -> bool:
        plain = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
        if name not in plain and name not in {arg.arg for arg in function.args.kwonlyargs}:
            return False
        if _is_handler(function):
            return True
        place = plain.index(name) - (plain[0] in ("self", "cls")) if name in plain else len(plain)
        for call, file, caller in self._calls(function.name):
            value = next((k.value for k in call.keywords if k.arg == name), None)
            if value is None and len(call.args) > place and not any(isinstance(a, ast.Starred) for a in call.args):
                value = call.args[place]
            if value is not None and self._comes(value, file, caller, hops):
                return True
        return False

    def _calls(self, name: str) -> Iterator[tuple[ast.Call, File, Function]]:
        """The calls of functions of a name in the project, each with the file and the function around it."""
        word = name.encode()
        for path in self._files:
            data = self._seen.read(path)
            if data is None or word not in data:
                continue
            file = self._seen[path]
            for caller in (one for same in file.known.values() for one in same):
                for node in nodes_of(caller, ast.Call):
                    if called(node) == name:
                        yield node, file, caller


def _is_handler(function: Function) -> bool:
    """Whether a framework calls a function for each request."""
    for decorator in function.decorator_list:
        if spelt(decorator.func if isinstance(decorator, ast.Call) else decorator) in _HANDLERS:
            return True
    defaults = (*function.args.defaults, *function.args.kw_defaults)
    return any(isinstance(value, ast.Call) and called(value) in _FROM_REQUEST for value in defaults)


def _root(node: ast.expr) -> ast.Name | None:
    """The name that something is read off."""
    inner = node
    while isinstance(inner, ast.Attribute | ast.Subscript | ast.Call):
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
    return inner if isinstance(inner, ast.Name) and isinstance(node, ast.Attribute | ast.Subscript | ast.Call) else None


def _chain(node: ast.expr) -> list[str]:
    """The names of `request.state["user"].name`."""
    words = []
    inner: ast.expr = node
    while True:
        if isinstance(inner, ast.Call):
            inner = inner.func
        elif isinstance(inner, ast.Attribute):
            words.append(inner.attr.lower())
            inner = inner.value
        elif isinstance(inner, ast.Subscript):
            if isinstance(inner.slice, ast.Constant):
                words.append(str(inner.slice.value).lower())
            inner = inner.value
        else:
            return [*words, spelt(inner).lower()]
