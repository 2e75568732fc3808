"""A triage bot: reads log files with a tool. An earlier version, which cuts the oldest result with every new one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

JSON = dict[str, Any]

SYSTEM = (
    "You find out why a build failed. Read the log of a step before you speak about it, quote the line that shows the "
    "cause, and say which team owns the step. Steps: checkout, compile, unit, integration, package, publish."
)
TOOLS: list[JSON] = [
    {
        "type": "function",
        "function": {
            "name": "read_log",
            "description": "The last lines of a step's log.",
            "parameters": {"type": "object", "properties": {"step": {"type": "string"}}, "required": ["step"]},
        },
    }
]
# How many results are sent in full.
MOST_RESULTS = 2


class Triage:
    """One conversation."""

    def __init__(self) -> None:
        self.messages: list[JSON] = [{"role": "system", "content": SYSTEM}]

    def request(self) -> JSON:
        """The body for `client.chat.completions.create(**body)`."""
        self.cut()
        return {"model": "gpt-5.5", "tools": TOOLS, "messages": deepcopy(self.messages)}

    def cut(self) -> None:
        """Frugal, it seems: but each cut makes the cache behind it cold, and there is one in every turn."""
        full = [m for m in self.messages if m["role"] == "tool" and m["content"] != "[cut]"]
        if len(full) > MOST_RESULTS:
            for message in full[:-MOST_RESULTS]:
                message["content"] = "[cut]"

    def add(self, role: str, **message: Any) -> None:
        """Append a message."""
        self.messages.append({"role": role, **message})
