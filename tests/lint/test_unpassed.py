"""Branches that wait for a parameter which nobody gives say nothing; whatever may be given is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

HEAD = "from datetime import datetime\n\nfrom openai import OpenAI\n\nclient = OpenAI()\n\n\n"
SEND = "return client.chat.completions.create(model='m', messages=[{'role': 'system', 'content': text}, *history])\n"
CHAT = f"""{HEAD}def reply(history, place=None):
    text = 'You help.'
    if place:
        text = f'It is {{datetime.now()}} in {{place}}. {{text}}'
    {SEND}

def shown(text):
    return text.title()
"""
CLERK = f"""{HEAD}class Clerk:
    def __init__(self, name, clock=None):
        self.name = name
        self.clock = clock

    def reply(self, history):
        text = 'You help.'
        if self.name and self.clock is not None:
            text = f'It is {{datetime.now()}}. {{text}}'
        {SEND}
"""
CALL = "from clerk import reply\n\nprint(reply([]))\n"
MAKE = "from clerk import Clerk\n\nprint(Clerk('Ann').reply([]))\n"


def told(root: Path, **files: str) -> list[str]:
    """The files with findings."""
    write(root, {f"{name}.py": text for name, text in files.items()})
    return [name for name, _, _ in places(lint([root], cache=False).findings)]


@pytest.mark.parametrize(
    ("clerk", "app"),
    [
        (CHAT, CALL),
        (CHAT.replace("if place:", "if history and place is not None:"), CALL),
        (CHAT.replace("    if place:\n        text", "    if not place:\n        return None\n    text"), CALL),
        (CHAT, CALL + "print(reply([], None))\nprint(reply([], place=''))\n"),
        # Passed on by one who is not given it either.
        (
            CHAT,
            CALL + "\n\ndef ask(words, where=None):\n    return reply(words, where)\n\n\nask([])\n\n\ndef end(): ...\n",
        ),
        (CLERK, MAKE),
        (CLERK, MAKE + "\n\ndef use(clerk: Clerk) -> Clerk | None:\n    return clerk\n"),
    ],
)
def test_what_waits_for_nothing_is_not_told(tmp_path: Path, clerk: str, app: str) -> None:
    assert told(tmp_path, clerk=clerk, app=app) == []


@pytest.mark.parametrize(
    ("clerk", "app"),
    [
        (CHAT, CALL + "print(reply([], place='Rome'))\n"),
        (CHAT, CALL + "print(reply([], 'Rome'))\n"),
        (CHAT, CALL + "print(reply(*[[], 'Rome']))\n"),
        (CHAT, CALL + "print(reply([], **{'place': 'Rome'}))\n"),
        (CHAT, CALL + "\n\ndef ask(words, where=None):\n    return reply(words, where)\n\n\nask([], 'Rome')\n"),
        (CHAT, CALL + "from clerk import reply as talk\n\nprint(talk([], 'Rome'))\n"),
        # Somebody else may call it.
        (CHAT, CALL + "tools = [reply]\n"),
        (CHAT, CALL + "\nentry = getattr(shown, 'reply')\n"),
        (CHAT.replace("def reply", "@tool\ndef reply"), CALL),
        # Filled otherwise, or not waited for.
        (CHAT.replace("    if place:", "    place = place or 'Rome'\n    if place:"), CALL),
        (CHAT.replace("place=None", "place='Rome'"), CALL),
        (CHAT.replace("if place:", "if history or place:"), CALL),
        (CHAT.replace("if place:", "if not place:"), CALL),
        (CLERK, MAKE + "clerk = Clerk('Bob', clock=print)\n"),
        (CLERK, MAKE + "clerk = Clerk('Bob')\nclerk.clock = print\n"),
        (CLERK, MAKE + "\n\nclass Boss(Clerk):\n    pass\n"),
        (CLERK.replace("= clock\n", "= clock or print\n"), MAKE),
        (CLERK + "\n    def wind(self, clock=None):\n        self.clock = clock\n", MAKE),
    ],
)
def test_what_may_be_given_is_told(tmp_path: Path, clerk: str, app: str) -> None:
    assert told(tmp_path, clerk=clerk, app=app) == ["clerk.py"]


def test_without_any_call_nothing_is_known(tmp_path: Path) -> None:
    calls = "from clerk import reply\n\n\ndef test_chat():\n    assert reply([], 'Rome')\n"
    assert told(tmp_path / "a", clerk=CHAT, app=CALL, test_clerk=calls) == []
    assert told(tmp_path / "b", clerk=CHAT) == ["clerk.py"]


def test_other_projects_may_give_what_a_distribution_offers(tmp_path: Path) -> None:
    for package, seen in (("kit", ["clerk.py"]), ("app", [])):
        root = tmp_path / package
        files = {"clerk.py": CHAT, "__init__.py": "from .clerk import reply\n", "use.py": CALL}
        write(root, {f"{package}/{name}": text for name, text in files.items()})
        assert told(root, go="x = 1\n") == seen


def test_the_first_page_tells_of_options(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Call `reply` with a place.\n", encoding="utf-8")
    assert told(tmp_path, clerk=CHAT, app=CALL) == ["clerk.py"]


def test_a_call_that_counts_for_its_name_reads_what_is_inside(tmp_path: Path) -> None:
    recall = "        def recall_memory():\n            if self.clock is None:\n                return []\n"
    recall += "            return self.name.recall_memories(history)\n\n        found = recall_memory()\n"
    clerk = CLERK.replace("    text = 'You help.'\n", f"    text = 'You help.'\n{recall}", 1)
    clerk = clerk.replace("self.name and self.clock is not None", "found").replace("datetime.now()", "found")
    assert told(tmp_path / "a", clerk=clerk, app=MAKE) == []
    assert told(tmp_path / "b", clerk=clerk, app=MAKE.replace("'Ann'", "'Ann', print")) == ["clerk.py"]
