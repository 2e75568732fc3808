"""Requests as JSON lines, to keep and to hand on: one object a line, which `cachesafe check` and `jq` read.

A line holds `provider`, `api`, `model`, `path`, `body` and what else is known of the exchange. Never in it: keys, the
query of the URL, headers that are not on the list of `redact.KEPT_HEADERS`, names of users.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pytest_cachesafe.providers.capture.compact import HEAD, Sharer
from pytest_cachesafe.providers.capture.mask import Mask, Redaction
from pytest_cachesafe.providers.capture.readers.read import read_exchanges
from pytest_cachesafe.providers.capture.redact import kept_headers
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.usage import UsageError

__all__ = ["exchange_from", "exchange_line", "exchange_lines", "read_exchanges", "write_exchanges"]

# The body last: whoever looks at a line sees what it is first.
_ORDER = (
    *("provider", "api", "model", "path", "host", "headers", "scope", "sent_at", "began_at", "attempt", "stream"),
    *("status", "usage", "predicted", "library", "line", "omits", "body", "source", "reply"),
)
# What an exchange has without anybody saying so.
_DEFAULTS = {f.name: f.default for f in fields(Exchange)}


def exchange_line(exchange: Exchange, mask: Mask | None = None) -> str:
    """One exchange as one line of JSON, without the line break; ASCII, so that any tool reads it.

    Args:
        exchange: what was sent; it is left as it is.
        mask: what of the texts may be written; None: all of them, but no keys and users.

    Raises:
        UsageError: a body that JSON cannot hold.
    """
    return _lines(exchange, mask or Mask(), None)[-1]


def _lines(exchange: Exchange, mask: Mask, sharer: Sharer | None) -> list[str]:
    """The line of an exchange, behind those of the values that are new in it."""
    out: dict[str, Any] = {}
    for name in _ORDER:
        value = getattr(exchange, name)
        if name == "headers":
            value = kept_headers({key.lower(): text for key, text in value.items()})
        elif name in ("body", "source", "reply") and value is not None:
            value = mask.value(value)
        elif name == "path" and value is not None:
            value = value.partition("?")[0]
        elif name == "omits" and mask.mode == "hash":
            value = sorted({*value, "texts"})
        if value in (None, {}, (), []) or (name not in ("provider", "api", "body") and value == _DEFAULTS[name]):
            if name != "body":
                continue
            value = value or {}
        out[name] = value
    if mask.mode != "none":
        out["redacted"] = mask.mode
    new: list[str] = []
    try:
        if sharer is not None:
            new, out["body"] = sharer.body(out["body"])
        return [*new, json.dumps(out, separators=(",", ":"), allow_nan=False)]
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"a request to {exchange.path or exchange.api} cannot be written as JSON: {error}") from None


def exchange_lines(
    exchanges: Iterable[Exchange], redact: Redaction = "none", *, compact: bool = False, secret: bytes | None = None
) -> Iterator[str]:
    """The lines of several exchanges; see `write_exchanges` for the arguments.

    Raises:
        UsageError: an unknown mode, or a body that JSON cannot hold.
    """
    mask = Mask(redact, secret=secret)
    sharer = Sharer() if compact else None
    if compact:
        yield HEAD
    for exchange in exchanges:
        yield from _lines(exchange, mask, sharer)


def write_exchanges(
    path: str | os.PathLike[str],
    exchanges: Iterable[Exchange],
    redact: Redaction = "none",
    *,
    compact: bool = False,
    secret: bytes | None = None,
) -> int:
    """Write exchanges as JSON lines, readable by their owner only (mode 0600); returns how many.

    The file appears when all is written: a reader sees the old content or the new, never a part.

    Args:
        path: file to write; a link is followed.
        exchanges: in order.
        redact: "none", "hash" (equal texts stay equal; prefixes can be compared) or "text" (lengths only; `check`
            refuses such a file).
        compact: write what requests repeat once (see `compact`): to keep, not to hand on.
        secret: of the checksums, to get the same ones in several files.

    Raises:
        UsageError: the folder is missing or not writable, an unknown mode, or a body that JSON cannot hold.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise UsageError(f"cannot write {os.fspath(path)!r}: it is a directory; name a file")
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
    count = [0]
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="ascii", newline="\n") as file:
                for line in exchange_lines(_counted(exchanges, count), redact, compact=compact, secret=secret):
                    file.write(line)
                    file.write("\n")
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"cannot write {os.fspath(path)!r}: {error.strerror or error}") from None
    return count[0]


def _counted(exchanges: Iterable[Exchange], count: list[int]) -> Iterator[Exchange]:
    for exchange in exchanges:
        count[0] += 1
        yield exchange


def exchange_from(line: Mapping[str, Any], where: str) -> Exchange:
    """The exchange of a parsed line; keys of others than ours are left aside.

    Raises:
        UsageError: texts that are gone, or a value of the wrong kind.
    """
    if line.get("redacted") == "text":
        raise UsageError(f"{where}: written without texts, nothing can be compared; redact with 'hash' instead")
    known = {f.name for f in fields(Exchange)}
    given = {name: value for name, value in line.items() if name in known and value is not None}
    for name, kind, words in _KINDS:
        value = given.get(name)
        if value is not None and (not isinstance(value, kind) or (kind is not bool and isinstance(value, bool))):
            raise UsageError(f"{where}: {name} must be {words}, not {type(value).__name__}")
    given["omits"] = tuple(given.get("omits", ()))
    given["headers"] = kept_headers(
        {key.lower(): text for key, text in given.get("headers", {}).items() if isinstance(text, str)}
    )
    if "path" in given:
        given["path"] = given["path"].partition("?")[0]
    return Exchange(**given)


_KINDS: tuple[tuple[str, Any, str], ...] = (
    *((name, str, "a string") for name in ("model", "path", "host", "scope", "library", "line")),
    *((name, (int, float), "a number of seconds") for name in ("sent_at", "began_at")),
    *((name, int, "a whole number") for name in ("attempt", "status")),
    *((name, bool, "true or false") for name in ("stream", "predicted")),
    *((name, Mapping, "an object") for name in ("headers", "body", "reply", "usage", "source")),
    ("omits", (list, tuple), "a list"),
)
