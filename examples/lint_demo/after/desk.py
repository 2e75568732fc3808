"""The help desk of a shop, as it is: each request begins with all of the one before it."""

from __future__ import annotations

from typing import Any

from after.context import moment

ACTIONS = {"track": "Say where a parcel is.", "refund": "Pay an order back.", "swap": "Send another size."}
ENABLED = {"track", "refund", "swap"}
SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}


def tools() -> list[dict[str, Any]]:
    """What the desk may do."""
    return [{"name": name, "description": ACTIONS[name], "input_schema": SCHEMA} for name in sorted(ENABLED)]


def system_prompt() -> str:
    """The rules of the house, and what the desk may do in words."""
    return "You are the help desk of Northwind. You can: " + ", ".join(sorted(ENABLED)) + "."


class Desk:
    """One conversation with a customer."""

    def __init__(self) -> None:
        self.messages: list[dict[str, str]] = []

    def ask(self, question: str) -> dict[str, Any]:
        """The request for the next question, which carries its time and keeps it when it is sent again."""
        self.messages.append({"role": "user", "content": f"({moment()}) {question}"})
        return {
            "model": "claude-sonnet-4-5",
            "max_tokens": 500,
            "system": system_prompt(),
            "tools": tools(),
            "messages": list(self.messages),
        }

    def answered(self, text: str) -> None:
        """The model answered."""
        self.messages.append({"role": "assistant", "content": text})
