"""What a kept object was stamped with is no clock; what is read for the request is one."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

STORE = (
    "from dataclasses import dataclass\n"
    "from datetime import datetime\n\n\n"
    "@dataclass\n"
    "class Entry:\n"
    "    text: str\n"
    "    {field}: str\n\n\n"
    "class Notes:\n"
    "    def __init__(self):\n"
    "        self.entries: list[Entry] = []\n\n"
    "    def note(self, text):\n"
    "        self.entries.append(Entry(text=text, {field}=datetime.now().isoformat()))\n\n"
    "    def listed(self):\n"
    "        return '\\n'.join(f'{{entry.{field}}} {{entry.text}}' for entry in self.entries)\n\n"
    "    def build(self, history):\n"
    "        system_prompt = f'You help.\\n{{self.listed()}}\\nBe brief.'\n"
    "        return [{{'role': 'system', 'content': system_prompt}}, *history]\n"
)
OWN = (
    "from dataclasses import dataclass\n"
    "from datetime import datetime\n\n\n"
    "@dataclass\n"
    "class Facts:\n"
    "    created_at: str\n\n\n"
    "def build(history):\n"
    "    facts = Facts(created_at=datetime.now().isoformat())\n"
    "    system_prompt = f'You help. It is {facts.created_at}. Be brief.'\n"
    "    return [{'role': 'system', 'content': system_prompt}, *history]\n"
)
TYPED = (
    "from dataclasses import dataclass\n"
    "from datetime import datetime\n\n\n"
    "@dataclass\n"
    "class Trade:\n"
    "    {field}: str\n\n\n"
    "def closed(book):\n"
    "    book.save(Trade({field}=datetime.now().isoformat()))\n\n\n"
    "def build(trade: Trade, history):\n"
    "    system_prompt = f'You judge trades. One of {{trade.{field}}}. Be brief.'\n"
    "    return [{{'role': 'system', 'content': system_prompt}}, *history]\n"
)


def codes(root: Path, text: str) -> list[str]:
    """The codes of the findings in a project of one file."""
    write(root, {"a.py": text})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


@pytest.mark.parametrize("text", [STORE, TYPED])
@pytest.mark.parametrize("field", ["timestamp", "created_at", "updated", "added_on"])
def test_a_stamp_that_is_read_back(tmp_path: Path, text: str, field: str) -> None:
    assert codes(tmp_path, text.format(field=field)) == []


@pytest.mark.parametrize("text", [STORE, TYPED])
def test_another_field_of_it(tmp_path: Path, text: str) -> None:
    assert "CSF101" in codes(tmp_path, text.format(field="now"))


def test_an_object_that_is_made_for_the_request(tmp_path: Path) -> None:
    assert "CSF101" in codes(tmp_path, OWN)
