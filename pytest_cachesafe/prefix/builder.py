"""Calling a user's `build(turn)`: in which worlds, with which settings, sync or awaited, its exceptions untouched."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Any

from pytest_cachesafe.prefix.inputs import Item, Plan, in_order, plan
from pytest_cachesafe.prefix.references import refuse_shared
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
    # Filled by `build_all`: the requests of each turn.
    results: list[list[Item]] = field(default_factory=list)
    orders_asked: int = 0
    # Names of settings that the builder looked at.
    settings_read: set[str] = field(default_factory=set)


Calls = Generator[Turn, Any, None]


def _calls(worlds: Sequence[World], turns: int) -> Calls:
    """Yields each turn with its world entered; is sent what the builder returned."""
    for world in worlds:
        for index in range(turns):
            turn = Turn(index, world.settings, world.permute)
            with world.around(index) if world.around is not None else nullcontext():
                result = yield turn
            world.orders_asked += turn.orders_asked
            world.settings_read |= turn.settings_read
            # Read at once: a builder that goes on editing the list it returned must not reach requests built before.
            world.results.append(_read(result, index))


def build_all(build: Callable[[Turn], Any], worlds: Sequence[World], turns: int | None) -> None:
    """Call the builder for every turn of every world and keep copies of the requests it returns.

    Raises:
        UsageError: the builder is async (use the async assertion), it returned something that is no request (names the
            turn), or a bad number of turns.
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
    """The requests a world's builder made, in order, with what the call gives for all of them. With `keywords`,
    settings of the world become template keywords as well (a wire body has no place for them but what the builder makes
    of them).

    Raises:
        UsageError: tools given beside a body that keeps them in a form of its own, naming the turn.
    """
    from pytest_cachesafe.prefix.inputs import _settle

    items: list[Item] = []
    notes: list[str] = []
    for index, made in enumerate(world.results):
        for item in made:
            # What skips templates and bodies has no use for tools and keywords.
            if isinstance(item, Chat) and not (item.raw is not None and item.body is None):
                try:
                    _settle(item, tools, template_kwargs)
                except UsageError as error:
                    raise UsageError(f"build(turn) at turn {index}: {error}") from None
            if isinstance(item, Chat):
                if keywords:
                    item.settings = {**item.settings, **world.settings}
                notes += item.notes
        items += made
    return in_order(items, "requests", list(dict.fromkeys(notes)))


def _read(result: Any, index: int) -> list[Item]:
    if result is None:
        raise UsageError(f"build(turn) returned None at turn {index}: return a message list, a body, or a list of them")
    try:
        return _one_turn(result)
    except UsageError as error:
        raise UsageError(f"build(turn) at turn {index}: {error}") from None


def _one_turn(result: Any) -> list[Item]:
    """One turn's requests, copied: a body or message list is one request as it stands, a list of them several."""
    from copy import deepcopy

    from pytest_cachesafe.messages import to_chat
    from pytest_cachesafe.prefix.inputs import _kind

    if isinstance(result, Prompt):
        return [result]
    if isinstance(result, Chat):
        return [deepcopy(result)]
    if isinstance(result, str):
        return [Chat([], raw=result, wire="text")]
    if isinstance(result, Sequence) and result:
        kind = _kind(result[0])
        if kind == "id":
            return [Chat([], raw=tuple(result), wire="ids")]
        if kind in ("body", "messages", "prompt", "ids", "chat", "text"):
            refuse_shared(result)
            items = plan(result).items
            return [deepcopy(item) if isinstance(item, Chat) and kind == "chat" else item for item in items]
    return [to_chat(result)]
