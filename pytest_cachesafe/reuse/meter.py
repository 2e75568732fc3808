"""Requests run through an engine's cache beside their comparison: how much of what is stable is found, and why less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.engines.request import Request
from pytest_cachesafe.prefix.common import common_prefix
from pytest_cachesafe.prompt import Prompt, UsageError
from pytest_cachesafe.reuse.result import RequestReuse

__all__ = ["ReuseMeter"]


class ReuseMeter:
    """Sends each prompt to the cache, one at a time: looked up, computed, answered where the answer's ids are known,
    freed.

    Two more caches run beside it, so that a loss has an exact reason: one that never evicts, and one that does not
    tell salts and adapters apart either.
    """

    def __init__(self, cache: PrefixCache) -> None:
        self.cache = cache
        self._unbounded = cache.unbounded() if cache.bounded else None
        self._shared: PrefixCache | None = None
        self._namespaces: set[tuple[str | None, Any]] = set()
        # Until a second namespace comes, all prompts so far, with their answers: what a shared cache would hold.
        self._before: list[_Sent] = []

    def feed(self, request: int, prompt: Prompt, against: int | None, earlier: Prompt | None) -> RequestReuse:
        """Send one prompt.

        Raises:
            UsageError: the front end gives no token ids; a salt or adapter that is no string; the engine would never
                take the prompt (it is larger than the pool).
        """
        ids = prompt.token_ids
        if ids is None:
            raise UsageError(
                f"request {request}: an engine reuses token ids, and {prompt.front_end} has none: give template= a "
                "model with a tokenizer"
            )
        body = prompt.chat.body if prompt.chat is not None else None
        salt, lora = _namespace(body, request)
        answer = prompt.chat.generated if prompt.chat is not None else None
        given = _Sent(ids, answer.token_ids or () if answer is not None else ())
        sent = given.to(self.cache, salt, lora)
        if not sent.admitted:
            # Nothing else is sent at the same time, so it never will be.
            words = getattr(sent, "refused", None) or "it does not fit into the cache"
            raise UsageError(f"request {request}: {self.cache.label} refuses it: {words}; give the cache more room")
        out = RequestReuse(request, against, len(ids), cached_tokens=sent.cached_tokens)
        possible = sent.cached_tokens
        if self._unbounded is not None:
            possible = given.to(self._unbounded, salt, lora).cached_tokens
            out.evicted_tokens = max(possible - sent.cached_tokens, 0)
        anywhere = self._across(given, salt, lora)
        if anywhere is not None:
            out.namespace_tokens = max(anywhere - possible, 0)
        if earlier is not None and earlier.token_ids is not None:
            out.continued_tokens = len(earlier.token_ids)
            out.stable_tokens = common_prefix(earlier.token_ids, ids)
            most = max(possible, anywhere or 0)
            out.cannot_rewind = bool(sent.unusable_tokens)
            if self.cache.limits is None:
                out.rounding_tokens = max(out.stable_tokens - most, 0)
        return out

    def _across(self, given: _Sent, salt: str | None, lora: Any) -> int | None:
        """Tokens found by a cache without namespaces that never evicts; None while there is one namespace only."""
        self._namespaces.add((salt, lora))
        if self._shared is None:
            if len(self._namespaces) < 2:
                self._before.append(given)
                return None
            self._shared = self.cache.unbounded()
            for old in self._before:
                old.to(self._shared)
            self._before.clear()
        return given.to(self._shared).cached_tokens


class _Sent(NamedTuple):
    """A prompt and the ids of its answer, where they are known."""

    ids: Sequence[int]
    answer: Sequence[int]

    def to(self, cache: PrefixCache, salt: str | None = None, lora: Any = None) -> Request:
        sent = cache.request(self.ids, salt=salt, lora=lora)
        if sent.admitted:
            if self.answer:
                sent.append(self.answer)
            sent.free()
        return sent


def _namespace(body: Mapping[str, Any] | None, request: int) -> tuple[str | None, Any]:
    """The cache salt and adapter of a request, under the names that servers take them by."""
    if body is None:
        return None, None
    extra = body.get("extra_body")
    fields = {**extra, **body} if isinstance(extra, Mapping) else body
    salt = fields.get("cache_salt", fields.get("salt"))
    if salt is not None and not isinstance(salt, str):
        raise UsageError(f"request {request}: cache_salt is {type(salt).__name__}, a string is meant")
    lora = fields.get("lora")
    if isinstance(lora, list):
        lora = tuple(lora)
    return salt, lora
