"""The same desk over OpenAI's Responses API: the output items of one response are input items of the next request."""

from __future__ import annotations

import json
from typing import Any

JSON = dict[str, Any]

INSTRUCTIONS = "You are the order desk of Northwind Tools. Look an order up before you speak about it."
TOOLS = [
    {
        "type": "function",
        "name": "find_order",
        "description": "Find an order by its number.",
        "parameters": {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
    }
]


def request(items: list[JSON]) -> JSON:
    """The body for `client.responses.create(**body)`."""
    return {"model": "gpt-5.1", "instructions": INSTRUCTIONS, "tools": TOOLS, "input": items, "store": False}


def replay(call: JSON) -> JSON:
    """A function call as it goes into the next request: the argument string exactly as the model wrote it."""
    return {key: call[key] for key in ("type", "call_id", "name", "arguments")}


def replay_parsed(call: JSON) -> JSON:
    """As it was before: parsed into an object, kept in a database, and written out again."""
    arguments = json.loads(call["arguments"])
    return {**replay(call), "arguments": json.dumps(arguments, separators=(",", ":"))}
