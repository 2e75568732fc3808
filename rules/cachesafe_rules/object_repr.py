"""CSF108: the repr or id of an object in a cached prefix."""

from __future__ import annotations

from cachesafe_rules.arrival_rule import ArrivalRule
from cachesafe_rules.example import bad, good

__all__ = ["ObjectRepr"]


class ObjectRepr(ArrivalRule):
    """The text of an object without a readable form, or its `id()`, stands in a cached prefix.

    ## Why

    `<Tool object at 0x7f3a…>` names a memory address: another one in each process, and in each call where the object
    is made anew. Nothing behind it is reused, and the model learns nothing from it.

    Reported where the object itself becomes text (f-string, `str()`, `repr()`, `format`, `%`, `join`), or a list or
    dict that holds it, a function or a partial, or a signature with such an object as a default; not where it is given
    to a template that may read its fields; and where a chat, an agent or 200 characters of fixed text stand behind it.
    A file of up to 40 rows that no other file imports is taken as it stands.

    ## What to do

    Write out the fields that the model needs, or give the class a `__str__` (or make it a dataclass) whose text has no
    address. Functions have `__name__`.
    """

    code = "CSF108"
    name = "object-repr"
    severity = "error"
    kinds = ("repr",)

    VALID = (
        good("""
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    name: str


def system_prompt() -> str:
    return f"Follow {Rule('kindness')}."
"""),
        good("""
def search(query: str) -> str:
    "Search the web."
    return query


def system_prompt() -> str:
    return f"Use the tool {search.__name__}."
"""),
        good("""
import logging

log = logging.getLogger(__name__)


class Store:
    pass


def build(store: Store, question):
    log.debug("store %r, id %s", store, id(store))
    return [{"role": "system", "content": "You know the store."}, {"role": "user", "content": question}]
"""),
        good("""
NAME = "Example \\"Cloud\\""


def system_prompt() -> str:
    return f"You are the agent of {NAME!r}."
"""),
    )
    INVALID = (
        bad("""
class Store:
    def __init__(self, path):
        self.path = path


def build(question):
    system = f"You know the store {Store('a.db')}."  # <--
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]  # <--
"""),
        bad("""
def search(query):
    return query


TOOLS = [search]


def system_prompt() -> str:
    return f"Your tools are {TOOLS}."  # <--
"""),
        bad("""
from langchain_core.messages import SystemMessage


def messages(agent, history):
    return [SystemMessage(content=f"You are agent {id(agent)}."), *history]  # <--
"""),
        bad("""
import anthropic


def ask(client: anthropic.Anthropic, messages):
    state = object()
    system = "State: " + repr(state)  # <--
    return client.messages.create(model="claude-sonnet-5", max_tokens=500, system=system, messages=messages)  # <--
"""),
    )
