"""What stands behind a statement that always leaves its block never runs, and is no prompt."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

HEAD = "from datetime import datetime\n\n\n"
SENT = "[{'role': 'system', 'content': f'It is {datetime.now()}. Be brief.'}, *history]"


def codes(root: Path, text: str) -> list[str]:
    """The codes of the findings in a project of one file."""
    write(root, {"a.py": text})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


def function(*lines: str) -> str:
    """A function of these lines and then the one that is reported where it runs."""
    body = "".join(f"    {line}\n" for line in (*lines, f"return client.invoke({SENT})"))
    return f"{HEAD}def ask(client, history, early, late):\n{body}"


LEFT = [
    ("return early",),
    ("raise ValueError(early)",),
    ("if early:", "    return 1", "else:", "    raise ValueError"),
    ("if early:", "    return 1", "elif late:", "    return 2", "else:", "    raise ValueError"),
    ("if early:", "    if late:", "        return 1", "    raise ValueError", "    late = 2", "else:", "    return 2"),
    ("while True:", "    early = client.next(late)", "    if early:", "        return early"),
    ("while 1:", "    for late in early:", "        break"),
]
REACHED = [
    ("early = late",),
    ("if early:", "    return 1"),
    ("if early:", "    return 1", "elif late:", "    return 2"),
    ("if early:", "    return 1", "elif late:", "    late = 2", "else:", "    raise ValueError"),
    ("if early:", "    if late:", "        return 1", "    late = 2", "else:", "    return 2"),
    ("while early:", "    early = client.next(late)", "    if early:", "        return early"),
    ("while True:", "    if early:", "        break"),
    ("while 1:", "    for late in early:", "        pass", "    else:", "        break"),
    ("for late in early:", "    return late"),
    ("try:", "    return early", "except ValueError:", "    pass"),
    ("with early:", "    raise ValueError"),
    ("def inner():", "    return early"),
]


@pytest.mark.parametrize("lines", LEFT)
def test_behind_what_always_leaves(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert codes(tmp_path, function(*lines)) == []


@pytest.mark.parametrize("lines", REACHED)
def test_behind_what_may_go_on(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert codes(tmp_path, function(*lines)) == ["CSF101"]


@pytest.mark.parametrize(("word", "expected"), [("continue", []), ("break", []), ("pass", ["CSF101"])])
def test_behind_the_end_of_a_round(tmp_path: Path, word: str, expected: list[str]) -> None:
    loop = f"    for history in histories:\n        {word}\n        client.invoke({SENT})\n"
    text = f"{HEAD}def ask(client, histories):\n{loop}"
    assert codes(tmp_path, text) == expected


@pytest.mark.parametrize(("line", "expected"), [("raise ImportError('moved')", []), ("MOVED = True", ["CSF101"] * 2)])
def test_definitions_behind_it(tmp_path: Path, line: str, expected: list[str]) -> None:
    prompt = "f'It is {datetime.now()}. Be brief.'"
    text = (
        f"{HEAD}{line}\n\n\ndef system_prompt():\n    return {prompt}\n\n\n"
        f"class Agent:\n    def system_prompt(self):\n        return {prompt}\n"
    )
    assert codes(tmp_path, text) == expected
    inner = (
        f"{HEAD}def made():\n    {line.replace('raise', 'return')}\n\n"
        f"    def system_prompt():\n        return {prompt}\n\n    return system_prompt\n"
    )
    assert codes(tmp_path / "inner", inner) == expected[:1]


@pytest.mark.parametrize(("line", "expected"), [("return None", []), ("early()", ["CSF303"])])
def test_rules_on_the_structure_of_requests(tmp_path: Path, line: str, expected: list[str]) -> None:
    text = (
        f"def ask(client, history, early):\n    {line}\n"
        "    messages = [{'role': 'system', 'content': 'You help.'}, *history[-8:]]\n"
        "    return client.chat.completions.create(model='m', messages=messages)\n"
    )
    assert codes(tmp_path, text) == expected


def test_what_a_branch_that_leaves_has_bound(tmp_path: Path) -> None:
    text = (
        f"{HEAD}def ask(client, history, early):\n    now = 'soon'\n    if early:\n        now = datetime.now()\n"
        "        {}\n        early = None\n"
        "    return client.invoke([{{'role': 'system', 'content': f'It is {{now}}. Be brief.'}}, *history])\n"
    )
    assert codes(tmp_path / "left", text.format("return now")) == []
    assert codes(tmp_path / "on", text.format("early()")) == ["CSF101"]
