"""Traces and tokens that SDKs send beside model calls: answered politely, counted, never kept.

They are no part of what a test is about, hold the whole run, and come from background threads that retry and log when
refused. They are flushed before a capture ends: what is sent later would reach the real network.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.providers.capture.raw import RawReply

if TYPE_CHECKING:
    from pytest_cachesafe.providers.capture.recognise import Target

__all__ = ["answer", "flush", "is_metadata_host", "is_telemetry", "is_telemetry_host"]

_LANGSMITH = ("/info", "/runs", "/runs/multipart", "/runs/batch", "/sessions", "/feedback")
_OTLP = ("/v1/traces", "/v1/metrics", "/v1/logs")
_INGESTED = ("/runs/multipart", "/runs/batch", "/api/public/ingestion")
_HOSTS = (
    "smith.langchain.com",
    "cloud.langfuse.com",
    "logfire-api.pydantic.dev",
    "logfire-us.pydantic.dev",
    "logfire-eu.pydantic.dev",
    "i.posthog.com",
)
_TOKENS = ("oauth2.googleapis.com", "sts.googleapis.com", "iamcredentials.googleapis.com")
# Where clouds tell a machine who it is: there is none in a test.
_METADATA = ("169.254.169.254", "169.254.170.2", "fd00:ec2::254", "metadata.google.internal", "metadata")


def is_metadata_host(name: str) -> bool:
    """Whether a host is a cloud's metadata service; SDKs ask it for credentials and do without if there is none."""
    return name in _METADATA


@lru_cache(maxsize=256)
def is_telemetry_host(name: str) -> bool:
    """Whether nothing but telemetry is served at a host."""
    return any(name == known or name.endswith("." + known) for known in _HOSTS)


def is_telemetry(target: Target) -> bool:
    """Whether a URL takes traces, or hands out the access tokens that go with cloud models."""
    if target.name == "api.openai.com":
        return target.path == "/v1/traces/ingest"
    if is_telemetry_host(target.name) or target.name in _TOKENS:
        return True
    if target.path not in _OTLP and not target.path.endswith(_INGESTED):
        return False
    # Self-hosted LangSmith and OTLP collectors have hosts of their own; on loopback they are the user's.
    from pytest_cachesafe.providers.capture.recognise import is_loopback

    return not is_loopback(target.name)


def answer(method: str, target: Target) -> RawReply:
    """A quiet answer: 200 to questions, 202 to what is sent, a token where one is asked for."""
    body: dict[str, Any] = {}
    status = 200
    if target.name in _TOKENS:
        body = {"access_token": "cachesafe-not-a-token", "expires_in": 3600, "token_type": "Bearer"}
    elif target.path == "/info":
        # Without this flag LangSmith logs that the server is out of date.
        body = {"instance_flags": {"zstd_compression_enabled": True}}
    elif method.upper() != "GET" and target.path in _LANGSMITH:
        # LangSmith takes anything else for a reason to try again.
        status = 202
    return RawReply(status, {"content-type": "application/json"}, (json.dumps(body).encode(),))


def flush(seconds: float = 5.0) -> None:
    """Have loaded tracing libraries send what they hold; at most `seconds` for each, in a thread of its own."""
    from threading import Thread

    for send in _flushers():
        thread = Thread(target=_quietly, args=(send,), name="cachesafe-flush", daemon=True)
        thread.start()
        thread.join(seconds)


def _quietly(send: Callable[[], Any]) -> None:
    try:
        send()
    except Exception:  # a tracing library that cannot flush is not what the test is about
        return


def _flushers() -> list[Callable[[], Any]]:
    found: list[Callable[[], Any]] = []
    trees: Any = sys.modules.get("langsmith.run_trees")
    client = getattr(trees, "_CLIENT", None)
    if client is not None:
        found.append(client.flush)
    tracing: Any = sys.modules.get("agents.tracing.setup")
    # Asking for the provider would make one, with its thread, where nobody has traced anything.
    force = getattr(getattr(tracing, "GLOBAL_TRACE_PROVIDER", None), "force_flush", None)
    if force is not None:
        found.append(force)
    if any(name.startswith("opentelemetry.exporter.otlp") for name in list(sys.modules)):
        trace: Any = sys.modules.get("opentelemetry.trace")
        force = getattr(trace.get_tracer_provider(), "force_flush", None) if trace is not None else None
        if force is not None:
            found.append(force)
    return found
