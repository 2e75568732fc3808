"""Where comparison goes on behind a divergence that is accepted or only noted, so that it hides nothing else.

Only what the accepted cause explains is stepped over: a changed value by itself, dropped reasoning with the markers
around it, an edited datum as a whole. Anything else that is missing or new on the way is a divergence of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from pytest_cachesafe.prefix.blame import is_reasoning_path
from pytest_cachesafe.prefix.causes import SELF_CHANGING
from pytest_cachesafe.prefix.compare import Divergence
from pytest_cachesafe.prefix.view import canonical, view
from pytest_cachesafe.prompt import Prompt, Segment
from pytest_cachesafe.values import value_at

__all__ = ["Behind", "behind"]

# Causes that change words and leave the rest of a text as it was.
_REWORDED = frozenset({"system_changed", "tools_changed", "edited_history", "text_changed"})
# Characters of one text that are aligned word by word, and how many in common count as "goes on as before".
_REACH = 20_000
_COMMON = 24


class Behind(NamedTuple):
    """Where both prompts go on; `skipped` is where passed-over data begins that the cause does not explain."""

    index_a: int
    index_b: int
    skipped: tuple[int, int] | None = None
    # By how many places more the messages of the later prompt are moved from here on.
    shift: int = 0


def behind(a: Prompt, b: Prompt, divergence: Divergence) -> Behind | None:
    """Where to go on, or None if nothing behind the divergence can be aligned (then the rest is all one divergence)."""
    ia, ib = divergence.index_a, divergence.index_b
    if ia is None or ib is None or divergence.scope == "tail":
        return None
    if divergence.cause in SELF_CHANGING:
        inside = _behind_value(a, b, ia, ib)
        if inside is not None:
            return inside
    if divergence.cause == "history_shifted":
        return _behind_cut(a, b, divergence)
    if divergence.cause == "reasoning_dropped":
        items = _behind_items(a, b, divergence)
        if items is not None:
            return items
    if divergence.cause in _REWORDED:
        inside = _behind_words(a, b, ia, ib)
        if inside is not None:
            return inside
    return _behind_data(a, b, ia, ib, divergence)


def _behind_items(a: Prompt, b: Prompt, divergence: Divergence) -> Behind | None:
    """Behind reasoning that was an item of the list by itself: those items alone are stepped over.

    All later items have moved up; whatever else is gone is judged where it stood.
    """
    va, vb = view(a), view(b)
    if va is None or vb is None or divergence.messages is None:
        return None
    numbers = list(divergence.messages)
    for side, data in enumerate((va, vb)):
        while numbers[side] < len(data.messages) and _is_reasoning_item(data.messages[numbers[side]]):
            numbers[side] += 1
    moved = (numbers[1] - numbers[0]) - (divergence.messages[1] - divergence.messages[0])
    if not moved:
        return None
    starts = [_start_of(prompt, number) for prompt, number in ((a, numbers[0]), (b, numbers[1]))]
    if starts[0] is None or starts[1] is None:
        return None
    return Behind(starts[0], starts[1], shift=moved)


def _is_reasoning_item(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "reasoning"


def _start_of(prompt: Prompt, number: int) -> int | None:
    """Where a message or item begins in the prompt, its frame included."""
    return next((s.start for s in prompt.segments if s.message_index == number), None)


def _behind_value(a: Prompt, b: Prompt, ia: int, ib: int) -> Behind | None:
    """Right behind the value that changed, on both sides, inside the same piece of text."""
    ends = []
    for prompt, at in ((a, ia), (b, ib)):
        value = value_at(prompt.text, at)
        if value is None:
            return None
        ends.append(max(value.end, at))
    return Behind(ends[0], ends[1])


def _behind_words(a: Prompt, b: Prompt, ia: int, ib: int) -> Behind | None:
    """At the next stretch that both sides have in common inside the same piece of text.

    A changed word must not cover the clock that stands behind it in the same system text.
    """
    sa, sb = a.segment_at(ia), b.segment_at(ib)
    if sa is None or sb is None or sa.writer != "data" or sb.writer != "data":
        return None
    left, right = a.text[ia : min(sa.end, ia + _REACH)], b.text[ib : min(sb.end, ib + _REACH)]
    words = [re.findall(r"\w+|\W", text) for text in (left, right)]
    at = [0, 0]
    for block in SequenceMatcher(None, words[0], words[1], autojunk=False).get_matching_blocks():
        same = "".join(words[0][block.a : block.a + block.size])
        if len(same) >= _COMMON:
            at = [len("".join(words[0][: block.a])), len("".join(words[1][: block.b]))]
            return Behind(ia + at[0], ib + at[1]) if any(at) else None
    return None


def _behind_data(a: Prompt, b: Prompt, ia: int, ib: int, divergence: Divergence) -> Behind | None:
    """At the first datum that both prompts print behind the divergence."""
    rest_a, rest_b = list(_data_from(a, ia)), list(_data_from(b, ib))
    shift = divergence.messages[1] - divergence.messages[0] if divergence.messages is not None else 0
    places: dict[str, int] = {}
    for j, segment in enumerate(rest_b):
        places.setdefault(_key(segment, b), j)
    for i, segment in enumerate(rest_a):
        if _explained(segment, divergence, 0):
            continue
        found = places.get(_key(segment, a, shift))
        if found is None or _explained(rest_b[found], divergence, 1):
            continue
        j = found
        skipped_a = [s for s in rest_a[:i] if not _explained(s, divergence, 0)]
        skipped_b = [s for s in rest_b[:j] if not _explained(s, divergence, 1)]
        other = None
        if skipped_a or skipped_b:
            other = (
                max(skipped_a[0].start, ia) if skipped_a else segment.start,
                max(skipped_b[0].start, ib) if skipped_b else rest_b[j].start,
            )
        # A datum that began before the divergence goes on at the same distance from it.
        return Behind(max(segment.start, ia), max(rest_b[j].start, ib), other)
    return None


def _data_from(prompt: Prompt, at: int) -> Iterator[Segment]:
    for segment in prompt.segments:
        if segment.writer == "data" and segment.end > at and segment.end > segment.start:
            yield segment


def _key(segment: Segment, prompt: Prompt, shift: int = 0) -> str:
    """What makes two data segments the same datum: their path, with message numbers moved by `shift`."""
    path = segment.path or prompt.text[segment.start : segment.end]
    if shift and segment.message_index is not None:
        return re.sub(r"\[(\d+)\]", lambda m: f"[{int(m.group(1)) + shift}]", path, count=1)
    return path


def _behind_cut(a: Prompt, b: Prompt, divergence: Divergence) -> Behind | None:
    """At the first message that both sides have, however many were taken out or put in before it."""
    va, vb = view(a), view(b)
    if va is None or vb is None or divergence.messages is None:
        return None
    i, j = divergence.messages
    places: dict[str, int] = {}
    for y in range(j, len(vb.messages)):
        places.setdefault(canonical(vb.messages[y]), y)
    for x in range(i, len(va.messages)):
        y_found = places.get(canonical(va.messages[x]))
        if y_found is None:
            continue
        # Of what was passed over on both sides, the last messages of one role are the same ones, edited.
        both = [va.messages, vb.messages]
        while x > i and y_found > j and _role(both[0][x - 1]) == _role(both[1][y_found - 1]):
            x, y_found = x - 1, y_found - 1
        starts = []
        for prompt, number in ((a, x), (b, y_found)):
            found = (s.start for s in prompt.segments if s.message_index == number and s.writer == "data")
            starts.append(next(found, None))
        if starts[0] is None or starts[1] is None:
            continue
        return Behind(starts[0], starts[1], shift=(y_found - x) - (j - i))
    return None


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, Mapping) else None


def _explained(segment: Segment, divergence: Divergence, side: int) -> bool:
    """Whether the accepted cause accounts for this datum of one side being different, gone or new."""
    where, cause = divergence.location, divergence.cause
    path = divergence.paths[side] or where.path
    number = divergence.messages[side] if divergence.messages is not None else where.message_index
    if cause == "reasoning_dropped":
        return is_reasoning_path(segment.path) or _is_label(segment.path)
    if cause == "system_moved":
        return segment.part == "system"
    if cause in ("tools_moved", "tools_changed"):
        return segment.part == "tools"
    if cause == "order" and where.part == "tools":
        return segment.part == "tools"
    if cause in ("system_changed", "default_system_text"):
        return segment.part == "system"
    if cause in ("template_markup", "setting_changed", "whitespace") and divergence.origin != "application":
        return _is_label(segment.path)
    # An edit of one datum: that datum, whole.
    if cause == "tool_arguments_reserialised" and path is not None and segment.path is not None:
        return segment.path.startswith(re.split(r"(?<=\.arguments)|(?<=\.input)|(?<=\.args)", path)[0])
    if segment.path == path:
        return True
    mine = segment.part == where.part and number is not None and segment.message_index == number
    return mine and cause in ("order", "edited_history") and _same_datum(segment.path, path)


def _same_datum(path: str | None, other: str | None) -> bool:
    return path is None or other is None or path.split(".")[0] == other.split(".")[0]


def _is_label(path: str | None) -> bool:
    return path is not None and path.rsplit(".", 1)[-1] in ("role", "id", "tool_call_id", "type")
