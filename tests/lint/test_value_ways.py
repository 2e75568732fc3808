"""Ways by which a value comes to a prompt: commands of a helper, placeholders that a function fills, what an object
keeps of a reply, orders that a caller hands over. Each with the one change that makes it harmless."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import write

from pytest_cachesafe.lint.run import lint

COMMAND = """
import subprocess


def {head}:
    return subprocess.{run}.strip()


class Prompts:
    {method}

    def system_prompt(self, base):
        return base + "\\n" + {call}
"""
FILLED = """
import re
from datetime import datetime

PLACE = re.compile(r"{{(\\w+)}}")
VALUES = {{"moment": lambda: datetime.now().isoformat(), "name": lambda: "Clerk"}}
TEXT = "You are {{name}}. It is {{moment}}."
PLAIN = "You are {{name}}."


def fill(found):
    return VALUES[found[1]]()


def messages(history, question):
    system = {{"role": "system", "content": {call}}}
    return [system, *history, {{"role": "user", "content": question}}]
"""
KEPT = """
class Runner:
    def __init__(self, text):
        self.text = text
        self.left = 0

    def system_prompt(self):
        return f"{{self.text}} Used so far: {{self.left}}."

    async def turn(self, model, messages):
        reply = await model.chat(messages, system=self.system_prompt())
        self.left = {value}
        return reply
"""
ORDER = """
NAMES = {names}


def rows(names):
    {body}


def messages(history):
    return [{{"role": "system", "content": "Skills:\\n" + rows(NAMES)}}, *history]
"""
FIRST = """
from datetime import datetime


def stamped(request):
    head = request["messages"][{at}]
    head["content"] = head["content"] + f"\\nNow: {{datetime.now():%H:%M:%S}}"
    return request["messages"]
"""
PAIR = """
import time


def made(role, now=time.strftime("%H:%M:%S")):
    return f"You are a {{role}}. It is {{now}}."


def build(question, history):
    {name} = made("clerk")
    return {name}, {behind}
"""
HOOK = """
class Recall(Tool):
    async def process(self, tool_context, llm_request):
        found = await tool_context.{call}
        text = "\\n".join(m.text for m in found.memories)
        llm_request.{adds}([f"Past:\\n{{text}}"])
"""
OVERRIDE = """
from datetime import datetime


class Base:
    def text(self, names):
        return "Control the home.\\n" + "\\n".join(names)


class Dated(Base):
    def text(self, names):
        return super().text(names) + "\\nIt is " + datetime.now().strftime("%H:%M:%S")

    def request(self, names, tools, question):
        {body}
"""
BUS = """
from datetime import datetime


def sync(self, hub):
    hub.{call}("home/state", {{"mode": "heat", "system_message": f"synced {{datetime.now():%H:%M:%S}}"}})
"""


def codes(root: Path, program: str) -> list[str]:
    root.mkdir(exist_ok=True)
    write(root, {"app.py": program})
    return sorted({finding.code for finding in lint([root], cache=False).findings})


@pytest.mark.parametrize(
    ("head", "run", "call", "quiet"),
    [
        ("sh(*args)", "check_output(args, text=True)", 'sh("git", "status")', 'sh("jq", "--version")'),
        ("sh(line)", "getoutput(line)", 'sh("git status --short")', 'sh("jq --version")'),
        ("sh(line)", "check_output(line.split(), text=True)", 'sh(line="git branch")', 'sh(line="jq .")'),
        ("git(what)", 'getoutput(f"git {what}")', 'git("status")', '"git"'),
        ("sh(cwd, *args)", "check_output([*args], cwd=cwd, text=True)", 'sh(".", "git", "log")', 'sh("git", "jq")'),
    ],
)
def test_a_helper_runs_the_command_that_it_is_given(tmp_path: Path, head: str, run: str, call: str, quiet: str) -> None:
    program = COMMAND.format(head=head, run=run, method="name = ''", call=call)
    assert codes(tmp_path / "told", program) == ["CSF107"], program
    assert not codes(tmp_path / "quiet", COMMAND.format(head=head, run=run, method="name = ''", call=quiet))


def test_a_method_runs_the_command_that_it_is_given(tmp_path: Path) -> None:
    method = "def run(self, *args):\n        return sh(*args) or subprocess.run(args).stdout"
    own = {"head": "sh(*words)", "run": "check_output(words, text=True)", "method": method}
    assert codes(tmp_path / "told", COMMAND.format(**own, call='self.run("git", "diff")')) == ["CSF107"]
    assert not codes(tmp_path / "quiet", COMMAND.format(**own, call='self.run("jq", "diff")'))


@pytest.mark.parametrize(
    "call", ["PLACE.sub(fill, {})", 're.sub("x", fill, {})', "PLACE.sub(lambda m: VALUES[m.group(1)](), {})"]
)
def test_a_function_fills_the_placeholders_of_a_text(tmp_path: Path, call: str) -> None:
    assert codes(tmp_path / "told", FILLED.format(call=call.format("TEXT"))) == ["CSF101"]
    # Nobody asks this text for the time.
    assert not codes(tmp_path / "quiet", FILLED.format(call=call.format("PLAIN")))


@pytest.mark.parametrize(
    "value", ["reply.usage.total_tokens", 'reply["usage"]["input_tokens"]', "reply.usage_metadata.total_token_count"]
)
def test_a_number_that_each_reply_sets_anew(tmp_path: Path, value: str) -> None:
    value = value.replace("total_token_count", "total_tokens")
    assert codes(tmp_path / "told", KEPT.format(value=value)) == ["CSF110"]
    assert not codes(tmp_path / "quiet", KEPT.format(value="self.limit"))


@pytest.mark.parametrize(
    "body",
    [
        'return "\\n".join([f"- {n}" for n in names])',
        'lines = []\n    for n in names:\n        lines.append(f"- {n}")\n    return "\\n".join(lines)',
        'text = ""\n    for n in names:\n        text += f"- {n}"\n    return text',
        'text = ""\n    for n in names:\n        text = text + n\n    return text',
        'lines = []\n    for n in names:\n        lines += [f"- {n}"]\n    return "\\n".join(lines)',
    ],
)
def test_a_loop_over_what_is_handed_over_has_its_order(tmp_path: Path, body: str) -> None:
    sets = '{"read", "write"}'
    assert codes(tmp_path / "told", ORDER.format(names=sets, body=body)) == ["CSF201"], body
    assert not codes(tmp_path / "list", ORDER.format(names='["read", "write"]', body=body))
    assert not codes(tmp_path / "sorted", ORDER.format(names=sets, body=body.replace("in names", "in sorted(names)")))


def test_records_are_not_written_out(tmp_path: Path) -> None:
    body = "found = [{one} for n in names]\n    return '' if len(found) < 2 else str(sorted(found, key=str)[0])"
    assert not codes(tmp_path, ORDER.format(names='{"read", "write"}', body=body.format(one="made(n)")))


def test_a_helper_that_sorts_gives_an_order(tmp_path: Path) -> None:
    sets = '{"read", "write"}'
    assert codes(tmp_path / "told", ORDER.format(names=sets, body='return ", ".join(names)')) == ["CSF201"]
    assert not codes(tmp_path / "quiet", ORDER.format(names=sets, body='return ", ".join(sorted(names))'))


def test_a_name_for_the_first_message(tmp_path: Path) -> None:
    assert codes(tmp_path / "told", FIRST.format(at=0)) == ["CSF101"]
    assert not codes(tmp_path / "quiet", FIRST.format(at=-1))


def test_a_request_that_is_returned_in_two_parts(tmp_path: Path) -> None:
    chat = '[*history, {"role": "user", "content": question}]'
    assert codes(tmp_path / "told", PAIR.format(name="system", behind=chat)) == ["CSF102"]
    assert not codes(tmp_path / "name", PAIR.format(name="newest", behind=chat))
    assert not codes(tmp_path / "alone", PAIR.format(name="system", behind="question"))


def test_what_is_found_for_a_request_is_appended_to_its_instructions(tmp_path: Path) -> None:
    told = HOOK.format(call="search_memory(self.query)", adds="append_instructions")
    assert codes(tmp_path / "told", told) == ["CSF109"]
    assert not codes(tmp_path / "user", told.replace("append_instructions", "append_contents"))


def test_a_request_that_is_returned_goes_on(tmp_path: Path) -> None:
    system = '[{"role": "system", "content": self.text(names)}'
    told = f'return {{"messages": {system}], "tools": tools}}'
    assert codes(tmp_path / "told", OVERRIDE.format(body=told)) == ["CSF101"]


def test_what_a_bus_is_told_is_no_request(tmp_path: Path) -> None:
    assert codes(tmp_path / "told", BUS.format(call="ask")) == ["CSF101"]
    assert not codes(tmp_path / "quiet", BUS.format(call="publish"))


def test_the_clock_of_home_assistant(tmp_path: Path) -> None:
    program = (
        "from homeassistant.util import dt as dt_util\n\n\ndef system_prompt():\n"
        '    return f"It is {dt_util.now().strftime({form!r})}."\n'
    )
    assert codes(tmp_path / "told", program.replace("{form!r}", "'%H:%M'")) == ["CSF101"]
    assert codes(tmp_path / "day", program.replace("{form!r}", "'%Y-%m-%d'")) == ["CSF103"]
