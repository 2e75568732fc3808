"""One line of ours, or one bare wire body, as an exchange."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pytest_cachesafe.configuration import closest
from pytest_cachesafe.messages.detect import detect_body, evident_formats, is_body
from pytest_cachesafe.providers.capture.readers.pool import Pool
from pytest_cachesafe.providers.exchange import APIS, Api, Exchange, Provider
from pytest_cachesafe.usage import UsageError

__all__ = ["exchange_of_line"]

PROVIDERS = ("anthropic", "openai", "bedrock", "gemini")
_WIRES = {
    "anthropic": "anthropic",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "gemini": "gemini",
    "bedrock": "bedrock",
}


def exchange_of_line(
    item: Any, where: str, provider: str | None, model: str | None, pool: Pool | None = None
) -> Exchange:
    """The exchange of a parsed line: ours (an object with `body`) or a bare body.

    Args:
        item: the parsed line.
        where: its place, for errors.
        provider: whose bodies are meant, where the line does not say; None: by their looks.
        model: where the request names none.
        pool: shares what bodies repeat.

    Raises:
        UsageError: not a request, a body of another provider, an unknown provider, values of the wrong kind.
    """
    if provider is not None and provider not in PROVIDERS:
        raise UsageError(f"unknown provider {provider!r}; {closest(provider, PROVIDERS)}")
    if not isinstance(item, Mapping):
        raise UsageError(f"{where}: a {_kind(item)} where a request body (a JSON object) is meant")
    inner = next((item[key] for key in ("body", "wire") if isinstance(item.get(key), Mapping)), None)
    if inner is None and "body" in item:
        raise UsageError(f"{where}: body is a {_kind(item['body'])}; the JSON object that was sent is meant")
    line: Mapping[str, Any] = {} if inner is None else item
    body = item if inner is None else inner
    api, named = _api(line, body, where, provider)
    if pool is not None:
        body = pool.body(dict(body))
    from pytest_cachesafe.providers.capture.storage import exchange_from

    given = {name: value for name, value in line.items() if name not in ("provider", "api", "body", "wire")}
    exchange = exchange_from({**given, "provider": APIS[api][0], "api": api, "body": body}, where)
    own = body.get("model", body.get("modelId"))
    if own is not None and not isinstance(own, str):
        raise UsageError(f"{where}: model is a {_kind(own)}; a model id is meant")
    exchange.model = exchange.model or own or named or model
    if "stream" not in line:
        exchange.stream = body.get("stream") is True
    return exchange


def _api(line: Mapping[str, Any], body: Mapping[str, Any], where: str, provider: str | None) -> tuple[Api, str | None]:
    """(how the body is laid out, model in the path)."""
    if "api" in line:
        if line["api"] not in APIS:
            raise UsageError(f"{where}: unknown api {line['api']!r}; {closest(line['api'], APIS)}")
        return cast("Api", line["api"]), _by_path(line, body, where)[1]
    found, named = _by_path(line, body, where)
    if found is not None:
        return found, named
    given = line.get("provider", provider)
    if given is not None and given not in PROVIDERS:
        raise UsageError(f"{where}: unknown provider {given!r}; {closest(given, PROVIDERS)}")
    if not is_body(body) and not isinstance(body.get("messages"), list):
        keys = ", ".join(list(body)[:6]) or "nothing"
        raise UsageError(f"{where}: no request body: it has no messages, input or contents (it has {keys})")
    other = _other(body)
    if other is not None:
        raise UsageError(f"{where}: {other}, no request to a chat model; leave it out")
    wire = detect_body(body)
    if given is None:
        if wire not in _WIRES:
            raise UsageError(f"{where}: a completion of a bare prompt; requests with messages are checked")
        given = _WIRES[wire]
    else:
        _same_provider(body, given, where)
    return _layout(cast("Provider", given), body), named


def _other(body: Mapping[str, Any]) -> str | None:
    """What a body with `input` is, where it is not of the Responses API, whose `input` is a text or a list of items."""
    given = body.get("input")
    if given is None or "messages" in body:
        return None
    if "voice" in body:
        return "a request for speech"
    model = str(body.get("model"))
    texts = isinstance(given, list) and bool(given) and not any(isinstance(item, Mapping) for item in given)
    if texts or "encoding_format" in body or "dimensions" in body or model.startswith("text-embedding-"):
        return "a request for embeddings"
    return "a request for moderation" if model.startswith(("omni-moderation-", "text-moderation-")) else None


def _layout(provider: Provider, body: Mapping[str, Any]) -> Api:
    if provider == "openai":
        return "responses" if "input" in body and "messages" not in body else "chat"
    if provider == "bedrock":
        return "invoke" if "anthropic_version" in body else "converse"
    return "messages" if provider == "anthropic" else "gemini"


def _same_provider(body: Mapping[str, Any], provider: str, where: str) -> None:
    """Refuse a body that only another provider understands."""
    evident = {_WIRES[wire] for wire in evident_formats(body)}
    if provider == "bedrock" and "anthropic_version" in body:
        return
    keys = {"gemini": "contents"}.get(provider, "messages")
    wrong = evident and provider not in evident
    if wrong or (keys not in body and not (provider == "openai" and "input" in body)):
        named = f", it looks like {' or '.join(sorted(evident))}" if wrong else f": it has no {keys}"
        raise UsageError(f"{where}: not a body of {provider}{named}; give the provider it was sent to")


def _by_path(line: Mapping[str, Any], body: Mapping[str, Any], where: str) -> tuple[Api | None, str | None]:
    # Lines of OpenAI's batch files name it `url`.
    path, nowhere = line.get("path"), "unknown.invalid"
    if path is None and "custom_id" in line:
        path, nowhere = line.get("url"), "api.openai.com"
    if not isinstance(path, str) or not path.startswith("/"):
        return None, None
    from pytest_cachesafe.providers.capture.recognise import recognise

    host = line.get("host")
    url = f"https://{host if isinstance(host, str) and host else nowhere}{path}"
    headers = line.get("headers")
    found = recognise("POST", url, headers if isinstance(headers, Mapping) else {}, body)
    if found.kind not in ("generate", "unknown"):
        raise UsageError(f"{where}: {path} is {found.name}, no request to a chat model; leave it out")
    return (found.api, found.model) if found.kind == "generate" else (None, None)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {str: "string", bool: "true or false", int: "number", float: "number", list: "list", dict: "JSON object"}
    return names.get(type(value), type(value).__name__)
