"""Three versions of the order desk that the team has had. Each looked harmless in review."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from order_desk import SYSTEM, Conversation


class LatestToolFirst(Conversation):
    """Puts the tool that was used last in front, to help the model find it."""

    def call(self, call_id: str, name: str, **arguments: Any) -> None:
        super().call(call_id, name, **arguments)
        self.tools = sorted(self.tools, key=lambda tool: tool["name"] != name)


class ClockInSystem(Conversation):
    """Tells the model what time it is."""

    now = datetime.min

    def ask(self, text: str, now: datetime) -> None:
        super().ask(text, now)
        self.now = now

    def request(self) -> dict[str, Any]:
        body = super().request()
        body["system"][0]["text"] = f"{SYSTEM} It is {self.now:%H:%M} o'clock."
        return body


class PrunedResults(Conversation):
    """Saves the tokens of old tool results."""

    def result(self, call_id: str, text: str) -> None:
        for message in self.messages:
            for block in message["content"]:
                if block["type"] == "tool_result":
                    block["content"] = "[removed to save tokens]"
        super().result(call_id, text)
