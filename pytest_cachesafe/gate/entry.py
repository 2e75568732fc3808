"""One line of the lock file: what one check of one test found, without prompt text, times or absolute paths."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.findings import fingerprint

if TYPE_CHECKING:
    from pytest_cachesafe.prompt import Prompt

__all__ = ["SCHEMA", "Entry", "entry_of", "prefix_of"]

SCHEMA = 1
_TEMPLATE = re.compile(r"(chat template (?:of )?)(.+)( \([^()]*sha256 [0-9a-f]+\))\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Entry:
    """What a check found. Token numbers are exact or estimates, as `exact` says."""

    # Node id and the check's name in it; together they are the key.
    test: str
    name: str
    # "stable", "reuse", "provider", "snapshot".
    kind: str
    front_end: str
    # Hashes of the chat template and the tokenizer's files; None where there is none (wire formats).
    template: str | None = None
    tokenizer: str | None = None
    exact: bool = True
    requests: int = 0
    # Prompt tokens over all requests, and of them those that an earlier request already held.
    tokens: int = 0
    reusable: int = 0
    # What is kept of `reusable`: {"stable": tokens of the shared prefix, "vllm": tokens found, "anthropic": read}.
    kept: Mapping[str, int] = field(default_factory=dict)
    # The worst divergence: its cause, and where ("system", "tools", "messages[2]").
    cause: str | None = None
    place: str | None = None
    # Chain hash over tools and system text of the first request, and their tokens; None: it has neither.
    prefix: str | None = None
    prefix_tokens: int = 0
    # USD for all requests, where prices are known.
    cost_usd: float | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Test and name."""
        return (self.test, self.name)

    def as_dict(self) -> dict[str, Any]:
        """JSON form: keys in a fixed order, those that say nothing left out."""
        out: dict[str, Any] = {"test": self.test, "name": self.name, "kind": self.kind, "front_end": self.front_end}
        for key in ("template", "tokenizer"):
            if getattr(self, key) is not None:
                out[key] = getattr(self, key)
        if not self.exact:
            out["estimated"] = True
        out |= {"requests": self.requests, "tokens": self.tokens, "reusable": self.reusable}
        out["kept"] = {key: self.kept[key] for key in sorted(self.kept)}
        for key in ("cause", "place", "prefix", "cost_usd"):
            if getattr(self, key) is not None:
                out[key] = getattr(self, key)
        if self.prefix is not None:
            out["prefix_tokens"] = self.prefix_tokens
        return {**out, "schema": SCHEMA}


def entry_of(report: Any, test: str, name: str) -> Entry:
    """The entry of a report of any check (`StabilityReport`, `EngineReport`, `CacheReport`)."""
    values: dict[str, Any] = report.gate_values()
    identity: Mapping[str, Any] = values.pop("identity", None) or {}
    opening = values.pop("opening", None)
    values.pop("conversations", None)
    cost = values.pop("cost_usd", None)
    # A snapshot is a prefix itself; of other checks it is what their first request begins with.
    prefix, prefix_tokens = values.pop("prefix", None) or (prefix_of(opening) if opening is not None else (None, 0))
    return Entry(
        test,
        name,
        front_end=_portable(values.pop("front_end")),
        template=identity.get("template"),
        tokenizer=identity.get("tokenizer"),
        prefix=prefix,
        prefix_tokens=prefix_tokens,
        # Sums of floats differ in their last digits with the order of the summands.
        cost_usd=None if cost is None else round(cost, 9),
        **values,
    )


def prefix_of(prompt: Prompt) -> tuple[str | None, int]:
    """(hash, tokens) of everything up to the end of tools and system text; (None, 0) where there is neither."""
    end = prompt.head_end
    if not end:
        return None, 0
    text = prompt.text[:end]
    return _wire_prefix(text) if prompt.is_wire else (fingerprint(text), prompt.count(text)[1])


# The tests of a suite have few system texts between them; a large one is not held for long.
@lru_cache(maxsize=8)
def _wire_prefix(text: str) -> tuple[str, int]:
    from pytest_cachesafe.frontends.wire import estimate

    return fingerprint(text), estimate(text)[1]


@lru_cache(maxsize=64)
def _portable(front_end: str) -> str:
    """The front end's name without the folders of this machine."""
    named = _TEMPLATE.match(front_end)
    if named is not None:
        # A path may hold blanks.
        return named[1] + (os.path.basename(named[2].rstrip("/")) if os.path.isabs(named[2]) else named[2]) + named[3]
    words = [os.path.basename(word.rstrip("/")) if os.path.isabs(word) else word for word in front_end.split(" ")]
    return " ".join(words)
