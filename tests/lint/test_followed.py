"""Clocks are told where the code shows what they cost: a chat, an agent or fixed text behind them."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import write

from pytest_cachesafe.lint.run import lint

# A longer file; a short one is taken as it stands.
ROWS = "\n".join(f"NAME_{number} = {number}" for number in range(50))
HEAD = f"from datetime import datetime\n\nfrom wires import post\n\n{ROWS}\n\n\n"
TEXT = 'f"You help. It is {datetime.now():%H:%M}."'
BUILT = f"def clerk_system_prompt():\n    return {TEXT}\n"


def codes(root: Path, files: dict[str, str]) -> list[str]:
    result = lint([write(root / "p", files)], cache=False)
    assert result.crashed == []
    return [finding.code for finding in result.findings]


@pytest.mark.parametrize(
    "sends",
    [
        f"def ask(page):\n    system_prompt = {TEXT}\n    return post(system_prompt, page)\n",
        f"def ask(page):\n    system_prompt = {TEXT}\n    post(system_prompt)\n\n\ndef run(page):\n    ask(page)\n",
        f"class Clerk:\n    def wake(self):\n        self.system_prompt = {TEXT}\n\n"
        "    def ask(self, page):\n        return post(self.system_prompt, page)\n",
    ],
)
def test_nothing_is_seen_behind_it(sends: str, tmp_path: Path) -> None:
    assert codes(tmp_path, {"app.py": HEAD + sends}) == []


@pytest.mark.parametrize(
    "sends",
    [
        f"def ask(history):\n    system_prompt = {TEXT}\n    return post(system_prompt, *history)\n",
        f"def ask(page):\n    system_prompt = {TEXT}\n    return post(system_prompt, load_history(page))\n",
        f"def ask(page):\n    system_prompt = {TEXT}\n    return make_agent(page, instructions=system_prompt)\n",
        f"def ask(page):\n    system_prompt = {TEXT}\n    post(system_prompt)\n\n\n"
        "def run(history):\n    ask(1)\n    post(*history)\n",
        f"def ask(page):\n    system_prompt = {TEXT}\n    post(system_prompt)\n\n\ndef middle():\n    ask(1)\n\n\n"
        "def run(history):\n    middle()\n    post(*history)\n",
        f"class Clerk:\n    def wake(self):\n        self.system_prompt = {TEXT}\n\n"
        "    def ask(self, history):\n        return post(self.system_prompt, *history)\n",
        f"class Clerk:\n    def wake(self):\n        system_prompt = {TEXT}\n"
        '        self.items = [{"role": "system", "content": system_prompt}]\n',
        f"def wrap_model_call(call, go):\n    system_prompt = {TEXT}\n    return go(call, system_prompt)\n",
        f"def ask(page):\n    system_prompt = {TEXT} + RULES\n    return post(system_prompt, page)\n",
        f"def ask(page):\n    system_prompt = {TEXT} + {'Be kind. ' * 30!r}\n    return post(system_prompt, page)\n",
    ],
)
def test_something_is_seen_behind_it(sends: str, tmp_path: Path) -> None:
    assert codes(tmp_path, {"app.py": HEAD + sends}) == ["CSF101"]


@pytest.mark.parametrize(("given", "told"), [("page", []), ("history", ["CSF101"])])
def test_a_chat_of_another_file(given: str, told: list[str], tmp_path: Path) -> None:
    calls = f"from app import clerk_system_prompt\n\n{ROWS}\n\n\ndef run({given}):\n"
    calls += f"    post(clerk_system_prompt(), *{given})\n"
    assert codes(tmp_path, {"app.py": HEAD + BUILT, "main.py": calls}) == told


def test_a_name_that_many_files_use_says_nothing(tmp_path: Path) -> None:
    calls = (
        f"from app import clerk_system_prompt\n\n{ROWS}\n\n\ndef run(page):\n    post(clerk_system_prompt(), page)\n"
    )
    few = {f"main_{number}.py": calls for number in range(3)}
    many = {f"main_{number}.py": calls for number in range(40)}
    assert codes(tmp_path / "few", {"app.py": HEAD + BUILT, **few}) == []
    assert codes(tmp_path / "many", {"app.py": HEAD + BUILT, **many}) == ["CSF101"]


def test_a_short_file_is_taken_as_it_stands(tmp_path: Path) -> None:
    sends = f"def ask(page):\n    system_prompt = {TEXT}\n    return post(system_prompt, page)\n"
    assert codes(tmp_path, {"app.py": HEAD.replace(ROWS, "") + sends, "main.py": "import app\n"}) == ["CSF101"]
