"""Runs the pairs of a plan through a front end, holding no more prompts than a later request still needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pytest_cachesafe.prefix.accept import Acceptances
from pytest_cachesafe.prefix.inputs import Item, Plan, comparable, render
from pytest_cachesafe.prefix.rendered import Missing, not_rendered
from pytest_cachesafe.prefix.resets import Resets
from pytest_cachesafe.prefix.step import Step, answer_of, generated_reused, judge
from pytest_cachesafe.prompt import FrontEnd, Prompt, TemplateRaised, UsageError

__all__ = ["Outcome", "PassThrough", "check_plan"]


class PassThrough:
    """The front end of prompts that are given rendered."""

    name = "prompts as given"

    def prompt(self, chat: object) -> Prompt:
        """Never called: given prompts pass `render` untouched."""
        raise TypeError("given prompts are not rendered again")


@dataclass
class Outcome:
    """Steps of one plan and what was learnt on the way."""

    steps: list[Step] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    resets: list[int] = field(default_factory=list)
    front_end: str = ""
    exact: bool = True
    generated: bool | None = None
    # Tokens of requests that no step is about: conversations of one request.
    alone_tokens: int = 0


# (request, its prompt, the request it continues, the prompt of that one)
Each = Callable[[int, Prompt, int | None, Prompt | None], object]


def check_plan(
    plan: Plan,
    front_end: FrontEnd,
    acceptances: Acceptances,
    resets: Resets,
    block_size: int,
    *,
    each: Each | None = None,
) -> Outcome:
    """Judge every pair; `each` sees every prompt while it and the one it continues are at hand.

    Raises:
        UsageError: a prompt is empty, or two requests cannot be compared.
    """
    out = Outcome(front_end=front_end.name)
    # By kind: what the conversion did to the latest request includes what it did to those before.
    notes = {_kind(note): note for note in plan.notes}
    for pair, rendered in _prompts(plan, front_end):
        if isinstance(rendered.prompt, TemplateRaised):
            error = rendered.prompt
            step = Step(pair, rendered.against, "raises", raised=str(error), message_index=error.message_index)
            out.steps.append(step)
            continue
        prompt = rendered.prompt
        if not prompt.text and not prompt.token_ids and (prompt.chat is None or prompt.chat.raw is not None):
            raise UsageError(f"request {pair} renders to nothing with {prompt.front_end}: there is nothing to compare")
        out.front_end, out.exact = prompt.front_end, prompt.exact
        notes.update({_kind(note): note for note in prompt.notes})
        if prompt.is_wire:
            # What a template could not take is in the canonical bytes all the same.
            notes = {kind: note for kind, note in notes.items() if " left out" not in kind}
        if rendered.last:
            out.missing += [m for m in not_rendered(prompt) if m not in out.missing]
        earlier = rendered.earlier
        if each is not None:
            each(pair, prompt, rendered.against if earlier is not None else None, earlier)
        if earlier is None or rendered.against is None:
            # The first request of a conversation may be what a declared reset made of the one before it.
            before = plan.items[pair - 1] if pair and plan.kind == "recording" else None
            if before is not None and resets.between(before, plan.items[pair]) is not None:
                out.resets.append(pair)
            if rendered.last:
                out.alone_tokens += prompt.count()[1]
            continue
        comparable(earlier, prompt, rendered.against, pair)
        step = judge(earlier, prompt, pair, rendered.against, acceptances, block_size)
        if step.verdict != "stable" or step.accepted:
            step.reset = resets.at(pair, earlier, prompt)
        if step.reset is not None:
            out.resets.append(pair)
        else:
            step.generated_reused = generated_reused(
                earlier, prompt, answer_of(earlier.chat, prompt.chat), step.shared_tokens == step.tokens
            )
        out.steps.append(step)
    known = [s.generated_reused for s in out.steps if s.generated_reused is not None]
    out.generated = all(known) if known else None
    out.notes = list(notes.values())
    return out


def _kind(note: str) -> str:
    """Notes that differ in the numbers of their places only are one."""
    return re.sub(r"\d+", "#", note.split(":")[0])


@dataclass
class _Rendered:
    prompt: Prompt | TemplateRaised
    earlier: Prompt | None
    against: int | None
    # No later request continues this one: its prompt is the fullest of its conversation.
    last: bool


def _prompts(plan: Plan, front_end: FrontEnd) -> Iterator[tuple[int, _Rendered]]:
    """Render in order; a prompt is dropped as soon as no later request is compared with it."""
    last_use: dict[int, int] = {}
    for pair in plan.pairs:
        if pair.against is not None:
            last_use[pair.against] = pair.request
    kept: dict[int, Prompt] = {}
    # A request that raised stands for the one it should have continued.
    instead: dict[int, int | None] = {}
    for index, against in plan.pairs:
        while against is not None and against in instead:
            against = instead[against]
        try:
            prompt: Prompt | TemplateRaised = render(plan.items[index], front_end)
        except TemplateRaised as error:
            prompt = error
            instead[index] = against
            if against is not None:
                last_use[against] = max(last_use.get(against, -1), last_use.get(index, -1))
        earlier = kept.get(against) if against is not None else None
        yield index, _Rendered(prompt, earlier, against, index not in last_use)
        if isinstance(prompt, Prompt) and last_use.get(index, -1) > index:
            kept[index] = prompt
        for done in [i for i in kept if last_use.get(i, -1) <= index]:
            del kept[done]


def prompts_of(items: Sequence[Item], front_end: FrontEnd) -> Iterator[tuple[int, Prompt | TemplateRaised]]:
    """Each request rendered, in order, none kept."""
    for index, item in enumerate(items):
        try:
            yield index, render(item, front_end)
        except TemplateRaised as error:
            yield index, error
