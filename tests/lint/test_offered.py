"""A value that is offered to a template counts where a text of the project prints it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

FILLS = {"format": "text.format(**variables)", "dict": "text.format_map(variables)"}
PROGRAM = """
from datetime import datetime


def known(name):
    return {"now": datetime.now().isoformat(), "name": name}


def build(text, name, history):
    variables = known(name)
    return [{"role": "system", "content": %s}, *history]
"""


def codes(root: Path, **files: str) -> list[str]:
    """The codes of the findings in a project of these files."""
    write(root, {name.replace("__", "."): text for name, text in files.items()})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


@pytest.mark.parametrize("way", FILLS)
def test_a_placeholder_that_no_text_has(tmp_path: Path, way: str) -> None:
    program = PROGRAM % FILLS[way]
    assert codes(tmp_path, a__py=program, texts__yaml="base: You are {name}, a clerk.\n") == []


@pytest.mark.parametrize("way", FILLS)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("texts__yaml", "base: You are {name}. It is {now}.\n"),
        ("b__py", "BASE = 'You are {name}. It is {now}.'\n"),
        ("notes__md", "You are {{ name }}. It is {{ now | upper }}.\n"),
    ],
)
def test_a_placeholder_that_a_text_has(tmp_path: Path, way: str, name: str, text: str) -> None:
    assert codes(tmp_path, a__py=PROGRAM % FILLS[way], **{name: text}) == ["CSF101"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("b__py", "def stamp(now):\n    return f'at {now} sharp'\n"),
        ("b__py", '"""Fills {now} and {name}."""\n'),
        ("README__md", "Write {now} into a prompt, and the time stands there.\n"),
        ("notes__md", "    path = f'backup_{now}.zip'\n"),
    ],
)
def test_what_only_looks_like_a_template(tmp_path: Path, name: str, text: str) -> None:
    base = "base: You are {name}, a clerk.\n"
    assert codes(tmp_path, a__py=PROGRAM % FILLS["format"], texts__yaml=base, **{name: text}) == []


def test_a_few_files_say_nothing_of_the_template(tmp_path: Path) -> None:
    assert codes(tmp_path, a__py=PROGRAM % FILLS["format"]) == ["CSF101"]


@pytest.mark.parametrize("fill", ["text.format(now=datetime.now())", "text.replace('{now}', str(datetime.now()))"])
def test_a_clock_that_is_read_for_this_text(tmp_path: Path, fill: str) -> None:
    assert codes(tmp_path, a__py=PROGRAM % fill, texts__yaml="base: You are {name}, a clerk.\n") == ["CSF101"]


def test_a_text_that_is_known_needs_no_search(tmp_path: Path) -> None:
    program = PROGRAM % "'You are {name}. It is {now}.'.format(**variables)"
    assert codes(tmp_path, a__py=program) == ["CSF101"]


REPLACES = """
from datetime import datetime
import yaml


def filled(name, history):
    with open(name) as file:
        text = {read}
    day = datetime.now().isoformat()
    system = text.replace("{{day}}", day)
    return [{{"role": "system", "content": {system}}}, *history]
"""


def test_what_is_replaced_in_a_text_that_is_read(tmp_path: Path) -> None:
    program = REPLACES.format(read="yaml.safe_load(file)['base']", system="system")
    without, whole = "base: You are a clerk.\n", "base: You are a clerk on {day}.\n"
    assert codes(tmp_path / "without", a__py=program, texts__yaml=without) == []
    assert codes(tmp_path / "with", a__py=program, texts__yaml=whole) == ["CSF101"]
    test = "def test_a():\n    assert filled('You are a clerk on {day}.', [])\n"
    assert codes(tmp_path / "tested", a__py=program, texts__yaml=without, test_a__py=test) == []
    shown = REPLACES.format(read="yaml.safe_load(file)['base']", system="f'{system} Now: {day}'")
    assert codes(tmp_path / "shown", a__py=shown, texts__yaml=without) == ["CSF101"]


NAMED = """
from datetime import datetime

from desk.texts import ENVIRONMENT


def render(name, **fields):
    return ENVIRONMENT.get_template(f"{name}_1.0.j2").render(**fields)


def build(question, history):
    now = datetime.now().isoformat()
    system = render("clerk_system", now=now, place="the desk")
    return [{"role": "system", "content": system}, *history]
"""
OTHER = "It is {{ now }} at {{ place }}.\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("You work at {{ place }}.\n", []),
        ("You work at {{ place }}. It is {{ now }}.\n", ["CSF101"]),
        ("{% include 'clerk_user_1.0.j2' %}\n", ["CSF101"]),
    ],
)
def test_the_template_that_a_call_names(tmp_path: Path, text: str, found: list[str]) -> None:
    write(tmp_path, {"app.py": NAMED, "texts/clerk_system_1.0.j2": text, "texts/clerk_user_1.0.j2": OTHER})
    codes = [code for name, _, code in places(lint([tmp_path], cache=False).findings) if name == "app.py"]
    assert codes == found
