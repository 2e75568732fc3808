"""Cause classes for differences in the request's own data: tools, system text, messages."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_cachesafe.findings import Origin
from pytest_cachesafe.prefix.common import common_prefix
from pytest_cachesafe.prefix.datadiff import Difference, first_difference
from pytest_cachesafe.prefix.view import canonical
from pytest_cachesafe.values import classify_change

__all__ = ["STRUCTURAL", "message_cause", "system_cause", "tools_cause"]

# Causes that concern a message as a whole; others are told by the text at the place.
STRUCTURAL = frozenset({"history_shifted", "reasoning_dropped", "tool_arguments_reserialised", "order"})

_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
_THINKING_BLOCKS = ("thinking", "redacted_thinking", "reasoning")


def tools_cause(a: Any, b: Any) -> tuple[str, str | None]:
    """`order` for the same tools (or the same schema keys) in another order, else what changed inside."""
    a, b = _declared(a), _declared(b)
    if a and Counter(map(canonical, a)) == Counter(map(canonical, b)):
        return "order", None
    found = first_difference(a, b)
    return _leaf_cause(found, "tools_changed")


def _declared(tools: Any) -> list[Any]:
    """Tools one by one; Gemini lists several declarations in one entry."""
    out: list[Any] = []
    for tool in tools or ():
        nested = None
        if isinstance(tool, Mapping):
            nested = tool.get("functionDeclarations") or tool.get("function_declarations")
        out += nested if isinstance(nested, list) else [tool]
    return out


def system_cause(a: Any, b: Any) -> tuple[str, str | None]:
    """Cause of a changed system text given outside the message list."""
    return _leaf_cause(first_difference(_flat(a), _flat(b)), "system_changed")


def message_cause(
    a: Sequence[Any], b: Sequence[Any], i: int, j: int, *, system: bool, found: Difference | None = None
) -> tuple[str, Origin, str | None]:
    """Cause of a difference between message `i` of one list and message `j` of the other (both exist).

    `found` is the difference to explain, where it is known which one shows; default: the first.
    """
    one, other = a[i], b[j]
    if system:
        cause, granularity = _leaf_cause(first_difference(_flat_content(one), _flat_content(other)), "system_changed")
        return cause, "application", granularity
    if _is_reasoning_item(one) != _is_reasoning_item(other):
        return "reasoning_dropped", "application", None
    shifted = _shift(a, b, i, j)
    if shifted is not None:
        return shifted, "application", None
    found = found or first_difference(_flat_content(one), _flat_content(other))
    if found is None:
        return "edited_history", "application", None
    if _reasoning_gone(one, other, found):
        return "reasoning_dropped", "application", None
    if _same_arguments(found):
        return "tool_arguments_reserialised", "framework", None
    cause, granularity = _leaf_cause(found, "edited_history")
    return cause, "application", granularity


def _shift(a: Sequence[Any], b: Sequence[Any], i: int, j: int) -> str | None:
    """Whether the messages from here on reappear elsewhere on the other side."""
    rest_a, rest_b = [canonical(_bare(m)) for m in a[i:]], [canonical(_bare(m)) for m in b[j:]]
    if rest_a[0] == rest_b[0]:
        # The same message in its own place, with keys in another order.
        return None
    if len(rest_a) == len(rest_b) and Counter(rest_a) == Counter(rest_b):
        return "order"
    if rest_a[0] in rest_b or rest_b[0] in rest_a:
        return "history_shifted"
    role_a, role_b = (m.get("role") if isinstance(m, Mapping) else None for m in (a[i], b[j]))
    return "history_shifted" if role_a != role_b else None


def _bare(message: Any) -> Any:
    """A message without cache markers, a lone text block as string: what makes it the same message."""
    if not isinstance(message, Mapping):
        return message
    content = message.get("content")
    if isinstance(content, list):
        content = [
            {k: v for k, v in x.items() if k != "cache_control"} if isinstance(x, Mapping) else x for x in content
        ]
    return _flat_content({**message, "content": content})


def _is_reasoning_item(message: Any) -> bool:
    return isinstance(message, Mapping) and message.get("type") == "reasoning"


def _reasoning_gone(one: Any, other: Any, found: Difference) -> bool:
    if found.path.split(".")[0].split("[")[0] in _REASONING_KEYS and found.present != (True, True):
        return True
    if _thinking(one) == _thinking(other):
        return False
    without = [_without_thinking(m) for m in (one, other)]
    return without[0] is not None and without[1] is not None and _one_begins(*without)


def _thinking(message: Any) -> int:
    """Number of thinking blocks in a message."""
    content = message.get("content") if isinstance(message, Mapping) else None
    blocks = content if isinstance(content, list) else []
    return sum(isinstance(x, Mapping) and x.get("type") in _THINKING_BLOCKS for x in blocks)


def _without_thinking(message: Any) -> list[Any] | None:
    """The content blocks but for thinking ones; None if there is no block list."""
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(content, list):
        return None
    return [x for x in content if not (isinstance(x, Mapping) and x.get("type") in _THINKING_BLOCKS)]


def _one_begins(a: list[Any] | None, b: list[Any] | None) -> bool:
    return a is not None and b is not None and [canonical(x) for x in a] == [canonical(x) for x in b]


def _same_arguments(found: Difference) -> bool:
    """The same tool-call arguments, as text with other spacing or key order, or once as text and once as mapping."""
    if "arguments" not in found.path and "input" not in found.path and "args" not in found.path:
        return False
    if found.present != (True, True):
        return False
    values = []
    for value in (found.before, found.after):
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                return False
        values.append(canonical(value))
    return values[0] == values[1]


def _leaf_cause(found: Difference | None, otherwise: str) -> tuple[str, str | None]:
    if found is None:
        return otherwise, None
    if isinstance(found.before, Mapping) and isinstance(found.after, Mapping):
        return ("order", None) if canonical(found.before) == canonical(found.after) else (otherwise, None)
    if not isinstance(found.before, str) or not isinstance(found.after, str):
        return otherwise, None
    at = common_prefix(found.before, found.after)
    cause, one, other = classify_change(found.before, found.after, at)
    if cause == "other":
        return otherwise, None
    return cause, (one.granularity if one else None) or (other.granularity if other else None)


def _flat(system: Any) -> Any:
    """A string and one text block mean the same to providers."""
    if isinstance(system, list) and len(system) == 1 and isinstance(system[0], Mapping):
        block = system[0]
        if "text" in block and set(block) <= {"type", "text", "cache_control"}:
            return block["text"]
    return system


def _flat_content(message: Any) -> Any:
    if isinstance(message, Mapping) and "content" in message:
        return {**message, "content": _flat(message["content"])}
    return message
