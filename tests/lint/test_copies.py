"""A copy that nobody takes in, beside the file in use, is not run; each condition by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

AGENT = """
from datetime import datetime


class Helper:
    def answer(self, client, history, text):
        system = f"It is {datetime.now():%H:%M}. You help people with their orders and answer briefly."
        return client.chat(model="m", messages=[{"role": "system", "content": system}, *history, text])
"""
USER = "from desk.agent import Helper\n\n\ndef main():\n    print(Helper().answer(1, [], input()))\n\n\nmain()\n"
# More files than those of which it is asked who takes them in.
FILES = {f"desk/part_{number}.py": "" for number in range(11)} | {
    "desk/agent.py": AGENT,
    "desk/agent_old.py": AGENT,
    "app.py": USER,
    "tests/test_old.py": "from desk.agent_old import Helper\n",
}


def told(root: Path, files: dict[str, str]) -> list[str]:
    write(root, FILES | files)
    return sorted(name for name, _, code in places(lint([root], cache=False).findings) if code == "CSF101")


def test_the_copy_is_not_told(tmp_path: Path) -> None:
    assert told(tmp_path, {}) == ["agent.py"]


@pytest.mark.parametrize("name", ["agent_v2.py", "agent2.py", "old_agent.py"])
def test_copies_go_by_the_same_word(tmp_path: Path, name: str) -> None:
    assert told(tmp_path, {"desk/agent_old.py": "", f"desk/{name}": AGENT}) == ["agent.py"]


@pytest.mark.parametrize(
    "files",
    [
        {"desk/other.py": "from desk import agent_old\n"},
        {"desk/other.py": "AGENTS = {'old': 'agent_old'}\n"},
        {"desk/other.py": "import importlib\n\n\ndef load(name):\n    return importlib.import_module(name)\n"},
        {"README.md": "Start it with `python desk/agent_old.py`.\n"},
        {"desk/langgraph.json": '{"graphs": {"agent": "./agent_old.py:Helper"}}\n'},
        {"desk/agent_old.py": AGENT + "\n\nif __name__ == '__main__':\n    print(Helper().answer(1, [], input()))\n"},
        {"desk/agent_old.py": AGENT.replace("class Helper:", "class Helper(Plugin):")},
        {"desk/agent_old.py": AGENT.replace("    def answer", "    @tool\n    def answer")},
    ],
    ids=["imported", "named", "loaded", "first-page", "settings", "program", "base", "decorator"],
)
def test_somebody_may_run_the_copy(tmp_path: Path, files: dict[str, str]) -> None:
    assert told(tmp_path, files) == ["agent.py", "agent_old.py"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"desk/agent_old.py": AGENT.replace("Helper", "Assistant")}, ["agent.py", "agent_old.py"]),
        ({"desk/agent_old.py": "", "desk/weather.py": AGENT}, ["agent.py", "weather.py"]),
        ({"desk/agent_old.py": "", "other/agent_old.py": AGENT}, ["agent.py", "agent_old.py"]),
        ({"app.py": ""}, ["agent.py", "agent_old.py"]),
    ],
    ids=["another-class", "another-word", "another-folder", "none-in-use"],
)
def test_what_is_no_copy_is_told(tmp_path: Path, files: dict[str, str], found: list[str]) -> None:
    assert told(tmp_path, files) == found


def test_what_stands_in_no_function_is_run_by_whoever_loads_it(tmp_path: Path) -> None:
    top = "from datetime import datetime\n\nSYSTEM_PROMPT = f'It is {datetime.now():%H:%M}. You help.'\n"
    top += "AGENT = Agent(system_prompt=SYSTEM_PROMPT, tools=[print])\n"
    write(tmp_path, FILES | {"desk/agent.py": top, "desk/agent_old.py": top, "app.py": "from desk import agent\n"})
    assert {"agent.py", "agent_old.py"} <= {name for name, _, _ in places(lint([tmp_path], cache=False).findings)}
