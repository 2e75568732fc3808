"""CSF106: host, working directory, environment or locale in a cached prefix."""

from __future__ import annotations

from cachesafe_rules.arrival_rule import ArrivalRule
from cachesafe_rules.example import bad, good

__all__ = ["HostEnvironment"]


class HostEnvironment(ArrivalRule):
    """The machine, the user's shell and folders, the working directory or the locale is written into a cached prefix.

    Of the environment only variables that tell of these count (SHELL, HOME, LANG and their like; POD_NAME, WORKER_ID,
    DYNO, by which a process is told where it runs): others are settings, which are the same in every request of an
    installation.

    Of a path only what is the machine's counts: not its last part below the home folder, not what is relative to a
    folder or has the home folder replaced, not a path that is expanded without being seen to begin with `~`, and not
    what is read by name from a dict of which it is not seen under which name it holds the path.

    ## Why

    On one machine the text stays the same, so a single user loses nothing, which is why this is a note. Behind a load
    balancer, in CI, or in a tool that many people run, each machine and folder has a prefix of its own, and a
    provider's cache, which is shared within an organisation, is filled once for each of them.

    What differs at the end of a long system text is not reported where the request is visibly that and one question.

    ## What to do

    Leave out what the model does not use. Put the rest behind the text that all machines share, or into the first user
    message. Read settings from the environment once, into a value that is part of the configuration.
    """

    code = "CSF106"
    name = "host-environment"
    severity = "note"
    kinds = ("host", "cwd", "env", "locale")

    VALID = (
        good("""
import os

import anthropic

client = anthropic.Anthropic(api_key=os.environ["ANTHROPIC_API_KEY"])
MODEL = os.environ.get("MODEL_NAME", "claude-sonnet-5")


def ask(messages):
    return client.messages.create(model=MODEL, max_tokens=500, system="You are a clerk.", messages=messages)
"""),
        good("""
import platform

COMMAND = "dir" if platform.system() == "Windows" else "ls"


def list_files(run):
    return run(COMMAND)


def build(question):
    return [{"role": "system", "content": "You manage files."}, {"role": "user", "content": question}]
"""),
        good("""
import os


def build(question):
    newest = {"role": "user", "content": f"Working directory: {os.getcwd()}\\n{question}"}
    return [{"role": "system", "content": "You manage files."}, newest]
"""),
        good("""
import platform
import sys


def report(error):
    return {"error": str(error), "python": sys.version, "system": platform.platform()}


SYSTEM_PROMPT = "You write bug reports."
"""),
        good("""
import os
from pathlib import Path

PROMPTS = Path(os.getcwd()) / "prompts"
SYSTEM_PROMPT = (PROMPTS / "system.md").read_text()
"""),
    )
    INVALID = (
        bad("""
import os
import platform


def build(question):
    system = f"You use a shell. System: {platform.system()}. Folder: {os.getcwd()}"  # <--
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]  # <--
"""),
        bad("""
import platform

SYSTEM_PROMPT = f\"\"\"You use a computer of type {platform.machine()}.  # <--
Be careful.  # <--
\"\"\"  # <--
"""),
        bad("""
import os


class Coder:
    template = "Shell: {shell}"

    def platform_info(self):
        return os.getenv("SHELL")

    def messages(self):
        text = self.template.format(shell=self.platform_info())  # <--
        return [dict(role="system", content=text)]  # <--
"""),
        bad("""
import sys

from pydantic_ai import Agent

agent = Agent("openai:gpt-5")


@agent.system_prompt
def where() -> str:
    return f"The user works on {sys.platform}."  # <--
"""),
        bad("""
import locale

from langchain_core.messages import SystemMessage


def messages(history):
    language = locale.getlocale()[0]
    return [SystemMessage(content=f"Answer in the language {language}."), *history]  # <--
"""),
        bad("""
from pathlib import Path

from agents import Agent


def make_agent():
    return Agent(name="coder", instructions=f"You edit code below {Path.cwd()}.")  # <--
"""),
        bad("""
import getpass

from langchain_core.messages import SystemMessage


def messages(history):
    return [SystemMessage(content=f"You help {getpass.getuser()} with the shell."), *history]  # <--
"""),
        bad("""
import socket

from google.genai import types


def config():
    text = "You administer " + socket.gethostname()  # <--
    return types.GenerateContentConfig(system_instruction=text)  # <--
"""),
    )
