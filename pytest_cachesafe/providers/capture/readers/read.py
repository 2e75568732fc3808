"""Which kind a file is, and its requests."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from pytest_cachesafe.providers.capture.compact import is_compact, unshared
from pytest_cachesafe.providers.capture.readers.text import decoded, json_values, read_bytes
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.usage import UsageError

__all__ = ["parse_exchanges", "read_exchanges"]

_CASSETTE = re.compile(r"(?:^|\n)interactions:", re.ASCII)


def read_exchanges(
    source: str | os.PathLike[str], *, provider: str | None = None, model: str | None = None
) -> list[Exchange]:
    """The requests in a file, whatever wrote it: our JSON lines, bare wire bodies, a VCR cassette, spans.

    Args:
        source: path, "-" for standard input, or the text itself (a string of several lines, or one that begins like
            JSON).
        provider: whose bodies they are, where a line does not say; None: what the body looks like.
        model: of requests that name none.

    Raises:
        UsageError: unreadable, of no known kind, no request in it, a body of another provider; one line that says
            where.
    """
    if isinstance(source, str) and ("\n" in source or source.lstrip()[:1] in ("{", "[")):
        return parse_exchanges(source, provider=provider, model=model)
    name = "standard input" if source == "-" else os.fspath(source)
    return parse_exchanges(decoded(read_bytes(source), name), name, provider=provider, model=model)


def parse_exchanges(
    text: str, name: str = "requests", *, provider: str | None = None, model: str | None = None
) -> list[Exchange]:
    """The requests in a text; `name` stands in errors. See `read_exchanges`."""
    if not text.strip():
        raise UsageError(f"{name}: is empty; requests as JSON lines, a cassette or exported spans are meant")
    if text.lstrip()[:1] not in ("{", "[") and _CASSETTE.search(text):
        from pytest_cachesafe.providers.capture.readers.cassettes import cassette, parse_yaml

        return cassette(parse_yaml(text, name), name)
    values = json_values(text, name)
    first = values[0][1]
    if is_compact(first):
        values = list(unshared(values, name))
        if not values:
            raise UsageError(f"{name}: no requests in it")
        first = values[0][1]
    if len(values) == 1 and isinstance(first, Mapping) and isinstance(first.get("interactions"), list):
        from pytest_cachesafe.providers.capture.readers.cassettes import cassette

        return cassette(first, name)
    from pytest_cachesafe.providers.capture.readers.spans import exchanges_of_spans, spans_in

    spans = spans_in(value for _, value in values)
    if spans is not None:
        return exchanges_of_spans(spans, name, provider=provider)
    from pytest_cachesafe.providers.capture.readers.lines import exchange_of_line
    from pytest_cachesafe.providers.capture.readers.pool import Pool

    pool = Pool()
    return [exchange_of_line(item, where, provider, model, pool) for where, item in _items(values, name)]


def _items(values: list[tuple[int, Any]], name: str) -> list[tuple[str, Any]]:
    """Each request with the words for its place."""
    if len(values) > 1:
        return [(f"{name}: line {row}", value) for row, value in values]
    value = values[0][1]
    if isinstance(value, Mapping) and isinstance(value.get("requests"), list):
        value = value["requests"]
    if not isinstance(value, list):
        return [(name, value)]
    if not value:
        raise UsageError(f"{name}: an empty list: no requests")
    if all(isinstance(item, Mapping) and "role" in item and "messages" not in item for item in value):
        raise UsageError(f'{name}: a list of messages where requests are meant: write {{"messages": […], …}} a line')
    return [(f"{name}: request {n}", item) for n, item in enumerate(value)]
