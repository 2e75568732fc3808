"""Harmony: what vLLM sends for gpt-oss instead of the model's chat template.

Needs the package `openai-harmony` and its vocabulary file, which it would otherwise download; we look first, so that
nothing reaches for the network.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha1
from pathlib import Path
from typing import Any

from pytest_cachesafe.frontends.segments import anchored, merged
from pytest_cachesafe.prompt import Chat, Prompt, UsageError

__all__ = ["HarmonyFrontEnd"]

_VOCABULARY = "o200k_base.tiktoken"
# Where openai-harmony downloads it from; its cache names a file by the SHA-1 of the address.
_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
_INSTALL = "pip install openai-harmony"


def _vocabulary() -> Path | None:
    """The vocabulary file openai-harmony would use without network."""
    base = os.environ.get("TIKTOKEN_ENCODINGS_BASE")
    if base:
        return _file(Path(base) / _VOCABULARY)
    cache = os.environ.get("TIKTOKEN_RS_CACHE_DIR")
    folder = Path(cache) if cache else Path(tempfile.gettempdir()) / "tiktoken-rs-cache"
    return _file(folder / sha1(_ADDRESS.encode(), usedforsecurity=False).hexdigest())


def _file(path: Path) -> Path | None:
    return path if path.is_file() else None


class HarmonyFrontEnd:
    """Renders requests for gpt-oss as the Harmony format, to ids.

    Raises:
        UsageError: the package or its vocabulary file is missing; the line says which and how to get it.
    """

    name = "Harmony (gpt-oss, as vLLM sends it)"
    # The conversation's start date is part of the format.
    reads_clock = True

    def __init__(self) -> None:
        try:
            import openai_harmony  # type: ignore[import-untyped,import-not-found,unused-ignore]  # no stubs; optional
        except ImportError:
            raise UsageError(f"Harmony needs the package openai-harmony: {_INSTALL}") from None
        if _vocabulary() is None:
            raise UsageError(
                f"Harmony needs its vocabulary offline: put {_VOCABULARY} into a folder and name it in "
                f"TIKTOKEN_ENCODINGS_BASE ({_ADDRESS})"
            )
        self._harmony: Any = openai_harmony
        try:
            self._encoding: Any = openai_harmony.load_harmony_encoding(
                openai_harmony.HarmonyEncodingName.HARMONY_GPT_OSS
            )
        except openai_harmony.HarmonyError as e:
            raise UsageError(f"Harmony cannot read its vocabulary: {' '.join(str(e).split())}") from e

    def prompt(self, chat: Chat) -> Prompt:
        """Render one request; the system text becomes the developer message, as vLLM does it.

        Raises:
            UsageError: `reasoning_effort` is none of low, medium, high, or the request is a completion.
        """
        if chat.raw is not None:
            raise UsageError("a completion request has no messages to render as Harmony; compare it as text or ids")
        h = self._harmony
        messages = [h.Message.from_role_and_content(h.Role.SYSTEM, self._system(chat))]
        instructions = [_text(m) for m in chat.messages if m.get("role") in ("system", "developer")]
        if instructions or chat.tools:
            developer = h.DeveloperContent.new()
            if instructions:
                developer = developer.with_instructions("\n".join(instructions))
            if chat.tools:
                developer = developer.with_function_tools([self._tool(t) for t in chat.tools])
            messages.append(h.Message.from_role_and_content(h.Role.DEVELOPER, developer))
        names: dict[str, str] = {}
        for message in chat.messages:
            if message.get("role") not in ("system", "developer"):
                messages += self._message(message, names)
        conversation = h.Conversation.from_messages(messages)
        if chat.add_generation_prompt:
            ids = self._encoding.render_conversation_for_completion(conversation, h.Role.ASSISTANT)
        else:
            ids = self._encoding.render_conversation(conversation)
        text = self._encoding.decode(ids)
        return Prompt(
            text,
            front_end=self.name,
            chat=chat,
            token_ids=ids,
            segments=lambda: merged(anchored(text, chat)),
            notes=chat.notes,
        )

    def _system(self, chat: Chat) -> Any:
        h = self._harmony
        content = h.SystemContent.new().with_conversation_start_date((chat.now or datetime.now()).strftime("%Y-%m-%d"))
        effort = chat.settings.get("reasoning_effort")
        if effort is not None:
            try:
                content = content.with_reasoning_effort(h.ReasoningEffort(str(effort).capitalize()))
            except ValueError:
                raise UsageError(f"reasoning_effort {effort!r}: Harmony knows low, medium and high") from None
        return content

    def _tool(self, tool: Any) -> Any:
        function = tool.get("function", tool) if isinstance(tool, Mapping) else {}
        return self._harmony.ToolDescription.new(
            function.get("name", ""), function.get("description", ""), parameters=function.get("parameters")
        )

    def _message(self, message: Mapping[str, Any], names: dict[str, str]) -> list[Any]:
        h = self._harmony
        role, text = message.get("role"), _text(message)
        if role == "tool":
            call_id = str(message.get("tool_call_id", ""))
            name = message.get("name") or names.get(call_id, "tool")
            author = h.Author.new(h.Role.TOOL, f"functions.{name}")
            made = h.Message.from_author_and_content(author, text)
            return [made.with_channel("commentary").with_recipient("assistant")]
        if role != "assistant":
            return [h.Message.from_role_and_content(h.Role.USER, text)]
        out = []
        reasoning = next((message[k] for k in ("reasoning_content", "reasoning", "thinking") if message.get(k)), None)
        calls = message.get("tool_calls") or ()
        if reasoning:
            out.append(h.Message.from_role_and_content(h.Role.ASSISTANT, reasoning).with_channel("analysis"))
        if text:
            channel = "commentary" if calls else "final"
            out.append(h.Message.from_role_and_content(h.Role.ASSISTANT, text).with_channel(channel))
        for call in calls:
            function = call.get("function", call)
            names[str(call.get("id", ""))] = function.get("name", "")
            arguments = function.get("arguments", "")
            shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            made = h.Message.from_role_and_content(h.Role.ASSISTANT, shown).with_channel("commentary")
            out.append(made.with_recipient(f"functions.{function.get('name', '')}").with_content_type("json"))
        return out


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, (list, tuple)) else ()
    return "\n".join(str(b["text"]) for b in blocks if isinstance(b, Mapping) and "text" in b)
