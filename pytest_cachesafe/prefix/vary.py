"""The same requests rendered twice: under a toggle, in another order, or in another world."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_cachesafe.prefix.accept import Acceptances
from pytest_cachesafe.prefix.check import prompts_of
from pytest_cachesafe.prefix.compare import diverge
from pytest_cachesafe.prefix.inputs import Item
from pytest_cachesafe.prefix.split import split
from pytest_cachesafe.prefix.step import Step, judge
from pytest_cachesafe.prefix.toggles import Observed, ToggleResult
from pytest_cachesafe.prompt import Chat, FrontEnd, Prompt, TemplateRaised

__all__ = ["across", "observe"]

_WEIGHT: dict[Observed, int] = {"keeps": 0, "tail": 1, "splits": 2, "raises": 3}


def observe(
    result: ToggleResult,
    value: object,
    base: Sequence[Item],
    varied: Sequence[Item],
    front_end: FrontEnd,
    block_size: int,
) -> None:
    """Compare request by request and keep the worst that was seen in `result`."""
    for (index, a), (_, b) in zip(prompts_of(base, front_end), prompts_of(varied, front_end)):  # noqa: B905 - builders may return fewer
        if isinstance(a, TemplateRaised):
            continue
        if isinstance(b, TemplateRaised):
            if _WEIGHT[result.observed] < _WEIGHT["raises"]:
                result.observed, result.value, result.request, result.raised = "raises", value, index, str(b)
                result.kept = 0.0
            continue
        at = split(a, b)
        kept = at.shared_tokens / at.tokens[0] if at.tokens[0] else 1.0
        if not at.diverges and at.tokens[0] == at.tokens[1]:
            continue
        divergence = diverge(a, b, at, block_size) if at.diverges else None
        # One prompt that begins with all of the other differs from it at its end only.
        seen: Observed = "splits" if divergence is not None and divergence.scope == "history" else "tail"
        if (_WEIGHT[seen], -kept) > (_WEIGHT[result.observed], -result.kept):
            result.observed, result.value, result.request = seen, value, index
            result.divergence = divergence
        result.kept = min(result.kept, kept)


def across(
    base: Sequence[Item],
    other: Sequence[Item],
    front_end: FrontEnd,
    acceptances: Acceptances,
    block_size: int,
    under: str,
) -> list[Step]:
    """Request i of one world against request i of another; only the newest message may differ.

    A value in the newest user message is where volatile things belong; anywhere before it every process, host or run
    has a prefix of its own.
    """
    steps = []
    for (index, a), (_, b) in zip(prompts_of(base, front_end), prompts_of(other, front_end)):  # noqa: B905 - see above
        if isinstance(a, TemplateRaised) or isinstance(b, TemplateRaised):
            continue
        step = judge(a, b, index, index, acceptances, block_size)
        step.under = under
        if step.verdict != "stable" and not _newest(a, step):
            steps.append(step)
    return steps


def _newest(prompt: Prompt, step: Step) -> bool:
    """Whether the divergence lies in the newest message of the request."""
    divergence, chat = step.divergence, prompt.chat
    if divergence is None or not isinstance(chat, Chat) or divergence.location.part == "generation_prompt":
        return divergence is not None and divergence.location.part == "generation_prompt"
    index = divergence.location.message_index
    return divergence.location.part == "message" and index is not None and index >= len(chat.messages) - 1
