"""Earlier messages under any name, rounds of a job and orders in short texts; each beside its harmless twin."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

REST = "\n".join(f"LABEL_{n} = {n}" for n in range(45))
PLAY = (
    "import time\nfrom litellm import completion\n\n\nclass Game:\n    def play(self, {name}, action):\n"
    "        {grows}\n"
    "        system = {{'role': 'system', 'content': f'Tick {{time.time()}}. Describe, never decide.'}}\n"
    "        return completion(model='m', messages={messages})\n\n\n" + REST + "\n"
)
JOB = (
    "import time\n\nRULES = 'You write five lines, each of them with a source and a date.'\n\n\n"
    "def digest(client, topics):\n{before}    for topic in topics:\n{inside}"
    "        client.chat.completions.create(model='m', messages=[\n"
    "            {{'role': 'system', 'content': system}}, {{'role': 'user', 'content': topic}}])\n"
)
READ = "{indent}system = RULES + ' Written at ' + time.ctime()\n"
SHORT = (
    "ALLOWED = {{'read', 'list', 'head'}}\n\n\ndef system_text():\n    return {text}\n\n\n"
    "def request(client, question):\n    return client.chat.completions.create(model='m', messages=[\n"
    "        {{'role': 'system', 'content': system_text()}}, {{'role': 'user', 'content': question}}])\n"
)
NAMED = "f'You may call {\", \".join(a for a in ALLOWED)}'"


def codes(root: Path, program: str) -> list[str]:
    """The codes of the findings in one file."""
    write(root, {"a.py": program})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


@pytest.mark.parametrize("log", ["log", "said", "self.seen"])
@pytest.mark.parametrize("messages", ["[system, *{log}]", "[{{**system, 'role': 'system'}}, *{log}, READY]"])
def test_what_grows_behind_the_system_message(tmp_path: Path, log: str, messages: str) -> None:
    grows = f"{log}.append({{'role': 'user', 'content': action}})"
    sent = messages.format(log=log)
    assert codes(tmp_path / "grows", PLAY.format(name=log.rpartition(".")[2], grows=grows, messages=sent)) == ["CSF101"]
    # Examples, as far as anybody sees.
    assert codes(tmp_path / "same", PLAY.format(name=log.rpartition(".")[2], grows="...", messages=sent)) == []


def test_rounds_of_a_job_that_read_the_clock(tmp_path: Path) -> None:
    inside = JOB.format(before="", inside=READ.format(indent="        "))
    before = JOB.format(before=READ.format(indent="    "), inside="")
    assert codes(tmp_path / "inside", inside) == ["CSF101"]
    assert codes(tmp_path / "before", before) == []


def test_an_order_in_a_short_text(tmp_path: Path) -> None:
    behind = " + ' and nothing else. Say in one line why, before each call.'"
    assert codes(tmp_path / "behind", SHORT.format(text=NAMED + behind)) == ["CSF201"]
    assert codes(tmp_path / "last", SHORT.format(text=NAMED)) == []
    front = f"'{'Keep to the house rules. ' * 9}' + "
    assert codes(tmp_path / "front", SHORT.format(text=front + NAMED + behind)) == []
    assert codes(tmp_path / "long", SHORT.format(text=NAMED + behind) + "\n" + REST + "\n") == []
