"""Errors in each provider's own shape.

Sources: Claude Platform Docs "Errors", OpenAI "Error codes", Gemini API "Troubleshooting", Amazon Bedrock API
reference (read 2026-11-29).
"""

from __future__ import annotations

from typing import Any

from pytest_cachesafe.providers.capture.replies.ids import Ids
from pytest_cachesafe.providers.capture.replies.rendered import Rendered, json_reply
from pytest_cachesafe.providers.capture.reply import Failure
from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["failure"]

_ANTHROPIC = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error",
    504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip
_OPENAI = {
    400: "invalid_request_error", 401: "invalid_request_error", 403: "invalid_request_error",
    404: "invalid_request_error", 429: "rate_limit_exceeded", 500: "server_error", 503: "server_error",
}  # fmt: skip
_GEMINI = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip
_BEDROCK = {
    400: "ValidationException", 403: "AccessDeniedException", 404: "ResourceNotFoundException",
    408: "ModelTimeoutException", 424: "ModelErrorException", 429: "ThrottlingException",
    500: "InternalServerException", 503: "ServiceUnavailableException",
}  # fmt: skip


def failure(exchange: Exchange, scripted: Failure, ids: Ids) -> Rendered:
    """An error reply; the same whether a stream was asked for or not, as it comes before the first event."""
    status = scripted.status
    words = scripted.message or f"scripted failure {status}"
    request = ids.next("req")
    headers: dict[str, str] = {}
    body: dict[str, Any]
    if exchange.provider == "anthropic":
        kind = scripted.type or _ANTHROPIC.get(status, "api_error" if status >= 500 else "invalid_request_error")
        body = {"type": "error", "error": {"type": kind, "message": words}, "request_id": request}
        headers["request-id"] = request
    elif exchange.provider == "openai":
        kind = scripted.type or _OPENAI.get(status, "server_error" if status >= 500 else "invalid_request_error")
        body = {"error": {"message": words, "type": kind, "param": None, "code": None}}
        headers["x-request-id"] = request
    elif exchange.provider == "gemini":
        kind = scripted.type or _GEMINI.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
        body = {"error": {"code": status, "message": words, "status": kind}}
    else:
        kind = scripted.type or _BEDROCK.get(
            status, "InternalServerException" if status >= 500 else "ValidationException"
        )
        body = {"message": words}
        headers |= {"x-amzn-errortype": kind, "x-amzn-requestid": request}
    return Rendered(json_reply(body, {**headers, **scripted.headers}, status), body)
