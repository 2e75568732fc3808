"""Values that an object, a partial or a text is made with for this request, each beside its harmless twin."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

HEAD = (
    "import os\n"
    "import time\n"
    "from dataclasses import asdict, dataclass, field\n"
    "from datetime import datetime\n"
    "from functools import partial\n\n"
    "import pendulum\n"
    "from openai import OpenAI\n\n"
    "client = OpenAI()\n"
    "TEXT = 'You keep the desk of {desk}. Opened {opened_at}. Be brief, be kind and never promise a date.'\n\n"
)
ASK = (
    "\n\ndef ask(history, question):\n"
    "    system = {system}\n"
    "    return client.chat.completions.create(model='m', messages=[\n"
    "        {{'role': 'system', 'content': system}}, *history, {{'role': 'user', 'content': question}}])\n"
)
FIELDS = "@dataclass\nclass Facts:\n    desk: str = 'north'\n    opened_at: str = field(default_factory={factory})\n"
SHOWN = "f'You keep the desk. {X} Be brief, be kind to all and never promise a date.'"


def codes(root: Path, program: str, system: str) -> list[str]:
    """The codes of the findings in a program whose system text is that expression."""
    write(root, {"a.py": HEAD + program + ASK.format(system=system)})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


@pytest.mark.parametrize("factory", ["time.ctime", "lambda: datetime.now().isoformat()", "stamp"])
@pytest.mark.parametrize("system", ["TEXT.format(**asdict(Facts()))", SHOWN.replace("X", "Facts().opened_at")])
def test_a_default_that_each_object_is_made_with(tmp_path: Path, factory: str, system: str) -> None:
    program = "def stamp():\n    return time.strftime('%H:%M:%S')\n\n\n" + FIELDS.format(factory=factory)
    assert codes(tmp_path, program, system) == ["CSF101"]


def test_a_default_that_is_given_another_value(tmp_path: Path) -> None:
    program = FIELDS.format(factory="time.ctime")
    assert codes(tmp_path, program, "TEXT.format(**asdict(Facts(opened_at='nine')))") == []


def test_the_stamp_of_objects_that_were_kept(tmp_path: Path) -> None:
    program = FIELDS.format(factory="time.ctime") + "\n\ndef told(facts: Facts):\n    return facts.opened_at\n"
    assert codes(tmp_path, program, SHOWN.replace("X", "told(history[0])")) == []


def test_a_clock_that_is_bound_at_import_and_called_later(tmp_path: Path) -> None:
    program = "clock = partial(time.strftime, '%H:%M:%S')\n"
    assert codes(tmp_path, program, SHOWN.replace("X", "clock()")) == ["CSF101"]


def test_a_clock_that_is_called_at_import(tmp_path: Path) -> None:
    program = "clock = time.strftime('%H:%M:%S')\n"
    assert codes(tmp_path, program, SHOWN.replace("X", "clock")) == ["CSF102"]


@pytest.mark.parametrize(("method", "code"), [("to_time_string", "CSF101"), ("to_formatted_date_string", "CSF103")])
def test_what_pendulum_writes(tmp_path: Path, method: str, code: str) -> None:
    assert codes(tmp_path, "", SHOWN.replace("X", f"pendulum.now().{method}()")) == [code]


@pytest.mark.parametrize("name", ["POD_NAME", "MY_NODE_IP", "WORKER_ID", "HOST_NAME", "DYNO"])
def test_the_machine_by_its_environment(tmp_path: Path, name: str) -> None:
    program = f"MACHINE = os.environ['{name}']\n"
    assert codes(tmp_path, program, SHOWN.replace("X", "MACHINE")) == ["CSF106"]


@pytest.mark.parametrize("name", ["BRAND_NAME", "TEAM_ID", "POD_COLOUR", "SUPPORT_HOST"])
def test_a_setting_in_the_environment(tmp_path: Path, name: str) -> None:
    program = f"SETTING = os.environ['{name}']\n"
    assert codes(tmp_path, program, SHOWN.replace("X", "SETTING")) == []


HANDLERS = "def pause():\n    ...\n\n\nclass Tool:\n{body}\n\nHANDLERS = {value}\n"
PLAIN = "    def run(self):\n        ...\n"
NAMED = "    def __repr__(self):\n        return 'Tool'\n"


@pytest.mark.parametrize("value", ["{'pause': pause}", "[pause]", "{'tool': Tool()}", "[Tool()]"])
@pytest.mark.parametrize("shown", ["str(HANDLERS)", SHOWN.replace("X", "HANDLERS")])
def test_a_container_of_what_shows_its_address(tmp_path: Path, value: str, shown: str) -> None:
    assert codes(tmp_path, HANDLERS.format(body=PLAIN, value=value), f"'Handlers: ' + {shown}") == ["CSF108"]


@pytest.mark.parametrize("value", ["{'tool': Tool()}", "[Tool()]", "{'tool': 'pause'}"])
def test_a_container_of_what_has_a_text(tmp_path: Path, value: str) -> None:
    assert codes(tmp_path, HANDLERS.format(body=NAMED, value=value), SHOWN.replace("X", "HANDLERS")) == []
