"""Repeats in a log: what an exact-match response cache would serve, which is never wrong.

Look at this first: a semantic cache is worth its risk only for what it serves beyond that.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from pytest_cachesafe.usage import UsageError

__all__ = ["NOT_PART", "RepeatCounter", "RepeatReport", "count_repeats"]

# Keys of a log line that do not decide the answer: how it is delivered, whom it is billed to, and what the log adds.
NOT_PART = frozenset((
    "stream", "stream_options", "store", "metadata", "user", "safety_identifier", "service_tier", "prompt_cache_key",
    "prompt_cache_retention", "id", "request_id", "trace_id", "span_id", "session_id", "conversation_id", "timestamp",
    "time", "ts", "date", "created", "created_at", "latency", "latency_ms", "duration", "duration_ms", "response",
    "answer", "reply", "completion", "output", "usage", "cost", "status", "status_code", "cached", "cache_hit",
))  # fmt: skip
# Keys under which a log keeps the request as it was sent.
_WRAPPED = ("body", "request")
# Distinct requests that are held: 250 MB.
_MOST = 2_000_000


@dataclass(frozen=True, slots=True)
class RepeatReport:
    """Requests of a log that repeat an earlier one."""

    requests: int
    distinct: int
    # Requests that repeat an earlier one, byte for byte, and those that do so apart from case and white space.
    repeats: int
    folded: int
    # Repeats that a cache of that many entries serves, the least recently used one dropped first; None: not asked.
    entries: int | None
    served: int | None
    # Whether more distinct requests came than are held: then there are at least so many repeats.
    bounded: bool
    # Requests that ask for sampling (a temperature above 0 is set).
    sampled: int
    # The request asked most often, and how often.
    most_often: int

    @property
    def share(self) -> float:
        """Of all requests: those that an exact-match cache without limit serves, 0 to 1."""
        return self.repeats / self.requests if self.requests else 0.0

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "requests": self.requests,
            "distinct": self.distinct,
            "repeats": self.repeats,
            "share": round(self.share, 6),
            "folded_repeats": self.folded,
            "entries": self.entries,
            "served": self.served,
            "bounded": self.bounded,
            "sampled": self.sampled,
            "most_often": self.most_often,
        }

    def text(self) -> str:
        """For people; the first line is complete in itself."""
        least = "at least " if self.bounded else ""
        lines = [
            f"an exact-match cache would serve {least}{self.share:.1%} of {self.requests:,} requests "
            f"({self.repeats:,} repeat an earlier one byte for byte), each with the answer to the same request"
        ]
        if self.served is not None and self.entries is not None:
            lines.append(f"  with {self.entries:,} entries, least recently used dropped first: {self.served:,} of them")
        beyond = self.folded - self.repeats
        if beyond:
            lines.append(f"  {beyond:,} more differ from an earlier one in case or white space alone")
        if self.sampled:
            lines.append(
                f"  note: {self.sampled:,} requests ask for sampling: a cache repeats the answer it has instead"
            )
        return "\n".join(lines)


@dataclass(slots=True)
class RepeatCounter:
    """Counts repeats of a stream; holds a checksum of each distinct request, never its text.

    Args:
        entries: also count what a cache of that size would serve.
        most: distinct requests that are held.
    """

    entries: int | None = None
    most: int = _MOST
    _seen: dict[bytes, int] = field(default_factory=dict)
    _folded: set[bytes] = field(default_factory=set)
    _recent: OrderedDict[bytes, None] = field(default_factory=OrderedDict)
    _requests: int = 0
    _repeats: int = 0
    _folded_repeats: int = 0
    _served: int = 0
    _sampled: int = 0
    _bounded: bool = False

    def __post_init__(self) -> None:
        for name in ("entries", "most"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise UsageError(f"repeats: {name} {value!r}: a number from 1 is meant")

    def add(self, request: Any, partition: str = "") -> bool:
        """Count a request; True if it repeats an earlier one.

        Args:
            request: a prompt, or a request body or log line as a mapping; keys of `NOT_PART` are left out.
            partition: requests of different partitions (tenants, say) never repeat one another.

        Raises:
            UsageError: not text, and no JSON value.
        """
        text = _canonical(request)
        self._requests += 1
        self._sampled += _asks_for_sampling(request)
        key, folded = (_digest(partition, words) for words in (text, " ".join(text.casefold().split())))
        repeat = key in self._seen
        self._repeats += repeat
        self._folded_repeats += repeat or folded in self._folded
        if repeat or len(self._seen) < self.most:
            self._seen[key] = self._seen.get(key, 0) + 1
            self._folded.add(folded)
        else:
            self._bounded = True
        if self.entries is not None:
            if key in self._recent:
                self._served += 1
                self._recent.move_to_end(key)
            else:
                self._recent[key] = None
                if len(self._recent) > self.entries:
                    self._recent.popitem(last=False)
        return repeat

    def report(self) -> RepeatReport:
        """What was counted so far.

        Raises:
            UsageError: nothing was.
        """
        if not self._requests:
            raise UsageError("repeats: no requests: nothing was counted")
        return RepeatReport(
            requests=self._requests,
            distinct=self._requests - self._repeats,
            repeats=self._repeats,
            folded=self._folded_repeats,
            entries=self.entries,
            served=self._served if self.entries is not None else None,
            bounded=self._bounded,
            sampled=self._sampled,
            most_often=max(self._seen.values()),
        )


def count_repeats(requests: Iterable[Any], *, entries: int | None = None) -> RepeatReport:
    """Repeats among prompts or request bodies, in their order.

    Raises:
        UsageError: a lone text, no requests, or one that is no JSON (with its index).
    """
    if isinstance(requests, (str, bytes, Mapping)):
        raise UsageError("repeats: a lone request: give a list of them")
    counter = RepeatCounter(entries)
    for index, request in enumerate(requests):
        try:
            counter.add(request)
        except UsageError as error:
            raise UsageError(f"request {index}: {error}") from None
    return counter.report()


def _canonical(request: Any) -> str:
    """A prompt as it is; a body as JSON with sorted keys."""
    if isinstance(request, str):
        return request
    body = _body(request)
    if isinstance(body, Mapping):
        body = {key: value for key, value in body.items() if key not in NOT_PART}
        if not body:
            raise UsageError("a request without anything that decides its answer")
    try:
        # A mark in front: a text never equals a body.
        return "\x00" + json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise UsageError(f"a request is text or JSON: {error}") from None


def _body(request: Any) -> Any:
    if isinstance(request, Mapping):
        for key in _WRAPPED:
            if isinstance(request.get(key), Mapping):
                return request[key]
    return request


def _asks_for_sampling(request: Any) -> bool:
    body = _body(request)
    value = body.get("temperature") if isinstance(body, Mapping) else None
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _digest(partition: str, text: str) -> bytes:
    # The length keeps (ab, c) and (a, bc) apart.
    head = f"{len(partition)}:{partition}"
    return blake2b((head + text).encode("utf-8", "surrogatepass"), digest_size=16).digest()
