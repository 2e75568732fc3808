"""A chat that gets a message in front on every turn, whatever it says; each condition with its twin."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import codes_of_app as codes

CHAT = """
class Chat:
    def __init__(self, client, board):
        self.client = client
        self.board = board
        self.begun = False
        self.history = []

    {other}

    async def reply(self, text):
        delays = await self.board.delays()
        {put}
        {grow}
        answer = await self.client.chat.completions.create(model="m", messages={sent})
        {after}
        return answer
"""
NOTE = '{"role": "user", "content": f"Delays: {delays}"}'
INSERT = f"self.history.insert(0, {NOTE})"
PARTS = {
    "other": "pass",
    "put": INSERT,
    "grow": 'self.history.append({"role": "user", "content": text})',
    "sent": '[{"role": "system", "content": "You help."}, *self.history]',
    "after": "self.history.append(answer.choices[0].message)",
}
LOOP = """
def run(client, read, tools):
    messages = []
    {before}
    while True:
        {inside}
        messages.append({{"role": "user", "content": read()}})
        answer = client.chat.completions.create(model="m", messages=messages, tools=tools)
        messages.append(answer.choices[0].message)
"""
FIXED = 'messages.insert(0, {"role": "system", "content": "Be brief."})'


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({}, True),
        ({"put": f"self.history[:0] = [{NOTE}]"}, True),
        ({"put": f"self.history[-1:] = [{NOTE}]"}, False),
        ({"put": f"self.history = [{NOTE}] + self.history"}, True),
        ({"put": f"self.history = [{NOTE}, *self.history]"}, True),
        ({"put": f"self.history.appendleft({NOTE})"}, True),
        ({"put": f"self.history.append({NOTE})"}, False),
        ({"grow": 'self.history += [{"role": "user", "content": text}]'}, True),
        # A helper does it, on each turn.
        ({"other": f"def pin(self, delays):\n        {INSERT}", "put": "self.pin(delays)"}, True),
        ({"other": f"def pin(self, delays):\n        {INSERT}", "put": "pass"}, False),
        # A test on what was found may hold each time, one on the list or on a flag does once.
        ({"put": f"if delays:\n            {INSERT}"}, True),
        ({"put": f"if not self.history:\n            {INSERT}"}, False),
        ({"put": f"if not self.begun:\n            self.begun = True\n            {INSERT}"}, False),
        # It is taken out again, or the list is begun anew.
        ({"after": "self.history.pop(0)"}, False),
        ({"after": "del self.history[0]"}, False),
        ({"after": "self.history = []"}, False),
        # No turn of a chat, or a list that is not sent.
        ({"grow": "pass"}, False),
        ({"sent": '[{"role": "user", "content": text}]'}, False),
        ({"put": f"messages = list(self.history)\n        messages.insert(0, {NOTE})"}, False),
    ],
)
def test_a_turn_that_puts_a_message_in_front(tmp_path: Path, parts: dict[str, str], found: bool) -> None:
    assert ("CSF302" in codes(tmp_path, CHAT.format(**PARTS | parts))) is found


@pytest.mark.parametrize(
    ("before", "inside", "found"),
    [("pass", FIXED, True), (FIXED, "pass", False), ("pass", f"messages = []\n        {FIXED}", False)],
)
def test_a_loop_that_puts_one_in_each_round(tmp_path: Path, before: str, inside: str, found: bool) -> None:
    assert ("CSF302" in codes(tmp_path, LOOP.format(before=before, inside=inside))) is found
