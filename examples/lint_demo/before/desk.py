"""The help desk of a shop, as it was: no request begins like the one before it."""

from __future__ import annotations

from typing import Any

from before.context import moment

ACTIONS = {"track": "Say where a parcel is.", "refund": "Pay an order back.", "swap": "Send another size."}
ENABLED = {"track", "refund", "swap"}
SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}


def tools() -> list[dict[str, Any]]:
    """What the desk may do."""
    return [{"name": name, "description": ACTIONS[name], "input_schema": SCHEMA} for name in ENABLED]


def system_prompt() -> str:
    """The rules of the house, and what the desk may do in words."""
    return "You are the help desk of Northwind. You can: " + ", ".join(ENABLED) + "."


class Desk:
    """One conversation with a customer."""

    def __init__(self) -> None:
        self.messages: list[dict[str, str]] = []

    def recent(self) -> list[dict[str, str]]:
        """As much of the chat as the model needs."""
        return self.messages[-5:]

    def ask(self, question: str) -> dict[str, Any]:
        """The request for the next question."""
        self.messages.append({"role": "user", "content": question})
        system = f"{system_prompt()} It is {moment()}."
        return {
            "model": "claude-sonnet-4-5",
            "max_tokens": 500,
            "system": system,
            "tools": tools(),
            "messages": self.recent(),
        }

    def answered(self, text: str) -> None:
        """The model answered."""
        self.messages.append({"role": "assistant", "content": text})
