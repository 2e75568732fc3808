"""Tools and models that come out of a helper together with something else, or inside of a provider's own field."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import codes_of_app as codes

MODEL = """
def pick(text):
    if {test}:
        return {hard}
    return {easy}


def ask(client, messages, text, careful=False):
    messages.append({{"role": "user", "content": text}})
    {bind}
    return client.chat.completions.create(messages=messages, {fields})


run = ask
"""
PAIR = {
    "test": "len(text) > 400 or 'why' in text",
    "hard": '("big", "high")',
    "easy": '("small", "low")',
    "bind": "model, effort = pick(text)",
    "fields": "model=model, reasoning_effort=effort",
}
TABLE = {
    "hard": '{"model": "big", "reasoning_effort": "high"}',
    "easy": '{"model": "small", "reasoning_effort": "low"}',
    "bind": "options = pick(text)",
}


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({}, True),
        ({"bind": "model, effort = ('big', 'high') if len(text) > 400 else ('small', 'low')"}, True),
        ({**TABLE, "fields": "model=options['model']"}, True),
        ({**TABLE, "fields": "**pick(text)"}, True),
        ({**TABLE, "bind": "options = {'model': 'big' if 'why' in text else 'small'}", "fields": "**options"}, True),
        # By what is set for the whole of a chat, and the same for each text.
        ({"bind": "model, effort = ('big', 'high') if careful else ('small', 'low')"}, False),
        ({"test": "CAREFUL"}, False),
        ({**TABLE, "test": "CAREFUL", "fields": "**pick(text)"}, False),
        ({"bind": "model, effort = 'big', pick(text)[1]", "fields": "model=model, top_p=effort"}, False),
    ],
)
def test_a_model_among_several_results(tmp_path: Path, parts: dict[str, str], found: bool) -> None:
    assert ("CSF306" in codes(tmp_path, MODEL.format(**PAIR | parts))) is found


TOOLS = """
def ask(client, messages, text, careful=False):
    messages.append({{"role": "user", "content": text}})
    tools = [FIND, OPEN]
    if {test}:
        tools.append(REFILL)
    return client.{call}


run = ask
"""
CONVERSE = 'converse(modelId="m", messages=messages, toolConfig={"tools": tools})'
GEMINI = (
    'models.generate_content(model="m", contents=messages, '
    "config=GenerateContentConfig(tools=[Tool(function_declarations=tools)]))"
)


@pytest.mark.parametrize("call", [CONVERSE, GEMINI])
@pytest.mark.parametrize(("test", "found"), [("'refill' in text", True), ("SETTINGS.refill", False)])
def test_tools_inside_of_a_field(tmp_path: Path, call: str, test: str, found: bool) -> None:
    assert ("CSF305" in codes(tmp_path, TOOLS.format(test=test, call=call))) is found


def test_the_order_of_tools_inside_of_a_field(tmp_path: Path) -> None:
    text = (
        "def ask(client, messages, names):\n    tools = {0}(names)\n    return client." + CONVERSE + "\n\n\nrun = ask\n"
    )
    assert codes(tmp_path / "set", text.replace("{0}", "set")) == ["CSF204"]
    assert codes(tmp_path / "sorted", text.replace("{0}", "sorted")) == []


MARKED = """
def block(text, last=True):
    {test}
    return {{"type": "text", "text": text, "cache_control": {{"type": "ephemeral"}}}}


def marked(history):
    messages = []
    for role, text in {over}:
        {step}
    return messages


def ask(client, history):
    return client.messages.create(model="m", max_tokens=9, messages=marked(history))


run = ask
"""
STEPS = {
    "test": "",
    "over": "history",
    "step": 'messages.append({"role": role, "content": [block(text)]})',
}


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({}, True),
        ({"step": 'messages += [{"role": role, "content": [block(text)]}]'}, True),
        ({"step": "messages.append({'role': role, 'content': [{'text': text}, {'cachePoint': {'type': 'x'}}]})"}, True),
        ({"step": "messages.append(UserMessage(role=role, content=[block(text)]))"}, True),
        # The last ones alone, under a test of the helper or of the loop, or none.
        ({"over": "history[-2:]"}, False),
        ({"test": "if not last:\n        return {'type': 'text', 'text': text}"}, False),
        ({"step": 'if role == "user":\n            messages.append({"role": role, "content": [block(text)]})'}, False),
        ({"step": 'messages.append({"role": role, "content": text})'}, False),
    ],
)
def test_a_marker_on_each_message(tmp_path: Path, parts: dict[str, str], found: bool) -> None:
    assert ("CSF402" in codes(tmp_path, MARKED.format(**STEPS | parts))) is found


def test_a_helper_that_marks_all(tmp_path: Path) -> None:
    text = (
        "def mark(messages):\n    for message in messages{0}:\n"
        '        message["content"][-1]["cache_control"] = {"type": "ephemeral"}\n    return messages\n\n\n'
        "def ask(client, messages):\n"
        '    return client.messages.create(model="m", max_tokens=9, messages=mark(messages))\n\n\nrun = ask\n'
    )
    assert codes(tmp_path / "all", text.replace("{0}", "")) == ["CSF402"]
    assert codes(tmp_path / "last", text.replace("{0}", "[-2:]")) == []
