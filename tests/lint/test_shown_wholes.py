"""Sets that are put together, tables of functions, names of machines, markers in a block of their own."""

from __future__ import annotations

import pytest

from pytest_cachesafe.lint.run import lint_text

ASK = (
    "\n\ndef ask(client, history):\n"
    '    return client.chat([{{"role": "system", "content": "You help. " + {text} + " Be brief."}}, *history])\n'
)


def found(before: str, text: str) -> list[str]:
    return [finding.code for finding in lint_text(before + ASK.format(text=text))]


ZONES = 'ZONES = {"eu": {"it", "fr"}, "efta": {"no", "ch"}}\n\n\n'
FILLS = [
    "out = set()\n    for zone in zones:\n        out |= ZONES[zone]",
    "out: set[str] = set()\n    for zone in zones:\n        out = out | ZONES[zone]",
    "out = set()\n    for zone in zones:\n        out.update(ZONES[zone])",
    "out = set()\n    for part in ZONES.values():\n        out |= part",
    "out = set().union(*ZONES.values())",
    'out = set(ZONES["eu"])\n    out |= ZONES["efta"]',
]


@pytest.mark.parametrize("fill", FILLS)
def test_a_set_that_a_helper_fills_with_sets(fill: str) -> None:
    helper = f"def countries(*zones) -> set[str]:\n    {fill}\n    return out\n"
    joined = '", ".join(countries("eu"))'
    assert found(ZONES + helper, joined) == ["CSF201"]
    assert found(ZONES + helper, joined.replace('countries("eu")', 'sorted(countries("eu"))')) == []
    assert found(ZONES + helper, 'str(len(countries("eu")))') == []


def test_a_set_of_what_the_call_brings() -> None:
    helper = "def tags(found):\n    out = set()\n    for one in found:\n        out |= set(one.tags)\n    return out\n"
    assert found(helper, '", ".join(tags([]))') == []


FUNCTIONS = "def stop(number):\n    return number\n\n\ndef go(number):\n    return number\n\n\n"
OWNER = """class Desk:
    def __init__(self):
        self.handlers = {table}

    def system_text(self):
        return "Use " + {text}


desk = Desk()
"""


@pytest.mark.parametrize("table", ['{"stop": stop, "go": go}', '{"stop": {"call": stop, "words": "Stop."}}', "[stop]"])
@pytest.mark.parametrize("text", ["str(self.handlers)", 'f"{self.handlers}"', '"%s" % self.handlers'])
def test_a_table_of_functions_shows_addresses(table: str, text: str) -> None:
    def told(shown: str) -> list[str]:
        return found(FUNCTIONS + OWNER.format(table=table, text=shown), "desk.system_text()")

    assert set(told(text)) == {"CSF108"}
    assert told(text.replace("self.handlers", "len(self.handlers)").replace('"%s"', '"%d"')) == []
    assert told(text.replace("self.handlers", "list(map(str.lower, ['stop']))")) == []


def test_the_names_of_a_table_and_its_words() -> None:
    table = FUNCTIONS + 'TABLE = {"stop": stop, "go": go}\n'
    assert found(table, '", ".join(TABLE)') == []
    assert found(table, "str(list(TABLE))") == []
    assert found(table, 'f"{TABLE}"') == ["CSF108"]
    assert found(table, '"{}".format(TABLE)') == ["CSF108"]
    assert found('TABLE = {"stop": "a", "go": 1}\n', 'f"{TABLE}"') == []


def test_things_without_text_in_a_list() -> None:
    kind = "class Rule:\n    def __init__(self, name):\n        self.name = name\n{more}\n\nRULES = [Rule('a')]\n"
    assert found(kind.format(more=""), 'f"{RULES}"') == ["CSF108"]
    assert found(kind.format(more="\n    def __repr__(self):\n        return self.name\n"), 'f"{RULES}"') == []


@pytest.mark.parametrize("name", ["POD_NAME", "WORKER_ID", "NODE_NAME", "K8S_POD_IP", "DYNO", "FLY_MACHINE_ID"])
@pytest.mark.parametrize("read", ["os.environ[NAME]", 'os.getenv(NAME, "one")', 'os.environ.get(NAME) or "one"'])
def test_names_of_machines_in_the_environment(name: str, read: str) -> None:
    at = "import os\n\nHERE = " + read.replace("NAME", f'"{name}"') + "\n"
    assert found(at, "HERE") == ["CSF106"]


@pytest.mark.parametrize("name", ["SERVER_NAME", "WORKER_COUNT", "REDIS_HOST_NAME", "POD_LIMIT", "INSTANCE_NAME"])
def test_names_of_settings_in_the_environment(name: str) -> None:
    assert found(f'import os\n\nHERE = os.environ["{name}"]\n', "HERE") == []


def test_a_marker_in_a_block_of_its_own() -> None:
    program = """
import os

HERE = os.environ["POD_NAME"]


def ask(client, messages):
    system = [{"text": "You help."}, FIRST{"text": f"You run on {HERE}."}LAST]
    return client.converse(modelId="m", system=system, messages=messages)
"""
    marker = '{"cachePoint": {"type": "default"}}'

    def told(first: str, last: str) -> list[str]:
        return [finding.code for finding in lint_text(program.replace("FIRST", first).replace("LAST", last))]

    assert told("", f", {marker}") == ["CSF106"]
    assert told(f"{marker}, ", "") == []
    assert told("", "") == []
