"""What of a request may be kept: named headers, a path without its query, and accounts only as a hash."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b

from pytest_cachesafe.providers.capture.recognise import Target

__all__ = ["COUNTING", "KEPT_HEADERS", "attempt_of", "kept_headers", "lower_headers", "scope_of"]

# An allow-list: whatever a header is called that a gateway invents for its key, it is not here.
KEPT_HEADERS = (
    "content-type",
    "user-agent",
    "anthropic-version",
    "anthropic-beta",
    "openai-beta",
    "x-stainless-retry-count",
    "amz-sdk-request",
)
_KEYS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
_GROUPS = ("openai-organization", "openai-project", "anthropic-workspace-id")
# All that is read of the headers, but for the number of the attempt.
COUNTING = frozenset((*KEPT_HEADERS, *_KEYS, *_GROUPS)) - {"x-stainless-retry-count", "amz-sdk-request"}
# Not capitals alone: test suites give boto3 names like "testing", and the signature behind them is new each time.
_CREDENTIAL = re.compile(r"Credential=([^/,\s]+)/")
_QUERY_KEY = re.compile(r"(?:^|&)(?:key|api_key|api-key)=([^&]+)")
_PROJECT = re.compile(r"/projects/([^/]+)/")
_ATTEMPT = re.compile(r"attempt=(\d+)")


def lower_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Names in lower case; repeated ones joined by a comma."""
    pairs = list(headers)
    out = {name.lower(): value for name, value in pairs}
    if len(out) == len(pairs):
        return out
    out = {}
    for name, value in pairs:
        name = name.lower()
        out[name] = f"{out[name]}, {value}" if name in out else value
    return out


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that are stored, of those in lower case."""
    return {name: headers[name] for name in KEPT_HEADERS if name in headers}


def attempt_of(headers: Mapping[str, str]) -> int:
    """0 for a first attempt, n for the nth retry, by the header that the SDK marks its retries with."""
    count = headers.get("x-stainless-retry-count", "")
    if count.isdigit():
        return int(count)
    match = _ATTEMPT.search(headers.get("amz-sdk-request", ""))
    return max(int(match[1]) - 1, 0) if match else 0


def scope_of(target: Target, headers: Mapping[str, str]) -> str:
    """Hash of the host and of the account behind the key: requests with different scopes share no cache.

    Tokens that are renewed while a program runs (Google's, Azure's, JSON web tokens, AWS session keys) say nothing
    about the account and are left out; Vertex names the project in its path.
    """
    parts = [target.host]
    for name in _KEYS:
        value = headers.get(name)
        if value is None:
            continue
        credential = _CREDENTIAL.search(value) if "Credential=" in value else None
        if credential is not None:
            value = credential[1]
            if value.startswith("ASIA"):
                continue
        secret = value.removeprefix("Bearer ").strip()
        if not secret.startswith(("eyJ", "ya29.")):
            # anthropic and others moved the same key from one header to another between versions.
            parts.append(secret)
    query = _QUERY_KEY.search(target.query) if target.query else None
    if query is not None:
        parts.append(query[1])
    project = _PROJECT.search(target.path) if "/projects/" in target.path else None
    if project is not None:
        parts.append(project[1])
    parts += [headers[name] for name in _GROUPS if name in headers]
    return blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
