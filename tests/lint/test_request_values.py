"""Values that a web request or a person brings into a system text; each condition by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

LONG = "Answer in the language of the visitor and name the opening hours. " * 4
RULES = f'RULES = """{LONG}"""\n'
CALL = "client.responses.create(model='m', instructions=%s, input=body['turns'])"
HANDLER = """
from flask import request
%s
@app.post("/chat")
def chat(client, body):
    value = %s
    return %s
"""
HELPER = """
from starlette.requests import Request
%s

def lines(request: Request):
    return [f"The visitor reads {request.%s}."]


async def plan(request: Request):
    agent = Agent(instructions=[*lines(request), RULES])
    return await agent.arun((await request.json())["question"])
"""
REPLACED = """
from flask import request
HEAD = "City: {{CITY}}. %s"


@app.route("/ask")
def ask(llm, body):
    city = request.%s
    text = HEAD.replace("{{CITY}}", city)
    return llm.invoke([{"role": "system", "content": text}, *body["history"]]).content
"""
DECLARED = """
from typing import Annotated
from fastapi import Header, Query
%s

@app.post("/chat")
async def chat(client, messages, agent: %s):
    return client.messages.create(model="m", max_tokens=9, system="Browser: " + agent + RULES, messages=messages)
"""
IN_FRONT = 'f"Visitor: {value}." + RULES'
REST = "\n".join(f"LABEL_{n} = {n}" for n in range(45))


def codes(tmp_path: Path, program: str) -> list[str]:
    """What is found in a file of many rows."""
    write(tmp_path, {"app.py": f"{program}\n{REST}\n"})
    return [code for _, _, code in places(lint([tmp_path], cache=False).findings)]


@pytest.mark.parametrize(
    "value",
    [
        "request.headers.get('User-Agent', '')",
        "request.headers['accept-language']",
        "request.remote_addr",
        "request.client.host",
        "request.cookies.get('theme')",
        "request.args.get('city')",
        "request.query_params['city']",
    ],
)
def test_what_a_request_brings(tmp_path: Path, value: str) -> None:
    assert "CSF105" in codes(tmp_path, HANDLER % (RULES, value, CALL % IN_FRONT))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("request.headers.get('User-Agent', '')", 'RULES + f"Visitor: {value}."'),
        ("request.headers.get('User-Agent', '')", "RULES"),
        ("request.headers.get('host', '')", IN_FRONT),
        ("request.args.get('question')", IN_FRONT),
        ("request.endpoint", IN_FRONT),
        ("response.headers.get('x-model')", IN_FRONT),
    ],
    ids=["at-the-end", "not-in-the-text", "server", "question", "route", "answer"],
)
def test_what_differs_from_nobody(tmp_path: Path, value: str, text: str) -> None:
    assert codes(tmp_path, HANDLER % (RULES, value, CALL % text)) == []


@pytest.mark.parametrize(("part", "found"), [("headers['accept-language']", ["CSF105"]), ("url.path", [])])
def test_a_helper_is_given_the_request(tmp_path: Path, part: str, found: list[str]) -> None:
    assert codes(tmp_path, HELPER % (RULES, part)) == found


@pytest.mark.parametrize(("behind", "found"), [(LONG, ["CSF105"]), ("Be kind.", [])], ids=["long", "short"])
def test_a_placeholder_is_replaced(tmp_path: Path, behind: str, found: list[str]) -> None:
    assert codes(tmp_path, REPLACED % (behind, "args.get('city')")) == found


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("Annotated[str, Header()]", ["CSF105"]),
        ("str = Header(default='')", ["CSF105"]),
        ("str = Query()", []),
        ("str = 'x'", []),
    ],
)
def test_a_parameter_is_declared_a_header(tmp_path: Path, kind: str, found: list[str]) -> None:
    assert codes(tmp_path, DECLARED % (RULES, kind)) == found


PARAMETER = """
from shop.models import {kind}
{rules}

def ask(client, {name}: {kind}, history):
    head = {{"role": "system", "content": {text}}}
    return client.chat.completions.create(model="m", messages=[head, *history])
"""
FIELD = """
from dataclasses import dataclass
from shop.models import {kind}
{rules}

@dataclass
class Desk:
    index: object
    customer: {kind}

    @property
    def note(self):
        c = self.customer
        return f"Tariff {{c.tariff}}, left {{c.left_mb}} MB."

    def engine(self):
        return self.index.as_chat_engine(system_prompt=" ".join({text}), chat_mode="context")
"""
CONTEXT = """
from dataclasses import dataclass
from pydantic_ai import Agent, RunContext

{rules}

@dataclass
class {kind}:
    ward: str


agent = Agent("m", deps_type={kind})


@agent.instructions
async def facts(ctx: RunContext[{kind}]) -> str:
    return f"Ward {{ctx.deps.ward}}." + {text}
"""


@pytest.mark.parametrize(
    ("program", "kind", "found"),
    [
        (PARAMETER.format(kind="{kind}", name="user", text="f'Holds {user.points} points.' + RULES", rules="{rules}"),
         "User", ["CSF105"]),
        (PARAMETER.format(kind="{kind}", name="user", text="f'Holds {user.points} points.' + RULES", rules="{rules}"),
         "Usage", []),
        (PARAMETER.format(kind="{kind}", name="user", text="RULES + f'Holds {user.points} points.'", rules="{rules}"),
         "User", []),
        (FIELD.replace("{text}", "(self.note, RULES)"), "Customer", ["CSF105"]),
        (FIELD.replace("{text}", "(self.note, RULES)"), "Tariffs", []),
        (FIELD.replace("{text}", "(RULES, self.note)"), "Customer", []),
        (CONTEXT.replace("{text}", "RULES"), "Patient", ["CSF105"]),
        (CONTEXT.replace("{text}", "RULES"), "Wards", []),
        (CONTEXT.replace("{text}", "'Be kind.'"), "Patient", []),
    ],
    ids=["parameter", "no-person", "at-the-end", "field", "no-person-in-field", "field-at-the-end", "context",
         "no-person-in-context", "nothing-behind"],
)  # fmt: skip
def test_what_is_read_off_a_person(tmp_path: Path, program: str, kind: str, found: list[str]) -> None:
    text = program.replace("{{", "{").replace("}}", "}").replace("{kind}", kind).replace("{rules}", RULES)
    assert codes(tmp_path, text) == found
