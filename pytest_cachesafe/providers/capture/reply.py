"""What a test scripts: the model's answers, the same words for every provider."""

from __future__ import annotations

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
        if not 400 <= self.status <= 599:
            raise UsageError(f"Failure({self.status}): an HTTP error status is meant, 400 to 599")
