"""What a report calls a prompt or a tool and the code shows to be none; each condition by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

COUNTED = """
from datetime import datetime


class Meter:
    def __init__(self, encoder):
        self.encoder = encoder

    def measure(self, history):
        now = datetime.now().strftime("%H:%M")
        system_text = f"You are a clerk. It is {{now}}. Keep to the house rules and answer briefly."
        {use}


def main(encoder, history):
    print(Meter(encoder).measure(history))
"""
PASSED = """
from datetime import datetime

from desk.prompts import build_system_prompt


def weigh_shares(place, history):
    system_text = build_system_prompt(place)
    return {use}


class Desk:
    def __init__(self, client):
        self.client = client

    def shares(self, history):
        return weigh_shares(datetime.now().strftime("%H:%M"), history)

    def work(self, history):
        return self.client.ask(system_prompt=build_system_prompt("here"), messages=history)


def main(client, history):
    desk = Desk(client)
    print(desk.shares(history), desk.work(history))
"""
PROMPTS = """
def build_system_prompt(place):
    if not place:
        return "You are a clerk."
    return f"You are a clerk. It is {place}. Keep to the house rules and answer briefly and kindly."
"""
STAMPED = """
import time
from datetime import datetime

_system_prompt = ""
_system_prompt_ts = 0.0


class Store:
    def __init__(self, source):
        self.source = source

    def text(self):
        global _system_prompt, _system_prompt_ts
        {read}
        if not _system_prompt or now - _system_prompt_ts > 60:
            _system_prompt = self.source.read()
            _system_prompt_ts = {given}
        return _system_prompt


def main(source, client):
    while True:
        client.ask(system_prompt=Store(source).text(), messages=[{{"role": "user", "content": input()}}])
"""
REMEMBERED = """
import json
from datetime import datetime


class Desk:
    def __init__(self, {owner}, client):
        self.{owner} = {owner}
        self.client = client

    def keep(self, question, answer, person):
        row = {{"question": question, "answer": answer, "at": datetime.now().isoformat(), "about": "the desk"}}
        messages = [{{"role": "system", "content": json.dumps(row) + " Keep to the house rules and be brief."}}]
        {call}


def main(memory, client):
    desk = Desk(memory, client)
    while True:
        desk.keep(input(), input(), "ann")
"""
STEP = """
def learn(seen, client, messages):
    {begins}
    chosen = list({{word for word in seen if word}})
    {made}
    {after}
"""
DISPLAY = '{"name": "step", "description": "Do all of it.", "parameters": %s}'


def codes(root: Path, text: str) -> list[str]:
    write(root, {"desk/work.py": text, "desk/__init__.py": "", "app.py": "from desk import work\n\nprint(work)\n"})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


@pytest.mark.parametrize(
    "use",
    [
        "return self.estimate_text_tokens(system_text) + len(history)",
        "return self.token_count(system_text)",
    ],
)
def test_a_text_that_is_only_counted_is_not_sent(tmp_path: Path, use: str) -> None:
    assert codes(tmp_path, COUNTED.format(use=use)) == []


@pytest.mark.parametrize(
    "use",
    [
        "return self.trim_to_tokens(system_text)",
        "self.count_tokens(system_text)\n        return self.encoder.ask(system_prompt=system_text, messages=history)",
    ],
)
def test_a_text_that_is_counted_and_goes_on_is_told(tmp_path: Path, use: str) -> None:
    assert "CSF101" in codes(tmp_path, COUNTED.format(use=use))


@pytest.mark.parametrize(
    ("use", "told"),
    [("estimate_tokens(system_text)", False), ("history.ask(system_prompt=system_text)", True)],
)
def test_a_text_is_followed_to_the_function_that_counts_it(tmp_path: Path, use: str, told: bool) -> None:
    write(
        tmp_path,
        {
            "desk/__init__.py": "",
            "desk/prompts.py": PROMPTS,
            "desk/shares.py": PASSED.format(use=use),
            "app.py": "from desk.shares import main\n\nmain(None, [])\n",
        },
    )
    found = [code for _, _, code in places(lint([tmp_path], cache=False).findings)]
    assert ("CSF101" in found) is told


@pytest.mark.parametrize(
    ("read", "given"),
    [
        ("now = time.monotonic()", "now"),
        ("now = time.time()", "int(time.time())"),
        ("now = int(time.time())", "now"),
        ("now = datetime.now()", "now"),
    ],
)
def test_a_time_under_the_name_of_a_prompt_is_no_text(tmp_path: Path, read: str, given: str) -> None:
    assert codes(tmp_path, STAMPED.format(read=read, given=given)) == []


@pytest.mark.parametrize(
    ("read", "given"),
    [
        ("now = 0", 'f"It is {time.time()} now. Keep to the house rules and answer briefly."'),
        ("now = str(time.time())", 'now + " is the time. Keep to the house rules and answer briefly."'),
        ("now = datetime.now().isoformat()", "now"),
        ("now = time.ctime()", "now"),
    ],
)
def test_a_text_of_the_time_is_told(tmp_path: Path, read: str, given: str) -> None:
    assert "CSF101" in codes(tmp_path, STAMPED.format(read=read, given=given))


@pytest.mark.parametrize(
    "call",
    [
        "self.memory.add(messages=messages, user_id=person, metadata={'type': 'row'})",
        "done = self.memory.add(messages, user_id=person)",
    ],
)
def test_what_a_memory_is_told_is_no_request(tmp_path: Path, call: str) -> None:
    assert codes(tmp_path, REMEMBERED.format(owner="memory", call=call)) == []


@pytest.mark.parametrize(
    ("owner", "call"),
    [
        # The memory of a chat is sent again.
        ("memory", "self.memory.add(messages=messages)"),
        ("chat_memory", "self.chat_memory.add(messages=messages, user_id=person)"),
        ("agent", "self.agent.add(messages=messages, user_id=person)"),
        ("memory", "self.memory.ask(messages=messages, user_id=person)"),
        (
            "memory",
            "self.memory.add(messages=messages, user_id=person)\n        return self.client.chat(messages=messages)",
        ),
    ],
)
def test_messages_that_may_be_sent_are_told(tmp_path: Path, owner: str, call: str) -> None:
    assert "CSF101" in codes(tmp_path, REMEMBERED.format(owner=owner, call=call))


def learned(root: Path, made: str, after: str = "return None", begins: str = "steps = []", name: str = "work") -> bool:
    text = STEP.format(begins=begins, made=made, after=after)
    write(
        root, {f"desk/{name}.py": text, "desk/__init__.py": "", "app.py": f"from desk import {name}\n\nprint({name})\n"}
    )
    return "CSF201" in [code for _, _, code in places(lint([root], cache=False).findings)]


@pytest.mark.parametrize(
    ("made", "after"),
    [
        (f"steps.append({DISPLAY % 'chosen'})", "return {'name': 'all', 'steps': steps}"),
        (f"step = {DISPLAY % 'chosen'}", "return step"),
        (f"return {DISPLAY % 'chosen'}", ""),
    ],
)
def test_a_step_of_a_plan_is_no_tool(tmp_path: Path, made: str, after: str) -> None:
    assert not learned(tmp_path, made, after)


@pytest.mark.parametrize(
    ("made", "after", "begins"),
    [
        # By what stands in it.
        ("step = " + DISPLAY % "{'type': 'object', 'required': chosen}", "return step", ""),
        (f"step = {{'type': 'function', 'function': {DISPLAY % 'chosen'}}}", "return step", ""),
        ("step = " + DISPLAY.replace("}", ', "strict": True}') % "chosen", "return step", ""),
        # By a name under which it goes on, here or by way of a local name.
        (f"tools = [{DISPLAY % 'chosen'}]", "return tools", ""),
        (f"client.register_tool({DISPLAY % 'chosen'})", "", ""),
        (f"step = {DISPLAY % 'chosen'}", "return client.ask(tools=[step])", ""),
        (f"steps.append({DISPLAY % 'chosen'})", "return client.ask(messages, functions=steps)", "steps = []"),
        (
            f"steps['a'] = {DISPLAY % 'chosen'}",
            "return {'functions': list(steps.values())}",
            "steps = {}",
        ),
        (f"step = {DISPLAY % 'chosen'}", "every = [step]\n    return client.ask(tools=every)", ""),
    ],
)
def test_what_is_seen_to_be_a_tool_is_told(tmp_path: Path, made: str, after: str, begins: str) -> None:
    assert learned(tmp_path, made, after, begins)


def test_a_file_that_is_named_after_tools_has_tools(tmp_path: Path) -> None:
    assert learned(tmp_path, f"return {DISPLAY % 'chosen'}", "", name="toolbox")


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ('{"system": "", "release": "", "is_linux": False}', False),
        ('{"model": "m", "max_tokens": 9}', True),
        ("{}", True),
        ("dict(given)", True),
    ],
)
def test_a_system_beside_other_things_is_no_request(tmp_path: Path, fields: str, found: bool) -> None:
    text = f"""
import platform


def described(given):
    about = {fields}
    about["system"] = f"You run on {{platform.platform()}}. Answer in few words."
    return about
"""
    write(tmp_path, {"about.py": text})
    codes = [code for _, _, code in places(lint([tmp_path], cache=False).findings)]
    assert ("CSF106" in codes) is found
