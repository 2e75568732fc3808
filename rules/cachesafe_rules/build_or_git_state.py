"""CSF107: a build id or the state of a repository in a cached prefix."""

from __future__ import annotations

from cachesafe_rules.arrival_rule import ArrivalRule
from cachesafe_rules.example import bad, good

__all__ = ["BuildOrGitState"]


class BuildOrGitState(ArrivalRule):
    """A build id, a commit, a branch or the output of git stands in a cached prefix.

    ## Why

    A coding agent changes files and commits while it works, so `git status` in the system text is another one after
    each step. A build id or commit of the program itself changes with each deployment, although the prompt did not.

    Reported where a chat, an agent or 200 characters of fixed text stand behind it; a file of up to 40 rows that no
    other file imports is taken as it stands. The version of a package is no such value: it is the same for all
    requests that a release serves.

    ## What to do

    Give git state in the newest user message or as the result of a tool, where it belongs to one step. Send a build id
    as request metadata.
    """

    code = "CSF107"
    name = "build-or-git-state"
    severity = "warning"
    kinds = ("build",)

    VALID = (
        good("""
import subprocess


def git_status() -> str:
    "A tool: the state of the repository."
    return subprocess.check_output(["git", "status", "--short"], text=True)


def build(history, question):
    return [{"role": "system", "content": "You edit code."}, *history, {"role": "user", "content": question}]
"""),
        good("""
import os


def ask(client, messages):
    return client.messages.create(
        model="claude-sonnet-5",
        max_tokens=500,
        system="You edit code.",
        messages=messages,
        extra_headers={"x-build": os.environ.get("GIT_SHA", "dev")},
    )
"""),
        good("""
import subprocess


def build(history, question):
    diff = subprocess.check_output(["git", "diff"], text=True)
    newest = {"role": "user", "content": f"{question}\\n\\n{diff}"}
    return [{"role": "system", "content": "You review code."}, *history, newest]
"""),
    )
    INVALID = (
        bad("""
import subprocess


def build(question):
    status = subprocess.check_output(["git", "status", "--short"], text=True)
    system = f"You edit code.\\n{status}"  # <--
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]  # <--
"""),
        bad("""
import subprocess

from langchain_core.messages import SystemMessage


def branch() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip()


def messages(history):
    return [SystemMessage(content=f"You edit code at commit {branch()}."), *history]  # <--
"""),
        bad("""
import subprocess

import anthropic


def ask(client: anthropic.Anthropic, messages):
    log = subprocess.getoutput("git log --oneline -5")
    system = "You edit code. Recent commits:\\n" + log  # <--
    return client.messages.create(model="claude-sonnet-5", max_tokens=500, system=system, messages=messages)  # <--
"""),
    )
