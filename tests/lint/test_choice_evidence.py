"""What must be seen before a choice of tools, model or markers is told, each condition with its twin."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint


def codes(root: Path, text: str) -> list[str]:
    write(root, {"app.py": text})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


CHAT = (
    "def ask(client, messages, question, index, message, channel_turn, final_turn):\n"
    "    tools = {tools}\n"
    "    model = {model}\n"
    "    sent = {sent}\n"
    "    return client.chat.completions.create(model=model, messages=sent, tools=tools)\n\n\n"
    "def inside(question):\n"
    "    return [t for t in TOOLS if t.name in question]\n\n\n"
    "def all_of(question):\n"
    "    print(question)\n"
    "    return TOOLS\n"
)
SENT = "[*messages, {'role': 'user', 'content': question}]"
SINGLE = "[{'role': 'system', 'content': 'You help.'}, {'role': 'user', 'content': question}]"


@pytest.mark.parametrize(
    ("tools", "found"),
    [
        ("inside(question)", True),
        ("all_of(question)", False),
        # Of what stands elsewhere nothing is said, unless it searches.
        ("select_tools(question)", False),
        ("registry.get_tools(question)", False),
        ("index.search(question)", True),
        ("TOOLS if 'weather' in question else []", True),
        ("TOOLS if settings.web else []", False),
        # Where a message was written, and what it says.
        ("TOOLS if surface_of(message) == 'dm' else []", False),
        ("TOOLS if is_a_search(message) else []", True),
        ("TOOLS if surface_of(question) == 'dm' else []", True),
        # A kind of turn, the same in a whole chat, and one turn of several.
        ("TOOLS if channel_turn else []", False),
        ("TOOLS if not final_turn else []", True),
        # Whether there is a question is no matter of what it says.
        ("TOOLS if question else []", False),
        ("TOOLS if question.strip() == 'x' else []", True),
    ],
)
def test_what_the_tools_depend_on_is_seen(tmp_path: Path, tools: str, found: bool) -> None:
    program = CHAT.format(tools=tools, model="'m'", sent=SENT)
    assert ("CSF305" in codes(tmp_path, program)) is found


@pytest.mark.parametrize(("sent", "found"), [(SENT, True), (SINGLE, False), ("question", False), ("messages", True)])
def test_only_a_conversation_has_something_to_lose(tmp_path: Path, sent: str, found: bool) -> None:
    tools = CHAT.format(tools="TOOLS if 'weather' in question else []", model="'m'", sent=sent)
    model = CHAT.format(tools="TOOLS", model="'big' if len(question) > 99 else 'small'", sent=sent)
    if sent == "question":
        tools, model = (text.replace("messages=sent", "input=question") for text in (tools, model))
    assert ("CSF305" in codes(tmp_path, tools)) is found
    assert ("CSF306" in codes(tmp_path, model)) is found


TAKEN = (
    "class Agent:\n"
    "    def __init__(self, tools):\n"
    "        self.tools = tools\n\n"
    "    def use(self, name, step):\n"
    "        if step > 5:\n"
    "            self.tools = [t for t in self.tools if t.name != name]\n\n"
    "    def ask(self, client, messages, step):\n"
    "        {before}return client.chat.completions.create(model='m', messages=messages, tools=self.tools)\n"
)


def test_a_tool_that_an_object_loses_is_lost_once(tmp_path: Path) -> None:
    assert codes(tmp_path, TAKEN.format(before="")) == []
    here = "self.tools = ALL if step > 5 else []\n        "
    assert "CSF305" in codes(tmp_path, TAKEN.format(before=here))


CLOCK = (
    "from datetime import datetime\n\n\n"
    "class Agent:\n"
    "    def rules(self):\n"
    "        return self.table.of(datetime.now())\n\n"
    "    def ask(self, client, messages):\n"
    "        allowed = {allowed}\n"
    "        tools = [t for t in TOOLS if t.name in allowed]\n"
    "        return client.chat.completions.create(model='m', messages=messages, tools=tools)\n"
)


@pytest.mark.parametrize(
    ("allowed", "found"), [("self.rules()", False), ("self.table.of(datetime.now())", True), ("self.names", False)]
)
def test_a_clock_that_decides_is_read_there(tmp_path: Path, allowed: str, found: bool) -> None:
    assert ("CSF305" in codes(tmp_path, CLOCK.format(allowed=allowed))) is found


MARKED = (
    "def prepare(client, messages):\n"
    "    for message in messages:\n"
    "        message['content'][-1]['cache_control'] = {{'type': 'ephemeral'}}\n"
    "    return {}\n"
)


def test_markers_in_a_loop_count_where_they_are_sent(tmp_path: Path) -> None:
    sent = "client.messages.create(model='m', max_tokens=9, messages=messages)"
    assert "CSF402" in codes(tmp_path, MARKED.format(sent))
    # Handed back, it is seen where nobody else can send a part of it.
    assert "CSF402" in codes(tmp_path, MARKED.format("messages"))
    write(tmp_path, {"start.py": "import app\n\nprint(app.prepare)\n"})
    assert "CSF402" not in codes(tmp_path, MARKED.format("messages"))


@pytest.mark.parametrize(
    ("dumped", "found"), [("result", True), ("result.data", False), ("result['rows']", False), ("look_up(call)", False)]
)
def test_a_result_that_is_handed_in_may_come_again(tmp_path: Path, dumped: str, found: bool) -> None:
    program = (
        "import json\n\n\ndef tool_message(call, result):\n"
        f"    return {{'role': 'tool', 'tool_call_id': call, 'content': json.dumps({dumped})}}\n"
    )
    assert ("CSF203" in codes(tmp_path, program)) is found
