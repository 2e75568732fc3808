"""State of what a function is given, in marked blocks, in front of fixed ones and in rewritten first messages."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import codes_of_app as codes

BLOCKS = """
import anthropic

client = anthropic.Anthropic()
MANUAL = open("manual.md").read()


{helper}


def system_for(case):
    told = {told}
    return [
        {{"type": "text", "text": {first}}},
        {{"type": "text", "text": {second}, "cache_control": {{"type": "ephemeral"}}}},
    ]


def run(case=None, messages=()):
    return client.messages.create(model="m", max_tokens=9, system=system_for(case), messages=messages)
"""
TOLD = 'f"Case {case.number} is {case.status}."'
HELPER = "def tell(case):\n    return f'Pulse {case.pulse}'"
LATEST = "def tell(case):\n    return f'{read_latest(case)}'"
LATEST_MODEL = "def tell(case):\n    return f'{latest_version(case)}'"


@pytest.mark.parametrize(
    ("helper", "told"),
    [
        ("", TOLD),
        ("", "f'{len(case.comments)} comments'"),
        ("", "'It is ' + case['status']"),
        (HELPER, "tell(case)"),
        (LATEST, "tell(case)"),
    ],
)
def test_state_of_what_a_function_is_given(tmp_path: Path, helper: str, told: str) -> None:
    text = BLOCKS.format(helper=helper, told=told, first="told", second="MANUAL")
    assert codes(tmp_path / "before", text) == ["CSF301"]
    text = BLOCKS.format(helper=helper, told=told, first="MANUAL", second="told")
    assert codes(tmp_path / "marked", text) == ["CSF401"]


@pytest.mark.parametrize(
    ("helper", "told"),
    [
        # What stands in no text as a state, what is set up once, and what is no state by its name.
        ("", "f'Case {case.number} of {case.branch}.'"),
        ("", "f'Read {case.status_url}, {case.max_steps} steps.'"),
        ("", "f'Mode {case.settings.state}'"),
        (HELPER.replace("case.pulse", "MANUAL"), "tell(case)"),
        (LATEST_MODEL, "tell(case)"),
    ],
)
def test_what_stays_is_no_state(tmp_path: Path, helper: str, told: str) -> None:
    text = BLOCKS.format(helper=helper, told=told, first="told", second="MANUAL")
    assert codes(tmp_path / "before", text) == []
    text = BLOCKS.format(helper=helper, told=told, first="MANUAL", second="told")
    assert codes(tmp_path / "marked", text) == []


FIRST = """
class Merchant:
    def __init__(self, client):
        self.client = client
        self.messages = [{{"role": "system", "content": CARD}}]

    def _look(self, {given}):
        self.messages[0]["content"] = CARD + f"The customer has {{{value}}}."

    def say(self, {given}, line):
        {call}
        self.messages.append({{"role": "user", "content": line}})
        return self.client.chat.completions.create(model="m", messages=self.messages)


def run(client=None, one=None):
    print(Merchant(client).say(one, "Hello"))
"""


@pytest.mark.parametrize(
    ("given", "value", "call", "found"),
    [
        ("player", "player.gold", "self._look(player)", True),
        ("player", "player['gold']", "self._look(player)", True),
        ("player", "player.language", "self._look(player)", False),
        ("settings", "settings.gold", "self._look(settings)", False),
        # Once, and not on the way to a request.
        ("player", "player.gold", "pass", False),
    ],
)
def test_the_first_message_tells_the_state(tmp_path: Path, given: str, value: str, call: str, found: bool) -> None:
    text = FIRST.format(given=given, value=value, call=call)
    assert ("CSF307" in codes(tmp_path, text)) is found


ASKED = """
import anthropic

client = anthropic.Anthropic()
STYLE = open("style.md").read()


def brief(city, when):
    items = find_events({given})
    listed = "\\n".join(f"- {{item.title}}" for item in items)
    system = [
        {{"type": "text", "text": STYLE}},
        {{"type": "text", "text": listed, "cache_control": {{"type": "ephemeral"}}}},
    ]
    messages = [{{"role": "user", "content": {question}}}]
    return client.messages.create(model="m", max_tokens=9, system=system, messages=messages)


def run():
    print(brief("Bern", "today"))
"""


@pytest.mark.parametrize(
    ("given", "question", "found"),
    [
        ("city, limit=9", 'f"What is on in {city}?"', True),
        ("CATALOGUE", 'f"What is on in {city}?"', False),
        # Of two values in a text it is not seen which of them is asked.
        ("city", 'f"What is on in {city} {when}?"', False),
    ],
)
def test_what_is_found_for_the_one_value_of_the_question(
    tmp_path: Path, given: str, question: str, found: bool
) -> None:
    text = ASKED.format(given=given, question=question)
    assert ("CSF401" in codes(tmp_path, text)) is found
