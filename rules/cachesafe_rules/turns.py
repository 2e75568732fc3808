"""What changes from one request of a chat to the next: by the flow analysis, by name, and by the tests of an `if`."""

from __future__ import annotations

from collections.abc import Iterable

from cachesafe_rules.changing import is_local, takes_turn
from cachesafe_rules.expressions import is_constant_name, is_history, last_part, name_words, walk, words, words_of_name
from cachesafe_rules.model import Condition, Expr
from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.shape import Request, Shape
from cachesafe_rules.volatile import volatile_in

__all__ = [
    "is_chat",
    "is_setup",
    "is_side_call",
    "is_single",
    "is_switch",
    "overflow_guarded",
    "sent_again",
    "takes_turn_text",
    "turn_test",
]

_OVERFLOW = frozenset(
    {"token", "tokens", "tok", "context", "ctx", "overflow", "exceed", "exceeds", "exceeded", "budget", "compact",
     "compaction", "chars", "bytes", "length", "capacity", "fits"}
)  # fmt: skip
_TURN = frozenset(
    {"query", "question", "utterance", "intent", "need", "needs", "needed", "want", "wants", "turn", "step",
     "iteration", "round", "latest", "topic", "difficulty", "difficult", "hard", "complex", "complexity", "simple",
     "easy", "remaining", "deep", "quick", "urgent", "requires", "sentiment"}
)  # fmt: skip
# What the user's newest text is called when it is a parameter.
_TEXTS = frozenset(
    {"text", "user_text", "prompt", "user_prompt", "message", "user_message", "msg", "user_msg", "user_input",
     "input_text", "user_query", "content", "last_message", "latest_message", "task", "user_request"}
)  # fmt: skip
_TURN_TEXT = frozenset(
    {"query", "question", "text", "utterance", "message", "prompt", "input", "msg", "task", "topic"}
)  # fmt: skip
# A message as a whole, and what a call is named that looks at its words.
_WHOLE = frozenset({"message", "msg", "input", "task"})
_OF_TEXT = frozenset(
    {"needs", "need", "should", "wants", "want", "requires", "require", "detect", "detects", "classify", "contains",
     "mentions", "matches", "match", "intent", "analyze", "analyse", "complex", "complexity", "looks", "search", "len",
     "lower", "is", "has", "estimate", "score", "text", "words"}
)  # fmt: skip
_COUNTED = frozenset({"turn", "turns", "step", "steps", "iteration", "iterations", "round", "rounds"})
# `message_count`, `n_messages`
_NUMBER = frozenset({"count", "num", "number", "n", "total", "len", "length"})
_MESSAGES = frozenset({"message", "messages", "history", "turns"})
_AGAIN = frozenset({"attempt", "attempts", "retry", "retries", "tries", "trial"})
_SETTING = lazy_pattern(r"(?:use|enabled?|with|allow|include|has|is|no|supports?|should)_|\w*_enabled$")
_WANTED = frozenset({"want", "wanted", "need", "needed"})
_WHICH = frozenset({"first", "final", "last", "next", "new", "this", "current", "cur"})
_ROUNDS = frozenset({"single", "multi", "one", "multiple", "max"})
_SETUP = ("__init__", "__post_init__", "__new__", "setup", "configure", "main", "from_config", "model_post_init")
_SETUP_STARTS = ("create_agent", "make_agent", "build_agent", "get_agent", "create_llm", "get_llm", "make_llm", "init_")
_SIDE = frozenset(
    {"title", "summary", "summarize", "summarise", "summarization", "summarizer", "summarized",
     "summarised", "classify", "classifier", "intent",
     "suggest", "suggestions", "rewrite", "extract", "extraction", "judge", "rubric", "goal", "critic", "evaluate",
     "evaluation", "eval", "compact", "compaction", "condense", "compress", "compressor", "log", "print", "format",
     "display", "render", "preview", "export", "trace", "telemetry", "record", "span", "audit", "estimate", "guard",
     "moderation", "heartbeat", "reflect", "consolidate", "name"}
)  # fmt: skip


# `generate_search_query`, `suggest_follow_ups`: written by a model from the chat, not an answer in it.
_WRITTEN = lazy_pattern(
    r"(?:^|_)(?:generate|make|create|rewrite|reformulate|write|build|formulate|optimi[sz]e|expand|suggest|propose|derive)_"
    r"(?:\w+_)?(?:quer(?:y|ies)|keywords?|follow_?ups?|suggestions?|questions|tags|topics?)(?:_|$)"
)


# `format_messages`, `render_prompt`: put together for a request; `format_messages_for_log` is not.
_BUILDS = lazy_pattern(
    r"^_*(?:format|render)_(?:\w+_)?(?:messages|prompt|request|payload|context|contents|conversation)$"
)


def is_setup(function: str) -> bool:
    """Whether code there runs once for an agent or a process: a module or class body, a constructor."""
    name = last_part(function)
    return not name or name in _SETUP or name.startswith(_SETUP_STARTS)


def is_side_call(function: str) -> bool:
    """Whether the function asks a model about a chat, and does not continue it: titles, summaries, verdicts."""
    name = last_part(function).lower()
    if _BUILDS.search(name):
        return False
    return (
        not _SIDE.isdisjoint(name.split("_"))
        or name.lstrip("_").startswith(("on_llm", "on_chat"))
        or bool(_WRITTEN.search(name))
    )


def overflow_guarded(shape: Shape, function: str, conditions: Iterable[Condition]) -> bool:
    """Whether a place is reached only when the context is nearly full, so at most once in many turns."""
    for condition in conditions:
        if (
            condition.kind in ("if", "while", "left")
            and condition.test is not None
            and _speaks_of_overflow(shape, function, condition.test)
        ):
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


def is_single(shape: Shape, request: Request) -> bool:
    """Whether a request is one question, with a system text or without: all of its messages are written down."""
    messages, function = request.messages, request.function
    if messages is None:
        return False
    written = [messages]
    if messages.kind == "name":
        bound = [item for item in shape.bindings(function, messages) if item.function == function]
        written = [item.value for item in bound if item.value is not None and item.operator == "="]
        if not written or len(written) != len(bound):
            return False
        for call in shape.mutations(function, messages):
            if last_part(call.name) not in ("append", "insert") or call.in_loop or not call.args:
                return False
            written.append(Expr("list", call.span, items=[call.args[-1]]))
    roles = []
    for found in written:
        if found.kind != "list":
            return False
        for item in found.items:
            role = shape.resolve(function, item).entries.get("role")
            roles.append(role.value if role is not None else None)
    return bool(roles) and all(role in ("system", "developer", "user") for role in roles)


def is_chat(shape: Shape, request: Request) -> bool:
    """Whether a request carries a conversation: not one question that is written down, nor a text by itself."""
    if request.partial:
        return True
    messages = request.messages
    if messages is None or is_single(shape, request):
        return False
    value = shape.resolve(request.function, messages)
    if value.kind in ("constant", "fstring"):
        return False
    return is_history(messages) or messages.kind != "name" or words_of_name(messages).isdisjoint(_TURN_TEXT)


def sent_again(shape: Shape, function: str, conditions: Iterable[Condition]) -> bool:
    """Whether a place is reached only when the answer to an earlier request of the function holds nothing."""
    tests = [(item.test, item.negated) for item in conditions if item.kind in ("if", "left") and item.test is not None]
    if not tests:
        return False
    sent = {id(request.call) for request in shape.requests if request.call is not None}
    answers: set[str] = set()
    for binding in shape.view.bindings:
        target, value = binding.target, binding.value
        if binding.function != function or target is None or value is None or not target.name:
            continue
        if any(id(part.call) in sent or part.name in answers for part in walk(value) if part.call or part.name):
            answers.add(target.name)
    return any(_is_empty(test, negated, answers) for test, negated in tests)


def _is_empty(test: Expr, negated: bool, names: set[str]) -> bool:
    """`not text`, `text.strip() == ""`, `text is None`; what stands behind `if text: return text`."""
    while test.kind == "operation" and test.name == "not" and len(test.items) == 1:
        test, negated = test.items[0], not negated
    if test.kind == "operation" and test.name in ("==", "is") and len(test.items) == 2:
        test, other = test.items
        negated = not negated and not other.value and other.kind == "constant"
    elif test.kind == "operation":
        return False
    return negated and any(
        part.name is not None and (part.name in names or part.name.partition(".")[0] in names) for part in walk(test)
    )


_PRESENCE = frozenset({"is", "is not"})


def is_switch(shape: Shape, function: str, test: Expr) -> str | None:
    """The parameter that a test asks for by itself (`if online:`), and that is no option of the whole request."""
    while test.kind == "operation" and test.name == "not":
        test = test.items[0]
    known = shape.view.functions.get(function)
    if test.kind != "name" or not test.name or not shape.is_parameter(function, test) or known is None:
        return None
    if _OPTION & name_words(test.name) or not _given_both_ways(shape, function, test.name):
        return None
    return test.name


def _given_both_ways(shape: Shape, function: str, name: str) -> bool:
    """Whether calls of this file give a parameter different constants, or something of the turn.

    Without a call: whether the function asks the model itself, and the name is not a setting's.
    """
    known = shape.view.functions[function]
    callers = shape.callers(function)
    if not callers:
        sends = any(request.function == function for request in shape.requests)
        return sends and not _SETTING.match(name)
    place = [p for p in known.parameters if p not in ("self", "cls")].index(name)
    seen: set[object] = set()
    for call in callers:
        value = call.keywords.get(name) or (call.args[place] if place < len(call.args) else None)
        if value is None:
            seen.add(None)
        elif value.kind == "constant":
            seen.add(value.value)
        elif turn_test(shape, call.function, value):
            return True
    return len(seen) > 1


_OPTION = frozenset(
    {"tools", "tool", "functions", "function", "schema", "response", "output", "stream", "streaming", "config",
     "model", "settings", "options", "kwargs", "mcp", "debug", "verbose", "params", "extra", "system", "messages",
     "format", "client", "json", "args", "parameters", "session", "context", "agent", "thinking", "type", "native",
     "strict", "toolkit", "run"}
)  # fmt: skip


def turn_test(shape: Shape, function: str, test: Expr) -> str | None:
    """What in a test depends on the turn: the question, the length of the chat, a step counter; None for settings.

    `x is None`, `isinstance` and `if prompt:` only ask whether something was given, which is the caller's setting.
    """
    # Something is looked up by an id that is made anew; that says nothing of the turn.
    found = volatile_in(shape, function, test)
    if found and not _AGAIN.isdisjoint(name_words(found.partition(",")[0])):
        # The same request once more.
        return None
    if found and "uuid" not in found and (not found.endswith("()") or _calls(shape, function, found)):
        return found.rstrip(",")
    given = {id(name) for name in _truths(test) if name.name in _TEXTS or name.name in _TURN_TEXT}
    stack = [(test, 3)]
    while stack:
        expr, depth = stack.pop()
        if id(expr) in given or (expr.kind == "operation" and expr.name in _PRESENCE):
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
            if name in ("any", "all", "bool"):
                stack += [(arg, depth) for arg in expr.call.args]
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
            if found := _counted_to_end(shape, function, expr):
                return found
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


def _counted_to_end(shape: Shape, function: str, test: Expr) -> str | None:
    """`i == max_steps - 1`, `n >= limit`: a counter beside the number that it runs to."""
    if test.name not in ("==", "<", ">", "<=", ">=", "!=") or len(test.items) != 2:
        return None
    for count, end in (test.items, test.items[::-1]):
        named = count.kind == "name" and count.name in ("i", "n", "k", "it", "idx", "index", "count")
        words_of_end = {
            word for part in walk(end) if part.kind in ("name", "attribute") for word in words_of_name(part)
        }
        if (
            named
            and is_local(shape, function, count)
            and not words_of_end.isdisjoint({"max", "limit", "last", "total"})
        ):
            return count.name
    return None


def _truths(test: Expr) -> list[Expr]:
    """The names whose truth a test asks for."""
    if test.kind == "operation" and test.name in ("and", "or", "not"):
        return [name for item in test.items for name in _truths(item)]
    return [test] if test.kind == "name" else []


def _calls(shape: Shape, function: str, spelt: str) -> bool:
    """Whether a function makes a call itself: what was made elsewhere decides about other things as well."""
    return any(call.function == function and f"{call.name}()" == spelt for call in shape.view.calls)


def takes_turn_text(shape: Shape, function: str, expr: Expr) -> bool:
    """Whether a call is asked about the newest question: `needs_search(query)`. What is asked of a whole message may
    be whose it is or where it was written, unless the call is named for what it says."""
    call = expr.call
    if call is None:
        return False
    texts = _TURN_TEXT if not _OF_TEXT.isdisjoint(name_words(last_part(call.name))) else _TURN_TEXT - _WHOLE
    return any(
        arg.kind == "name" and not words_of_name(arg).isdisjoint(texts) and is_local(shape, function, arg)
        for arg in call.args
    )


def _turn_name(shape: Shape, function: str, expr: Expr) -> str | None:
    named = words_of_name(expr)
    if expr.kind == "name":
        if is_history(expr):
            return None
        if _ROUNDS & named:
            # `single_turn`: how a run is meant, not how far it has come.
            return None
        if (expr.name or "").endswith("_turn") and named.isdisjoint(_WHICH):
            # `channel_turn`: a kind of turn, which all turns of a chat are or are not.
            return None
        if expr.name in _WANTED:
            # What is looked for in a list, maybe a model's own name.
            return None
        counted = not _NUMBER.isdisjoint(named) and not _MESSAGES.isdisjoint(named)
        if is_local(shape, function, expr) and (counted or not _TURN.isdisjoint(named) or expr.name in _TEXTS):
            return expr.name
    elif expr.kind == "subscript":
        key = expr.items[1].value
        if (
            isinstance(key, str)
            and expr.items[0].kind in ("name", "attribute")
            and not _TURN.isdisjoint(name_words(key))
        ):
            return f"{expr.items[0].name}[{key!r}]"
    elif expr.kind == "attribute" and (expr.name or "").startswith(("turn.", "step.")):
        root = Expr("name", expr.span, name=(expr.name or "").partition(".")[0])
        return expr.name if is_local(shape, function, root) else None
    elif expr.kind == "attribute" and not _COUNTED.isdisjoint(named) and "max" not in named:
        return expr.name
    return None
