"""The order desk's requests to Claude: tools and system text first, then a conversation that only grows."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from datetime import datetime
from typing import Any

JSON = dict[str, Any]

MODEL = "claude-sonnet-4-5"
SYSTEM = (
    "You are the order desk of Northwind Tools. Look an order up before you speak about it, quote order numbers as the "
    "customer wrote them, and hand over to a person when a refund is above 200 euros."
)


def _tool(name: str, description: str, **properties: str) -> JSON:
    return {
        "name": name,
        "description": description,
        "input_schema": {
            "type": "object",
            "properties": {key: {"type": kind} for key, kind in properties.items()},
            "required": list(properties),
        },
    }


TOOLS = [
    _tool("find_order", "Find an order by its number.", number="string"),
    _tool("track_parcel", "Where the parcel of an order is now.", number="string"),
    _tool("refund", "Refund an order, in euros.", number="string", amount="number"),
]


class Conversation:
    """What was said so far. Messages are appended and never touched again."""

    def __init__(self, tools: Iterable[JSON] = TOOLS) -> None:
        # By name, so that no registry, set or plug-in order can choose.
        self.tools = sorted(tools, key=lambda tool: str(tool["name"]))
        self.messages: list[JSON] = []

    def ask(self, text: str, now: datetime) -> None:
        """The customer writes. The time goes into this message and stays there when it is sent again."""
        self._append("user", {"type": "text", "text": f"[{now:%Y-%m-%d %H:%M}] {text}"})

    def call(self, call_id: str, name: str, **arguments: Any) -> None:
        """The model called a tool."""
        self._append("assistant", {"type": "tool_use", "id": call_id, "name": name, "input": arguments})

    def result(self, call_id: str, text: str) -> None:
        """What the tool gave back."""
        self._append("user", {"type": "tool_result", "tool_use_id": call_id, "content": text})

    def answer(self, text: str) -> None:
        """The model answered."""
        self._append("assistant", {"type": "text", "text": text})

    def request(self) -> JSON:
        """The body for `client.messages.create(**body)`, with the cache marker on the newest message."""
        messages = deepcopy(self.messages)
        messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        return {
            "model": MODEL,
            "max_tokens": 1024,
            "system": [{"type": "text", "text": SYSTEM}],
            "tools": self.tools,
            "messages": messages,
        }

    def _append(self, role: str, block: JSON) -> None:
        self.messages.append({"role": role, "content": [block]})
