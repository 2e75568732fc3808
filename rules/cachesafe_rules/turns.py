"""What changes from one request of a chat to the next: by the flow analysis, by name, and by the tests of an `if`."""

from __future__ import annotations

from collections.abc import Iterable

from cachesafe_rules.expressions import is_constant_name, is_history, last_part, name_words, parts_of, walk, words
from cachesafe_rules.model import Condition, Expr
from cachesafe_rules.shape import Shape

__all__ = ["changing_value", "is_setup", "is_side_call", "overflow_guarded", "turn_test", "volatile"]

# Kinds of sources that differ between two requests of one chat (the others differ between users, hosts or days).
_VOLATILE = frozenset({"clock", "random", "temp", "state", "repr"})
_LONG = frozenset({"day", "month", "year", "user", "process", "host", "session"})
_OVERFLOW = frozenset(
    {"token", "tokens", "tok", "context", "ctx", "overflow", "exceed", "exceeds", "exceeded", "budget", "compact",
     "compaction", "chars", "bytes", "size", "length", "capacity", "fits", "full", "window", "near", "needs"}
)  # fmt: skip
_TURN = frozenset(
    {"query", "question", "prompt", "text", "utterance", "intent", "need", "needs", "needed", "want", "wants", "turn",
     "step", "iteration", "round", "history", "messages", "message", "msg", "latest", "docs", "task", "topic",
     "difficulty", "difficult", "hard", "complex", "complexity", "simple", "easy", "short", "long", "route", "input",
     "remaining", "deep", "quick", "urgent", "requires", "sentiment"}
)  # fmt: skip
_COUNTED = frozenset({"turn", "turns", "step", "steps", "iteration", "iterations", "round", "rounds"})
_CHANGING = frozenset(
    {"docs", "documents", "document", "retrieved", "passages", "passage", "chunks", "snippets", "query", "question",
     "step", "iteration", "remaining", "screenshot", "rag", "retrieval", "hits", "citations", "page"}
)  # fmt: skip
_SELECTING = frozenset(
    {"retrieve", "retrieved", "search", "similar", "relevant", "nearest", "rank", "rerank", "select", "lookup", "recall", "knn",
     "similarity", "retriever", "few"}
)  # fmt: skip
_SETUP = ("__init__", "__post_init__", "__new__", "setup", "configure", "main", "from_config", "model_post_init")
_SETUP_STARTS = ("create_agent", "make_agent", "build_agent", "get_agent", "create_llm", "get_llm", "make_llm", "init_")
_SIDE = frozenset(
    {"title", "summary", "summarize", "summarise", "summarization", "summarizer", "classify", "classifier", "intent",
     "suggest", "suggestions", "rewrite", "extract", "extraction", "judge", "rubric", "goal", "critic", "evaluate",
     "evaluation", "eval", "compact", "compaction", "condense", "compress", "compressor", "log", "print", "format",
     "display", "render", "preview", "export", "guard", "moderation", "heartbeat", "reflect", "consolidate", "name"}
)  # fmt: skip


def is_setup(function: str) -> bool:
    """Whether code there runs once for an agent or a process: a module or class body, a constructor."""
    name = last_part(function)
    return not name or name in _SETUP or name.startswith(_SETUP_STARTS)


def is_side_call(function: str) -> bool:
    """Whether the function asks a model about a chat, and does not continue it: titles, summaries, verdicts."""
    return not _SIDE.isdisjoint(last_part(function).lower().split("_"))


def overflow_guarded(shape: Shape, function: str, conditions: Iterable[Condition]) -> bool:
    """Whether a place is reached only when the context is nearly full, so at most once in many turns."""
    for condition in conditions:
        if condition.kind in ("if", "while") and condition.test is not None:
            if _speaks_of_overflow(shape, function, condition.test):
                return True
        if condition.kind == "except":
            return True
    return False


def _speaks_of_overflow(shape: Shape, function: str, test: Expr) -> bool:
    exprs = [test]
    for part in walk(test):
        if part.kind == "name":
            exprs += [binding.value for binding in shape.bindings(function, part)[:4] if binding.value is not None]
    return not _OVERFLOW.isdisjoint(words(*exprs))


def volatile(*exprs: Expr | None) -> str | None:
    """How the flow analysis spells a source in the expressions that differs between two requests of a chat."""
    for root in exprs:
        for expr in walk(root) if root is not None else ():
            for taint in expr.taints:
                source = taint.source
                if source.kind in _VOLATILE and not source.frozen and source.granularity not in _LONG:
                    return source.api
    return None


def volatile_in(shape: Shape, function: str, expr: Expr | None) -> str | None:
    """The same, with names looked up in their function."""
    if expr is None:
        return None
    found = volatile(expr)
    if found is None:
        for part in walk(expr):
            if part.kind in ("name", "attribute"):
                value = shape.resolve(function, part)
                if value is not part and (found := volatile(value)):
                    break
    return found


def changing_value(shape: Shape, function: str, expr: Expr) -> str | None:
    """What in a text changes with every turn, as spelt; None where nothing is known to.

    Known are volatile sources, and what is named like retrieved text, the question or a step counter and is not a
    constant of the module.
    """
    if found := volatile_in(shape, function, expr):
        return f"{found}()"
    for part in parts_of(expr):
        if found := _changing_part(shape, function, part):
            return found
    return None


def _changing_part(shape: Shape, function: str, part: Expr) -> str | None:
    value = shape.resolve(function, part)
    if value is not part and (value.kind in ("fstring", "operation", "conditional") or value.call is not None):
        inner = parts_of(value)
        for piece in inner if inner != [value] else []:
            if found := _changing_part(shape, function, piece):
                return found
    if part.kind == "conditional" or (part.kind == "operation" and part.name == "or"):
        return next((found for item in part.items if (found := _changing_part(shape, function, item))), None)
    if value.call is not None and not _SELECTING.isdisjoint(name_words(last_part(value.call.name))):
        if any(takes_turn(shape, function, arg) for arg in (*value.call.args, *value.call.keywords.values())):
            return f"{value.call.name}()"
    if part.call is not None:
        for inner_part in (*part.call.args, *part.call.keywords.values()):
            if inner_part.kind in ("name", "attribute", "comprehension", "call"):
                if found := _changing_part(shape, function, inner_part):
                    return found
        return None
    if part.kind == "comprehension":
        return _changing_part(shape, function, part.generators[0].iterable)
    if part.kind not in ("name", "attribute") or is_constant_name(part) or value.kind == "constant":
        return None
    if not _CHANGING.isdisjoint(words_of_name(part)) and _is_local(shape, function, part):
        return part.name
    return None


def words_of_name(expr: Expr) -> set[str]:
    """The words of the last part of a name."""
    return name_words(last_part(expr.name))


def takes_turn(shape: Shape, function: str, expr: Expr) -> bool:
    """Whether an argument is the newest question: a parameter or local called like one."""
    return any(
        part.kind in ("name", "attribute", "subscript")
        and not is_constant_name(part)
        and (is_history(part) or not words_of_name(part).isdisjoint(_TURN_TEXT))
        for part in walk(expr)
    )


_TURN_TEXT = frozenset({"query", "question", "text", "utterance", "message", "prompt", "input", "msg", "task", "topic"})


def _is_local(shape: Shape, function: str, expr: Expr) -> bool:
    """Whether a name is a parameter or is given its value inside the function (not a module's constant)."""
    if not function:
        return False
    if expr.kind == "attribute":
        return True
    return shape.is_parameter(function, expr) or any(item.function for item in shape.bindings(function, expr))


_PRESENCE = frozenset({"is", "is not"})


def turn_test(shape: Shape, function: str, test: Expr) -> str | None:
    """What in a test depends on the turn: the question, the length of the chat, a step counter; None for settings.

    `x is None` and `isinstance` only ask whether something was given, which is the caller's setting.
    """
    if found := volatile_in(shape, function, test):
        return f"{found}()"
    stack = [(test, 3)]
    while stack:
        expr, depth = stack.pop()
        if expr.kind == "operation" and expr.name in _PRESENCE:
            continue
        if expr.call is not None:
            name = last_part(expr.call.name)
            if name in ("isinstance", "hasattr", "callable", "issubclass", "getattr"):
                continue
            if name == "len" and expr.call.args:
                inner = expr.call.args[0]
                if is_history(inner) or takes_turn(shape, function, inner):
                    return f"len({inner.name or '…'})"
                continue
            if takes_turn_text(shape, function, expr):
                return f"{expr.call.name}()"
            receiver = expr.call.receiver
            if receiver is not None and name in (
                "lower",
                "startswith",
                "endswith",
                "strip",
                "split",
                "count",
                "casefold",
            ):
                stack.append((receiver, depth))
            continue
        if expr.kind == "operation":
            stack += [(item, depth) for item in expr.items]
            continue
        if expr.kind == "comprehension":
            stack += [(expr.items[0], depth), *((part.iterable, depth) for part in expr.generators)]
            continue
        if expr.kind in ("name", "attribute", "subscript") and not is_constant_name(expr):
            value = shape.resolve(function, expr, 1) if depth else expr
            if value is not expr and value.kind != "constant":
                stack.append((value, depth - 1))
            if found := _turn_name(shape, function, expr):
                return found
    return None


def takes_turn_text(shape: Shape, function: str, expr: Expr) -> bool:
    """Whether a call is asked about the newest question: `needs_search(query)`."""
    call = expr.call
    return call is not None and any(
        arg.kind == "name" and not words_of_name(arg).isdisjoint(_TURN_TEXT) and _is_local(shape, function, arg)
        for arg in call.args
    )


def _turn_name(shape: Shape, function: str, expr: Expr) -> str | None:
    name_words = words_of_name(expr)
    if expr.kind == "name":
        if is_history(expr):
            return None
        if _is_local(shape, function, expr) and not _TURN.isdisjoint(name_words):
            return expr.name
    elif expr.kind == "attribute" and not _COUNTED.isdisjoint(name_words) and "max" not in name_words:
        return expr.name
    return None
