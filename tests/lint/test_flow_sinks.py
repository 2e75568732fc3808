"""Everything that ends up in a cached prefix: a volatile value there is found, fixed text is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_programs import FIXED, assert_found, assert_silent, brief, cases, filled, marked, severity_of

from pytest_cachesafe.lint.run import lint_text
from pytest_cachesafe.lint.settings import Settings


@pytest.mark.parametrize("program", cases("sinks.txt"))
def test_a_clock_is_found(program: str) -> None:
    code = filled(program)
    assert_found(code, "CSF101", severity=severity_of(code))


@pytest.mark.parametrize("program", cases("sinks.txt", "sink_constants.txt"))
def test_fixed_text_is_fine(program: str) -> None:
    assert_silent(filled(program, FIXED))


@pytest.mark.parametrize("program", cases("sink_constants.txt"))
def test_a_constant_is_read_at_import(program: str) -> None:
    assert_found(filled(program), "CSF102", severity="warning")


FLAGS = [
    ('from agno.agent import Agent\n\nagent = Agent(model="m", add_datetime_to_context=True)  # here\n', "error"),
    ('from agno.agent import Agent\n\nagent = Agent(model="m", add_location_to_context=True)  # here\n', "note"),
    ('from crewai import Agent\n\nagent = Agent(role="r", backstory="b", inject_date=True)  # here\n', "note"),
]


@pytest.mark.parametrize(("program", "severity"), FLAGS)
def test_a_switch_of_a_framework(program: str, severity: str) -> None:
    assert_found(program, "CSF111", severity=severity)
    assert_silent(program.replace("=True", "=False"))


def test_a_placeholder_that_a_framework_fills() -> None:
    program = 'from google.adk.agents import Agent\n\nagent = Agent(name="x", instruction="It is {_time}.")  # here\n'
    assert_found(program, "CSF101", severity="error")
    assert_silent(program.replace("{_time}", "{product}"))


@pytest.mark.parametrize(
    "value", ["list(set(tools))", "[t for t in set(tools)]", "[*{a, b}]", "list({a} | set(tools))"]
)
def test_the_order_of_tools(value: str) -> None:
    code = f'def f(client, tools, a, b, q):\n    return client.messages.create(model="m", tools={value}, messages=q)\n'
    assert {name for _, name, _ in brief(lint_text(code))} & {"CSF201", "CSF204"}, code
    assert_silent(code.replace(f"tools={value}", f"tools=sorted({value})"))


def test_sets_in_the_schema_of_a_tool() -> None:
    code = (
        "class Python(Tool):\n    def __init__(self, imports):\n"
        '        self.inputs = {"code": {"type": "string", "description": f"of {list(set(imports))}"}}  # here\n'
    )
    assert_found(code, "CSF201", severity="warning")
    assert_silent(code.replace("list(set(imports))", "sorted(set(imports))"))


OWN = {
    "prompt_names": (("persona_text",), 'def f():\n    persona_text = f"{NOW}"  # here\n    return persona_text\n'),
    "sink_keywords": (("character",), 'def f(g):\n    return g(character=f"{NOW}")  # here\n'),
    "sink_calls": ({"tell": 1}, 'def f(bot):\n    return bot.tell("x", f"{NOW}")  # here\n'),
}


@pytest.mark.parametrize("key", OWN)
def test_sinks_that_the_project_names(key: str) -> None:
    value, program = OWN[key]
    code = filled(program)
    assert_silent(code)
    extended = Settings(Path("project"), **{key: value})  # type: ignore[arg-type]
    found = brief(lint_text(code, settings=extended))
    assert {row for row, _, _ in found} == marked(code), found
    assert lint_text(filled(program, FIXED), settings=extended) == []
