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

SETTINGS = """
import json
import yaml
from datetime import datetime


class Settings:
    def load(self, file):
        self.{name} = {loaded}
        self.{name}["{field}"] = datetime.now().isoformat()

    def nested(self, config, path, default=None):
        found = config
        try:
            for part in path.split("."):
                found = found[part]
            return found
        except KeyError:
            return default

    def find(self, path, default=None):
        {find}

    def build(self, agent, history):
        system_prompt = f"You help. {{{printed}}} Be brief."
        return [{{"role": "system", "content": system_prompt}}, *history]
"""


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


def settings(root: Path, **changed: str) -> list[str]:
    given = {
        "name": "config",
        "loaded": "yaml.safe_load(file)",
        "field": "generated_at",
        "find": "return self.nested(self.config, path, default)",
        "printed": "self.find(agent)",
    }
    return codes(root, SETTINGS.format(**{**given, **changed}))


WALKS = [
    "return self.nested(self.config, path, default)",
    "found = self.config\n        for part in path.split('.'):\n            found = found[part]\n        return found",
    "found = self.config\n        for part in path:\n            found = found.get(part, {})\n        return found",
    "found = self.config\n        for part in path.split('.'):\n            if part not in found:\n"
    "                return default\n            found = found[part]\n        return found",
    "return self.config.get(path, default)",
    "return self.config[path]",
]


@pytest.mark.parametrize("find", WALKS)
@pytest.mark.parametrize("loaded", ["yaml.safe_load(file)", "{'agents': {}}", "dict(agents=file)"])
def test_what_a_caller_names_is_not_when_it_was_loaded(tmp_path: Path, find: str, loaded: str) -> None:
    assert settings(tmp_path, find=find, loaded=loaded) == []


@pytest.mark.parametrize("find", WALKS)
@pytest.mark.parametrize(
    "changed",
    [
        # Another field, what is looked up to fill a text, nothing else to be named.
        {"field": "greeting"},
        {"name": "variables"},
        {"loaded": "{}"},
    ],
)
def test_what_a_caller_may_name(tmp_path: Path, find: str, changed: dict[str, str]) -> None:
    find = find.replace("config", changed.get("name", "config"))
    assert settings(tmp_path, find=find, **changed) == ["CSF101"]


@pytest.mark.parametrize(
    "printed",
    [
        "self.config",
        "json.dumps(self.config)",
        "list(self.config.values())",
        "[f'{key}: {value}' for key, value in self.config.items()]",
        "[self.config[key] for key in self.config]",
        "self.config[history[0]]",
    ],
)
def test_all_that_there_is(tmp_path: Path, printed: str) -> None:
    assert settings(tmp_path, printed=printed) == ["CSF101"]


def test_a_walk_that_may_stop_at_once(tmp_path: Path) -> None:
    find = (
        "found = self.config\n        for part in path.split('.'):\n            if part in found:\n"
        "                found = found[part]\n        return found"
    )
    assert settings(tmp_path, find=find) == ["CSF101"]


def test_a_dict_that_is_made_for_the_request(tmp_path: Path) -> None:
    text = (
        "from datetime import datetime\n\n\n"
        "def find(table, path):\n    for part in path.split('.'):\n        table = table[part]\n    return table\n\n\n"
        "def build(agent, history):\n"
        "    table = {'agents': 'Some.', 'updated_at': datetime.now().isoformat()}\n"
        "    system_prompt = f'You help. {find(table, agent)} Be brief.'\n"
        "    return [{'role': 'system', 'content': system_prompt}, *history]\n"
    )
    assert codes(tmp_path, text) == ["CSF101"]
