"""A request as its provider's cache sees it; and the same for a growing conversation, without reading it all again."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_cachesafe.providers.blocks import anthropic, bedrock, gemini, openai
from pytest_cachesafe.providers.blocks.block import Block, Layout, Marker
from pytest_cachesafe.providers.blocks.builder import Place, Plan, Section, extend, leading
from pytest_cachesafe.providers.blocks.settings import settings_of
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.providers.fronts import Front
from pytest_cachesafe.usage import UsageError

__all__ = ["RUNS", "Layouter", "lay_out"]

_PLANS: dict[str, Callable[[Mapping[str, Any]], list[Plan]]] = {
    "messages": anthropic.plans,
    "invoke": anthropic.plans,
    "converse": bedrock.plans,
    "chat": openai.chat_plans,
    "responses": openai.responses_plans,
    "gemini": gemini.plans,
}
# On Anthropic's own API a run of tool calls, or of their results, is one position of the lookback; Bedrock's documents
# know no such rule.
RUNS = {"messages": frozenset(("tool_use", "tool_result"))}
# How many earlier requests are looked at for one that this continues: sub-agents interleave.
_KEPT = 16
# OpenAI looks at up to 20 eligible message ends before the latest one.
_ENDS = 21


def lay_out(exchange: Exchange) -> Layout:
    """The blocks, markers and settings of one request, in the provider's order.

    Raises:
        UsageError: the body is no request of its API, or holds a value that has no JSON form.
    """
    return Layouter().lay_out(exchange)


@dataclass(slots=True)
class _Earlier:
    """A request that was laid out."""

    api: str
    sections: dict[str, Section]
    blocks: list[Block]
    # How many of these are the sections' own: automatic caching marks one.
    own: int


class Layouter:
    """Lays out requests one after another; what an earlier one had at the same place is taken from it.

    The result is that of `lay_out`, blocks of equal content being the same objects. Bodies must not be edited after
    they were given.
    """

    def __init__(self) -> None:
        self._earlier: deque[_Earlier] = deque(maxlen=_KEPT)

    def lay_out(self, exchange: Exchange, fronts: Sequence[Front] = ()) -> Layout:
        """See the function of this name.

        Args:
            exchange: a request; fronts: what lists of its body share with those of an earlier one, where that is known.

        Raises:
            UsageError: the body is no request of its API, or holds a value that has no JSON form.
        """
        if not isinstance(exchange.body, Mapping):
            raise UsageError(f"the body is {type(exchange.body).__name__}; a JSON object is meant")
        try:
            return self._lay_out(exchange, fronts)
        except RecursionError:
            raise UsageError("the body is nested too deep to be read") from None

    def _lay_out(self, exchange: Exchange, fronts: Sequence[Front]) -> Layout:
        body = exchange.body
        plans = _PLANS[exchange.api](body)
        earlier, shared = self._like(exchange.api, plans, fronts)
        known_sections = earlier.sections if earlier is not None else {}
        runs = RUNS.get(exchange.api, frozenset())
        sections: dict[str, Section] = {}
        place = Place()
        for plan in plans:
            known = shared if plan is plans[-1] else None
            section = sections[plan.name] = extend(plan, place, runs, known_sections.get(plan.name), known)
            # A run does not go on from one level to the next: tools are no messages.
            place = section.after
        layout, own = _layout(exchange, sections)
        if earlier is not None:
            count = min(_front(earlier.sections, sections), earlier.own, own)
            layout.front = Front(earlier.blocks, layout.blocks, count)
        self._earlier.appendleft(_Earlier(exchange.api, sections, layout.blocks, own))
        return layout

    def _like(self, api: str, plans: list[Plan], fronts: Sequence[Front]) -> tuple[_Earlier | None, int | None]:
        """The earlier request that shares most messages with this one, and how many at the front."""
        best: _Earlier | None = None
        most = -1
        wanted = len(plans[-1].values)
        for earlier in self._earlier:
            if earlier.api != api:
                continue
            messages = earlier.sections["messages"]
            shared = leading(messages, plans[-1].values, fronts) if messages.context == plans[-1].context else 0
            if shared > most:
                best, most = earlier, shared
            # All but the newest turn, or but the message that the marker left: there is none better.
            if shared >= min(len(messages.values), wanted) - 2 and shared:
                break
        return best, (most if best is not None else None)


def _front(earlier: Mapping[str, Section], sections: Mapping[str, Section]) -> int:
    """How many blocks at the front are those of an earlier request, which the sections were made from."""
    count = 0
    for (one, old), (other, section) in zip(earlier.items(), sections.items()):  # noqa: B905 (as far as both go)
        if one != other:
            break
        if section is not old:
            return count + (section.ends[section.front - 1] if section.front else 0)
        count += len(section.blocks)
    return count


def _layout(exchange: Exchange, sections: Mapping[str, Section]) -> tuple[Layout, int]:
    """A layout, and how many of its blocks, from the front, are the sections' own."""
    blocks: list[Block] = []
    markers: list[Marker] = []
    unknown: list[tuple[str, str]] = []
    traits: dict[str, str] = {}
    special: list[int] = []
    for section in sections.values():
        for i in section.notable:
            item = section.items[i]
            markers += item.markers
            unknown += item.unknown
            for name, path in item.traits.items():
                traits.setdefault(name, path)
            begin = len(blocks) + section.ends[i] - len(item.blocks)
            special += [begin + n for n in item.special]
        blocks += section.blocks
    layout = Layout(
        blocks, markers, settings_of(exchange.api, exchange.body, traits), unknown=unknown, special=special
    )  # fmt: skip
    own = len(blocks)
    if exchange.api in ("messages", "invoke"):
        layout.automatic = anthropic.automatic(exchange.body)
        if layout.automatic is not None:
            own = _place(layout.automatic, layout)
    if exchange.provider == "openai" and exchange.api in ("chat", "responses"):
        ends, layout.developer_end = openai.eligible_ends(sections, _ENDS)
        layout.ends = tuple(ends)
    return layout, own


def _place(marker: Marker, layout: Layout) -> int:
    """Put the automatic marker on the last block that can carry one; nowhere if there is none, or if it has one.

    Returns:
        Number of blocks in front of it; of all of them if it is put nowhere.
    """
    blocks = layout.blocks
    for i in range(len(blocks) - 1, -1, -1):
        if blocks[i].markable:
            if blocks[i].marker is None:
                blocks[i] = replace(blocks[i], marker=marker)
                if i not in layout.special:
                    insort(layout.special, i)
                return i
            break
    return len(blocks)
