"""Which scripted answer a request gets: the next of a list, what a function says, or the first that matches."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Union

from pytest_cachesafe.providers.capture.reply import Failure, Reply, ToolCall
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.usage import UsageError

__all__ = ["Script", "Scripted"]

# One answer: text, a reply, a failure, or calls of tools.
Scripted = Union[str, Reply, Failure, ToolCall, "Sequence[ToolCall]"]
_SHAPES = "a text, Reply(…), Failure(…), ToolCall(…) or a list of calls"


class Script:
    """Answers for a run of requests.

    Args:
        replies: None: every request is answered "ok". One answer: every request gets it. A list: one answer each, in
            the order of arrival; an iterator is asked for one at a time, and may be endless. A callable: asked with
            each `Exchange`; None means "ok". A mapping: text → answer (or list of answers), the first key found in the
            request's newest message decides; key "" is for the rest.

    Raises:
        UsageError: something that is no answer.
    """

    def __init__(self, replies: Any = None) -> None:
        self._function: Callable[[Exchange], Any] | None = None
        self._fixed: Reply | Failure | None = None
        self._list: list[Reply | Failure] | None = None
        self._matchers: list[tuple[str, Script]] | None = None
        # What a list still grows from, answer by answer.
        self._more: Iterator[Any] | None = None
        self._used = 0
        if replies is None:
            self._fixed = Reply()
        elif isinstance(replies, Mapping):
            if not replies:
                raise UsageError("replies={}: no answer in it; give None for 'ok', or texts with their answers")
            for key in replies:
                if not isinstance(key, str):
                    raise UsageError(
                        f"replies: the key {key!r} is {type(key).__name__}; a text of the request is meant"
                    )
            self._matchers = [(key, Script(value)) for key, value in replies.items()]
        elif isinstance(replies, type):
            raise UsageError(f"replies is the class {replies.__name__}; give one of it, {replies.__name__}(…)")
        elif callable(replies) and not isinstance(replies, (str, Reply, Failure, ToolCall)):
            self._function = _asked(replies)
        elif isinstance(replies, (str, Reply, Failure, ToolCall)):
            self._fixed = _answer(replies, "replies")
        elif isinstance(replies, Iterator):
            self._list, self._more = [], replies
        elif isinstance(replies, Iterable) and not isinstance(replies, (bytes, bytearray, Set)):
            # A tuple or list of calls alone could also be one parallel answer: in a script, each entry is an answer.
            self._list = [_answer(item, f"replies[{i}]") for i, item in enumerate(replies)]
        else:
            raise UsageError(
                f"replies is {type(replies).__name__}, no answer: {_SHAPES}, a list of these, a function or a mapping"
            )

    @property
    def left(self) -> int:
        """Answers of a list that nobody asked for."""
        if self._matchers is not None:
            return sum(script.left for _, script in self._matchers)
        return len(self._list) - self._used if self._list is not None else 0

    def add(self, *replies: Any) -> None:
        """Append answers; the first call turns "always ok" into a list."""
        if self._list is None:
            if self._function is not None or self._matchers is not None:
                raise UsageError("the replies are a function or a mapping already: nothing can be appended to them")
            self._list = []
        self._list += [_answer(item, f"reply {len(self._list) + i}") for i, item in enumerate(replies)]

    def next(self, exchange: Exchange) -> Reply | Failure:
        """The answer to a request.

        Raises:
            UsageError: the script has run out, nothing matches, or the function gave no answer.
        """
        if self._fixed is not None and self._list is None:
            return self._fixed
        if self._list is not None:
            if self._used >= len(self._list):
                self._grow()
            if self._used >= len(self._list):
                raise UsageError(self._run_out(exchange))
            self._used += 1
            return self._list[self._used - 1]
        if self._function is not None:
            given = self._function(exchange)
            return Reply() if given is None else _answer(given, f"the replies function, for {_what(exchange)},")
        text = newest_text(exchange.body)
        for key, script in self._matchers or ():
            if key in text:
                return script.next(exchange)
        keys = ", ".join(repr(key) for key, _ in self._matchers or ())
        raise UsageError(f'{_what(exchange)} matches none of the scripted texts ({keys}); add one, or "" for the rest')

    def _grow(self) -> None:
        """One more answer of an iterator, if there is one."""
        if self._more is not None and self._list is not None:
            for item in self._more:
                self._list.append(_answer(item, f"reply {len(self._list)}"))
                break

    def _run_out(self, exchange: Exchange) -> str:
        scripted = len(self._list or ())
        answers = f"{scripted} answer{'s' if scripted != 1 else ''}"
        return (
            f"request {scripted + 1} ({_what(exchange)}) has no answer: the script holds {answers}; add one, or give "
            "a function"
        )


def _asked(function: Callable[..., Any]) -> Callable[[Exchange], Any]:
    """A function that can be called with a request.

    Raises:
        UsageError: it takes no argument, takes more, or is asynchronous.
    """
    if inspect.iscoroutinefunction(function):
        raise UsageError("the replies function is asynchronous; give a plain one: it is asked between two events")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # Some built-in functions have none.
        return function
    try:
        signature.bind(None)
    except TypeError as error:
        raise UsageError(
            f"the replies function is called with the request (an Exchange), and with nothing else: {error}"
        ) from None
    return function


def _answer(value: Any, where: str) -> Reply | Failure:
    if isinstance(value, (Reply, Failure)):
        return value
    if isinstance(value, str):
        return Reply(value)
    if isinstance(value, ToolCall):
        return Reply(tools=(value,))
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, ToolCall) for item in value):
        return Reply(tools=tuple(value))
    raise UsageError(f"{where} is {type(value).__name__}, no answer: {_SHAPES}")


def _what(exchange: Exchange) -> str:
    model = f", model {exchange.model}" if exchange.model else ""
    text = newest_text(exchange.body)
    shown = f", newest message {_shown(text)}" if text else ""
    return f"{exchange.path or exchange.api}{model}{shown}"


def _shown(text: str) -> str:
    """The beginning of a prompt's text, as far as `--cachesafe-redact` lets it be seen."""
    from pytest_cachesafe.perturb.node import current_node
    from pytest_cachesafe.report.visible import Redact, redact

    node = current_node()
    mode: Redact = "none" if node is None else node.settings["redact"].value
    return repr(text[:60]) if mode == "none" else redact(text, mode)


def newest_text(body: Mapping[str, Any]) -> str:
    """The text of the newest message of a body, tool results included; "" if there is none."""
    for key in ("messages", "input", "contents"):
        items = body.get(key)
        if isinstance(items, str):
            return items
        if isinstance(items, list) and items:
            return _text(items[-1])
    return ""


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text, value)))
    if isinstance(value, Mapping):
        keys = ("text", "content", "parts", "output", "toolResult", "functionResponse", "response", "result")
        return "\n".join(filter(None, (_text(value[key]) for key in keys if key in value)))
    return ""
