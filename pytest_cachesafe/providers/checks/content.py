"""Tools, system text and messages of two requests: the wire front end compares them, its blame says why.

Settings are taken out first (`checks.settings` judges them), so that what differs here is content.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.findings import Origin, Severity
from pytest_cachesafe.frontends.wire import WireFrontEnd
from pytest_cachesafe.messages.similarity import alike, words
from pytest_cachesafe.prefix.view import canonical, view
from pytest_cachesafe.prompt import Chat, Prompt
from pytest_cachesafe.providers.checks.settings import MESSAGES, SYSTEM, TOOLS, Rank

if TYPE_CHECKING:
    from pytest_cachesafe.prefix.compare import Divergence

__all__ = ["Contents", "Difference", "tool_name"]

# What a body holds beside settings, per wire format.
_CONTENT = {
    "anthropic": ("tools", "system", "messages"),
    "openai-chat": ("tools", "functions", "messages"),
    "openai-responses": ("tools", "instructions", "input"),
    "gemini": ("tools", "system_instruction", "systemInstruction", "contents", "config"),
    "bedrock": ("tools", "toolConfig", "system", "messages"),
}
_BLOCK = re.compile(r"(?:\w+\[\d+\]\.(?:content|parts)|system|tools|\w+\.parts)\[\d+\]")
_RESULTS = ("tool_result", "toolResult", "function_call_output", "functionResponse")
# Where a part of a message holds a call: Chat Completions, Gemini, Bedrock.
_CALLS = ("function", "functionCall", "function_call", "toolUse")
_RANKS: dict[str | None, Rank] = {"tools": TOOLS, "system": SYSTEM}


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where the content of a request is not that of the request before."""

    rank: Rank
    code: str
    path: str
    cause: str
    origin: Origin
    severity: Severity
    divergence: Divergence
    # Which tools came and went.
    detail: str = ""


class Contents:
    """Prompts of the content of requests; each message's text is written once."""

    def __init__(self) -> None:
        self._front_end = WireFrontEnd()
        # The latest few: a request is mostly compared with the one right before it.
        self._prompts: dict[int, Prompt] = {}

    def prompt(self, index: int, chat: Chat) -> Prompt:
        """The canonical text of one request without its settings."""
        found = self._prompts.pop(index, None)
        if found is None:
            found = self._front_end.prompt(_content_only(chat))
        self._prompts[index] = found
        while len(self._prompts) > 16:
            del self._prompts[next(iter(self._prompts))]
        return found

    def differences(self, one: int, a: Chat, other: int, b: Chat) -> list[Difference]:
        """What keeps `b` from beginning with all of `a`: what is only worth a note, then the first that is worse.

        Among the former is the end of the last text going on in other words, which costs something only if it was
        marked (`scope` is "tail").
        """
        # Most requests continue the one before: blame is loaded where one does not.
        from pytest_cachesafe.prefix.accept import Acceptances
        from pytest_cachesafe.prefix.step import judge

        step = judge(self.prompt(one, a), self.prompt(other, b), other, one, Acceptances(), 16)
        found = list(step.notes)
        if step.divergence is not None and step.divergence.severity is not Severity.NOTE:
            found.append(step.divergence)
        return [_named(d, a, b, self.prompt(one, a), self.prompt(other, b)) for d in found]


def _content_only(chat: Chat) -> Chat:
    body = chat.body
    if body is not None:
        keys = _CONTENT.get(chat.wire)
        if keys is not None:
            body = {key: _kept(key, body[key]) for key in keys if body.get(key) is not None}
    return replace(chat, model=None, settings={}, body=body)


def _kept(key: str, value: Any) -> Any:
    if key == "tools" and isinstance(value, list):
        # Tools found by search are appended to the messages when they are used; their definitions are not in front.
        return [tool for tool in value if not (isinstance(tool, Mapping) and tool.get("defer_loading") is True)]
    if key == "toolConfig" and isinstance(value, Mapping):
        return {k: v for k, v in value.items() if k != "toolChoice"}
    return value


def _named(divergence: Divergence, a: Chat, b: Chat, pa: Prompt, pb: Prompt) -> Difference:
    part = divergence.location.part
    rank = _RANKS.get(part, MESSAGES)
    if part != "tools" and bool(_tools(pa)) != bool(_tools(pb)):
        # Without a system text the difference stands where the messages begin.
        rank = TOOLS
    path = _path(divergence)
    if rank == TOOLS:
        code, path = _tools_code(divergence, pa, pb, path)
        if code in ("tools-changed", "tool-definition-changed") and _handoff(pa, pb):
            code = "handoff"
    elif rank == SYSTEM:
        code = "handoff" if _handoff(pa, pb) else "system-changed"
    else:
        code = _message_code(divergence, pa, pb)
    note = divergence.severity is Severity.NOTE and divergence.scope != "tail"
    return Difference(
        rank, code, path, divergence.cause, divergence.origin,
        Severity.NOTE if note else Severity.ERROR, divergence, _tool_detail(pa, pb) if rank == TOOLS else "",
    )  # fmt: skip


def _path(divergence: Divergence) -> str:
    """The place in the later request, which is the one that somebody looks at; in the earlier one where it is gone."""
    path = divergence.paths[1] or divergence.paths[0] or divergence.location.path or ""
    # Caches know blocks; what differs inside is shown.
    block = _BLOCK.match(path)
    return block[0] if block is not None else path


def _tools(prompt: Prompt) -> list[Any]:
    data = view(prompt)
    found: list[Any] = []
    for tool in (data.tools if data is not None else None) or ():
        nested = tool.get("functionDeclarations", tool.get("function_declarations")) if _is_map(tool) else None
        found += nested if isinstance(nested, list) else [tool]
    return [
        tool for tool in found if not (_is_map(tool) and ("cachePoint" in tool or tool.get("type") == "cachePoint"))
    ]


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_web(tool: Any) -> bool:
    """Whether a tool definition is the provider's own web search or fetch."""
    return isinstance(tool, Mapping) and str(tool.get("type")).startswith(("web_search", "web_fetch"))


def tool_name(tool: Any) -> str:
    """What a tool is called; a hosted tool is called by its type."""
    if not isinstance(tool, Mapping):
        return getattr(tool, "__name__", repr(tool))
    for holder in (tool, tool.get("function"), tool.get("toolSpec")):
        if isinstance(holder, Mapping) and isinstance(holder.get("name"), str):
            return str(holder["name"])
    return str(tool.get("type", canonical(tool)))


def _tools_code(divergence: Divergence, pa: Prompt, pb: Prompt, path: str) -> tuple[str, str]:
    one, other = _tools(pa), _tools(pb)
    names = [[tool_name(tool) for tool in tools] for tools in (one, other)]
    if sorted(names[0]) != sorted(names[1]):
        web = [[t for t in tools if _is_web(t)] for tools in (one, other)]
        rest = [[canonical(t) for t in tools if not _is_web(t)] for tools in (one, other)]
        if rest[0] == rest[1] and len(web[0]) != len(web[1]):
            return "web-search-toggled", path
        return "tools-changed", path
    if names[0] != names[1]:
        return "tools-reordered", path
    same = sorted(map(canonical, one)) == sorted(map(canonical, other))
    return ("schema-key-order" if same else "tool-definition-changed"), path


def _tool_detail(pa: Prompt, pb: Prompt) -> str:
    one, other = ([tool_name(tool) for tool in _tools(p)] for p in (pa, pb))
    words = [("added", [n for n in other if n not in one]), ("removed", [n for n in one if n not in other])]
    return "; ".join(f"{word} {', '.join(names[:6])}" for word, names in words if names)


def _handoff(pa: Prompt, pb: Prompt) -> bool:
    """Whether instructions and tools are both another agent's.

    Agents of one house share most of their instructions; then the call that handed over tells: its tool is offered by
    one of the two only.
    """
    names = [{tool_name(tool) for tool in _tools(p)} for p in (pa, pb)]
    texts = [system_text(p) for p in (pa, pb)]
    if names[0] == names[1] or not all(texts) or words(texts[0]) == words(texts[1]):
        return False
    data = view(pb)
    return not alike(*texts) or (data is not None and not _called(data.messages).isdisjoint(names[0] ^ names[1]))


def _called(messages: Sequence[Any]) -> set[str]:
    """Names of the tools that were called in a history."""
    found: set[str] = set()
    for message in messages:
        if not _is_map(message):
            continue
        calls = [message] if message.get("type") == "function_call" else []
        for key in ("content", "parts", "tool_calls"):
            held = message.get(key)
            calls += [c for c in held if _is_map(c)] if isinstance(held, list) else []
        for call in calls:
            inner = next((call[k] for k in _CALLS if _is_map(call.get(k))), call)
            if (inner is not call or call.get("type") in ("tool_use", "function_call")) and "name" in inner:
                found.add(str(inner["name"]))
    return found


def system_text(prompt: Prompt) -> str:
    """All system text of a request."""
    parts = [prompt.text[s.start : s.end] for s in prompt.segments if s.part == "system" and s.writer == "data"]
    return "\n".join(parts)


def _message_code(divergence: Divergence, pa: Prompt, pb: Prompt) -> str:
    cause = divergence.cause
    if cause == "reasoning_dropped":
        return "thinking-dropped"
    if cause == "tool_arguments_reserialised":
        return "tool-arguments-reserialised"
    va, vb = view(pa), view(pb)
    if va is None or vb is None:
        return "history-edited"
    if _compactions(vb.messages) > _compactions(va.messages):
        return "history-summarised"
    shape = _shape(_spoken(va.messages), _spoken(vb.messages))
    if shape is None and cause == "history_shifted":
        shape = "history-pruned"
    if shape is None and cause == "order":
        shape = "history-reordered"
    if shape in (None, "history-edited") and _cleared(divergence, va.messages, vb.messages):
        shape = "history-pruned"
    return shape or "history-edited"


def _compactions(messages: Sequence[Any]) -> int:
    """Items in which a provider keeps what was said before."""
    return sum(_is_map(m) and m.get("type") == "compaction" for m in messages)


def _spoken(messages: Sequence[Any]) -> list[Any]:
    return [_unmarked(m) for m in messages if not (_is_map(m) and m.get("role") in ("system", "developer"))]


def _unmarked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _unmarked(v) for k, v in value.items() if k not in ("cache_control", "prompt_cache_breakpoint")}
    if isinstance(value, list):
        kept = [_unmarked(v) for v in value if not (_is_map(v) and "cachePoint" in v)]
        if len(kept) == 1 and _is_map(kept[0]) and kept[0].keys() == {"type", "text"}:
            return kept[0]["text"]
        return kept
    return value


def _shape(before: Sequence[Any], now: Sequence[Any]) -> str | None:
    """What became of the history as a whole; None where that does not tell.

    Without its beginning it is cut, with another beginning summarised, with holes pruned, with one message in another
    wording and the next as before edited.
    """
    one, other = ([canonical(message) for message in messages] for messages in (before, now))
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    if same >= len(one) or same >= len(other):
        return None
    rest, later = one[same:], other[same:]
    shorter = len(later) < len(rest)
    if rest[1:2] == later[1:2] and not _moved_up(rest, later) and not (shorter and _another(before[same], now[same])):
        # One message in another wording, whatever else is said again elsewhere.
        return "history-edited" if rest[1:2] else None
    n = min(len(rest), len(later))
    if sorted(rest[:n]) == sorted(later[:n]):
        # Nothing is gone.
        return "history-reordered"
    if later[0] in rest[1:]:
        # What comes next was said later: something between is gone.
        return "history-cut" if same == 0 else "history-pruned"
    kept = set(rest[1:])
    # New words stand where the beginning was, and behind them the history goes on.
    back = next((i for i, m in enumerate(later[1:4], 1) if m in kept), None)
    if back is not None and (rest.index(later[back]) > back or (shorter and later[back] in rest[back + 1 :])):
        return "history-summarised"
    if same <= 1 and len(later) + 2 <= len(rest) and not kept & set(later):
        return "history-summarised"
    return None


def _moved_up(rest: Sequence[str], later: Sequence[str]) -> bool:
    """Whether a history goes on from a later message, and only its answers are the same in each place ("ok", "ok")."""
    return rest[2:3] != later[2:3] and any(rest[n:] == later[: len(rest) - n] for n in range(1, len(rest)))


def _another(one: Any, other: Any) -> bool:
    """Whether two messages are no two wordings of one."""
    texts = _said(one), _said(other)
    return all(texts) and not alike(*texts)


def _cleared(divergence: Divergence, one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether a tool result gave way to a shorter text or to other words altogether, as history editors do it."""
    if divergence.messages is None:
        return False
    i, j = divergence.messages
    if i >= len(one) or j >= len(other) or not (_is_map(one[i]) and _is_map(other[j])):
        return False
    # A marker that moved on is no text that went.
    before, after = canonical(_unmarked(one[i])), canonical(_unmarked(other[j]))
    if not (_is_result(one[i], before) and _is_result(other[j], after)):
        return False
    return 5 * len(after) < 4 * len(before) or not words(_said(one[i])) & words(_said(other[j]))


def _is_result(message: Mapping[str, Any], text: str) -> bool:
    return message.get("role") == "tool" or any(f'"{word}"' in text for word in _RESULTS)


def _said(value: Any) -> str:
    """The texts in a tool result."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(map(_said, value))
    if isinstance(value, Mapping):
        return " ".join(_said(value[key]) for key in ("content", "text", "output", "toolResult") if key in value)
    return ""
