"""What a function puts together and never reads again is sent by nobody; each reading by itself makes it a request."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

STEP = """
RULES = "You play the user of a shop. Ask for one thing after the other, in the order of the list that you are given."


class User:
    def __init__(self, client, items):
        self.client = client
        self.items = items
        self.history = []
        self.step = 0

    def ask(self, answer):
        self.history.append({{"role": "assistant", "content": answer}})
        messages = [{{"role": "system", "content": f"Step {{self.step}}: {{RULES}}"}}]
        messages.extend(self.history)
        messages.append({{"role": "user", "content": "The next question, please."}})
        {use}
        question = self.items[self.step]
        self.step += 1
        return question


def main(client, items):
    user = User(client, items)
    while True:
        print(user.ask(input()))
"""
CLOCK = """
from datetime import datetime

RULES = "Answer in the language of the question, name your sources, and say so where you do not know an answer. " * 3


def answer(client, question):
    system_prompt = f"It is {{datetime.now().isoformat()}}. {{RULES}}"
    {use}
    return client.lookup(question)


def main(client):
    while True:
        print(answer(client, input()))
"""
ASKS = "client.chat.completions.create(model='m', messages="


def codes(root: Path, text: str) -> list[str]:
    # Of a short file that nothing else takes in nobody asks who calls what is in it.
    write(root, {"desk/work.py": text, "desk/__init__.py": "", "app.py": "from desk import work\n\nwork.main(1)\n"})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


def test_messages_that_nothing_reads_are_no_request(tmp_path: Path) -> None:
    assert codes(tmp_path, STEP.format(use="# self.client.chat(messages)")) == []


@pytest.mark.parametrize(
    "use",
    [
        f"self.{ASKS}messages)",
        f"reply = self.{ASKS}messages)",
        f"everything = self.{ASKS}[*messages])",
        "self.items = self.client.chat(messages)",
        f"send = lambda: self.{ASKS}messages)",
        "self.client.chat(**{'messages': messages})",
        "self.client.chat(**locals())",
    ],
)
def test_each_way_to_read_them_makes_a_request(tmp_path: Path, use: str) -> None:
    assert codes(tmp_path, STEP.format(use=use)) == ["CSF110"]


@pytest.mark.parametrize(
    "use",
    [
        "pass",
        "messages = [{'role': 'system', 'content': system_prompt}, {'role': 'user', 'content': question}]",
        "messages = []\n    messages.append({'role': 'system', 'content': system_prompt})",
        "messages: list = [{'role': 'system', 'content': system_prompt}]\n    both = [*messages, question]",
    ],
)
def test_a_text_that_goes_into_nothing_that_is_read_is_no_request(tmp_path: Path, use: str) -> None:
    assert codes(tmp_path, CLOCK.format(use=use)) == []


@pytest.mark.parametrize(
    "use",
    [
        f"messages = [{{'role': 'system', 'content': system_prompt}}]\n    return {ASKS}messages)",
        f"done = {ASKS}[{{'role': 'system', 'content': system_prompt}}])",
        "messages = []\n    messages.append(client.ask(system_prompt))",
        "client.system_prompt = system_prompt",
        "client.messages = [{'role': 'system', 'content': system_prompt}]",
    ],
)
def test_a_text_that_somebody_is_given_is_one(tmp_path: Path, use: str) -> None:
    assert codes(tmp_path, CLOCK.format(use=use)) == ["CSF101"]


@pytest.mark.parametrize(
    "chat",
    [
        "messages = MESSAGES",
        "messages = client.messages",
        "messages = CHATS.setdefault(question, [])",
        "messages = client.begin()",
    ],
)
def test_a_list_of_somebody_else_is_read_there(tmp_path: Path, chat: str) -> None:
    use = f"{chat}\n    messages.append({{'role': 'system', 'content': system_prompt}})"
    text = CLOCK.format(use=use) + "\n\nMESSAGES = []\nCHATS = {}\n"
    assert codes(tmp_path, text) == ["CSF101"]


@pytest.mark.parametrize("call", ["Task(client, system_prompt)", "client.with_system_prompt(system_prompt)"])
def test_what_is_made_of_it_may_run(tmp_path: Path, call: str) -> None:
    assert codes(tmp_path, CLOCK.format(use=f"task = {call}")) == ["CSF101"]
