"""Attributes that are counted with each request, and the state of a session that tools write."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

INTERVIEW = """
import anthropic


class Interview:
    def __init__(self, limit=12):
        self.client = anthropic.Anthropic()
        self.limit = limit
        self.messages = []
        self.asked = 0

    {kind}
    def head(self):
        return "You interview. Asked: " + str({shown}) + ". Ask one question and score silently."

    def count(self):
        self.seen = 1

    def turn(self, text):
        self.messages.append({{"role": "user", "content": text}})
        out = self.client.messages.create(model="m", max_tokens=9, system={head}, messages=self.messages)
        {step}
        self.messages.append({{"role": "assistant", "content": out.content}})
        return out
"""
OFFICE = """
from agents import Agent


class Office:
    def __init__(self):
        self.hired = 0

    def hire(self, trade):
        self.hired += 1
        {more}
        return Agent(name=trade, instructions=f"You are clerk {{self.hired}} of the office. Be brief and exact.")
"""
CART = """
from google.adk.agents import LlmAgent
from google.adk.tools import ToolContext


def add(article: str, {context}) -> dict:
    {written}
    return {{"ok": True}}


def instruct(context):
    cart = context.state.get("cart", [])
    return f"Cart: {{cart}}. You sell coffee machines."


agent = LlmAgent(name="shop", model="m", instruction={instruction}, tools=[{tools}])
"""
OWN = """
from agents import Agent, function_tool


@{tool}
def add_stop(ctx, town: str) -> str:
    {written}
    return "ok"


async def plan(ctx, agent):
    return f"Stops: {{ctx.context.stops}}. You plan trips by train."


agent = Agent(name="planner", instructions=plan)
"""
COMMAND = """
from langchain_core.messages import SystemMessage
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent
from langgraph.types import Command


@tool
def note(text: str):
    return Command(update={{"{key}": text}})


def prompt(state):
    return [SystemMessage(content="Notes: " + state["notes"] + ". You help engineers."), *state["messages"]]


graph = create_react_agent("m", tools=[note], prompt=prompt)
"""
REST = "\n".join(f"LABEL_{n} = {n}" for n in range(45))


def codes(tmp_path: Path, program: str) -> set[str]:
    """What is found in a file of many rows."""
    write(tmp_path, {"app.py": f"{program}\n{REST}\n"})
    return {code for _, _, code in places(lint([tmp_path], cache=False).findings)}


def interview(
    shown: str = "self.asked", step: str = "self.asked += 1", kind: str = "", head: str = "self.head()", count: str = ""
) -> str:
    text = INTERVIEW.format(shown=shown, step=step, kind=kind, head=head)
    return text.replace("self.seen = 1", count) if count else text


@pytest.mark.parametrize(
    "program",
    [
        interview(),
        interview(kind="@property", head="self.head"),
        interview(shown="self.limit - self.asked"),
        interview(step="self.asked = self.asked + 1"),
        interview(shown="self.limit", step="self.limit -= 1"),
        interview(step="self.count()", count="self.asked += 1"),
    ],
    ids=["method", "property", "what-is-left", "written-out", "down", "counted-by-another"],
)
def test_counted_with_each_request(tmp_path: Path, program: str) -> None:
    assert "CSF110" in codes(tmp_path, program)


@pytest.mark.parametrize(
    "program",
    [
        interview(step="pass"),
        interview(shown="self.limit"),
        interview(step="pass", count="self.asked += 1"),
        interview(step="self.asked = 1"),
        OFFICE.format(more="pass"),
    ],
    ids=["never", "another", "not-called", "set", "one-number-each"],
)
def test_the_same_in_each_request(tmp_path: Path, program: str) -> None:
    assert "CSF110" not in codes(tmp_path, program)


KEY = 'tool_context.state["cart"] = [article]'


@pytest.mark.parametrize(
    "program",
    [
        CART.format(context="tool_context", written=KEY, instruction="instruct", tools="add"),
        CART.format(
            context="ctx: ToolContext", written="ctx.state.update({'cart': 1})", instruction="instruct", tools=""
        ),
        CART.format(context="ctx", written="ctx.state['cart'].append(article)", instruction="instruct", tools="add"),
        CART.format(context="tool_context", written=KEY, instruction="'Cart: {cart}. You sell.'", tools="add"),
        CART.format(
            context="tool_context",
            written=KEY.replace("cart", "user:cart"),
            instruction="'Has {user:cart?}.'",
            tools="add",
        ),
        CART.format(
            context="tool_context", written=KEY.replace('"cart"', "CART"), instruction="instruct", tools="add"
        ).replace('get("cart"', "get(CART"),
        OWN.format(tool="function_tool", written="ctx.context.stops.append(town)"),
        OWN.format(tool="function_tool", written="ctx.context.stops += [town]"),
        COMMAND.format(key="notes"),
    ],
    ids=["given", "update", "in-place", "placeholder", "scoped", "constant", "own-class", "added", "command"],
)
def test_state_that_a_tool_writes(tmp_path: Path, program: str) -> None:
    assert codes(tmp_path, program) == {"CSF110"}


@pytest.mark.parametrize(
    "program",
    [
        CART.format(context="tool_context", written=KEY.replace("cart", "seen"), instruction="instruct", tools="add"),
        CART.format(
            context="callback", written=KEY.replace("tool_context", "callback"), instruction="instruct", tools=""
        ),
        CART.format(context="tool_context", written=KEY, instruction="'You sell.'", tools="add, instruct"),
        CART.format(
            context="tool_context", written="tool_context.state.get('cart')", instruction="instruct", tools="add"
        ),
        CART.format(context="tool_context", written=KEY, instruction="'Shop: {shop}. You sell.'", tools="add"),
        OWN.format(tool="function_tool", written="print(ctx.context.stops)"),
        OWN.format(tool="on_start", written="ctx.context.stops = [town]"),
        COMMAND.format(key="seen"),
    ],
    ids=["another-key", "no-tool", "told-by-a-tool", "read", "other-placeholder", "only-read", "at-the-start", "other"],
)
def test_state_that_no_tool_writes(tmp_path: Path, program: str) -> None:
    assert "CSF110" not in codes(tmp_path, program)
