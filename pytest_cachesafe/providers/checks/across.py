"""Rules over several requests that are no continuation of each other: minimum length, no marker, shared cache keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pytest_cachesafe.findings import Severity
from pytest_cachesafe.prefix.common import common_prefix
from pytest_cachesafe.providers.blocks.block import Block
from pytest_cachesafe.providers.cache.usage import Tokens
from pytest_cachesafe.providers.checks.markers import count_anywhere
from pytest_cachesafe.providers.checks.reach import chain, marked
from pytest_cachesafe.providers.checks.requests import Asked
from pytest_cachesafe.providers.checks.weigh import Weigher

__all__ = ["Wide", "key_changed", "wide"]


@dataclass(frozen=True, slots=True)
class Wide:
    """One finding about a group of requests, reported at the first of them that shows it."""

    code: str
    request: int
    path: str
    message: str
    against: int | None = None
    tokens: Tokens | None = None
    severity: Severity | None = None
    # In how many requests `tokens` are paid for in full, and in how many conversations those are.
    times: int = 1
    conversations: int = 1


def wide(asked: Sequence[Asked], weigher: Weigher, spoiled: frozenset[int]) -> Iterator[Wide]:
    """All rules of this kind.

    Args:
        asked: all requests.
        weigher: counts tokens, knows the minimum of a model.
        spoiled: conversations of which something worse is known, so that the length of what is marked is no matter.
    """
    yield from _minimum(asked, weigher, spoiled)
    yield from _without_marker(asked, weigher)
    yield from _marker_on_question(asked, weigher)
    yield from _shared_keys(asked)


def _is_marked_provider(item: Asked) -> bool:
    return item.exchange.api in ("messages", "invoke", "converse")


def _minimum(asked: Sequence[Asked], weigher: Weigher, spoiled: frozenset[int]) -> Iterator[Wide]:
    """Conversations in which even the longest marked prefix is, or may be, too short to be cached."""
    groups: dict[tuple[int, str | None], list[Asked]] = defaultdict(list)
    for item in asked:
        if _is_marked_provider(item) and item.conversation not in spoiled and not item.failed:
            groups[item.conversation, item.exchange.model].append(item)
    told_before: set[tuple[object, ...]] = set()
    for group in groups.values():
        minimum = weigher.minimum(group[0])
        deepest = [(weigher.prefix(item, marked(item)[-1] + 1), item) for item in group if marked(item)]
        if minimum is None or not deepest:
            continue
        tokens, longest = max(deepest, key=lambda pair: pair[0].high)
        enough = tokens.at_least(minimum)
        if enough or any(t.at_least(minimum) for t, _ in deepest):
            continue
        # Told at the first request: what the others add does not help.
        item = next(i for i in group if marked(i))
        block = item.layout.blocks[marked(item)[-1]]
        # Many short chats of one application are one thing to say.
        place = (item.exchange.model, block.path, enough)
        if place in told_before:
            continue
        told_before.add(place)
        most = "" if longest is item else "at most "
        told = f"{most}{tokens} tokens are marked, {item.exchange.model} caches from {minimum:,}"
        if enough is None:
            yield Wide("maybe-below-minimum", item.index, block.path, told, tokens=tokens)
        else:
            # A marker that moves with the messages will come to something, and of a prompt far below the minimum nobody
            # expects that it is cached: frameworks mark whatever they send.
            moving = block.level == "messages" and not _fixed(longest)
            far = 2 * tokens.best < minimum
            weight = Severity.NOTE if moving or far else None
            yield Wide("below-minimum", item.index, block.path, told, tokens=tokens, severity=weight)


def _fixed(item: Asked) -> bool:
    """Whether a marker stands on tools or system text."""
    return any(block.marker is not None and block.level != "messages" for block in item.layout.blocks)


def static_blocks(item: Asked) -> list[Block]:
    """Tools and system text: what all requests of an application begin with."""
    return [block for block in item.layout.blocks if block.level != "messages"]


def _without_marker(asked: Sequence[Asked], weigher: Weigher) -> Iterator[Wide]:
    groups: dict[tuple[object, ...], list[Asked]] = defaultdict(list)
    for item in asked:
        fixed = static_blocks(item)
        if item.exchange.api == "messages" and fixed and not item.failed and item.shows("markers"):
            groups[item.exchange.scope, item.exchange.model, chain(fixed)[-1]].append(item)
    for group in groups.values():
        first = group[0]
        if len(group) == 1 and len(asked) > 1:
            continue
        if any(count_anywhere(i.exchange.body) or count_anywhere(i.exchange.source) for i in group):
            continue
        minimum = weigher.minimum(first)
        fixed = static_blocks(first)
        tokens = weigher.prefix(first, len(fixed))
        if minimum is None or not tokens.at_least(minimum):
            continue
        many = len(group) > 1
        told = (
            f"{tokens} tokens of tools and system text, sent {'once' if not many else f'{len(group)} times'}, unmarked"
        )
        yield Wide(
            "no-marker", first.index, fixed[-1].path, told, tokens=tokens, severity=None if many else Severity.NOTE,
            times=len(group), conversations=len({i.conversation for i in group}),
        )  # fmt: skip


def _marker_on_question(asked: Sequence[Asked], weigher: Weigher) -> Iterator[Wide]:
    """The classic trap: requests that share their beginning, each with its only marker behind what differs."""
    members: dict[int, int] = defaultdict(int)
    for item in asked:
        members[item.conversation] += 1
    groups: dict[tuple[object, ...], list[Asked]] = defaultdict(list)
    for item in asked:
        if item.parted or item.failed:
            # Chats that go on read what such a marker writes.
            continue
        if _is_marked_provider(item) and members[item.conversation] == 1 and marked(item):
            groups[item.exchange.scope, item.exchange.model, item.exchange.api].append(item)
    for group in groups.values():
        told: set[int] = set()
        for one, other in pairwise(group):
            found = _trapped(one, other, weigher)
            if found is not None and one.index not in told:
                yield found
            if found is not None:
                told.add(other.index)


def _trapped(one: Asked, other: Asked, weigher: Weigher) -> Wide | None:
    a, b = one.layout.blocks, other.layout.blocks
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x.key != y.key), None)  # noqa: B905 (as far as both go)
    if at is None or marked(one)[0] < at or marked(other)[0] < at:
        return None
    block = b[marked(other)[0]]
    if b[at].level == "messages":
        shared = weigher.prefix(other, at)
        minimum = weigher.minimum(other)
        if at == 0 or (minimum is not None and shared.at_least(minimum) is False):
            return None
        told = f"what stands in front of it, {shared} tokens, is the same in request {one.index}, and no marker ends it"
        return Wide("marker-on-changing-block", other.index, block.path, told, one.index, shared)
    # One text with a part that changes: most of it is the same, from its first word on.
    texts = a[at].text, b[at].text
    if b[at].level != "system" or a[at].level != "system" or at not in (marked(one)[0], marked(other)[0]):
        return None
    if 2 * common_prefix(*texts) < min(map(len, texts)):
        return None
    told = f"it is not what request {one.index} has there, so that neither reads what the other wrote"
    return Wide("marker-on-changing-block", other.index, b[at].path, told, one.index)


def _shared_keys(asked: Sequence[Asked]) -> Iterator[Wide]:
    """One `prompt_cache_key` for conversations that begin with different tools or system text."""
    seen: dict[tuple[object, ...], dict[int, Asked]] = defaultdict(dict)
    opened: set[int] = set()
    for item in asked:
        key = item.exchange.body.get("prompt_cache_key")
        if (
            item.exchange.provider != "openai"
            or not key
            or not isinstance(key, str)
            or item.conversation in opened
            or item.failed
        ):
            continue
        opened.add(item.conversation)
        fixed = static_blocks(item)
        known = seen[item.exchange.scope, item.exchange.model, key]
        prefix = chain(fixed)[-1] if fixed else 0
        if known and prefix not in known:
            first = next(iter(known.values()))
            told = f"request {first.index} has the same key with other tools or system text"
            yield Wide("prompt-cache-key-shared", item.index, "prompt_cache_key", told, first.index)
        known.setdefault(prefix, item)


def key_changed(parent: Asked, item: Asked) -> tuple[Any, Any] | None:
    """The keys of two requests of one conversation, if both have one and they differ."""
    if item.exchange.provider != "openai":
        return None
    keys = tuple(i.exchange.body.get("prompt_cache_key") for i in (parent, item))
    named = all(isinstance(key, str) and key for key in keys)
    return (keys[0], keys[1]) if named and keys[0] != keys[1] else None
