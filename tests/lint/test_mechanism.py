"""What must be seen of a value in a system text before it is reported, in files that others of a project take in."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

CODES = frozenset({"CSF104", "CSF105", "CSF107", "CSF108", "CSF109"})
CALL = "client.chat.completions.create(model='m', messages="
LONG = "Answer from the handbook, with the page, in plain words and without a guess. " * 4
ASKED = "{'role': 'user', 'content': question}]"


def codes(root: Path, text: str, name: str = "app.py", **others: str) -> list[str]:
    """The codes of a file that another one takes in, so that it does not stand alone."""
    stem = name.rpartition("/")[2].removesuffix(".py")
    write(root, {name: text, "start.py": f"import {stem}\n", **{f"{key}.py": value for key, value in others.items()}})
    return [code for _, _, code in places(lint([root], cache=False).findings) if code in CODES]


def recalled(
    messages: str, text: str = "'You help.\\n' + known", head: str = "client, store, question, history"
) -> str:
    """A function that searches a memory for each question."""
    return (
        f"def ask({head}):\n    known = store.search_memory(question)\n"
        f"    system = {{'role': 'system', 'content': {text}}}\n    return {CALL}{messages})\n"
    )


CHAT = recalled("[system, *history, " + ASKED)
ONCE = recalled("[system, " + ASKED)


@pytest.mark.parametrize(
    "program",
    [
        CHAT,
        recalled("[system] + history"),
        recalled("[system] + request['messages']", head="client, store, question, request"),
        recalled("[system, " + ASKED, f"'You help.\\n' + known + '''{LONG}'''"),
        "from agents import Agent\n\n\ndef ask(store, question):\n    known = store.search_memory(question)\n"
        "    return Agent(name='a', instructions='You help.\\n' + known)\n",
        "class Bot:\n    def system(self, question):\n        known = self.store.search_memory(question)\n"
        "        return {'role': 'system', 'content': 'You help.\\n' + known}\n\n"
        "    def ask(self, client, question):\n        messages = [self.system(question), *self.history]\n"
        f"        return {CALL}messages)\n",
    ],
    ids=["starred", "sum", "of-a-request", "fixed-text", "agent", "caller"],
)
def test_recalled_text_in_front_of_something(tmp_path: Path, program: str) -> None:
    assert set(codes(tmp_path, program)) == {"CSF109"}


@pytest.mark.parametrize(
    "program",
    [
        ONCE,
        "class Bot:\n    def __init__(self, store, client):\n        self.known = store.search_memory('all')\n"
        "        self.client = client\n\n    def ask(self, history):\n"
        "        system = {'role': 'system', 'content': 'You help.\\n' + self.known}\n"
        f"        return self.{CALL}[system, *history])\n",
        "def ask(client, store, question, messages):\n    known = store.search_memory(question)\n"
        "    for message in messages:\n        if message['role'] == 'user':\n            message['content'] += known\n"
        "            break\n    else:\n        messages = [{'role': 'system', 'content': known}] + messages\n"
        f"    return {CALL}messages)\n",
        "def main(client, store, history):\n    known = store.search_memory('all')\n"
        "    system = {'role': 'system', 'content': 'You help.\\n' + known}\n    while True:\n"
        f"        history.append({CALL}[system, *history]))\n",
        "def begin(store, history):\n    known = store.search_memory('all')\n"
        "    return PromptEvent(system_prompt='You help.\\n' + known), history\n",
    ],
    ids=["one-question", "kept-by-an-object", "fallback", "once-per-program", "kept-event"],
)
def test_recalled_text_that_costs_nothing_to_be_seen(tmp_path: Path, program: str) -> None:
    assert codes(tmp_path, program) == []


def test_a_benchmark_asks_once(tmp_path: Path) -> None:
    assert codes(tmp_path, CHAT, "memory-bench/run.py") == []


def test_a_short_file_alone_is_complete(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": ONCE.replace("client.chat.completions.create(model='m', messages=", "print(")})
    write(tmp_path, {"app.py": recalled("[system]")})
    assert [code for _, _, code in places(lint([tmp_path], cache=False).findings)] == ["CSF109"]
    assert codes(tmp_path, recalled("[system]")) == []


def named(value: str, text: str, head: str = "client, request, history", last: str = "[system, *history])") -> str:
    """A function that tells a model who asks."""
    return (
        f"from texts import GREETING\n\n\ndef ask({head}):\n    name = {value}\n    text = {text}\n"
        f"    system = {{'role': 'system', 'content': text}}\n    return {CALL}{last}\n"
    )


IN_FRONT = f"f'You talk to {{name}}.' + '''{LONG}'''"


@pytest.mark.parametrize(
    "program",
    [
        named("request.user_name", IN_FRONT),
        named("request.user_name", "GREETING.format(name=request.user_name)"),
        "from agents import Agent\n\n\ndef ask(request, tools):\n    name = request.user_name\n"
        "    return Agent(name='a', instructions=f'You talk to {name}.', tools=tools)\n",
    ],
    ids=["attribute", "unseen-template", "tools"],
)
def test_a_users_name_before_what_all_share(tmp_path: Path, program: str) -> None:
    assert set(codes(tmp_path, program)) == {"CSF105"}


@pytest.mark.parametrize(
    "program",
    [
        named("request.user_name", f"'''{LONG}''' + f'You talk to {{name}}.'"),
        named("app_config.user_name", IN_FRONT),
        named("owner['user_name']", IN_FRONT),
    ],
    ids=["at-the-end", "setting", "nobodys-request"],
)
def test_a_name_that_nobody_shares_a_text_behind(tmp_path: Path, program: str) -> None:
    assert "CSF105" not in codes(tmp_path, program)


@pytest.mark.parametrize(
    ("caller", "seen"),
    [
        ("def page(client, request, past):\n    return ask(client, request.user.name, past)\n", True),
        ("def page(client, user, past):\n    name = find_name(user)\n"
         "    return ask(client, user_name=name, history=past)\n", True),
        ("@router.post('/chat')\ndef page(client, name, past):\n    return ask(client, name, past)\n", True),
        ("def page(client, past, name=Depends(who)):\n    return ask(client, name or 'you', past)\n", True),
        ("def page(client, past, config):\n    return ask(client, config['configurable']['name'], past)\n", True),
        ("def page(client, past):\n    session = uuid4().hex\n\n    def later():\n"
         "        return ask(client, session, past)\n\n    return later\n", True),
        ("async def page(client, request, past):\n    sent = await request.json()\n"
         "    return ask(client, sent['name'], past)\n", True),
        ("def page(client, past, profile):\n    sent = profile.load()\n"
         "    return ask(client, sent['name'], past)\n", False),
        ("def page(client, past):\n    return ask(client, 'Ann', past)\n", False),
        ("def page(client, past, config):\n    return ask(client, config.user_name, past)\n", False),
        ("def page(client, past, name):\n    return ask(client, name, past)\n", False),
        ("def page(client, past, owner):\n    return ask(client, owner.name, past)\n", False),
        ("def page(client, request, past):\n    return ask(client, history=request.past, user_name='Ann')\n", False),
        ("def page(client, request):\n    return tell(client, request.user.name, past)\n", False),
        ("def page():\n    return None\n", False),
    ],
    ids=["attribute", "call", "handler", "dependency", "graph", "made-anew", "body", "profile",
         "constant", "setting", "nobody", "owner",
         "another-parameter", "another-function", "no-call"],
)  # fmt: skip
def test_what_callers_pass_decides_whose_name_it_is(tmp_path: Path, caller: str, seen: bool) -> None:
    program = named("user_name", IN_FRONT, head="client, user_name, history")
    assert ("CSF105" in codes(tmp_path, program, page="from app import ask\n\n\n" + caller)) is seen


def drawn(text: str, messages: str = "[system, *history]") -> str:
    return (
        f"import random\nimport uuid\n\n\ndef ask(client, history, tips):\n    text = {text}\n"
        f"    system = {{'role': 'system', 'content': text}}\n    return {CALL}{messages})\n"
    )


def test_a_random_text_before_a_chat(tmp_path: Path) -> None:
    assert codes(tmp_path, drawn("f'You help. {random.choice(tips)}'")) == ["CSF104"]
    assert codes(tmp_path, drawn("f'You help. {random.choice(tips)}'", "[system]")) == []


def test_a_random_value_of_far_away(tmp_path: Path) -> None:
    far = "import uuid\n\n\ndef fresh():\n    return uuid.uuid4().hex\n\n\ndef named():\n    return f'run {fresh()}'\n"
    ask = (
        f"\n\ndef ask(client, history):\n    system = {{'role': 'system', 'content': named()}}\n"
        f"    return {CALL}[system, *history])\n"
    )
    assert codes(tmp_path, far + ask) == []
    near = "import uuid\n\n\ndef named():\n    return f'run {uuid.uuid4().hex}'\n"
    assert "CSF104" in codes(tmp_path, near + ask)


def built(value: str, messages: str = "[system, *history]") -> str:
    return (
        f"import importlib.metadata\nimport subprocess\n\n\ndef ask(client, history):\n    state = {value}\n"
        f"    system = {{'role': 'system', 'content': f'You edit code. {{state}}'}}\n    return {CALL}{messages})\n"
    )


def test_the_state_of_a_repository_before_a_chat(tmp_path: Path) -> None:
    status = "subprocess.check_output(['git', 'status'], text=True)"
    assert codes(tmp_path, built(status)) == ["CSF107"]
    assert codes(tmp_path, built(status, "[system]")) == []
    assert codes(tmp_path, built("importlib.metadata.version('kent')")) == []


def shown(text: str) -> str:
    return (
        "class Agent:\n    def __init__(self, name):\n        self.name = name\n\n"
        f"    def ask(self, client, history, template):\n        text = {text}\n"
        "        system = {'role': 'system', 'content': text}\n"
        f"        return {CALL}[system, *history])\n"
    )


def test_an_object_that_is_printed(tmp_path: Path) -> None:
    assert codes(tmp_path, shown("f'You are {self}.'")) == ["CSF108"]
    assert codes(tmp_path, shown("template.render(agent=self)")) == []
