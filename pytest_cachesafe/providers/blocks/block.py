"""What a provider's cache sees of a request: an ordered list of blocks, some of which carry a marker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_cachesafe.providers.fronts import Front

__all__ = ["Block", "Layout", "Level", "Marker"]

Level = Literal["tools", "system", "messages"]


@dataclass(frozen=True, slots=True)
class Marker:
    """A cache breakpoint on a block (`cache_control`, `cachePoint`, `prompt_cache_breakpoint`)."""

    # JSON path of the marker's holder in the body ("system[0]", "messages[3].content[1]"), "" for a top-level one.
    path: str
    # "5m" or "1h" (Anthropic, Bedrock), "30m" or "12h" (OpenAI); a marker without ttl carries the default.
    ttl: str
    # False: given by the request's top-level field, or by the provider itself.
    explicit: bool = True


# Not frozen, which makes it three times as expensive to make, and an agent's requests have thousands.
@dataclass(slots=True)
class Block:
    """One unit of the provider's hash chain, in its own order (tools, system, messages). Shared: never changed."""

    path: str
    level: Level
    # One word for the same thing everywhere: "tool", "text", "image", "document", "tool_use", "tool_result" and
    # "thinking"; anything else is named as the provider names it ("web_search_20250305", "server_tool_use").
    kind: str
    # Digest of the canonical content with markers removed and, for the first block of a message, its role. Equal keys
    # mean equal content for the cache; key order inside a schema or tool input counts.
    key: bytes
    # Canonical text, for token estimates.
    text: str
    role: str | None = None
    message_index: int | None = None
    marker: Marker | None = None
    # Lookback position, counted from 0: a run of tool_use or of tool_result blocks has one position at Anthropic.
    position: int = 0
    # Whether a marker here is legal (not: empty text, thinking, a sub-block).
    markable: bool = True
    # The datum itself, as sent.
    value: Any = None


@dataclass(slots=True)
class Layout:
    """A whole request as its provider's cache sees it."""

    blocks: list[Block]
    # Markers in the order of the request as serialised, legal or not, with those on no block of the chain (a thinking
    # block, a sub-block, a wrong level of nesting), which `blocks` do not show.
    markers: list[Marker] = field(default_factory=list)
    # Settings rendered into the prompt or that void a level: name -> (value, path); defaults written out are left out.
    settings: dict[str, tuple[Any, str]] = field(default_factory=dict)
    # Automatic caching asked for by a top-level field.
    automatic: Marker | None = None
    # Parts of the body that are not understood, kept and reported: (path, type).
    unknown: list[tuple[str, str]] = field(default_factory=list)
    # OpenAI: indexes of the latest blocks that end a message an implicit breakpoint can land on, newest first; and of
    # the last block of the initial developer messages.
    ends: tuple[int, ...] = ()
    developer_end: int | None = None
    # Indexes of the blocks that are marked, are thinking, or are results of tools that the provider runs, in order.
    special: list[int] = field(default_factory=list)
    # What `blocks` share with those of an earlier request, where that is known; no part of the request.
    front: Front | None = field(default=None, compare=False, repr=False)
