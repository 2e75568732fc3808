"""Gemini bodies (`contents` with parts), as REST sends them and as the google-genai SDK takes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_cachesafe.messages.parts import CALL_ID, Parts, add_text, called_name, check_tools, function_tool, joined
from pytest_cachesafe.messages.plain import kind_of
from pytest_cachesafe.prompt import UsageError

__all__ = ["CAMEL", "config_of", "contents_of", "convert", "declarations", "part_key", "parts_of"]

_ROLES = {"model": "assistant", "user": "user", "function": "user", "tool": "user", "system": "system"}
# The SDK writes snake case, REST camel case; both mean the same.
CAMEL = {
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "file_data": "fileData",
    "executable_code": "executableCode",
    "code_execution_result": "codeExecutionResult",
    "thought_signature": "thoughtSignature",
    "video_metadata": "videoMetadata",
    "mime_type": "mimeType",
    "file_uri": "fileUri",
    "display_name": "displayName",
}


def part_key(key: str) -> str:
    """The camel-case name of a part's key."""
    return CAMEL.get(key, key)


def config_of(body: Mapping[str, Any], *names: str) -> tuple[str, Any]:
    """(path, value) of a setting under any of its spellings, at the top level or in the SDK's `config`."""
    config = body.get("config")
    for prefix, level in (("", body), ("config.", config if isinstance(config, Mapping) else {})):
        for name in names:
            if level.get(name) is not None:
                return prefix + name, level[name]
    return "", None


def contents_of(body: Mapping[str, Any]) -> Iterator[tuple[str, str, list[Any], bool]]:
    """(path, role, parts, parts stand under `.parts`) of each content; strings and bare parts are the user's.

    Raises:
        UsageError: `contents` is missing or empty, or an item is neither content, part nor string.
    """
    contents = body.get("contents")
    if isinstance(contents, (str, dict)):
        contents = [contents]
        paths = ["contents"]
    elif isinstance(contents, list):
        paths = [f"contents[{i}]" for i in range(len(contents))]
    else:
        raise UsageError(f"contents is {kind_of(contents)}; a list of contents is meant")
    if not contents:
        raise UsageError("empty chat: contents has no messages")
    for path, content in zip(paths, contents, strict=True):
        if isinstance(content, str):
            yield path, "user", [content], False
        elif isinstance(content, dict) and "parts" in content:
            yield path, _role(content, path), parts_of(content["parts"], f"{path}.parts"), True
        elif isinstance(content, dict) and "role" in content:
            yield path, _role(content, path), [], True
        elif isinstance(content, dict):
            yield path, "user", [content], False
        else:
            raise UsageError(f"{path} is {kind_of(content)}; a content (a dict with role and parts) is meant")


def _role(content: Mapping[str, Any], path: str) -> str:
    # A content without role is the user's: the API fills it in.
    role = content.get("role") or "user"
    if not isinstance(role, str):
        raise UsageError(f"{path}.role is {kind_of(role)}; a role name is meant")
    return role


def parts_of(parts: Any, path: str) -> list[Any]:
    """The parts of a content, each a dict or a string.

    Raises:
        UsageError: anything else.
    """
    if isinstance(parts, (str, dict)):
        return [parts]
    if parts is None:
        return []
    if not isinstance(parts, list):
        raise UsageError(f"{path} is {kind_of(parts)}; a list of parts is meant")
    for i, part in enumerate(parts):
        if not isinstance(part, (dict, str)):
            raise UsageError(f"{path}[{i}] is {kind_of(part)}; a part (a dict) is meant")
    return parts


def declarations(tools: list[Any], path: str) -> Iterator[tuple[str, Any, bool]]:
    """(path, tool, is a function declaration) for everything under `tools`; functions are kept as they are."""
    for i, tool in enumerate(tools):
        if not isinstance(tool, dict):
            yield f"{path}[{i}]", tool, False
            continue
        for key, value in tool.items():
            if key in ("functionDeclarations", "function_declarations") and isinstance(value, list):
                for j, declaration in enumerate(value):
                    yield f"{path}[{i}].{key}[{j}]", declaration, isinstance(declaration, dict)
            elif value is not None:
                yield f"{path}[{i}].{key}", {key: value}, False


def convert(body: Mapping[str, Any]) -> Parts:
    """System instruction first; function responses become tool messages, thoughts the turn's reasoning.

    Raises:
        UsageError: contents or parts of a wrong type.
    """
    out = Parts()
    where, system = config_of(body, "systemInstruction", "system_instruction")
    if system is not None:
        content = system.get("parts", system) if isinstance(system, dict) else system
        blocks = [_block(p, where, out) for p in parts_of(content, where)]
        out.add({"role": "system", "content": joined(blocks)}, where)
    _Turns(out).convert(body)
    path, tools = config_of(body, "tools")
    if tools is not None:
        check_tools(tools, path)
        out.tools = [_tool(tool, declared) for _, tool, declared in declarations(tools, path)]
    return out


def _tool(tool: Any, declared: bool) -> Any:
    if not declared:
        return tool
    for key in ("parameters", "parametersJsonSchema", "parameters_json_schema"):
        if key in tool:
            return function_tool(tool, key, tool[key])
    return function_tool(tool, "parameters", None)


def _block(part: Any, path: str, out: Parts) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    kept = {part_key(key): value for key, value in part.items() if value is not None}
    data = kept.get("inlineData", kept.get("fileData"))
    if isinstance(data, dict):
        mime = str(data.get("mimeType", data.get("mime_type", "")))
        if mime.startswith("image/"):
            return {"type": "image", **kept}
    out.notes.append(f"part {next(iter(kept), 'without content')!r} at {path} kept as it is")
    return kept


class _Turns:
    """Numbers calls without id, and hands the numbers to the responses in the order of the calls of each name."""

    def __init__(self, out: Parts) -> None:
        self.out = out
        self.calls = 0
        self.waiting: dict[str, list[str]] = {}

    def convert(self, body: Mapping[str, Any]) -> None:
        for path, role, parts, nested in contents_of(body):
            role = _ROLES.get(role, role)
            places = [f"{path}.parts[{i}]" if nested else path for i in range(len(parts))]
            if role == "assistant":
                self._assistant(path, parts, places)
            else:
                self._user(path, role, parts, places)

    def _assistant(self, path: str, parts: list[Any], places: list[str]) -> None:
        blocks: list[dict[str, Any]] = []
        calls: list[dict[str, Any]] = []
        reasoning: str | None = None
        for part, place in zip(parts, places, strict=True):
            call = _get(part, "functionCall", place)
            if call is not None:
                name = called_name(call, f"{place}.functionCall")
                call_id = call.get("id")
                if call_id is None:
                    call_id = CALL_ID.format(self.calls)
                    self.waiting.setdefault(name, []).append(call_id)
                self.calls += 1
                function = {"name": name, "arguments": call.get("args") or {}}
                calls.append({"id": call_id, "type": "function", "function": function})
            elif isinstance(part, dict) and part.get("thought") is True:
                reasoning = add_text(reasoning, str(part.get("text", "")))
            elif isinstance(part, dict) and {part_key(k) for k in part} == {"thoughtSignature"}:
                continue  # a signature alone carries no text
            else:
                blocks.append(_block(part, place, self.out))
        message: dict[str, Any] = {"role": "assistant", "content": joined(blocks)}
        if reasoning is not None:
            message["reasoning_content"] = reasoning
        if calls:
            message["tool_calls"] = calls
        self.out.add(message, path)

    def _user(self, path: str, role: str, parts: list[Any], places: list[str]) -> None:
        rest: list[tuple[dict[str, Any], str]] = []
        for part, place in zip(parts, places, strict=True):
            answer = _get(part, "functionResponse", place)
            if answer is None:
                rest.append((_block(part, place, self.out), place))
                continue
            name = answer.get("name")
            waiting = self.waiting.get(str(name), [])
            call_id = answer.get("id") or (waiting.pop(0) if waiting else None)
            message: dict[str, Any] = {"role": "tool"}
            if call_id is not None:
                message["tool_call_id"] = call_id
            message["name"] = name
            message["content"] = _response_text(answer.get("response"))
            self.out.add(message, place)
        if rest or not parts:
            lone = len(rest) == 1 and len(parts) > 1
            self.out.add({"role": role, "content": joined([b for b, _ in rest])}, rest[0][1] if lone else path)


def _get(part: Any, camel: str, path: str) -> Mapping[str, Any] | None:
    if isinstance(part, dict):
        for key, value in part.items():
            if part_key(key) == camel and isinstance(value, dict):
                return value
            if part_key(key) == camel and value is not None:
                raise UsageError(f"{path}.{key} is {kind_of(value)}; a dict with name is meant")
    return None


def _response_text(response: Any) -> str:
    if isinstance(response, str):
        return response
    return json.dumps(response if response is not None else {}, ensure_ascii=False, default=repr)
