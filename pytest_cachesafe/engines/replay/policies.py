"""What a policy for the history of a conversation costs in prefill."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_cachesafe.engines.cache import PrefixCache, check_size
from pytest_cachesafe.engines.replay.histories import Histories, Sizes
from pytest_cachesafe.messages import growing_requests, to_chat
from pytest_cachesafe.prompt import Chat, FrontEnd, TemplateRaised
from pytest_cachesafe.usage import UsageError

__all__ = ["POLICIES", "PolicyCost", "PolicyReport", "policy_costs"]

POLICIES = {
    "append": "everything stays as it was sent",
    "cut_first": "long tool results are cut before they are first sent",
    "cut_later": "long tool results are cut in place some requests later",
    "summarise": "above a limit, older messages become a summary",
    "window": "the oldest turns are dropped",
    "route": "requests go to several models or replicas in turn",
}


@dataclass(slots=True)
class PolicyCost:
    """One policy over the conversation; tokens are those of the prompts."""

    policy: str
    tokens: int = 0
    cached_tokens: int = 0
    # Of each request, in order: tokens that had to be computed.
    prefilled: list[int] = field(default_factory=list)
    # The chat template refuses what the policy makes of the chat: its words; the numbers end there.
    refused: str | None = None

    @property
    def prefilled_tokens(self) -> int:
        """Prompt tokens that had to be computed."""
        return self.tokens - self.cached_tokens

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "policy": self.policy,
            "tokens": self.tokens,
            "cached_tokens": self.cached_tokens,
            "prefilled_tokens": self.prefilled_tokens,
            "prefilled": self.prefilled,
            "refused": self.refused,
        }


@dataclass(slots=True)
class PolicyReport:
    """All policies over one conversation, exact for the ids that the template renders.

    Two things are assumptions: a summary is text of the given length (making it is not counted), and replies are the
    ids that the template renders for them.
    """

    label: str
    front_end: str
    requests: int
    sizes: Sizes
    costs: list[PolicyCost]
    notes: list[str] = field(default_factory=list)

    def cost(self, policy: str) -> PolicyCost:
        """The costs of a policy, one of `POLICIES`."""
        return next(one for one in self.costs if one.policy == policy)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; without `schema`, which the writer adds."""
        return {
            "requests": self.requests,
            "engine": self.label,
            "front_end": self.front_end,
            "sizes": self.sizes._asdict(),
            "policies": [one.as_dict() for one in self.costs],
            "notes": self.notes,
        }

    def text(self) -> str:
        """For people."""
        from pytest_cachesafe.report.simulate import render_policies

        return render_policies(self)

    def __str__(self) -> str:
        return self.text()


def policy_costs(
    chat: Any,
    *,
    template: Any,
    engine: str = "vllm",
    block_size: int | None = None,
    num_blocks: int | None = None,
    options: dict[str, Any] | None = None,
    tool_chars: int = 1000,
    cut_after: int = 2,
    limit_tokens: int | None = None,
    summary_chars: int = 1000,
    keep_messages: int = 6,
    models: int = 2,
) -> PolicyReport:
    """Tokens that an engine has to prefill over one conversation, per policy (`POLICIES`).

    Args:
        chat: the whole conversation: a message list or a request body.
        template: renders it: a model name, folder, `.gguf`, or a `ChatTemplate`; it must give token ids.
        engine: name of the engine.
        block_size: tokens per block; None: the engine's default.
        num_blocks: blocks in the pool; None: it never runs out.
        options: more of the engine's own.
        tool_chars: characters that are left of a tool result that is cut.
        cut_after: requests after which `cut_later` cuts.
        limit_tokens: of a prompt, above which `summarise` acts; None: half of the longest.
        summary_chars: characters of a summary.
        keep_messages: messages that stay behind a summary and in the window.
        models: models or replicas that `route` takes in turn, each with a cache of its own.

    Raises:
        UsageError: no chat, no token ids, sizes that are no positive whole numbers; the template refuses the chat.
    """
    from pytest_cachesafe.engines.replay.shape import Shape
    from pytest_cachesafe.frontends.resolve import resolve_front_end

    shape = Shape(engine, block_size, num_blocks, options)
    check_size("models", models, 2)
    whole = to_chat(chat)
    renderer = _Renderer(resolve_front_end(template), whole)
    ends = [len(one.messages) for one in growing_requests(whole)]
    sizes = Sizes(
        check_size("tool_chars", tool_chars, 0),
        check_size("cut_after", cut_after),
        check_size("limit_tokens", limit_tokens) if limit_tokens is not None else 0,
        check_size("summary_chars", summary_chars),
        check_size("keep_messages", keep_messages),
    )
    try:
        longest = max(len(renderer.ids(whole.messages[:end])) for end in ends)
    except TemplateRaised as error:
        raise UsageError(f"the chat template refuses the chat: {error}") from None
    renderer.look_for_left_out(whole.messages)
    if limit_tokens is None:
        sizes = sizes._replace(limit_tokens=max(longest // 2, 1))
    costs, notes = [], []
    for policy in POLICIES:
        histories = Histories(whole.messages, ends, sizes, lambda messages: len(renderer.ids(messages)))
        caches = [shape.make() for _ in range(models if policy == "route" else 1)]
        keep = histories.append if policy == "route" else getattr(histories, policy)
        costs.append(_cost(policy, keep, caches, renderer, whole, ends))
        if policy == "cut_first" and not histories.cut:
            notes.append(f"no tool result is longer than {tool_chars:,} characters: cutting changes nothing")
        if policy == "summarise" and not histories.summaries:
            notes.append(f"no prompt is longer than {sizes.limit_tokens:,} tokens with turns to sum up: no summary")
    return PolicyReport(shape.label, renderer.name, len(ends), sizes, costs, [*notes, *renderer.notes])


def _cost(
    policy: str,
    keep: Callable[[int], list[dict[str, Any]]],
    caches: list[PrefixCache],
    renderer: _Renderer,
    whole: Chat,
    ends: list[int],
) -> PolicyCost:
    cost = PolicyCost(policy)
    for request, end in enumerate(ends):
        cache = caches[request % len(caches)]
        messages = keep(request)
        try:
            ids = renderer.ids(messages)
            reply = renderer.reply(messages, whole.messages[end : end + 1], ids)
        except TemplateRaised as error:
            cost.refused = str(error)
            break
        sent = cache.request(ids)
        if not sent.admitted:
            raise UsageError(f"{policy}: request {request} has {len(ids):,} tokens, more than the whole cache holds")
        if reply:
            sent.append(reply)
        sent.free()
        cost.tokens += len(ids)
        cost.cached_tokens += sent.cached_tokens
        cost.prefilled.append(len(ids) - sent.cached_tokens)
    return cost


class _Renderer:
    """Token ids of a conversation with other messages."""

    def __init__(self, front_end: FrontEnd, chat: Chat) -> None:
        self.name = front_end.name
        # What the front end has to say about its prompts, in order.
        self.notes: dict[str, None] = {}
        self._front_end = front_end
        self._chat = chat

    def look_for_left_out(self, messages: list[dict[str, Any]]) -> None:
        """Note what the template does not print of the whole conversation."""
        from pytest_cachesafe.prefix.rendered import not_rendered

        chat = replace(self._chat, messages=messages, paths=(), generated=None, body=None)
        kinds = dict.fromkeys(missing.what for missing in not_rendered(self._front_end.prompt(chat)))
        if kinds:
            self.notes[f"the template leaves out parts of the chat ({', '.join(kinds)}): sizes are those without"] = (
                None
            )

    def ids(self, messages: list[dict[str, Any]], generation_prompt: bool | None = None) -> list[int]:
        """The ids of a request.

        Raises:
            UsageError: the front end has no tokenizer.
        """
        asks = self._chat.add_generation_prompt if generation_prompt is None else generation_prompt
        chat = replace(self._chat, messages=messages, paths=(), generated=None, body=None, add_generation_prompt=asks)
        prompt = self._front_end.prompt(chat)
        self.notes.update(dict.fromkeys(prompt.notes))
        ids = prompt.token_ids
        if ids is None:
            raise UsageError(f"{self.name} has no tokenizer, and a cache works on ids; name a model that has one")
        return list(ids)

    def reply(self, messages: list[dict[str, Any]], answer: list[dict[str, Any]], ids: list[int]) -> list[int]:
        """The ids that the template renders behind a prompt for the answer; none where it rewrites the prompt."""
        if not answer or answer[0].get("role") != "assistant":
            return []
        both = self.ids([*messages, *answer], generation_prompt=False)
        return both[len(ids) :] if both[: len(ids)] == ids else []
