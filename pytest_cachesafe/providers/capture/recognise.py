"""What a request is, from its method, URL and body: which provider's which endpoint, by the shape of its path.

The path decides before the host does, so that gateways, Azure, Vertex, Bedrock proxies and a `base_url` on loopback
are all recognised. Endpoint paths: the providers' API references, "Messages", "Chat completions", "Responses",
"generateContent", "Converse" and "InvokeModel" (read 2026-11-29); telemetry paths: seen on the wire.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from pytest_cachesafe.providers.capture.telemetry import is_telemetry
from pytest_cachesafe.providers.exchange import APIS, Api, Provider

__all__ = ["Endpoint", "Target", "is_loopback", "is_model_host", "matches_host", "recognise", "target_of"]

Kind = Literal["generate", "count_tokens", "telemetry", "unscripted", "unknown"]
# How a reply is framed: one JSON document; server-sent events; Amazon event stream; one JSON array (Gemini without
# `alt=sse`).
Framing = Literal["json", "sse", "eventstream", "array"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What a request asks for. `provider` and `api` are None for what is neither generation nor token counting."""

    kind: Kind
    # In words, for messages: "Anthropic Messages", "Azure OpenAI Chat Completions".
    name: str
    provider: Provider | None = None
    api: Api | None = None
    # As sent: body first, else path; None if the request names none.
    model: str | None = None
    stream: bool = False
    framing: Framing = "json"
    host: str | None = None
    # Path without query.
    path: str = ""


class Target(NamedTuple):
    """A URL taken apart; `host` carries the port where it is not the scheme's own."""

    host: str
    name: str
    path: str
    query: str


# Any path on these that is not recognised is the provider's, but not scripted.
_HOSTS = (
    "api.anthropic.com",
    "api.openai.com",
    ".openai.azure.com",
    ".services.ai.azure.com",
    ".cognitiveservices.azure.com",
    "generativelanguage.googleapis.com",
    "aiplatform.googleapis.com",
    "openrouter.ai",
    "api.mistral.ai",
    "api.deepseek.com",
    "api.x.ai",
    "api.groq.com",
    "api.together.xyz",
    "api.fireworks.ai",
)  # fmt: skip
_BEDROCK = re.compile(r"^bedrock[\w-]*\.[\w-]+\.(amazonaws\.com(\.cn)?|api\.aws)$")
_VERTEX = re.compile(r"(^|[\w-]+-)aiplatform\.googleapis\.com$")

# (path, provider, api, name, framing when it streams)
_GEMINI_CALL = re.compile(r"/models/(?P<model>[^/:]+):(?P<call>\w+)$")
_BEDROCK_CALL = re.compile(
    r"/model/(?P<model>[^/]+(?:/[^/]+)*)/(?P<call>converse-stream|converse|invoke-with-response-stream|invoke"
    r"|count-tokens|invoke-with-bidirectional-stream)$"
)
_DEPLOYMENT = re.compile(r"/openai/deployments/(?P<model>[^/]+)/")
# What the SDKs offer beside generation: (path pattern, its name).
_UNSCRIPTED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"/v1/messages/batches(/|$)", "Anthropic Message Batches"),
        (r"/v1/complete$", "Anthropic Text Completions"),
        (r"/(embeddings|embed)$", "embeddings"),
        (r"/models/[^/:]+:(batchEmbedContents|embedContent|predict|predictLongRunning|asyncBatchEmbedContent)$",
         "Gemini embeddings and media"),
        (r"/models/[^/:]+:batchGenerateContent$", "Gemini batches"),
        (r"/cachedContents(/|$)", "Gemini cached contents"),
        (r"/interactions(/|$)", "Gemini Interactions"),
        (r"/(v1|v1beta\d?|v1alpha)/models(/[^:]*)?$", "the list of models"),
        (r"/foundation-models(/|$)", "the list of models"),
        (r"/batches(/|$)", "batches"),
        (r"/files(/|$)", "files"),
        (r"/responses/compact$", "OpenAI Responses, compaction"),
        (r"/responses/[^/]+(/(cancel|input_items))?$", "OpenAI Responses, stored responses"),
        (r"/chat/completions/[^/]+", "OpenAI Chat Completions, stored completions"),
        (r"/v1/completions$", "OpenAI Completions"),
        (r"/(images|audio|moderations|fine_tuning|vector_stores|assistants|threads|uploads|realtime|evals|videos"
         r"|containers|conversations|skills)(/|$)", "OpenAI endpoints beside chat"),
        (r"/model/[^/]+/(invoke-with-bidirectional-stream|async-invoke)$", "Bedrock bidirectional streams"),
    )
)  # fmt: skip


def target_of(url: str) -> Target:
    """Take a URL apart; nothing is resolved."""
    # Asked for every request. A query or a name before the host may hold a key, and is not kept.
    return _taken_apart(url) if "?" in url or "@" in url else _known_target(url)


@lru_cache(maxsize=256)
def _known_target(url: str) -> Target:
    return _taken_apart(url)


def _taken_apart(url: str) -> Target:
    parts = urlsplit(url)
    name = (parts.hostname or "").lower()
    try:
        port = parts.port
    except ValueError:
        port = None
    shown = f"[{name}]" if ":" in name else name
    own = {"http": 80, "https": 443}.get(parts.scheme)
    host = shown if port is None or port == own else f"{shown}:{port}"
    return Target(host, name, parts.path or "/", parts.query)


@lru_cache(maxsize=256)
def is_loopback(name: str) -> bool:
    """Whether a host name or address never leaves this machine."""
    name = name.strip("[]").lower().rstrip(".")
    if name in ("localhost", "localhost.localdomain", "ip6-localhost") or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback or address.is_unspecified or (mapped is not None and mapped.is_loopback)


@lru_cache(maxsize=256)
def is_model_host(name: str) -> bool:
    """Whether a host is a known provider's (nothing else is served there)."""
    if _BEDROCK.match(name) or _VERTEX.search(name):
        return True
    return any(name.endswith(known) if known.startswith(".") else name == known for known in _HOSTS)


def matches_host(target: Target, hosts: Sequence[str]) -> bool:
    """Whether a host is one of `hosts`: "name", "name:port", or ".name" for all below it."""
    for host in hosts:
        wanted = host.lower()
        if wanted in (target.host, target.name) or (wanted.startswith(".") and target.name.endswith(wanted)):
            return True
    return False


def recognise(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: Mapping[str, Any] | None,
    *,
    hosts: Sequence[str] = (),
    target: Target | None = None,
) -> Endpoint:
    """Say what a request is.

    Args:
        method, url: as sent; headers: names in lower case.
        body: the JSON object that was sent; None before it is read, or if there is none (then the path alone decides).
        hosts: further hosts that serve models (gateways, local engines).
        target: the URL taken apart, where that was done already.
    """
    if target is None:
        target = target_of(url)
    if is_telemetry(target):
        return Endpoint("telemetry", "telemetry", host=target.host, path=target.path)
    ours = is_model_host(target.name) or matches_host(target, hosts)
    if method.upper() == "POST":
        found = _generation(target, headers, body)
        if found is not None and (ours or body is None or _plausible(found, body)):
            return found
    if ours:
        name = next((name for pattern, name in _UNSCRIPTED if pattern.search(target.path)), f"{method} {target.path}")
        return Endpoint("unscripted", name, host=target.host, path=target.path)
    return Endpoint("unknown", f"{method} {target.path}", host=target.host, path=target.path)


def _generation(target: Target, headers: Mapping[str, str], body: Mapping[str, Any] | None) -> Endpoint | None:
    """The endpoint if its path is one of those that generate or count."""
    path = target.path.rstrip("/")
    given = body.get("model") if body is not None else None
    model = given if isinstance(given, str) and given else None
    streams = body is not None and body.get("stream") is True

    def found(
        name: str, api: Api, named: str | None, stream: bool, framing: Framing, kind: Kind = "generate"
    ) -> Endpoint:
        framing = framing if stream else "json"
        return Endpoint(kind, name, APIS[api][0], api, named, stream, framing, target.host, target.path)

    if path.endswith("/v1/messages") or (path.endswith("/messages") and "anthropic-version" in headers):
        return found("Anthropic Messages", "messages", model, streams, "sse")
    if path.endswith("/messages/count_tokens"):
        return found("Anthropic token counting", "messages", model, False, "json", "count_tokens")
    deployment = _DEPLOYMENT.search(path + "/")
    azure = "Azure " if deployment or ".azure." in target.name else ""
    named = model or (unquote(deployment["model"]) if deployment else None)
    if path.endswith("/chat/completions"):
        return found(f"{azure}OpenAI Chat Completions", "chat", named, streams, "sse")
    if path.endswith("/responses"):
        return found(f"{azure}OpenAI Responses", "responses", named, streams, "sse")
    if path.endswith("/responses/input_tokens"):
        return found(f"{azure}OpenAI token counting", "responses", named, False, "json", "count_tokens")
    bedrock = _BEDROCK_CALL.search(path)
    if bedrock is not None:
        return _bedrock(bedrock, found, target, body)
    call = _GEMINI_CALL.search(path)
    return None if call is None else _google(call, found, target, model, streams)


def _bedrock(call: re.Match[str], found: Any, target: Target, body: Mapping[str, Any] | None) -> Endpoint | None:
    model = unquote(call["model"])
    name, stream = call["call"], call["call"].endswith("stream")
    made: Endpoint
    if name in ("converse", "converse-stream"):
        made = found("Bedrock Converse", "converse", model, stream, "eventstream")
        return made
    if name == "count-tokens":
        made = found("Bedrock token counting", "converse", model, False, "json", "count_tokens")
        return made
    if name == "invoke-with-bidirectional-stream":
        return None
    if body is not None and "anthropic_version" not in body:
        shown = "Bedrock InvokeModel with a body that is not Anthropic's"
        return Endpoint("unscripted", shown, "bedrock", None, model, host=target.host, path=target.path)
    made = found("Bedrock InvokeModel", "invoke", model, stream, "eventstream")
    return made


def _google(call: re.Match[str], found: Any, target: Target, model: str | None, streams: bool) -> Endpoint | None:
    named, name = unquote(call["model"]), call["call"]
    made: Endpoint
    if name == "generateContent":
        made = found("Gemini generateContent", "gemini", named, False, "json")
    elif name == "streamGenerateContent":
        sse = "alt=sse" in target.query.split("&")
        made = found("Gemini streamGenerateContent", "gemini", named, True, "sse" if sse else "array")
    elif name == "countTokens":
        made = found("Gemini token counting", "gemini", named, False, "json", "count_tokens")
    elif name in ("rawPredict", "streamRawPredict") and "/publishers/anthropic/" in target.path:
        if named == "count-tokens":
            made = found("Vertex token counting", "messages", model, False, "json", "count_tokens")
        else:
            made = found("Anthropic Messages on Vertex", "messages", named, streams, "sse")
    else:
        return None
    return made


_LISTS: dict[str, tuple[str, ...]] = {
    "messages": ("messages",),
    "chat": ("messages",),
    "responses": ("input", "prompt", "previous_response_id", "conversation", "instructions"),
    "gemini": ("contents", "generateContentRequest"),
    "converse": ("messages", "prompt", "input"),
    "invoke": ("messages",),
}


def _plausible(endpoint: Endpoint, body: Mapping[str, Any]) -> bool:
    """Whether a body on an unknown host looks like the endpoint's: applications have a `/responses` of their own."""
    if endpoint.kind == "unscripted":
        return True
    assert endpoint.api is not None
    return any(key in body for key in _LISTS[endpoint.api])
