"""A prompt that is printed, counted or shown to a browser is none that a model gets."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

HEAD = "from datetime import datetime\n\n\n"
SYSTEM = '{"role": "system", "content": f"It is {datetime.now()}. You help."}'
BUILDER = f'{HEAD}def system_prompt():\n    return f"It is {{datetime.now()}}. You help."\n\n\n'


def codes(root: Path, text: str) -> list[str]:
    write(root, {"app.py": text})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


def shown(*lines: str, head: str = "def demo(history, client, state):") -> str:
    return HEAD + head + "\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    "program",
    [
        shown(f"messages = [{SYSTEM}, *history]", "print(messages)"),
        shown(f"messages = [{SYSTEM}]", "messages.extend(history)", "print(len(tokenizer.encode(str(messages))))"),
        shown(f"messages = [{SYSTEM}, *history]", "with open('log', 'w') as file:", "    json.dump(messages, file)"),
        shown(f"return {{'messages': [{SYSTEM}, *history]}}", head="@app.get('/preview')\ndef preview(history):"),
        BUILDER + "def demo():\n    print(system_prompt())\n",
        BUILDER + "@app.post('/preview')\ndef preview():\n    return {'text': system_prompt()}\n",
    ],
)
def test_what_is_only_shown_is_not_told(tmp_path: Path, program: str) -> None:
    assert codes(tmp_path, program) == []


@pytest.mark.parametrize(
    "program",
    [
        shown(f"messages = [{SYSTEM}, *history]", "print(messages)", "client.send(messages)"),
        shown(f"messages = [{SYSTEM}, *history]", "print(messages)", "return messages"),
        shown(f"state.messages = [{SYSTEM}, *history]", "print(history)"),
        shown("state['system_prompt'] = f'It is {datetime.now()}. You help.'", "print(state)"),
        shown(f"messages = [{SYSTEM}, *history]", "print(client.print_response(messages))"),
        shown(f"return [{SYSTEM}, *history]", head="@mcp.prompt('x')\ndef preview(history):"),
        BUILDER + "def demo(client):\n    print(client.ask(system_prompt()))\n",
        # Written down several times for those who check types.
        shown("...", head="@overload\ndef ask(history, client):")
        + shown(f"return client.ask([{SYSTEM}, *history])", head="def ask(history, client):"),
        # It asks itself, and what it returns is the answer.
        shown(f"return client.ask([{SYSTEM}, *history])") + "\n\ndef main():\n    print(demo([], 1, 2))\n",
    ],
)
def test_what_may_be_sent_is_told(tmp_path: Path, program: str) -> None:
    assert codes(tmp_path, program) == ["CSF101"]


@pytest.mark.parametrize("owner", ["renderer", "self.console", "app.chat_view"])
def test_a_line_on_a_screen_is_no_message(tmp_path: Path, owner: str) -> None:
    program = shown(f"{owner}.add_system_message(f'done at {{datetime.now()}}', client.x())")
    assert codes(tmp_path, program) == []
    assert codes(tmp_path, program.replace(f"{owner}.", "memory.")) == ["CSF101"]


def test_the_time_kept_beside_a_message_is_not_said(tmp_path: Path) -> None:
    def example(content: str, at: str) -> str:
        entry = f'{{"role": "user", "content": {content}, "at": {at}}}'
        return shown("system_prompt = 'You help.'", f"state.messages = [{entry}, {entry}]", "client.go(state)")

    assert codes(tmp_path, example("'hi'", "datetime.now()")) == []
    assert codes(tmp_path, example("str(datetime.now())", "1")) == ["CSF101"]


def test_a_name_of_the_installation_is_no_users(tmp_path: Path) -> None:
    program = shown("return [{'role': 'system', 'content': f'You are {state.bot.username}.'}, *history]")
    assert codes(tmp_path, program) == []
    assert codes(tmp_path, program.replace("state.bot", "state.chat")) == ["CSF105"]


def test_a_template_of_python_does_not_fail_to_parse(tmp_path: Path) -> None:
    assert codes(tmp_path, "import os\n{% if cookie %}\nimport sys\n{% endif %}\n") == []
    assert codes(tmp_path, "import os\n{% cookie\n") == ["CSF901"]


STORE = (
    "from dataclasses import dataclass\nfrom datetime import datetime\n\n\n@dataclass\nclass Entry:\n    at: str\n"
    "    text: str\n\n\nclass Store:\n    def __init__(self):\n        self.known: dict[str, Entry] = {}\n\n"
    "    def add(self, text):\n        at = str(datetime.now())\n"
    "        self.known[text] = Entry(at=at, text=text)\n\n"
    "    def system_prompt(self):\n        return '\\n'.join(f'{e.%s}' for e in self.known.values())\n"
)


@pytest.mark.parametrize(("field", "expected"), [("text", []), ("at", ["CSF101"])])
def test_of_a_table_of_objects_only_what_is_printed_counts(tmp_path: Path, field: str, expected: list[str]) -> None:
    assert codes(tmp_path, STORE % field) == expected
