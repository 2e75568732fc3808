"""A request as its provider's cache sees it; and the same for a growing conversation, without reading it all again."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pytest_cachesafe.providers.blocks import anthropic, bedrock, gemini, openai
from pytest_cachesafe.providers.blocks.block import Block, Layout, Marker
from pytest_cachesafe.providers.blocks.builder import Place, Plan, Section, extend, leading
from pytest_cachesafe.providers.blocks.settings import settings_of
from pytest_cachesafe.providers.exchange import Exchange
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


class Layouter:
    """Lays out requests one after another; what an earlier one had at the same place is taken from it.

    The result is that of `lay_out`, blocks of equal content being the same objects. Bodies must not be edited after
    they were given.
    """

    def __init__(self) -> None:
        self._earlier: deque[tuple[str, dict[str, Section]]] = deque(maxlen=_KEPT)

    def lay_out(self, exchange: Exchange) -> Layout:
        """See the function of this name.

        Raises:
            UsageError: the body is no request of its API, or holds a value that has no JSON form.
        """
        if not isinstance(exchange.body, Mapping):
            raise UsageError(f"the body is {type(exchange.body).__name__}; a JSON object is meant")
        try:
            return self._lay_out(exchange)
        except RecursionError:
            raise UsageError("the body is nested too deep to be read") from None

    def _lay_out(self, exchange: Exchange) -> Layout:
        body = exchange.body
        plans = _PLANS[exchange.api](body)
        earlier, shared = self._like(exchange.api, plans)
        runs = RUNS.get(exchange.api, frozenset())
        sections: dict[str, Section] = {}
        place = Place()
        for plan in plans:
            known = shared if plan is plans[-1] else None
            section = sections[plan.name] = extend(plan, place, runs, earlier.get(plan.name), known)
            # A run does not go on from one level to the next: tools are no messages.
            place = section.after
        self._earlier.appendleft((exchange.api, sections))
        return _layout(exchange, sections)

    def _like(self, api: str, plans: list[Plan]) -> tuple[dict[str, Section], int | None]:
        """The sections of the earlier request that shares most messages with this one, and how many at the front."""
        best: dict[str, Section] = {}
        most = -1
        wanted = len(plans[-1].values)
        for name, sections in self._earlier:
            if name != api:
                continue
            messages = sections["messages"]
            shared = leading(messages, plans[-1].values) if messages.context == plans[-1].context else 0
            if shared > most:
                best, most = sections, shared
            # All but the newest turn, or but the message that the marker left: there is none better.
            if shared >= min(len(messages.values), wanted) - 2 and shared:
                break
        return best, (most if best else None)


def _layout(exchange: Exchange, sections: Mapping[str, Section]) -> Layout:
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
    if exchange.api in ("messages", "invoke"):
        layout.automatic = anthropic.automatic(exchange.body)
        if layout.automatic is not None:
            _place(layout.automatic, layout)
    if exchange.provider == "openai" and exchange.api in ("chat", "responses"):
        ends, layout.developer_end = openai.eligible_ends(sections, _ENDS)
        layout.ends = tuple(ends)
    return layout


def _place(marker: Marker, layout: Layout) -> None:
    """Put the automatic marker on the last block that can carry one; nowhere if there is none, or if it has one."""
    blocks = layout.blocks
    for i in range(len(blocks) - 1, -1, -1):
        if blocks[i].markable:
            if blocks[i].marker is None:
                blocks[i] = replace(blocks[i], marker=marker)
                if i not in layout.special:
                    insort(layout.special, i)
            return
