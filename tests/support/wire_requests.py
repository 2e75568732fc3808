"""Requests as SDKs send them, for tests of what providers cache: small builders, nothing hidden in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_cachesafe.findings import Finding
from pytest_cachesafe.providers.checks.check import check_requests
from pytest_cachesafe.providers.checks.result import CacheReport
from pytest_cachesafe.providers.rules.load import load_rules

MARK: dict[str, Any] = {"type": "ephemeral"}
# 1,600 words: surely above every minimum up to 1,024 by any count, whatever the tokenizer.
LONG = "Answer briefly, quote the manual, never guess, and say so where it is silent on a point. " * 100
MODEL = "claude-sonnet-4-6"


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def tool(name: str, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    return {"name": name, "description": f"Looks things up in {name}.", "input_schema": schema, **more}


def function(name: str, description: str = "Looks things up.") -> dict[str, Any]:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def call(name: str, number: int, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}


def result(number: int, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": content, **more}


def anthropic(messages: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A request with a long marked system text; `more` replaces anything."""
    body: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 1000,
        "system": [text(LONG, cache_control=MARK)],
        "messages": list(messages),
    }
    return {key: value for key, value in {**body, **more}.items() if value is not None}


def openai(messages: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A Chat Completions request with a long system message."""
    return {"model": "gpt-5.6-sol", "messages": [{"role": "system", "content": LONG}, *messages], **more}


def responses(items: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A Responses request with long instructions."""
    return {"model": "gpt-5.6-sol", "instructions": LONG, "input": list(items), **more}


def marked_last(messages: Sequence[dict[str, Any]], ttl: str | None = None) -> list[dict[str, Any]]:
    """The messages with a marker on the last block of the last one, as caching clients move it along."""
    marker = MARK if ttl is None else {**MARK, "ttl": ttl}
    last = messages[-1]
    content = [text(last["content"])] if isinstance(last["content"], str) else list(last["content"])
    content[-1] = {**content[-1], "cache_control": marker}
    return [*messages[:-1], {**last, "content": content}]


def check(requests: Any, provider: str = "anthropic", model: str | None = None, **options: Any) -> CacheReport:
    """The check with the shipped rules, whatever project the tests run in."""
    options.setdefault("rules", load_rules({}))
    return check_requests(requests, provider, model, **options)


def told(report: CacheReport) -> list[tuple[str, str, int | None, str | None]]:
    """(code, severity, request, path) of every finding, in the order of requests."""
    found = [(f.code, str(f.severity), f.location.request, f.location.path) for f in report.findings]
    return sorted(found, key=lambda item: (item[2] or 0, item[0]))


def only(report: CacheReport) -> Finding:
    """The one finding of a report."""
    assert len(report.findings) == 1, [f.message for f in report.findings]
    return report.findings[0]
