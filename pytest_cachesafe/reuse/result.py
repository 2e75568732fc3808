"""What an engine reuses of requests, as data. Rendering lives in `report.reuse`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["EngineReport", "RequestReuse", "ReuseFailure"]


@dataclass(slots=True)
class RequestReuse:
    """One request: its tokens, what continues an earlier request, and what the engine finds of it.

    The four losses lead from `continued_tokens` to `cached_tokens`. They add up unless the engine finds more than the
    continued request (a system text that other conversations share).
    """

    request: int
    # The request it continues; None begins a conversation.
    against: int | None
    tokens: int
    # Tokens of the request it continues, and how many of them this one begins with.
    continued_tokens: int = 0
    stable_tokens: int = 0
    cached_tokens: int = 0
    # Only text behind the last message changed: a loss that does not grow.
    tail: bool = False
    # The declared reset that makes this a new beginning.
    reset: str | None = None
    # Stable, but not in whole blocks, or the last token of the prompt, which is always computed.
    rounding_tokens: int = 0
    # The engine holds them, but a recurrent or hybrid model cannot go back to an earlier token.
    cannot_rewind: bool = False
    # Stored under another salt or adapter.
    namespace_tokens: int = 0
    # Was stored, and thrown out for lack of room.
    evicted_tokens: int = 0

    @property
    def changed_tokens(self) -> int:
        """Tokens of the continued request that this one does not begin with."""
        return self.continued_tokens - self.stable_tokens

    @property
    def share(self) -> float:
        """Part of the prompt that is found, 0 to 1."""
        return self.cached_tokens / self.tokens if self.tokens else 0.0

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "request": self.request,
            "against": self.against,
            "tokens": self.tokens,
            "continued_tokens": self.continued_tokens,
            "stable_tokens": self.stable_tokens,
            "cached_tokens": self.cached_tokens,
            "tail": self.tail,
            "reset": self.reset,
            "lost": {
                "changed": self.changed_tokens,
                "rounding": self.rounding_tokens,
                "namespace": self.namespace_tokens,
                "evicted": self.evicted_tokens,
            },
        }


@dataclass
class EngineReport:
    """What one engine reuses of requests sent one at a time, in their order."""

    # "vLLM", and the options that were given for it.
    engine: str
    options: dict[str, Any]
    # Tokens that are reused together.
    unit: int
    front_end: str
    # Why this engine, set up like this, cannot reuse at all.
    limits: str | None = None
    requests: list[RequestReuse] = field(default_factory=list)
    # Every request must find what the engine can keep of the one it continues.
    all_that_can_be: bool = False
    min_cached: int | float | None = None
    # What the template leaves out of the prompts: what is reused is then not what was meant.
    missing: str | None = None
    over_resets: str | None = None
    min_share: float | None = None
    name: str | None = None
    notes: list[str] = field(default_factory=list)
    layout: Callable[[EngineReport, int], str] | None = None
    # Hashes of the template and the tokenizer, and the first request's prompt: what a lock file keeps of them.
    identity: Mapping[str, Any] | None = None
    opening: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Failures go between processes; a prompt that is still to be cut into segments cannot."""
        return {**self.__dict__, "opening": None}

    @property
    def gate_kind(self) -> str:
        """What a check of this kind is called in a lock file."""
        return self.engine

    def gate_values(self) -> dict[str, Any]:
        """What a lock file keeps of this check."""
        found = self.continuing
        return {
            "kind": "reuse", "front_end": self.front_end, "identity": self.identity, "opening": self.opening,
            "requests": len(self.requests), "tokens": self.tokens,
            "reusable": sum(r.continued_tokens for r in found),
            "kept": {
                "stable": sum(r.stable_tokens for r in found),
                self.engine: sum(min(r.cached_tokens, r.continued_tokens) for r in found),
            },
        }  # fmt: skip

    @property
    def continuing(self) -> list[RequestReuse]:
        """Requests that continue another one; first requests have nothing to find."""
        return [r for r in self.requests if r.against is not None]

    @property
    def tokens(self) -> int:
        """Prompt tokens of all requests."""
        return sum(r.tokens for r in self.requests)

    @property
    def cached_tokens(self) -> int:
        """Of these, those that were found."""
        return sum(r.cached_tokens for r in self.requests)

    @property
    def share(self) -> float:
        """Found part of the prompt tokens of continuing requests, 0 to 1."""
        tokens = sum(r.tokens for r in self.continuing)
        return sum(r.cached_tokens for r in self.continuing) / tokens if tokens else 0.0

    def failures(self) -> list[str]:
        """Why the assertion fails, worst first; one sentence each."""
        from pytest_cachesafe.reuse.wording import failures

        return failures(self)

    @property
    def passed(self) -> bool:
        """Whether the assertion holds."""
        return not self.failures()

    def __bool__(self) -> bool:
        return self.passed

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "engine": self.engine,
            "options": dict(self.options),
            "unit": self.unit,
            "front_end": self.front_end,
            "limits": self.limits,
            "not_rendered": self.missing,
            "tokens": self.tokens,
            "cached_tokens": self.cached_tokens,
            "share": round(self.share, 6),
            "requests": [r.as_dict() for r in self.requests],
            "failures": self.failures(),
            "notes": list(self.notes),
        }

    def text(self, verbosity: int = 0, redact: str = "none") -> str:
        """For people; the first line is complete in itself. It holds no prompt text, so nothing is redacted."""
        if self.layout is not None:
            return self.layout(self, verbosity)
        return "\n".join(self.failures() or [f"{self.engine} reuses {self.cached_tokens} of {self.tokens} tokens"])


class ReuseFailure(AssertionError):
    """An engine reuses less than was asked for; `report` holds the data, `str()` the text for people."""

    def __init__(self, report: EngineReport, verbosity: int = 0) -> None:
        super().__init__(report.text(verbosity))
        self.report = report
        self._shown = verbosity

    def __reduce__(self) -> tuple[type[ReuseFailure], tuple[EngineReport, int]]:
        """Pools hand failures over between processes."""
        return type(self), (self.report, self._shown)
