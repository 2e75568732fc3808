"""A window of a graph's messages is told unless no run of the graph is seen to have more of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

PROGRAM = """
from typing import Annotated, List, TypedDict

from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, MessagesState, StateGraph


class State(TypedDict):
    messages: List[dict]
    mode: str


class Bot:
    def __init__(self, llm):
        self.llm = llm
        self.saver = MemorySaver()
        self.graph = self._build()

    def _build(self):
        workflow = StateGraph(State)
        workflow.add_node("choose", self.choose)
        workflow.add_node("answer", self.answer)
        workflow.set_entry_point("choose")
        workflow.add_edge("choose", "answer")
        workflow.add_edge("answer", END)
        return workflow.compile(checkpointer=self.saver)

    def choose(self, state: State):
        return {"mode": "short" if state["messages"] else "long"}

    def answer(self, state: State):
        sent = [{"role": "system", "content": "You help."}]
        for message in state["messages"][-6:]:
            sent.append(message)
        reply = self.llm.invoke(sent)
        state["messages"].append(reply)
        return state

    async def ask(self, text, thread):
        given = State(messages=[{"role": "user", "content": text}], mode="")
        given["mode"] = "short"
        result = await self.graph.ainvoke(given, {"configurable": {"thread_id": thread}})
        return result["messages"][-1]


if __name__ == "__main__":
    Bot(None).ask(input(), "1")
"""


def told(root: Path, files: dict[str, str]) -> bool:
    write(root, files)
    return "CSF303" in [code for _, _, code in places(lint([root], cache=False).findings)]


def changed(*changes: tuple[str, str], text: str = PROGRAM) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


REDUCED = ("messages: List[dict]", "messages: Annotated[List[dict], add_messages]")
ANEW = ("checkpointer=self.saver", "checkpointer=None")
ADDED = 'state["messages"].append(reply)\n        return state'
RETURNED = (ADDED, "return {'messages': [reply]}")
FILL = ("    async def ask", "    def fill(self, s):\n        s['messages'].append(1)\n\n    async def ask")
CUT = 'for message in state["messages"][-6:]'
INPUT = '[{"role": "user", "content": text}]'
BEGUN = f'        given = State(messages={INPUT}, mode="")\n        given["mode"] = "short"\n'


def test_a_list_that_each_run_begins_anew_is_not_cut(tmp_path: Path) -> None:
    assert not told(tmp_path, {"bot.py": PROGRAM})


@pytest.mark.parametrize(
    "change",
    [
        REDUCED,
        ("class State(TypedDict):\n    messages: List[dict]", "class State(MessagesState):"),
        ("messages: List[dict]", "messages: Messages"),
        ("StateGraph(State)", "StateGraph(State, input_schema=Other)"),
        ("def choose(self, state: State)", "def choose(self, state: Other)"),
    ],
    ids=["reducer", "base", "unknown-type", "input-schema", "node-schema"],
)
def test_a_state_that_may_add_what_it_is_given_grows(tmp_path: Path, change: tuple[str, str]) -> None:
    assert told(tmp_path, {"bot.py": changed(change)})


@pytest.mark.parametrize(
    "change",
    [
        (f"messages={INPUT}", f"messages=[*load(thread), {INPUT[1:-1]}]"),
        (f"messages={INPUT}", "messages=load(thread)"),
        (f"messages={INPUT}", f"messages={INPUT[:-1]}{', {}' * 5}]"),
        (f'messages={INPUT}, mode=""', 'mode=""'),
        (f'messages={INPUT}, mode=""', f"messages={INPUT}, **saved"),
        ('given["mode"] = "short"', 'given["messages"].extend(load(thread))'),
        ('given["mode"] = "short"', "fill(given, thread)"),
        ("given = State", "given = None if text == '/on' else State"),
        ("async def ask(self, text, thread):\n" + BEGUN, "async def ask(self, given, thread):\n"),
        ("        result = await", "        self.graph.invoke(load(thread))\n        result = await"),
        ("        result = await", "        self.graph.update_state(load(thread))\n        result = await"),
        ("        result = await", "        serve(self.graph)\n        result = await"),
    ],
    ids=[
        "loaded-before", "loaded", "many", "kept", "more-fields", "filled", "handed-on", "sometimes", "parameter",
        "other-run", "written", "out-of-sight",
    ],
)  # fmt: skip
def test_an_input_that_is_not_seen_to_be_short_is_none(tmp_path: Path, change: tuple[str, str]) -> None:
    assert told(tmp_path, {"bot.py": changed(change)})


@pytest.mark.parametrize(
    "changes",
    [
        [('add_edge("answer", END)', 'add_edge("answer", "choose")')],
        [('add_edge("answer", END)', 'add_conditional_edges("answer", more, {"on": "choose", "off": END})')],
        [('add_edge("answer", END)', 'add_conditional_edges("answer", more)')],
        [('add_edge("answer", END)', 'add_edge("answer", LAST)')],
        [("return {", "return Command(goto='answer') if state else {")],
        [("        state[", "        for _ in reply:\n            state[")],
        [("append(reply)", "extend(reply)")],
        [(ADDED, "return self.llm.invoke(state)")],
        [(ADDED, "return {'messages': [*reply, *sent]}")],
        [('add_node("choose", self.choose)', 'add_node("choose", ToolNode(TOOLS))')],
        [("        reply = ", "        self.fill(state)\n        reply = "), FILL],
    ],
    ids=["back", "back-at-times", "anywhere", "unknown", "jump", "loop", "extended", "other-result", "other-list",
         "tools", "helper"],
)  # fmt: skip
def test_a_run_that_may_add_many_is_long(tmp_path: Path, changes: list[tuple[str, str]]) -> None:
    assert told(tmp_path, {"bot.py": changed(*changes)})


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ([ANEW, REDUCED, RETURNED], False),
        ([REDUCED, RETURNED], True),
        ([ANEW, REDUCED, (ADDED, "return {'messages': [*state['messages'], reply]}")], True),
        ([(ADDED, "return {'messages': [*state['messages'], reply]}")], False),
        ([(ADDED, "return {**state, 'messages': state['messages'] + [reply]}")], False),
        ([('add_edge("answer", END)', 'add_conditional_edges("answer", more, {"on": END, "off": END})')], False),
        ([(f"messages={INPUT}", f"messages={INPUT[:-1]}{', {}' * 4}]")], False),
        ([(CUT, f"old = {CUT[15:32]}\n        for message in old[-6:]")], False),
    ],
    ids=["anew", "kept", "twice", "replaced", "state-replaced", "ways-out", "as-many", "named"],
)  # fmt: skip
def test_what_a_run_adds_is_counted(tmp_path: Path, changes: list[tuple[str, str]], found: bool) -> None:
    assert told(tmp_path, {"bot.py": changed(*changes)}) is found


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ("from bot import Bot\n\n\ndef on(bot, old):\n    return bot.graph.invoke({'messages': old})\n", True),
        ("from bot import Bot\n\n\ndef on(bot):\n    return bot.graph.get_state(1)\n", False),
        (
            "from bot import Bot\n\n\nclass Other:\n    def on(self, old):\n        return self.graph.invoke(old)\n",
            False,
        ),
        (
            "from bot import Bot\n\n\nclass Own(Bot):\n    def on(self, old):\n        return self.graph.invoke(old)\n",
            True,
        ),
        ("def on(bot, old):\n    return bot.graph.invoke({'messages': old})\n", False),
    ],
    ids=["run", "read", "other-class", "same-class", "nobody-takes-it-in"],
)
def test_other_files_are_looked_at(tmp_path: Path, other: str, found: bool) -> None:
    assert told(tmp_path, {"bot.py": PROGRAM, "app.py": other}) is found


def test_a_graph_that_a_server_runs_is_given_what_its_users_send(tmp_path: Path) -> None:
    assert told(tmp_path, {"bot.py": PROGRAM, "langgraph.json": '{"graphs": {"bot": "./bot.py:make"}}'})


STATE = "from typing import List, TypedDict\n\n\nclass State(TypedDict):\n    messages: List[dict]\n"
NODES = """from state import State
from models import llm


def answer(state: State):
    return {"messages": [llm.invoke(built(state))]}


def built(state):
    return [{"role": "system", "content": "You help."}, *state["messages"][-6:]]
"""
GRAPH = """from langgraph.graph import StateGraph
from nodes import answer
from state import State

workflow = StateGraph(State)
workflow.add_node("answer", answer).add_edge("answer", "__end__")
graph = workflow.compile()
"""
APP = "from graph import graph\n\n\ndef ask(text):\n    return graph.invoke({'messages': [('user', text)]})\n"


@pytest.mark.parametrize(
    ("name", "old", "new", "found"),
    [
        ("app.py", "", "", False),
        ("app.py", "[('user', text)]", "text", True),
        ("app.py", "import graph", "import graph as bot", True),
        ("app.py", "return graph.invoke(", "return str(", True),
        ("graph.py", "compile()", "compile(**OPTIONS)", True),
        ("graph.py", '("answer", answer)', '("answer", answer).add_sequence(MORE)', True),
        ("graph.py", "answer)", "wrapped(answer))", True),
        ("nodes.py", "def built", "def other(rows):\n    return built(rows)\n\n\ndef built", True),
    ],
    ids=["seen", "input", "renamed", "never-run", "options", "sequence", "wrapped", "other-lists"],
)
def test_a_graph_in_several_files(tmp_path: Path, name: str, old: str, new: str, found: bool) -> None:
    files = {"state.py": STATE, "nodes.py": NODES, "graph.py": GRAPH, "app.py": APP}
    assert told(tmp_path, files | {name: changed((old, new), text=files[name]) if old else files[name]}) is found
