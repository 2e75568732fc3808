"""What a test scripts: the model's answers, the same words for every provider."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_cachesafe.usage import UsageError

__all__ = ["Failure", "Reply", "ToolCall"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool by the model; ids are counted up where none is given, so that runs repeat."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    # The arguments as the model wrote them, where their bytes matter; None: compact JSON of `input`.
    arguments: str | None = None

    def __post_init__(self) -> None:
        _typed("ToolCall", "name", self.name, str, "the name of a tool")
        _typed("ToolCall", "input", self.input, Mapping, "a mapping of arguments")
        _typed("ToolCall", "id", self.id, (str, type(None)), "a text")
        _typed("ToolCall", "arguments", self.arguments, (str, type(None)), "JSON as text")
        if not self.name:
            raise UsageError("ToolCall(name=''): the name of a tool is meant")
        try:
            # As it will be written: a fault here would otherwise end a request far from the script.
            json.dumps(dict(self.input))
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"ToolCall({self.name!r}, input=…): the arguments are no JSON: {error}") from None


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer: `Reply("text")`, `Reply(tools=[ToolCall("search", {"q": "x"})])`, both, with thinking.

    Args:
        text: what the model says; with tools it comes first. None: nothing.
        tools: calls, parallel if several.
        thinking: reasoning text, in the provider's own form (Anthropic: with a signature).
        output_tokens: for the counters; None: estimated from the text.
        usage: counters to return instead of the predicted ones, under the provider's own names.
    """

    text: str | None = "ok"
    tools: Sequence[ToolCall] = ()
    thinking: str | None = None
    output_tokens: int | None = None
    usage: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        _typed("Reply", "text", self.text, (str, type(None)), "a text or None")
        _typed("Reply", "thinking", self.thinking, (str, type(None)), "a text")
        _typed("Reply", "usage", self.usage, (Mapping, type(None)), "a mapping of the provider's counters")
        if isinstance(self.tools, (ToolCall, str, bytes)) or not isinstance(self.tools, Sequence):
            raise UsageError(f"Reply(tools={_shown(self.tools)}): a list of calls is meant, [ToolCall(…)]")
        for index, call in enumerate(self.tools):
            if not isinstance(call, ToolCall):
                raise UsageError(f"Reply(tools=…): entry {index} is {type(call).__name__}, no ToolCall(…)")
        tokens = self.output_tokens
        if tokens is not None and (isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0):
            raise UsageError(f"Reply(output_tokens={_shown(tokens)}): a number of tokens, 0 or more")
        if self.text == "ok" and self.tools:
            # The default answer is for replies that say nothing else.
            object.__setattr__(self, "text", None)


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in the provider's own shape: `Failure(529)`, `Failure(400, "messages.0: …")`."""

    status: int
    message: str | None = None
    # The provider's word for it ("overloaded_error"); None: the usual one for the status.
    type: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        status = self.status
        if isinstance(status, bool) or not isinstance(status, int) or not 400 <= status <= 599:
            raise UsageError(f"Failure({_shown(status)}): an HTTP error status is meant, 400 to 599")
        _typed("Failure", "message", self.message, (str, type(None)), "a text")
        _typed("Failure", "type", self.type, (str, type(None)), "the provider's word for it")
        _typed("Failure", "headers", self.headers, Mapping, "a mapping of headers")
        for name, value in self.headers.items():
            if not isinstance(name, str) or not isinstance(value, str):
                raise UsageError(f"Failure(headers=…): {_shown(name)}: {_shown(value)}: names and values are texts")


def _typed(owner: str, name: str, value: Any, kind: Any, meant: str) -> None:
    if not isinstance(value, kind):
        raise UsageError(f"{owner}({name}={_shown(value)}): {meant} is meant")


def _shown(value: Any) -> str:
    """A value in an error: short, whatever it is."""
    try:
        text = repr(value)
    except Exception:
        text = object.__repr__(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
