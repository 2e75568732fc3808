"""Old messages that a loop counts from the newest one back and cuts; each condition with its twin."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import codes_of_app as codes

TRIM = """
KEEP = 3


def trim(messages):
    {count}
    for {over}:
        {test}
            {edit}


def audit(client, messages, tools, run_tool):
    while True:
        {call}
        response = client.messages.create(model="m", max_tokens=9, tools=tools, messages=messages)
        messages.append({{"role": "assistant", "content": response.content}})
        messages.append({{"role": "user", "content": [run_tool(block) for block in response.content]}})
"""
PARTS = {
    "count": "seen = 0",
    "over": "message in reversed(messages)",
    "test": "seen += 1\n        if seen > KEEP:",
    "edit": 'message["content"] = "[removed]"',
    "call": "trim(messages)",
}
BLOCKS = (
    'for block in message["content"]:\n            seen += 1\n            if seen <= KEEP:\n                continue\n'
    '            if block["type"] == "tool_result":'
)
INDEXED = {"over": "i in range(len(messages) - 1, -1, -1)", "edit": 'messages[i]["content"] = "[removed]"'}
DOWN = "if left > 0:\n            left -= 1\n        else:"


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({}, True),
        # From the first message on, all that is kept stays as it is.
        ({"over": "message in messages"}, False),
        ({"over": "message in messages[::-1]"}, True),
        ({"over": "age, message in enumerate(reversed(messages))", "test": "if age >= KEEP:"}, True),
        ({"over": "age, message in enumerate(messages)", "test": "if age >= KEEP:"}, False),
        (INDEXED, True),
        (INDEXED | {"over": "i in range(len(messages))"}, False),
        # Those that are near, or all alike.
        ({"test": "seen += 1\n        if seen <= KEEP:"}, False),
        ({"test": "if seen > KEEP:"}, False),
        ({"test": 'if message["role"] == "tool":'}, False),
        ({"count": "left = KEEP", "test": DOWN}, True),
        ({"count": "left = KEEP", "test": DOWN.replace("> 0", "<= 0")}, False),
        ({"count": "kept = []", "test": "kept.append(message)\n        if len(kept) > KEEP:"}, True),
        # A part of a message, by a name or where it stands.
        ({"test": BLOCKS, "edit": '    block["content"] = "[removed]"'}, True),
        ({"test": BLOCKS.replace("<= KEEP", "> KEEP"), "edit": '    block["content"] = "[removed]"'}, False),
        ({"edit": 'message["content"] = [{"type": "text", "text": "[removed]"}]'}, True),
        # The same text, in another form.
        ({"edit": 'message["content"] = [{"type": "text", "text": message["content"]}]'}, False),
        # Another part, or another message, in the place of an old one.
        ({"edit": 'message["content"][0] = {"type": "text", "text": "[removed]"}'}, True),
        ({"edit": 'message["content"][0] = {"type": "text", "text": message["text"]}'}, False),
        (INDEXED | {"edit": 'messages[i] = {"role": "user", "content": "[removed]"}'}, True),
        (INDEXED | {"edit": "messages[i] = converted(messages[i])"}, False),
        # Seldom, or never.
        ({"call": "if count_tokens(messages) > 100_000:\n            trim(messages)"}, False),
        ({"call": "pass"}, False),
    ],
)
def test_what_lies_further_off_than_a_count(tmp_path: Path, parts: dict[str, str], found: bool) -> None:
    assert ("CSF307" in codes(tmp_path, TRIM.format(**PARTS | parts))) is found


def test_messages_that_were_picked_out(tmp_path: Path) -> None:
    text = (
        "def clear(messages):\n"
        "    tool_messages = [m for m in messages if m.type == 'tool']\n"
        "    for m in tool_messages{part}:\n"
        "        m.content = 'cleared'\n\n\n"
        "def loop(llm, messages, run):\n"
        "    while True:\n"
        "        clear(messages)\n"
        "        answer = llm.invoke(messages)\n"
        "        messages.append(answer)\n"
        "        messages.append(run(answer))\n"
    )
    assert "CSF307" in codes(tmp_path / "end", text.format(part="[:-2]"))
    assert codes(tmp_path / "all", text.format(part="")) == []
