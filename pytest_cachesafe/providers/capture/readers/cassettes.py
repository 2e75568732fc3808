"""VCR cassettes (vcrpy, pytest-recording): the requests to models in them, with the replies that were recorded.

Format: version 1 of vcrpy's cassettes, YAML or JSON (vcrpy 9.4, read 2026-11-30). Requests to anything else (token
counting, embeddings, other hosts) are left aside.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from pytest_cachesafe.providers.capture.assemble import assembled, usage_of
from pytest_cachesafe.providers.capture.readers.pool import Pool
from pytest_cachesafe.providers.capture.recognise import recognise, target_of
from pytest_cachesafe.providers.capture.redact import attempt_of, kept_headers, lower_headers, scope_of
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.usage import UsageError

__all__ = ["cassette", "parse_yaml"]


def parse_yaml(text: str, name: str) -> Any:
    """The document of a YAML cassette.

    Only data is made: strings, bytes, numbers, lists and maps, and the tags vcrpy writes for strings, tuples and
    buffers; every other tag is refused.

    Raises:
        UsageError: PyYAML is missing, not YAML, a tag that would build an object.
    """
    try:
        yaml: Any = import_module("yaml")
    except ImportError:
        raise UsageError(
            f"{name}: a YAML cassette; reading it needs PyYAML: pip install pyyaml (or record with serializer='json')"
        ) from None
    # The C parser is ten times faster on the long strings of cassettes.
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("_Loader", (base,), {})

    def text_of(loader: Any, node: Any) -> Any:
        return loader.construct_scalar(node)

    def buffer_of(loader: Any, node: Any) -> Any:
        state = loader.construct_mapping(node, deep=True).get("state") or (b"",)
        return state[0] if state else b""

    def list_of(loader: Any, node: Any) -> Any:
        return loader.construct_sequence(node, deep=True)

    for tag in ("str", "unicode"):
        loader.add_constructor(f"tag:yaml.org,2002:python/{tag}", text_of)
    loader.add_constructor("tag:yaml.org,2002:python/tuple", list_of)
    loader.add_constructor("tag:yaml.org,2002:python/object/new:_io.BytesIO", buffer_of)
    try:
        return yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1} column {mark.column + 1}" if mark is not None else ""
        words = " ".join(str(getattr(error, "problem", None) or error).split())
        raise UsageError(f"{name}: not a cassette{place}: {words}") from None
    except RecursionError:
        raise UsageError(f"{name}: nested too deeply") from None


def cassette(document: Any, name: str) -> list[Exchange]:
    """The requests to models in a parsed cassette, in order.

    Raises:
        UsageError: no interactions, one without request, no request to a model, a body that is no JSON.
    """
    interactions = document.get("interactions") if isinstance(document, Mapping) else None
    if not isinstance(interactions, list):
        raise UsageError(f"{name}: a cassette has a list of interactions; this one has none")
    pool, out, others = Pool(), [], Counter[str]()
    for n, interaction in enumerate(interactions):
        where = f"{name}: interaction {n}"
        request = interaction.get("request") if isinstance(interaction, Mapping) else None
        if not isinstance(request, Mapping) or not isinstance(request.get("uri"), str):
            raise UsageError(f"{where}: has no request with a uri")
        found = _exchange(request, where, pool)
        if isinstance(found, str):
            others[found] += 1
            continue
        response = interaction.get("response")
        if isinstance(response, Mapping):
            _answer(found, response)
        out.append(found)
    if not out:
        seen = f"; it has {', '.join(f'{n} x {what}' for what, n in others.most_common(4))}" if others else ""
        raise UsageError(f"{name}: no request to a model in this cassette{seen}")
    return out


def _exchange(request: Mapping[str, Any], where: str, pool: Pool) -> Exchange | str:
    """The exchange of a request, or what else it is."""
    headers = lower_headers(_headers(request.get("headers")))
    method, uri = str(request.get("method", "POST")), request["uri"]
    found = recognise(method, uri, headers, None)
    if found.kind != "generate" and found.kind != "unknown":
        return found.name
    if found.kind == "unknown":
        return f"{method} to {found.host or 'another host'}"
    data = _plain(_bytes(_recorded(request, "body")), headers.get("content-encoding", ""))
    try:
        body = json.loads(data)
    except RecursionError:
        raise UsageError(f"{where}: the body is nested too deeply") from None
    except (ValueError, UnicodeDecodeError):
        raise UsageError(f"{where}: the body of {found.name} is no JSON ({len(data):,} bytes)") from None
    if not isinstance(body, dict):
        raise UsageError(f"{where}: the body of {found.name} is JSON, but no object")
    found = recognise(method, uri, headers, body)
    if found.kind != "generate" or found.provider is None or found.api is None:
        return found.name
    return Exchange(
        found.provider,
        found.api,
        pool.body(body),
        model=found.model,
        path=found.path,
        host=found.host,
        headers=kept_headers(headers),
        scope=scope_of(target_of(uri), headers),
        attempt=attempt_of(headers),
        stream=found.stream,
    )


def _answer(exchange: Exchange, response: Mapping[str, Any]) -> None:
    status = response.get("status")
    code = status.get("code") if isinstance(status, Mapping) else status
    # httpx recordings of older versions keep the code beside the headers.
    code = response.get("status_code", code)
    exchange.status = code if isinstance(code, int) else None
    headers = lower_headers(_headers(response.get("headers")))
    body = _recorded(response, "body", "content")
    data = _plain(_bytes(body), headers.get("content-encoding", ""))
    if data:
        exchange.reply = assembled(data, headers.get("content-type", ""), exchange.api)
    if exchange.reply is not None:
        exchange.usage = usage_of(exchange.reply, exchange.api)


def _recorded(message: Mapping[str, Any], *names: str) -> Any:
    """The body of a message; projects that want to read their cassettes keep the JSON itself, as `parsed_body`."""
    found = next((message[name] for name in names if message.get(name) not in (None, "", b"")), None)
    return message.get("parsed_body") if found is None else found


def _headers(given: Any) -> Iterator[tuple[str, str]]:
    """Headers as (name, value): cassettes keep lists of values, or a value."""
    pairs: Iterable[tuple[Any, Any]] = given.items() if isinstance(given, Mapping) else ()
    for name, values in pairs:
        for value in values if isinstance(values, (list, tuple)) else [values]:
            if isinstance(value, bytes):
                value = value.decode("latin-1")
            yield str(name), str(value)


def _bytes(body: Any) -> bytes:
    """A body as it went over the wire; binary ones are bytes in YAML and, in some JSON cassettes, base64."""
    if isinstance(body, Mapping):
        if isinstance(body.get("base64_string"), str):
            try:
                return b64decode(body["base64_string"])
            except ValueError:
                return b""
        if "string" in body:
            body = body["string"]
    if isinstance(body, list) and all(isinstance(part, (bytes, str)) for part in body):
        return b"".join(map(_bytes, body))
    if isinstance(body, str):
        return body.encode("utf-8", "surrogateescape")
    if isinstance(body, bytes):
        return body
    return b"" if body is None else json.dumps(body).encode()


def _plain(data: bytes, encoding: str) -> bytes:
    """Unpacked where it is packed: some recorders keep the header and not the packing."""
    if encoding in ("gzip", "x-gzip", "deflate") or data[:2] == b"\x1f\x8b":
        try:
            return zlib.decompressobj(47).decompress(data)
        except zlib.error:
            return data
    return data
