"""Examples that are drawn for each request and stand in front of the question; each condition by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

HEAD = """import random
import openai
from texts import POOL, PAIRS, SYSTEM

client = openai.OpenAI()
"""
ASK = """
def ask(question):
    newest = {"role": "user", "content": question}
    %s
"""
SENT = "return client.chat.completions.create(model='m', messages=%s)"
SHOTS = """
def shots(k=4):
    found = []
    for one in %s:
        found.append({"role": "user", "content": one["text"]})
        found.append({"role": "assistant", "content": one["label"]})
    return found
"""
FILLED = """
def ask(question):
    messages = [SYSTEM]
    for one in %s:
        messages.append({"role": "user", "content": one["text"]})
        messages.append({"role": "assistant", "content": one["label"]})
    messages.append({"role": "user", "content": question})
    return client.responses.create(model="m", input=messages)
"""
COMPREHENSION = """
def shots():
    return [
        turn
        for one in random.choices(POOL, k=3)
        for turn in ({"role": "user", "content": one["q"]}, {"role": "assistant", "content": one["a"]})
    ]
"""
GENERATOR = """
def shots():
    for one in random.sample(POOL, 3):
        yield {"role": "user", "content": one["q"]}
        yield {"role": "assistant", "content": one["a"]}
"""
METHOD = """
class Shots:
    def __init__(self, pairs):
        self.pairs = pairs

    def turns(self):
        pairs = list(self.pairs)
        random.shuffle(pairs)
        turns = []
        for pair in pairs[:3]:
            turns.extend(pair)
        return turns


async def ask(question):
    messages = [SYSTEM]
    messages += Shots(PAIRS).turns()
    messages.append({"role": "user", "content": question})
    body = {"model": "m", "messages": messages}
    return await client.chat.completions.create(**body)
"""
CONVERSATION = """
def simulate():
    messages = []
    for question in random.sample(POOL, 3):
        messages.append({"role": "user", "content": question})
        reply = client.chat.completions.create(model="m", messages=[SYSTEM, *messages])
        messages.append({"role": "assistant", "content": reply})
    return messages
"""
SPLICED = ASK % (SENT % "[SYSTEM, *shots(), newest]")
# More rows than a file has that is complete by itself.
REST = "\n".join(f"LABEL_{n} = {n}" for n in range(45))


def codes(tmp_path: Path, program: str) -> list[str]:
    """What is found in a program that other files take in."""
    write(tmp_path, {"app.py": f"{HEAD}{program}\n{REST}\n", "main.py": "from app import ask\n\nprint(ask('a'))\n"})
    return [code for _, _, code in places(lint([tmp_path], cache=False).findings)]


@pytest.mark.parametrize(
    "program",
    [
        SHOTS % "random.sample(POOL, k)" + SPLICED,
        SHOTS % "random.sample(POOL, k)" + ASK % (SENT % "[SYSTEM] + shots() + [newest]"),
        COMPREHENSION + SPLICED,
        GENERATOR + SPLICED,
        FILLED % "random.sample(POOL, 4)",
        METHOD,
        ASK % (SENT % "[SYSTEM, *random.sample(PAIRS, 4), newest]"),
        ASK
        % "return client.invoke([SYSTEM_MESSAGE, *random.sample(PAIRS, 4), newest])".replace(
            "SYSTEM_MESSAGE", "{'role': 'system', 'content': 'You label.'}"
        ),
    ],
    ids=["helper", "sum", "comprehension", "generator", "same-list", "method", "whole-messages", "first-argument"],
)
def test_drawn_in_front_of_the_question(tmp_path: Path, program: str) -> None:
    assert codes(tmp_path, program) == ["CSF104"]


@pytest.mark.parametrize(
    "program",
    [
        SHOTS % "POOL[:k]" + SPLICED,
        SHOTS.replace("found = []", "random.seed(7)\n    found = []") % "random.sample(POOL, k)" + SPLICED,
        SHOTS % "random.sample(POOL, k)" + ASK % (SENT % "[SYSTEM, newest, *shots()]"),
        SHOTS % "random.sample(POOL, k)" + "\nFIXED = shots()\n" + SPLICED.replace("shots()", "FIXED"),
        FILLED % "POOL",
        METHOD.replace("random.shuffle(pairs)", "pairs.sort()"),
        CONVERSATION + "\ndef ask(question):\n    return question\n",
        ASK % "print([SYSTEM, *random.sample(PAIRS, 4), newest])",
    ],
    ids=["fixed", "seeded", "behind", "at-import", "same-list", "sorted", "questions", "printed"],
)
def test_nothing_is_drawn_in_front(tmp_path: Path, program: str) -> None:
    assert codes(tmp_path, program) == []
