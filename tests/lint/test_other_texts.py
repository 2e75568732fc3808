"""Text that is no head of a request, though a name says so: shown, counted, behind the marker, in the last turn."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint


def codes(root: Path, **files: str) -> list[str]:
    """The codes of the findings in a project of these files."""
    write(root, {f"{name}.py": text for name, text in files.items()})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


NOW = "from datetime import datetime\n\n\n"


@pytest.mark.parametrize("owner", ["renderer", "self.ui", "app.console"])
def test_a_screen_is_no_chat(tmp_path: Path, owner: str) -> None:
    call = "    {}.add_system_message(f'done at {{datetime.now()}}')\n"
    text = f"{NOW}def finish(self, app, renderer, chat):\n"
    assert codes(tmp_path / "screen", a=text + call.format(owner)) == []
    assert codes(tmp_path / "chat", a=text + call.format("chat")) == ["CSF101"]


def test_a_log_of_requests_is_no_request(tmp_path: Path) -> None:
    call = "def ask(client, text):\n    {}(system_prompt=f'It is {{datetime.now()}}', prompt=text)\n"
    assert codes(tmp_path / "log", a=NOW + call.format("client.safe_log_llm_call")) == []
    assert codes(tmp_path / "sent", a=NOW + call.format("client.catalog_llm_call")) == ["CSF101"]


def test_messages_that_are_made_to_be_counted(tmp_path: Path) -> None:
    text = "def {}(client):\n    return client.size([{{'role': 'system', 'content': str(datetime.now())}}])\n"
    assert codes(tmp_path / "counted", a=NOW + text.format("count_schema_tokens")) == []
    assert codes(tmp_path / "sent", a=NOW + text.format("answer")) == ["CSF101"]


SPLIT = """
def blocks(stable, changing=""):
    made = [{"type": "text", "text": stable, "cache_control": {"type": "ephemeral"}}]
    if changing:
        made.append({"type": "text", "text": changing%s})
    return made


def ask(client, messages):
    changing_system_prompt = f"It is {datetime.now():%%H:%%M}"
    request = {"model": "m", "system": blocks("You are a clerk.", changing_system_prompt), "messages": messages}
    return client.messages.create(**request)
"""


def test_a_block_behind_the_marker_is_made_by_a_helper(tmp_path: Path) -> None:
    marked = ', "cache_control": {"type": "ephemeral"}'
    assert codes(tmp_path / "behind", a=NOW + SPLIT % "") == []
    assert "CSF101" in codes(tmp_path / "marked", a=NOW + SPLIT % marked)


LAST = """
def build(history, text, role):
    messages = [{"role": "system", "content": "You are a clerk."}, *history]
    found = dict(messages[%d])
    found["content"] = f"{text}. It is {datetime.now()}"
    messages[%d] = found
    return messages
"""


def test_the_last_message_is_not_the_first(tmp_path: Path) -> None:
    assert codes(tmp_path / "last", a=NOW + LAST % (-1, -1)) == []
    assert codes(tmp_path / "first", a=NOW + LAST % (0, 0)) == ["CSF101"]


def test_the_name_of_a_bot_is_a_setting(tmp_path: Path) -> None:
    text = "def build({0}, chat):\n    return [{{'role': 'system', 'content': f'You: {{{0}.username}}.'}}, *chat]\n"
    assert codes(tmp_path / "bot", a=text.format("bot")) == []
    assert codes(tmp_path / "person", a=text.format("person")) == ["CSF105"]


FOUND = """
from pathlib import Path


def persona(slug):
    found = {}
    return {}


def build_system_prompt(slug):
    return "You are " + persona(slug)
"""


@pytest.mark.parametrize(
    "one", ["list(Path('x').glob(f'{slug}*.txt'))[0].read_text()", "next(Path('x').glob(f'{slug}*')).read_text()"]
)
def test_one_file_that_a_pattern_finds(tmp_path: Path, one: str) -> None:
    every = "'|'.join(p.read_text() for p in Path('x').glob(f'{slug}*.txt'))"
    assert codes(tmp_path / "one", a=FOUND.replace("{}", one, 1).replace("{}", "found")) == []
    assert codes(tmp_path / "every", a=FOUND.replace("{}", every, 1).replace("{}", "found")) == ["CSF202"]


CUT = """
TAIL = "<!-- what changes -->"


def build(history, question):
    text = f"You are a clerk.{TAIL}It is {datetime.now()}"
    messages = [{"role": "system", "content": text}, *history]
    system_text = str(messages[0].get("content"))
    place = system_text.find(TAIL)
    if place != -1:
        messages[0]["content"] = system_text[:LIMIT]
    messages.append({"role": "user", "content": question})
    return messages
"""


def test_a_head_that_is_cut_at_a_marker(tmp_path: Path) -> None:
    assert codes(tmp_path / "cut", a=NOW + CUT.replace("LIMIT", "place")) == []
    assert "CSF101" in codes(tmp_path / "short", a=NOW + CUT.replace("LIMIT", "4000"))


SEARCH = """
def build(client, history):
    for message in {}:
        if message["role"] == "user":
            message["content"] = message["content"] + str(datetime.now())
            break
    return client.chat.completions.create(model="m", messages=history)
"""


def test_the_newest_question_is_looked_for_from_the_end(tmp_path: Path) -> None:
    assert codes(tmp_path / "end", a=NOW + SEARCH.format("reversed(history)")) == []
    assert codes(tmp_path / "front", a=NOW + SEARCH.format("history")) == ["CSF307"]


def test_a_template_in_a_string_excuses_no_broken_file(tmp_path: Path) -> None:
    broken = "PAGE = '''\n{% if x %}\n'''\n\n\ndef build(:\n    return []\n"
    assert codes(tmp_path / "broken", a=broken) == ["CSF901"]
    assert codes(tmp_path / "template", a="import os\n{%- if cookiecutter.x %}\nimport re\n{%- endif %}\n") == []
