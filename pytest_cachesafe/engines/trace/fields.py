"""The fields of a line beside the prompt: who sent it, under which namespace, what came back."""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from datetime import datetime, timezone
from math import isfinite
from typing import Any

from pytest_cachesafe.engines.token_ids import pack, unpack
from pytest_cachesafe.engines.trace.entry import BadEntry
from pytest_cachesafe.usage import UsageError

__all__ = ["FIELDS", "check_ids", "read_fields"]

# What a line may say beside its prompt; `cache_salt` is the name that vLLM's requests have for `salt`.
FIELDS = frozenset(
    ("cache_salt", "conversation", "lora", "output_token_ids", "replica", "salt", "tag", "tenant", "timestamp")
)
_TEXTS = ("tag", "tenant", "conversation", "replica", "salt", "cache_salt")
# Names of tags and tenants are kept as long as the replay runs.
_LONGEST = 500


def check_ids(ids: Any, name: str = "prompt_token_ids") -> list[int]:
    """A list of token ids as plain whole numbers.

    Marshalling them is the fastest way to see the type and size of each: it writes a whole number of 32 bits as the
    letter i and 4 bytes, the lowest first.

    Raises:
        BadEntry: no list, or something in it that is no whole number from 0 to 2**31 - 1.
    """
    if type(ids) is list:
        try:
            data = marshal.dumps(ids, 2)
        except ValueError:
            data = b""
        # The highest byte of a number that is not negative is below 128.
        if data[5::5] == b"i" * len(ids) and data[9::5].isascii():
            return ids
    if isinstance(ids, (str, bytes, bytearray, Mapping)) or not hasattr(ids, "__len__"):
        raise BadEntry(f"{name} is {_kind(ids)}; a list of token ids is meant")
    try:
        # Whole numbers of other libraries, other kinds of lists.
        return list(unpack(pack(ids, name)))
    except UsageError:
        pass
    for index, item in enumerate(ids):
        if isinstance(item, bool) or not hasattr(item, "__index__") or not 0 <= item.__index__() < 2**31:
            raise BadEntry(f"{name}[{index}] is {_kind(item)}; token ids are whole numbers from 0 to {2**31 - 1}")
    raise BadEntry(f"{name} is {_kind(ids)}; a list of token ids is meant")


def _kind(value: Any) -> str:
    """What something is, short, and without the text it may hold."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        text = f"{value!r}" if not isinstance(value, int) or abs(value) < 10**18 else "a huge number"
        return text if len(text) <= 24 else "a number"
    names = {"str": "a string", "list": "a list", "dict": "an object", "tuple": "a list"}
    return names.get(type(value).__name__, type(value).__name__)


def read_fields(line: Mapping[str, Any], ticks: float = 1.0) -> dict[str, Any] | None:
    """The optional fields of a line, None where it has none.

    Args:
        line: the object.
        ticks: of a number in `timestamp` to the second.

    Raises:
        BadEntry: a field of the wrong type.
    """
    if FIELDS.isdisjoint(line):
        return None
    found: dict[str, Any] = {}
    for name in _TEXTS:
        value = line.get(name)
        if value is None:
            continue
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise BadEntry(f"{name} is {_kind(value)}; text is meant")
        if len(value) > _LONGEST:
            raise BadEntry(f"{name} has {len(value):,} characters; at most {_LONGEST}")
        found["salt" if name == "cache_salt" else name] = value
    if line.get("salt") is not None and line.get("cache_salt") not in (None, line["salt"]):
        raise BadEntry("salt and cache_salt differ; one of them is meant")
    if line.get("lora") is not None:
        found["lora"] = _lora(line["lora"])
    if line.get("output_token_ids") is not None:
        found["output_ids"] = check_ids(line["output_token_ids"], "output_token_ids")
    if line.get("timestamp") is not None:
        found["timestamp"] = _seconds(line["timestamp"], ticks)
    return found


def _lora(value: Any) -> str | tuple[str, str]:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(v, str) and v for v in value):
        return (value[0], value[1])
    raise BadEntry(f"lora is {_kind(value)}; the adapter's name, or [name, path], is meant")


def _seconds(value: Any, ticks: float) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e18 and isfinite(value):
        return value / ticks
    if isinstance(value, str):
        try:
            # Python 3.10 does not read the Z of UTC.
            moment = datetime.fromisoformat(value[:-1] + "+00:00" if value.endswith("Z") else value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
        except (ValueError, OverflowError):
            pass
    raise BadEntry(f"timestamp is {_kind(value)}; seconds (Mooncake: milliseconds) or an ISO date and time is meant")
