"""CSF402 too-many-markers."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.excerpts import is_excerpt
from cachesafe_rules.marked_in_loops import marks_in_loops, marks_of_roles
from cachesafe_rules.markers import Marker, marked_by_statements, marked_lists, markers_below, markers_of
from cachesafe_rules.model import Span, Step
from cachesafe_rules.needles import MARKERS
from cachesafe_rules.shape import shape_of

__all__ = ["TooManyMarkers"]

_LIMIT = 4
_DEPTH = 8
_HELP = (
    "a request may have 4: one behind the tools, one behind the system text, one or two at the end of the messages; "
    "a marker covers everything in front of it"
)


class TooManyMarkers(Rule):
    """A request has more than four cache markers.

    What is wrong
    -------------
    Five or more blocks of one request carry `cache_control` (or are a `cachePoint`), or a loop marks every message.
    Counted are markers that are written in one request, as often as a loop over a list makes them whose length the file
    shows, and those that a loop over all of the messages sets or appends with each, itself or by a helper, without a
    test or a count. Where the marked messages are only given back, or all messages of a role are marked, it is reported
    in a file of up to 40 rows that no other file imports.

    Why
    ---
    Anthropic accepts four breakpoints per request, explicit and automatic ones together, and rejects a fifth with an
    error 400 ("Prompt caching", Claude Platform Docs, read 2026-11-29); Bedrock has the same limit. A marker on each
    message works in a short test and fails on the fifth message.

    What to do
    ----------
    A marker covers everything before it. Put one at the end of the tools, one at the end of the fixed system text and
    one on the newest message; move the last one forward with every turn.
    """

    code = "CSF402"
    name = "too-many-markers"
    severity = "error"
    needles = MARKERS
    INVALID = (
        Example(
            "E = {'type': 'ephemeral'}\n\n"
            "def build(a, b, c, d, text):\n"
            "    return {'model': 'm', 'system': [\n"
            "        {'type': 'text', 'text': a, 'cache_control': E},\n"
            "        {'type': 'text', 'text': b, 'cache_control': E},\n"
            "        {'type': 'text', 'text': c, 'cache_control': E},\n"
            "        {'type': 'text', 'text': d, 'cache_control': E},\n"
            "    ], 'messages': [{'role': 'user', 'content': [\n"
            "        {'type': 'text', 'text': text, 'cache_control': E}]}]}\n",
            (10,),
        ),
        Example(
            "def build(client, messages):\n"
            "    for message in messages:\n"
            "        message['content'][-1]['cache_control'] = {'type': 'ephemeral'}\n"
            "    return client.messages.create(model='m', max_tokens=9, messages=messages)\n",
            (3,),
        ),
        Example(
            "def build(client, history):\n"
            "    marked = [{'role': m.role, 'content': [{'type': 'text', 'text': m.text,\n"
            "               'cache_control': {'type': 'ephemeral'}}]} for m in history]\n"
            "    return client.messages.create(model='m', max_tokens=9, messages=marked)\n",
            (2, 3),
        ),
        Example(
            "PARTS = ['terms', 'prices', 'annex', 'privacy', 'service']\n\n"
            "def build(client, messages):\n"
            "    blocks = []\n"
            "    for part in PARTS:\n"
            "        blocks.append({'type': 'text', 'text': TEXTS[part], 'cache_control': {'type': 'ephemeral'}})\n"
            "    return client.messages.create(model='m', max_tokens=9, system=blocks, messages=messages)\n",
            (6,),
        ),
    )
    VALID = (
        Example(
            "E = {'type': 'ephemeral'}\n\n"
            "def build(tools, history, text):\n"
            "    return {'model': 'm', 'tools': [*tools, {'name': 'last', 'cache_control': E}],\n"
            "        'system': [{'type': 'text', 'text': 'Rules', 'cache_control': E}],\n"
            "        'messages': [*history, {'role': 'user', 'content': [\n"
            "            {'type': 'text', 'text': text, 'cache_control': E}]}]}\n"
        ),
        Example(
            "def build(client, messages):\n"
            "    for message in messages[-2:]:\n"
            "        message['content'][-1]['cache_control'] = {'type': 'ephemeral'}\n"
            "    return client.messages.create(model='m', max_tokens=9, messages=messages)\n"
        ),
        Example(
            "def build(client, messages):\n"
            "    for number, message in enumerate(messages):\n"
            "        if number == len(messages) - 1:\n"
            "            message['content'][-1]['cache_control'] = {'type': 'ephemeral'}\n"
            "    return client.messages.create(model='m', max_tokens=9, messages=messages)\n"
        ),
        Example(
            "PARTS = ['terms', 'prices', 'annex', 'privacy', 'service']\n\n"
            "def build(client, messages):\n"
            "    blocks = []\n"
            "    for part in PARTS:\n"
            "        blocks.append({'type': 'text', 'text': TEXTS[part]})\n"
            "    blocks[-1]['cache_control'] = {'type': 'ephemeral'}\n"
            "    return client.messages.create(model='m', max_tokens=9, system=blocks, messages=messages)\n"
        ),
    )

    def check(self, context: Context) -> Iterator[Report]:
        shape = shape_of(context.view)
        seen: set[Span] = set()
        for request in shape.requests:
            markers = markers_of(shape, request)
            if len(markers) > _LIMIT and (span := markers[_LIMIT].span) not in seen:
                seen.add(span)
                yield _report(markers, span)
        for expr, function in marked_lists(shape):
            markers = markers_below(shape, function, expr)
            if len(markers) > _LIMIT and (span := markers[_LIMIT].span) not in seen:
                seen.add(span)
                yield _report(markers, span)
        for markers in marked_by_statements(shape):
            if len(markers) > _LIMIT and (span := markers[_LIMIT].span) not in seen:
                seen.add(span)
                yield _report(markers, span)
        found = list(marks_in_loops(shape))
        if is_excerpt(shape.view):
            found += [(span, False) for span in marks_of_roles(shape)]
        for span, shown in found:
            if span not in seen:
                seen.add(span)
                yield Report(
                    f"each one of a list gets a cache marker: more than {_LIMIT} in one request are an error",
                    span,
                    help=_HELP,
                    data={"shown": shown},
                )


def _report(markers: list[Marker], span: Span) -> Report:
    return Report(
        f"{len(markers)} cache markers in one request: more than {_LIMIT} are an error",
        span,
        steps=_steps(markers),
        help=_HELP,
    )


def _steps(markers: list[Marker]) -> tuple[Step, ...]:
    """One for each place: what a loop makes stands in one."""
    steps = []
    numbers: dict[Span, list[int]] = {}
    for number, marker in enumerate(markers, 1):
        numbers.setdefault(marker.span, []).append(number)
    for span, several in numbers.items():
        told = f"marker {several[0]}" if len(several) == 1 else f"markers {several[0]} to {several[-1]}"
        steps.append(Step(span.filename, span.row, told))
    return tuple(steps)
