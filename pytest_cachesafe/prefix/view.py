"""The data behind a prompt as the front end sees it: tools, system and the message list that indexes refer to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_cachesafe.prefix.datadiff import leading_system
from pytest_cachesafe.prompt import Chat, Prompt

__all__ = ["View", "canonical", "view"]


class View(NamedTuple):
    """`messages[i]` is what a segment's `message_index` i refers to; `system` is None where it is a message."""

    tools: Sequence[Any] | None
    system: Any
    messages: Sequence[Any]
    settings: Mapping[str, Any]
    model: str | None
    has_system: bool


def view(prompt: Prompt) -> View | None:
    """None for prompts that were given as text or ids."""
    chat = prompt.chat
    if chat is None or chat.raw is not None:
        return None
    if prompt.is_wire and chat.body is not None:
        body = chat.body
        listed = next((body[k] for k in ("messages", "input", "contents") if isinstance(body.get(k), list)), None)
        tool_config = body.get("toolConfig")
        tools = tool_config.get("tools") if isinstance(tool_config, Mapping) else body.get("tools")
        config = body.get("config")
        holder: Mapping[str, Any] = body if not isinstance(config, Mapping) else {**config, **body}
        keys = ("system", "instructions", "system_instruction", "systemInstruction")
        system = next((holder[k] for k in keys if holder.get(k) is not None), None)
        messages = listed if listed is not None else chat.messages
        has = system is not None or leading_system([m for m in messages[:1] if isinstance(m, Mapping)]) > 0
        return View(
            tools if isinstance(tools, list) else holder.get("tools"),
            system,
            messages,
            wire_settings(chat),
            chat.model,
            has,
        )
    has = leading_system(chat.messages) > 0
    return View(chat.tools, None, chat.messages, chat.settings, chat.model, has)


def wire_settings(chat: Chat) -> dict[str, Any]:
    """The settings of a wire body that reach the prompt."""
    from pytest_cachesafe.frontends.wire_bodies import rendered_settings

    return {**chat.settings, **{name: value for name, (value, _) in rendered_settings(chat).items()}}


def canonical(value: Any) -> str:
    """Order-free text of a JSON-like value, for "the same but …" questions."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=repr)
