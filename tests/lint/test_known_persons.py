"""What a visitor left in a web session, a framework's state or a looked-up address; each beside its harmless twin."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

RULES = 'RULES = "You help visitors of the zoo. Answer in two lines. Never guess a price; name the desk instead."\n'
WEB = (
    "import requests\nimport geocoder\nfrom {package} import session\n\n" + RULES + "\n\n"
    "def messages(request, ip, history, question):\n    said = {value}\n"
    "    return [{{'role': 'system', 'content': {system}}}, *history, {{'role': 'user', 'content': {user}}}]\n"
)
AGENT = (
    "from google.adk.agents import Agent\n\n" + RULES + "\n\n"
    "{kind}def instruction({handed}):\n    {read}\n    return f'You talk to {{who}}. {{RULES}}'\n\n\n"
    "agent = Agent(name='zoo', model='m', instruction={instruction}, tools=[{tools}])\n"
)


def codes(root: Path, program: str) -> list[str]:
    """The codes of the findings in one file."""
    write(root, {"a.py": program})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


def web(value: str, package: str = "flask", system: str = "f'For {said}. ' + RULES", user: str = "question") -> str:
    return WEB.format(value=value, package=package, system=system, user=user)


@pytest.mark.parametrize(
    "value",
    ["session['club']", "session.get('club', 'none')", "request.session['club']", "geocoder.ip(ip).city",
     "requests.get(f'https://ipapi.co/{ip}/json').json()['city']"],
)  # fmt: skip
def test_what_is_known_of_a_visitor(tmp_path: Path, value: str) -> None:
    assert codes(tmp_path, web(value)) == ["CSF105"]
    assert codes(tmp_path, web(value, system="RULES", user="f'{said}: {question}'")) == []


@pytest.mark.parametrize(
    ("value", "package"),
    [("session['club']", "app.database"), ("session['messages']", "flask"), ("session['csrf_token']", "quart"),
     ("requests.get(f'https://zoo.example/{ip}/json').json()['city']", "flask")],
    ids=["other-session", "chat", "token", "other-service"],
)  # fmt: skip
def test_what_tells_of_nobody(tmp_path: Path, value: str, package: str) -> None:
    assert codes(tmp_path, web(value, package)) == []


def agent(read: str, handed: str = "ctx", kind: str = "", tools: str = "", instruction: str = "instruction") -> str:
    return AGENT.format(read=read, handed=handed, kind=kind, tools=tools, instruction=instruction)


@pytest.mark.parametrize(
    "read",
    ["who = ctx.state['patient_name']", "who = ctx.state.get('user:nick')", "s = ctx.state; who = s.get('email', '')"],
)
@pytest.mark.parametrize("kind", ["", "async "])
def test_a_person_in_the_state_of_a_session(tmp_path: Path, read: str, kind: str) -> None:
    assert codes(tmp_path, agent(read, kind=kind)) == ["CSF105"]


@pytest.mark.parametrize(
    "read",
    ["who = ctx.state['app:edition']", "who = ctx.state['topic']", "who = ctx.state['user_question']",
     "who = ctx.settings['email']"],
    ids=["of-the-program", "no-person", "question", "no-state"],
)  # fmt: skip
def test_no_person_in_the_state(tmp_path: Path, read: str) -> None:
    assert codes(tmp_path, agent(read)) == []


def test_a_tool_may_read_the_state(tmp_path: Path) -> None:
    read = "who = tool_context.state['patient_name']"
    assert codes(tmp_path, agent(read, handed="tool_context", instruction="RULES", tools="instruction")) == []


def test_where_the_machine_stands(tmp_path: Path) -> None:
    assert codes(tmp_path, web("geocoder.ip('me').city")) == ["CSF106"]


@pytest.mark.parametrize(("param", "expected"), [("client_ip", ["CSF105"]), ("place", [])])
def test_whose_address_is_looked_up_in_a_longer_file(tmp_path: Path, param: str, expected: list[str]) -> None:
    rest = "\n".join(f"LABEL_{n} = {n}" for n in range(45))
    shared = (
        "'Answer in two lines and keep to the house rules. ' * 1 + '" + "Name the desk instead of a price. " * 8 + "'"
    )
    program = (
        f"import geocoder\n\n{rest}\n\n\ndef messages({param}, history):\n    near = geocoder.ip({param}).city\n"
        f"    system = f'Near {{near}}. ' + {shared}\n"
        "    return [{'role': 'system', 'content': system}, *history]\n"
    )
    assert codes(tmp_path, program) == expected
