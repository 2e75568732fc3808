"""Clean recordings of several agents at once, made from a seed: what real teams of agents send, and nothing wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.support.wire_requests import (
    LONG,
    MARK,
    anthropic,
    assistant,
    call,
    marked_last,
    openai,
    result,
    text,
    tool,
    user,
)

_WORDS = ["alpha", "beta", "gamma", "delta", "river", "stone", "cloud", "engine", "ledger", "novel", "orbit", "petal"]


def _say(rng: random.Random, least: int = 3, most: int = 30) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(least, most)))


class Agent:
    """One conversation that goes on request by request; its list only ever grows."""

    def __init__(self, rng: random.Random, name: str, model: str, task: str, *, openai_style: bool = False) -> None:
        self._rng = rng
        self._openai = openai_style
        self._name = name
        self._model = model
        self._messages: list[dict[str, Any]] = [user(task)]
        self._calls = 0
        self._system = f"You are {name} of the example team, model {model}. " + LONG
        names = rng.sample(["search", "read", "write", "plan", "mail"], rng.randint(1, 4))
        self._tools = [tool(n) for n in names]
        self._mark_tools = rng.random() < 0.5
        self._automatic = rng.random() < 0.3
        self._ttl = rng.choice([None, "5m", "1h"])

    def body(self) -> dict[str, Any]:
        """The request as it is sent now."""
        if self._openai:
            return openai(list(self._messages), model=self._model, prompt_cache_key=f"{self._name}-1") | {
                "messages": [{"role": "system", "content": self._system}, *self._messages]
            }
        marker = MARK if self._ttl is None else {**MARK, "ttl": self._ttl}
        tools = [*self._tools[:-1], {**self._tools[-1], "cache_control": marker}] if self._mark_tools else self._tools
        more: dict[str, Any] = {"cache_control": marker} if self._automatic else {}
        messages = list(self._messages) if self._automatic else marked_last(self._messages, self._ttl)
        system = [text(self._system, cache_control=marker)]
        return anthropic(messages, model=self._model, tools=tools, system=system, **more)

    def answer(self) -> None:
        """The model answers: with a tool call or several, or with text and the user's next words."""
        if self._openai or self._rng.random() < 0.4:
            said: Any = _say(self._rng)
            if not self._openai and self._rng.random() < 0.5:
                said = [text(said)]
            self._messages = [*self._messages, assistant(said), user(_say(self._rng))]
            return
        numbers = range(self._calls, self._calls + self._rng.randint(1, 4))
        self._calls = numbers.stop
        names = [self._rng.choice(self._tools)["name"] for _ in numbers]
        calls = [call(name, n, q=_say(self._rng, 1, 4)) for name, n in zip(names, numbers, strict=True)]
        lead = [text(_say(self._rng))] if self._rng.random() < 0.5 else []
        results = [result(n, _say(self._rng)) for n in numbers]
        self._messages = [*self._messages, assistant([*lead, *calls]), user(results)]


def recording(seed: int) -> tuple[str, list[dict[str, Any]]]:
    """(provider, requests in the order sent) of a team: interleaved, with retries and with parallel equal calls."""
    rng = random.Random(seed)
    openai_style = seed % 4 == 3
    models = ["gpt-5.6-sol", "gpt-6-sol"] if openai_style else ["claude-sonnet-4-6", "claude-opus-5", "claude-opus-4-8"]
    lead = Agent(rng, "lead", models[0], f"Task {seed}: {_say(rng)}", openai_style=openai_style)
    team = [lead] + [
        Agent(rng, f"helper{i}", rng.choice(models), f"Part {i} of {seed}: {_say(rng)}", openai_style=openai_style)
        for i in range(rng.randint(1, 4))
    ]
    return ("openai" if openai_style else "anthropic"), list(_run(rng, team))


def _run(rng: random.Random, team: list[Agent]) -> Iterator[dict[str, Any]]:
    for agent in team:
        yield agent.body()
    for _ in range(rng.randint(8, 24)):
        agent = rng.choice(team)
        agent.answer()
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            # A retry, or the same request sampled several times at once.
            yield agent.body()
