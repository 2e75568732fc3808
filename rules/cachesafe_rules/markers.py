"""Cache markers of a request, in the order in which the provider reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cachesafe_rules.model import Expr, Span
from cachesafe_rules.shape import Request, Shape

__all__ = ["Marker", "marked_blocks", "marked_lists", "markers_below", "markers_of"]

# Rendering order at Anthropic and Bedrock: tools, system, messages; the automatic marker of the request stands last.
_ORDER = ("tools", "toolConfig", "system", "messages")
_LIMIT = 400


@dataclass(frozen=True, slots=True)
class Marker:
    """`ttl` is 5m, 1h, or "" where it is computed; `block` the display that carries the marker."""

    span: Span
    ttl: str
    block: Expr


def markers_of(shape: Shape, request: Request) -> list[Marker]:
    """The request's markers; names are followed within the file, loops count once."""
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
    found: list[Marker] = []
    stack = [root]
    seen: set[int] = set()
    for _ in range(_LIMIT):
        if not stack:
            break
        expr = stack.pop()
        # The same name twice in a request is the same markers twice; a loop through names is not followed.
        if id(expr) in seen:
            continue
        seen.add(id(expr))
        if expr.kind in ("name", "attribute"):
            value = shape.resolve(function, expr)
            below = [value] if value is not expr else []
            for call in shape.mutations(function, expr):
                if call.args and call.name.endswith((".append", ".extend")) and not call.conditions:
                    below.append(call.args[0])
        elif expr.kind == "dict":
            marker = expr.entries.get("cache_control") or expr.entries.get("cachePoint")
            below = [value for key, value in expr.entries.items() if key not in ("cache_control", "cachePoint")]
            if marker is not None and not _is_none(marker):
                # Placed behind the block's own parts, as the provider does.
                found.append(Marker(marker.span, _ttl(shape, function, marker), expr))
        elif expr.kind in ("list", "tuple", "star") or (expr.kind == "operation" and expr.name == "+"):
            below = expr.items
        elif expr.call is not None and expr.call.name in ("dict", "list"):
            below = [*expr.call.args, *expr.call.keywords.values()]
            marker = expr.call.keywords.get("cache_control")
            if marker is not None and not _is_none(marker):
                found.append(Marker(marker.span, _ttl(shape, function, marker), expr))
        else:
            below = []
        stack.extend(reversed(below))
    return found


def marked_lists(shape: Shape) -> Iterator[tuple[Expr, str]]:
    """List displays that are given a name or returned, and the function they stand in."""
    for binding in shape.view.bindings:
        if binding.value is not None and binding.value.kind == "list" and binding.operator in ("=", "return"):
            yield binding.value, binding.function


def marked_blocks(expr: Expr) -> bool:
    """Whether a display carries a marker itself."""
    return "cache_control" in expr.entries and not _is_none(expr.entries["cache_control"])


def _is_none(expr: Expr) -> bool:
    return expr.kind == "constant" and expr.value is None


def _ttl(shape: Shape, function: str, marker: Expr) -> str:
    value = shape.resolve(function, marker)
    fields = value.entries if value.kind == "dict" else value.call.keywords if value.call is not None else None
    if fields is None or (value.kind == "dict" and value.items):
        return ""
    ttl = fields.get("ttl")
    if ttl is None:
        return "5m" if value.kind == "dict" else ""
    ttl = shape.resolve(function, ttl)
    return ttl.value if ttl.kind == "constant" and isinstance(ttl.value, str) else ""
