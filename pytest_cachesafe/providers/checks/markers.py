"""Every marker of a body in the order it is serialised, legal or not: what the provider counts and refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["Placed", "count_anywhere", "markers_in", "markers_of"]

# "block": a tool, system block or content block, or a block inside a tool result. "automatic": the top-level field.
# "sub": inside a block (a citation). The rest are places no provider reads.
Place = Literal["block", "automatic", "sub", "message", "source", "kwargs", "member"]

_THINKING = ("thinking", "redacted_thinking")
_KEYS = ("cache_control", "cachePoint", "prompt_cache_breakpoint")


@dataclass(frozen=True, slots=True)
class Placed:
    """One marker where it stands."""

    # JSON path of its holder ("system[0]", "messages[3].content[1]"), "" for the top-level field.
    path: str
    place: Place
    value: Any
    # The block that carries it.
    holder: Any
    # How many markers it becomes on the wire: an adapter copies one on a tool message to each of its results.
    count: int = 1

    @property
    def ttl(self) -> str:
        """Its lifetime as named; a marker without one has the default of five minutes."""
        ttl = self.value.get("ttl") if isinstance(self.value, Mapping) else None
        return ttl if isinstance(ttl, str) else "5m"

    @property
    def thinking(self) -> bool:
        """Whether it stands on a thinking block."""
        return isinstance(self.holder, Mapping) and self.holder.get("type") in _THINKING

    @property
    def empty(self) -> bool:
        """Whether it stands on a text block without text."""
        return (
            isinstance(self.holder, Mapping)
            and self.holder.get("type", "text") == "text"
            and "text" in self.holder
            and not self.holder["text"]
        )


def markers_of(exchange: Exchange) -> list[Placed]:
    """The markers of a request, in the order tools, system, messages; the top-level field last."""
    return markers_in(exchange.api, exchange.body)


def markers_in(api: str, body: Mapping[str, Any]) -> list[Placed]:
    """The same of a body alone, or of a part of it."""
    if api == "converse":
        return list(_converse(body))
    if api in ("messages", "invoke"):
        return list(_anthropic(body))
    if api in ("chat", "responses"):
        return list(_openai(api, body))
    return []


def count_anywhere(value: Any) -> int:
    """Markers of any provider at any depth, as a caller may have set them in the form of a gateway."""
    if isinstance(value, Mapping):
        own = sum(value.get(key) is not None for key in _KEYS)
        return own + sum(count_anywhere(v) for k, v in value.items() if k not in _KEYS)
    if isinstance(value, (list, tuple)):
        return sum(map(count_anywhere, value))
    return 0


def _anthropic(body: Mapping[str, Any]) -> Iterator[Placed]:
    for i, tool in enumerate(_list(body.get("tools"))):
        yield from _on(tool, f"tools[{i}]")
        if isinstance(tool, Mapping):
            yield from _members(tool, f"tools[{i}]")
    for i, block in enumerate(_list(body.get("system"))):
        yield from _block(block, f"system[{i}]")
    for i, message in enumerate(_list(body.get("messages"))):
        if isinstance(message, Mapping):
            yield from _message(message, f"messages[{i}]")
    if body.get("cache_control") is not None:
        yield Placed("", "automatic", body["cache_control"], body)


def _message(message: Mapping[str, Any], path: str) -> Iterator[Placed]:
    content = message.get("content")
    for i, block in enumerate(_list(content)):
        yield from _block(block, f"{path}.content[{i}]")
    if message.get("cache_control") is not None:
        if message.get("role") == "tool":
            # Not Anthropic's own form: an adapter makes a tool_result of each entry and copies the marker to each.
            count = max(len(content), 1) if isinstance(content, list) else 1
            yield Placed(path, "block", message["cache_control"], message, count)
        else:
            yield Placed(path, "message", message["cache_control"], message)
    kwargs = message.get("additional_kwargs")
    if isinstance(kwargs, Mapping) and kwargs.get("cache_control") is not None:
        yield Placed(f"{path}.additional_kwargs", "kwargs", kwargs["cache_control"], kwargs)


def _block(block: Any, path: str) -> Iterator[Placed]:
    """A content block, blocks inside its result, and what stands where nothing is read."""
    if not isinstance(block, Mapping):
        return
    if block.get("cache_control") is not None:
        yield Placed(path, "block", block["cache_control"], block)
    # Most blocks hold none of these, and a long history has many blocks.
    if "source" in block:
        yield from _source(block["source"], path)
    if "citations" in block:
        citations = block["citations"]
        for i, citation in enumerate(_list(citations)):
            yield from _on(citation, f"{path}.citations[{i}]", "sub")
        yield from _on(citations, f"{path}.citations", "sub")
    if isinstance(block.get("content"), list):
        # Blocks inside a tool result are blocks; those inside a search result are its parts.
        inside = str(block.get("type")).endswith("tool_result")
        for i, inner in enumerate(block["content"]):
            where = f"{path}.content[{i}]"
            yield from _block(inner, where) if inside else _on(inner, where, "sub")


def _source(source: Any, path: str) -> Iterator[Placed]:
    if isinstance(source, Mapping):
        if source.get("cache_control") is not None:
            yield Placed(f"{path}.source", "source", source["cache_control"], source)
        for i, inner in enumerate(_list(source.get("content"))):
            yield from _on(inner, f"{path}.source.content[{i}]", "sub")


def _members(tool: Mapping[str, Any], path: str) -> Iterator[Placed]:
    """Markers on the members of a toolset, which only the toolset itself can carry."""
    yield from _on(tool.get("default_config"), f"{path}.default_config", "member")
    configs = tool.get("configs")
    if isinstance(configs, Mapping):
        for name, config in configs.items():
            yield from _on(config, f"{path}.configs.{name}", "member")
    for i, member in enumerate(_list(tool.get("tools"))):
        yield from _on(member, f"{path}.tools[{i}]", "member")


def _converse(body: Mapping[str, Any]) -> Iterator[Placed]:
    config = body.get("toolConfig")
    if isinstance(config, Mapping):
        yield from _points(config.get("tools"), "toolConfig.tools")
    yield from _points(body.get("system"), "system")
    for i, message in enumerate(_list(body.get("messages"))):
        if isinstance(message, Mapping):
            yield from _points(message.get("content"), f"messages[{i}].content")


def _points(entries: Any, path: str) -> Iterator[Placed]:
    for i, entry in enumerate(_list(entries)):
        if isinstance(entry, Mapping) and entry.get("cachePoint") is not None:
            yield Placed(f"{path}[{i}]", "block", entry["cachePoint"], entry)


def _openai(api: str, body: Mapping[str, Any]) -> Iterator[Placed]:
    key = "input" if api == "responses" else "messages"
    for i, item in enumerate(_list(body.get(key))):
        if not isinstance(item, Mapping):
            continue
        for name in ("content", "output"):
            for j, block in enumerate(_list(item.get(name))):
                if isinstance(block, Mapping) and block.get("prompt_cache_breakpoint") is not None:
                    path = f"{key}[{i}].{name}[{j}]"
                    yield Placed(path, "block", block["prompt_cache_breakpoint"], block)


def _on(value: Any, path: str, place: Place = "block") -> Iterator[Placed]:
    if isinstance(value, Mapping) and value.get("cache_control") is not None:
        yield Placed(path, place, value["cache_control"], value)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
