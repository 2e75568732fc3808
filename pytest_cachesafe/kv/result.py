"""Outcomes of the checks on a real model, as data. Rendering lives in `report.kv`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

__all__ = ["ChatReport", "ChatTurn", "Continuation", "KVFailure", "ReuseReport", "Setting"]


class KVFailure(AssertionError):
    """What was claimed of KV reuse is not what the model shows. The first line is complete in itself."""

    def __init__(self, report: ReuseReport) -> None:
        super().__init__(report.text())
        self.report = report


@dataclass(frozen=True, slots=True)
class Setting:
    """With what a check was run; every number belongs to one."""

    model: str
    dtype: str
    device: str
    cache: str
    threads: int
    # Bound on logit differences for this dtype; None for a quantized cache.
    tolerance: float | None

    def __str__(self) -> str:
        return f"{self.model}, {self.dtype}, {self.cache} cache, {self.device}"


@dataclass(slots=True)
class Continuation:
    """One prompt: the prefix and something behind it."""

    prompt_tokens: int
    # Prefix tokens whose KV was there already.
    reused_tokens: int
    # Counted on their way through the model at prefill.
    computed_tokens: int
    # Seconds of prefill with the prefix cached, and of copying or cropping the cache.
    seconds: float
    handling_seconds: float
    # The same prompt computed from nothing; None where that was left out (`verify`).
    recomputed_tokens: int | None = None
    recompute_seconds: float | None = None
    # Largest difference of any logit, over the last prompt token and all generated ones but the last.
    difference: float | None = None
    same_text: bool | None = None
    # Tokens generated greedily for the comparison.
    generated_tokens: int = 0
    # Where the texts first part: how far our token lies below the best one there; 0 for the same text.
    text_gap: float | None = None
    # It begins with all of the prefix: probably a whole prompt, where what comes behind the prefix was meant.
    repeats_prefix: bool = False


@dataclass
class ReuseReport:
    """One prefilled prefix and many continuations."""

    setting: Setting
    # "copy", "crop" or "shared".
    way: str
    prefix_tokens: int
    prefix_seconds: float
    continuations: list[Continuation]
    # Whether the prefilled cache was, afterwards, what it had been.
    prefix_intact: bool
    # Bytes: one token's keys and values by the configuration (None where that is no constant), the prefilled cache, and
    # all caches held at once at most.
    bytes_per_token: int | None
    prefix_bytes: int
    peak_bytes: int
    # What was merged at a boundary, in words.
    notes: list[str] = field(default_factory=list)
    # Bound on logit differences that was given in place of the dtype's.
    bound: float | None = None
    # What is not as it was asserted, in sentences, worst first.
    failures: list[str] = field(default_factory=list)
    layout: Callable[[Any], str] | None = field(default=None, repr=False)

    @property
    def prompt_tokens(self) -> int:
        """Tokens of all prompts: what is prefilled without reuse."""
        return sum(c.prompt_tokens for c in self.continuations)

    @property
    def reused_tokens(self) -> int:
        """Prompt tokens whose KV was there already, over all continuations."""
        return sum(c.reused_tokens for c in self.continuations)

    @property
    def computed_tokens(self) -> int:
        """Tokens that went through the model at prefill, the prefix included."""
        return self.prefix_tokens + sum(c.computed_tokens for c in self.continuations)

    @property
    def reused_share(self) -> float:
        """Reused tokens by prompt tokens, 0 to 1."""
        return self.reused_tokens / self.prompt_tokens

    @property
    def verified(self) -> list[Continuation]:
        """Continuations that were also computed from nothing."""
        return [c for c in self.continuations if c.recomputed_tokens is not None]

    @property
    def seconds(self) -> float:
        """Prefill with reuse: the prefix once, every suffix, and the handling of caches."""
        return self.prefix_seconds + sum(c.seconds + c.handling_seconds for c in self.continuations)

    @property
    def recompute_seconds(self) -> float | None:
        """Prefill of all prompts from nothing; None unless all were computed so."""
        if len(self.verified) < len(self.continuations):
            return None
        return sum(c.recompute_seconds or 0.0 for c in self.continuations)

    @property
    def largest_difference(self) -> float | None:
        """Largest logit difference over the verified continuations; None without any."""
        return max((c.difference for c in self.verified if c.difference is not None), default=None)

    @property
    def same_text(self) -> bool | None:
        """Whether every verified continuation got the same greedy tokens; None without any."""
        return all(c.same_text for c in self.verified) if self.verified else None

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "schema": 1,
            **asdict(self.setting),
            "way": self.way,
            "prefix_tokens": self.prefix_tokens,
            "prompt_tokens": self.prompt_tokens,
            "reused_tokens": self.reused_tokens,
            "computed_tokens": self.computed_tokens,
            "reused_share": self.reused_share,
            "seconds": self.seconds,
            "recompute_seconds": self.recompute_seconds,
            "verified": len(self.verified),
            "largest_difference": self.largest_difference,
            "same_text": self.same_text,
            "prefix_intact": self.prefix_intact,
            "bytes_per_token": self.bytes_per_token,
            "prefix_bytes": self.prefix_bytes,
            "peak_bytes": self.peak_bytes,
            "continuations": [asdict(c) for c in self.continuations],
            "bound": self.setting.tolerance if self.bound is None else self.bound,
            "notes": list(self.notes),
            "failures": list(self.failures),
        }

    def text(self, verbosity: int = 0, redact: str = "none") -> str:
        """The report for people; neither argument changes it, for it holds numbers (a merged token in `notes` apart,
        which is left out where text is redacted)."""
        if redact != "none":
            return str(replace(self, notes=[]))
        return str(self)

    def __str__(self) -> str:
        return repr(self) if self.layout is None else self.layout(self)


@dataclass(slots=True)
class ChatTurn:
    """One request of a chat and its reply, with the cache kept from the turn before."""

    prompt_tokens: int
    # Tokens in the cache before, and how many of them begin this prompt.
    cached_tokens: int
    reused_tokens: int
    # Counted on their way through the model at prefill.
    computed_tokens: int
    # In the cache after the reply: prompt + reply - 1, for the last token of a reply is never computed.
    cache_tokens: int
    reply_tokens: int
    # Whether the reply was in the given chat; the model's own otherwise.
    given: bool
    # Whether the cache could not be cut back and was begun anew.
    rebuilt: bool
    seconds: float
    decode_seconds: float
    # Leading tokens that this prompt shares with the one before; 0 for the first.
    stable_tokens: int = 0
    # What the engine reuses of this prompt; None without one.
    engine_tokens: int | None = None
    recompute_seconds: float | None = None
    difference: float | None = None
    # The reply's tokens, chosen greedily, are those of a run without any cache.
    same_text: bool | None = None
    # Where the choices first part: how far ours lies below the best one there; 0 for the same text.
    text_gap: float | None = None

    @property
    def dropped_tokens(self) -> int:
        """Cached tokens that this prompt does not go on with."""
        return self.cached_tokens - self.reused_tokens


@dataclass
class ChatReport:
    """A chat with one cache kept over its turns, as an engine does it."""

    setting: Setting
    turns: list[ChatTurn]
    replies: Sequence[str]
    # What was rendered for each request, and what was sampled for it: what an engine's cache gets to see.
    prompts: Sequence[Sequence[int]] = field(repr=False)
    sampled: Sequence[Sequence[int]] = field(repr=False)
    # What the template leaves out of the prompts, by its place in the messages.
    notes: Sequence[str] = ()
    layout: Callable[[Any], str] | None = field(default=None, repr=False)

    @property
    def prompt_tokens(self) -> int:
        """Tokens of all prompts: what is prefilled without a kept cache."""
        return sum(t.prompt_tokens for t in self.turns)

    @property
    def computed_tokens(self) -> int:
        """Prompt tokens that went through the model."""
        return sum(t.computed_tokens for t in self.turns)

    @property
    def largest_difference(self) -> float | None:
        """Largest logit difference over all turns; None without verification."""
        return max((t.difference for t in self.turns if t.difference is not None), default=None)

    @property
    def same_text(self) -> bool | None:
        """Whether every reply is that of a run without a cache; None without verification."""
        known = [t.same_text for t in self.turns if t.same_text is not None]
        return all(known) if known else None

    def as_dict(self) -> dict[str, Any]:
        """JSON form; without texts and ids."""
        return {
            "schema": 1,
            **asdict(self.setting),
            "prompt_tokens": self.prompt_tokens,
            "computed_tokens": self.computed_tokens,
            "largest_difference": self.largest_difference,
            "same_text": self.same_text,
            "turns": [asdict(t) for t in self.turns],
            "notes": list(self.notes),
        }

    def text(self, verbosity: int = 0, redact: str = "none") -> str:
        """The report for people; neither argument changes it, for it holds numbers and names."""
        return str(self)

    def __str__(self) -> str:
        return repr(self) if self.layout is None else self.layout(self)
