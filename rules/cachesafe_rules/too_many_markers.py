"""CSF402 too-many-markers."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.blocks import is_marker
from cachesafe_rules.excerpts import is_excerpt
from cachesafe_rules.expressions import is_history, last_part, walk
from cachesafe_rules.lengths import known_length
from cachesafe_rules.markers import Marker, marked_by_statements, marked_lists, markers_below, markers_of, takes_away
from cachesafe_rules.model import Binding, Condition, Expr, Span, Step
from cachesafe_rules.needles import MARKERS
from cachesafe_rules.shape import Part, Shape, shape_of

__all__ = ["TooManyMarkers"]

_LIMIT = 4
_LISTS = frozenset({"tools", "tool_list", "blocks", "system_blocks"})
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
    shows, and in a loop that the function which sends it runs over all of its messages, without a test or a count.

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
        sending = {request.function for request in shape.requests}
        sent = set(_in_loops(shape, sending, shape.parts))
        found = [*_in_loops(shape, sending, shape.parts)]
        if is_excerpt(shape.view):
            # An excerpt hands back what it marks.
            for part in parts:
        if part.expr.kind == "comprehension" and not any(g.tests for g in part.expr.generators):
            inner = [part.expr.items[-1]]
            while inner:
                expr = inner.pop()
                over = part.expr.generators[0].iterable
                if "cache_control" in expr.entries and (is_history(over) or last_part(over.name) in _LISTS):
                    yield expr.entries["cache_control"].span
                    break
                if expr.kind in ("dict", "list"):
                    inner += [*expr.entries.values(), *expr.items]


# Roles of which a chat has one message for each turn or more.
_GROWING = frozenset({"user", "assistant", "tool", "human", "ai", "function"})


def _of_roles(shape: Shape) -> Iterator[Span]:
    """Markers on all messages of a role, in a loop over the chat that hands back what it marks."""
    places = [(b.span, b.function, b.conditions) for b in shape.view.bindings
              if b.target is not None and b.target.kind == "subscript" and b.target.items[1].value == "cache_control"
              and is_marker(b.value)]  # fmt: skip
    places += [(d.expr.span, d.function, d.conditions) for d in shape.view.dicts
               if is_marker(d.expr.entries.get("cache_control"))]  # fmt: skip
    for call in shape.view.calls:
        local = shape.local_function(call, call.function)
        made = [item.value for item in shape.returns(local) if item.value is not None] if local else []
        if made and all(is_marker(value.entries.get("cache_control")) for value in made):
            places.append((call.span, call.function, call.conditions))
    for span, function, conditions in places:
        at = next((n for n, c in enumerate(conditions) if c.kind == "for" and _all_of(shape, function, c)), None)
        if at is None or (conditions[at].test is not None and not is_history(_whole(conditions[at].test))):
            continue
        tests = [c for c in conditions[at + 1 :] if c.kind != "for"]
        if tests and all(_names_roles(c) or _is_setting(shape, function, c) for c in tests):
            yield span


def _whole(expr: Expr | None) -> Expr | None:
    while expr is not None and expr.call is not None and expr.call.args:
        expr = expr.call.args[0]
    return expr


def _names_roles(condition: Condition) -> bool:
    """`if m["role"] == "user":`, `if m.role in ("system", "tool"):`"""
    test = condition.test
    if condition.kind != "if" or condition.negated or test is None or test.kind != "operation":
        return False
    if test.name not in ("==", "in") or len(test.items) != 2:
        return False
    left = test.items[0]
    of_role = (left.kind == "subscript" and left.items[1].value == "role") or last_part(left.name) == "role"
    return of_role and any(part.value in _GROWING for part in walk(test.items[1]) if part.kind == "constant")


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
    if any(other.operator == "+=" and loops[0] in other.conditions for other in shape.view.bindings):
        # Counts what it marks, to stop in time.
        return False
    return _all_of(shape, binding.function, loops[0]) and not any(
        item.kind in ("if", "while") and not _is_setting(shape, binding.function, item) for item in behind
    )


def _is_setting(shape: Shape, function: str, condition: Condition) -> bool:
    """`if use_cache:`: what the function is told holds for all of the list."""
    test = condition.test
    return condition.kind == "if" and test is not None and shape.is_parameter(function, test)


def _all_of(shape: Shape, function: str, loop: Condition) -> bool:
    expr = loop.test
    while expr is not None and expr.call is not None and last_part(expr.call.name) in ("enumerate", "list", "reversed"):
        expr = expr.call.args[0] if expr.call.args else None
    if expr is None:
        return False
    return is_history(expr) or last_part(expr.name) in _LISTS
