"""Which names of a file hold the newest question: what its requests send as the user's text, and what its helpers are
given of that."""

from __future__ import annotations

from cachesafe_rules.assembled import role_and_content
from cachesafe_rules.expressions import is_constant_name, is_history, last_part, name_words, walk, words_of_name
from cachesafe_rules.model import Expr
from cachesafe_rules.shape import Shape

__all__ = ["holds_question", "is_asked", "made_of"]

_NAMED = frozenset({"query", "question", "utterance"})
# What such a name says as a whole; of several in one text only these count.
_TEXTS = frozenset(
    {"text", "user_text", "prompt", "user_prompt", "message", "user_message", "msg", "user_msg", "user_input",
     "input_text", "request", "user_request", "q", "ask", "asked"}
)  # fmt: skip
# Words of calls that find something for a text.
_FINDS = frozenset(
    {"retrieve", "retrieved", "retriever", "search", "similar", "similarity", "relevant", "nearest", "closest", "rank",
     "rerank", "select", "lookup", "recall", "knn", "find", "fetch", "query", "top", "best", "match", "matching",
     "matches", "neighbors", "neighbours", "excerpts", "passages", "chunks", "index", "store", "vectorstore", "corpus"}
)  # fmt: skip
_ROUNDS = 3
_MOST = 200


def is_asked(shape: Shape, function: str, expr: Expr) -> bool:
    """Whether an expression is the newest question, or this in a list or with a method called on it."""
    if expr.kind in ("list", "tuple", "star", "fstring"):
        return any(is_asked(shape, function, item) for item in expr.items)
    if expr.call is not None:
        call = expr.call
        # `question.strip()`, `embed(question)`
        inner = [*call.args, *([call.receiver] if call.receiver is not None else [])]
        return any(is_asked(shape, function, item) for item in inner)
    if expr.kind in ("attribute", "subscript") and any(_is_newest(part) for part in walk(expr)):
        return True
    if expr.kind not in ("name", "attribute") or is_constant_name(expr):
        return False
    if expr.kind == "name" and (function, expr.name or "") in _questions(shape):
        return True
    if not (shape.is_parameter(function, expr) or expr.kind == "attribute"):
        value = shape.resolve(function, expr, 1)
        return value is not expr and value.kind != "constant" and is_asked(shape, function, value)
    return bool(function) and not _NAMED.isdisjoint(words_of_name(expr)) and len(words_of_name(expr)) < 3


def _is_newest(expr: Expr) -> bool:
    """`messages[-1]`."""
    if expr.kind != "subscript" or not is_history(expr.items[0]):
        return False
    index = expr.items[1]
    minus = index.kind == "operation" and index.name == "-" and len(index.items) == 1 and index.items[0].value == 1
    return minus or bool(index.value == -1)


def holds_question(shape: Shape, function: str, expr: Expr) -> str | None:
    """The call that finds something for the newest question, or whose results are gone through one by one."""
    call = expr.call
    if call is not None and not _FINDS.isdisjoint(_verbs(call.name)):
        given = (*call.args, *call.keywords.values())
        return f"{call.name}()" if any(is_asked(shape, function, arg) for arg in given) else None
    if expr.kind == "comprehension":
        source = shape.resolve(function, expr.generators[0].iterable)
        if source.call is not None and any(is_asked(shape, function, arg) for arg in source.call.args):
            return f"{source.call.name}()"
    return None


def _verbs(name: str) -> set[str]:
    """The words of a name; `asearch` is a search."""
    words = name_words(name)
    return words | {word[1:] for word in words if word.startswith("a")}


def made_of(shape: Shape, function: str, values: list[Expr]) -> set[str]:
    """The names of a function that go into expressions, those included that loops and `append` bring in."""
    seen: set[str] = set()
    stack = list(values)
    while stack and len(seen) < _MOST:
        for part in walk(stack.pop()):
            if part.kind not in ("name", "attribute") or not part.name:
                continue
            for name in {part.name, part.name.partition(".")[0]} - seen:
                seen.add(name)
                root = Expr("name", part.span, name=name)
                stack += [b.value for b in shape.bindings(function, root) if b.value is not None and b.function]
                stack += [arg for call in shape.mutations(function, root) for arg in call.args]
    return seen


def _questions(shape: Shape) -> set[tuple[str, str]]:
    known = shape.view.memo.get("questions")
    if isinstance(known, set):
        return known
    found: set[tuple[str, str]] = set()
    # Asked below by way of `is_asked`, so it must be there before it is complete.
    shape.view.memo["questions"] = found
    for display in shape.view.dicts:
        role, content = role_and_content(display.expr)
        if role == "user" and content is not None:
            _add(shape, display.function, content, found)
    for call in shape.view.calls:
        role, content = role_and_content(Expr("call", call.span, call=call))
        if role == "user" and content is not None and last_part(call.name).endswith(("Message", "Content")):
            _add(shape, call.function, content, found)
    for request in shape.requests:
        if "input" in request.fields and ({"instructions", "model"} & request.fields.keys()):
            _add(shape, request.function, request.fields["input"], found)
    for _ in range(_ROUNDS):
        before = len(found)
        for call in shape.view.calls:
            local = shape.local_function(call, call.function)
            if not local:
                continue
            places = [name for name in shape.view.functions[local].parameters if name not in ("self", "cls")]
            for name, value in (*zip(places, call.args, strict=False), *call.keywords.items()):
                if value.kind == "name" and (call.function, value.name or "") in found:
                    found.add((local, name))
        if len(found) == before:
            break
    return found


def _add(shape: Shape, function: str, content: Expr, found: set[tuple[str, str]]) -> None:
    """A parameter that is the user's text, by itself or in a text with others."""
    if content.kind == "name":
        if shape.is_parameter(function, content) or any(b.operator == "for" for b in shape.bindings(function, content)):
            found.add((function, content.name or ""))
        return
    parts = content.items if content.kind in ("fstring", "list", "operation") else []
    told = [part for part in parts if part.kind != "constant"]
    if content.kind == "fstring" and len(told) == 1 and told[0].kind == "name":
        # `f"Write the briefing on {topic}."`
        _add(shape, function, told[0], found)
    for part in parts:
        inner = part.entries.get("text", part)
        named = inner.kind == "name" and (inner.name in _TEXTS or not _NAMED.isdisjoint(words_of_name(inner)))
        if (named or inner is not part) and inner.kind == "name" and shape.is_parameter(function, inner):
            found.add((function, inner.name or ""))
