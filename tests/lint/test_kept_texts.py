"""Texts that a record keeps, a screen shows or a tool gives back are sent by nobody there; each condition by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

STORED = """
from datetime import datetime


class Updater:
    def __init__(self, persona_manager):
        self.persona_manager = persona_manager

    async def tell_mood(self, persona_id, text, mood):
        system_text = f"{{text}} Mood at {{datetime.now():%H:%M}}: {{mood}}. Answer in this tone."
        {call}


async def main(manager, text):
    await Updater(manager).tell_mood(1, text, "glad")
"""
WRITES = "await self.persona_manager.update_persona(persona_id=persona_id, system_prompt=system_text)"
SHOWN = """
from datetime import datetime

from mcp.types import TextContent


def make_system_prompt(name):
    return f"You are {{name}}. It is {{datetime.now():%H:%M}}. Keep to the house rules and answer briefly."


def tell(name):
    system_prompt = make_system_prompt(name)
    {use}


def other(name):
    return name


print(tell(other("a")))
"""
RULES = """
from pathlib import Path
from langchain.agents import create_agent


def load_notes():
    return Path("AGENTS.md").read_text()


def {frame}_notes({given}):
    return "Notes of the user:\\n" + {given}.strip()


def make(model, notes, tools):
    return create_agent(model=model, tools=tools, system_prompt="You help people." + {frame}_notes(notes))


{rest}
"""
ONCE = """def main(model, tools):
    notes = load_notes()
    agent = make(model, notes, tools)
    while True:
        agent.invoke(input())
"""
EACH = """def main(model, tools):
    while True:
        notes = load_notes()
        make(model, notes, tools).invoke(input())
"""
WRAPPED = """
from langchain.agents import create_agent


def format_memory(content):
    {body}


def make(model, content, tools):
    return create_agent(model=model, tools=tools, system_prompt="You help people." + format_memory(content))


def {name}(model, tools, store):
    return make(model, {given}, tools)
"""
CUT = """
class Eyes:
    def __init__(self, client):
        self.client = client
        self.history = []

    def look(self, text, rows):
        {begins}
        self.history.append({{"role": "system", "content": "You see."}})
        {more}
        self.client.chat(model="m", messages=self.history + [{{"role": "user", "content": text}}])
        self.history = self.history[-2:]
"""


def codes(root: Path, text: str) -> list[str]:
    # Of a short file that nothing else takes in nobody asks who calls what is in it.
    write(root, {"desk/work.py": text, "desk/__init__.py": "", "app.py": "from desk import work\n\nprint(work)\n"})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


@pytest.mark.parametrize(
    "call",
    [
        WRITES,
        f"done = {WRITES}\n        if done:\n            print('kept')",
        f"if {WRITES}:\n            print('kept')",
    ],
)
def test_a_record_that_a_manager_keeps_is_no_request(tmp_path: Path, call: str) -> None:
    assert codes(tmp_path, STORED.format(call=call)) == []


ROW = "row = {}(name=mood, system_prompt=system_text)\n        "


@pytest.mark.parametrize(
    "call",
    [
        "await save_persona(system_prompt=system_text)",
        "self.upsert_prompt(system_prompt=system_text)",
        "self.db.add(Persona(name=mood, system_prompt=system_text))",
        ROW.format("Persona") + "self.session.add(row)\n        self.session.commit()\n        return row",
        ROW.format("Persona") + "self.session.add(row)\n        self.session.refresh(row)\n        return row.id",
        "self.db.personas.insert_one({'name': mood, 'system_prompt': system_text})",
        "self.db.personas.update_one({'id': 1}, {'$set': {'system_prompt': system_text}})",
    ],
)
def test_a_row_that_is_written_is_no_request(tmp_path: Path, call: str) -> None:
    assert codes(tmp_path, STORED.format(call=call)) == []


@pytest.mark.parametrize(
    "call",
    [
        # What begins anew with each that is made.
        "await save_session(system_prompt=system_text)",
        "self.db.add(ChatSession(name=mood, system_prompt=system_text))",
        "self.db.conversations.insert_one({'name': mood, 'system_prompt': system_text})",
        # Nobody writes it, or it goes on as well.
        ROW.format("Persona") + "self.tools.add(row)",
        ROW.format("Persona") + "self.session.add(row)\n        self.client.ask(row)",
        ROW.format("Persona") + "self.session.add(row)\n        return row.system_prompt",
        "self.db.personas.ask({'name': mood, 'system_prompt': system_text})",
    ],
)
def test_what_only_looks_like_a_row_is_told(tmp_path: Path, call: str) -> None:
    assert "CSF101" in codes(tmp_path, STORED.format(call=call))


@pytest.mark.parametrize(
    "call",
    [
        # The result is used, so it may be a reply.
        f"done = {WRITES}\n        return done.content",
        f"return {WRITES}",
        # Nothing says which record.
        "await self.persona_manager.update_persona(system_prompt=system_text)",
        # Not a keeper's method, no record, no verb of writing.
        "await self.client.update_persona(persona_id=persona_id, system_prompt=system_text)",
        "await self.persona_manager.create_agent(persona_id=persona_id, system_prompt=system_text)",
        "await self.persona_manager.ask_persona(persona_id=persona_id, system_prompt=system_text)",
        f"{WRITES}\n        await self.client.ask(system_prompt=system_text)",
    ],
)
def test_what_may_be_a_request_stays_one(tmp_path: Path, call: str) -> None:
    assert "CSF101" in codes(tmp_path, STORED.format(call=call))


def test_a_function_is_followed_to_the_record_that_it_writes(tmp_path: Path) -> None:
    passes = (
        "await self.keep(persona_id, system_text)\n\n    async def keep(self, persona_id, system_prompt):\n        {}"
    )
    kept = WRITES.replace("=system_text", "=system_prompt")
    # A name that says nothing: it is the call that takes a system prompt.
    stored = STORED.replace("system_text", "told")
    passes = passes.replace("system_text", "told")
    assert codes(tmp_path, stored.format(call=passes.format(kept))) == []
    asks = "await self.client.ask(system_prompt=system_prompt)"
    assert "CSF101" in codes(tmp_path, stored.format(call=passes.format(f"{kept}\n        {asks}")))


@pytest.mark.parametrize(
    "use",
    [
        "return [TextContent(type='text', text=f'The prompt: {system_prompt}')]",
        "print(system_prompt)",
        "shown = f'The prompt: {system_prompt}'\n    print(shown)",
    ],
)
def test_what_is_printed_or_the_result_of_a_tool_is_not_sent(tmp_path: Path, use: str) -> None:
    assert codes(tmp_path, SHOWN.format(use=use)) == []


@pytest.mark.parametrize(
    "use",
    [
        "print(system_prompt)\n    return system_prompt",
        "send(TextContent(type='text', text=system_prompt))",
        "print(system_prompt)\n    return lambda: system_prompt",
        "print(system_prompt)\n    return send(**locals())",
        "print(system_prompt)\n    global shared\n    shared = name",
        "shown = f'The prompt: {system_prompt}'\n    return shown",
    ],
)
def test_what_goes_on_may_be_sent(tmp_path: Path, use: str) -> None:
    assert "CSF101" in codes(tmp_path, SHOWN.format(use=use))


def test_a_file_that_a_program_reads_once_is_not_read_for_each_request(tmp_path: Path) -> None:
    assert codes(tmp_path, RULES.format(frame="frame", given="content", rest=ONCE)) == []
    assert codes(tmp_path, RULES.format(frame="frame", given="content", rest=EACH)) == ["CSF109"]
    # What an object starts with may be read again.
    again = ONCE.replace("def main(", "def start(")
    assert codes(tmp_path, RULES.format(frame="frame", given="content", rest=again)) == ["CSF109"]


@pytest.mark.parametrize("body", ["return '# Memory' + content.strip()", "return f'# Memory: {content}'"])
def test_a_frame_around_a_text_remembers_nothing(tmp_path: Path, body: str) -> None:
    assert codes(tmp_path, WRAPPED.format(body=body, name="build", given="'You know all.'")) == []
    assert codes(tmp_path, WRAPPED.format(body=body, name="build", given="store.recall_memories()")) != []


@pytest.mark.parametrize("body", ["return content.get_all()", "return find(content)"])
def test_what_a_function_asks_somebody_for_may_be_remembered(tmp_path: Path, body: str) -> None:
    assert codes(tmp_path, WRAPPED.format(body=body, name="build", given="store")) == ["CSF109"]


def test_a_list_that_each_call_begins_anew_does_not_slide(tmp_path: Path) -> None:
    begun = "self.history = []"
    assert codes(tmp_path, CUT.format(begins=begun, more="")) == []
    assert codes(tmp_path, CUT.format(begins="print(text)", more="")) == ["CSF303"]
    assert codes(tmp_path, CUT.format(begins=f"if not text:\n            {begun}", more="")) == ["CSF303"]
    for more in (
        "self.history.extend(rows)",
        "for row in rows:\n            self.history.append(row)",
        "self.fill(self.history)",
        "self.history += rows",
    ):
        assert codes(tmp_path, CUT.format(begins=begun, more=more)) == ["CSF303"], more
