"""One session of the agent: three questions, three tool calls, six requests."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from build_doctor import Agent

LOG = "\n".join(
    [f"[{i:03}] CC src/module_{i}.c" for i in range(40)]
    + ["src/queue.c:212: error: 'struct queue' has no member named 'tail'", "make: *** [all] Error 1"]
)
SOURCE = "\n".join(f"{n}: static int step_{n}(struct queue *q) {{ return q->head + {n}; }}" for n in range(204, 216))


def play(agent: Agent) -> Iterator[list[dict[str, Any]]]:
    """The message lists in the order in which they are sent."""
    agent.ask("Why did build 4711 fail?")
    yield deepcopy(agent.messages)
    agent.call("call_1", "read_log", {"build": "4711"}, thought="I need the log of that build first.")
    agent.result("call_1", LOG)
    yield deepcopy(agent.messages)
    agent.call("call_2", "read_file", {"path": "src/queue.c"}, thought="Line 212 of queue.c; I look at the code there.")
    agent.result("call_2", SOURCE)
    yield deepcopy(agent.messages)
    agent.answer("src/queue.c line 212 uses a member `tail` that is gone.", thought="The member was renamed.")
    agent.ask("Who changed that line?")
    yield deepcopy(agent.messages)
    agent.call("call_3", "blame", {"path": "src/queue.c", "line": "212"}, thought="blame tells.")
    agent.result("call_3", "9f31c02 mira: queue: one pointer is enough")
    yield deepcopy(agent.messages)
    agent.answer("Mira, in commit 9f31c02.", thought="One commit, clear answer.")
    agent.ask("Thanks. Shall I revert it?")
    yield deepcopy(agent.messages)
