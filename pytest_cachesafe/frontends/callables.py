"""A user's own function as a front end: messages to token ids, or to text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_cachesafe.prompt import Chat, Prompt, UsageError

__all__ = ["CallableFrontEnd"]


class CallableFrontEnd:
    """Calls `fn(messages, tools=…, **settings)`, as far as its signature takes them, for each request.

    What it returns decides the level: a list of ids (or an object with `input_ids`) is exact, a str is text level.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        shown = getattr(function, "__qualname__", type(function).__name__)
        self.name = f"callable {shown}"
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            # Built without a readable signature (C code): it gets everything.
            self._takes: frozenset[str] | None = None
        else:
            takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
            named = frozenset(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
            self._takes = None if takes_all else named

    def prompt(self, chat: Chat) -> Prompt:
        """Render one request.

        Raises:
            UsageError: the function takes no keyword for a setting or the tools of the request, or returns something
                that is neither ids nor text. What the function itself raises passes through untouched.
        """
        given: dict[str, Any] = dict(chat.settings)
        if chat.tools is not None:
            given["tools"] = chat.tools
        for name, value, usual in (
            ("add_generation_prompt", chat.add_generation_prompt, True),
            ("continue_final_message", chat.continue_final_message, False),
        ):
            # Passed where asked for by name, or where the request is not the usual one.
            if value != usual or (self._takes is not None and name in self._takes):
                given[name] = value
        if self._takes is not None:
            missing = sorted(given.keys() - self._takes)
            if missing:
                raise UsageError(
                    f"{self.name} takes no keyword {missing[0]!r}, which the request sets; add it, or **kwargs"
                )
        result = self._function(chat.messages, **given)
        if isinstance(result, str):
            return Prompt(result, front_end=self.name, chat=chat)
        ids = _ids(result)
        if ids is None:
            raise UsageError(f"{self.name} returned {type(result).__name__}; it must return token ids or a str")
        return Prompt("", front_end=self.name, chat=chat, token_ids=ids)


def _ids(result: Any) -> list[int] | None:
    """Token ids out of what tokenizers return: a list, an array or tensor, a batch of one, an encoding."""
    if isinstance(result, Mapping):
        result = result.get("input_ids")
    elif hasattr(result, "ids"):
        result = result.ids
    if hasattr(result, "tolist"):
        result = result.tolist()
    if isinstance(result, Sequence) and len(result) == 1 and isinstance(result[0], Sequence):
        result = result[0]
    if not isinstance(result, Sequence) or isinstance(result, (str, bytes)):
        return None
    if not all(isinstance(i, int) and not isinstance(i, bool) and i >= 0 for i in result):
        return None
    return list(result)
