"""OpenTelemetry GenAI spans: the requests that instrumentation wrote down, as bodies of their providers.

Attributes: OpenTelemetry semantic conventions for generative AI, model spans, `gen_ai.input.messages` and its JSON
schema (v1.41 and semantic-conventions-genai 0.1.0, read 2026-11-30). Exports read: OTLP JSON (one document, or one a
line as the Collector's file exporter writes), and spans as the Python SDK prints them.

A span shows texts, tools and counters. It shows neither cache markers nor most settings, nor the exact bytes: every
exchange says so in `omits`, and nothing may be concluded from their absence.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from pytest_cachesafe.configuration import closest
from pytest_cachesafe.providers.capture.readers.pool import Pool
from pytest_cachesafe.providers.capture.readers.span_bodies import BODIES, REPLIES
from pytest_cachesafe.providers.exchange import APIS, Api, Exchange
from pytest_cachesafe.usage import UsageError

__all__ = ["exchanges_of_spans", "spans_in"]

# `gen_ai.provider.name`, or `gen_ai.system` before it; names of the conventions and of instrumentations in use.
_APIS: dict[str, Api] = {
    "anthropic": "messages",
    "openai": "chat",
    "azure.ai.openai": "chat",
    "azure.ai.inference": "chat",
    "az.ai.openai": "chat",
    "az.ai.inference": "chat",
    "azure": "chat",
    "gcp.gemini": "gemini",
    "gcp.gen_ai": "gemini",
    "gcp.vertex_ai": "gemini",
    "gemini": "gemini",
    "vertex_ai": "gemini",
    "google": "gemini",
    "google-gla": "gemini",
    "google-vertex": "gemini",
    "aws.bedrock": "converse",
    "aws_bedrock": "converse",
    "bedrock": "converse",
    "deepseek": "chat",
    "groq": "chat",
    "mistral_ai": "chat",
    "mistral": "chat",
    "openrouter": "chat",
    "perplexity": "chat",
    "x_ai": "chat",
    "xai": "chat",
}
_BY_PROVIDER: dict[str, Api] = {"anthropic": "messages", "openai": "chat", "gemini": "gemini", "bedrock": "converse"}
_OPERATIONS = ("chat", "generate_content", "text_completion")


def spans_in(values: Iterable[Any]) -> list[Mapping[str, Any]] | None:
    """The spans in parsed JSON values, attributes as plain ones; None if these are no spans."""
    out: list[Mapping[str, Any]] = []
    for value in values:
        found = _spans(value)
        if found is None:
            return None
        out += found
    return out


def _spans(value: Any) -> list[Mapping[str, Any]] | None:
    if isinstance(value, list):
        nested = [_spans(item) for item in value]
        if not nested or any(found is None for found in nested):
            return None
        return [span for found in nested for span in found or ()]
    if not isinstance(value, Mapping):
        return None
    resources = value.get("resourceSpans", value.get("resource_spans"))
    if isinstance(resources, list):
        return [_plain(span) for span in _within(resources)]
    # As the SDK prints them.
    context = value.get("context")
    if isinstance(context, Mapping) and "span_id" in context and isinstance(value.get("attributes"), Mapping):
        return [value]
    if ("spanId" in value or "span_id" in value) and "attributes" in value:
        return [_plain(value)]
    return None


def _within(resources: list[Any]) -> Iterator[Mapping[str, Any]]:
    for resource in resources:
        groups = _get(resource, "scopeSpans", "scope_spans", "instrumentationLibrarySpans")
        for group in groups if isinstance(groups, list) else ():
            spans = _get(group, "spans")
            yield from (span for span in (spans if isinstance(spans, list) else ()) if isinstance(span, Mapping))


def _get(value: Any, *names: str) -> Any:
    return next((value[name] for name in names if name in value), None) if isinstance(value, Mapping) else None


def _plain(span: Mapping[str, Any]) -> Mapping[str, Any]:
    """A span of OTLP JSON with attributes as a plain object."""
    attributes = span.get("attributes")
    if not isinstance(attributes, list):
        return span
    return {**span, "attributes": {a.get("key"): _value(a.get("value")) for a in attributes if isinstance(a, Mapping)}}


def _value(value: Any) -> Any:
    """OTLP's AnyValue as JSON; whole numbers come as strings."""
    if not isinstance(value, Mapping):
        return value
    for kind, inner in value.items():
        if kind in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
            return inner
        if kind == "intValue":
            return int(inner)
        if kind == "arrayValue":
            return [_value(item) for item in _get(inner, "values") or ()]
        if kind == "kvlistValue":
            return {item.get("key"): _value(item.get("value")) for item in _get(inner, "values") or ()}
    return None


def exchanges_of_spans(spans: list[Mapping[str, Any]], name: str, *, provider: str | None = None) -> list[Exchange]:
    """The model calls among spans, in the order in which they began.

    Args:
        spans: of `spans_in`.
        name: of the file, for errors.
        provider: of spans whose own provider is not one we know.

    Raises:
        UsageError: no call of a model with its messages, an unknown provider, messages of another form.
    """
    calls = [span for span in spans if _is_call(span["attributes"])]
    told = [span for span in calls if "gen_ai.input.messages" in span["attributes"]]
    if not told:
        seen = f"{len(calls)} calls of models" if calls else f"{len(spans)} spans, none of them a call of a model"
        hint = (
            "; their messages were not recorded: switch content on in your instrumentation"
            " (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT, include_content=True)"
        )
        raise UsageError(f"{name}: {seen}{hint if calls else ''}")
    begun = sorted(told, key=_start)
    origin, pool = _start(begun[0]), Pool()
    return [
        _exchange(span, f"{name}: span {span.get('name', '')!r} ({n})", provider, origin, pool)
        for n, span in enumerate(begun)
    ]


def _is_call(attributes: Mapping[str, Any]) -> bool:
    operation = attributes.get("gen_ai.operation.name")
    if operation is not None:
        return operation in _OPERATIONS
    return "gen_ai.request.model" in attributes


def _exchange(span: Mapping[str, Any], where: str, provider: str | None, origin: float, pool: Pool) -> Exchange:
    attributes = span["attributes"]
    api = _api(attributes, where, provider)
    parts = {
        "system": _structured(attributes.get("gen_ai.system_instructions"), where, "gen_ai.system_instructions"),
        "tools": _structured(attributes.get("gen_ai.tool.definitions"), where, "gen_ai.tool.definitions"),
        "messages": _structured(attributes["gen_ai.input.messages"], where, "gen_ai.input.messages"),
    }
    model = attributes.get("gen_ai.request.model")
    body = BODIES[api](parts["system"], parts["tools"], parts["messages"])
    if model is not None and api in ("messages", "chat"):
        body = {"model": model, **body}
    end = _time(span, "endTimeUnixNano", "end_time_unix_nano", "end_time")
    host = attributes.get("server.address")
    port = attributes.get("server.port")
    exchange = Exchange(
        APIS[api][0],
        api,
        pool.body(body),
        model=model,
        host=None if host is None else f"{host}:{port}" if port not in (None, 443, "443") else str(host),
        sent_at=_start(span) - origin,
        began_at=None if end is None else end - origin,
        stream=attributes.get("gen_ai.request.stream") is True,
        usage=_usage(attributes, api),
        omits=("markers", "settings"),
    )
    said = _structured(attributes.get("gen_ai.output.messages"), where, "gen_ai.output.messages")
    if said:
        exchange.reply = REPLIES[api](said[0], attributes.get("gen_ai.response.id"))
    return exchange


def _api(attributes: Mapping[str, Any], where: str, provider: str | None) -> Api:
    named = [attributes.get(key) for key in ("gen_ai.provider.name", "gen_ai.system")]
    found = next((_APIS[name] for name in named if isinstance(name, str) and name in _APIS), None)
    if found is not None:
        return found
    if provider is not None:
        if provider not in _BY_PROVIDER:
            raise UsageError(f"unknown provider {provider!r}; {closest(provider, _BY_PROVIDER)}")
        return _BY_PROVIDER[provider]
    shown = next((name for name in named if name is not None), None)
    raise UsageError(f"{where}: provider {shown!r} is not known; give the one whose rules hold")


def _structured(value: Any, where: str, key: str) -> list[Any]:
    """A structured attribute; spans carry it as JSON text where they cannot carry it as it is.

    Raises:
        UsageError: cut off (attribute limits cut texts), or of another form.
    """
    if value is None:
        return []
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise UsageError(
                f"{where}: {key} is no JSON ({len(value):,} characters); long attributes may have been cut off"
                " (OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT)"
            ) from None
    if isinstance(value, (list, tuple)) and all(isinstance(item, (Mapping, str)) for item in value):
        # Sequences of strings, each of them JSON, are a form attributes can carry.
        return [_from_text(item) for item in value]
    raise UsageError(f"{where}: {key} is {type(value).__name__}; a list is meant")


def _from_text(item: Any) -> Any:
    if isinstance(item, str):
        try:
            parsed = json.loads(item)
        except (ValueError, RecursionError):
            return {"type": "text", "content": item}
        return parsed if isinstance(parsed, Mapping) else {"type": "text", "content": item}
    return item


def _usage(attributes: Mapping[str, Any], api: Api) -> dict[str, Any] | None:
    """The counters under the provider's own names. The conventions count cached tokens in the input ones."""

    def number(*names: str) -> int:
        return next((attributes[f"gen_ai.usage.{n}"] for n in names if f"gen_ai.usage.{n}" in attributes), 0)

    if not any(key.startswith("gen_ai.usage.") for key in attributes):
        return None
    total, output = number("input_tokens", "prompt_tokens"), number("output_tokens", "completion_tokens")
    read, write = number("cache_read.input_tokens"), number("cache_creation.input_tokens")
    # Instrumentations that pass Anthropic's own number on leave cached tokens out of it.
    rest = total - read - write if total >= read + write else total
    if api in ("messages", "invoke"):
        return {
            "input_tokens": rest,
            "cache_creation_input_tokens": write,
            "cache_read_input_tokens": read,
            "output_tokens": output,
        }
    if api == "converse":
        cached = {"cacheReadInputTokens": read, "cacheWriteInputTokens": write}
        return {"inputTokens": rest, "outputTokens": output, "totalTokens": rest + read + write + output, **cached}
    if api == "gemini":
        counted = {"promptTokenCount": total, "candidatesTokenCount": output, "totalTokenCount": total + output}
        return {**counted, "cachedContentTokenCount": read}
    details = {"cached_tokens": read, "cache_write_tokens": write}
    return {
        "prompt_tokens": total,
        "completion_tokens": output,
        "total_tokens": total + output,
        "prompt_tokens_details": details,
    }


def _start(span: Mapping[str, Any]) -> float:
    return _time(span, "startTimeUnixNano", "start_time_unix_nano", "start_time") or 0.0


def _time(span: Mapping[str, Any], *names: str) -> float | None:
    """Seconds since the epoch, of nanoseconds (as number or string) or an ISO date."""
    value = _get(span, *names)
    if isinstance(value, (int, float)) or (isinstance(value, str) and value.isdigit()):
        return int(value) / 1e9
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp()
        except ValueError:
            return None
    return None
