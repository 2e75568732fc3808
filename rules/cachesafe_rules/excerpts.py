"""What a short file hands back. In an excerpt that ends before the request, what its functions give back, and the chat
that they change in place, is what will be sent.

Whether another file takes it in is not seen here: reports that rest on this alone say so in their data, and are made
where the file is complete as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cachesafe_rules.expressions import is_history, last_part, name_words, walk
from cachesafe_rules.model import Call, Condition, Expr, ModuleView, Span
from cachesafe_rules.needles import SHORT_FILE
from cachesafe_rules.patterns import lazy_pattern

if TYPE_CHECKING:
    from cachesafe_rules.shape import Shape

__all__ = ["OF_MESSAGE", "ends_before_request", "handed_chats", "handed_fields", "is_excerpt"]

# What a function is called that works on what is sent, where nothing else in the file speaks of messages.
_CUTS = frozenset(
    {"trim", "window", "truncate", "prune", "build", "prepare", "compact", "shrink", "clip", "assemble", "compose",
     "fit", "keep", "limit", "drop", "slide", "shorten"}
)  # fmt: skip
# What shows, keeps or counts messages.
_LOOKS = lazy_pattern(
    r"(?:^|_)(?:log|print|show|preview|display|export|dump|save|store|count|title|tail|last|latest|recent|find|search|"
    r"test|assert|replay|stats|metrics|digest|hash|key|view|ui|audit|trace|debug|filter)(?:_|$)"
)
# What messages of a window or a log are called with.
_SCREEN = lazy_pattern(
    r"draw|render|panel|view|widget|screen|(?:^|[._])(?:ui|log|print|emit|notify|show|display)|toast|banner|event|queue",
    re.IGNORECASE,
)
_EDITS = frozenset({"insert", "appendleft", "pop", "popleft", "remove", "clear", "reverse", "append", "extend"})
_FIELDS = frozenset(
    {"messages", "tools", "functions", "system", "model", "reasoning_effort", "reasoning", "thinking", "tool_choice",
     "instructions", "system_instruction", "prompt_cache_key", "contents", "input", "effort", "output_config",
     "parallel_tool_calls"}
)  # fmt: skip

_NONE = Expr("constant", Span("", 0, 0, 0, 0))
_OPTIONS = frozenset(
    {"max_tokens", "temperature", "stream", "top_p", "metadata", "user", "stop", "cache_control", "betas", "store",
     "response_format", "max_output_tokens", "max_completion_tokens", "extra_body", "config", "n", "seed",
     "previous_response_id", "service_tier", "toolConfig", "modelId", "top_k", "prompt"}
)  # fmt: skip
# Methods that are given the messages without a name.
_INVOKES = frozenset({"invoke", "ainvoke", "astream", "chat", "achat", "stream_chat", "generate", "agenerate"})
OF_MESSAGE = frozenset({"role", "content", "tool_calls", "tool_call_id"})
_Root = tuple[Expr, str, Span, tuple[Condition, ...]]


def is_excerpt(view: ModuleView) -> bool:
    """Whether a file is short enough to be one."""
    return 0 < view.rows <= SHORT_FILE


def ends_before_request(shape: Shape) -> bool:
    """Whether nothing in an excerpt asks a model: where a request is seen, so is what changes between two of them."""
    if not is_excerpt(shape.view) or any(request.call is not None for request in shape.requests):
        return False
    return not any(call.args and last_part(call.name) in _INVOKES for call in shape.view.calls)


def handed_chats(shape: Shape) -> Iterator[_Root]:
    """Message lists that an excerpt gives back, and those that it changes for whoever holds them."""
    view = shape.view
    if not ends_before_request(shape):
        return
    speaks = _speaks_of_messages(view)
    for binding in view.bindings:
        value, function = binding.value, binding.function
        if binding.operator not in ("return", "yield") or value is None or not _is_for_request(function, speaks):
            continue
        # `{"messages": messages}` as the new state of a graph.
        value = next((value.entries[key] for key in ("messages", "contents", "input") if key in value.entries), value)
        whole = _is_list(shape, function, value)
        parts = shape.flow(value, function, binding.span, binding.conditions) if whole else ()
        if any(is_history(part.expr) for part in parts):
            yield value, function, binding.span, binding.conditions
    if speaks:
        yield from _changed(view)


def _is_for_request(function: str, speaks: bool) -> bool:
    """Whether a function by its name works on what is sent: it does not look at, keep or show it."""
    name = last_part(function)
    cuts = not _CUTS.isdisjoint(name_words(name))
    return cuts or (speaks and not _LOOKS.search(name))


def _is_list(shape: Shape, function: str, value: Expr) -> bool:
    """Whether a value is a list of messages and not something that is made of them."""
    value = shape.resolve(function, value)
    if value.kind in ("name", "attribute", "list", "conditional"):
        return True
    if value.kind == "operation":
        return value.name in ("+", "or")
    if value.kind == "comprehension":
        return value.name == "list"
    if value.kind == "subscript":
        return value.items[1].kind == "slice"
    return value.call is not None and last_part(value.call.name) in ("list", "deepcopy", "copy")


def _changed(view: ModuleView) -> Iterator[_Root]:
    """The chats that a function changes in place: its parameters and the attributes of its object."""
    for call in view.calls:
        receiver = call.receiver
        if receiver is not None and last_part(call.name) in _EDITS and _is_held(view, call.function, receiver):
            yield receiver, call.function, call.span, call.conditions
    for binding in view.bindings:
        target = binding.target
        while target is not None and target.kind in ("subscript", "attribute") and not is_history(target):
            target = target.items[0] if target.items else None
        if target is None or not _is_held(view, binding.function, target) or binding.operator in ("for", "with"):
            continue
        if target is not binding.target or target.kind == "attribute":
            yield target, binding.function, binding.span, binding.conditions


def _is_held(view: ModuleView, function: str, expr: Expr) -> bool:
    """Whether a chat outlives the function that changes it."""
    known = view.functions.get(function)
    if not is_history(expr) or known is None:
        return False
    return expr.kind == "attribute" or (expr.kind == "name" and expr.name in known.parameters)


def _speaks_of_messages(view: ModuleView) -> bool:
    """Whether anything in a file is a message of a chat, and not of a log or a queue."""
    if view.lists or any("role" in display.expr.entries for display in view.dicts):
        return True
    roots = [expr for b in view.bindings for expr in (b.target, b.value) if expr is not None]
    around = [*(b.conditions for b in view.bindings), *(call.conditions for call in view.calls)]
    roots += [c.test for conditions in around for c in conditions if c.test is not None]
    roots += [arg for call in view.calls for arg in (*call.args, *call.keywords.values())]
    names = [*view.functions, *(call.name for call in view.calls)]
    if any(_is_kept_chat(call) for call in view.calls) and not any(_SCREEN.search(name) for name in names):
        return True
    return any(_is_of_message(part) for root in roots for part in walk(root)) or any(
        last_part(call.name).endswith("Message") or OF_MESSAGE.intersection(call.keywords) for call in view.calls
    )


def _is_kept_chat(call: Call) -> bool:
    """`self.messages.append(message)`"""
    receiver = call.receiver
    named = receiver is not None and (receiver.name or "").startswith("self.") and is_history(receiver)
    return named and last_part(call.name) in ("append", "extend") and "log" not in name_words(call.function)


def _is_of_message(expr: Expr) -> bool:
    """`m["role"]`, `m.content`, `m.get("content")`."""
    if expr.kind == "subscript":
        return expr.items[1].value in OF_MESSAGE
    if expr.kind == "attribute":
        return last_part(expr.name) in OF_MESSAGE
    call = expr.call
    return call is not None and last_part(call.name) == "get" and any(a.value in OF_MESSAGE for a in call.args[:1])


def handed_fields(shape: Shape) -> Iterator[tuple[dict[str, Expr], str, Span, tuple[Condition, ...]]]:
    """Parts of a request whose messages stand elsewhere: `{**body, "tools": tools}`, `body["tools"] = …`."""
    view = shape.view
    if not is_excerpt(view):
        return
    returned = {b.value.span for b in view.bindings if b.operator == "return" and b.value is not None}
    for display in view.dicts:
        entries = display.expr.entries
        given = {name: entries[name] for name in entries.keys() & _FIELDS}
        # `**body` is an item without a key.
        merged = bool(display.expr.items)
        known = entries.keys() <= _FIELDS | _OPTIONS
        whole = merged or (known and (len(given) > 1 or display.expr.span in returned))
        if given and "messages" not in given and whole and "role" not in entries:
            yield given, display.function, display.expr.span, display.conditions
    for binding in view.bindings:
        target, value = binding.target, binding.value
        if target is None or value is None or target.kind != "subscript" or not binding.function:
            continue
        key = target.items[1].value
        if key in _FIELDS and key != "messages" and target.items[0].kind in ("name", "attribute"):
            yield {str(key): value}, binding.function, binding.span, binding.conditions
    for binding in view.bindings:
        # `def tools_for(turn): … return tools`
        name = last_part(binding.function)
        listed = binding.operator == "return" and binding.value is not None and "tools" in name_words(name)
        if listed and binding.value is not None and not _LOOKS.search(name):
            value = binding.value
            for condition in binding.conditions:
                # Of several results one is sent: each stands under its tests.
                if condition.test is not None and condition.kind in ("if", "left"):
                    value = Expr("conditional", value.span, items=[condition.test, value, _NONE])
            yield {"tools": value}, binding.function, binding.span, ()
