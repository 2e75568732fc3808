"""Gemini generateContent bodies as blocks: tools, system instruction, contents. Nothing carries a marker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_cachesafe.frontends.wire_text import Writer, label, ordered
from pytest_cachesafe.messages.gemini import CAMEL, config_of, contents_of, declarations, parts_of
from pytest_cachesafe.providers.blocks.block import Level
from pytest_cachesafe.providers.blocks.builder import Builder, Plan
from pytest_cachesafe.providers.blocks.canonical import media, tool_text
from pytest_cachesafe.usage import UsageError

__all__ = ["plans"]

_KINDS = {
    "text": "text",
    "inlineData": "image",
    "fileData": "document",
    "functionCall": "tool_use",
    "functionResponse": "tool_result",
    "executableCode": "executableCode",
    "codeExecutionResult": "codeExecutionResult",
}


def plans(body: Mapping[str, Any]) -> list[Plan]:
    """The three levels, in the wire front end's order (which one Gemini uses inside is not published).

    Raises:
        UsageError: the body has no contents, or not as the API wants them.
    """
    path, tools = config_of(body, "tools")
    tool_list = [(where, tool) for where, tool, _ in declarations(tools if isinstance(tools, list) else [], path)]
    path, system = config_of(body, "systemInstruction", "system_instruction")
    if isinstance(system, Mapping) and "parts" in system:
        path, system = f"{path}.parts", parts_of(system["parts"], f"{path}.parts")
    lead: list[tuple[str, Any]] = []
    if isinstance(system, list):
        lead = [(f"{path}[{i}]", part) for i, part in enumerate(system)]
    elif system not in (None, ""):
        lead = [(path, system)]
    return [
        Plan("tools", tool_list, _tool),
        Plan("system", lead, _system),
        Plan("messages", list(contents_of(body)), _content),
    ]


def _tool(builder: Builder, datum: Any, index: int) -> None:
    path, tool = datum
    text = tool_text(tool, path)
    builder.block(path, "tools", "tool", f"tool {text}", tool, text=text)


def _system(builder: Builder, datum: Any, index: int) -> None:
    path, part = datum
    _part(builder, part, path, "system", "system: ", "system", None)


def _content(builder: Builder, datum: Any, index: int) -> None:
    path, role, parts, nested = datum
    start = f"{label(role)} "
    for i, part in enumerate(parts):
        _part(builder, part, f"{path}.parts[{i}]" if nested else path, "messages", start, role, index)
        start = " "
    if not parts:
        builder.block(path, "messages", "message", start, {}, role=role, index=index, markable=False, text="")


def _part(builder: Builder, part: Any, path: str, level: Level, start: str, role: str, index: int | None) -> None:
    if isinstance(part, str):
        part = {"text": part}
    if not isinstance(part, Mapping):
        raise UsageError(f"{path} is {type(part).__name__}; a part (an object) is meant")
    # `thought: false` says nothing.
    said = {key: value for key, value in part.items() if value is not False}
    names = {CAMEL.get(key, key) for key in said}
    kind = next((shown for name, shown in _KINDS.items() if name in names), None)
    if kind is None:
        builder.unknown(path, next(iter(sorted(names)), "empty"))
    writer = Writer()
    writer.aliases = CAMEL
    writer.entry(f"{start}part")
    for key, value in ordered(said, CAMEL):
        writer.field(".", key, value, f"{path}.{key}")
    builder.block(
        path,
        level,
        "thinking" if part.get("thought") else kind or "part",
        writer.text(),
        part,
        role=role,
        index=index,
        markable=False,
    )
    if any(what == "image" for what, _ in media(part)):
        builder.trait("images", path)
