"""Values that come into a text with something larger: signatures, partials, globals of templates, records of fields,
sets that a request brings under a key. Each with the nearest program that sends the same text every time."""

from __future__ import annotations

import pytest

from pytest_cachesafe.lint.run import lint_text

SIGNATURE = """
import inspect


class Unset:
    pass


UNSET = Unset()
NOTHING = None


def search(text, since=UNSET, limit=20):
    "Search."


def spec(function):
    return {"name": function.__name__, "description": f"{function.__doc__} TOLD", "input_schema": {}}


TOOLS = [spec(search)]
"""
ASK = '\n\ndef ask(client, history):\n    return client.chat([{"role": "system", "content": TEXT}, *history])\n'


def codes(program: str) -> list[str]:
    return [finding.code for finding in lint_text(program)]


@pytest.mark.parametrize(
    "told",
    [
        "{inspect.signature(function)}",
        "{str(inspect.signature(function))}",
        "{[p.default for p in inspect.signature(function).parameters.values()]}",
        "{', '.join(f'{n}={p.default}' for n, p in inspect.signature(function).parameters.items())}",
    ],
)
def test_a_default_without_text_of_its_own_in_a_signature(told: str) -> None:
    program = SIGNATURE.replace("TOLD", told)
    assert codes(program) == ["CSF108"]
    assert codes(program.replace("=UNSET", "=NOTHING")) == []
    assert codes(program.replace("    pass", "    def __repr__(self):\n        return 'UNSET'")) == []


def test_the_names_in_a_signature() -> None:
    names = "{[p.name for p in inspect.signature(function).parameters.values()]}"
    assert codes(SIGNATURE.replace("TOLD", names)) == []


def test_a_signature_of_a_function_by_its_name() -> None:
    program = SIGNATURE.replace("TOLD", "{inspect.signature(search)}")
    assert codes(program) == ["CSF108"]
    assert codes(program.replace("since=UNSET, ", "")) == []


def test_partials_in_a_list() -> None:
    made = 'from functools import partial\n\nimport shop\n\nTOOLS = [partial(shop.ask, "a"), partial(shop.ask, "b")]\n'
    assert codes(made + ASK.replace("TEXT", 'f"Tools: {TOOLS}. You sell."')) == ["CSF108"]
    assert codes(made + ASK.replace("TEXT", '"Tools: " + str(TOOLS) + ". You sell."')) == ["CSF108"]
    assert codes(made + ASK.replace("TEXT", 'f"Tools: {len(TOOLS)}. You sell."')) == []


def test_a_function_spec_without_parameters() -> None:
    program = 'def spec(name):\n    return {"type": "function", "function": {"name": name, "description": f"TEXT"}}\n'
    clock = "from datetime import datetime\n\n\n"
    assert codes(clock + program.replace("TEXT", "At {datetime.now()}")) == ["CSF101"]
    assert codes(clock + program.replace("TEXT", "At {name}")) == []
    assert (
        codes(clock + program.replace('"type": "function"', '"type": "step"').replace("TEXT", "{datetime.now()}")) == []
    )


GLOBALS = """
from datetime import datetime

from jinja2 import Environment

env = Environment()
SET
TEXT = env.from_string("WRITTEN You help.")


def ask(client, history):
    return client.chat([{"role": "system", "content": TEXT.render(lang="en")}, *history])
"""


@pytest.mark.parametrize(
    "made",
    [
        'env.globals["now"] = datetime.now',
        'env.globals["now"] = lambda: datetime.now().isoformat()',
        "env.globals.update(now=datetime.now)",
        'env.globals.update({"now": datetime.now})',
    ],
)
def test_globals_of_a_template_environment(made: str) -> None:
    program = GLOBALS.replace("SET", made)
    assert codes(program.replace("WRITTEN", "It is {{ now() }}.")) == ["CSF101"]
    assert codes(program.replace("WRITTEN", "Speak {{ lang }} now.")) == []
    assert (
        codes(
            program.replace("datetime.now", "str").replace("str().isoformat", "str").replace("WRITTEN", "{{ now() }}")
        )
        == []
    )


def test_the_fields_of_an_object_fill_a_template() -> None:
    program = """
from datetime import datetime

from pydantic import BaseModel, Field


class Facts(BaseModel):
    rules: str = "Be brief."
    now: str = Field(default_factory=lambda: MADE)

    def system_prompt(self):
        return "{now} {rules}".format(**self.model_dump())
"""
    assert codes(program.replace("MADE", "datetime.now().isoformat()")) == ["CSF101"]
    assert codes(program.replace("MADE", "'noon'")) == []


def test_a_default_that_is_an_object() -> None:
    program = """
from pathlib import Path


class Notes:
    path = Path("NAME")

    def text(self):
        return self.path.read_text()


def build_system_prompt(identity, notes=Notes()):
    return identity + notes.text() + "Be brief."
"""
    assert codes(program.replace("NAME", "MEMORY.md")) == ["CSF109"]
    assert codes(program.replace("NAME", "LICENSE")) == []


def test_what_is_put_behind_the_prompt_of_a_framework() -> None:
    preset = '{"type": "preset", "preset": "x", "append": TEXT}'
    program = f"import os\n\n\ndef make(options):\n    return options(system_prompt={preset})\n"
    assert codes(program.replace("TEXT", 'f"You run in {os.getcwd()}."')) == ["CSF106"]
    assert codes(program.replace("TEXT", '"You run."')) == []


SETS = """
def build(body, model, history):
    names = NAMES
    text = ""
    for name in names:
        text += f"<skill>{name}</skill>"
    return [{"role": "system", "content": text}, *history]
"""


@pytest.mark.parametrize(
    "names",
    [
        'set(body["skill_ids"]) | set(model.extra)',
        'set(body.get("skills", []))',
        "{one.title for one in model.plugins}",
        "set(model.tools) - set(body)",
    ],
)
def test_sets_of_what_is_set_up_under_a_key(names: str) -> None:
    assert codes(SETS.replace("NAMES", names)) == ["CSF201"]
    assert codes(SETS.replace("NAMES", f"sorted({names})")) == []


@pytest.mark.parametrize("names", ['set(body["documents"])', "{one.title for one in model.hits}", "set(body)"])
def test_sets_of_what_a_call_brings(names: str) -> None:
    assert codes(SETS.replace("NAMES", names)) == []


def test_the_order_of_an_enumeration_in_a_schema_of_calls() -> None:
    program = """
from google.genai import types

ROOMS = frozenset({"hall", "attic"})


def declaration():
    room = types.Schema(type="STRING", enum=list(ROOMS))
    whole = types.Schema(type="OBJECT", properties={"room": room})
    return types.FunctionDeclaration(name="light", description="Light.", parameters=whole)
"""
    assert codes(program) == ["CSF201"]
    assert codes(program.replace("list(ROOMS)", "sorted(ROOMS)")) == []


def test_the_order_of_a_listing_that_is_put_into_a_larger_list() -> None:
    program = """
import os


class PromptBuilder:
    def lines(self):
        with os.scandir(".") as entries:
            found = ["- " + entry.name for entry in entries]
        return ["Files:", *found]

    def system(self):
        return ", ".join(["You help.", *self.lines()])
"""
    assert codes(program) == ["CSF202"]
    assert codes(program.replace("*found", "*sorted(found)")) == []
    assert codes(program.replace("PromptBuilder", "Machine")) == []


def test_a_text_on_a_display() -> None:
    program = """
from datetime import datetime


class Panel:
    def refresh(self):
        self.system_message = f"Since {datetime.now()}"
        self.api.display(self.system_message)
"""
    assert codes(program) == []
    assert codes(program.replace("display", "chat")) == ["CSF101"]
