"""Where a summary takes the place of messages inside of the list that is sent on: a part of it gets other items, it is
emptied and begun anew, or a graph removes what the summary tells.

A test of the chat's length is no guard where so few messages are kept below it that the next turns come here again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cachesafe_rules.assembled import role_and_content
from cachesafe_rules.expressions import is_history, last_part, name_words, walk, words_of_name
from cachesafe_rules.history_edits import unguarded_callers
from cachesafe_rules.model import Binding, Call, Condition, Expr, Span
from cachesafe_rules.one_chat import is_sent
from cachesafe_rules.shape import Shape
from cachesafe_rules.summaries import SUMMARY, asked, behind, is_trivial, made_of, summarises
from cachesafe_rules.turns import is_setup, is_side_call, overflow_guarded

__all__ = ["replaced"]

# Messages that a few turns bring: with more between what is kept and the length that is asked for, it is done rarely.
_FEW = 4


class _Write(NamedTuple):
    """A statement that puts a text in the place of messages. `kept` is how many of them stay, -1 where it is not seen
    or all go; `text` is that of the new message."""

    span: Span
    function: str
    conditions: tuple[Condition, ...]
    messages: Expr
    text: Expr
    kept: int


def replaced(shape: Shape) -> Iterator[tuple[Call, Span, bool]]:
    """The calls whose summary takes the place of messages, the place, and whether a request of the file holds them."""
    for write in [*_given_items(shape), *_begun_anew(shape)]:
        if not _is_each_turn(shape, write.function, write.conditions, write.kept):
            continue
        for call, named, conditions in behind(shape, write.function, write.text):
            same = summarises(shape, write.function, call, named, [write.messages.name or ""])
            if same and _is_each_turn(shape, write.function, conditions, write.kept):
                shown = is_sent(shape, write.function, write.messages, write.conditions)
                yield call, write.span, shown
    yield from _removed(shape)


def _given_items(shape: Shape) -> Iterator[_Write]:
    """`messages[:-2] = [summary]`, `self.messages = [summary]`."""
    for binding in shape.view.bindings:
        target, value = binding.target, binding.value
        if binding.operator != "=" or target is None or value is None or value.kind != "list":
            continue
        whole, kept = target, -1
        if target.kind == "subscript":
            index = target.items[1]
            if index.kind != "slice" or _is_first(index):
                continue
            whole, kept = target.items[0], _kept(index)
        elif any(item.kind == "star" for item in value.items):
            # What stays of the list stands behind the summary: that is looked at where lists are.
            continue
        if whole.name and is_history(whole):
            for item in value.items:
                _, content = role_and_content(shape.resolve(binding.function, item))
                if content is not None:
                    yield _Write(binding.span, binding.function, binding.conditions, whole, content, kept)


def _begun_anew(shape: Shape) -> Iterator[_Write]:
    """`history.clear()` or `del history[:-2]`, then `history.append(summary)` or `history.insert(0, summary)`."""
    emptied: dict[tuple[str, str], int] = {}
    for call in shape.view.calls:
        if last_part(call.name) == "clear" and call.receiver is not None and is_history(call.receiver):
            emptied[call.function, call.receiver.name or ""] = -1
    for binding in shape.view.bindings:
        if (whole := _cut(binding)) is not None:
            emptied[binding.function, whole[0].name or ""] = whole[1]
    for call in shape.view.calls if emptied else ():
        key = call.function, call.receiver.name or "" if call.receiver is not None else ""
        if key not in emptied or last_part(call.name) not in ("append", "insert") or not call.args:
            continue
        _, content = role_and_content(shape.resolve(call.function, call.args[-1]))
        if content is not None and call.receiver is not None:
            yield _Write(call.span, call.function, call.conditions, call.receiver, content, emptied[key])


def _cut(binding: Binding) -> tuple[Expr, int] | None:
    """The list of `del messages[:-2]` or `messages = messages[-2:]`, and how many of it stay."""
    target, value = binding.target, binding.value
    if target is None:
        return None
    if binding.operator == "del" and target.kind == "subscript" and target.items[1].kind == "slice":
        whole, index = target.items
        return (whole, _kept(index)) if is_history(whole) and not _is_first(index) else None
    if binding.operator == "=" and value is not None and value.kind == "subscript" and is_history(target):
        whole, index = value.items
        if index.kind == "slice" and whole.name == target.name and isinstance(index.items[0].value, int):
            return whole, max(-index.items[0].value, -1)
    return None


def _is_first(index: Expr) -> bool:
    """`[:1]`: the system message alone."""
    lower, upper, _ = index.items
    return lower.value in (None, 0) and upper.value == 1


def _kept(index: Expr) -> int:
    """How many messages a slice leaves in front and behind; -1 where none."""
    lower, upper, _ = index.items
    behind_it = -upper.value if isinstance(upper.value, int) and upper.value < 0 else 0
    before = lower.value if isinstance(lower.value, int) and lower.value > 0 else 0
    return (behind_it + before) or -1


def _is_each_turn(shape: Shape, function: str, conditions: tuple[Condition, ...], kept: int) -> bool:
    """Whether nothing but a short length stands between two turns and a place."""
    if is_setup(function) or overflow_guarded(shape, function, conditions):
        return False
    if not unguarded_callers(shape, function):
        return False
    callers = shape.callers(function)
    if callers and not any(_passes(shape, call.function, call.conditions, kept) for call in callers):
        return False
    # What is named for its summary may be run by anybody, whenever it is due.
    if is_side_call(function) and not callers:
        return False
    return _passes(shape, function, conditions, kept)


def _passes(shape: Shape, function: str, conditions: tuple[Condition, ...], kept: int) -> bool:
    return all(is_trivial(condition) or _is_short(shape, function, condition, kept) for condition in conditions)


def _is_short(shape: Shape, function: str, condition: Condition, kept: int) -> bool:
    """`if len(messages) > 4:`, `if len(messages) < 6: return`, where about as many are kept."""
    test = condition.test
    if condition.kind not in ("if", "left") or test is None or test.kind != "operation" or len(test.items) != 2:
        return False
    grows = test.name in (">", ">=") if not condition.negated else test.name in ("<", "<=")
    size, limit = test.items[0].call, shape.resolve(function, test.items[1]).value
    if not grows or size is None or size.name != "len" or not size.args or not is_history(size.args[0]):
        return False
    return isinstance(limit, int) and limit - max(kept, 0) <= _FEW


def _removed(shape: Shape) -> Iterator[tuple[Call, Span, bool]]:
    """A node of a graph that gives back a summary and `RemoveMessage` for what it tells, with fixed edges alone."""
    calls = {last_part(call.name) for call in shape.view.calls}
    if "RemoveMessage" not in calls or "add_edge" not in calls or "add_conditional_edges" in calls:
        return
    nodes = {part.name for call in shape.view.calls if last_part(call.name) == "add_node" for part in call.args}
    for binding in shape.view.bindings:
        function, value = binding.function, binding.value
        if binding.operator != "return" or value is None or last_part(function) not in {last_part(n) for n in nodes}:
            continue
        gone = any(
            part.call is not None and last_part(part.call.name) == "RemoveMessage"
            for field in value.entries.values()
            for part in walk(shape.resolve(function, field))
        )
        if not gone or overflow_guarded(shape, function, binding.conditions):
            continue
        if _passes(shape, function, binding.conditions, -1) and (call := _summary(shape, function)) is not None:
            yield call, binding.span, True


def _summary(shape: Shape, function: str) -> Call | None:
    """The call of a function whose answer is a summary of the messages it was given."""
    for binding in shape.view.bindings:
        target, value = binding.target, binding.value
        if binding.function != function or target is None or value is None:
            continue
        named = not SUMMARY.isdisjoint(words_of_name(target))
        calls: list[Call] = [*(asked(shape, function, value) if named else ())]
        calls += [p.call for p in walk(value) if p.call is not None and not SUMMARY.isdisjoint(name_words(p.call.name))]
        for call in calls:
            given = (*call.args, *call.keywords.values())
            if any(is_history(part) for arg in given for part in made_of(shape, function, arg, 3)):
                return call
    return None
