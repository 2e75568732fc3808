"""Calling a user's `build(turn)`: in which worlds, with which settings, sync or awaited, its exceptions untouched."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Any

from pytest_cachesafe.prefix.inputs import Item, Plan, in_order, plan
from pytest_cachesafe.prompt import Chat, Prompt, Turn, UsageError

__all__ = ["World", "build_all", "build_all_async", "requests_of"]

# Turns built when the caller names none: the first, one that replays an answer, one that replays a replay.
DEFAULT_TURNS = 3


@dataclass
class World:
    """One way of building all requests: settings, an order, something changed around the builder."""

    label: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    permute: Callable[[Sequence[Any]], list[Any]] | None = None
    # Entered around the building of request i.
    around: Callable[[int], AbstractContextManager[Any]] | None = None
    # Filled by `build_all`.
    results: list[Any] = field(default_factory=list)
    orders_asked: int = 0


Calls = Generator[Turn, Any, None]


def _calls(worlds: Sequence[World], turns: int) -> Calls:
    """Yields each turn with its world entered; is sent what the builder returned."""
    for world in worlds:
        for index in range(turns):
            turn = Turn(index, world.settings, world.permute)
            with world.around(index) if world.around is not None else nullcontext():
                world.results.append((yield turn))
            world.orders_asked += turn.orders_asked


def build_all(build: Callable[[Turn], Any], worlds: Sequence[World], turns: int | None) -> None:
    """Call the builder for every turn of every world and keep what it returns.

    Raises:
        UsageError: the builder is async (use the async assertion), or a bad number of turns.
    """
    __tracebackhide__ = True
    calls = _calls(worlds, _turns(turns))
    with ExitStack() as stack:
        stack.callback(calls.close)
        turn = next(calls, None)
        while turn is not None:
            result = build(turn)
            if inspect.isawaitable(result):
                if inspect.iscoroutine(result):
                    result.close()
                raise UsageError("the builder is async: use `await assert_prefix_stable_async(…)`")
            turn = _send(calls, result)


async def build_all_async(build: Callable[[Turn], Any], worlds: Sequence[World], turns: int | None) -> None:
    """The same, awaiting the builder where it returns an awaitable."""
    __tracebackhide__ = True
    calls = _calls(worlds, _turns(turns))
    with ExitStack() as stack:
        stack.callback(calls.close)
        turn = next(calls, None)
        while turn is not None:
            result = build(turn)
            if isinstance(result, Awaitable):
                result = await result
            turn = _send(calls, result)


def _send(calls: Calls, result: Any) -> Turn | None:
    try:
        return calls.send(result)
    except StopIteration:
        return None


def _turns(turns: int | None) -> int:
    if turns is None:
        return DEFAULT_TURNS
    if isinstance(turns, bool) or not isinstance(turns, int) or turns < 1:
        raise UsageError(f"turns={turns!r}: a whole number of requests to build, at least 2 to compare anything")
    return turns


def requests_of(
    world: World, *, tools: Sequence[Any] | None, template_kwargs: Mapping[str, Any] | None, keywords: bool
) -> Plan:
    """The requests a world's builder made, in order. With `keywords`, settings of the world become template
    keywords as well (a wire body has no place for them but what the builder makes of them).

    Raises:
        UsageError: the builder returned something that is no request, naming the turn.
    """
    items: list[Item] = []
    notes: list[str] = []
    for index, result in enumerate(world.results):
        if result is None:
            raise UsageError(
                f"build(turn) returned None at turn {index}: return a message list, a body, or a list of them"
            )
        try:
            made = _one_turn(result, tools, template_kwargs)
        except UsageError as error:
            raise UsageError(f"build(turn) at turn {index}: {error}") from None
        for item in made:
            if isinstance(item, Chat) and keywords:
                item.settings = {**item.settings, **world.settings}
            if isinstance(item, Chat):
                notes += item.notes
        items += made
    return in_order(items, "requests", list(dict.fromkeys(notes)))


def _one_turn(result: Any, tools: Sequence[Any] | None, kwargs: Mapping[str, Any] | None) -> list[Item]:
    """One turn's requests: a body or message list is one request as it stands, a list of them several."""
    from pytest_cachesafe.messages import to_chat
    from pytest_cachesafe.prefix.inputs import _kind, _settle

    if isinstance(result, Prompt):
        return [result]
    if isinstance(result, Chat):
        return [_settle(result, tools, kwargs)]
    if isinstance(result, str):
        return [Chat([], raw=result, wire="text")]
    if isinstance(result, Sequence) and result:
        kind = _kind(result[0])
        if kind == "id":
            return [Chat([], raw=tuple(result), wire="ids")]
        if kind in ("body", "messages", "prompt", "ids", "chat", "text"):
            return plan(result, tools=tools, template_kwargs=kwargs).items
    return [_settle(to_chat(result), tools, kwargs)]
