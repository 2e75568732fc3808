"""One request as it went out on the wire, and what came back: what capture writes and every check reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["APIS", "Api", "Exchange", "Provider"]

Provider = Literal["anthropic", "openai", "gemini", "bedrock"]
# How a body is laid out: Anthropic Messages; OpenAI Chat Completions and Responses; Gemini generateContent; Bedrock
# Converse; Bedrock InvokeModel with an Anthropic body ("anthropic" rules of content, Bedrock's of caching).
Api = Literal["messages", "chat", "responses", "gemini", "converse", "invoke"]

# (provider, name of the wire format in `messages` and `frontends.wire`)
APIS: dict[str, tuple[Provider, str]] = {
    "messages": ("anthropic", "anthropic"),
    "chat": ("openai", "openai-chat"),
    "responses": ("openai", "openai-responses"),
    "gemini": ("gemini", "gemini"),
    "converse": ("bedrock", "bedrock"),
    "invoke": ("bedrock", "anthropic"),
}


@dataclass(slots=True)
class Exchange:
    """A request as sent. Nothing in it identifies an account: keys are hashed into `scope`, headers allow-listed."""

    provider: Provider
    api: Api
    # The JSON body exactly as sent; `body["model"]` is absent where the model stands in the path.
    body: Mapping[str, Any]
    # Model id as sent (body, or path of Bedrock, Gemini and Azure); None if the request names none.
    model: str | None = None
    # URL path without query ("/v1/messages") and host with port, if not the default one; None where not known.
    path: str | None = None
    host: str | None = None
    # Allow-listed header names in lower case.
    headers: Mapping[str, str] = field(default_factory=dict)
    # Which requests can share a cache: host and account, hashed; "" where not known.
    scope: str = ""
    # Seconds since the capture began (its clock may be the user's): when the request was sent, and when the first
    # byte of its reply was handed out. None: not known; then requests follow each other at once, in order.
    sent_at: float | None = None
    began_at: float | None = None
    # 0 for a first attempt; retries are marked by the SDKs' headers.
    attempt: int = 0
    stream: bool = False
    # The reply: HTTP status, JSON (streams are put together), and the provider's own counters in it. None: not known.
    status: int | None = None
    reply: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | None = None
    # Whether `usage` was predicted by us (a scripted reply), or came from the provider.
    predicted: bool = False
    # Which SDK or HTTP library sent it ("httpx2"); None for requests read from files.
    library: str | None = None
    # "file.py:12" of the user's line that made the call, where known.
    line: str | None = None
    # Body as the caller handed it to a gateway, before its conversion, where known.
    source: Mapping[str, Any] | None = None
    # What of the request its source does not show, so that nothing may be concluded from its absence: "markers" and
    # "settings" (telemetry spans), "texts" (files whose texts are replaced by checksums).
    omits: tuple[str, ...] = ()

    @property
    def wire(self) -> str:
        """Name of the body's format in `messages` and `frontends.wire`."""
        return APIS[self.api][1]
