"""A clock in the last lines of a template: silent before one question, told where more stands behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

RULES = "Answer from the book, with the page, in plain words and without a guess.\n" * 5
LOADS = (
    "from pathlib import Path\n\n"
    "def load(name, **values):\n"
    "    return Path(f'prompts/{name}.txt').read_text().format(**values)\n"
)
ASKS = (
    "import datetime\nfrom loading import load\n\n"
    "def answer(client, asked, history):\n"
    "    system_prompt = load('answer', now=datetime.datetime.now().isoformat(), asked_request=asked)\n"
    "    messages = [{'role': 'system', 'content': system_prompt}, {'role': 'user', 'content': asked}]\n"
    "    return client.chat.completions.create(model='m', messages=messages)\n"
)
# The text is handed to a method of another file, which writes the request.
HANDS = (
    "import datetime\nfrom asking import Asker\nfrom loading import load\n\n"
    "def answer(client, asked):\n"
    "    system_prompt = load('answer', now=datetime.datetime.now().isoformat())\n"
    "    return Asker(client).ask(system_prompt, asked)\n"
)
ASKER = (
    "class Asker:\n"
    "    def __init__(self, client):\n        self.client = client\n\n"
    "    def ask(self, system_prompt, asked, history=()):\n"
    "        messages = [{'role': 'system', 'content': system_prompt}, {'role': 'user', 'content': asked}]\n"
    "        return self.client.chat.completions.create(model='m', messages=messages)\n"
)


def told(root: Path, template: str, app: str = ASKS, **more: str) -> list[str]:
    files = {"app.py": app, "loading.py": LOADS, "asking.py": ASKER, "prompts/answer.txt": template}
    files |= {name.replace("__", "/") + (".py" if "__" not in name else ".txt"): text for name, text in more.items()}
    write(root, files)
    return [code for _, _, code in places(lint([root], cache=False).findings)]


@pytest.mark.parametrize(
    "template",
    [
        RULES + "It is {now}.",
        RULES + "It is {now}. Be brief.",
        RULES + "It is {now}.\nThe question: {asked_request}\n" + RULES,
        RULES + "It is {now}, a {date}.",
    ],
    ids=["last", "closing line", "the question behind it", "another clock"],
)
def test_the_end_of_a_template_before_one_question(tmp_path: Path, template: str) -> None:
    assert told(tmp_path, template) == []


def test_a_request_of_another_file(tmp_path: Path) -> None:
    assert told(tmp_path, RULES + "It is {now}.", HANDS) == []


@pytest.mark.parametrize(
    ("template", "app"),
    [
        ("It is {now}.\n" + RULES, ASKS),
        ("Now: {now}", ASKS),
        (RULES + "It is {now}.", ASKS.replace("}, {'role': 'user'", "}, *history, {'role': 'user'")),
        (RULES + "It is {now}.", ASKS.replace("'answer'", "asked")),
    ],
    ids=["rules behind it", "no rules at all", "a chat", "which template is not seen, and others go on"],
)
def test_where_more_is_sent_again(tmp_path: Path, template: str, app: str) -> None:
    assert told(tmp_path, template, app, prompts__other="It is {now}.\n" + RULES) == ["CSF101"]


def test_a_chat_in_another_file(tmp_path: Path) -> None:
    chat = ASKER.replace("}, {'role': 'user'", "}, *history, {'role': 'user'")
    assert told(tmp_path, RULES + "It is {now}.", HANDS, asking=chat) != []


def test_a_template_that_another_one_takes_in(tmp_path: Path) -> None:
    whole = RULES + "{% include 'clock.j2' %}\n"
    write(
        tmp_path,
        {
            "app.py": ASKS.replace("'answer'", "'whole.j2'").replace("now=", "minute="),
            "loading.py": LOADS,
            "prompts/whole.j2": whole,
            "prompts/clock.j2": "It is {{ minute }}.",
        },
    )
    assert places(lint([tmp_path], cache=False).findings) == []
    (tmp_path / "prompts/whole.j2").write_text(whole + RULES, encoding="utf-8")
    assert [code for _, _, code in places(lint([tmp_path], cache=False).findings)] == ["CSF101"]
