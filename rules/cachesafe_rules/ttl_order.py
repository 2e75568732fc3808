"""CSF403 ttl-order."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.markers import marked_by_statements, marked_lists, markers_below, markers_of
from cachesafe_rules.model import Span, Step
from cachesafe_rules.needles import MARKERS
from cachesafe_rules.shape import shape_of

__all__ = ["TtlOrder"]


class TtlOrder(Rule):
    """A cache marker of one hour stands behind one of five minutes.

    What is wrong
    -------------
    In the order tools, system, messages a marker with `ttl: "1h"` follows one with `ttl: "5m"` (the default).

    Why
    ---
    Longer lifetimes must come first: Anthropic rejects the request otherwise ("Prompt caching", section on mixing
    lifetimes, Claude Platform Docs, read 2026-11-29; the same rule holds for `cachePoint` at Amazon Bedrock). It also
    could not work: what lives an hour contains everything in front of it.

    What to do
    ----------
    Give the earlier markers "1h" as well, or the later one "5m".
    """

    code = "CSF403"
    name = "ttl-order"
    severity = "error"
    needles = MARKERS
    INVALID = (
        Example(
            "def build(history):\n"
            "    return {'model': 'm', 'system': [\n"
            "        {'type': 'text', 'text': 'Rules', 'cache_control': {'type': 'ephemeral'}},\n"
            "        {'type': 'text', 'text': 'More', 'cache_control': {'type': 'ephemeral', 'ttl': '1h'}},\n"
            "    ], 'messages': history}\n",
            (4,),
        ),
        Example(
            "SHORT = {'type': 'ephemeral', 'ttl': '5m'}\n"
            "LONG = {'type': 'ephemeral', 'ttl': '1h'}\n"
            "TOOLS = [{'name': 'search', 'cache_control': SHORT}]\n\n"
            "def ask(client, m):\n"
            "    system = [{'type': 'text', 'text': 'Rules', 'cache_control': LONG}]\n"
            "    return client.messages.create(model='m', max_tokens=9, tools=TOOLS, system=system, messages=m)\n",
            (6,),
        ),
    )
    VALID = (
        Example(
            "def build(history):\n"
            "    return {'model': 'm', 'system': [\n"
            "        {'type': 'text', 'text': 'Rules', 'cache_control': {'type': 'ephemeral', 'ttl': '1h'}},\n"
            "        {'type': 'text', 'text': 'More', 'cache_control': {'type': 'ephemeral', 'ttl': '5m'}},\n"
            "    ], 'messages': history}\n"
        ),
        Example(
            "def build(history, ttl):\n"
            "    return {'model': 'm', 'system': [\n"
            "        {'type': 'text', 'text': 'Rules', 'cache_control': {'type': 'ephemeral', 'ttl': ttl}},\n"
            "        {'type': 'text', 'text': 'More', 'cache_control': {'type': 'ephemeral', 'ttl': '1h'}},\n"
            "    ], 'messages': history}\n"
        ),
    )

    def check(self, context: Context) -> Iterator[Report]:
        shape = shape_of(context.view)
        seen: set[Span] = set()
        rows = [markers_of(shape, request) for request in shape.requests]
        rows += [markers_below(shape, function, expr) for expr, function in marked_lists(shape)]
        rows += marked_by_statements(shape)
        for markers in rows:
            short = None
            for marker in markers:
                if marker.ttl == "5m" and short is None:
                    short = marker
                elif marker.ttl in ("1h", "1h?") and short is not None and marker.span not in seen:
                    seen.add(marker.span)
                    yield Report(
                        f"a marker of 1h behind the one of 5m in row {short.span.row}: the provider rejects this order",
                        marker.span,
                        steps=(Step(short.span.filename, short.span.row, "the marker of 5m"),),
                        help="give the earlier marker ttl 1h as well, or this one 5m",
                    )
