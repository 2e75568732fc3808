"""A text that a function measures and prints is sent by nobody there; each condition by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

BUILDER = """
from datetime import datetime


def build_messages(history):
    head = f"It is {datetime.now():%H:%M}. " + "Keep to the house rules. " * 9
    return [{"role": "system", "content": head}, *history]
"""
MEASURE = """
import argparse
import json
import re

from builder import build_messages

HEADS = re.compile(r"^#+ ")


def text_of(content):
    if isinstance(content, list):
        parts = []
        for block in content:
            parts.append(str(block.get("text", "")))
        return " ".join(parts)
    return str(content or "")


def sections(text):
    rows = []
    for found in HEADS.finditer(text):
        part = text[: found.start()]
        rows.append((found.group(0), len(part)))
    return rows


def ask(text):
    return CLIENT.ask(text)


def measure(history, store):
    messages = build_messages(history)
    system_message = messages[0] if messages else {}
    BODY


if __name__ == "__main__":
    print(measure(json.loads(input()), None))
"""


def codes(root: Path, body: str) -> list[tuple[str, str]]:
    text = MEASURE.replace("BODY", body)
    write(root, {"desk/builder.py": BUILDER, "desk/measure.py": text, "app.py": "from desk import builder\n"})
    found = places(lint([root], cache=False).findings)
    return [(name, code) for name, _, code in found if name == "measure.py"]


@pytest.mark.parametrize(
    "body",
    [
        "return len(text_of(system_message.get('content')))",
        "return {'chars': len(text_of(system_message['content'])), 'messages': len(messages)}",
        "text = system_message['content']\n    for head, size in sorted(sections(text)):\n        print(head, size)",
        "found = sections(text_of(system_message['content']))\n    shown = {'sections': [h for h, _ in found]}\n"
        "    print(json.dumps(shown))",
        "if not system_message:\n        return 0\n    lines = []\n    lines.append(system_message['content'])\n"
        "    print('; '.join(lines))\n    return 1",
        "total = count_tokens(str(system_message['content']))\n    return total",
    ],
    ids=["counted", "parts", "sections", "shown", "lines", "tokens"],
)
def test_what_is_measured_is_not_sent(tmp_path: Path, body: str) -> None:
    assert codes(tmp_path, body) == []


@pytest.mark.parametrize(
    "body",
    [
        "print(len(system_message))\n    return text_of(system_message['content'])",
        "print(len(system_message))\n    return system_message",
        "print(len(system_message))\n    return CLIENT.ask(system_message['content'])",
        "print(len(system_message['content']))\n    return ask(system_message['content'])",
        "print(len(system_message))\n    ask(text=system_message['content'])",
        "print(len(text_of(system_message)))\n    store.prompt = system_message['content']",
        "print(len(text_of(system_message)))\n    store['prompt'] = system_message['content']",
        "print(len(text_of(system_message)))\n    store.append(system_message['content'])",
        "print(len(text_of(system_message)))\n    yield system_message['content']",
        "print(len(text_of(system_message)))\n    return lambda: system_message['content']",
        "print(len(text_of(system_message)))\n    return ask(**locals())",
        # What it is a part of goes on.
        "print(len(text_of(system_message.get('content'))))\n    return CLIENT.ask(messages)",
        "print(len(text_of(system_message.get('content'))))\n    return messages",
        "print(len(text_of(system_message)))\n    first = messages.pop(0)\n    return CLIENT.ask(first)",
        # Nobody looks at it.
        "return bool(text_of(system_message['content']))",
    ],
)
def test_what_goes_on_may_be_sent(tmp_path: Path, body: str) -> None:
    assert codes(tmp_path, body) == [("measure.py", "CSF101")]


COUNTED = """
from datetime import datetime

BASE = "You translate. " + "Keep to the house rules. " * 9
SENT = []


class Desk:
    def size(self, messages):
        {store}
        return sum(len(self.tokenizer.encode(message["content"])) for message in messages)

    def room(self, limit, history):
        head = {{"role": "system", "content": f"It is {{datetime.now():%H:%M}}. " + BASE}}
        {use}

    def ask(self, messages):
        return self.client.chat.completions.create(model="m", messages=messages)


def start(desk, history):
    print(desk.room(9000, history))
    return desk.ask([{{"role": "system", "content": BASE}}, *history])
"""


@pytest.mark.parametrize(
    ("use", "store", "found"),
    [
        ("return limit - self.size([head])", "pass", False),
        ("return limit - len(self.tokenizer.encode(head['content']))", "pass", False),
        ("return limit - token_counter(messages=[head])", "pass", False),
        # It is counted and sent, kept, or given back.
        ("print(self.size([head]))\n        return self.ask([head, *history])", "pass", True),
        ("print(self.size([head]))\n        self.head = head", "pass", True),
        ("print(self.size([head]))\n        return [head, *history]", "pass", True),
        ("return limit - self.size([head])", "SENT.extend(messages)", True),
        ("return limit - self.size([head])", "self.ask(messages)", True),
    ],
)
def test_a_message_that_is_made_to_be_counted(tmp_path: Path, use: str, store: str, found: bool) -> None:
    write(tmp_path, {"desk.py": COUNTED.format(use=use, store=store), "app.py": "import desk\n"})
    assert bool(places(lint([tmp_path], cache=False).findings)) is found
