"""Whether one function shows that a choice comes out another way between two requests of one chat.

Both must be seen: that the requests continue one chat (a loop sends a list that it lets grow, or the list holds
messages that were sent), and that what the choice looks at is another thing in the next of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cachesafe_rules.assembled import assembled_lists, role_and_content
from cachesafe_rules.expressions import is_history, last_part, name_words, spelt, walk, words_of_name
from cachesafe_rules.kept import holds_sent
from cachesafe_rules.model import Call, Condition, Expr
from cachesafe_rules.shape import SEND, Part, Request, Shape

__all__ = ["differs", "goes_round", "has_two", "ifs_in", "is_sent", "is_sent_on", "looked_at", "turned_later", "varied"]

_GROWS = frozenset({"append", "extend", "insert", "appendleft"})
# A loop of these sends the same request once more.
_AGAIN = frozenset({"attempt", "attempts", "retry", "retries", "tries", "trial", "backoff"})
# Calls that look at what a text says, beside the functions of the file.
_LOOKS = frozenset(
    {"len", "any", "all", "bool", "sum", "lower", "upper", "strip", "startswith", "endswith", "split", "count",
     "casefold", "search", "match", "findall", "get", "min", "max", "str", "isdigit", "find", "embed", "embed_query",
     "encode"}
)  # fmt: skip
# Words of calls that ask a model: `stream_chat`, `get_llm_response`.
_ASKS = frozenset({"chat", "stream", "complete", "completion", "completions", "generate", "invoke", "llm"})
_DEPTH = 4

# What a choice looks at, and whether only for its truth: `if text:` asks whether there is a text, not what it says.
Looks = Sequence[tuple[Expr, bool]]


def differs(shape: Shape, request: Request, tests: Looks) -> bool:
    """Whether one of the tests, which stand in the request's function, reads what the next request of the chat finds
    changed: a counter or state of the loop that sends, the list of messages, its newest message or that one's text."""
    function = request.function
    lists = _chat_lists(shape, request)
    loops = _loops(shape, request, lists)
    held = {part.expr.name for part in lists if _is_old(shape, part)}
    if not loops and not held:
        return False
    sent = held | ({part.expr.name for part in lists} if loops else set())
    newest = _newest(shape, request, lists, held, loops)
    for expr, truth in _read(shape, function, tests):
        if expr.kind == "subscript" and expr.items[0].name in sent and _is_last(expr.items[1]):
            return True
        if _is_compared_length(expr, sent):
            return True
        if expr.kind == "name" and expr.name in newest and not truth:
            return True
        if any(_varies(shape, function, expr, loop) for loop in loops):
            return True
    return False


def is_sent_on(shape: Shape, request: Request) -> bool:
    """Whether a request continues a chat: a loop lets its list grow, or the list was there before."""
    lists = _chat_lists(shape, request)
    return any(_is_old(shape, part) for part in lists) or bool(_loops(shape, request, lists))


def goes_round(shape: Shape, request: Request) -> bool:
    """Whether a loop sends a request again and again with a list that it lets grow: this is the chat itself, whatever
    its function is called."""
    return bool(_loops(shape, request, _chat_lists(shape, request)))


def varied(shape: Shape, request: Request, tests: Looks) -> str | None:
    """What the loop of a chat counts or sets that tests in its function read, as spelt."""
    loops = _loops(shape, request, _chat_lists(shape, request))
    read = _read(shape, request.function, tests) if loops else ()
    return next((e.name for e, _ in read if any(_varies(shape, request.function, e, loop) for loop in loops)), None)


def turned_later(shape: Shape, request: Request, conditions: Iterable[Condition]) -> str | None:
    """What the loop of a chat counts or sets that turns a test around a place in the middle of it: `failures > 1`,
    `stuck`. What holds in the first round already (`not loaded`, `step == 0`) is no such test."""
    held = list(conditions)
    for loop in _loops(shape, request, _chat_lists(shape, request)):
        inside = next((n for n, item in enumerate(held) if item.test is loop.test), None)
        if inside is None:
            continue
        for item in held[inside + 1 :]:
            if item.kind != "if" or item.test is None:
                continue
            for part in _early_no_more(item.test) if item.negated else _late(item.test):
                if _varies(shape, request.function, part, loop) and _is_idle(shape, request.function, part, loop):
                    return part.name
    return None


def _early_no_more(test: Expr) -> Iterator[Expr]:
    """The name that a test finds small at first, for what stands in its `else`: `i < len(FORCED)`."""
    if test.kind == "operation" and test.name in ("<", "<=") and len(test.items) == 2:
        yield test.items[0]


def _late(test: Expr) -> Iterator[Expr]:
    """The names that a test finds grown or set."""
    if test.kind == "operation" and test.name == "and":
        for item in test.items:
            yield from _late(item)
    elif test.kind == "operation" and test.name in (">", ">=", "==", "<", "<=") and len(test.items) == 2:
        grown, other = test.items if test.name not in ("<", "<=") else test.items[::-1]
        if not (other.kind == "constant" and other.value in (0, None, "", False) and test.name != ">"):
            yield grown
    elif _is_named(test):
        yield test


def _is_idle(shape: Shape, function: str, name: Expr, loop: Condition) -> bool:
    """Whether a name begins with nothing: 0, False, None, or as the number of the round."""
    begun = [
        item for item in shape.bindings(function, name) if item.operator == "=" and not _is_in(item.conditions, loop)
    ]
    counted = loop.target is not None and any(part.name == name.name for part in walk(loop.target))
    return counted or any(
        item.value is not None and item.value.kind == "constant" and not item.value.value for item in begun
    )


def ifs_in(conditions: Iterable[Condition], known: Iterable[Condition] = ()) -> Looks:
    """What the `if`s around a place look at, without those that are known to hold."""
    held = list(known)
    return [(c.test, True) for c in conditions if c.kind == "if" and c.test is not None and c not in held]


def looked_at(shape: Shape, request: Request, part: Part) -> Looks:
    """What decides whether a part is in a field of a request: the tests around it, those of a comprehension, what a
    call is given or a table is asked for. Of a part in a function that the request's calls, the arguments of which
    these tests read the parameters."""
    expr = part.expr
    tests = [*ifs_in(part.conditions, request.conditions)]
    tests += [(test, True) for generator in expr.generators for test in generator.tests]
    if expr.call is not None:
        tests += [(given, False) for given in (*expr.call.args, *expr.call.keywords.values())]
    elif expr.kind == "subscript":
        tests += [(key, False) for key in expr.items[1:]]
    if part.function == request.function:
        return tests
    read = {expr.name for expr, truth in _read(shape, part.function, tests) if expr.kind == "name" and not truth}
    out: list[tuple[Expr, bool]] = []
    for call in shape.callers(part.function):
        if call.function == request.function:
            out += [(value, False) for name, value in _given(shape, part.function, call) if name in read]
    return out


def has_two(shape: Shape, parts: Iterable[Part]) -> bool:
    """Whether the parts of a field are two values at least: both branches of a choice may give the same."""
    seen = set()
    for found in parts:
        expr = found.expr
        inner = expr.kind in ("conditional", "operation") or (
            expr.kind in ("name", "attribute") and bool(shape.bindings(found.function, expr))
        )
        if not inner and not (expr.call is not None and shape.local_function(expr.call, found.function)):
            # `load("big")` and `load("small")` are two.
            given = [part.value for part in walk(expr) if part is not expr and part.kind == "constant"]
            seen.add(f"{spelt(expr, 200)} {given}")
    return len(seen) > 1


def _chat_lists(shape: Shape, request: Request) -> list[Part]:
    """The names in the request's own function of which its messages are made."""
    if request.messages is None:
        return []
    parts = shape.flow(request.messages, request.function, request.span, request.conditions)
    return [p for p in parts if p.function == request.function and not p.element and _is_named(p.expr)]


def is_sent(shape: Shape, function: str, expr: Expr, conditions: Iterable[Condition] = ()) -> bool:
    """Whether a request of this file holds this very list, by its name or its place: one that the function makes, that
    is made by a function which it hands the list to, or of what it gives back or was given. Not in a branch that
    excludes the one of `conditions`."""
    other = {(id(item.test), not item.negated) for item in conditions if item.kind == "if"}
    home = shape.home(function, expr.name or "")
    for part, around in _sent(shape):
        named = _is_named(expr) and part.expr.name == expr.name and shape.home(part.function, expr.name or "") == home
        same = named or (part.function == function and part.expr.span == expr.span)
        if same and other.isdisjoint({(id(item.test), item.negated) for item in around}):
            return True
    sent = {(part.function, part.expr.name) for part, _ in _sent(shape)}
    if _is_named(expr):
        for call in shape.view.calls:
            here = call.function == function and other.isdisjoint({(id(i.test), i.negated) for i in call.conditions})
            local = shape.local_function(call, function) if here else ""
            if any((local, name) in sent for name, given in _given(shape, local, call) if given.name == expr.name):
                return True
    return shape.is_parameter(function, expr) and any(
        (call.function, given.name) in sent
        for call in shape.callers(function)
        for name, given in _given(shape, function, call)
        if name == expr.name and _is_named(given)
    )


def _given(shape: Shape, function: str, call: Call) -> list[tuple[str, Expr]]:
    """What a call gives to the parameters of a function of this file."""
    known = shape.view.functions.get(function)
    places = [name for name in known.parameters if name not in ("self", "cls")] if known is not None else []
    return [*zip(places, call.args, strict=False), *(call.keywords.items() if places else ())]


def _sent(shape: Shape) -> list[tuple[Part, tuple[Condition, ...]]]:
    """What the requests of a file are made of, each with the conditions of its request."""
    known = shape.view.memo.get("sent")
    if isinstance(known, list):
        return known
    asked = [(r.messages, r.function, r.span, r.conditions) for r in shape.requests if r.messages is not None]
    for call in shape.view.calls:
        asks = last_part(call.name) in SEND or not _ASKS.isdisjoint(name_words(last_part(call.name)))
        if call.args and asks and (is_history(call.args[0]) or call.args[0].kind == "list"):
            asked.append((call.args[0], call.function, call.span, call.conditions))
    out = [(part, one[3]) for one in asked for part in shape.flow(*one)]
    shape.view.memo["sent"] = out
    return out


def _is_named(expr: Expr) -> bool:
    return expr.kind in ("name", "attribute") and bool(expr.name)


def _is_old(shape: Shape, part: Part) -> bool:
    """Whether a list was there before the function: what only a loop of it lets grow is the loop's matter."""
    if shape.is_parameter(part.function, part.expr) or part.expr.kind == "attribute":
        return holds_sent(shape, part.function, part.expr)
    return any(
        item.value is not None and item.function == part.function and holds_sent(shape, part.function, item.value)
        for item in shape.bindings(part.function, part.expr)
    )


def _loops(shape: Shape, request: Request, lists: list[Part]) -> list[Condition]:
    return [loop for loop in request.conditions if loop.kind in ("for", "while") and _goes_on(shape, lists, loop)]


def _goes_on(shape: Shape, lists: Iterable[Part], loop: Condition) -> bool:
    """Whether a loop lets one of the lists grow that it did not begin itself."""
    if loop.target is not None and not _AGAIN.isdisjoint(words_of_name(loop.target)):
        return False
    for part in lists:
        bound = shape.bindings(part.function, part.expr)
        own = [item for item in bound if _is_in(item.conditions, loop)]
        again = [item for item in own if item.value is not None and _reads(item.value, part.expr.name)]
        if any(item.operator == "=" and item not in again for item in own):
            continue
        if again or any(item.operator == "+=" for item in own):
            return True
        if any(
            last_part(call.name) in _GROWS and _is_in(call.conditions, loop)
            for call in shape.mutations(part.function, part.expr)
        ):
            return True
    return False


def _is_in(conditions: Iterable[Condition], loop: Condition) -> bool:
    return any(condition.test is loop.test for condition in conditions)


def _reads(value: Expr, name: str | None) -> bool:
    return any(part.name == name for part in walk(value))


def _newest(
    shape: Shape, request: Request, lists: list[Part], held: set[str | None], loops: list[Condition]
) -> set[str | None]:
    """The names whose text is put behind the earlier messages as the user's newest one."""
    function = request.function
    if request.messages is None:
        return set()
    texts: list[Expr] = []
    spans = {part.expr.span for part in shape.flow(request.messages, function, request.span)}
    for found in (*shape.view.lists, *assembled_lists(shape)):
        if found.function != function or found.span not in spans:
            continue
        old = False
        for item in found.items:
            star = item.expr.items[0] if item.expr.kind == "star" else item.expr
            old = old or (item.role == "*" and is_history(star) and holds_sent(shape, function, star))
            if old and item.role == "user" and item.content is not None:
                texts.append(item.content)
    for part in lists:
        for call in shape.mutations(function, part.expr):
            if call.function == function and last_part(call.name) == "append" and call.args:
                role, content = role_and_content(shape.resolve(function, call.args[0]))
                grown = part.expr.name in held or any(_is_in(call.conditions, loop) for loop in loops)
                if role == "user" and content is not None and grown:
                    texts.append(content)
    return {part.name for text in texts for part in walk(text) if part.kind == "name"}


def _read(shape: Shape, function: str, tests: Looks) -> Iterator[tuple[Expr, bool]]:
    """What tests look at, names followed, and whether it is only asked for its truth. What a call that is not seen
    makes of its arguments is not told."""
    stack = [(test, truth, _DEPTH) for test, truth in tests]
    while stack:
        expr, truth, depth = stack.pop()
        if depth < 1:
            continue
        yield expr, truth
        below = [*expr.items, *expr.entries.values()]
        for generator in expr.generators:
            below += [generator.iterable, *generator.tests]
        call = expr.call
        if call is not None and (last_part(call.name) in _LOOKS or shape.local_function(call, function)):
            below += [*call.args, *call.keywords.values(), *([call.receiver] if call.receiver is not None else [])]
        same = truth and expr.kind == "operation" and expr.name in ("and", "or", "not")
        absent = expr.kind == "operation" and expr.name in ("is", "is not")
        stack += [(part, same or absent, depth if expr.kind == "operation" else depth - 1) for part in below]
        if _is_named(expr):
            value = shape.resolve(function, expr, 1)
            if value is not expr:
                stack.append((value, truth, depth - 1))


def _is_last(index: Expr) -> bool:
    return index.value == -1 or (
        index.kind == "operation" and index.name == "-" and len(index.items) == 1 and index.items[0].value == 1
    )


def _is_compared_length(expr: Expr, sent: set[str | None]) -> bool:
    """`len(messages) > 5`; whether there is any message at all is no such test."""
    if expr.kind != "operation" or len(expr.items) != 2:
        return False
    for size, other in (expr.items, expr.items[::-1]):
        call = size.call
        if call is not None and call.name == "len" and call.args and call.args[0].name in sent:
            return other.kind != "constant" or (isinstance(other.value, int) and other.value > 1)
    return False


def _varies(shape: Shape, function: str, expr: Expr, loop: Condition) -> bool:
    """Whether a name is another thing in the next round: what the loop counts, or what it sets in more than one way."""
    if not _is_named(expr) or not _AGAIN.isdisjoint(name_words(expr.name or "")):
        return False
    if loop.target is not None and any(part.name == expr.name for part in walk(loop.target)):
        return True
    bound = [item for item in shape.bindings(function, expr) if item.function == function]
    own = [
        item
        for item in bound
        if _is_in(item.conditions, loop) and not any(condition.kind == "except" for condition in item.conditions)
    ]
    if any(item.operator in ("+=", "-=") for item in own):
        return True
    values = {spelt(item.value, 200) for item in bound if item.value is not None}
    return expr.kind == "name" and bool(own) and len(bound) > 1 and len(values) > 1
