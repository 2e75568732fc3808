"""Two prompts against each other: what they share, where they part, why, and what is lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pytest_cachesafe.findings import Location, Origin, Severity
from pytest_cachesafe.prefix.blame import blame
from pytest_cachesafe.prefix.split import Split, split
from pytest_cachesafe.prompt import Prompt, UsageError

__all__ = ["Comparison", "Divergence", "Scope", "compare", "data_end", "diverge"]

Scope = Literal["none", "tail", "history"]
_EXCERPT = 80
_LEAD = 32


@dataclass(frozen=True, slots=True)
class Divergence:
    """One place where a prompt is not continued, with everything a person needs to mend it."""

    location: Location
    cause: str
    origin: Origin
    severity: Severity
    scope: Scope
    # The shared text in front of it (up to 32 characters), what stood there and what stands there now (up to 80 each,
    # not past the block they stand in), unescaped.
    lead: str
    before: str
    after: str
    # Tokens of the earlier prompt from the divergence on; (low, best, high), equal where ids are exact.
    lost_tokens: tuple[int, int, int]
    # Character index in either prompt (they differ behind an accepted divergence).
    index_a: int | None = None
    index_b: int | None = None
    granularity: str | None = None
    # Number of the message on either side.
    messages: tuple[int, int] | None = None
    # JSON path at the place on either side.
    paths: tuple[str | None, str | None] = (None, None)

    def as_dict(self) -> dict[str, Any]:
        """JSON form: the `divergence` object of `cachesafe compare`."""
        where = self.location
        return {
            "token_index": where.token_index,
            "char_index": where.char_index,
            "block_index": where.block_index,
            "location": {
                "part": where.part,
                "message_index": where.message_index,
                "role": where.role,
                "path": where.path,
            },
            "cause": self.cause,
            "origin": self.origin,
            "severity": str(self.severity),
            "scope": self.scope,
            "lost_tokens": self.lost_tokens[1],
            "lead": self.lead,
            "before": self.before,
            "after": self.after,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two prompts share. `extends` says that the second begins with all of the first."""

    shared_tokens: int
    shared_chars: int
    tokens: tuple[int, int]
    extends: bool
    scope: Scope
    divergence: Divergence | None
    # Whether token numbers are ids counted one by one; otherwise they are estimates.
    exact: bool
    front_end: str
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON form, as `cachesafe compare` prints it."""
        return {
            "schema": 1,
            "shared_tokens": self.shared_tokens,
            "shared_chars": self.shared_chars,
            "tokens": list(self.tokens),
            "extends": self.extends,
            "scope": self.scope,
            "divergence": None if self.divergence is None else self.divergence.as_dict(),
            "estimated": not self.exact,
            "front_end": self.front_end,
            "notes": list(self.notes),
        }


def data_end(prompt: Prompt) -> int:
    """Character index behind the last text that comes from the request (what follows is the template's own tail)."""
    ends = [s.end for s in prompt.segments if s.writer == "data" and s.end > s.start and not _is_label(s.path)]
    chat = prompt.chat
    if chat is not None and chat.messages and not prompt.is_wire:
        # A text whose origin was lost on the way is found by what it says.
        ends.append(_printed_end(prompt, chat.messages[-1]))
    # A prompt in which nothing of the request is found says nothing about where its messages end.
    return max(ends, default=0) or len(prompt.text)


def _printed_end(prompt: Prompt, message: Mapping[str, Any]) -> int:
    """Character index behind the last place where some text of a message stands in the prompt, 0 if nowhere."""
    end = 0
    content = message.get("content")
    for block in content if isinstance(content, list) else [content]:
        text = block.get("text") if isinstance(block, Mapping) else block
        if isinstance(text, str) and text.strip():
            at = prompt.text.rfind(text.strip())
            end = max(end, at + len(text.strip()) if at >= 0 else 0)
    return end


def _is_label(path: str | None) -> bool:
    """Roles, names and ids frame a message; they are not what it says."""
    return path is not None and path.rsplit(".", 1)[-1] in ("role", "id", "tool_call_id", "type")


def diverge(
    a: Prompt,
    b: Prompt,
    at: Split,
    block_size: int,
    index_a: int | None = None,
    index_b: int | None = None,
    shift: int = 0,
) -> Divergence:
    """Describe the divergence at `at` (or, behind an accepted one, at the two character indexes)."""
    found = blame(a, b, at, index_a, index_b, shift)
    ia = at.char_index if index_a is None else index_a
    ib = at.char_index_b if index_b is None else index_b
    token_index: int | None
    if index_a is None:
        token_index = at.token_index if at.exact else at.shared_tokens
    else:
        token_index = a.count(a.text[:index_a])[1]
    total = a.count()
    done = token_index or 0
    lost = tuple(max(n - done, 0) for n in total) if at.exact else _estimated_loss(a, ia or 0, max(total[1] - done, 0))
    # A token that merges over the end of the prompt is the last one: nothing earlier is rendered anew.
    merged = found.cause == "token_merge"
    scope: Scope = "history" if not merged and (ia is None or ia < data_end(a)) else "tail"
    if scope == "tail" and found.origin == "template" and found.cause in ("template_markup", "reasoning_dropped"):
        # Whatever the template puts behind the last message is there to make the model answer.
        found = replace(found, part="generation_prompt", message_index=None, role=None, cause="generation_prompt")
    day = found.cause == "date" and found.granularity in (None, "day", "month", "year")
    severity = Severity.NOTE if scope == "tail" or day else Severity.ERROR
    return Divergence(
        Location(
            part=found.part, message_index=found.message_index, role=found.role, path=found.path,
            token_index=token_index, char_index=ia if ia is None or ib is None or index_a is not None else min(ia, ib),
            block_index=None if token_index is None else token_index // block_size,
        ),
        found.cause, found.origin, severity, scope,
        *_excerpts(a, b, ia, ib),
        lost,  # type: ignore[arg-type]
        ia, ib, found.granularity, found.messages, found.paths,
    )  # fmt: skip


def _estimated_loss(a: Prompt, index: int, best: int) -> tuple[int, int, int]:
    """The band of the rest of the text around what the totals leave: estimates of parts do not add up."""
    low, _, high = a.count(a.text[index:])
    return min(low, best), best, max(high, best)


def _excerpts(a: Prompt, b: Prompt, ia: int | None, ib: int | None) -> tuple[str, str, str]:
    if ia is None or ib is None or not (a.text or b.text):
        return "", "", ""
    sa = a.segment_at(ia)
    # Canonical bytes frame each block in signs of their own; a lead from the block before would only confuse.
    start = max(ia - _LEAD, sa.start if sa is not None and a.is_wire else 0, 0)
    return a.text[start:ia], _from(a, ia), _from(b, ib)


def _from(prompt: Prompt, at: int) -> str:
    segment = prompt.segment_at(at)
    end = segment.end if segment is not None and prompt.is_wire and segment.end > at else len(prompt.text)
    if segment is not None and prompt.is_wire and segment.writer != "data":
        # The signs around a block say too little: what it holds is what came or went.
        inside = prompt.segment_at(end)
        end = inside.end if inside is not None and inside.writer == "data" else end
    return prompt.text[at : min(at + _EXCERPT, end)]


def compare(a: Any, b: Any, *, template: Any = None, tools: Any = None, block_size: int = 16) -> Comparison:
    """Compare two requests (message lists, wire bodies, `Prompt`s, texts or id lists), `b` being the later one.

    Args:
        a, b: two of the same kind. Chats are rendered through `template` (None: the wire front end).
        tools: tool definitions for bare message lists.
        block_size: tokens in one cache block, for `block_index`.

    Raises:
        UsageError: the two cannot be compared (different kinds, empty, not a chat).
        TemplateRaised: the template refuses one of them.
    """
    from pytest_cachesafe.prefix.inputs import comparable, to_prompt

    if isinstance(block_size, bool) or not isinstance(block_size, int) or block_size < 1:
        raise UsageError(f"block_size must be at least 1, got {block_size}")
    front_end = None
    pa, front_end = to_prompt(a, template, tools, front_end)
    pb, front_end = to_prompt(b, template, tools, front_end)
    comparable(pa, pb, "A", "B")
    return compare_prompts(pa, pb, block_size)


def compare_prompts(a: Prompt, b: Prompt, block_size: int = 16) -> Comparison:
    """Compare two rendered prompts."""
    if a.exact != b.exact:
        raise UsageError("one prompt has token ids and the other is text only: render both with the same front end")
    at = split(a, b)
    divergence = diverge(a, b, at, block_size) if at.diverges else None
    scope: Scope = "none" if divergence is None else divergence.scope
    if divergence is None and not at.extends:
        scope = "history" if at.shared_chars < data_end(a) else "tail"
    notes = tuple(dict.fromkeys((*a.notes, *b.notes)))
    return Comparison(
        at.shared_tokens, at.shared_chars, at.tokens, at.extends, scope, divergence, at.exact, a.front_end, notes
    )
