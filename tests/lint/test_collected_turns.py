"""A window over turns that are collected into a list: told where the list is a request's, else silent."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

COLLECTS = (
    "def older(chat, limit):\n"
    "    messages = []\n"
    "    for turn in chat.turns[-limit:]:\n"
    "        messages.append({'role': 'user', 'content': turn.question})\n"
    "        messages.append({'role': 'assistant', 'content': turn.answer})\n"
)
SENDS = (
    "\n\ndef send(client, chat, text):\n"
    "    sent = [*older(chat, 9), {'role': 'user', 'content': text}]\n"
    "    return client.chat.completions.create(model='m', messages=sent)\n"
)


def codes(root: Path, text: str) -> list[str]:
    write(root, {"app.py": text, "other.py": "import app\n"})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


@pytest.mark.parametrize("first", ["[]", "[{'role': 'system', 'content': 'Help.'}]"])
def test_turns_that_nobody_is_seen_to_send(tmp_path: Path, first: str) -> None:
    assert codes(tmp_path, COLLECTS.replace("[]", first) + "    return messages\n") == []


@pytest.mark.parametrize(
    "text",
    [
        COLLECTS + "    return messages\n" + SENDS,
        COLLECTS + "    messages.append({'role': 'user', 'content': chat.newest})\n    return messages\n" + SENDS,
        COLLECTS.replace("[]", "[{'role': 'system', 'content': 'Help.'}]") + "    return messages\n" + SENDS,
        "class Chat:\n"
        "    def add(self, turn):\n"
        "        self.turns = [self.turns[0]] + self.turns[-5:]\n\n"
        "    def ask(self, client):\n"
        "        messages = []\n"
        "        for asked, answered in self.turns:\n"
        "            messages.append({'role': 'user', 'content': asked})\n"
        "            messages.append({'role': 'assistant', 'content': answered})\n"
        "        return client.invoke(messages)\n",
    ],
    ids=["sent by the file", "the newest behind them", "a system text in front", "cut where they are kept"],
)
def test_turns_of_a_request(tmp_path: Path, text: str) -> None:
    assert codes(tmp_path, text) == ["CSF303"]
