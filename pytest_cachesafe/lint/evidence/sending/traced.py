"""Whether messages, or a text that is made of them, are seen to go into a request.

An expression is followed, by names and in steps that the code shows, to a call that asks a model: through lists and
texts that are built of it, names, attributes, what a function gives back and is given. One message of a list is not the
list, and where its end is taken, that is a list of its own. A model that the code runs itself, without a cache, reuses
nothing.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from typing import NamedTuple

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.running.modules import Module, Modules
from pytest_cachesafe.lint.evidence.sending.costless import asked_once, cut_again, is_recomputed, recomputes
from pytest_cachesafe.lint.evidence.trees import Function, called, spelt

__all__ = ["Place", "Trace"]

_HOPS = 5
_STEPS = 1000
# What a call is named that asks a model, and the arguments that take what is sent.
_ASKS = lazy_pattern(
    r"(?:^|_)(?:a|async_?)?(?:stream|completions?|generate|converse|invoke|chat|complete|llm|respond|ask|predict|infer|"
    r"inference|answer)(?:_|$)|LLM$|^create_(?:\w+_)?agent$"
)
# The same where the argument's name says that it is a chat.
_RUNS = lazy_pattern(r"(?:^|_)a?(?:run|call|response|reply|turn)(?:_|$)")
# Methods of clients and models of which the name says enough.
_SEND = frozenset(
    {"completion", "acompletion", "generate_content", "generate_content_stream", "converse",
     "converse_stream", "invoke", "ainvoke", "astream", "astream_events", "chat", "achat", "generate", "agenerate",
     "complete", "acomplete", "apply_chat_template", "generate_content_async", "stream_chat", "predict",
     "apredict", "create_chat_completion", "chat_completion", "stream_completion"}
)  # fmt: skip
# Methods of other things as well, and what they are called on.
_MAKES = frozenset(
    {"create", "stream", "parse", "batch", "abatch", "run", "arun", "send", "call", "run_stream", "run_sync"}
)
_CLIENT = lazy_pattern(
    r"(?:^|[._])(?:completions?|messages|responses|chat|client|llm|model|agent|chain|graph|anthropic|openai|gemini|runner)s?\b",
    re.IGNORECASE,
)
_SENT_AS = lazy_pattern(
    r"(?:^|_)(?:messages|msgs|contents|input|inputs|input_items|prompt|prompts|history|conversation|chat_history|"
    r"message_history|conversation_history|context|system|system_prompt|instructions|turns|json|payload|text|query)$"
)
_CHAT = lazy_pattern(r"(?:^|_)(?:history|messages|msgs|conversation|turns|transcript)$")
# Calls that look at messages, keep them or show them.
_LOOKS = frozenset(
    {"len", "print", "debug", "info", "warning", "error", "log", "exception", "isinstance", "bool", "any", "all", "sum",
     "min", "max", "set_page_config", "write", "markdown", "JSONResponse", "upsert_item", "save", "dump"}
)  # fmt: skip
_GROWS = frozenset({"append", "extend", "insert", "add", "appendleft", "update", "add_message"})
# Calls of the language, which give back something that is made of what they are given.
_PLAIN = _GROWS | {
    "get", "join", "list", "tuple", "dict", "str", "reversed", "sorted", "enumerate", "zip", "map", "filter", "copy",
    "deepcopy", "format", "strip", "items", "values", "dumps", "isoformat", "replace", "split", "lower", "upper",
    "getattr",
}  # fmt: skip
_MEMORY = lazy_pattern(r"^(?:memory|model_context|conversation_manager)$")
_CHANGES = _GROWS | {"pop", "popleft", "clear", "remove", "sort", "reverse"}
_SETTINGS = frozenset(
    {"model", "system", "max_tokens", "stream", "temperature", "generationConfig", "options", "system_prompt", "tools",
     "tool_choice", "response_format", "max_completion_tokens"}
)  # fmt: skip
# Calls that run what they are given.
_RUNNERS = frozenset({"to_thread", "run_in_executor", "partial", "submit", "run_sync", "run_in_threadpool"})
_THROUGH = (
    ast.Starred, ast.List, ast.Tuple, ast.Set, ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.BoolOp, ast.Await,
    ast.keyword, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp, ast.comprehension, ast.NamedExpr,
)  # fmt: skip


class Place(NamedTuple):
    module: Module
    function: Function | None


class _Way(NamedTuple):
    """How many calls and attributes may still be passed, and the calls that led here, to come back to."""

    hops: int
    calls: tuple[tuple[ast.Call, Place], ...] = ()

    def less(self) -> _Way:
        return _Way(self.hops - 1, self.calls)


class _Next(NamedTuple):
    """An expression that holds what was cut."""

    node: ast.AST
    place: Place
    way: _Way


class Trace:
    """Follows one window; what is near is looked at first."""

    def __init__(self, modules: Modules, alone: bool = False) -> None:
        self._modules = modules
        # Of a file that stands for itself: what no call in it takes back is sent by whoever uses it.
        self._alone = alone
        self._taken = False
        self._seen: set[tuple[object, ...]] = set()
        self._todo: deque[_Next] = deque()

    def reaches(self, node: ast.AST, place: Place) -> bool:
        """Whether what is cut goes into a request."""
        cut = _cut_in_place(node)
        if cut is not None:
            # Whoever handed the list over, or has the object, sends it.
            self._taken |= self._alone and _CHAT.search(spelt(cut)) is not None and not _asks(place.module)
            self._bound(cut, node, place, _Way(_HOPS))
        else:
            self._todo.append(_Next(node, place, _Way(_HOPS)))
        for _ in range(_STEPS):
            if self._taken or not self._todo:
                return self._taken
            if self._follow(*self._todo.popleft()):
                return True
        return False

    def _follow(self, node: ast.AST, place: Place, way: _Way) -> bool:
        """Whether an expression stands in a request; where it goes on elsewhere, that is left to do."""
        above = place.module.parents(place.function)
        while (parent := above.get(id(node))) is not None:
            if isinstance(parent, ast.Call | ast.keyword):
                call = above.get(id(parent)) if isinstance(parent, ast.keyword) else parent
                if not isinstance(call, ast.Call):
                    return False
                if node is not call.func:
                    memory = isinstance(parent, ast.keyword) and _MEMORY.match(parent.arg or "")
                    if memory and asked_once(place.module, place.function, call):
                        return False
                    if self._is_sent(node, parent, call, place, way):
                        return True
                    if not self._gives_back(call, place):
                        return False
                parent = call
            elif isinstance(parent, ast.Dict):
                if any(key is node for key in parent.keys):
                    return False
                if _is_request(parent, node):
                    return True
            elif isinstance(parent, ast.Attribute):
                if parent.attr in _CHANGES:
                    return False
            elif isinstance(parent, ast.Subscript):
                if parent.value is not node or not _goes_on(parent.slice):
                    return False
            elif isinstance(parent, ast.IfExp):
                if parent.test is node:
                    return False
            elif isinstance(parent, ast.comprehension):
                if parent.iter is not node:
                    return False
            elif not isinstance(parent, _THROUGH):
                self._leave(node, parent, place, way)
                return False
            elif isinstance(parent, ast.NamedExpr):
                self._bound(parent.target, node, place, way)
            node = parent
        return False

    def _leave(self, node: ast.AST, parent: ast.AST, place: Place, way: _Way) -> None:
        """What a statement does with an expression."""
        if isinstance(parent, ast.For | ast.AsyncFor):
            if parent.iter is node:
                self._bound(parent.target, node, place, way)
        elif isinstance(parent, ast.Assign | ast.AnnAssign | ast.AugAssign):
            for target in parent.targets if isinstance(parent, ast.Assign) else [parent.target]:
                self._bound(target, node, place, way)
        elif isinstance(parent, ast.Return | ast.Yield | ast.YieldFrom):
            self._given_back(place, way)

    def _bound(self, target: ast.AST, value: ast.AST, place: Place, way: _Way) -> None:
        """What a name, an attribute or the holder of an item has from here on."""
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._bound(part, value, place, way)
        elif isinstance(target, ast.Starred | ast.Subscript):
            # `body["messages"] = …`, `messages[1:] = …`
            self._bound(target.value, value, place, way)
        elif isinstance(target, ast.Attribute):
            self._held(target.attr, place, way)
        elif isinstance(target, ast.Name):
            self._named(target.id, getattr(value, "lineno", 0), place, way)

    def _named(self, name: str, row: int, place: Place, way: _Way) -> None:
        """The places behind a row, or around it in a loop, where a name is read."""
        module, function = place
        if self._is_known(module.name, id(function), name, *(id(call) for call, _ in way.calls[-1:])):
            return
        cuts = cut_again(module, function, name, row)
        for inside, use in module.uses(function, name):
            if any(first < use.lineno <= last for first, last in cuts):
                continue
            if inside is function and use.lineno < row and not module.in_same_loop(inside, use.lineno, row):
                continue
            self._todo.append(_Next(use, Place(module, inside), way))

    def _held(self, attribute: str, place: Place, way: _Way) -> None:
        if not way.hops or self._is_known("attribute", attribute):
            return
        self._taken |= self._alone and _CHAT.search(attribute) is not None and not _asks(place.module)
        for module in self._modules.spelling(attribute, place.module):
            left = _Way(way.hops - (module is not place.module))
            for inside, node in module.reads(attribute):
                self._todo.append(_Next(node, Place(module, inside), left))

    def _given_back(self, place: Place, way: _Way) -> None:
        """Back to the call that led here, or to all calls of the function."""
        function = place.function
        if function is None or not way.hops:
            return
        call, home = way.calls[-1] if way.calls else (None, place)
        if call is not None and spelt(_run_by(call)[0]) != function.name:
            call = None
        if self._is_known("returned", place.module.name, id(function), id(call)):
            return
        if call is not None:
            # Into a helper and back is no way of its own.
            self._todo.append(_Next(call, home, _Way(way.hops + 1, way.calls[:-1])))
            return
        used = False
        for module in self._modules.spelling(function.name, place.module):
            for inside, node, parent in module.mentions(function.name):
                used = True
                where = Place(module, inside)
                if isinstance(parent, ast.Call) and parent.func is node:
                    self._todo.append(_Next(parent, where, way.less()))
                elif isinstance(parent, ast.keyword) or _is_property(function):
                    # `prompt=build_prompt`: whoever is given it calls it.
                    self._todo.append(_Next(node, where, way.less()))
        self._taken |= self._alone and not used

    def _is_sent(self, node: ast.AST, parent: ast.AST, call: ast.Call, place: Place, way: _Way) -> bool:
        """Whether a call sends what it is given. Where it goes into a function of the project, that is left to do."""
        word = (parent.arg or "**") if isinstance(parent, ast.keyword) else ""
        func, args = _run_by(call)
        name = spelt(func)
        if name in _LOOKS:
            return False
        if name in _GROWS and isinstance(func, ast.Attribute):
            self._bound(func.value, node, place, way)
        if name in _PLAIN:
            return False
        if (name == "apply_chat_template" or is_recomputed(call)) and recomputes(place.module):
            return False
        as_messages = not word or word == "**" or _SENT_AS.search(word) is not None
        if as_messages and (_is_client(func) or _has_settings(call, word)):
            return True
        known = list(self._modules.defining(name, place.module))
        for module, function in known if way.hops else ():
            for parameter in _parameters(function, args, node, word):
                self._named(parameter, 0, Place(module, function), _Way(way.hops - 1, (*way.calls, (call, place))))
        if known:
            return False
        # An agent or a chain of a library reads its memory for each request.
        if _MEMORY.match(word) or (_CHAT.search(word) and _RUNS.search(name)):
            return True
        return as_messages and _ASKS.search(name) is not None

    def _gives_back(self, call: ast.Call, place: Place) -> bool:
        """Whether the result of a call is made of what it is given, as far as nothing else is seen to be."""
        name = spelt(_run_by(call)[0])
        if name == "apply_chat_template":
            return True
        if name in _LOOKS or _ASKS.search(name):
            return False
        return name in _PLAIN or next(self._modules.defining(name, place.module), None) is None

    def _is_known(self, *key: object) -> bool:
        known = key in self._seen
        self._seen.add(key)
        return known


def _asks(module: Module) -> bool:
    """Whether anything in a file asks a model: an excerpt may end before that."""
    calls = (node for function in (None, *module.functions) for node in module.nodes(function))
    return any(isinstance(node, ast.Call) and _ASKS.search(called(node)) is not None for node in calls)


def _cut_in_place(node: ast.AST) -> ast.expr | None:
    """The list that is cut in place."""
    if isinstance(node, ast.Delete) and isinstance(node.targets[0], ast.Subscript):
        return node.targets[0].value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("pop", "popleft"):
        return node.func.value
    return None


def _goes_on(part: ast.expr) -> bool:
    """Whether of what is indexed more than one message goes on: not `[-1]`. `[-n:]` is a window of its own."""
    if isinstance(part, ast.Slice):
        return part.upper is not None or not isinstance(part.lower, ast.UnaryOp)
    return isinstance(part, ast.Constant) and isinstance(part.value, str)


def _is_request(display: ast.Dict, node: ast.AST) -> bool:
    """`{"model": …, "messages": …}`."""
    words = {key.value for key in display.keys if isinstance(key, ast.Constant)}
    key = next((k for k, v in zip(display.keys, display.values, strict=True) if v is node), None)
    sent = isinstance(key, ast.Constant) and key.value in ("messages", "contents", "input")
    return sent and not _SETTINGS.isdisjoint(words)


def _has_settings(call: ast.Call, word: str) -> bool:
    """`ask(messages=…, max_tokens=…)`."""
    return word in ("messages", "contents") and any(keyword.arg in _SETTINGS for keyword in call.keywords)


def _run_by(call: ast.Call) -> tuple[ast.expr, list[ast.expr]]:
    """What a call runs, and with what: `to_thread(client.create, …)` runs its argument."""
    if called(call) in _RUNNERS:
        for at, arg in enumerate(call.args[:2]):
            if isinstance(arg, ast.Attribute) or (isinstance(arg, ast.Name) and at == len(call.args[:2]) - 1):
                return arg, call.args[at + 1 :]
    return call.func, call.args


def _is_client(func: ast.expr) -> bool:
    """Whether what is called is a client's or a model's method, and none of the object itself: `llm.invoke`,
    `client.chat.completions.create`."""
    if not isinstance(func, ast.Attribute) or spelt(func.value) in ("self", "cls"):
        return False
    return func.attr in _SEND or (func.attr in _MAKES and _CLIENT.search(ast.unparse(func.value)) is not None)


def _is_property(function: Function) -> bool:
    return any(spelt(d) in ("property", "cached_property") for d in function.decorator_list)


def _parameters(function: Function, args: list[ast.expr], node: ast.AST, word: str) -> list[str]:
    """The parameters of a function that an argument may be for; of `**fields` those that are called like a chat."""
    own = function.args
    plain = [arg.arg for arg in (*own.posonlyargs, *own.args)]
    every = [*plain, *(arg.arg for arg in own.kwonlyargs)]
    if word == "**":
        return [name for name in every if _CHAT.search(name)]
    if word:
        return [word] if word in every else []
    at = next((i for i, arg in enumerate(args) if arg is node), None)
    if at is None:
        return []
    at += bool(plain) and plain[0] in ("self", "cls")
    return [plain[at]] if at < len(plain) else [own.vararg.arg] if own.vararg else []
