"""CSF109: recalled text or a re-read file in a cached prefix."""

from __future__ import annotations

from cachesafe_rules.arrival_rule import ArrivalRule
from cachesafe_rules.example import bad, good
from cachesafe_rules.model import Arrival, Source
from cachesafe_rules.policy import is_date

__all__ = ["MemoryText"]


class MemoryText(ArrivalRule):
    """Text that the program remembers, or a file that it reads for each request, stands in a cached prefix.

    ## Why

    Memory grows while the conversation runs, and what is recalled depends on the question: each change in the system
    text rewrites every message behind it. A file that the program itself rewrites is memory too. A plain file, such as
    a project's instructions, seldom changes; then this is a note. So is the time at which a file was written, if it
    is printed with the hour.

    Reported where all of this is seen: the text is recalled or read on the way of each request (not when an object is
    made or a program starts), it goes into the system text, and behind it stands a chat (earlier messages from
    elsewhere, here or in a caller of the same file), an agent that is built with it, or 200 characters of fixed text.
    Of a file it is also seen that each function on the way reads it, itself or through another one: what comes out of
    an attribute or a name of the module was read some time before.
    Silent where the question stands before the memory in the same text, where the system text is only the way out of a
    loop that found no better place, where a function named like a recall returns constants, where it only writes out
    what its caller passes and looks up nothing itself (`format_memory(found)`: the caller says what that is), and in
    benchmarks, which ask each question once. A file of up to 40 rows that no other file imports is taken as it stands.

    ## What to do

    Recall into the newest user message, or into a block behind the stable text and its cache marker; or freeze the
    text for the session. Read instruction files once per session, not for each request.
    """

    code = "CSF109"
    name = "memory-text"
    severity = "warning"
    kinds = ("memory", "file")

    VALID = (
        good("""
from pathlib import Path

SYSTEM_PROMPT = Path("system.md").read_text()


def build(question):
    return [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": question}]
"""),
        good("""
def build(memory, history, question):
    recalled = "\\n".join(m.text for m in memory.search(question))
    newest = {"role": "user", "content": f"What you remember:\\n{recalled}\\n\\n{question}"}
    return [{"role": "system", "content": "You remember."}, *history, newest]
"""),
        good("""
from pathlib import Path


def read_file(path: str) -> str:
    "A tool: the text of a file."
    return Path(path).read_text()


def build(history, question):
    system = {"role": "system", "content": "Read files with read_file."}
    return [system, *history, {"role": "user", "content": question}]
"""),
        good("""
from functools import lru_cache
from pathlib import Path


@lru_cache
def rules() -> str:
    return Path("AGENTS.md").read_text()


def build(question):
    return [{"role": "system", "content": rules()}, {"role": "user", "content": question}]
"""),
    )
    INVALID = (
        bad("""
from pathlib import Path


def build(user_text, path="AGENTS.md"):
    rules = Path(path).read_text() if Path(path).exists() else ""  # <--
    system = {"role": "system", "content": "You are an agent.\\n" + rules}  # <--
    return [system, {"role": "user", "content": user_text}]  # <--
"""),
        bad("""
def build(store, user_id, question):
    memories = store.get_user_memories(user_id)
    system = f"You are a friend. You remember: {memories}"  # <--
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]  # <--
"""),
        bad("""
from langchain_core.messages import SystemMessage
from mem0 import Memory

memory = Memory()


def messages(question, history):
    memories = memory.search(question, user_id="u1")
    known = "\\n".join(m["memory"] for m in memories["results"])
    return [SystemMessage(content=f"You help. Known facts:\\n{known}"), *history]  # <--
"""),
        bad("""
from pathlib import Path

import anthropic

NOTES = Path("notes.md")


def remember(line: str) -> None:
    with NOTES.open("a") as file:
        file.write(line + "\\n")


def ask(client: anthropic.Anthropic, messages):
    system = "You are an agent. Notes:\\n" + NOTES.read_text()  # <--
    return client.messages.create(model="claude-sonnet-5", max_tokens=500, system=system, messages=messages)  # <--
"""),
        bad("""
from pydantic_ai import Agent

agent = Agent("openai:gpt-5")


@agent.instructions
def project_rules() -> str:
    with open("RULES.md") as file:
        return file.read()  # <--
"""),
    )

    def counts(self, arrival: Arrival, source: Source) -> bool:
        """A file that is read once, at import, is as good as a constant; so is the day on which it was written."""
        return source.kind != "file" or not (source.frozen or is_date(source))
