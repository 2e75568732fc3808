"""A first message that is rewritten with the state of a chat; each condition with its twin, in a project of files."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import codes_of_app as codes

DESK = """
BASE = "You take bookings."


class Desk:
    def __init__(self, client, helper):
        self.client = client
        self.helper = helper
        self.stage = "greeting"
        self.open = []
        self.tools = []
        self.messages = [{{"role": "system", "content": BASE}}]

    {other}

    async def answer(self, text):
        {before}
        {write}
        self.messages.append({{"role": "user", "content": text}})
        reply = await self.client.chat.completions.create(model="m", messages=self.messages)
        self.messages.append(reply.choices[0].message)
        return reply
"""
PARTS = {
    "other": "def finish(self, item):\n        self.open.remove(item)",
    "before": "self.stage = self.helper.following(self.stage, text)",
    "write": 'self.messages[0]["content"] = f"{BASE} Stage: {self.stage}."',
}
OPEN = 'self.messages[0] = {"role": "system", "content": BASE + ", ".join(self.open)}'
PROPERTY = "@property\n    def system(self):\n        return BASE + self.stage"
HELPER = 'def refresh(self):\n        self.messages[0]["content"] = f"{BASE} Stage: {self.stage}."'
LOOP = """
BASE = "You plan."


def run(client, read, following):
    messages = [{{"role": "system", "content": BASE}}]
    plan = following()
    while True:
        messages.append({{"role": "user", "content": read()}})
        messages[0]["content"] = BASE + "; ".join(plan)
        reply = client.chat.completions.create(model="m", messages=messages).choices[0].message
        messages.append(reply)
        {after}
"""


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({}, True),
        # What is set when the object is made, once, by a setting, or by nobody, is the same in the next request.
        ({"before": "pass"}, False),
        ({"before": "if not self.stage:\n            self.stage = self.helper.following(self.stage, text)"}, False),
        ({"before": "pass", "other": "def set_tone(self, tone):\n        self.tone = tone",
          "write": 'self.messages[0]["content"] = f"{BASE} {self.tone}"'}, False),
        # Changed by another method that goes on from what it was.
        ({"write": OPEN}, True),
        ({"write": OPEN, "other": "def load_open(self, rows):\n        self.open.extend(rows)"}, False),
        ({"write": OPEN.replace("self.open", "self.tools"), "other": "def add(self, t):\n        self.tools.append(t)"},
         False),
        # What the user has just said decides, not what belongs to the object.
        ({"before": "tone = self.helper.tone(text)",
          "write": 'self.messages[0].update(content=f"{BASE} {tone}")'}, True),
        ({"before": "tone = self.helper.tone(self.client)",
          "write": 'self.messages[0].update(content=f"{BASE} {tone}")'}, False),
        # Another way to write it, elsewhere, or no longer in front.
        ({"other": PROPERTY, "write": 'self.messages[:1] = [{"role": "system", "content": self.system}]'}, True),
        ({"other": PROPERTY.replace("self.stage", "BASE"),
          "write": 'self.messages[:1] = [{"role": "system", "content": self.system}]'}, False),
        ({"write": 'first = {"role": "system", "content": self.stage}\n'
          "        self.messages = [first, *self.messages[1:]]"}, True),
        ({"other": HELPER, "write": "self.refresh()"}, True),
        ({"other": HELPER, "write": "pass"}, False),
        ({"write": 'self.messages[-1]["content"] += f" Stage: {self.stage}."'}, False),
        # Its own text once more.
        ({"write": 'self.messages[0]["content"] = self.messages[0]["content"].strip()'}, False),
    ],
)  # fmt: skip
def test_a_method_that_sets_the_state_anew(tmp_path: Path, parts: dict[str, str], found: bool) -> None:
    assert ("CSF307" in codes(tmp_path, DESK.format(**PARTS | parts))) is found


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ("plan = following(plan, reply)", True),
        ("plan.append(reply.content)", True),
        ("print(plan)", False),
        ("rest = following(plan, reply)", False),
    ],
)
def test_a_loop_that_goes_on_from_what_was(tmp_path: Path, after: str, found: bool) -> None:
    assert ("CSF307" in codes(tmp_path, LOOP.format(after=after))) is found


def test_of_what_is_given_only_a_state_changes(tmp_path: Path) -> None:
    text = (
        "from langchain_core.messages import SystemMessage\n\n\n"
        "def turn(llm, messages, {name}):\n"
        "    messages[0] = SystemMessage(content=f'You book. {{{name}}}')\n"
        "    return llm.invoke(messages)\n"
    )
    assert "CSF307" in codes(tmp_path / "state", text.format(name="dialog_state"))
    assert codes(tmp_path / "other", text.format(name="persona")) == []
    assert codes(tmp_path / "prompt", text.format(name="state_prompt")) == []


SESSION = """
BASE = "You book."
place = {{"town": "Rome"}}


def pick(session, item):
    {tool}


def turn(client, session, text, find):
    {before}
    session.messages[0]["content"] = f"{{BASE}} {shown}"
    session.messages.append({{"role": "user", "content": text}})
    reply = client.chat.completions.create(model="m", messages=session.messages)
    session.messages.append(reply.choices[0].message)
    return reply
"""


@pytest.mark.parametrize(
    ("tool", "before", "shown", "found"),
    [
        ("session.basket.append(item)", "pass", "Basket: {session.basket}", True),
        ("session.seen.append(item)", "pass", "Basket: {session.basket}", False),
        # Of a dict the key that is read, of the module what is not a name of the function's own.
        ("session.data['town'] += item", "pass", "Town: {session.data['town']}", True),
        ("session.data['page'] += item", "pass", "Town: {session.data['town']}", False),
        ("place['town'] += item", "pass", "Town: {place['town']}", True),
        ("place['page'] = item", "pass", "Town: {place['town']}", False),
        ("place['town'] += item", "place = find()", "Town: {place['town']}", False),
        # A session that another function makes for itself.
        ("session = Session()\n    session.basket.append(item)", "pass", "Basket: {session.basket}", False),
    ],
)
def test_the_state_of_what_is_handed_in(tmp_path: Path, tool: str, before: str, shown: str, found: bool) -> None:
    assert ("CSF307" in codes(tmp_path, SESSION.format(tool=tool, before=before, shown=shown))) is found
