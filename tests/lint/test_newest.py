"""A chat that is read with a limit is a window where its newest messages are taken, and where anybody gives one."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

CHAT = """
from store import {name}


def answer(client, session, text):
    history = {name}(session, limit=12)
    messages = [{{"role": "system", "content": "You help."}}, *history, {{"role": "user", "content": text}}]
    return client.chat.completions.create(model="m", messages=messages)
"""
TURNED = CHAT.replace("*history", "*reversed(history)")
STORE = "def {name}(session, limit):\n    {body}\n"


@pytest.mark.parametrize(
    ("body", "chat", "found"),
    [
        ("return DB[session][-limit:]", CHAT, True),
        ("return run('select * from m where s = ? order by t desc limit ?', session, limit)", CHAT, True),
        (
            "return rows(session, limit)\n\n\ndef rows(session, limit):\n    return frame(session).tail(limit)",
            CHAT,
            True,
        ),
        ("return run('select * from m where s = ? order by t limit ?', session, limit)", CHAT, False),
        ("return DB[session][:limit]", CHAT, False),
        ("found = DB[session]\n    found[-1]['end'] = True\n    return found[:limit]", CHAT, False),
        ("return run('select * from m where s = ? limit ?', session, limit)", TURNED, True),
    ],
    ids=["slice", "sql", "handed-on", "ascending", "first", "one-item", "turned-round"],
)
def test_the_end_is_seen_to_be_taken(tmp_path: Path, body: str, chat: str, found: bool) -> None:
    name = "get_history"
    write(tmp_path, {"store.py": STORE.format(name=name, body=body), "app.py": chat.format(name=name)})
    told = [c for path, _, c in places(lint([tmp_path], cache=False).findings) if path == "app.py"]
    assert ("CSF303" in told) is found


def test_of_a_reader_from_elsewhere_the_name_says_enough(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": CHAT.format(name="get_history")})
    assert "CSF303" in {c for _, _, c in places(lint([tmp_path], cache=False).findings)}


INSERT = """
from typing import Optional


def make():
    return Service()


class Service:
    def answer(self, question: str, chat: Optional[Chat] = None):
        messages = [{"role": "user", "content": question}]
        if chat:
            messages.extend(chat.messages)
        return self.client.chat.completions.create(model="m", messages=messages)
"""
CALL = "from service import make\n\n\ndef handle(text, chat):\n    return make().answer(question=text{more})\n"


@pytest.mark.parametrize(("more", "codes"), [(", chat=chat", ["CSF302"]), ("", [])], ids=["given", "never-given"])
def test_a_history_that_nobody_gives_loses_nothing(tmp_path: Path, more: str, codes: list[str]) -> None:
    """And where it is given, the place is told once, by the more exact rule."""
    write(tmp_path, {"pyproject.toml": "", "src/service.py": INSERT, "src/app.py": CALL.format(more=more)})
    assert [c for _, _, c in places(lint([tmp_path], cache=False).findings)] == codes
