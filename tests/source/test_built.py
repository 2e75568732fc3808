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


def test_a_value_at_the_very_front_has_the_text_behind_it_only(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text('a = f"{now} is the time"\n')
    assert str(built_at("10:41:07 is the time", 3, str(tmp_path))) == "one.py:1"
    assert built_at("10:41:07 is it", 3, str(tmp_path)) is None
    assert built_at("10:41:07", 3, str(tmp_path)) is None


OPENING = {
    "plus": "MANUAL = 'Answer from the manual. ' * 9\n\ndef system(now):\n    return now() + MANUAL\n",
    "f-string": "MANUAL = 'Answer from the manual. ' * 9\n\ndef system(now):\n    return f'{now()}{MANUAL}'\n",
    "literal": "\n\ndef system(now):\n    return now() + 'Answer from the manual. ' * 9\n",
    "two parts": "MANUAL = 'Answer from the manual. ' * 9\n\ndef system(now):\n    return f'{now()}Answer {MANUAL}'\n",
}


@pytest.mark.parametrize("way", OPENING)
def test_a_value_that_opens_the_prompt_is_known_by_what_follows(way: str, tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(OPENING[way])
    (tmp_path / "other.py").write_text("a = now() + 'Answer politely. '\n")
    text = "10:41:07Answer from the manual. " + "Answer from the manual. " * 8
    found = built_at(text.replace("07Answer", "07Answer Answer") if way == "two parts" else text, 7, str(tmp_path))
    assert (str(found), found and found.value) == ("test_one.py:4", "now()")
    (tmp_path / "two.py").write_text("b = then() + 'Answer from the manual. '\nc = now() + 'Answer Answer from'\n")
    # What was read of the files is kept for the run.
    forget()
    assert (
        built_at(text.replace("07Answer", "07Answer Answer") if way == "two parts" else text, 7, str(tmp_path)) is None
    )


def test_the_format_of_a_clock_has_text_in_front_too(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("def now(at):\n    return at.strftime('Current time: %H:%M:%S. ')\n")
    assert str(built_at(PROMPT, AT, str(tmp_path))) == "one.py:2"


def test_the_folder_of_the_test_is_looked_through_in_any_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_cachesafe.source import built

    (tmp_path / "zoo").mkdir()
    (tmp_path / "a.py").write_text("")
    (tmp_path / "zoo" / "one.py").write_text('a = f"Current time: {now}"\n')
    forget()
    monkeypatch.setattr(built, "_MOST_FILES", 1)
    assert built_at(PROMPT, AT, str(tmp_path)) is None
    assert str(built_at(PROMPT, AT, str(tmp_path), str(tmp_path / "zoo" / "one.py"))) == "zoo/one.py:1"


def forget() -> None:
    from pytest_cachesafe.source import built

    built._files.cache_clear()
    built._read.cache_clear()
