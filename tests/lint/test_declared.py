"""Names that say more than the project's own code: switches, recalled text, objects made elsewhere, commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_programs import assert_silent
from lint_project import write

from pytest_cachesafe.lint.run import lint, lint_text

FIELD = "class Config:\n    inject_date: bool = False\n"
PARAMETER = "class Config:\n    def __init__(self, role, inject_date=False):\n        self.flag = inject_date\n"
FUNCTION = "def Config(role, inject_date=False):\n    return [role, inject_date]\n"
HANDED_ON = (
    "from crewai import Agent\n\n\ndef Config(role, inject_date=False):\n"
    "    return Agent(role=role, inject_date=inject_date)\n"
)
DERIVED = "from crewai import Agent\n\n\nclass Config(Agent):\n    colour: str = 'red'\n"
USE = 'from {module} import Config\n\nclerk = Config(role="clerk", inject_date=True)\n'


def found(program: str) -> list[str]:
    return [finding.code for finding in lint_text(program)]


def codes(root: Path) -> list[str]:
    result = lint([root], cache=False)
    assert result.crashed == []
    return [finding.code for finding in result.findings]


@pytest.mark.parametrize("made", [FIELD, PARAMETER, FUNCTION], ids=["field", "parameter", "function"])
def test_a_switch_of_the_projects_own_is_what_the_project_makes_of_it(made: str, tmp_path: Path) -> None:
    files = {"desk/config.py": made, "desk/main.py": USE.format(module="desk.config")}
    assert codes(write(tmp_path / "p", files)) == []


@pytest.mark.parametrize("made", [HANDED_ON, DERIVED], ids=["handed on", "derived"])
def test_a_switch_that_goes_to_the_framework(made: str, tmp_path: Path) -> None:
    files = {"desk/config.py": made, "desk/main.py": USE.format(module="desk.config")}
    assert "CSF111" in codes(write(tmp_path / "p", files))


@pytest.mark.parametrize("made", [FIELD, PARAMETER, FUNCTION], ids=["field", "parameter", "function"])
def test_a_switch_in_the_frameworks_own_project(made: str, tmp_path: Path) -> None:
    files = {"lib/crewai/config.py": made, "examples/main.py": USE.format(module="lib.crewai.config")}
    assert "CSF111" in codes(write(tmp_path / "p", files))


RECALLED = """
TEXT = "You are kind."
TEXTS = {{"en": "You are kind.", "de": "Du bist lieb."}}
_seen = "nothing yet"


def note(words):
    global _seen
    _seen = words


def get_soul_prompt(store, language="en"):
{body}


def build(store, history):
    system = f"You help.\\n{{get_soul_prompt(store)}}"
    return [{{"role": "system", "content": system}}, *history]  # here
"""


@pytest.mark.parametrize(
    "body",
    [
        "    return TEXT",
        "    return TEXTS[language]",
        '    return TEXTS.get(language, "")',
        '    return f"Your soul: {TEXT.strip()}" if language else ""',
    ],
)
def test_what_a_function_gives_back_is_constant_whatever_its_name(body: str) -> None:
    assert_silent(RECALLED.format(body=body))


@pytest.mark.parametrize(
    "body",
    [
        "    return _seen",
        "    return store.newest()",
        "    return language",
        '    return TEXT + "\\n".join(store)',
        "    if store:\n        return store.newest()\n    return TEXT",
        "    yield TEXT",
    ],
)
def test_what_may_be_recalled_is_memory(body: str) -> None:
    program = RECALLED.format(body=body)
    assert "CSF109" in found(program), program


HANDLER = """
from datetime import datetime


class Moment:
    def __init__(self, at=None, style="%d"):
        self.at = at if at is not None else "today"
        self.style = style

    def text(self):
        return f"It is {{self.at}}."


def build(history, more):
    system = Moment({given}).text()
    return [{{"role": "system", "content": system}}, *history]


def label(rows):
    return [Moment(datetime.now()).style for _ in rows]
"""


@pytest.mark.parametrize("given", ["", '"noon"', 'style="%H"'])
def test_an_object_has_nothing_of_what_others_of_its_class_are_made_with(given: str) -> None:
    assert_silent(HANDLER.format(given=given))


@pytest.mark.parametrize("given", ["datetime.now()", "at=datetime.now()", "**{'at': datetime.now()}"])
def test_an_object_has_what_it_is_made_with(given: str) -> None:
    program = HANDLER.format(given=given)
    assert any(f.code == "CSF101" and f.location.row < 18 for f in lint_text(program)), program


def test_an_object_is_made_in_one_way_or_the_other() -> None:
    program = HANDLER.format(given="").replace(
        "Moment().text()", "(Moment() if more else Moment(datetime.now())).text()"
    )
    assert "CSF101" in found(program)


COMMAND = """
from pathlib import Path


def command(name):
    path = Path.home() / "prompts" / name
    system_prompt = f{text}
    return ["agent", system_prompt]
"""


def test_the_shell_replaces_a_command_in_a_command_line() -> None:
    assert_silent(COMMAND.format(text="'-c \"instructions=$(cat {path})\"'"))


@pytest.mark.parametrize("text", ["'Files are in {path}.'", "'$(date) is no path. {path}'", "'''Say $(\n{path}'''"])
def test_a_path_in_text_stays(text: str) -> None:
    assert "CSF106" in found(COMMAND.format(text=text))
