"""Text that is no head of a conversation: written to files, asked once, put in where something is missing. Each quiet
program has a twin in which a small change makes it a fault."""

from __future__ import annotations

import pytest

from cachesafe_rules.registry import load_rules
from pytest_cachesafe.lint.run import lint_text
from tests.support.lint_examples import check_example

CONVERT = """
import json
from datetime import datetime

STAMP = datetime.now().strftime("%Y-%m-%d")


def convert(source):
    out = []
    for message in source:
        if message["role"] == "system":
            system_prompt = f"You research. Today is {STAMP}." + message["content"]
            out.append({"role": "system", "content": system_prompt})
        else:
            out.append(message)
    return out


"""
TASK = "from datetime import date\n\nEXTRACTION_PROMPT = f'Extract facts. Today is {date.today()}.'\n\n\n"
NAMED = """
import uuid


def build(client, messages, given):
    tools = [{"type": "function", "function": {"name": NAME, "description": "d", "parameters": {}}}]
    return client.chat.completions.create(model="m", messages=messages, tools=tools)
"""
FLOWS = {
    "to-a-file": (
        CONVERT + "def main(source, target):\n    json.dump(convert(source), target)\n",
        CONVERT + "def main(source, target):\n    return target.chat(messages=convert(source))\n",
    ),
    "to-a-file-as-text": (
        CONVERT + "def main(source, target):\n    target.write(json.dumps({'messages': convert(source)}))\n",
        CONVERT + "def main(source, target):\n    messages = convert(source)\n    json.dump(messages, target)\n"
        "    return ask(messages)\n",
    ),
    "task-in-one-message": (
        TASK + "def extract(llm, text):\n    return llm.invoke(EXTRACTION_PROMPT + text)\n",
        TASK + "def extract(llm, text):\n    return llm.invoke([('system', EXTRACTION_PROMPT), ('human', text)])\n",
    ),
    "task-filled": (
        TASK + "def extract(llm, text):\n    return llm.complete(EXTRACTION_PROMPT.format(text=text))\n",
        TASK + "def extract(llm, text):\n    return llm.complete(text, system_prompt=EXTRACTION_PROMPT)\n",
    ),
    "id-where-none-is-given": (
        NAMED.replace("NAME", "given or str(uuid.uuid4())"),
        NAMED.replace("NAME", "given + str(uuid.uuid4())"),
    ),
    "id-if-none-is-given": (
        NAMED.replace("NAME", "given if given else uuid.uuid4().hex"),
        NAMED.replace("NAME", "'tool' if not given else uuid.uuid4().hex"),
    ),
}


@pytest.mark.parametrize("name", FLOWS)
def test_text_goes_elsewhere(name: str) -> None:
    quiet, loud = FLOWS[name]
    assert [f"{r.code} {r.message}" for r in lint_text(quiet, "pkg/chat.py")] == []
    assert lint_text(loud, "pkg/chat.py"), loud


ASK = """
def METHOD(client, history, question):
    recent = history[-6:]
    messages = [{"role": "system", "content": "TEXT"}, *recent, {"role": "user", "content": question}]
    return client.chat.completions.create(model="m", messages=messages)
"""
INSERT = """
def send(client, messages, question):
    found = False
    for message in messages:
        if message["role"] == "user":
            found = True
    if TEST:
        messages.insert(0, {"role": "user", "content": question})
    return client.chat.completions.create(model="m", messages=messages)
"""


def _ask(method: str, text: str) -> str:
    return ASK.replace("METHOD", method).replace("TEXT", text)


def _insert(test: str) -> str:
    return INSERT.replace("TEST", test)


SHAPES = {
    "query-by-name": (_ask("generate_search_query", "Help."), _ask("handle_query", "Help."), "CSF303"),
    "follow-ups": (_ask("suggest_follow_ups", "Help."), _ask("follow", "Help."), "CSF303"),
    "query-by-text": (
        _ask("run", "Write a standalone search query for the chat."),
        _ask("run", "You help. If asked, you write search queries."),
        "CSF303",
    ),
    "title-by-text": (_ask("run", "Give this chat a short title."), _ask("run", "You give advice."), "CSF303"),
    "both-lists": (
        _ask("run", "Summarize the chat."),
        _ask("run", "Summarize the chat.").replace(
            "    return", '    messages = [{"role": "system", "content": "You help."}, *recent]\n    return'
        ),
        "CSF303",
    ),
    "no-user-message-found": (_insert("not found"), _insert("question"), "CSF302"),
    "no-user-message-any": (
        _insert('not any(m["role"] == "user" for m in messages)'),
        _insert('any(word in question for word in ("why", "how"))'),
        "CSF302",
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_list_is_not_the_chat(name: str) -> None:
    quiet, loud, code = SHAPES[name]
    (rule,) = load_rules((code,))
    assert [r.message for r in check_example(rule, quiet)] == []
    assert list(check_example(rule, loud)), loud
