"""A system message that a later node of a graph gives back is added to what was said, and moves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

GRAPH = """
from datetime import datetime

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command


def route(state):
    return {{"step": 1}}


def act(state):
    {body}


graph = StateGraph(dict)
graph.add_node("route", route)
graph.add_node("act", act)
{begins}
graph.add_edge("route", "act")
graph.add_edge("act", END)
"""
SAID = 'SystemMessage(content=f"Done at {datetime.now()}.")'
ADDS = f'return {{"messages": [{SAID}]}}'
ROUTE, ACT = 'graph.add_edge(START, "route")', 'graph.add_edge(START, "act")'


def codes(root: Path, body: str, begins: str = ROUTE) -> list[str]:
    text = GRAPH.format(body=body, begins=begins)
    write(root, {"desk/work.py": text, "desk/__init__.py": "", "app.py": "from desk import work\n\nprint(work)\n"})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


@pytest.mark.parametrize(
    "body",
    [
        ADDS,
        'return {"messages": [{"role": "system", "content": f"Done at {datetime.now()}."}]}',
        f'update = {{"messages": [{SAID}]}}\n    update["step"] = 2\n    return update',
        f'return Command(update={{"messages": [{SAID}]}}, goto="route")',
    ],
)
def test_what_a_later_node_adds_stands_behind_what_was_said(tmp_path: Path, body: str) -> None:
    assert codes(tmp_path, body) == []


@pytest.mark.parametrize("begins", [ACT, 'graph.set_entry_point("act")', "graph.set_conditional_entry_point(act)", ""])
def test_the_first_node_begins_the_messages(tmp_path: Path, begins: str) -> None:
    assert "CSF101" in codes(tmp_path, ADDS, begins)


@pytest.mark.parametrize(
    "body",
    [
        # What stands behind it in the same list, or where it is sent from here.
        f'return {{"messages": [{SAID}, HumanMessage(content="Go on.")]}}',
        f'return {{"messages": [{SAID}, *state["messages"]]}}',
        f'return {{"messages": [model.invoke([{SAID}, *state["messages"]])]}}',
        f'sent = {{"messages": [{SAID}]}}\n    return model.invoke(sent)',
    ],
)
def test_what_goes_in_front_of_more_is_told(tmp_path: Path, body: str) -> None:
    assert "CSF101" in codes(tmp_path, body)


def test_a_function_that_is_no_node_is_told(tmp_path: Path) -> None:
    assert "CSF101" in codes(tmp_path, f"return 1\n\n\ndef build(state):\n    {ADDS}")
