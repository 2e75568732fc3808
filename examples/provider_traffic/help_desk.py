"""A help desk on Claude: a manual in the system text, two tools, and a conversation that only grows.

The code is what runs in production. Nothing in it knows of tests: the client is the SDK's own.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import anthropic

JSON = dict[str, Any]

MODEL = "claude-opus-5"
MANUAL = (Path(__file__).parent / "manual.md").read_text(encoding="utf-8")
ORDERS = {"A-1001": "shipped on Monday, parcel 77120", "A-1002": "waiting for the drill bits"}

TOOLS: list[JSON] = [
    {
        "name": "find_order",
        "description": "Find an order by its number.",
        "input_schema": {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
    },
    {
        "name": "open_ticket",
        "description": "Hand over to a person.",
        "input_schema": {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]},
    },
]


class HelpDesk:
    """One conversation. Messages are appended and never touched again."""

    def __init__(self, client: anthropic.Anthropic | None = None) -> None:
        self.client = client or anthropic.Anthropic()
        self.messages: list[JSON] = []

    def ask(self, question: str) -> str:
        """Answer a question, calling tools as the model wants them."""
        self.messages.append({"role": "user", "content": self.question(question)})
        while True:
            answer = self.client.messages.create(
                model=MODEL,
                max_tokens=1024,
                # Marks the newest block; the marker on the system text keeps that part for every other customer too.
                cache_control={"type": "ephemeral"},
                system=self.system(),
                tools=TOOLS,
                messages=self.messages,
            )
            self.messages.append({"role": "assistant", "content": answer.content})
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                return "".join(block.text for block in answer.content if block.type == "text")
            self.messages.append({"role": "user", "content": [self.result(call) for call in calls]})

    def system(self) -> list[JSON]:
        """The same for everybody, at any time."""
        return [{"type": "text", "text": MANUAL, "cache_control": {"type": "ephemeral"}}]

    def question(self, text: str) -> str:
        """The time goes into the message it belongs to, and stays there when it is sent again."""
        return f"[{datetime.now():%Y-%m-%d %H:%M}] {text}"

    def result(self, call: Any) -> JSON:
        """What a tool gives back."""
        text = ORDERS.get(call.input["number"], "unknown") if call.name == "find_order" else "ticket opened"
        return {"type": "tool_result", "tool_use_id": call.id, "content": text}
