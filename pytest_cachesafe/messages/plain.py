"""User data in, plain JSON containers out: a snapshot that later edits by the caller cannot reach.

A builder that edits its history in place between two requests must still be caught, so every request is copied.
Strings are shared, so a copy costs containers only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pytest_cachesafe.prompt import UsageError

__all__ = ["kind_of", "pydantic_dump", "snapshot", "type_of"]

# Packages whose pydantic objects go back over the wire with the keys that were set and no others.
_SDK_PACKAGES = ("openai", "anthropic", "groq", "mistralai", "together", "cerebras")


class _NotPlain(Exception):
    """Carries the place of a value upwards; becomes a `UsageError` at the root."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.steps: list[str] = []


def kind_of(value: Any) -> str:
    """The type of a value in words for messages ("a number", "a dict", "an object of type Foo")."""
    if value is None:
        return "None"
    for types, words in (
        (bool, "a boolean"),
        ((int, float), "a number"),
        (str, "a string"),
        (bytes, "bytes"),
        (Mapping, "a dict"),
        ((list, tuple), "a list"),
    ):
        if isinstance(value, types):
            return words
    return f"an object of type {type(value).__name__}"


def type_of(block: Any) -> str | None:
    """The `type` of a dict (or None): data from a user may hold anything there."""
    kind = block.get("type") if isinstance(block, Mapping) else None
    return kind if isinstance(kind, str) else None


def package_of(value: Any) -> str:
    """Top-level package that defines the type of a value."""
    return str(type(value).__module__).partition(".")[0]


def pydantic_dump(value: Any) -> dict[str, Any]:
    """What an SDK sends for a pydantic object: only what was set, by alias, JSON types where possible."""
    package = package_of(value)
    # google.genai sends what is not None; the OpenAI-style clients what was set; others are sent whole.
    unset, none = package in _SDK_PACKAGES, package == "google"
    for mode in ("json", "python"):
        try:
            dumped: dict[str, Any] = value.model_dump(
                mode=mode, by_alias=True, exclude_unset=unset, exclude_none=none, warnings=False
            )
            return dumped
        except Exception:
            # Bytes that are no UTF-8 and user types without a JSON form fail in "json"; `snapshot` judges the rest.
            if mode == "python":
                raise
    raise AssertionError("unreachable")


def _scalar(value: Any) -> Any:
    """JSON form of a leaf, the one the SDKs' own encoders produce; bytes stay (images), for they are never text."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, int, float, bytes)):
        return value
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (UUID, PurePath, Decimal)):
        return str(value)
    raise _NotPlain(f"is {kind_of(value)}, which has no JSON form")


def _copy(value: Any, callables: bool) -> Any:
    kind = type(value)
    if kind is str or kind is int or kind is bool or kind is float or value is None:
        return value
    if kind is dict or isinstance(value, Mapping):
        out: dict[str, Any] = {}
        for key, item in value.items():
            try:
                out[key if type(key) is str else _key(key)] = _copy(item, callables)
            except _NotPlain as fault:
                fault.steps.append(f".{key}")
                raise
        return out
    if kind is list or kind is tuple:
        copied: list[Any] = []
        for index, item in enumerate(value):
            try:
                copied.append(_copy(item, callables))
            except _NotPlain as fault:
                fault.steps.append(f"[{index}]")
                raise
        return copied
    if callable(getattr(value, "model_dump", None)) and not isinstance(value, type):
        return _copy(pydantic_dump(value), callables)
    if is_dataclass(value) and not isinstance(value, type):
        # Not dataclasses.asdict: it deep-copies, and a field may hold an image.
        return _copy({f.name: getattr(value, f.name) for f in fields(value)}, callables)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _copy(value._asdict(), callables)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        return _copy(list(value), callables)
    if isinstance(value, (set, frozenset)):
        raise _NotPlain("is a set: its order differs between processes; give a list")
    if callables and callable(value):
        return value
    if isinstance(value, bytearray):
        return bytes(value)
    return _scalar(value)


def _key(key: Any) -> str:
    """Keys as `json.dumps` writes them."""
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return str(key)
    if key is None or isinstance(key, (bool, int, float)):
        return json.dumps(key)
    raise _NotPlain(f"has a key that is {kind_of(key)}; JSON keys are strings")


def snapshot(value: Any, where: str, *, callables: bool = False) -> Any:
    """A deep copy in plain containers; `where` is the JSON path of `value` for messages.

    `callables` keeps functions (tools given as Python functions).

    Raises:
        UsageError: a value has no JSON form (named with its path), or the data refer to themselves.
    """
    try:
        return _copy(value, callables)
    except _NotPlain as fault:
        path = (where + "".join(reversed(fault.steps))).lstrip(".")
        raise UsageError(f"{path} {fault.why}") from None
    except RecursionError:
        raise UsageError(f"{where} is nested too deeply or contains itself; give plain JSON data") from None
