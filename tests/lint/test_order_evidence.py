"""What must be seen before a missing order is told: each condition of the rules, with a program that breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint


def codes(root: Path, text: str, select: tuple[str, ...] | None = None) -> list[str]:
    write(root, {"app.py": text})
    return [code for _, _, code in places(lint([root], cache=False, select=select).findings)]


SYSTEM = (
    "import os\n\n"
    "LANGUAGES = {{'de', 'en', 'fr'}}\n\n"
    "class Bot:\n"
    "    def ask(self, client, messages, documents, skills):\n"
    "        known = {made}\n"
    "        system = 'You are a helpful bot. ' + {text}\n"
    "        return client.messages.create(model='m', max_tokens=9, system=system, messages=messages)\n"
)
JOINED = "', '.join(known)"


@pytest.mark.parametrize(
    "made",
    [
        "LANGUAGES",
        "{'tax', 'law'}",
        "{topic.name for topic in self.topics}",
        "set(skills)",
        "{skill.name for skill in skills}",
    ],
)
def test_a_set_that_every_request_has_is_told(tmp_path: Path, made: str) -> None:
    assert codes(tmp_path, SYSTEM.format(made=made, text=JOINED)) == ["CSF201"]


@pytest.mark.parametrize(
    "made",
    [
        # What this call brought.
        "set(d.topic for d in documents)",
        "{d.topic for d in documents}",
        "set(documents)",
        "set()",
        # Numbers have the same order in every process.
        "{1, 2, 3}",
    ],
)
def test_a_set_that_only_this_call_has_is_not(tmp_path: Path, made: str) -> None:
    assert "CSF201" not in codes(tmp_path, SYSTEM.format(made=made, text=JOINED))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("str(known)", ["CSF202"]),
        ("f'{known}'", ["CSF202"]),
        ("' '.join(known)", ["CSF202"]),
        # Handed on, and nobody writes it out here.
        ("describe(known)", []),
        ("str(len(known))", []),
    ],
)
def test_a_listing_counts_where_it_is_written_out(tmp_path: Path, text: str, found: list[str]) -> None:
    assert codes(tmp_path, SYSTEM.format(made="os.listdir('skills')", text=text)) == found


COUNTING = (
    "import os\n\n"
    "def ask(client, messages):\n"
    "    total = {start}\n"
    "    for folder, folders, files in os.walk('src'):\n"
    "        for name in files:\n"
    "            {step}\n"
    "    return client.messages.create(model='m', max_tokens=9, system=f'Files: {{total}}', messages=messages)\n"
)


@pytest.mark.parametrize("step", ["total += 1", "total = total + 1", "total += len(name)", "total += int(name)"])
def test_a_count_has_no_order(tmp_path: Path, step: str) -> None:
    assert codes(tmp_path, COUNTING.format(start="0", step=step)) == []


@pytest.mark.parametrize("step", ["total += name", "total = total + name"])
def test_a_text_that_grows_has_one(tmp_path: Path, step: str) -> None:
    assert codes(tmp_path, COUNTING.format(start="''", step=step)) == ["CSF202"]


def test_what_a_caller_puts_into_an_argument_is_not_what_all_requests_share(tmp_path: Path) -> None:
    program = (
        "import os\n\n"
        "def ask(client, messages, system):\n"
        "    return client.messages.create(model='m', max_tokens=9, system=system, messages=messages)\n\n\n"
        "def run(client, messages, folder):\n"
        "    task = 'Look at ' + ', '.join(os.listdir(folder))\n"
        "    return ask(client, messages, {})\n"
    )
    assert codes(tmp_path, program.format("task")) == []
    inside = program.replace("system=system", "system=' '.join(os.listdir('skills'))")
    assert codes(tmp_path, inside.format("task")) == ["CSF202"]


TOOLS = (
    "def pick(tools, every):\n"
    "    if every:\n"
    "        return list(set(tools))\n"
    "    return sorted(tools)\n\n\n"
    "def make(client, messages, tools, every):\n"
    "    chosen = {chosen}\n"
    "    return {call}\n"
)
SENT = "client.messages.create(model='m', max_tokens=9, messages=messages, tools=chosen)"


@pytest.mark.parametrize(
    ("chosen", "call", "found"),
    [
        ("list(set(tools))", SENT, True),
        ("list(set(tools))", "helper_agent(name='a', tools=chosen)", True),
        ("list(set(tools))", "client.with_tools(chosen)", False),
        ("list(set(tools))", "Persona(name='a', system_prompt='You help.', tools=chosen)", False),
        ("pick(tools, every)", SENT, True),
        ("pick(tools, True)", SENT, False),
        ("pick(tools, every=False)", SENT, False),
    ],
)
def test_a_list_of_tools_is_sent_by_what_is_seen(tmp_path: Path, chosen: str, call: str, found: bool) -> None:
    # By itself: where CSF201 sees the set arrive, one finding tells both.
    assert ("CSF204" in codes(tmp_path, TOOLS.format(chosen=chosen, call=call), ("CSF204",))) is found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "def save(db, names):\n    db.put({'type': 'object', 'properties': {}, 'required': list(set(names))})\n",
            False,
        ),
        (
            "def save(tool, names):\n    tool.x = {'type': 'object', 'properties': {}, 'required': list(set(names))}\n",
            True,
        ),
        ("T = {'name': 't', 'parameters': {'type': 'object', 'properties': {}, 'required': list({'a', 'b'})}}\n", True),
        (
            "T = make_tool(name='t', parameters={'type': 'object', 'properties': {}, 'required': list({'a', 'b'})})\n",
            True,
        ),
        (
            "def shape(names):\n    return {'type': 'object', 'properties': {}, 'required': list(set(names))}\n\n\n"
            "def tool(names):\n    return {'name': 't', 'input_schema': shape(names)}\n",
            True,
        ),
    ],
)
def test_a_schema_is_that_of_a_tool(tmp_path: Path, text: str, found: bool) -> None:
    assert ("CSF204" in codes(tmp_path, text)) is found
