"""Facts that a caller hands over, and stamps that an object keeps; each beside its harmless twin."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

TEXT = "TEXT = 'Tick {tick}. You are the master of {world}. Describe, never decide, and keep every answer short.'\n"
FILLED = (
    "def prompt({name}):\n    return TEXT.{fill}\n\n\n"
    "def turn(log, world):\n    facts = {facts}\n"
    "    return [{{'role': 'system', 'content': prompt({given})}}, *log]\n"
)
TICK = "{'world': world, 'tick': time.time()}"
OBJECT = (
    "import time\n\n\nclass Tutor:\n    def __init__(self, client):\n        self.client = client\n"
    "        self.opened_at = {value}\n\n    def system(self):\n"
    "        return f'Lesson began {{self.opened_at}}. You teach fractions, one exercise at a time.'\n\n"
    "    def ask(self, history):\n        return {ask}\n"
)
ASKS = "self.client.messages.create(model='m', max_tokens=9, system=self.system(), messages=history)"
SETS = (
    "CITIES = ['Bonn', 'Ulm', 'Bonn']\n\n\ndef head({params}):\n    known = {{row.title() for row in rows}}\n"
    "    return 'You sell tickets to ' + ' and '.join({joined}) + '. Ask for the day first, then for the class.'\n\n\n"
    "def messages(rows, history):\n    return [{{'role': 'system', 'content': head({given})}}, *history]\n"
)


def codes(root: Path, program: str) -> list[str]:
    """The codes of the findings in one file."""
    write(root, {"a.py": program})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


@pytest.mark.parametrize("fill", ["format(**facts)", "format_map(facts)"])
def test_a_dict_that_a_caller_fills(tmp_path: Path, fill: str) -> None:
    program = "import time\n\n" + TEXT + "\n\n" + FILLED.format(name="facts", fill=fill, facts=TICK, given="facts")
    assert codes(tmp_path / "tick", program) == ["CSF101"]
    # A placeholder that the text does not have.
    assert codes(tmp_path / "other", program.replace("{tick}", "{tone}")) == []
    assert codes(tmp_path / "same", program.replace("time.time()", "1")) == []


@pytest.mark.parametrize("value", ["time.ctime()", "hex(id(self))", "oct(id(client))"])
def test_what_an_object_keeps_of_its_beginning(tmp_path: Path, value: str) -> None:
    assert codes(tmp_path, OBJECT.format(value=value, ask=ASKS)) == ["CSF101" if "ctime" in value else "CSF108"]


def test_the_stamp_of_a_record(tmp_path: Path) -> None:
    assert codes(tmp_path, OBJECT.format(value="time.ctime()", ask="print(self.system())")) == []


def sets(params: str = "rows", given: str = "CITIES", joined: str = "known") -> str:
    return SETS.format(params=params, given=given, joined=joined)


@pytest.mark.parametrize(
    ("params", "given"), [("rows", "CITIES"), ("rows", "rows=CITIES"), ("tone, rows", "1, CITIES")]
)
def test_a_set_of_what_every_call_hands_over(tmp_path: Path, params: str, given: str) -> None:
    assert codes(tmp_path / "constant", sets(params, given)) == ["CSF201"]
    assert codes(tmp_path / "sorted", sets(params, given, "sorted(known)")) == []
    assert codes(tmp_path / "found", sets(params, given.replace("CITIES", "rows"))) == []


def test_a_set_of_which_one_call_hands_over_something_else(tmp_path: Path) -> None:
    assert codes(tmp_path, sets() + "\n\ndef other(found):\n    return head(found)\n") == []
