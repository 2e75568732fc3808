"""One request against the request it continues: the verdict of a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_cachesafe.findings import Severity
from pytest_cachesafe.prefix.accept import Accept, Acceptances
from pytest_cachesafe.prefix.common import common_prefix
from pytest_cachesafe.prefix.compare import Divergence, diverge
from pytest_cachesafe.prefix.resume import behind
from pytest_cachesafe.prefix.split import Split, split
from pytest_cachesafe.prompt import Chat, Generated, Prompt

__all__ = ["Step", "Verdict", "generated_reused", "judge"]

Verdict = Literal["stable", "tail", "history", "raises", "not_rendered"]
# A step that keeps diverging behind acceptances is cut off here; real chats have a handful.
_MOST_DIVERGENCES = 1000


@dataclass(slots=True)
class Step:
    """What happened to request `request` when it should have continued request `against`."""

    request: int
    against: int | None
    verdict: Verdict
    # Tokens of the earlier prompt, and of them shared with this one; estimates unless the front end has ids.
    tokens: int = 0
    shared_tokens: int = 0
    lost_tokens: int = 0
    lost_blocks: int = 0
    # Tokens of this prompt; None where it was not rendered.
    request_tokens: int | None = None
    # The divergence that decides the verdict (the worst that is not accepted).
    divergence: Divergence | None = None
    accepted: list[tuple[Divergence, Accept]] = field(default_factory=list)
    notes: list[Divergence] = field(default_factory=list)
    generated_reused: bool | None = None
    # An intended reset: a new epoch begins here.
    reset: str | None = None
    # The template's own words where the verdict is "raises".
    raised: str | None = None
    message_index: int | None = None
    # Under which perturbation this was seen ("clock", "hashseed=1"); None: the plain run.
    under: str | None = None

    @property
    def severity(self) -> Severity:
        """`note` for losses that stay small by nature: a bounded tail, a date that changes once a day."""
        if self.verdict in ("raises", "not_rendered"):
            return Severity.ERROR
        return Severity.NOTE if self.divergence is None else self.divergence.severity

    def as_dict(self) -> dict[str, Any]:
        """JSON form of one step."""
        out: dict[str, Any] = {
            "request": self.request,
            "against": self.against,
            "verdict": self.verdict,
            "tokens": self.tokens,
            "shared_tokens": self.shared_tokens,
            "lost_tokens": self.lost_tokens,
            "lost_blocks": self.lost_blocks,
            "request_tokens": self.request_tokens,
            "generated_text_reused": self.generated_reused,
            "divergence": None if self.divergence is None else self.divergence.as_dict(),
        }
        if self.accepted:
            out["accepted"] = [{"accept": a.describe(), "divergence": d.as_dict()} for d, a in self.accepted]
        if self.notes:
            out["notes"] = [d.as_dict() for d in self.notes]
        for name in ("reset", "raised", "under"):
            if getattr(self, name) is not None:
                out[name] = getattr(self, name)
        return out


def judge(a: Prompt, b: Prompt, request: int, against: int, acceptances: Acceptances, block_size: int) -> Step:
    """Compare the later prompt `b` with `a`, stepping over what is accepted or only worth a note."""
    at = split(a, b)
    step = Step(request, against, "stable", at.tokens[0], at.shared_tokens, request_tokens=at.tokens[1])
    # A request that is a prefix of the earlier one (a retry cut short) finds all of itself in the cache.
    if not at.diverges:
        step.shared_tokens = at.tokens[0] if at.extends else at.shared_tokens
        return step
    step.lost_tokens = max(at.tokens[0] - at.shared_tokens, 0)
    step.lost_blocks = at.tokens[0] // block_size - at.shared_tokens // block_size
    for divergence in _divergences(a, b, at, acceptances, block_size, step):
        current = step.divergence
        if current is None or _rank(divergence) > _rank(current):
            step.divergence = divergence
    if step.divergence is not None:
        step.verdict = "tail" if step.divergence.scope == "tail" else "history"
    if step.divergence is not None:
        # Behind an acceptance the loss is what comes on top of it. The same number that a bound is judged by.
        start = step.divergence.location.token_index or 0
        step.lost_tokens = step.divergence.lost_tokens[1]
        step.lost_blocks = at.tokens[0] // block_size - start // block_size
    return step


def _rank(divergence: Divergence) -> tuple[bool, bool]:
    return divergence.severity is not Severity.NOTE, divergence.scope == "history"


def _divergences(
    a: Prompt, b: Prompt, at: Split, acceptances: Acceptances, block_size: int, step: Step
) -> list[Divergence]:
    """Those that are not accepted: notes, and the first that is worse (comparison ends there)."""
    left: list[Divergence] = []
    current = diverge(a, b, at, block_size)
    seen: set[tuple[int | None, int | None]] = set()
    shift = 0
    for _ in range(_MOST_DIVERGENCES):
        place = (current.index_a, current.index_b)
        accept = acceptances.take(current, a.front_end, (id(step), step.request))
        if accept is not None:
            step.accepted.append((current, accept))
        else:
            left.append(current)
            if current.severity is not Severity.NOTE:
                return left
            step.notes.append(current)
        if place in seen:
            return left
        seen.add(place)
        following = behind(a, b, current)
        if following is None:
            return left
        shift += following.shift
        if following.skipped is not None and following.skipped not in seen:
            current = diverge(a, b, at, block_size, *following.skipped, shift)
            continue
        ia, ib = following.index_a, following.index_b
        same = common_prefix(a.text, b.text, ia, ib)
        ia, ib = ia + same, ib + same
        if ia >= len(a.text) or ib >= len(b.text):
            return left
        current = diverge(a, b, at, block_size, ia, ib, shift)
    return left


def generated_reused(a: Prompt, b: Prompt, answer: Generated | None, continued: bool) -> bool | None:
    """Whether request `b` begins with all of `a` plus what the model generated; None where that is not known.

    `continued`: whether `b` begins with all of `a`; if not, it does not begin with more. Sampled ids are compared as
    they are. A text alone is taken to have been sampled in its canonical ids.
    """
    if answer is None or a.is_wire:
        # What a provider puts between a request and its answer is not known.
        return None
    ids_a, ids_b = a.token_ids, b.token_ids
    if not continued:
        return False
    if ids_a is None or ids_b is None:
        return None if answer.text is None else b.text.startswith(a.text + answer.text)
    if answer.token_ids is not None:
        whole: Sequence[int] = [*ids_a, *answer.token_ids]
    elif answer.text is not None and a._encode is not None:
        whole = a._encode(a.text + answer.text)
    else:
        return None
    # The answer's first token may merge with the prompt's last: then the prompt's own ids are not in `whole`, and since
    # they are in `ids_b` (the request is continued), the two differ.
    return common_prefix(whole, ids_b) == len(whole)


def answer_of(earlier: Chat | None, later: Chat | None) -> Generated | None:
    """What the model answered: as recorded, else the plain assistant message that the later request carries."""
    if earlier is None or later is None:
        return None
    if earlier.generated is not None:
        return earlier.generated
    at = len(earlier.messages)
    if earlier.raw is not None or at >= len(later.messages):
        return None
    message = later.messages[at]
    extra = any(message.get(k) for k in ("tool_calls", "reasoning_content", "reasoning", "thinking", "function_call"))
    content = message.get("content")
    if message.get("role") != "assistant" or extra or not isinstance(content, str) or not content:
        return None
    return Generated(text=content)
