"""Where the tools of a request stand: in a field of their own, or inside of the one that a provider wraps them in."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.model import Expr
from cachesafe_rules.shape import Request, Shape

__all__ = ["FIELDS", "tool_values", "unwrapped"]

_PLAIN = ("tools", "functions")
# Bedrock: `toolConfig={"tools": [...]}`.
_WRAPPED = "toolConfig"
FIELDS = frozenset({*_PLAIN, _WRAPPED})
# Gemini: `tools=[Tool(function_declarations=[...])]`.
_DECLARED = ("function_declarations", "functionDeclarations")


def tool_values(shape: Shape, request: Request) -> Iterator[Expr]:
    """The lists of tools that a request sends, in the order of its fields."""
    for field in (*_PLAIN, _WRAPPED):
        if field in request.fields:
            yield from unwrapped(shape, request.function, field, request.fields[field])


def unwrapped(shape: Shape, function: str, field: str, value: Expr) -> Iterator[Expr]:
    """The lists of tools in the value of a field."""
    if field == _WRAPPED:
        inner = _entries(shape, function, value).get("tools")
        if inner is not None:
            yield inner
        return
    yield value
    whole = shape.resolve(function, value)
    for item in whole.items if whole.kind == "list" else ():
        entries = _entries(shape, function, item)
        yield from (entries[key] for key in _DECLARED if key in entries)


def _entries(shape: Shape, function: str, value: Expr) -> dict[str, Expr]:
    found = shape.resolve(function, value)
    return found.call.keywords if found.call is not None else found.entries
