"""Whose fault a divergence is: message data is compared first, the text around it second, ids third.

Every rule is symmetrical in its two sides, so that the cause does not depend on the order in which two prompts are
given; which side is "before" only shows in the excerpts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_cachesafe.findings import Origin
from pytest_cachesafe.prefix.blame_data import message_cause, system_cause, tools_cause
from pytest_cachesafe.prefix.datadiff import equal, is_system
from pytest_cachesafe.prefix.split import Split
from pytest_cachesafe.prefix.view import View, view
from pytest_cachesafe.prompt import Part, Prompt, Segment
from pytest_cachesafe.values import classify_change

__all__ = ["Blame", "blame", "is_reasoning_path"]

_WINDOW = 2000
_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
_REASONING_MARKS = ("think", "reason", "thought", "channel", "analysis")


@dataclass(frozen=True, slots=True)
class Blame:
    """Place, cause and origin of one divergence."""

    part: Part
    message_index: int | None
    role: str | None
    path: str | None
    cause: str
    origin: Origin
    # "day" where the change comes once a day, which makes it a note.
    granularity: str | None = None


def blame(a: Prompt, b: Prompt, at: Split, index_a: int | None = None, index_b: int | None = None) -> Blame:
    """Name place, cause and origin of the divergence at character `index_a` of `a` and `index_b` of `b`."""
    ia = at.char_index if index_a is None else index_a
    ib = at.char_index if index_b is None else index_b
    if ia is None or ib is None:
        return _without_text(a, b)
    sa, sb = a.segment_at(ia), b.segment_at(ib)
    part, owner = _place(sa, sb)
    index = owner.message_index if owner else None
    role = owner.role if owner else None
    path = _path(sa, sb)
    if at.merged and index_a is None:
        return Blame(part, index, role, path, "token_merge", "tokenizer")
    va, vb = view(a), view(b)
    if va is None or vb is None:
        cause, granularity = _text_cause(a, b, ia, ib, sa, sb)
        return Blame("message", None, None, path, cause or "text_changed", "application", granularity)
    found = _application(a, b, va, vb, part, index, sa, sb, ia, ib)
    if found is not None:
        cause, origin, granularity, new_part = found
        return Blame(new_part or part, index, role, path, cause, origin, granularity)
    cause, origin, granularity, new_part = _front_end(a, b, va, vb, part, index, sa, sb, ia, ib)
    part = new_part or part
    if part in ("template", "generation_prompt"):
        index = role = None
    return Blame(part, index, role, path, cause, origin, granularity)


def _without_text(a: Prompt, b: Prompt) -> Blame:
    """Ids alone: what differs as data is told, and where nothing does, it is the renderer's doing."""
    va, vb = view(a), view(b)
    if va is None or vb is None:
        return Blame("message", None, None, None, "text_changed", "application")
    if not equal(va.tools, vb.tools):
        cause, granularity = tools_cause(va.tools, vb.tools)
        return Blame("tools", None, None, None, cause, "application", granularity)
    for i in range(min(len(va.messages), len(vb.messages))):
        if not equal(va.messages[i], vb.messages[i]):
            system = is_system(va.messages[i]) and is_system(vb.messages[i])
            cause, origin, granularity = message_cause(va.messages, vb.messages, i, system=system)
            role = va.messages[i].get("role")
            return Blame("system" if system else "message", i, role, None, cause, origin, granularity)
    if not equal(dict(va.settings), dict(vb.settings)):
        return Blame("template", None, None, None, "setting_changed", "application")
    return Blame("template", None, None, None, "template_markup", "template")


def _place(sa: Segment | None, sb: Segment | None) -> tuple[Part, Segment | None]:
    """The part that names the place, and the segment whose index and role go with it."""
    if sa is None or sb is None:
        one = sa or sb
        return (one.part if one else "template"), one
    parts = {sa.part, sb.part}
    for part in ("generation_prompt",):
        if part in parts:
            return "generation_prompt", None
    if len(parts) == 1:
        both = [s for s in (sa, sb) if s.message_index is not None]
        return sa.part, min(both, key=lambda s: s.message_index or 0) if both else sa
    # What moved in front of a message, or vanished from there, is told by the message: it is what is lost.
    for part in ("message", "tools", "system", "template"):
        if part == "message" and "template" in parts:
            continue
        if part == "system" and "template" in parts:
            return "template", None
        for s in (sa, sb):
            if s.part == part:
                return s.part, s
    return "template", None


def _path(sa: Segment | None, sb: Segment | None) -> str | None:
    paths = sorted({s.path for s in (sa, sb) if s is not None and s.path is not None})
    return paths[0] if paths else None


def _application(
    a: Prompt, b: Prompt, va: View, vb: View, part: Part, index: int | None,
    sa: Segment | None, sb: Segment | None, ia: int, ib: int,
) -> tuple[str, Origin, str | None, Part | None] | None:  # fmt: skip
    """The cause if the request's own data differ at this place, else None."""
    if part == "tools" or (part == "template" and a.is_wire):
        if va.model != vb.model and a.is_wire:
            return "model_changed", "application", None, "template"
        if part == "template" and not equal(dict(va.settings), dict(vb.settings)):
            return "setting_changed", "application", None, "template"
        if not equal(va.tools, vb.tools):
            cause, granularity = tools_cause(va.tools, vb.tools)
            return cause, "application", granularity, "tools"
        if part == "tools":
            return None
    if part == "system" and va.system is not None and vb.system is not None:
        if equal(va.system, vb.system):
            return None
        cause, granularity = system_cause(va.system, vb.system)
        return cause, "application", granularity, None
    if part in ("system", "message"):
        if part == "message" and va.has_system != vb.has_system:
            return "system_changed", "application", None, "system"
        i = index or 0
        have_a, have_b = i < len(va.messages), i < len(vb.messages)
        # A message that only the longer request has is growth; what stood in its place is the template's own.
        if not (have_a and have_b) or equal(va.messages[i], vb.messages[i]):
            return None
        if va.has_system != vb.has_system:
            return "system_changed", "application", None, "system"
        cause, origin, granularity = message_cause(va.messages, vb.messages, i, system=part == "system")
        return cause, origin, granularity, None
    if part == "generation_prompt":
        return None
    return None


def _front_end(
    a: Prompt, b: Prompt, va: View, vb: View, part: Part, index: int | None,
    sa: Segment | None, sb: Segment | None, ia: int, ib: int,
) -> tuple[str, Origin, str | None, Part | None]:  # fmt: skip
    """The cause where the data at this place are the same: the template's doing, or a setting's."""
    if not equal(dict(va.settings), dict(vb.settings)):
        return "setting_changed", "application", None, None
    if part == "generation_prompt":
        return "generation_prompt", "template", None, None
    cause, granularity = _text_cause(a, b, ia, ib, sa, sb)
    if cause in ("date", "timestamp") and _template_text(sa) and _template_text(sb):
        return cause, "template", granularity, "template"
    if va.has_system != vb.has_system:
        return "default_system_text", "template", None, "template"
    parts = {s.part for s in (sa, sb) if s is not None}
    if "tools" in parts and len(parts) > 1:
        return ("tools_moved" if equal(va.tools, vb.tools) else "tools_changed"), "template", None, None
    moved = [s for s in (sa, sb) if s is not None and s.writer == "data" and s.part == "system"]
    if moved and len(parts) > 1:
        return "system_moved", "template", None, None
    if index is not None and _reasoning(a, va, index, ia) != _reasoning(b, vb, index, ib):
        return "reasoning_dropped", "template", None, None
    if index is not None and _reasoning_marks(a, ia) != _reasoning_marks(b, ib):
        return "reasoning_dropped", "template", None, None
    if cause == "whitespace":
        return cause, "template", None, None
    return "template_markup", "template", None, None


def _template_text(segment: Segment | None) -> bool:
    return segment is not None and segment.writer == "template"


def is_reasoning_path(path: str | None) -> bool:
    """Whether a datum is the model's reasoning rather than what was said."""
    return path is not None and path.rsplit(".", 1)[-1].split("[")[0] in _REASONING_KEYS


def _reasoning(prompt: Prompt, data: View, index: int, at: int) -> bool:
    """Whether the reasoning of message `index` is in the prompt from `at` on."""
    for segment in prompt.segments:
        if segment.message_index == index and segment.end > at and is_reasoning_path(segment.path):
            return True
    message = data.messages[index] if index < len(data.messages) else None
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, str) and "<think>" in content:
        inner = content.split("<think>", 1)[1].split("</think>", 1)[0].strip()
        return bool(inner) and inner in prompt.text[at:]
    return False


def _reasoning_marks(prompt: Prompt, at: int) -> int:
    """How many reasoning markers the template wrote shortly after `at` (an empty pair counts too)."""
    near = prompt.text[max(at - 12, 0) : at + 40].lower()
    return sum(near.count(mark) for mark in _REASONING_MARKS)


def _text_cause(
    a: Prompt, b: Prompt, ia: int, ib: int, sa: Segment | None, sb: Segment | None
) -> tuple[str | None, str | None]:
    """Cause word and granularity from the two texts around the place, each kept inside its segment."""
    before = min(ia - (sa.start if sa else 0), ib - (sb.start if sb else 0), _WINDOW)
    before = max(before, 0)
    left = a.text[ia - before : min(ia + _WINDOW, sa.end if sa else len(a.text))]
    right = b.text[ib - before : min(ib + _WINDOW, sb.end if sb else len(b.text))]
    cause, one, other = classify_change(left, right, before)
    if cause == "other":
        return None, None
    grain = (one.granularity if one else None) or (other.granularity if other else None)
    return cause, grain
