"""Message objects of frameworks and SDKs, recognised by module and attributes: none of those packages is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

from pytest_cachesafe.messages import langchain, pydantic_ai
from pytest_cachesafe.messages.plain import kind_of, package_of, snapshot
from pytest_cachesafe.prompt import UsageError

__all__ = [
    "is_framework_dict",
    "is_message_object",
    "is_prompt_value",
    "plain_messages",
    "prompt_value_messages",
]


def is_prompt_value(obj: Any) -> bool:
    """Whether `obj` is LangChain's formatted prompt, which holds messages."""
    return package_of(obj).startswith("langchain") and callable(getattr(obj, "to_messages", None))


def prompt_value_messages(obj: Any) -> list[Any]:
    """The messages of LangChain's formatted prompt."""
    return list(obj.to_messages())


def is_framework_dict(obj: Mapping[str, Any]) -> bool:
    """Whether a dict without role is a message as LangChain or pydantic-ai store it."""
    return langchain.is_stored(obj) or pydantic_ai.is_message(obj)


def is_message_object(obj: Any) -> bool:
    """Whether an object (not a dict) is a message or an item of a wire format."""
    if obj is None or isinstance(obj, (str, bytes, int, float, list, type)):
        return False
    if langchain.is_message(obj) or langchain.is_pair(obj) or pydantic_ai.is_message(obj):
        return True
    if isinstance(obj, tuple) and not hasattr(obj, "_asdict"):
        return False
    if callable(getattr(obj, "model_dump", None)) or is_dataclass(obj):
        return any(hasattr(obj, name) for name in ("role", "type", "parts"))
    return hasattr(obj, "role") and hasattr(obj, "content")


def plain_messages(items: Sequence[Any], key: str) -> tuple[list[Any], list[str], list[str] | None]:
    """(plain messages, notes, paths) for a list of messages of any kind, in order.

    `key` names the list in messages ("messages", "input", "contents"). Paths are None where item i became message i.

    Raises:
        UsageError: an item is no message; the line names it.
    """
    out: list[Any] = []
    paths: list[str] = []
    notes: list[str] = []
    system_ends = pydantic_ai.Instructions()
    expanded = False
    for index, item in enumerate(items):
        path = f"{key}[{index}]"
        if pydantic_ai.is_message(item):
            expanded = True
            for message, where in pydantic_ai.convert(item, path, notes):
                out.append(message)
                paths.append(where)
            system_ends.note(item, len(out))
        elif langchain.is_message(item) or langchain.is_pair(item) or langchain.is_stored(item):
            out.append(langchain.convert(item, path, notes))
            paths.append(path)
        else:
            out.append(_plain(item, path, key))
            paths.append(path)
    if system_ends:
        system_ends.insert(out, paths)
    return out, notes, paths if expanded else None


def _plain(item: Any, path: str, key: str) -> Any:
    if isinstance(item, str):
        if key in ("input", "contents"):
            return item
        raise UsageError(f"{path} is a string; a message (a dict with role and content) is meant")
    if isinstance(item, int) and not isinstance(item, bool):
        raise UsageError(f"{path} is a number; token ids mixed with messages cannot be compared")
    if isinstance(item, Mapping):
        return snapshot(item, path)
    if is_message_object(item):
        if not callable(getattr(item, "model_dump", None)) and not is_dataclass(item):
            item = item._asdict() if hasattr(item, "_asdict") else vars(item)
        plain = snapshot(item, path)
        if isinstance(plain, dict):
            return plain
    raise UsageError(f"{path} is {kind_of(item)}; a message (a dict with role and content) is meant")
