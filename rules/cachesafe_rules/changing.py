"""Which parts of a text change with every turn: what the flow analysis knows, and what its name says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import Formatter

from cachesafe_rules.expressions import (
    constant_text,
    is_constant_name,
    is_history,
    last_part,
    name_words,
    parts_of,
    walk,
    words_of_name,
)
from cachesafe_rules.model import Call, Expr
from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.questions import holds_question, made_of
from cachesafe_rules.shape import Shape
from cachesafe_rules.volatile import volatile_in

__all__ = ["changing_value", "is_local", "pieces_of", "takes_turn"]

# Names of retrieved text, of the question, and of counters.
_CHANGING = frozenset(
    {"docs", "documents", "retrieved", "passages", "passage", "chunks", "snippets", "query", "question", "step",
     "iteration", "remaining", "screenshot", "rag", "retrieval", "hits", "citations", "page", "turn", "round",
     "attempt", "progress", "elapsed", "observation", "observations", "obs"}
)  # fmt: skip
# Words that make another thing of such a name: `max_steps`, `page_size`, `docs_url`.
_FIXED = frozenset(
    {"max", "min", "size", "url", "path", "type", "name", "id", "template", "prompt", "instruction", "instructions",
     "rules", "schema", "limit", "total", "format", "guide", "description", "dir", "file", "class", "cls", "language"}
)  # fmt: skip
# Last words of names for what somebody set once.
_SETTINGS = frozenset(
    {"guidance", "guidelines", "persona", "style", "mode", "policy", "policies", "preferences", "preference", "setting",
     "settings", "config", "options", "option", "strategy", "tone", "kind", "goal", "role", "profile", "label",
     "header", "prefix", "suffix", "hint", "hints", "criteria", "constraints", "requirements", "enabled", "flag"}
)  # fmt: skip
_ALL = frozenset({"full", "all", "pinned", "static", "fixed", "reference"})
# Names that mean retrieved text or state only as a whole.
_WHOLE = frozenset({"context", "state", "knowledge", "evidence", "search_results", "relevant_context", "context_str"})
# What writes all that it gets into a text, and methods of texts.
_WRITES = frozenset({"format", "join", "str", "dedent", "indent", "dumps", "render", "strip", "replace", "cleandoc"})
_OF_TEXT = frozenset({"strip", "format", "replace", "split", "lower", "join", "splitlines", "rstrip", "lstrip", "copy"})
# Objects whose fields are the state of the turn.
_PAGE = frozenset({"page", "screen", "observation"})
_SELECTING = frozenset(
    {"retrieve", "retrieved", "search", "similar", "relevant", "nearest", "rank", "rerank", "select", "lookup",
     "recall", "knn", "similarity", "retriever"}
)  # fmt: skip
_TURN_TEXT = frozenset(
    {"query", "question", "text", "utterance", "message", "prompt", "input", "msg", "task", "topic"}
)  # fmt: skip
# Words right in front of a number that counts up or down.
_COUNTER = lazy_pattern(
    r"\b(?:step|turn|round|iteration|attempt|tokens left|remaining(?: tokens)?|messages so far|budget left)\W{0,3}$",
    re.I,
)
# Calls of `replace` in a row that are followed.
_CHAIN = 20
_COUNTED = lazy_pattern(r"^\W{0,2}(?:of \d+|tokens (?:left|remain)|steps (?:left|remain)|turns (?:left|remain))", re.I)


def pieces_of(shape: Shape, function: str, content: Expr) -> list[Expr]:
    """The pieces of a text in the order in which they are read, names followed one step, and `TEMPLATE.format(…)` cut
    at its placeholders where the template stands in the file."""
    out: list[Expr] = []
    for piece in parts_of(shape.resolve(function, content)):
        value = shape.resolve(function, piece)
        filled = _filled(shape, function, value)
        if filled:
            out += filled
            continue
        inner = parts_of(value) if value is not piece and value.kind != "constant" else [piece]
        out += inner if len(inner) > 1 else [piece]
    return out


def _filled(shape: Shape, function: str, expr: Expr, depth: int = _CHAIN) -> list[Expr]:
    call = expr.call
    # `text = text.replace(…)`: what a name stands for may be made of the name.
    if call is None or call.receiver is None or depth < 1:
        return []
    if last_part(call.name) == "replace" and len(call.args) == 2:
        return _replaced(shape, function, call.receiver, call.args, depth - 1)
    if last_part(call.name) != "format":
        return []
    template = constant_text(shape.resolve(function, call.receiver))
    if template is None:
        return []
    out: list[Expr] = []
    number = 0
    try:
        for text, name, _, _ in Formatter().parse(template):
            if text:
                out.append(Expr("constant", expr.span, value=text))
            if name is None:
                continue
            root = re.split(r"[.\[]", name)[0]
            if not root or root.isdigit():
                position = int(root) if root else number
                number += 1
                value = call.args[position] if position < len(call.args) else None
            else:
                value = call.keywords.get(root)
            if value is not None:
                out.append(value)
    except ValueError:
        return []
    return out


def _replaced(shape: Shape, function: str, receiver: Expr, args: list[Expr], depth: int) -> list[Expr]:
    """`TEMPLATE.replace("{x}", value)`, also several in a row."""
    placeholder = constant_text(args[0])
    value = shape.resolve(function, receiver)
    pieces = _filled(shape, function, value, depth) or [value]
    out: list[Expr] = []
    for piece in pieces:
        text = constant_text(piece)
        if text is None or not placeholder or placeholder not in text:
            out.append(piece)
            continue
        for number, part in enumerate(text.split(placeholder)):
            if number:
                out.append(args[1])
            if part:
                out.append(Expr("constant", piece.span, value=part))
    return out if len(out) > 1 else []


def changing_value(shape: Shape, function: str, expr: Expr) -> str | None:
    """What in a text changes with every turn, as spelt; None where nothing is known to.

    Known are volatile sources, and what is named like retrieved text, the question or a step counter and is not a
    constant of the module.
    """
    if found := volatile_in(shape, function, expr):
        return found.rstrip(",")
    pieces = pieces_of(shape, function, expr)
    for number, piece in enumerate(pieces):
        if found := changing_piece(shape, function, pieces, number) or _changing(shape, function, piece, 5):
            return found
    return None


def changing_piece(shape: Shape, function: str, pieces: list[Expr], number: int) -> str | None:
    """A counter: a local name that the text calls a step, a turn or what is left of a budget."""
    piece = pieces[number]
    if piece.kind not in ("name", "attribute", "operation") or is_constant_name(piece):
        return None
    if piece.kind == "name" and not is_local(shape, function, piece):
        return None
    before = constant_text(pieces[number - 1]) if number else None
    after = constant_text(pieces[number + 1]) if number + 1 < len(pieces) else None
    if (before and _COUNTER.search(before)) or (after and _COUNTED.search(after)):
        return piece.name if piece.kind != "operation" else "a counter"
    return None


def _changing(shape: Shape, function: str, part: Expr, depth: int) -> str | None:
    if depth < 1 or part.kind == "constant" or is_constant_name(part):
        return None
    value = shape.resolve(function, part, 1)
    # `n = 1`, then `n += 1`: one binding, and no constant.
    counted = any(item.operator == "+=" for item in shape.bindings(function, part))
    if part.kind in ("name", "attribute") and (value is part or value.kind != "constant" or counted):
        named = words_of_name(part)
        by_name = not _CHANGING.isdisjoint(named) and (_FIXED | _ALL).isdisjoint(named) and not _is_setting(part)
        by_name = by_name and not (value is not part and any(_is_whole(inner) for inner in walk(value)))
        whole = part.name in _WHOLE and part.kind == "name" and not _is_object(shape, function, part)
        # Where it is seen what such a name stands for, that decides.
        whole = whole and (value is part or _of_turn(shape, function, value))
        if (by_name or whole) and is_local(shape, function, part):
            return part.name
        if part.kind == "attribute" and part.name and not _PAGE.isdisjoint(name_words(part.name.partition(".")[0])):
            return part.name
    if value is not part:
        return _changing(shape, function, value, depth - 1)
    return next((found for inner in _inside(shape, function, part, depth) if (found := inner)), None)


def _is_whole(part: Expr) -> bool:
    """`chat.full_documents`, `pinned_docs`: all of them, whatever the question is."""
    return part.kind in ("name", "attribute") and not _ALL.isdisjoint(name_words(last_part(part.name)))


def _of_turn(shape: Shape, function: str, value: Expr) -> bool:
    """Whether something is worked out from the question or the chat: `analyse(messages)`, and what is read from it."""
    exprs = [value, *(shape.resolve(function, part, 1) for part in walk(value) if part.kind == "name")]
    calls = [part.call for expr in exprs for part in walk(expr) if part.call is not None]
    return any(takes_turn(shape, function, arg) for call in calls for arg in (*call.args, *call.keywords.values()))


def _is_setting(name: Expr) -> bool:
    """`auto_query_guidance`, `step_style`: how something is done is stored with the chat, whatever it is about."""
    words = re.findall(r"[a-z]+", last_part(name.name).lower())
    return bool(words) and words[-1] in _SETTINGS


def _is_object(shape: Shape, function: str, name: Expr) -> bool:
    """Whether something is called on a name or read from it in its function: it is no text then."""
    start = f"{name.name}."
    return any(
        call.function == function and call.name.startswith(start) and last_part(call.name) not in _OF_TEXT
        for call in shape.view.calls
    )


def _inside(shape: Shape, function: str, part: Expr, depth: int) -> Iterator[str | None]:
    call = part.call
    if call is not None:
        given = (*call.args, *call.keywords.values())
        if call.name == "len" and call.args and is_history(call.args[0]):
            yield f"len({call.args[0].name or '…'})"
        if not _SELECTING.isdisjoint(name_words(call.name)) and any(takes_turn(shape, function, arg) for arg in given):
            yield f"{call.name}()"
        yield holds_question(shape, function, part)
        if local := shape.local_function(call, function):
            for binding in shape.returns(local):
                if binding.value is not None:
                    pieces = pieces_of(shape, local, binding.value)
                    for number, piece in enumerate(pieces):
                        yield changing_piece(shape, local, pieces, number) or _changing(shape, local, piece, depth - 2)
            yield from _written_out(shape, function, call, local, depth)
            return
        for arg in given:
            # `build(config, context)`: of what a function gets it need not write all into the text.
            if arg.name not in _WHOLE or last_part(call.name) in _WRITES:
                yield _changing(shape, function, arg, depth - 1)
    elif part.kind == "comprehension":
        yield holds_question(shape, function, part)
        for generator in part.generators:
            yield _changing(shape, function, generator.iterable, depth - 1)
    elif part.kind == "subscript" and part.items[0].name in _WHOLE:
        # One field of the state, of which nothing is known.
        return
    elif part.kind in ("fstring", "list", "tuple", "star", "subscript") or (
        part.kind == "operation" and part.name in ("+", "or", "%")
    ):
        for item in part.items[:1] if part.kind == "subscript" else part.items:
            yield _changing(shape, function, item, depth - 1)
    elif part.kind == "conditional":
        for item in part.items[1:]:
            yield _changing(shape, function, item, depth - 1)


def _written_out(shape: Shape, function: str, call: Call, local: str, depth: int) -> Iterator[str | None]:
    """What changes of that which a helper is given and writes out: `render(passages)`."""
    places = [name for name in shape.view.functions[local].parameters if name not in ("self", "cls")]
    for name, arg in (*zip(places, call.args, strict=False), *call.keywords.items()):
        value = shape.resolve(function, arg, 1)
        if value.call is None and value.kind != "comprehension":
            # Of what is not found here nothing more is known than its name, and the helper's says that as well.
            continue
        found = _changing(shape, function, value, depth - 2)
        if found and name in _written(shape, local):
            yield found


def _written(shape: Shape, function: str) -> set[str]:
    """The names that what a function returns is made of."""
    return made_of(shape, function, [item.value for item in shape.returns(function) if item.value is not None])


def takes_turn(shape: Shape, function: str, expr: Expr) -> bool:
    """Whether an argument is the newest question: a parameter or local called like one."""
    return any(
        part.kind in ("name", "attribute", "subscript")
        and not is_constant_name(part)
        and (is_history(part) or not words_of_name(part).isdisjoint(_TURN_TEXT))
        for part in walk(expr)
    )


def is_local(shape: Shape, function: str, expr: Expr) -> bool:
    """Whether a name is a parameter or is given its value inside the function (not a module's constant)."""
    if not function:
        return False
    if expr.kind == "attribute":
        return True
    return shape.is_parameter(function, expr) or any(item.function for item in shape.bindings(function, expr))
