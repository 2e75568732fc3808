"""Values of the moment, re-read files, addresses and retrieved text in short files.

Such a file is complete as it stands. For each the same program with one thing changed, which is silent.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

# What is written, where it is reported, and what is put in the place of what.
PAIRS = {
    "open tabs by a helper": (
        """\
PROMPT = "You edit code. Open: {open_editors}. Read a file before you change it."


def facts(shell):
    return {"open_editors": shell.active.uri}


def request(shell, history):
    return {"system": PROMPT.format(**facts(shell)), "messages": history}
""",
        (9, "CSF110"),
        "shell.active.uri",
        "shell.product.uri",
    ),
    "usage by a method": (
        """\
class Runner:
    def __init__(self, tape, base):
        self.tape = tape
        self.base = base

    def section(self):
        return f"tokens: {self.tape.info().last_usage}"

    def system_prompt(self):
        return "\\n".join([self.base, self.section()])
""",
        (10, "CSF110"),
        "last_usage",
        "usage_limit",
    ),
    "attribute that moves": (
        """\
class Bot:
    def __init__(self):
        self.active_room = "hall"

    def enter(self, room):
        self.active_room = room

    def system_prompt(self):
        return f"You are in {self.active_room}."
""",
        (9, "CSF110"),
        "        self.active_room = room",
        "        self.before = room",
    ),
    "item of a dict": (
        """\
def build(tracker, history):
    stats = tracker.stats()
    system = f"You code. Tokens: {stats['tokens_used']}."
    return {"system": system, "messages": history}
""",
        (4, "CSF110"),
        "tokens_used",
        "tokens_per_file",
    ),
    "asked of the editor": (
        """\
async def system_prompt(bridge):
    tabs = await bridge.get_open_tabs()
    return "You code. Tabs: " + ", ".join(tabs)
""",
        (3, "CSF110"),
        "get_open_tabs",
        "get_rules",
    ),
    "settings stay": (
        """\
def system_prompt(session):
    return f"You work in {session.current_room}."
""",
        (2, "CSF110"),
        "session",
        "settings",
    ),
    "workspace files by name": (
        """\
from pathlib import Path

FILES = ["SOUL.md", "USER.md"]


def read(root, name):
    return (Path(root) / name).read_text()


def system_prompt(root):
    return "\\n".join(read(root, name) for name in FILES)
""",
        (11, "CSF109"),
        '["SOUL.md", "USER.md"]',
        '["base.txt", "tone.txt"]',
    ),
    "plan that is ticked off": (
        """\
import yaml


def load_plan(path):
    with open(path) as file:
        return yaml.safe_load(file)


def system_message(path):
    plan = load_plan(path)
    return {"role": "system", "content": "Work:\\n" + "\\n".join(step["title"] for step in plan["steps"])}
""",
        (11, "CSF109"),
        "load_plan",
        "load_catalog",
    ),
    "memories that are relevant": (
        """\
def loop(client, memory, messages):
    system = "You are an agent."
    found = memory.load_relevant(messages)
    if found:
        system += found
    return client.messages.create(model="m", system=system, messages=messages, max_tokens=9)
""",
        (6, "CSF109"),
        "memory.load_relevant(messages)",
        "texts.load_greeting()",
    ),
    "object that a helper prints": (
        """\
class Shelf:
    def __init__(self, rows):
        self.rows = rows


def describe(shelf):
    return f"Searches {shelf}"


def tools():
    shelf = Shelf([])
    return [{"name": "search", "description": describe(shelf), "input_schema": {"type": "object"}}]
""",
        (12, "CSF108"),
        "{shelf}",
        "{shelf.rows}",
    ),
    "the same by repr": (
        """\
class Shelf:
    def __init__(self, rows):
        self.rows = rows


def system_text(shelf):
    return "You search {!r}.".format(shelf)


def build(history):
    return [{"role": "system", "content": system_text(Shelf([]))}, *history]
""",
        (11, "CSF108"),
        "    def __init__(self, rows):",
        "    def __repr__(self):\n        return 'shelf'\n\n    def __init__(self, rows):",
    ),
    "field of the one class": (
        """\
import secrets
from dataclasses import dataclass, field


@dataclass
class Turn:
    text: str
    fence: str = field(default_factory=lambda: secrets.token_hex(4))


def system_prompt(turn):
    return f"Text of the user ends with {turn.fence}."
""",
        (12, "CSF104"),
        "{turn.fence}",
        "{turn.text}",
    ),
    "retrieved for the question": (
        """\
def system_prompt(retriever, question):
    found = retriever.invoke(question)
    return "Answer from:\\n" + "\\n".join(one.page_content for one in found)
""",
        (3, "CSF109"),
        "retriever",
        "dictionary",
    ),
    "one question behind it": (
        """\
def build(retriever, question, history):
    found = retriever.invoke(question)
    system = {"role": "system", "content": f"Answer from {found}"}
    return [system, *history, {"role": "user", "content": question}]
""",
        (3, "CSF109"),
        "*history, ",
        "",
    ),
    "chain that retrieves": (
        """\
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder

prompt = ChatPromptTemplate.from_messages(
    [("system", "Answer from {context}"), MessagesPlaceholder("history"), ("human", "{question}")]
)


def make(model, retriever):
    return {"context": retriever, "question": str, "history": list} | prompt | model
""",
        (9, "CSF109"),
        '("system", "Answer from {context}"), MessagesPlaceholder("history"), ("human", "{question}")',
        '("system", "Answer."), MessagesPlaceholder("history"), ("human", "{context} {question}")',
    ),
}


def _found(folder: Path, program: str) -> list[tuple[int, str]]:
    write(folder, {"app.py": program})
    return [(row, code) for _, row, code in places(lint([folder], cache=False).findings)]


@pytest.mark.parametrize("name", PAIRS)
def test_found(tmp_path: Path, name: str) -> None:
    program, place, _, _ = PAIRS[name]
    assert place in _found(tmp_path, program)


@pytest.mark.parametrize("name", PAIRS)
def test_silent(tmp_path: Path, name: str) -> None:
    program, _, old, new = PAIRS[name]
    assert old in program
    assert _found(tmp_path, program.replace(old, new)) == []


@pytest.mark.parametrize("name", PAIRS)
def test_found_of_short_files_alone(tmp_path: Path, name: str) -> None:
    """What only a name says is not said of longer files; what the code shows is."""
    program, (_, code), _, _ = PAIRS[name]
    if code in ("CSF109", "CSF110") and "memory." not in program:
        assert _found(tmp_path, program + "\n\ndef other(text):\n" + "    print(text)\n" * 40) == []
