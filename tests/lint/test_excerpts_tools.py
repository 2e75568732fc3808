"""Tools, models and cache keys that excerpts choose anew.

A short file that ends before the request is complete as it stands. Each has its harmless twin.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

FOUND = {
    "tools set": (
        """\
ENABLED = {"search", "read", "write"}
def build(registry, messages):
    return {"tools": [registry[n] for n in ENABLED], "messages": messages}
""",
        [(3, "CSF204")],
    ),
    "tools turn": (
        """\
def build(messages, question):
    tools = [READ]
    if "search" in question:
        tools.append(SEARCH)
    return {"messages": messages, "tools": tools}
""",
        [(4, "CSF305")],
    ),
    "tools fn": (
        """\
def active_tools(turn, all_tools):
    if turn > 5:
        return [t for t in all_tools if t["name"] != "ask_user"]
    return all_tools
""",
        [(3, "CSF305")],
    ),
    "tools body": (
        """\
def prepare(body, step):
    if step == 0:
        body["tools"] = [PLAN]
    else:
        body["tools"] = [ACT, DONE]
    return body
""",
        [(3, "CSF305")],
    ),
    "tools plan": (
        """\
class Agent:
    def request(self, messages):
        tools = self.plan_tools if self.mode == "plan" else self.all_tools
        return {"messages": messages, "tools": tools}
    def toggle(self):
        self.mode = "act" if self.mode == "plan" else "plan"
""",
        [(3, "CSF305")],
    ),
    "model": (
        """\
def pick(question):
    return "big" if len(question) > 200 else "small"
def build(messages, question):
    return {"model": pick(question), "messages": [*messages, {"role": "user", "content": question}]}
""",
        [(4, "CSF306")],
    ),
    "effort": (
        """\
def params(messages, question):
    effort = "high" if "why" in question.lower() else "low"
    return {"model": "m", "messages": messages, "reasoning_effort": effort}
""",
        [(2, "CSF306")],
    ),
    "thinking": (
        """\
def params(messages, turn):
    budget = 16000 if turn % 2 == 0 else 1024
    return {"model": "m", "messages": messages, "thinking": {"type": "enabled", "budget_tokens": budget}}
""",
        [(2, "CSF306")],
    ),
    "key": (
        """\
import uuid
def build(messages):
    return {"model": "m", "input": messages, "prompt_cache_key": str(uuid.uuid4())}
""",
        [(3, "CSF404")],
    ),
    "key2": (
        """\
import time
def body(body, run_id):
    body["prompt_cache_key"] = f"run-{time.time_ns()}"
    return body
""",
        [(3, "CSF404")],
    ),
    "tools empty last": (
        """\
def step(messages, i, max_steps):
    tools = [] if i == max_steps - 1 else TOOLS
    return {"model": "m", "messages": messages, "tools": tools}
""",
        [(2, "CSF305")],
    ),
    "tools topk": (
        """\
def select(query, index, k=5):
    return [hit.tool for hit in index.search(query, k)]
def build(query, index, messages):
    return dict(model="m", tools=select(query, index), messages=messages)
""",
        [(2, "CSF305")],
    ),
    "tools shuffle": (
        """\
import random
def build(tools, messages):
    random.shuffle(tools)
    return {"model": "m", "tools": tools, "messages": messages}
""",
        [(3, "CSF204"), (4, "CSF104")],
    ),
    "tools usage sort": (
        """\
def build(tools, usage, messages):
    tools = sorted(tools, key=lambda t: -usage[t["name"]])
    return {"model": "m", "tools": tools, "messages": messages}
""",
        [(2, "CSF204")],
    ),
    "model route": (
        """\
def route(text):
    if "code" in text:
        return "coder"
    return "chat"
def request(history, text):
    return {"model": route(text), "messages": history + [{"role": "user", "content": text}]}
""",
        [(6, "CSF306")],
    ),
    "model vision": (
        """\
def request(messages, image=None):
    model = "vision" if image else "text"
    return {"model": model, "messages": messages}
""",
        [(2, "CSF306")],
    ),
    "model fallback good": (
        """\
def request(client, messages, turn):
    model = "opus" if turn % 10 == 0 else "haiku"
    return client.messages.create(model=model, max_tokens=10, messages=messages)
""",
        [(2, "CSF306")],
    ),
    "effort steps": (
        """\
def body(messages, step):
    return {"model": "m", "input": messages, "reasoning": {"effort": "high" if step == 0 else "low"}}
""",
        [(2, "CSF306")],
    ),
    "key req": (
        """\
def body(messages, request_id):
    return {"model": "m", "input": messages, "prompt_cache_key": request_id}
""",
        [(2, "CSF404")],
    ),
    "key turn": (
        """\
def body(messages, thread):
    return {"model": "m", "input": messages, "prompt_cache_key": f"{thread.id}-{len(messages)}"}
""",
        [(2, "CSF404")],
    ),
}
SILENT = {
    "tools set": """\
ENABLED = {"search", "read", "write"}
def build(registry, messages):
    return {"tools": [registry[n] for n in sorted(ENABLED)], "messages": messages}
""",
    "tools turn": """\
def build(messages, question):
    choice = "required" if "search" in question else "auto"
    return {"messages": messages, "tools": [READ, SEARCH], "tool_choice": choice}
""",
    "tools fn": """\
def active_tools(config, all_tools):
    return [t for t in all_tools if t["name"] in config.enabled]
""",
    "tools body": """\
def prepare(body):
    body["tools"] = [PLAN, ACT, DONE]
    return body
""",
    "tools plan": """\
class Agent:
    def __init__(self, mode):
        self.mode = mode
    def request(self, messages):
        tools = self.plan_tools if self.mode == "plan" else self.all_tools
        return {"messages": messages, "tools": tools}
""",
    "model": """\
def build(messages, question, model="small"):
    return {"model": model, "messages": [*messages, {"role": "user", "content": question}]}
""",
    "effort": """\
def params(messages, settings):
    return {"model": "m", "messages": messages, "reasoning_effort": settings.effort}
""",
    "thinking": """\
def params(messages):
    return {"model": "m", "messages": messages, "thinking": {"type": "enabled", "budget_tokens": 1024}}
""",
    "key": """\
def build(messages, tenant):
    return {"model": "m", "input": messages, "prompt_cache_key": f"support-{tenant}"}
""",
    "key2": """\
def body(body, app):
    body["prompt_cache_key"] = f"app-{app}-v3"
    return body
""",
    "tools topk": """\
def build(query, index, messages):
    hints = ", ".join(hit.tool["name"] for hit in index.search(query, 5))
    return dict(model="m", tools=TOOLS, messages=[*messages, {"role": "user", "content": f"{query}\\nUseful: {hints}"}])
""",
    "tools shuffle": """\
def build(tools, messages):
    tools = sorted(tools, key=lambda t: t["name"])
    return {"model": "m", "tools": tools, "messages": messages}
""",
    "model fallback good": """\
def request(client, messages):
    try:
        return client.messages.create(model="opus", max_tokens=10, messages=messages)
    except OverloadedError:
        return client.messages.create(model="haiku", max_tokens=10, messages=messages)
""",
    "effort steps": """\
def body(messages, effort="low"):
    return {"model": "m", "input": messages, "reasoning": {"effort": effort}}
""",
    "key req": """\
def body(messages, conversation_id):
    return {"model": "m", "input": messages, "prompt_cache_key": conversation_id}
""",
}


@pytest.mark.parametrize("name", FOUND)
def test_found(tmp_path: Path, name: str) -> None:
    program, expected = FOUND[name]
    write(tmp_path, {"app.py": program})
    assert [(row, code) for _, row, code in places(lint([tmp_path], cache=False).findings)] == expected


@pytest.mark.parametrize("name", SILENT)
def test_silent(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"app.py": SILENT[name]})
    assert places(lint([tmp_path], cache=False).findings) == []
