"""Whether tool calls come back in the bytes in which the model made them.

No break between requests: the replay is the same each time. Engines and providers that cache what was generated miss
from there on, so that it is worth a line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_cachesafe.providers.checks.requests import Asked, messages_of

__all__ = ["rewritten_calls"]


def rewritten_calls(asked: Sequence[Asked]) -> Iterator[str]:
    """One line for the first call of a conversation whose arguments were written out anew."""
    made: dict[int, dict[str, str]] = {}
    told: set[int] = set()
    for item in asked:
        calls = made.setdefault(item.conversation, {})
        if item.conversation not in told:
            for path, name, arguments in _replayed(item):
                said = calls.get(name)
                if said is not None and said != arguments and _same(said, arguments):
                    told.add(item.conversation)
                    yield (
                        f"request {item.index}, {path}: tool-call arguments are not replayed in the bytes the model "
                        "made; no break here, but one where generated text is cached"
                    )
                    break
        calls.update(_generated(item.exchange.reply))


def _same(one: str, other: str) -> bool:
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


def _replayed(item: Asked) -> Iterator[tuple[str, str, str]]:
    """(path, call id, arguments) of every call in the history that has its arguments as text."""
    key = "input" if item.exchange.api == "responses" else "messages"
    for i, message in enumerate(messages_of(item.exchange)):
        if not isinstance(message, Mapping):
            continue
        if message.get("type") == "function_call":
            yield from _call(message.get("call_id"), message.get("arguments"), f"{key}[{i}].arguments")
        calls = message.get("tool_calls")
        for j, call in enumerate(calls if isinstance(calls, list) else []):
            function = call.get("function") if isinstance(call, Mapping) else None
            if isinstance(function, Mapping):
                path = f"{key}[{i}].tool_calls[{j}].function.arguments"
                yield from _call(call.get("id"), function.get("arguments"), path)


def _call(name: Any, arguments: Any, path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(name, str) and isinstance(arguments, str):
        yield path, name, arguments


def _generated(reply: Mapping[str, Any] | None) -> dict[str, str]:
    """call id -> arguments as the model wrote them."""
    found: dict[str, str] = {}
    if not isinstance(reply, Mapping):
        return found
    for item in _maps(reply.get("output")):
        if item.get("type") == "function_call":
            found.update({n: a for _, n, a in _call(item.get("call_id"), item.get("arguments"), "")})
    for choice in _maps(reply.get("choices")):
        message = choice.get("message")
        for call in _maps(message.get("tool_calls") if isinstance(message, Mapping) else None):
            function = call.get("function")
            if isinstance(function, Mapping):
                found.update({n: a for _, n, a in _call(call.get("id"), function.get("arguments"), "")})
    return found


def _maps(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
