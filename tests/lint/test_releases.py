"""What a framework's switch does depends on the release that a project pins, and on what the agent has."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.evidence.releases import highest, locked
from pytest_cachesafe.lint.run import lint

CREW = "from crewai import Agent\n\nagent = Agent(role='Planner', goal='Plan', inject_date=True)\n"
AGENT = "from agno.agent import Agent\n\nagent = Agent(name='clerk', add_datetime_to_context=True{})\n"
LOCK = (
    'version = 1\n\n[[package]]\nname = "crewai-tools"\nversion = "2.0"\n\n'
    '[[package]]\nname = "crewai"\nversion = "{}"\n'
)


def found(root: Path, files: dict[str, str], *, cache: bool = False) -> list[str]:
    """The places of the switches in a project."""
    write(root, files)
    return [file for file, _, code in places(lint([root], cache=cache).findings) if code == "CSF111"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[project]\nname = "x"\ndependencies = ["crewai[tools]>=0.100.1,<1.0.0"]\n'),
        ("pyproject.toml", '[tool.poetry.dependencies]\ncrewai = {extras = ["tools"], version = ">=0.88,<1.0"}\n'),
        ("pyproject.toml", '[tool.poetry.dependencies]\ncrewai = "^0.203"\n'),
        ("requirements.txt", "openai\ncrewai[tools]==1.15.14  # held back\ncrewai-tools==1.20\n"),
        ("setup.py", "setup(install_requires=['crewai ~= 1.9.0'])\n"),
        ("uv.lock", LOCK.format("1.15.2")),
        ("Pipfile.lock", '{"default": {"crewai": {"hashes": ["a"], "version": "==1.2.0"}}}'),
    ],
)
def test_a_release_that_writes_into_the_task(tmp_path: Path, name: str, text: str) -> None:
    assert found(tmp_path, {"app.py": CREW, name: text}) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "crewai>=0.100\n"),
        ("requirements.txt", "crewai\n"),
        ("requirements.txt", "openai==1.0\ncrewai-tools==0.30\n"),
        ("pyproject.toml", '[project]\nname = "x"\ndependencies = ["crewai>=1,<2"]\nkeywords = ["crewai"]\n'),
        ("pyproject.toml", '[tool.poetry.dependencies]\ncrewai = "^1.0"\n'),
        ("poetry.lock", LOCK.format("1.15.15")),
    ],
)
def test_a_release_that_writes_into_the_system_prompt(tmp_path: Path, name: str, text: str) -> None:
    assert found(tmp_path, {"app.py": CREW, name: text}) == ["app.py"]


def test_the_nearest_folder_decides(tmp_path: Path) -> None:
    old, new = "crewai<1\n", "crewai>=1.16\n"
    files = {"a/x/one.py": CREW, "a/requirements.txt": old, "b/two.py": CREW, "requirements.txt": new}
    assert found(tmp_path, files) == ["two.py"]


def test_a_lock_file_above_a_member_decides_within_its_range(tmp_path: Path) -> None:
    member = '[project]\nname = "x"\ndependencies = ["crewai>=0.1"]\n'
    assert found(tmp_path, {"a/app.py": CREW, "a/pyproject.toml": member, "uv.lock": LOCK.format("0.203.1")}) == []


def test_a_changed_pin_is_seen_through_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "p"
    assert found(root, {"app.py": CREW, "pyproject.toml": "[tool.cachesafe]\n"}, cache=True) == ["app.py"]
    assert found(root, {"uv.lock": LOCK.format("1.0.0")}, cache=True) == []
    assert found(root, {"uv.lock": LOCK.format("1.15.20")}, cache=True) == ["app.py"]


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("other==1", None),
        ("pkg<1.0", (1, 0, -1)),
        ("pkg<=1.4,>1", (1, 4)),
        ("pkg==1.4.*", (1, 4, 10**9)),
        ("pkg~=1.4", (1, 10**9)),
        ('pkg = "~1.4.2"', (1, 4, 10**9)),
        ('pkg = "~1"', (1, 10**9)),
        ('pkg = "^0.3.1"', (0, 3, 10**9)),
        ('pkg = "^0.0"', (0, 0, 10**9)),
        ('pkg = "1.4"', (1, 4)),
        ("pkg>=1.4,!=1.5", (10**9,)),
        ("pkg\npkg<2", (2, -1)),
        ("my-pkg<2", None),
    ],
)
def test_the_highest_release(text: str, release: tuple[int, ...] | None) -> None:
    assert highest(text, "pkg") == release


def test_no_lock() -> None:
    assert locked('name = "other"\nversion = "1.0"\n', "pkg") is None


@pytest.mark.parametrize(
    ("given", "severity"),
    [("", "error"), (", datetime_format='%Y-%m-%d'", "note"), (", datetime_format=form", "error")],
)
def test_the_format_of_the_time(tmp_path: Path, given: str, severity: str) -> None:
    write(tmp_path, {"app.py": AGENT.format(given)})
    assert [f.severity for f in lint([tmp_path], cache=False).findings if f.code == "CSF111"] == [severity]


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("", False),
        (", markdown=True, instructions='Be brief.'", False),
        (", add_history_to_context=False", False),
        (", tools=[search]", True),
        (", db=db, add_history_to_context=True", True),
    ],
)
def test_an_agent_with_nothing_behind_the_switch(tmp_path: Path, given: str, seen: bool) -> None:
    assert found(tmp_path, {"app.py": AGENT.format(given), "start.py": "import app\n"}) == ["app.py"] * seen
