"""The blocks of a system text in the order in which they are sent, put together in one place or step by step.

A list display, a sum of lists, `append`, `insert` and `+=`, a helper or method of the file that returns the list, and
helpers that make one block of a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cachesafe_rules.assembled import role_and_content
from cachesafe_rules.excerpts import is_excerpt
from cachesafe_rules.expressions import last_part, name_words, walk
from cachesafe_rules.model import Binding, Call, Condition, Expr, Span
from cachesafe_rules.shape import Request, Shape

__all__ = ["Block", "blocks_of", "given_to", "is_marker", "marking", "system_contents"]

# An expression and the function that its names belong to.
Placed = tuple[Expr, str]
# What the parameters of a followed helper stand for.
_Given = Mapping[str, Placed]

_TEXT = ("text", "content", "cacheable_text")
_COPIES = frozenset({"list", "tuple", "copy", "deepcopy"})
_DEPTH = 6
_MOST = 60


@dataclass(frozen=True, slots=True)
class Block:
    """`texts` are the expressions that its text is written of: the one in the display, and what a helper's caller gives
    it. `marker` is where its cache marker is set."""

    span: Span
    function: str
    texts: tuple[Placed, ...]
    marker: Span | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """The system text of a request, or the content of a system message. `request` is the one that it goes into, where
    the same function sends only one."""

    expr: Expr
    function: str
    span: Span
    request: Request | None


def system_contents(shape: Shape, fields: Sequence[str]) -> Iterator[Content]:
    """Where the system texts of a file stand: in the `fields` of requests, and in system messages."""
    for request in shape.requests:
        for name in fields:
            if name in request.fields:
                yield Content(request.fields[name], request.function, request.span, request)
    said = [(display.function, display.expr) for display in shape.view.dicts]
    said += [(call.function, Expr("call", call.span, call=call)) for call in shape.view.calls]
    for function, message in said:
        role, content = role_and_content(message)
        if role == "system" and content is not None:
            sent = [request for request in shape.requests if request.function == function]
            yield Content(content, function, message.span, sent[0] if len(sent) == 1 else None)

    for binding in shape.view.bindings if is_excerpt(shape.view) else ():
        # A function that ends with the blocks is called for the system text.
        value = binding.value
        if binding.operator == "return" and value is not None and "system" in name_words(last_part(binding.function)):
            whole = shape.resolve(binding.function, value)
            if whole.kind == "list" and whole.items and all("text" in item.entries for item in whole.items):
                yield Content(value, binding.function, binding.span, None)


def is_marker(expr: Expr | None) -> bool:
    """Whether a value of `cache_control` marks a block for certain."""
    if expr is None or expr.kind == "conditional" or (expr.kind == "operation" and expr.name in ("and", "or")):
        return False
    return not (expr.kind == "constant" and expr.value is None)


def blocks_of(shape: Shape, function: str, root: Expr, until: Span | None = None) -> list[Block]:
    """The blocks that an expression stands for, as far as the function has put them together before `until`; none where
    it is no list of blocks, or where its order is not seen."""
    return _listed(shape, function, root, {}, _DEPTH, until)[:_MOST]


def given_to(shape: Shape, function: str, call: Call, around: str) -> dict[str, Placed]:
    """What a call in the function `around` gives to the parameters of a function of the file."""
    known = shape.view.functions[function]
    places = [name for name in known.parameters if name not in ("self", "cls")]
    pairs = [*zip(places, call.args, strict=False), *call.keywords.items()]
    return {name: (value, around) for name, value in pairs}


def _listed(
    shape: Shape, function: str, expr: Expr, given: _Given, depth: int, until: Span | None = None
) -> list[Block]:
    if depth < 1:
        return []
    if expr.kind == "star":
        return _listed(shape, function, expr.items[0], given, depth, until)
    if expr.kind in ("list", "tuple"):
        out: list[Block] = []
        for item in expr.items:
            out += _listed(shape, function, item, given, depth - 1) if item.kind == "star" else _one(
                shape, function, item, given, depth
            )  # fmt: skip
        return out
    if expr.kind == "operation" and expr.name in ("+", "or"):
        parts = [_listed(shape, function, item, given, depth - 1) for item in expr.items]
        return [block for part in parts for block in part] if expr.name == "+" else max(parts, key=len)
    if expr.kind == "conditional":
        return max((_listed(shape, function, item, given, depth - 1) for item in expr.items[1:]), key=len)
    if expr.kind == "comprehension" and len(expr.generators) == 1 and len(expr.items) == 1:
        return _repeated(
            shape, function, expr.items[0], expr.generators[0].target, expr.generators[0].iterable, given, depth
        )
    if expr.kind in ("name", "attribute"):
        if expr.name in given:
            value, around = given[expr.name or ""]
            return _listed(shape, around, value, {}, depth - 1)
        return _assembled(shape, function, expr, given, depth - 1, until)
    if expr.call is not None:
        return _called(shape, function, expr.call, given, depth - 1)
    return []


def _called(shape: Shape, function: str, call: Call, given: _Given, depth: int) -> list[Block]:
    if last_part(call.name) in _COPIES:
        inner = call.args[0] if call.args else call.receiver
        return _listed(shape, function, inner, given, depth) if inner is not None else []
    local = shape.local_function(call, function)
    if not local or local == function:
        return []
    handed = _handed(given_to(shape, local, call, function), given)
    made = [
        _listed(shape, local, item.value, handed, depth, item.span)
        for item in shape.returns(local)
        if item.value is not None and item.operator == "return"
    ]
    return max(made, key=len, default=[])


def _handed(new: dict[str, Placed], given: _Given) -> dict[str, Placed]:
    """A helper's arguments, those that are the caller's own parameters replaced by what these stand for."""
    return {name: given.get(value.name or "", (value, around)) for name, (value, around) in new.items()}


def _repeated(
    shape: Shape, function: str, element: Expr, target: Expr | None, iterable: Expr, given: _Given, depth: int
) -> list[Block]:
    """The blocks that a loop makes of one display: one for each of a written list, else a single one for all."""
    items = shape.resolve(function, iterable)
    if target is not None and target.kind == "name" and items.kind in ("list", "tuple"):
        out: list[Block] = []
        for item in items.items:
            out += _one(shape, function, element, {**given, (target.name or ""): (item, function)}, depth)
        return out
    if target is not None and target.kind == "name":
        given = {**given, (target.name or ""): (iterable, function)}
    return _one(shape, function, element, given, depth)


# A step of a list that is put together: where, what it does, with what, at which index, under which conditions.
@dataclass(frozen=True, slots=True)
class _Step:
    span: Span
    action: str
    value: Expr
    index: int
    conditions: tuple[Condition, ...]


def _assembled(shape: Shape, function: str, name: Expr, given: _Given, depth: int, until: Span | None) -> list[Block]:
    bound = [item for item in shape.bindings(function, name) if item.operator in ("=", ":=")]
    if len(bound) != 1 or bound[0].value is None:
        return []
    first = bound[0]
    home = first.function
    steps = _steps(shape, home, name, first)
    if steps is None:
        return []
    blocks = _listed(shape, home, first.value, given, depth) if first.value is not None else []
    for step in steps:
        if until is not None and home == function and step.span > until:
            break
        if step.action == "mark":
            if -len(blocks) <= step.index < len(blocks):
                blocks[step.index] = replace(blocks[step.index], marker=step.span)
            continue
        loop = next((c for c in step.conditions if c.kind == "for" and c not in first.conditions), None)
        if step.action == "extend":
            new = _listed(shape, home, step.value, given, depth)
        elif loop is not None and loop.test is not None:
            new = _repeated(shape, home, step.value, loop.target, loop.test, given, depth)
        else:
            new = _one(shape, home, step.value, given, depth)
        place = len(blocks) if step.action != "insert" else min(step.index, len(blocks))
        blocks[place:place] = new
    return blocks


def _steps(shape: Shape, home: str, name: Expr, first: Binding) -> list[_Step] | None:
    """What is done to a list behind its first statement, in order; None where that is done in several functions."""
    steps: list[_Step] = []
    for call in shape.mutations(home, name):
        method = last_part(call.name)
        if call.function != home or method not in ("append", "extend", "insert") or not call.args:
            return None
        index = call.args[0].value if method == "insert" else 0
        if not isinstance(index, int) or index < 0:
            return None
        steps.append(_Step(call.span, method, call.args[-1], index, call.conditions))
    for item in shape.bindings(home, name):
        if item.operator == "+=" and item.value is not None:
            steps.append(_Step(item.span, "extend", item.value, 0, item.conditions))
    for item in marking(shape):
        target = item.target.items[0] if item.target is not None else None
        if item.function != home or target is None or target.kind != "subscript" or target.items[0].name != name.name:
            continue
        index = target.items[1].value
        if item.value is not None and isinstance(index, int):
            steps.append(_Step(item.span, "mark", item.value, index, item.conditions))
    # What stands in an `else` is no step of the run that takes the branch in front of it.
    taken = {id(c.test) for step in steps for c in step.conditions if c.kind == "if" and not c.negated}
    return [
        step
        for step in sorted(steps, key=lambda one: one.span)
        if step.span > first.span and not any(c.negated and id(c.test) in taken for c in step.conditions)
    ]


def marking(shape: Shape) -> list[Binding]:
    """The statements `….["cache_control"] = …` of a file."""
    known = shape.view.memo.get("marking")
    if isinstance(known, list):
        return known
    found = [
        item
        for item in shape.view.bindings
        if item.target is not None
        and item.target.kind == "subscript"
        and item.target.items[1].value == "cache_control"
        and is_marker(item.value)
    ]
    for item in shape.view.bindings:
        # `block |= MARK`
        merged = shape.resolve(item.function, item.value) if item.operator == "op=" and item.value is not None else None
        if merged is not None and item.target is not None and is_marker(value := merged.entries.get("cache_control")):
            key = Expr("constant", item.target.span, value="cache_control")
            block = Expr("subscript", item.target.span, items=[item.target, key])
            found.append(replace(item, target=block, value=value))
    for call in shape.view.calls:
        # `block.update(MARK)`
        given = shape.resolve(call.function, call.args[0]).entries if call.args else call.keywords
        value = given.get("cache_control")
        if last_part(call.name) == "update" and call.receiver is not None and is_marker(value):
            key = Expr("constant", call.span, value="cache_control")
            block = Expr("subscript", call.span, items=[call.receiver, key])
            found.append(Binding("=", block, value, call.span, call.function, call.conditions))
    shape.view.memo["marking"] = found
    return found


def _one(shape: Shape, function: str, expr: Expr, given: _Given, depth: int) -> list[Block]:
    """The block that an element of a list is; none for what holds no text, as a cache point."""
    span, marker, shown = expr.span, None, function
    if expr.kind == "name":
        if expr.name in given:
            value, around = given[expr.name or ""]
            return [replace(one, span=one.span) for one in _one(shape, around, value, {}, depth - 1)] if depth else []
        item = next((m for m in marking(shape) if m.target and m.function == function
                     and m.target.items[0].kind == "name" and m.target.items[0].name == expr.name
                     and _is_reached(m.conditions, given)), None)  # fmt: skip
        marker = item.span if item is not None else None
    value = shape.resolve(function, expr)
    if value.call is not None and depth and (local := shape.local_function(value.call, function)):
        handed = _handed(given_to(shape, local, value.call, function), given)
        for returned in shape.returns(local):
            if returned.value is not None and (made := _one(shape, local, returned.value, handed, depth - 1)):
                # A helper makes all blocks: they differ where it is called.
                return [replace(one, span=span, function=shown, marker=marker or one.marker) for one in made]
        return []
    fields = value.call.keywords if value.call is not None else value.entries
    marked = fields.get("cache_control")
    if marker is None and marked is not None and is_marker(marked):
        marker = marked.span
    text = next((fields[key] for key in _TEXT if key in fields), None)
    if text is None and value.kind == "dict":
        # `{**block, "cache_control": …}`
        for star in value.items:
            if depth and star.kind == "star":
                inner = _one(shape, function, star.items[0], given, depth - 1)
                return [replace(one, marker=marker or one.marker) for one in inner]
        return []
    if text is not None:
        return [Block(span, shown, _texts(function, text, given), marker)]
    if value.kind in ("constant", "fstring") or (value.kind == "operation" and value.name in ("+", "%", "*")):
        return [Block(span, shown, _texts(function, expr, given), marker)]
    if value.call is not None and value.call.args:
        # A helper of another file: what it is given becomes the block's text.
        texts = [one for arg in value.call.args for one in _texts(function, arg, given)]
        return [Block(span, shown, tuple(texts), marker)]
    return []


def _is_reached(conditions: Sequence[Condition], given: _Given) -> bool:
    """Whether a helper marks its block for certain: `if cached:` where the call says `cached=True`."""
    for condition in conditions:
        test = condition.test
        value = given.get(test.name or "") if test is not None and test.kind == "name" else None
        if condition.kind != "if" or value is None or value[0].kind != "constant":
            return False
        if bool(value[0].value) is condition.negated:
            return False
    return True


def _texts(function: str, text: Expr, given: _Given) -> tuple[Placed, ...]:
    roots = [(part.name or "").partition(".")[0] for part in walk(text) if part.kind in ("name", "attribute")]
    inner = [given[root] for root in roots if root in given]
    if text.kind in ("name", "attribute") and inner:
        return tuple(inner)
    return ((text, function), *inner)
