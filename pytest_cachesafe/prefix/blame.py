"""Whose fault a divergence is: message data is compared first, the text around it second, ids third.

Every rule is symmetrical in its two sides, so that the cause does not depend on the order in which two prompts are
given; which side is "before" only shows in the excerpts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_cachesafe.findings import Origin
from pytest_cachesafe.prefix.blame_data import STRUCTURAL, message_cause, system_cause, tools_cause
from pytest_cachesafe.prefix.datadiff import Difference, equal, first_difference, is_system, leading_system
from pytest_cachesafe.prefix.split import Split
from pytest_cachesafe.prefix.view import View, view
from pytest_cachesafe.prompt import Part, Prompt, Segment
from pytest_cachesafe.values import classify_change

__all__ = ["Blame", "blame", "is_reasoning_path"]

_SAME = Difference("", None, None)
_WINDOW = 2000
# Characters in front of the place that are read with it: a value may have begun there.
_LEAD = 200
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
    # Number of the message on either side; they differ behind messages that were taken out or put in.
    messages: tuple[int, int] | None = None
    # JSON path of the datum at the place on either side; None for text of the front end.
    paths: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True, slots=True)
class _Place:
    """The two sides of a divergence: prompts, their data, character indexes and the segments that cover them."""

    a: Prompt
    b: Prompt
    va: View
    vb: View
    ia: int
    ib: int
    sa: Segment | None
    sb: Segment | None
    # Message numbers on either side, as in `Blame.messages`.
    index_a: int
    index_b: int

    @property
    def parts(self) -> set[str]:
        return {s.part for s in (self.sa, self.sb) if s is not None}

    @property
    def framed(self) -> bool:
        """Whether both sides are the template's own text."""
        return all(s is not None and s.writer == "template" for s in (self.sa, self.sb))


def blame(
    a: Prompt, b: Prompt, at: Split, index_a: int | None = None, index_b: int | None = None, shift: int = 0
) -> Blame:
    """Name place, cause and origin of the divergence at character `index_a` of `a` and `index_b` of `b`.

    `shift` is by how many places the messages of `b` are behind those of `a`, after an accepted cut.
    """
    ia = at.char_index if index_a is None else index_a
    ib = at.char_index_b if index_b is None else index_b
    if ia is None or ib is None:
        return _without_text(a, b)
    sa, sb = a.segment_at(ia), b.segment_at(ib)
    part, owner = _part(sa, sb)
    paths = sorted({s.path for s in (sa, sb) if s is not None and s.path is not None})
    where = Blame(
        part, owner.message_index if owner else None, owner.role if owner else None, paths[0] if paths else None,
        "text_changed", "application",
    )  # fmt: skip
    where = replace(where, paths=(sa.path if sa else None, sb.path if sb else None))
    if at.merged and index_a is None:
        return replace(where, cause="retokenised" if a.text == b.text else "token_merge", origin="tokenizer")
    va, vb = view(a), view(b)
    if va is None or vb is None:
        cause, granularity = _text_cause(a, b, ia, ib, sa, sb)
        where = replace(where, part="message", message_index=None, role=None)
        return replace(where, cause=cause or "text_changed", granularity=granularity)
    numbers = [s.message_index for s in (sa,) if s is not None and s.message_index is not None]
    numbers += [s.message_index - shift for s in (sb,) if s is not None and s.message_index is not None]
    # The smaller number is the message that is lost; the other side has gone on to the next.
    first = min(numbers, default=0)
    where = replace(where, messages=(first, first + shift) if numbers else None)
    case = _Place(a, b, va, vb, ia, ib, sa, sb, first, first + shift)
    found = _clock(case, where) or _system(case, where) or _application(case, where) or _front_end(case, where)
    if found.part in ("template", "generation_prompt"):
        found = replace(found, message_index=None, role=None)
    return found


def _without_text(a: Prompt, b: Prompt) -> Blame:
    """Ids alone: what differs as data is told, and where nothing does, it is the renderer's doing."""
    va, vb = view(a), view(b)
    nowhere = Blame("message", None, None, None, "text_changed", "application")
    if va is None or vb is None:
        return nowhere
    if not equal(va.tools, vb.tools):
        return _tools(va, vb, replace(nowhere, part="tools"))
    for i in range(min(len(va.messages), len(vb.messages))):
        if not equal(va.messages[i], vb.messages[i]):
            system = is_system(va.messages[i]) and is_system(vb.messages[i])
            cause, origin, granularity = message_cause(va.messages, vb.messages, i, i, system=system)
            role = va.messages[i].get("role")
            return Blame("system" if system else "message", i, role, None, cause, origin, granularity)
    if not equal(dict(va.settings), dict(vb.settings)):
        return _setting(va, vb, replace(nowhere, part="template"))
    return replace(nowhere, part="template", cause="template_markup", origin="template")


def _part(sa: Segment | None, sb: Segment | None) -> tuple[Part, Segment | None]:
    """The part that names the place, and the segment whose index and role go with it."""
    if sa is None or sb is None:
        one = sa or sb
        return (one.part if one else "template"), one
    parts = {sa.part, sb.part}
    if "generation_prompt" in parts:
        return "generation_prompt", None
    if len(parts) == 1:
        both = [s for s in (sa, sb) if s.message_index is not None]
        return sa.part, min(both, key=lambda s: s.message_index or 0) if both else sa
    # What moved in front of a message, or vanished from there, is told by the message: it is what is lost.
    for part in ("message", "tools"):
        if part == "message" and "template" in parts:
            continue
        for s in (sa, sb):
            if s.part == part:
                return s.part, s
    return "template", None


def _clock(case: _Place, where: Blame) -> Blame | None:
    """A date or time in the template's own words is the clock's, whatever else differs between the requests."""
    if not case.framed or where.part == "generation_prompt":
        return None
    cause, granularity = _text_cause(case.a, case.b, case.ia, case.ib, case.sa, case.sb)
    if cause not in ("date", "timestamp"):
        return None
    return replace(where, cause=cause, origin="template", granularity=granularity, part="template", path=None)


def _system(case: _Place, where: Blame) -> Blame | None:
    """Cause where the requests' own system messages differ and the place is theirs, or what stands around them."""
    va, vb = case.va, case.vb
    at_tools = where.part == "tools" and equal(va.tools, vb.tools)
    near = where.part == "template" or at_tools or "system" in case.parts or va.has_system != vb.has_system
    if not near or case.a.is_wire or where.part == "generation_prompt":
        return None
    one, other = (v.messages[: leading_system(v.messages)] for v in (va, vb))
    if equal(one, other) or (len(case.parts) == 1 and where.part == "system" and len(one) == len(other)):
        return None
    holder = case.a if one else case.b
    path = f"{holder.chat.path_of(0)}.content" if holder.chat is not None else None
    where = replace(where, part="system", origin="application", message_index=0, role="system", path=path)
    if one and other:
        i = next(n for n in range(max(len(one), len(other))) if not equal(one[n : n + 1], other[n : n + 1]))
        if i >= min(len(one), len(other)) or one[i].get("role") != other[i].get("role"):
            return replace(where, cause="system_changed")
        cause, origin, granularity = message_cause(va.messages, vb.messages, i, i, system=True)
        return replace(where, cause=cause, origin=origin, granularity=granularity)
    without, prompt = (va, case.a) if not one else (vb, case.b)
    if any(isinstance(m, Mapping) and is_system(m) for m in without.messages):
        return replace(where, cause="system_moved")
    if _own_words(prompt):
        return replace(where, cause="default_system_text", origin="template", part="template", path=None)
    return replace(where, cause="system_changed")


def _tools(va: View, vb: View, where: Blame) -> Blame:
    cause, granularity = tools_cause(va.tools, vb.tools)
    path = where.path
    if path is None or "tools" not in path.lower():
        found = first_difference(va.tools, vb.tools, "tools")
        path = found.path if found is not None else "tools"
    return replace(where, cause=cause, origin="application", granularity=granularity, path=path)


def _setting(va: View, vb: View, where: Blame) -> Blame:
    one, other = dict(va.settings), dict(vb.settings)
    names = [k for k in (*one, *other) if k not in one or k not in other or not equal(one[k], other[k])]
    path = f"template_kwargs.{min(names)}" if names else "template_kwargs"
    return replace(where, cause="setting_changed", origin="application", path=path)


def _application(case: _Place, where: Blame) -> Blame | None:
    """Cause if the request's own data differ at this place, else None."""
    va, vb, part = case.va, case.vb, where.part
    wire = case.a.is_wire
    if wire and part in ("tools", "template"):
        if va.model != vb.model:
            return replace(where, cause="model_changed", origin="application", part="template")
        if "template" in case.parts and not equal(dict(va.settings), dict(vb.settings)):
            named = _setting(va, vb, replace(where, part="template"))
            return replace(named, path=(named.path or "").removeprefix("template_kwargs."))
    # Templates print other words around tools, and in front of them, than without.
    near_tools = part in ("tools", "template", "system") or "tools" in case.parts
    if near_tools and not equal(va.tools, vb.tools) and (case.framed or "tools" in case.parts or part == "template"):
        return _tools(va, vb, replace(where, part="tools" if part == "template" else part))
    if part == "tools" or part not in ("system", "message"):
        return None
    if part == "system" and va.system is not None and vb.system is not None:
        if equal(va.system, vb.system):
            return None
        return _local(case, where, *system_cause(va.system, vb.system), "application")
    if va.has_system != vb.has_system:
        without = va if not va.has_system else vb
        elsewhere = any(isinstance(m, Mapping) and is_system(m) for m in without.messages)
        cause = "system_moved" if elsewhere else "system_changed"
        return replace(where, cause=cause, origin="application", part="system")
    i, j = case.index_a, case.index_b
    # A message that only the longer request has is growth; what stood in its place is the template's own.
    if i >= len(va.messages) or j >= len(vb.messages) or equal(va.messages[i], vb.messages[j]):
        return None
    found = _datum(case, i, j)
    if found is _SAME:
        if not wire:
            # What stands here is the same in both requests; what differs elsewhere in the message is not the reason.
            return None
        found = None
    cause, origin, granularity = message_cause(va.messages, vb.messages, i, j, system=part == "system", found=found)
    return _local(case, where, cause, granularity, origin)


def _datum(case: _Place, i: int, j: int) -> Difference | None:
    """How the data printed next on either side differ between the requests.

    None if neither side prints anything of its message from here on; `_SAME` if what they print is the same in both
    requests.
    """
    one, other = case.va.messages[i], case.vb.messages[j]
    if isinstance(one, Mapping) and isinstance(other, Mapping) and one.get("role") != other.get("role"):
        return Difference("role", one.get("role"), other.get("role"))
    known = False
    for prompt, at, number in ((case.a, case.ia, i), (case.b, case.ib, j)):
        segment = next(
            (
                s
                for s in prompt.segments
                if s.end > at and s.message_index == number and s.writer == "data" and s.path is not None
            ),
            None,
        )
        inside = re.match(r"[^\[]*\[\d+\]", segment.path) if segment is not None and segment.path else None
        if segment is None or segment.path is None or inside is None:
            continue
        known = True
        found = _difference_at(one, other, segment.path[inside.end() :])
        if found is not None:
            return found
    return _SAME if known else None


def _difference_at(one: Any, other: Any, path: str) -> Difference | None:
    """The difference between two messages at a path inside them, as deep as both have it; None if there is none."""
    at = ""
    for step in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path):
        key: Any = step[0] if step[0] else int(step[1])
        present = [_has(value, key) for value in (one, other)]
        if not all(present):
            if not any(present):
                break
            values = [value[key] if has else None for value, has in zip((one, other), present, strict=True)]
            return Difference(f"{at}.{key}".lstrip("."), values[0], values[1], (present[0], present[1]))
        one, other = one[key], other[key]
        at = f"{at}.{key}" if step[0] else f"{at}[{key}]"
    return first_difference(one, other, at.lstrip("."))


def _has(value: Any, key: Any) -> bool:
    if isinstance(key, int):
        return isinstance(value, Sequence) and not isinstance(value, str) and key < len(value)
    return isinstance(value, Mapping) and key in value


def _local(case: _Place, where: Blame, cause: str, granularity: str | None, origin: Origin) -> Blame:
    """What differs at this very place: a datum may differ in several, each with a cause of its own."""
    sa, sb = case.sa, case.sb
    if cause not in STRUCTURAL and sa is not None and sb is not None and sa.path == sb.path and sa.writer == "data":
        here, grain = _text_cause(case.a, case.b, case.ia, case.ib, sa, sb)
        general = {"system": "system_changed", "message": "edited_history"}.get(where.part, cause)
        cause, granularity = (general, None) if here is None else (here, grain)
    return replace(where, cause=cause, origin=origin, granularity=granularity)


def _front_end(case: _Place, where: Blame) -> Blame:
    """Cause where the data at this place are the same: the template's doing, or a setting's."""
    a, b, va, vb = case.a, case.b, case.va, case.vb
    if a.is_wire:
        return _on_the_wire(case, where)
    if not equal(dict(va.settings), dict(vb.settings)):
        return _setting(va, vb, where)
    where = replace(where, origin="template")
    if where.part == "generation_prompt":
        return replace(where, cause="generation_prompt", path=None)
    if "tools" in case.parts and len(case.parts) > 1:
        return replace(where, cause="tools_moved")
    if len(case.parts) > 1 and any(s and s.writer == "data" and s.part == "system" for s in (case.sa, case.sb)):
        return replace(where, cause="system_moved")
    if where.message_index is not None:
        one, other = _reasoning(a, va, case.index_a, case.ia), _reasoning(b, vb, case.index_b, case.ib)
        if one != other or _reasoning_marks(a, case.ia) != _reasoning_marks(b, case.ib):
            return replace(where, cause="reasoning_dropped")
    if not equal(va.tools, vb.tools):
        # Some templates frame messages differently when there are tools.
        return _tools(va, vb, where)
    cause, _ = _text_cause(a, b, case.ia, case.ib, case.sa, case.sb)
    return replace(where, cause="whitespace" if cause == "whitespace" else "template_markup")


def _on_the_wire(case: _Place, where: Blame) -> Blame:
    """What is left on the wire is the request's own doing: nobody else writes there."""
    if any(is_reasoning_path(path) for path in where.paths):
        return replace(where, cause="reasoning_dropped")
    cause, granularity = _text_cause(case.a, case.b, case.ia, case.ib, case.sa, case.sb)
    general = {"system": "system_changed", "tools": "tools_changed", "message": "edited_history"}
    return replace(where, cause=cause or general.get(where.part, "text_changed"), granularity=granularity)


def _own_words(prompt: Prompt) -> bool:
    """Whether the template puts in words of its own, not only markers, in front of the request's first text.

    What it writes around tools is theirs.
    """
    text = ""
    for segment in prompt.segments:
        if segment.writer == "data" and segment.part in ("system", "message"):
            break
        if segment.part == "template":
            text += prompt.text[segment.start : segment.end] + " "
    text = re.sub(r"<[^<>]{0,60}>|\[/?[A-Z_]{2,30}\]", " ", text)
    roles = {"system", "developer", "user", "human", "assistant", "model"}
    return any(word.lower() not in roles for word in re.findall(r"[^\W\d_]{3,}", text))


def is_reasoning_path(path: str | None) -> bool:
    """Whether a datum is the model's reasoning rather than what was said."""
    return path is not None and path.rsplit(".", 1)[-1].split("[")[0] in _REASONING_KEYS


def _reasoning(prompt: Prompt, data: View, index: int, at: int) -> bool:
    """Whether the reasoning of message `index` is in the prompt from `at` on."""
    for segment in prompt.segments:
        if segment.message_index == index and segment.end > at and is_reasoning_path(segment.path):
            return True
    message: Any = data.messages[index] if index < len(data.messages) else None
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
    most = max(min(ia - (sa.start if sa else 0), ib - (sb.start if sb else 0), _LEAD), 0)
    # Only what both sides share in front of the place: what differed before it has a cause of its own.
    lead = 0
    while lead < most and a.text[ia - lead - 1] == b.text[ib - lead - 1]:
        lead += 1
    left = a.text[ia - lead : min(ia + _WINDOW, sa.end if sa else len(a.text))]
    right = b.text[ib - lead : min(ib + _WINDOW, sb.end if sb else len(b.text))]
    cause, one, other = classify_change(left, right, lead)
    if cause == "other":
        return None, None
    return cause, (one.granularity if one else None) or (other.granularity if other else None)
