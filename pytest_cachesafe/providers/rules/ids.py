"""Model ids as they are sent, taken apart by written rules: never by what they look like.

Sources: Claude Platform Docs, model overview (dates, `-latest`, Vertex `@`); Amazon Bedrock User Guide, "Supported
foundation models" and "Inference profiles" (prefixes, `-v1:0`, ARNs); OpenAI and Gemini SDK types (dated ids); model
lists of OpenRouter (`vendor/model:variant`, dots). Read 2026-11-30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

__all__ = ["Routing", "Spelling", "spellings"]

Routing = Literal["", "global", "regional"]

# What a gateway writes before "/" -> whose table the model stands in.
_VENDORS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "google": "gemini",
    "gemini": "gemini",
    "bedrock": "bedrock",
    "vertex_ai": None,
    "azure": "",
}
# Geographies of Bedrock's inference profiles.
_REGIONS = frozenset(("us", "us-gov", "eu", "apac", "jp", "au", "ca", "sa", "in"))
# Of OpenRouter: the same model, routed or limited in another way.
_VARIANTS = frozenset(("thinking", "beta", "extended", "free", "nitro", "floor", "online", "exacto"))
_VERSION = re.compile(r"-v\d+(?::\d+(?::\d+k)?)?$")
_DATE = re.compile(r"(?:[-@](?:20\d{6}|latest)|-20\d\d-\d\d-\d\d|@default)$")
_GEMINI_VERSION = re.compile(r"-00\d$")
_ARN = re.compile(r"arn:aws[\w-]*:bedrock:[^/]*:(?:foundation-model|inference-profile)/(.+)$")
_CLAUDE_DOT = re.compile(r"(?<=\d)\.(?=\d)")


class Spelling(NamedTuple):
    """One way to read an id: whose table to look in, how the request is routed, and the stem to find there."""

    provider: str
    routing: Routing
    stem: str


def spellings(provider: str, model_id: str) -> Iterator[Spelling]:
    """Every reading of an id, the one closest to how it is written first.

    Args:
        provider: whose API the request goes to; a vendor prefix in the id ("anthropic/…") overrules it.
        model_id: as sent in the body or the path.
    """
    text, named = model_id.strip(), False
    found = _ARN.fullmatch(text)
    if found is not None:
        provider, text = "bedrock", found[1]
    elif "/" in text:
        head, text = text.rsplit("/", 1)
        vendor = _VENDORS.get(head.rsplit("/", 1)[-1].lower())
        if head.startswith(("projects/", "publishers/")) or head == "models":
            # Resource names of Google: "models/…", "publishers/google/models/…".
            vendor = provider
        if not vendor:
            return
        provider, named = vendor, True
        base, _, variant = text.partition(":")
        if variant in _VARIANTS:
            text = base
    routing: Routing = ""
    if provider == "bedrock":
        prefix, _, rest = text.partition(".")
        if rest and (prefix == "global" or prefix in _REGIONS):
            routing, text = ("global" if prefix == "global" else "regional"), rest
    for stem in _stems(provider, text):
        yield Spelling(provider, routing, stem)
        # Only gateways write "claude-opus-4.8".
        if named and stem.startswith("claude-") and "." in stem:
            yield Spelling(provider, routing, _CLAUDE_DOT.sub("-", stem))


def _stems(provider: str, text: str) -> Iterator[str]:
    yield text
    if provider == "bedrock":
        # "…-20250929-v1:0": the version first, then the date.
        bare = _VERSION.sub("", text)
        if bare != text:
            yield bare
        text = bare
    elif provider == "gemini":
        bare = _GEMINI_VERSION.sub("", text)
        if bare != text:
            yield bare
    bare = _DATE.sub("", text)
    if bare != text:
        yield bare
