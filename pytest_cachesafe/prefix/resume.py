"""Where comparison goes on behind a divergence that is accepted or only noted, so that it hides nothing else.

Only what the accepted cause explains is stepped over: a changed value by itself, dropped reasoning with the markers
around it, an edited datum as a whole. Anything else that is missing or new on the way is a divergence of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from pytest_cachesafe.prefix.blame import is_reasoning_path
from pytest_cachesafe.prefix.causes import SELF_CHANGING
from pytest_cachesafe.prefix.compare import Divergence
from pytest_cachesafe.prefix.view import canonical, view
from pytest_cachesafe.prompt import Prompt, Segment
from pytest_cachesafe.values import value_at

__all__ = ["Behind", "behind"]


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
    return _behind_data(a, b, ia, ib, divergence)


def _behind_value(a: Prompt, b: Prompt, ia: int, ib: int) -> Behind | None:
    """Right behind the value that changed, on both sides, inside the same piece of text."""
    ends = []
    for prompt, at in ((a, ia), (b, ib)):
        value = value_at(prompt.text, at)
        if value is None:
            return None
        ends.append(max(value.end, at))
    return Behind(ends[0], ends[1])


def _behind_data(a: Prompt, b: Prompt, ia: int, ib: int, divergence: Divergence) -> Behind | None:
    """At the first datum that both prompts print behind the divergence."""
    rest_a, rest_b = list(_data_from(a, ia)), list(_data_from(b, ib))
    shift = divergence.messages[1] - divergence.messages[0] if divergence.messages is not None else 0
    places: dict[str, int] = {}
    for j, segment in enumerate(rest_b):
        places.setdefault(_key(segment, b), j)
    for i, segment in enumerate(rest_a):
        if _explained(segment, divergence):
            continue
        found = places.get(_key(segment, a, shift))
        if found is None or _explained(rest_b[found], divergence):
            continue
        j = found
        skipped_a = [s for s in rest_a[:i] if not _explained(s, divergence)]
        skipped_b = [s for s in rest_b[:j] if not _explained(s, divergence)]
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
        starts = []
        for prompt, number in ((a, x), (b, y_found)):
            found = (s.start for s in prompt.segments if s.message_index == number and s.writer == "data")
            starts.append(next(found, None))
        if starts[0] is None or starts[1] is None:
            continue
        return Behind(starts[0], starts[1], shift=(y_found - x) - (j - i))
    return None


def _explained(segment: Segment, divergence: Divergence) -> bool:
    """Whether the accepted cause accounts for this datum being different, gone or new."""
    where, cause = divergence.location, divergence.cause
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
    return segment.path == where.path or (
        segment.part == where.part and where.message_index is not None and segment.message_index == where.message_index
        and cause in ("order", "edited_history") and _same_datum(segment.path, where.path)
    )  # fmt: skip


def _same_datum(path: str | None, other: str | None) -> bool:
    return path is None or other is None or path.split(".")[0] == other.split(".")[0]


def _is_label(path: str | None) -> bool:
    return path is not None and path.rsplit(".", 1)[-1] in ("role", "id", "tool_call_id", "type")
