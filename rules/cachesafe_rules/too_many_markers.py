"""CSF402 too-many-markers."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.blocks import is_marker
from cachesafe_rules.expressions import is_history, last_part, walk
from cachesafe_rules.lengths import known_length
from cachesafe_rules.markers import Marker, marked_lists, markers_below, markers_of, takes_away
from cachesafe_rules.model import Binding, Condition, Expr, Span, Step
from cachesafe_rules.needles import MARKERS
from cachesafe_rules.shape import Part, Shape, shape_of

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
    test or a count. Where the marked messages are only given back, it is reported in a file of up to 40 rows that no
    other file imports.

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
        for span, shown in _in_loops(shape):
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


def _in_loops(shape: Shape) -> Iterator[tuple[Span, bool]]:
    """Markers on all of a list that is sent, and whether the file shows that it is: the function that marks sends it
    itself or hands it back to one that does."""
    sending = {request.function for request in shape.requests}
    for binding in shape.view.bindings:
        target = binding.target
        if (
            target is not None
            and target.kind == "subscript"
            and target.items[1].value == "cache_control"
            and binding.value is not None
            and not (binding.value.kind == "constant" and binding.value.value is None)
            and _each_message(shape, binding)
        ):
            sent = binding.function in sending or any(c.function in sending for c in shape.callers(binding.function))
            if sent or (not sending and any(is_history(item.value) for item in shape.returns(binding.function))):
                yield binding.span, sent
    for binding in shape.view.bindings:
        if _marks_known(shape, binding) and (
            binding.function in {"", *sending}
            or any(call.function in sending for call in shape.callers(binding.function))
        ):
            yield binding.span, True
    for part in () if takes_away(shape) else shape.parts:
        if part.expr.kind == "comprehension" and not any(g.tests for g in part.expr.generators):
            over = part.expr.generators[0].iterable
            if is_history(over) and (span := _marked_in(shape, part.function, part.expr.items[-1])) is not None:
                yield span, True
        elif part.element and (span := _appended(shape, part)) is not None:
            yield span, True


def _marked_in(shape: Shape, function: str, message: Expr, depth: int = _DEPTH) -> Span | None:
    """The place of a marker that a message has each time, or that a helper sets which makes it or a block of it."""
    if not depth:
        return None
    call = message.call
    fields = call.keywords if call is not None else message.entries
    marker = fields.get("cache_control") or fields.get("cachePoint")
    if marker is not None:
        return marker.span if is_marker(marker) else None
    if message.kind == "name" and not shape.is_parameter(function, message):
        value = shape.resolve(function, message, 1)
        return _marked_in(shape, function, value, depth - 1) if value is not message else None
    local = shape.local_function(call, function) if call is not None else ""
    if local:
        # In each of its results: `if last: return marked` marks one.
        spans = [
            _marked_in(shape, local, item.value, depth - 1) for item in shape.returns(local) if item.value is not None
        ]
        return None if None in spans else next(iter(spans), None)
    if message.kind in ("dict", "list", "tuple", "star") or call is not None:
        below = [*message.items, *fields.values(), *(call.args if call is not None else ())]
        found = (_marked_in(shape, function, part, depth - 1) for part in below)
        return next((span for span in found if span is not None), None)
    return None


def _appended(shape: Shape, part: Part) -> Span | None:
    """The marker of a message that a loop over the whole chat appends to what is sent."""
    loops = [n for n, condition in enumerate(part.conditions) if condition.kind == "for"]
    if not loops or any(condition.kind != "for" for condition in part.conditions[loops[0] :]):
        return None
    loop = part.conditions[loops[0]]
    if not _all_of(shape, part.function, loop) or _counts_up(shape, loop):
        return None
    return _marked_in(shape, part.function, part.expr)


def _marks_known(shape: Shape, binding: Binding) -> bool:
    """`for block in BLOCKS: block["cache_control"] = …`, of more blocks than a request may mark."""
    target, loops = binding.target, binding.conditions
    if target is None or target.kind != "subscript" or target.items[1].value != "cache_control":
        return False
    if len(loops) != 1 or loops[0].kind != "for" or loops[0].test is None or not is_marker(binding.value):
        return False
    named = target.items[0].name is not None and any(
        part.name == target.items[0].name for part in walk(loops[0].target or target)
    )
    length = known_length(shape, binding.function, loops[0].test) if named else None
    return length is not None and length > _LIMIT and not takes_away(shape)


def _each_message(shape: Shape, binding: Binding) -> bool:
    loops = [condition for condition in binding.conditions if condition.kind == "for"]
    if not loops:
        return False
    behind = binding.conditions[binding.conditions.index(loops[0]) + 1 :]
    if _counts_up(shape, loops[0]):
        return False
    return _all_of(shape, binding.function, loops[0]) and not any(item.kind in ("if", "while") for item in behind)


def _counts_up(shape: Shape, loop: Condition) -> bool:
    """Whether a loop counts what it marks, to stop in time."""
    return any(
        other.operator == "+=" and loop in other.conditions and other.value is not None and other.value.kind != "list"
        for other in shape.view.bindings
    )


def _all_of(shape: Shape, function: str, loop: Condition) -> bool:
    expr = loop.test
    while expr is not None and expr.call is not None and last_part(expr.call.name) in ("enumerate", "list", "reversed"):
        expr = expr.call.args[0] if expr.call.args else None
    if expr is None:
        return False
    return is_history(expr) or last_part(expr.name) in ("tools", "tool_list", "blocks", "system_blocks")
