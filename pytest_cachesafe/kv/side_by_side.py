"""One chat, side by side: tokens that are stable, tokens that an engine reuses, time saved on a real model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_cachesafe.kv.result import ChatReport, ChatTurn

__all__ = ["SideBySide"]


@dataclass
class SideBySide:
    """A chat on one engine's terms: of each prompt, the model computed what that engine would compute.

    Seconds are measured on this machine with this model; the engine's own hardware has others. Decoding, and prefill of
    a prompt of which nothing is reused, are measured once and counted on both sides, for no prefix cache changes them.
    """

    chat: ChatReport
    # As the engine calls itself, with what it was made with.
    engine: str
    layout: Callable[[Any], str] | None = field(default=None, repr=False)

    @property
    def turns(self) -> list[ChatTurn]:
        """The requests, in order."""
        return self.chat.turns

    @property
    def stable_tokens(self) -> int:
        """Prompt tokens that the request before had at the same place."""
        return sum(t.stable_tokens for t in self.turns)

    @property
    def engine_tokens(self) -> int:
        """Prompt tokens that the engine reuses; more than the stable ones where it keeps replies, fewer where blocks
        are cut off."""
        return sum(t.engine_tokens or 0 for t in self.turns)

    @property
    def prefill_seconds(self) -> float:
        """Seconds of prefill with the engine's reuse."""
        return sum(t.seconds for t in self.turns)

    @property
    def recompute_seconds(self) -> float:
        """Seconds of prefill without any reuse."""
        return sum(t.recompute_seconds or 0.0 for t in self.turns)

    @property
    def decode_seconds(self) -> float:
        """Seconds of decoding, the same with and without reuse."""
        return sum(t.decode_seconds for t in self.turns)

    @property
    def prefill_saving(self) -> float:
        """Share of the prefill time that is saved; below 0 where reuse costs more than it saves."""
        return 1 - self.prefill_seconds / self.recompute_seconds if self.recompute_seconds else 0.0

    @property
    def end_to_end_saving(self) -> float:
        """Share of prefill and decoding together that is saved: smaller, since decoding is unchanged."""
        whole = self.recompute_seconds + self.decode_seconds
        return (self.recompute_seconds - self.prefill_seconds) / whole if whole else 0.0

    def as_dict(self) -> dict[str, Any]:
        """JSON form; without texts and ids."""
        return {
            "schema": 1,
            **asdict(self.chat.setting),
            "engine": self.engine,
            "prompt_tokens": self.chat.prompt_tokens,
            "stable_tokens": self.stable_tokens,
            "engine_tokens": self.engine_tokens,
            "largest_difference": self.chat.largest_difference,
            "same_text": self.chat.same_text,
            "prefill_seconds": self.prefill_seconds,
            "recompute_seconds": self.recompute_seconds,
            "decode_seconds": self.decode_seconds,
            "prefill_saving": self.prefill_saving,
            "end_to_end_saving": self.end_to_end_saving,
            "turns": [asdict(t) for t in self.turns],
        }

    def text(self, verbosity: int = 0, redact: str = "none") -> str:
        """The report for people; neither argument changes it, for it holds numbers."""
        return str(self)

    def __str__(self) -> str:
        return repr(self) if self.layout is None else self.layout(self)
