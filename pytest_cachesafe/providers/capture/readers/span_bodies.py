"""Messages of GenAI spans as wire bodies, one builder per layout.

The words of a span are the conventions' own (roles user, assistant, tool, system; parts text, tool_call,
tool_call_response, reasoning, blob, uri, file); what they have no word for is kept under its own type.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

__all__ = ["BODIES", "REPLIES"]

Part = Mapping[str, Any]
Message = Mapping[str, Any]


def _parts(message: Any) -> list[Part]:
    """Parts of a message; a plain `content` is one text part."""
    if not isinstance(message, Mapping):
        return []
    parts = message.get("parts")
    if isinstance(parts, list):
        return [p if isinstance(p, Mapping) else {"type": "text", "content": str(p)} for p in parts]
    content = message.get("content")
    return [] if content is None else [{"type": "text", "content": content}]


def _instructions(items: list[Any]) -> list[Part]:
    """System instructions are parts, or messages of parts."""
    return [part for item in items for part in (_parts(item) if "parts" in item else [item])]


def _split(messages: list[Message], system: list[Part]) -> tuple[list[Part], list[Message]]:
    """(system parts, the rest): system messages at the front belong with the instructions."""
    rest = list(messages)
    while rest and rest[0].get("role") in ("system", "developer"):
        system = [*system, *_parts(rest.pop(0))]
    return system, rest


def _text(part: Part) -> str:
    content = part.get("content", part.get("text", ""))
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _arguments(part: Part) -> Any:
    """A call's arguments as an object, where they are one."""
    given = part.get("arguments")
    if isinstance(given, str):
        try:
            parsed = json.loads(given)
        except ValueError:
            return given
        return parsed
    return {} if given is None else given


def _result(part: Part) -> Any:
    return next((part[key] for key in ("response", "result", "content") if key in part), "")


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _tools(definitions: list[Any]) -> Iterator[tuple[str, Any, Any]]:
    """(name, description, schema) of each definition."""
    for tool in definitions:
        inner = tool.get("function") if isinstance(tool.get("function"), Mapping) else tool
        schema = next((inner[k] for k in ("parameters", "input_schema", "inputSchema") if k in inner), None)
        yield str(inner.get("name", "")), inner.get("description"), schema


def _with(base: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return base | {key: value for key, value in optional.items() if value is not None}


def _media(part: Part) -> tuple[str, dict[str, Any]]:
    """("image" or "document", Anthropic's source) of a blob, uri or file part."""
    mime = part.get("mime_type") or ""
    kind = "image" if part.get("modality") == "image" or mime.startswith("image/") else "document"
    if part.get("type") == "uri":
        return kind, {"type": "url", "url": part.get("uri", "")}
    if part.get("type") == "file":
        return kind, {"type": "file", "file_id": part.get("file_id", "")}
    return kind, {"type": "base64", "media_type": mime, "data": part.get("content", "")}


# Anthropic.


def _anthropic_block(part: Part) -> dict[str, Any]:
    kind = part.get("type")
    if kind == "text":
        return {"type": "text", "text": _text(part)}
    if kind == "tool_call":
        return {"type": "tool_use", "id": part.get("id"), "name": part.get("name", ""), "input": _arguments(part)}
    if kind == "tool_call_response":
        return {"type": "tool_result", "tool_use_id": part.get("id"), "content": _as_text(_result(part))}
    if kind in ("reasoning", "thinking"):
        return {"type": "thinking", "thinking": _text(part)}
    if kind in ("blob", "uri", "file"):
        name, source = _media(part)
        return {"type": name, "source": source}
    return dict(part)


def _anthropic(system: list[Any], tools: list[Any], messages: list[Message]) -> dict[str, Any]:
    first, rest = _split(messages, _instructions(system))
    body: dict[str, Any] = {}
    if tools:
        body["tools"] = [
            _with({"name": name}, description=words, input_schema=schema if schema is not None else {"type": "object"})
            for name, words, schema in _tools(tools)
        ]
    if first:
        body["system"] = [_anthropic_block(part) for part in first]
    body["messages"] = [
        {
            "role": "assistant" if message.get("role") == "assistant" else "user",
            "content": [_anthropic_block(part) for part in _parts(message)],
        }
        for message in rest
    ]
    return body


def _anthropic_reply(message: Message, identifier: Any) -> dict[str, Any]:
    content = [_anthropic_block(part) for part in _parts(message)]
    return _with({"type": "message", "role": "assistant", "content": content}, id=identifier)


# OpenAI Chat Completions.


def _chat_messages(message: Message) -> Iterator[dict[str, Any]]:
    role = message.get("role", "user")
    texts: list[str] = []
    calls: list[Any] = []
    content: list[Any] = []
    for part in _parts(message):
        kind = part.get("type")
        if kind == "tool_call":
            given = part.get("arguments")
            arguments = given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False)
            function = {"name": part.get("name", ""), "arguments": arguments}
            calls.append({"id": part.get("id"), "type": "function", "function": function})
        elif kind == "tool_call_response":
            yield {"role": "tool", "tool_call_id": part.get("id"), "content": _as_text(_result(part))}
        elif kind == "text":
            texts.append(_text(part))
            content.append({"type": "text", "text": _text(part)})
        elif kind in ("blob", "uri"):
            data = f"data:{part.get('mime_type', '')};base64,{part.get('content', '')}"
            content.append({"type": "image_url", "image_url": {"url": part.get("uri") or data}})
        elif kind not in ("reasoning", "thinking"):
            # Reasoning is not sent back to Chat Completions.
            content.append(dict(part))
    if not content and not calls:
        return
    plain = len(texts) == len(content)
    made: dict[str, Any] = {"role": role, "content": ("".join(texts) if texts else None) if plain else content}
    if plain and len(texts) > 1:
        made["content"] = content
    if calls:
        made["tool_calls"] = calls
    yield made


def _chat(system: list[Any], tools: list[Any], messages: list[Message]) -> dict[str, Any]:
    instructions: list[Message] = [{"role": "system", "parts": [part]} for part in _instructions(system)]
    body: dict[str, Any] = {
        "messages": [made for message in [*instructions, *messages] for made in _chat_messages(message)]
    }
    if tools:
        functions = (_with({"name": n}, description=words, parameters=schema) for n, words, schema in _tools(tools))
        body["tools"] = [{"type": "function", "function": function} for function in functions]
    return body


def _chat_reply(message: Message, identifier: Any) -> dict[str, Any]:
    said = next(_chat_messages({**message, "role": "assistant"}), {"role": "assistant", "content": None})
    return _with({"object": "chat.completion", "choices": [{"index": 0, "message": said}]}, id=identifier)


# Gemini.


def _gemini_part(part: Part) -> dict[str, Any]:
    kind = part.get("type")
    if kind == "text":
        return {"text": _text(part)}
    if kind == "tool_call":
        return {"functionCall": {"name": part.get("name", ""), "args": _arguments(part)}}
    if kind == "tool_call_response":
        given = _result(part)
        response = given if isinstance(given, Mapping) else {"result": given}
        return {"functionResponse": {"name": part.get("name") or str(part.get("id")), "response": response}}
    if kind in ("reasoning", "thinking"):
        return {"text": _text(part), "thought": True}
    if kind == "blob":
        return {"inlineData": {"mimeType": part.get("mime_type"), "data": part.get("content", "")}}
    if kind == "uri":
        return {"fileData": {"mimeType": part.get("mime_type"), "fileUri": part.get("uri", "")}}
    return {"text": json.dumps(part, ensure_ascii=False)}


def _gemini(system: list[Any], tools: list[Any], messages: list[Message]) -> dict[str, Any]:
    first, rest = _split(messages, _instructions(system))
    body: dict[str, Any] = {}
    if first:
        body["systemInstruction"] = {"parts": [_gemini_part(part) for part in first]}
    if tools:
        functions = [_with({"name": n}, description=words, parameters=schema) for n, words, schema in _tools(tools)]
        body["tools"] = [{"functionDeclarations": functions}]
    body["contents"] = [
        {
            "role": "model" if message.get("role") in ("assistant", "model") else "user",
            "parts": [_gemini_part(part) for part in _parts(message)],
        }
        for message in rest
    ]
    return body


def _gemini_reply(message: Message, identifier: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": [_gemini_part(part) for part in _parts(message)]}
    return _with({"candidates": [{"content": content}]}, responseId=identifier)


# Bedrock Converse.


def _converse_block(part: Part) -> dict[str, Any]:
    kind = part.get("type")
    if kind == "text":
        return {"text": _text(part)}
    if kind == "tool_call":
        return {"toolUse": {"toolUseId": part.get("id"), "name": part.get("name", ""), "input": _arguments(part)}}
    if kind == "tool_call_response":
        given = _result(part)
        content = {"text": given} if isinstance(given, str) else {"json": given}
        return {"toolResult": {"toolUseId": part.get("id"), "content": [content]}}
    if kind in ("reasoning", "thinking"):
        return {"reasoningContent": {"reasoningText": {"text": _text(part)}}}
    if kind == "blob":
        name, source = _media(part)
        media: dict[str, Any] = {"format": (part.get("mime_type") or "").rpartition("/")[2]}
        return {name: media | {"source": {"bytes": source["data"]}}}
    return {"text": json.dumps(part, ensure_ascii=False)}


def _converse(system: list[Any], tools: list[Any], messages: list[Message]) -> dict[str, Any]:
    first, rest = _split(messages, _instructions(system))
    body: dict[str, Any] = {}
    if tools:
        specs = (
            _with({"name": n}, description=words, inputSchema={"json": schema or {"type": "object"}})
            for n, words, schema in _tools(tools)
        )
        body["toolConfig"] = {"tools": [{"toolSpec": spec} for spec in specs]}
    if first:
        body["system"] = [_converse_block(part) for part in first]
    body["messages"] = [
        {
            "role": "assistant" if message.get("role") == "assistant" else "user",
            "content": [_converse_block(part) for part in _parts(message)],
        }
        for message in rest
    ]
    return body


def _converse_reply(message: Message, identifier: Any) -> dict[str, Any]:
    content = [_converse_block(part) for part in _parts(message)]
    return {"output": {"message": {"role": "assistant", "content": content}}}


BODIES: dict[str, Callable[[list[Any], list[Any], list[Message]], dict[str, Any]]] = {
    "messages": _anthropic,
    "chat": _chat,
    "gemini": _gemini,
    "converse": _converse,
}
REPLIES: dict[str, Callable[[Message, Any], dict[str, Any]]] = {
    "messages": _anthropic_reply,
    "chat": _chat_reply,
    "gemini": _gemini_reply,
    "converse": _converse_reply,
}
