"""The time that an entry of a list is written with stays with it, where the list lives on."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

STAMP = "datetime.now().strftime('%Y-%m-%d')"
CALLS = """
from datetime import datetime


class Show:
    def __init__(self, store):
        self.callers = store.load()

    def answer(self, client, history, name, text):
        listed = ""
        for call in self.callers[name]["calls"]:
            listed += f"On {{call['{field}']}} of {{call['topic']}}.\\n"
        reply = client.invoke([{{"role": "system", "content": f"You help. {{listed}} Be brief."}}, *history])
        {before}
        {put}
        return reply
"""
ENTRY = "{'topic': text, 'FIELD': " + STAMP + "}"


def codes(root: Path, text: str) -> list[str]:
    """The codes of the findings in a project of one file."""
    write(root, {"a.py": text})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


def calls(root: Path, put: str, *, field: str = "date", before: str = "pass") -> list[str]:
    entry = ENTRY.replace("FIELD", field)
    return codes(root, CALLS.format(field=field, before=before, put=put.replace("ENTRY", entry)))


PUT = "self.callers[name]['calls'].append(ENTRY)"


@pytest.mark.parametrize(
    "put",
    [
        PUT,
        "self.callers[name]['calls'].insert(0, ENTRY)",
        "self.callers[name]['calls'].extend([ENTRY])",
        "self.callers[name]['calls'] += [ENTRY]",
    ],
)
@pytest.mark.parametrize("field", ["date", "timestamp", "call_time", "created_at"])
def test_a_stamp_of_an_entry(tmp_path: Path, put: str, field: str) -> None:
    assert calls(tmp_path, put, field=field) == []


@pytest.mark.parametrize("field", ["now", "current_date", "said"])
def test_a_field_that_is_no_stamp(tmp_path: Path, field: str) -> None:
    assert calls(tmp_path, PUT, field=field) == ["CSF103"]


def test_what_is_no_entry_of_a_list(tmp_path: Path) -> None:
    assert calls(tmp_path, "self.callers[name]['calls'] = [ENTRY]") == ["CSF103"]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("self.callers[name] = {'calls': []}", ["CSF103"]),
        ("self.callers = {name: {'calls': []}}", ["CSF103"]),
        ("self.callers.clear()", ["CSF103"]),
        ("if name not in self.callers:\n            self.callers[name] = {'calls': []}", []),
        ("self.callers[name]['calls'] = self.callers[name]['calls'][-10:]", []),
    ],
)
def test_a_list_that_is_made_anew(tmp_path: Path, before: str, expected: list[str]) -> None:
    assert calls(tmp_path, PUT, before=before) == expected


@pytest.mark.parametrize(
    ("read", "expected"),
    [("self.seen", []), ("self.seen[-3:]", []), ("self.seen[0]", []), ("self.seen[-1]", ["CSF103"])],
)
def test_the_newest_entry(tmp_path: Path, read: str, expected: list[str]) -> None:
    text = (
        "from datetime import datetime\n\n\nclass Watch:\n"
        "    def build(self, text, history):\n"
        f"        self.seen.append({ENTRY.replace('FIELD', 'date')})\n"
        f"        system_prompt = f'You help. {{{read}}} Be brief.'\n"
        "        return [{'role': 'system', 'content': system_prompt}, *history]\n"
    )
    assert codes(tmp_path, text) == expected


def test_an_entry_of_nothing_but_a_time(tmp_path: Path) -> None:
    assert calls(tmp_path, PUT.replace("ENTRY", f"{{'date': {STAMP}}}")) == ["CSF103"]


@pytest.mark.parametrize(("made", "expected"), [("self.parts = []", ["CSF103"]), ("self.round += 1", [])])
def test_a_list_that_is_made_anew_before_its_entries(tmp_path: Path, made: str, expected: list[str]) -> None:
    text = (
        "from datetime import datetime\n\n\nclass Builder:\n"
        "    def __init__(self):\n        self.parts = []\n        self.round = 0\n\n"
        f"    def add(self, text):\n        self.parts.append({ENTRY.replace('FIELD', 'date')})\n\n"
        "    def listed(self):\n"
        "        return ''.join(f'{part[\"date\"]} {part[\"topic\"]}' for part in self.parts)\n\n"
        f"    def begin(self, text):\n        {made}\n        self.add(text)\n\n"
        "    def build(self, text, history):\n        self.begin(text)\n"
        "        system_prompt = f'You help. {self.listed()} Be brief.'\n"
        "        return [{'role': 'system', 'content': system_prompt}, *history]\n"
    )
    assert codes(tmp_path, text) == expected


MODULE = """
from datetime import datetime

SEEN = []


def build(text, history{given}):
    {before}
    SEEN.append({{"topic": text, "date": {stamp}}})
    listed = "".join(f"On {{seen['date']}} of {{seen['topic']}}.\\n" for seen in SEEN)
    return [{{"role": "system", "content": f"You help. {{listed}} Be brief."}}, *history]
"""


@pytest.mark.parametrize(
    ("before", "given", "expected"),
    [
        ("pass", "", []),
        ("global SEEN", "", []),
        ("SEEN = []", "", ["CSF103"]),
        ("SEEN = list(text)", "", ["CSF103"]),
        ("pass", ", SEEN", ["CSF103"]),
        ("global SEEN; SEEN = []", "", ["CSF103"]),
    ],
)
def test_a_list_of_the_module(tmp_path: Path, before: str, given: str, expected: list[str]) -> None:
    assert codes(tmp_path, MODULE.format(before=before, given=given, stamp=STAMP)) == expected


def test_a_message_says_what_it_says(tmp_path: Path) -> None:
    text = (
        "from datetime import datetime\n\n\nclass Chat:\n"
        "    def __init__(self, begun):\n        self.messages = begun\n"
        "        self.messages.insert(0, {{'role': 'system', 'content': {}, 'timestamp': datetime.now()}})\n\n"
        "    def ask(self, client, text):\n"
        "        self.messages.append({{'role': 'user', 'content': text}})\n"
        "        return client.chat.completions.create(model='m', messages=self.messages)\n"
    )
    assert codes(tmp_path / "said", text.format("f'You help. It is {datetime.now()}. Be brief.'")) == ["CSF101"]
    assert codes(tmp_path / "stamped", text.format("'You help. Be brief.'")) == []
