"""What is read of the moment in a short file: counters, devices, artifacts, windows, work in hand, folders, commands.
Each with the nearest program that sends the same text every time."""

from __future__ import annotations

import pytest

from pytest_cachesafe.lint.run import lint_text

SEND = '\n\ndef build(history):\n    return [{"role": "system", "content": f"TEXT You help."}, *history]\n'
LONG = "\n" * 40


def codes(program: str) -> list[str]:
    return [finding.code for finding in lint_text(program)]


@pytest.mark.parametrize(
    "made", ["import itertools\n\nROUND = itertools.count(1)\n", "from itertools import count\n\nROUND = count()\n"]
)
def test_a_number_is_drawn_for_each_request(made: str) -> None:
    assert codes(made + SEND.replace("TEXT", "Round {next(ROUND)}.")) == ["CSF110"]
    assert codes(made + "\nFIRST = next(ROUND)\n" + SEND.replace("TEXT", "Round {FIRST}.")) == []


def test_a_number_that_an_object_draws_when_it_is_made_stays() -> None:
    program = """
from itertools import count


class Bot:
    def __init__(self):
        self.steps = count(1)
        self.number = next(self.steps)

    def system_prompt(self):
        return f"Number {NUMBER}. You help."
"""
    assert codes(program.replace("NUMBER", "next(self.steps)")) == ["CSF110"]
    assert codes(program.replace("NUMBER", "self.number")) == []


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("{hass.states.get(ID).state}", "{hass.states.get(ID).name}"),
        ("{[s.attributes for s in hass.states.async_all()]}", "{[s.entity_id for s in hass.states.async_all()]}"),
        ("{tape.token_count()} tokens used.", "{tape.name_count()} names."),
        ("{window.remaining_tokens()} left.", "{window.name_of(7)} is it."),
    ],
)
def test_devices_and_windows_in_a_short_file(text: str, other: str) -> None:
    assert codes(SEND.replace("TEXT", text)) == ["CSF110"]
    assert codes(SEND.replace("TEXT", other)) == []
    assert codes(SEND.replace("TEXT", text) + LONG) == []


def test_artifacts_of_a_session_in_the_instructions_of_a_request() -> None:
    program = """
class Shelf:
    async def process_llm_request(self, *, tool_context, llm_request):
        names = await tool_context.list_artifacts()
        llm_request.append_instructions([f"Files: {names}"])
"""
    assert codes(program) == ["CSF110"]
    assert codes(program.replace("append_instructions([f", "append_names([f")) == []


WORK = """
from pydantic_ai import Agent

agent = Agent("openai:gpt-5")


@agent.instructions
def current_rows(ctx):
    return f"Rows: {ctx.deps.todos}"
"""


@pytest.mark.parametrize(
    "read", ["ctx.deps.todos", 'ctx.deps["store"].todos', "ctx.deps.plan.lines()", "ctx.deps.cart"]
)
def test_work_in_hand_that_instructions_read(read: str) -> None:
    program = WORK.replace("ctx.deps.todos", read)
    assert codes(program) == ["CSF110"]
    assert codes(program.replace("@agent.instructions", "@agent.tool")) == []
    assert codes(program + LONG) == []


def test_what_instructions_read_that_stays() -> None:
    assert codes(WORK.replace("todos", "company")) == []


@pytest.mark.parametrize("given", ["instructions=write", "instruction=write"])
def test_work_in_hand_of_a_function_that_an_agent_is_given(given: str) -> None:
    program = f"""
from agents import Agent


def write(ctx, agent):
    return "Plan: " + "; ".join(ctx.context.plan)


agent = Agent(name="x", {given})
"""
    assert codes(program) == ["CSF110"]
    assert codes(program.replace("context.plan", "context.rules")) == []


def test_the_tree_of_a_folder_that_is_worked_in() -> None:
    program = """
def tree(root):
    return ", ".join(sorted(p.name for p in root.iterdir()))


def build(root, history):
    return [{"role": "system", "content": "Folders: " + tree(root) + ". Follow the rules."}, *history]
"""
    assert codes(program) == ["CSF110"]
    assert codes(program.replace("tree(", "skills(")) == []
    assert codes(program.replace("root", "shelf")) == []
    assert codes(program + LONG) == []


@pytest.mark.parametrize("run", ["subprocess.run(COMMAND, shell=True).stdout", "subprocess.getoutput(COMMAND)"])
def test_a_command_that_is_set_elsewhere(run: str) -> None:
    helper = f"import subprocess\n\n\ndef sh(cmd):\n    return {run.replace('COMMAND', 'cmd')}\n"
    inline = "import subprocess\n" + SEND.replace("TEXT", "{" + run.replace("COMMAND", "config.context_cmd") + "}")
    assert codes(inline) == ["CSF110"]
    assert codes(helper + SEND.replace("TEXT", "{sh(config.context_cmd)}")) == ["CSF110"]
    assert codes(helper + SEND.replace("TEXT", "{sh(config.context_file)}")) == []
    assert codes(helper + SEND.replace("TEXT", "{sh('cat VERSION')}")) == []
    assert codes(inline + LONG) == []


BLOCKS = """
import subprocess


def build(messages):
    status = subprocess.getoutput("git status --short")
    system = [{"type": "text", "text": "You edit code."}, {"type": "text", "text": f"Status: {status}"}]
    return {"model": "m", "max_tokens": 9, "system": system, "messages": messages}
"""


def test_a_value_of_the_moment_in_a_block_behind_one_that_stays() -> None:
    assert codes(BLOCKS) == ["CSF107"]
    marked = BLOCKS.replace('code."}', 'code.", "cache_control": {"type": "ephemeral"}}')
    assert codes(marked) == []
    assert codes(BLOCKS.replace('"messages": messages', '"messages": [{"role": "user", "content": messages}]')) == []
    assert codes(BLOCKS.replace('subprocess.getoutput("git status --short")', "subprocess.os.getcwd()")) == []
    assert codes(BLOCKS + LONG) == []


def test_examples_that_are_drawn_and_given_back_with_the_question() -> None:
    program = """
import random


def build(pool, question):
    messages = [{"role": "system", "content": "Solve."}]
    for one in DRAWN:
        messages.append({"role": "user", "content": one.question})
        messages.append({"role": "assistant", "content": one.answer})
    return [*messages, {"role": "user", "content": question}]
"""
    drawn = program.replace("DRAWN", "random.sample(pool, 3)")
    assert codes(drawn) == ["CSF104"]
    assert codes(program.replace("DRAWN", "random.Random(7).sample(pool, 3)")) == []
    assert codes(program.replace("DRAWN", "pool[:3]")) == []
    assert codes(drawn + LONG) == []
