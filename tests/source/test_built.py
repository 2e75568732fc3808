"""From a value in a prompt to the line that wrote it there."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_cachesafe.source import built_at

PROMPT = "You are a support bot. Current time: 10:41:07. Answer from the manual."
AT = PROMPT.index("41:07") + 1

WAYS = {
    "f-string": """
def system(now):
    return (
        "You are a support bot. "
        f"Current time: {now:%H:%M:%S}. Answer"
    )
""",
    "format": """
TEXT = "You are a support bot. Current time: {now}. Answer"
system = TEXT.format
""",
    "percent": """
def system(now):
    return "You are a support bot. Current time: %s. Answer" % now
""",
    "plus": """
def system(now):
    return "You are a support bot. Current time: " + str(now) + ". Answer"
""",
    "lines": '''
TEXT = """
You are a support bot. Current time: {now}. Answer"""
''',
}
ROWS = {"f-string": 5, "format": 2, "percent": 3, "plus": 3, "lines": 3}


@pytest.mark.parametrize("way", WAYS)
def test_the_line_that_wrote_the_value_is_named(way: str, tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "prompts.py").write_text(WAYS[way])
    (tmp_path / "other.py").write_text('print(f"Elapsed time: {3}")\n')
    found = built_at(PROMPT, AT, str(tmp_path))
    assert found is not None
    assert str(found) == f"agent/prompts.py:{ROWS[way]}"
    if way in ("f-string", "plus"):
        assert "now" in found.value


def test_a_value_that_is_partly_literal_has_its_line_too(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text('a = f"Current time: 10:4{minute}:07. Answer"\n')
    found = built_at(PROMPT, PROMPT.index("1:07"), str(tmp_path))
    assert str(found) == "one.py:1"


def test_a_template_file_is_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "system.j2").write_text("You are a support bot.\n{% if x %}y{% endif %} Current time: {{ now }}.\n")
    assert str(built_at(PROMPT, AT, str(tmp_path))) == "system.j2:2"


def test_two_lines_that_could_be_it_are_no_answer(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text('a = f"Current time: {now}"\n')
    (tmp_path / "two.py").write_text('b = f"Current time: {then}"\n')
    assert built_at(PROMPT, AT, str(tmp_path)) is None


def test_the_longer_text_in_front_wins(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text('a = f"time: {now}"\n')
    (tmp_path / "two.py").write_text('b = f"bot. Current time: {then}"\n')
    assert str(built_at(PROMPT, AT, str(tmp_path))) == "two.py:1"


@pytest.mark.parametrize("source", ["a = 'Current time: 10:41:07'\n", "def broken(:\n", "# Current time: {now}\n"])
def test_text_that_writes_no_value_is_no_answer(source: str, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(source)
    assert built_at(PROMPT, AT, str(tmp_path)) is None


def test_libraries_and_hidden_folders_are_not_the_projects(tmp_path: Path) -> None:
    for folder in (".venv/lib", "node_modules/x", "site-packages"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "one.py").write_text('a = f"Current time: {now}"\n')
    assert built_at(PROMPT, AT, str(tmp_path)) is None


def test_a_value_at_the_very_front_has_no_text_that_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text('a = f"{now} is the time"\n')
    assert built_at("10:41:07 is the time", 3, str(tmp_path)) is None
