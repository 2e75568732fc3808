"""The plain way to judge a template: render every request through transformers, compare strings.

Independent of the product but for the requests of a growing chat, and blind where text is transformed: an oracle for
most templates, with the rest explained where it is used.
"""

from __future__ import annotations

import copy
import json
import os.path
from typing import Any

from chats import growing

__all__ = ["naive_verdict"]


def _render(source: str, messages: list[dict[str, Any]], tools: Any, prompt: bool, tokens: dict[str, str]) -> str:
    from transformers.utils.chat_template_utils import render_jinja_template

    made = render_jinja_template(
        conversations=[messages], tools=tools, chat_template=source, add_generation_prompt=prompt, **tokens
    )
    return str(made[0][0])


def _strings(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    messages = copy.deepcopy(messages)
    for message in messages:
        for call in message.get("tool_calls") or ():
            call["function"]["arguments"] = json.dumps(call["function"]["arguments"])
    return messages


def _blocks(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**m, "content": [{"type": "text", "text": m["content"]}]} for m in messages]


def naive_verdict(source: str, messages: list[dict[str, Any]], tools: Any, tokens: dict[str, str]) -> str:
    """stable, tail, history or raises; other shapes of arguments and content are tried where the template raises."""
    for shape in (lambda m: m, _strings, _blocks, lambda m: _blocks(_strings(m))):
        requests = [shape(request) for request in growing(messages)]
        try:
            texts = [_render(source, r, tools, True, tokens) for r in requests]
            bare = [_render(source, r, tools, False, tokens) for r in requests]
        except Exception:  # whatever the template raises on this shape: the next one is tried
            continue
        worst = "stable"
        for earlier, later, without, request in zip(texts, texts[1:], bare, growing(messages), strict=False):
            if later.startswith(earlier):
                continue
            at = len(os.path.commonprefix([earlier, later]))  # noqa: RUF071 - character by character is meant
            last = request[-1]["content"]
            found = earlier.rfind(last)
            ends = [found + len(last)] if found >= 0 else []
            ends += [len(without)] if earlier.startswith(without) else []
            if not ends or at < min(ends):
                return "history"
            worst = "tail"
        return worst
    return "raises"
