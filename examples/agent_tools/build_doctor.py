"""An agent on Qwen3 that finds out why a build failed: reasoning, tool calls, long tool results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

JSON = dict[str, Any]

SYSTEM = "You find out why builds fail. Read the log before you answer, and name the line that is at fault."


def _function(name: str, description: str, **properties: str) -> JSON:
    parameters = {
        "type": "object",
        "properties": {key: {"type": "string", "description": words} for key, words in properties.items()},
        "required": list(properties),
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = [
    _function("blame", "Who changed a line last.", path="Path in the repository", line="Line number"),
    _function("read_file", "Read a file of the repository.", path="Path in the repository"),
    _function("read_log", "Read the log of a build.", build="Number of the build"),
]


class Agent:
    """Keeps the messages as they were sent and received; `messages` goes to the engine as it is."""

    def __init__(self) -> None:
        self.messages: list[JSON] = [{"role": "system", "content": SYSTEM}]

    def ask(self, text: str) -> None:
        """The user writes."""
        self.messages.append({"role": "user", "content": text})

    def call(self, call_id: str, name: str, arguments: Mapping[str, str], *, thought: str) -> None:
        """The model thought, then called a tool."""
        function = {"name": name, "arguments": json.dumps(arguments)}
        calls = [{"id": call_id, "type": "function", "function": function}]
        self.messages.append({"role": "assistant", "content": "", "reasoning_content": thought, "tool_calls": calls})

    def result(self, call_id: str, text: str) -> None:
        """What the tool gave back."""
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": text})

    def answer(self, text: str, *, thought: str) -> None:
        """The model thought, then answered."""
        self.messages.append({"role": "assistant", "content": text, "reasoning_content": thought})
