"""A time that is read once and kept is told as that; one thing that reads it anew makes it a clock again."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import write

from pytest_cachesafe.lint.run import lint

HEADER = """
from datetime import datetime


def header(name):
    return f"You are {name}, a clerk of the town hall. Name the office that is meant. It is {datetime.now():%H:%M}."
"""
BOT = """
import functools

from app.clock import header


class Bot:
    def __init__(self, client):
        self.client = client
        self.session = {{}}
        self.text = None
        self.history = []
        {made}

    def system(self):
        {kept}

    def ask(self, text):
        self.history.append({{"role": "user", "content": text}})
        return self.client.messages.create(model="m", max_tokens=9, system={sent}, messages=self.history)


{decorator}
def cached(name):
    return header(name)


def {main}:
    history = []
    {first}
    {loop}
        history.append({{"role": "user", "content": input()}})
        {again}
        print(client.messages.create(model="m", max_tokens=9, system={talk}, messages=history))
"""
CLEAN = '"You help people."'
FORM = "datetime.now() is read once, {}, and reaches "
ANEW = "datetime.now() changes every minute and reaches "


def told(root: Path, **parts: str) -> list[tuple[str, str, str]]:
    words = {
        "made": "pass", "kept": "return ''", "sent": CLEAN, "decorator": "@functools.wraps", "main": "main(client)",
        "first": "pass", "loop": "while True:", "again": "pass", "talk": CLEAN, **parts,
    }  # fmt: skip
    calls = (
        "from app import bot\n\nbot.Bot(1).ask('x')\nbot.main(1)\nbot.start(1)\nbot.cached('x')\nbot.Bot(1).system()\n"
    )
    write(root, {"app/clock.py": HEADER, "app/bot.py": BOT.format(**words), "main.py": calls, "app/__init__.py": ""})
    return [(f.code, str(f.severity), f.message) for f in lint([root], cache=False).findings]


SYSTEM = {"sent": "self.system()"}
KEPT = "header('Bob')\n        return "
PINNED = {
    "constructor": ({"made": "self.text = header('Bob')", "sent": "self.text"}, "when a Bot is made"),
    "program": ({"first": "system = header('Bob')", "talk": "system"}, "when main() starts"),
    "attribute": (
        {"kept": "if self.text is None:\n            self.text = header('Bob')\n        return self.text", **SYSTEM},
        "while self.text is missing",
    ),
    "early": (
        {"kept": f"if self.text:\n            return self.text\n        self.text = {KEPT}self.text", **SYSTEM},
        "while self.text is missing",
    ),
    "item": (
        {
            "kept": "if 'a' not in self.session:\n            self.session['a'] = header('Bob')\n"
            "        return self.session['a']",
            **SYSTEM,
        },
        "while self.session['a'] is missing",
    ),
}
ANEW_EACH_TIME = {
    "constructor of a lambda": {"made": "self.text = lambda: header('Bob')", "sent": "self.text()"},
    "in the loop": {"again": "system = header('Bob')", "talk": "system"},
    "for each request": {"main": "main(req, client)", "first": "system = header('Bob')", "talk": "system"},
    "no program": {"main": "start(client)", "first": "system = header('Bob')", "talk": "system"},
    "another attribute is asked": {
        "kept": "if self.client is None:\n            self.text = header('Bob')\n        return self.text",
        **SYSTEM,
    },
    "where it is there": {
        "kept": "if self.text is not None:\n            self.text = header('Bob')\n        return self.text",
        **SYSTEM,
    },
    "always": {"kept": f"self.text = {KEPT}self.text", **SYSTEM},
    "not cached": {"sent": "cached('Bob')"},
}


@pytest.mark.parametrize(("parts", "when"), PINNED.values(), ids=PINNED)
def test_a_time_that_is_kept_is_a_warning(tmp_path: Path, parts: dict[str, str], when: str) -> None:
    ((code, severity, message),) = told(tmp_path, **parts)
    assert (code, severity) == ("CSF101", "warning")
    assert message.startswith(FORM.format(when))


@pytest.mark.parametrize("parts", ANEW_EACH_TIME.values(), ids=ANEW_EACH_TIME)
def test_one_that_is_read_anew_is_an_error(tmp_path: Path, parts: dict[str, str]) -> None:
    ((code, severity, message),) = told(tmp_path, **parts)
    assert (code, severity) == ("CSF101", "error")
    assert message.startswith(ANEW)


def test_a_cached_function_is_not_the_import(tmp_path: Path) -> None:
    ((code, severity, message),) = told(tmp_path, sent="cached('Bob')", decorator="@functools.cache")
    assert (code, severity) == ("CSF102", "warning")
    assert message.startswith(FORM.format("by the first call of cached() with the same arguments"))
