"""The finding codes: how bad, under which published name of the provider, what it means, what to change.

Codes are part of the JSON output and stay as they are. The published names are the ones providers give for a miss
that was already paid for: Anthropic's `cache_miss_reason` (Messages API, "Cache diagnostics") and OpenAI's
`prompt_cache_diagnostics` (Responses API, "Prompt cache diagnostics"), both read 2026-11-29.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_cachesafe.findings import Severity
from pytest_cachesafe.providers.exchange import Provider

__all__ = ["CODES", "Code", "published", "severity_of"]

# "error": refused, or a miss at every request. "warning": happens once, or under a condition. "once": a warning where
# it happens once in a conversation, an error where it happens again. "note": best effort, or not known.
Weight = Literal["error", "warning", "once", "note"]


@dataclass(frozen=True, slots=True)
class Code:
    """One code. `anthropic` and `openai` are the published reasons, None where the provider has no name for it."""

    weight: Weight
    says: str
    fix: str
    anthropic: str | None = None
    openai: str | None = None
    # Answered with status 400 by the provider itself.
    refused: bool = False


def _refused(says: str, fix: str) -> Code:
    return Code("error", says, fix, refused=True)


CODES: dict[str, Code] = {
    # One request, refused by the provider.
    "too-many-markers": _refused(
        "more markers than the provider takes, counted over tools, system and messages as serialised",
        "keep the markers that end a part that others share: tools, system, newest turn",
    ),
    "marker-ttl-order": _refused(
        "a marker of 1h stands behind one of 5m; a marker without ttl is 5m",
        "give every marker in front of it the longer ttl as well, or shorten this one",
    ),
    "marker-on-empty-text": _refused(
        "an empty text block cannot carry a marker", "mark the block before it, or leave the empty block out"
    ),
    "marker-on-thinking": _refused(
        "a thinking block cannot carry a marker; it is cached with what stands around it",
        "mark the last block of the message that is not thinking",
    ),
    "marker-on-sub-block": _refused(
        "a part inside a block (a citation, a source) cannot carry a marker", "mark the block that holds it"
    ),
    "marker-invalid": _refused(
        "the marker is not one the provider knows", 'write {"type": "ephemeral"}, with "ttl": "5m" or "1h" if needed'
    ),
    "automatic-ttl-conflict": _refused(
        "automatic caching and the marker on the last block ask for different lifetimes",
        "drop one of the two, or give both the same ttl",
    ),
    "automatic-unsupported": _refused(
        "this interface has no automatic caching (top-level cache_control)", "mark blocks instead"
    ),
    "prewarm-conflict": _refused(
        "a pre-warming request (max_tokens 0) cannot have this setting", "leave the setting out of the pre-warming call"
    ),
    "cachepoint-first": _refused(
        "a cachePoint ends the content before it, and there is none in its message",
        "put the cachePoint behind a content block of the same message",
    ),
    "cachepoint-only": _refused(
        "a message that holds nothing but a cachePoint", "put the cachePoint at the end of the message before it"
    ),
    "cachepoint-in-tools": _refused(
        "this model takes no cachePoint among its tools", "put the cachePoint into system or messages"
    ),
    # One request, taken by the provider.
    "marker-misplaced": Code(
        "error",
        "a marker where no provider reads one (on a message, in a source, in additional_kwargs, on a member's config)",
        "put it on a content block, a tool or a system block",
    ),
    "marker-lost-in-conversion": Code(
        "error",
        "markers set by the caller are gone on the wire",
        "mark in the form the gateway passes on, or call the provider's own interface",
    ),
    "marker-of-another-provider": Code(
        "note",
        "a marker of another provider; whether it is read here is not known",
        "use this provider's own marker, or leave it out",
    ),
    "below-minimum": Code(
        "warning",
        "what is marked is shorter than the model caches; nothing is cached, and nothing is said",
        "mark a longer prefix, or drop the marker",
    ),
    "maybe-below-minimum": Code(
        "note",
        "what is marked may be shorter than the model caches; the estimate cannot tell",
        "give a token counter, or mark a longer prefix",
    ),
    "no-marker": Code(
        "warning",
        "a long fixed beginning, sent more than once, and no marker anywhere: nothing is cached",
        'end the fixed part with a marker (a plain string cannot carry one: write a list of one text block), or set '
        "cache_control at the top level",
    ),
    "explicit-without-marker": Code(
        "warning",
        "explicit mode and no breakpoint: nothing is cached",
        "add prompt_cache_breakpoint, or leave the mode implicit",
    ),
    # From one request to the next.
    "model-changed": Code(
        "once", "another model; caches are per model", "keep one model per conversation",
        "model_changed", "model_changed",
    ),
    "provider-changed": Code(
        "once", "another provider; each has a cache of its own", "keep one provider per conversation",
    ),
    "endpoint-changed": Code(
        "once", "another interface of the provider; caches do not carry over", "keep one interface per conversation",
        "unavailable", "unavailable",
    ),
    "speed-changed": Code(
        "once", "speed was switched", "keep the speed constant within a conversation", "model_changed",
    ),
    "service-tier-changed": Code(
        "once", "another service tier", "keep the tier constant within a conversation", None, "service_tier_changed",
    ),
    "thinking-changed": Code(
        "once", "thinking mode or budget changed; both are rendered into the prompt",
        "keep thinking constant within a conversation, tool continuations included", "unavailable",
        "reasoning_effort_changed",
    ),
    "effort-changed": Code(
        "once", "effort changed; it is rendered into the prompt", "keep the effort constant within a conversation",
        "unavailable", "reasoning_effort_changed",
    ),
    "output-format-changed": Code(
        "once", "another output schema", "keep the output schema constant within a conversation",
        "unavailable", "text_format_changed",
    ),
    "verbosity-changed": Code(
        "once", "verbosity changed", "keep the verbosity constant within a conversation", None, "verbosity_changed",
    ),
    "cache-mode-changed": Code(
        "once", "the cache mode was switched; the boundaries of the other mode are not looked up",
        "keep the mode constant within a conversation", None, "unavailable",
    ),
    "cached-content-changed": Code(
        "note", "another cached content object", "keep one cached content object per conversation",
    ),
    "web-search-toggled": Code(
        "once", "web search or fetch was switched on or off; the system prompt is rewritten",
        "keep web tools on or off for the whole conversation", "tools_changed", "tools_changed",
    ),
    "citations-toggled": Code(
        "once", "citations were switched on or off; the system prompt is rewritten",
        "keep citations on or off for the whole conversation", "messages_changed",
    ),
    "tools-reordered": Code(
        "error", "the same tools in another order", "sort the tools before they are sent",
        "tools_changed", "tools_changed",
    ),
    "tools-changed": Code(
        "once", "tools were added or removed",
        "send the same tools in every request; restrict them by tool_choice instead", "tools_changed", "tools_changed",
    ),
    "tool-definition-changed": Code(
        "error", "a tool's description or schema changed", "keep tool definitions constant",
        "tools_changed", "tools_changed",
    ),
    "schema-key-order": Code(
        "warning", "the same schema with its keys in another order", "serialise schemas in one order",
        "tools_changed", "tools_changed",
    ),
    "handoff": Code(
        "warning", "another agent goes on with the conversation: instructions and tools are replaced",
        "expected of a handoff; give both agents the same tools and instructions if it costs too much",
        "tools_changed", "tools_changed",
    ),
    "system-changed": Code(
        "error", "the system text changed", "keep the system text constant; move what changes into the newest message",
        "system_changed", "input_changed",
    ),
    "marker-on-changing-block": Code(
        "error", "the marked block changes with every request; it is written each time and never read",
        "split: a block with what stays the same and the marker, then a block with what changes",
        "system_changed", None,
    ),
    "tool-choice-changed": Code(
        "once", "tool_choice changed; the cached messages are void", "keep tool_choice constant within a conversation",
        "unavailable",
    ),
    "parallel-tool-use-changed": Code(
        "once", "parallel tool use was switched; the cached messages are void",
        "keep it constant within a conversation", "unavailable", "tools_changed",
    ),
    "images-toggled": Code(
        "once", "the first image came in, or the last went out; the cached messages are void",
        "expected of the first image; send it early if the history is long", "messages_changed",
    ),
    "thinking-dropped": Code(
        "error", "thinking that was sent before is left out now",
        "replay thinking blocks as they were received, also after the next user turn",
        "messages_changed", "input_changed",
    ),
    "thinking-stripped": Code(
        "note",
        "the user speaks again, and this model's interface takes the thinking out of what was said before; what stands "
        "behind it is not read",
        "expected of this model; newer ones keep thinking",
    ),
    "tool-arguments-reserialised": Code(
        "error", "the same tool-call arguments, written out differently",
        "keep the argument string that the model produced and replay it as it is", "messages_changed", "input_changed",
    ),
    "history-edited": Code(
        "error", "a message that had been sent was changed",
        "leave sent messages as they are; correct in the newest one", "messages_changed", "input_changed",
    ),
    "history-reordered": Code(
        "error", "messages that had been sent come in another order", "keep the order of sent messages",
        "messages_changed", "input_changed",
    ),
    "history-pruned": Code(
        "error", "messages or tool results in the middle of the history were taken out",
        "prune rarely and in large steps", "messages_changed", "input_changed",
    ),
    "history-cut": Code(
        "error", "the oldest messages were cut off", "cut rarely and in large steps, not at every request",
        "messages_changed", "input_changed",
    ),
    "history-summarised": Code(
        "once", "the oldest messages were replaced by a summary", "expected of a summary; summarise rarely",
        "messages_changed", "context_compacted",
    ),
    "marker-lost": Code(
        "once", "the marker of the request before is gone, and none reaches what was written",
        "mark every request of the conversation",
    ),
    "marker-out-of-lookback": Code(
        "warning", "the last entry lies further back than the provider looks from any marker",
        "add a marker at most 20 blocks apart, or keep the old one where it was",
    ),
    "marker-trails": Code(
        "warning", "the last marker is counted from the end and stays so far behind that the newest blocks are never "
        "cached", "put the last marker on the newest block",
    ),
    "prompt-cache-key-changed": Code(
        "warning", "another prompt_cache_key for the same prefix", "use one key per conversation (or per fixed prefix)",
        None, "prompt_cache_key_changed",
    ),
    "prompt-cache-key-shared": Code(
        "warning", "one prompt_cache_key for different prefixes; they evict each other", "use one key per prefix",
        None, "input_changed",
    ),
    "account-changed": Code(
        "note",
        "another account, key or host; caches are not shared between accounts, and whether these are one is not known",
        "send a conversation with one key to one host",
    ),
    "entry-expired": Code(
        "note", "more time went by than the entry lives", "use the longer ttl, or accept the write",
    ),
}  # fmt: skip


def severity_of(code: str, *, times: int = 1, provider: Provider = "anthropic") -> Severity:
    """How bad a code is when it happens `times` times in a conversation.

    Gemini's implicit cache is best effort ("Context caching", read 2026-11-29): nothing is promised, so that nothing
    between requests is worse there than a note.
    """
    weight = CODES[code].weight
    if provider == "gemini":
        return Severity.NOTE
    if weight == "once":
        return Severity.ERROR if times > 1 else Severity.WARNING
    return Severity(weight)


def published(code: str, provider: Provider) -> str | None:
    """The provider's own name for a miss with this cause; None where it publishes none."""
    if provider == "openai":
        return CODES[code].openai
    # Bedrock gives no diagnosis, whatever model it serves.
    return CODES[code].anthropic if provider == "anthropic" else None
