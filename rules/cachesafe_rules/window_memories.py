"""Windows that a library or a store makes: memories with a size, and readers with a limit."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.expressions import last_part, name_words
from cachesafe_rules.model import Call, Span
from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.shape import Shape

__all__ = ["configured", "reads_last"]

# Memory classes that keep the last k messages, by the keyword that says how many.
_WINDOWS = {
    "ConversationBufferWindowMemory": "k",
    "BufferedChatCompletionContext": "buffer_size",
    "SlidingWindowConversationManager": "window_size",
}
# What gives the messages of such a memory, cut to the window.
_READS = lazy_pattern(r"a?(?:get|get_messages|load_memory_variables|apply_management)$")
# What is chosen for its meaning is another set with each question, and no end of anything.
_CHOSEN = frozenset({"query", "relevant", "related", "similar", "similarity", "search", "semantic", "matching"})
_LIMITS = ("limit", "last_n", "last", "k", "n", "max_messages", "window", "window_size", "num_messages")


def configured(shape: Shape) -> Iterator[tuple[Span, str]]:
    """Memories that keep the last messages and are read or handed on: the call that makes each, and how it is told."""
    for call in shape.view.calls:
        word = _WINDOWS.get(last_part(call.name))
        if word is not None and (word in call.keywords or call.args) and _is_used(shape, call):
            yield call.span, f"{last_part(call.name)}({word}=…)"


def _is_used(shape: Shape, made: Call) -> bool:
    """Whether a memory is handed to somebody or read, and not only filled and saved, which gives all of it."""
    names = {
        (shape.home(item.function, item.target.name), item.target.name)
        for item in shape.view.bindings
        if item.target is not None and item.target.name and item.value is not None and item.value.span == made.span
    }
    if not names:
        return True
    uses = [(call.function, arg) for call in shape.view.calls for arg in (*call.args, *call.keywords.values())]
    uses += [(item.function, item.value) for item in shape.view.bindings if item.operator == "return" and item.value]
    if any(expr.name and (shape.home(function, expr.name), expr.name) in names for function, expr in uses):
        return True
    asked = [(call.function, *call.name.rpartition(".")[::2]) for call in shape.view.calls]
    return any((shape.home(function, root), root) in names and _READS.match(method) for function, root, method in asked)


def reads_last(call: Call) -> bool:
    """`store.get_history(chat_id, limit=20)`."""
    words = name_words(last_part(call.name))
    kept = bool({"history", "messages", "turns"} & words) or (
        "items" in words and "session" in name_words(call.name.rpartition(".")[0])
    )
    if not kept or _CHOSEN & words:
        return False
    limit = next((call.keywords[word] for word in _LIMITS if word in call.keywords), None)
    return limit is not None and not (limit.kind == "constant" and limit.value is None)
