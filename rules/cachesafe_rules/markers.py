"""Cache markers of a request, in the order in which the provider reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cachesafe_rules.blocks import given_to, is_marker, marking
from cachesafe_rules.excerpts import is_excerpt
from cachesafe_rules.expressions import last_part
from cachesafe_rules.lengths import known_length
from cachesafe_rules.model import Binding, Call, Condition, Expr, Span
from cachesafe_rules.shape import Request, Shape

__all__ = [
    "Marker",
    "marked_blocks",
    "marked_by_statements",
    "marked_lists",
    "markers_below",
    "markers_of",
    "takes_away",
]

# Rendering order at Anthropic and Bedrock: tools, system, messages; the automatic marker of the request stands last.
_ORDER = ("tools", "toolConfig", "system", "messages")
_LIMIT = 400
# More than a request may have, however long a list is.
_MOST = 20
_DEPTH = 14


@dataclass(frozen=True, slots=True)
class Marker:
    """`ttl` is 5m, 1h, "1h?" where a choice may give it, or "" where it is computed; `block` the display
    that carries the marker."""

    span: Span
    ttl: str
    block: Expr


def markers_of(shape: Shape, request: Request) -> list[Marker]:
    """The request's markers; names and helpers are followed within the file. A loop counts as often as it is known to
    go round, and once where that is not known."""
    found: list[Marker] = []
    for field in _ORDER:
        if field in request.fields:
            found += markers_below(shape, request.function, request.fields[field])
    automatic = request.fields.get("cache_control")
    if automatic is not None and not _is_none(automatic):
        found.append(Marker(automatic.span, _ttl(shape, request.function, automatic), automatic))
    return found


def markers_below(shape: Shape, function: str, root: Expr) -> list[Marker]:
    """The markers inside an expression, in the order of the source."""
    return _Below(shape).of(function, root, _DEPTH)


class _Below:
    """One walk: the same name twice in a request is the same markers twice, a loop through names is not followed."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._seen: set[int] = set()

    def of(self, function: str, expr: Expr, depth: int) -> list[Marker]:
        if id(expr) in self._seen or depth < 1 or len(self._seen) > _LIMIT:
            return []
        self._seen.add(id(expr))
        if expr.kind in ("name", "attribute"):
            return self._named(function, expr, depth - 1)
        if expr.kind == "dict":
            marker = expr.entries.get("cache_control") or expr.entries.get("cachePoint")
            for item in expr.items if marker is None else ():
                # `{"type": "text", "text": rules, **MARK}`
                merged = self._shape.resolve(function, item.items[0] if item.kind == "star" else item)
                marker = marker or merged.entries.get("cache_control")
            inner = [value for key, value in expr.entries.items() if key not in ("cache_control", "cachePoint")]
            # Placed behind the block's own parts, as the provider does.
            return [*self._all(function, inner, depth), *self._made(function, marker, expr)]
        if expr.kind in ("list", "tuple", "star") or (expr.kind == "operation" and expr.name == "+"):
            return self._all(function, expr.items, depth)
        if expr.kind == "comprehension" and len(expr.generators) == 1 and not expr.generators[0].tests:
            length = known_length(self._shape, function, expr.generators[0].iterable)
            return self._times(self.of(function, expr.items[-1], depth - 1), length)
        call = expr.call
        if call is None:
            return []
        if call.name in ("dict", "list"):
            inner = [*call.args, *call.keywords.values()]
            return [*self._all(function, inner, depth), *self._made(function, call.keywords.get("cache_control"), expr)]
        local = self._shape.local_function(call, function)
        if not local:
            return []
        # Of several results one is sent.
        results = [item.value for item in self._shape.returns(local) if item.value is not None]
        return max((_Below(self._shape).of(local, value, depth - 2) for value in results), key=len, default=[])

    def _all(self, function: str, exprs: list[Expr], depth: int) -> list[Marker]:
        return [marker for expr in exprs for marker in self.of(function, expr, depth - 1)]

    def _made(self, function: str, marker: Expr | None, block: Expr) -> list[Marker]:
        if marker is None or _is_none(marker):
            return []
        return [Marker(marker.span, _ttl(self._shape, function, marker), block)]

    def _times(self, once: list[Marker], length: int | None) -> list[Marker]:
        """The markers of a loop; those of one that is not known to mark each time are single ones."""
        certain = all(is_marker(_marker_in(marker.block)) for marker in once)
        return once if length is None or not certain or takes_away(self._shape) else once * min(length, _MOST)

    def _named(self, function: str, name: Expr, depth: int) -> list[Marker]:
        shape = self._shape
        value = shape.resolve(function, name)
        bound = shape.bindings(function, name)
        home = bound[0].function if bound else function
        outer = bound[0].conditions if bound else ()
        # Begun in two places, as in both branches of a choice, it is two lists.
        single = sum(item.operator == "=" for item in bound) == 1
        found = self.of(home, value, depth) if value is not name else []
        for call in shape.mutations(home, name):
            inner = tuple(c for c in call.conditions if c not in outer)
            added = last_part(call.name) in ("append", "extend", "insert") and call.args and (single or not inner)
            if added:
                found += self._grown(home, name, call.args[-1], inner, depth)
        for item in bound:
            if item.operator == "+=" and item.value is not None and single:
                inner = tuple(c for c in item.conditions if c not in outer)
                found += self._grown(home, name, item.value, inner, depth)
        if not found:
            found = [
                Marker(item.span, _ttl(shape, home, item.value), item.value)
                for item in marking(shape)
                if item.value is not None and item.function == home and _is_block_of(item, name) and not item.conditions
            ]
        return found

    def _grown(
        self, function: str, name: Expr, value: Expr, conditions: tuple[Condition, ...], depth: int
    ) -> list[Marker]:
        """What is added to a list; under a test it is not certain, in a loop as often as that goes round."""
        if any(condition.kind != "for" for condition in conditions) or len(conditions) > 1:
            return []
        if not conditions:
            return self.of(function, value, depth)
        loop = conditions[0]
        length = known_length(self._shape, function, loop.test) if loop.test is not None else None
        if length is None or _looks_at_length(self._shape, function, name, loop):
            return []
        return self._times(self.of(function, value, depth), length)


def _marker_in(block: Expr) -> Expr | None:
    fields = block.call.keywords if block.call is not None else block.entries
    return fields.get("cache_control") or fields.get("cachePoint")


def _is_block_of(marking: Binding, name: Expr) -> bool:
    """`name[0]["cache_control"] = …`"""
    block = marking.target.items[0] if marking.target is not None else None
    if block is None or block.kind != "subscript":
        return False
    while block.kind == "subscript":
        block = block.items[0]
    return block.name == name.name


def _looks_at_length(shape: Shape, function: str, name: Expr, loop: Condition) -> bool:
    """Whether a loop asks how long the list has become, to stop in time."""
    return any(
        call.name == "len" and call.function == function and call.args and call.args[0].name == name.name
        for call in shape.view.calls
        if any(condition.test is loop.test for condition in call.conditions)
    )


def takes_away(shape: Shape) -> bool:
    """Whether the file takes markers off again."""
    taken = any(
        item.operator == "del" and item.target is not None and item.target.kind == "subscript"
        and item.target.items[1].value == "cache_control"
        for item in shape.view.bindings
    )  # fmt: skip
    return taken or any(
        last_part(call.name) == "pop" and call.args and call.args[0].value == "cache_control"
        for call in shape.view.calls
    )


def marked_lists(shape: Shape) -> Iterator[tuple[Expr, str]]:
    """List displays that are given a name or returned, and the function they stand in."""
    for binding in shape.view.bindings:
        listed = binding.value is not None and binding.value.kind in ("list", "comprehension")
        if binding.value is not None and listed and binding.operator in ("=", "return"):
            yield binding.value, binding.function


def marked_blocks(expr: Expr) -> bool:
    """Whether a display carries a marker itself."""
    return "cache_control" in expr.entries and not _is_none(expr.entries["cache_control"])


def _is_none(expr: Expr) -> bool:
    return expr.kind == "constant" and expr.value is None


def _ttl(shape: Shape, function: str, marker: Expr) -> str:
    value = shape.resolve(function, marker)
    if value.kind == "conditional":
        # One of two: what must not stand there in either case is told.
        both = {_ttl(shape, function, branch) for branch in value.items[1:]}
        return both.pop() if len(both) == 1 else "1h?" if "1h" in both else ""
    if value.call is not None and (local := shape.local_function(value.call, function)):
        return _made_ttl(shape, local, value.call, function)
    fields = value.entries if value.kind == "dict" else value.call.keywords if value.call is not None else None
    if fields is None or (value.kind == "dict" and value.items):
        return ""
    ttl = fields.get("ttl")
    if ttl is None:
        return "5m" if value.kind == "dict" else ""
    ttl = shape.resolve(function, ttl)
    return ttl.value if ttl.kind == "constant" and isinstance(ttl.value, str) else ""


def _made_ttl(shape: Shape, local: str, call: Call, around: str) -> str:
    """The lifetime of a marker that a helper makes: `marker("1h")`."""
    made = [item.value for item in shape.returns(local) if item.value is not None]
    ttl = made[0].entries.get("ttl") if len(made) == 1 else None
    if ttl is None:
        return "5m" if len(made) == 1 and made[0].kind == "dict" and not made[0].items else ""
    value, function = given_to(shape, local, call, around).get(ttl.name or "", (ttl, local))
    value = shape.resolve(function, value)
    return value.value if value.kind == "constant" and isinstance(value.value, str) else ""


def marked_by_statements(shape: Shape) -> Iterator[list[Marker]]:
    """The markers that a function of an excerpt sets on the parts of one request that it was given, in the order in
    which the provider reads them: `body["system"][-1]["cache_control"] = …`."""
    if not is_excerpt(shape.view):
        return
    for function in shape.view.functions:
        found: list[tuple[int, Marker]] = []
        for item in marking(shape):
            if item.function != function or item.target is None or item.value is None:
                continue
            place, times = _place_of(shape, function, item.target.items[0]), 1
            for condition in item.conditions:
                times *= _turns_of(shape, function, condition)
            if place is None and times > 1:
                place = next((n for c in item.conditions if c.test and (n := _place_of(shape, function, c.test))), None)
            if place is not None:
                found += [(place, Marker(item.span, _ttl(shape, function, item.value), item.value))] * times
        for binding in shape.view.bindings:
            # `body["system"] = [{…, "cache_control": …}]`
            key = binding.target.items[1].value if binding.target and binding.target.kind == "subscript" else None
            if key in _ORDER and binding.function == function and binding.value is not None and not binding.conditions:
                below = markers_below(shape, function, binding.value)
                found += [(_ORDER.index(str(key)), marker) for marker in below]
        yield [marker for _, marker in sorted(found, key=lambda one: (one[0], one[1].span))]


def _turns_of(shape: Shape, function: str, condition: Condition) -> int:
    """How often a loop goes round a marker: 3 for `for m in messages[-3:]`; 0 where it is not known to be reached."""
    over = condition.test
    if condition.kind != "for" or over is None:
        return 0
    if over.kind == "subscript" and over.items[1].kind == "slice":
        lower, upper, _ = (shape.resolve(function, item) for item in over.items[1].items)
        first = lower.items[0].value if lower.kind == "operation" and lower.name == "-" else lower.value
        if isinstance(first, int) and upper.kind == "constant" and upper.value is None:
            return min(abs(first), _MOST) if first else 0
    return known_length(shape, function, over) or 0


def _place_of(shape: Shape, function: str, block: Expr) -> int | None:
    """Where a block stands in the rendering order."""
    for _ in range(_DEPTH):
        if block.kind == "subscript":
            key = block.items[1].value
            if key in _ORDER:
                return _ORDER.index(str(key))
            block = block.items[0]
            continue
        name = last_part(block.name)
        if name in _ORDER:
            return _ORDER.index(name)
        value = shape.resolve(function, block, 1)
        if value is block:
            return None
        block = value
    return None
