"""CSF105: data of a user or session in a cached prefix."""

from __future__ import annotations

from cachesafe_rules.arrival_rule import ArrivalRule
from cachesafe_rules.example import bad, good

__all__ = ["UserOrSessionData"]


class UserOrSessionData(ArrivalRule):
    """A user's or session's own data stands in the system text, the tools or the few-shot messages.

    ## Why

    A name, a place or a session id is the same over one conversation, so that conversation keeps its prefix. But the
    stable text behind it, often thousands of tokens, is computed and stored once per user or session instead of once
    for all; first requests never find anything cached.

    Reported where both is seen: the value comes with a request, and behind it stands something that all share: 200
    characters of fixed text, a template of another file that it fills, or the tools of an agent. At the end of a system
    text nothing is lost, what follows is the user's own. Headers, cookies, query and address of a web request count, as
    do what a visitor's web session holds, where the address of a caller lies, the user's own keys of a framework's
    state (`context.state["user:name"]`, `["patient_name"]`), and the attributes of an object whose class is called a
    user, a customer, an account, a patient. A value comes with a request where it is read off a request, message,
    session or user, or is an id made anew; a parameter where a caller, up to four calls away and in any file, passes
    such a value or handles requests itself (`@router.post(...)`, `Depends(...)`). A parameter that nobody is seen to
    pass is silent, as is what the server says of itself or what is asked (`request.args["q"]`), and so is the owner of
    a program for one person: what is read off a configuration or a persona, and `user_name` in a larger program that
    nowhere tells users apart. In a file of up to 40 rows that no other file imports the name suffices.

    ## What to do

    Let the text that all users share come first, byte-equal for everyone. Put what differs into the first or newest
    user message, or into a block of its own behind the shared one and its cache marker. Session ids belong into
    metadata.
    """

    code = "CSF105"
    name = "user-or-session-data"
    severity = "warning"
    kinds = ("user", "session")

    VALID = (
        good("""
def build(user, question):
    newest = {"role": "user", "content": f"I am {user.get_full_name()}. {question}"}
    return [{"role": "system", "content": "You are a clerk."}, newest]
"""),
        good("""
import anthropic


def ask(client: anthropic.Anthropic, user, messages):
    return client.messages.create(
        model="claude-sonnet-5",
        max_tokens=500,
        system="You are a clerk.",
        messages=messages,
        metadata={"user_id": user.id},
    )
"""),
        good("""
RULES = {"de": "Du hilfst.", "en": "You help."}


def answer(client, request, turns):
    language = request.headers.get("accept-language", "en")[:2]
    return client.responses.create(model="gpt-5", instructions=RULES[language], input=turns)
"""),
        good("""
import getpass
import logging

log = logging.getLogger(__name__)


def build(session_id, question):
    log.info("%s asks in session %s", getpass.getuser(), session_id)
    return [{"role": "system", "content": "You are a clerk."}, {"role": "user", "content": question}]
"""),
        good("""
def build(user_name, history, question):
    system = [
        {"type": "text", "text": "You know the handbook.", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": f"The user is {user_name}."},
    ]
    return {"system": system, "messages": [*history, {"role": "user", "content": question}]}
"""),
    )
    INVALID = (
        bad("""
def build(user, question):
    name = user.get_full_name()
    system = f"You are the assistant of {name}."  # <--
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]  # <--
"""),
        bad("""
from langchain_core.messages import SystemMessage


def messages(user, history):
    return [SystemMessage(content=f"You help {user.first_name} in {user.location}."), *history]  # <--
"""),
        bad("""
import anthropic

SYSTEM_PROMPT = "You are a clerk. Session: {session}. Follow the handbook."


def ask(client: anthropic.Anthropic, session_id: str, messages):
    system = SYSTEM_PROMPT.format(session=session_id)  # <--
    return client.messages.create(model="claude-sonnet-5", max_tokens=500, system=system, messages=messages)  # <--
"""),
        bad("""
from flask import request

HELPDESK = "You are the help desk. Browser: {{BROWSER}}. Go one step at a time."


@app.post("/help")
def answer(client):
    system = HELPDESK.replace("{{BROWSER}}", request.headers.get("User-Agent", ""))  # <--
    return client.responses.create(model="gpt-5", instructions=system, input=request.get_json()["turns"])  # <--
"""),
        bad("""
from shop.models import Customer


def engine(index, customer: Customer):
    return index.as_chat_engine(system_prompt=f"Tariff: {customer.tariff}. Name each price exactly.")  # <--
"""),
        bad("""
from dataclasses import dataclass

from pydantic_ai import Agent, RunContext


@dataclass
class Deps:
    user_name: str


agent = Agent("openai:gpt-5", deps_type=Deps)


@agent.system_prompt
def who(ctx: RunContext[Deps]) -> str:
    return f"The user's name is {ctx.deps.user_name}."  # <--
"""),
        bad("""
from agents import Agent


def instructions(context, agent):
    return f"You are a clerk. The customer is {context.context.user_name}."  # <--


agent = Agent(name="clerk", instructions=instructions)  # <--
"""),
        bad("""
from openai import OpenAI

client = OpenAI()


def ask(request, question):
    rules = "You are terse. User: " + request.user.username  # <--
    return client.responses.create(model="gpt-5", instructions=rules, input=question)  # <--
"""),
    )
