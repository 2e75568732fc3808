"""Places where a new prefix is intended: compaction, a model switch, `/clear`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pytest_cachesafe.prefix.inputs import said
from pytest_cachesafe.prompt import Chat, Prompt, UsageError

__all__ = ["Resets"]


class Resets:
    """Declared resets of one check.

    Each is a request index, a text that appears in the first request of the new epoch and not in the one before
    ("<summary>", "/clear"), or a predicate `(earlier, later) -> bool` over the two `Chat`s (or `Prompt`s). A model
    switch is declared by `"model"`.
    """

    def __init__(self, resets: Sequence[int | str | Callable[[Any, Any], bool]], most: int | None = None) -> None:
        if isinstance(resets, (str, bytes, int)) or callable(resets):
            raise UsageError("resets=[…] takes a list of request indexes, marker texts or predicates")
        for item in resets:
            if isinstance(item, bool) or not (isinstance(item, (int, str)) or callable(item)):
                raise UsageError(f"resets: {item!r} is neither a request index, a marker text nor a predicate")
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 0):
            raise UsageError(f"max_resets must be at least 0, got {most}")
        self._resets = list(resets)
        self.most = most
        self.used: list[int] = []

    def at(self, request: int, a: Prompt, b: Prompt) -> str | None:
        """The words for the declared reset between two prompts, None if none is declared there."""
        for i, item in enumerate(self._resets):
            words = self._matches(item, request, a, b)
            if words is not None:
                self.used.append(i)
                return words
        return None

    def between(self, a: Chat | Prompt, b: Chat | Prompt) -> str | None:
        """The words for a marker, predicate or model switch between two requests that were not compared."""
        if not self._resets or not isinstance(a, Chat) or not isinstance(b, Chat):
            return None
        before, after = (Prompt(said(chat), front_end="", chat=chat) for chat in (a, b))
        for i, item in enumerate(self._resets):
            # A number names a request that should have continued; this one begins a conversation anyway.
            words = None if isinstance(item, int) else self._matches(item, -1, before, after)
            if words is not None:
                self.used.append(i)
                return words
        return None

    @staticmethod
    def _matches(item: Any, request: int, a: Prompt, b: Prompt) -> str | None:
        if isinstance(item, int):
            return f"declared at request {request}" if item == request else None
        if item == "model":
            models = (getattr(a.chat, "model", None), getattr(b.chat, "model", None))
            return f"model switch {models[0]} to {models[1]}" if models[0] != models[1] else None
        if isinstance(item, str):
            return f"marker {item!r}" if item in b.text and item not in a.text else None
        one: Chat | Prompt = a.chat if a.chat is not None else a
        other: Chat | Prompt = b.chat if b.chat is not None else b
        return f"predicate {getattr(item, '__name__', 'given')}" if item(one, other) else None

    def unused(self) -> list[str]:
        """Declared resets that never happened."""
        return [repr(item) if not callable(item) else getattr(item, "__name__", "predicate")
                for i, item in enumerate(self._resets) if i not in self.used]  # fmt: skip
