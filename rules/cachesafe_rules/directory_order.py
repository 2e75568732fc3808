"""CSF202: the order of a directory listing in a cached prefix."""

from __future__ import annotations

from cachesafe_rules.api import Fix, Report
from cachesafe_rules.arrival_rule import ArrivalRule, written_out
from cachesafe_rules.example import bad, good
from cachesafe_rules.model import Arrival, Taint

__all__ = ["DirectoryOrder"]


class DirectoryOrder(ArrivalRule):
    """File names become text or tools in the order in which the file system lists them.

    ## Why

    `os.listdir`, `scandir`, `glob` and `iterdir` promise no order: it depends on the file system and on the order in
    which files were made, so two machines, two checkouts or two containers send different prompts for the same files.

    ## When it is reported

    - The listing becomes the tools or a tool's description, or it is joined, formatted or added to a system text, with
      no `sorted` on the way; a count of its entries has no order.
    - More than one entry is used: who takes one file of those that a pattern finds expects one
      (`next(folder.glob(name))`).
    - The text with the listing is put together where the request is: what a caller happens to put into an argument is
      not the text that all requests share.

    ## What to do

    Sort the listing: `sorted(Path("skills").glob("*.md"))`. Where files come and go during a conversation, put the
    listing into the newest user message or behind a tool. One listing that comes to several prompts is one report.
    """

    code = "CSF202"
    name = "directory-order"
    severity = "warning"
    kinds = ("listing",)

    def shows(self, arrival: Arrival, taint: Taint) -> bool:
        """In system text it must be seen that the listing is written out."""
        return arrival.part != "system" or written_out(taint)

    VALID = (
        good("""
from pathlib import Path


def system_prompt() -> str:
    skills = sorted(p.stem for p in Path("skills").glob("*.md"))
    return "Your skills: " + ", ".join(skills)
"""),
        good("""
import os


def list_folder(path: str) -> str:
    "A tool: what is in a folder."
    return "\\n".join(os.listdir(path))


def build(history, question):
    return [{"role": "system", "content": "Use list_folder."}, *history, {"role": "user", "content": question}]
"""),
        good("""
from pathlib import Path


def newest_log() -> str:
    return max(Path("logs").glob("*.log")).name


SYSTEM_PROMPT = "You read logs."
"""),
        good("""
import os


def system_prompt() -> str:
    count = 0
    for name in os.listdir("skills"):
        count += 1
    return f"You have {count} skills."
"""),
        good("""
import os


def system_prompt() -> str:
    names = os.listdir("skills")
    names.sort()
    return f"Your skills: {names}"
"""),
    )
    INVALID = (
        bad("""
import os


def build(question):
    names = os.listdir("skills")
    system = f"Your skills: {', '.join(names)}"  # <--
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]  # <--
"""),
        bad("""
from pathlib import Path

from langchain_core.messages import SystemMessage


def messages(history):
    parts = []
    for path in Path("skills").iterdir():
        parts.append(path.name)
    return [SystemMessage(content="Your skills: " + "\\n".join(parts)), *history]  # <--
"""),
        bad("""
import glob

import anthropic


def ask(client: anthropic.Anthropic, messages):
    files = glob.glob("docs/*.md")
    system = "Documents: %s" % ", ".join(files)  # <--
    return client.messages.create(model="claude-sonnet-5", max_tokens=500, system=system, messages=messages)  # <--
"""),
        bad("""
from pathlib import Path


def skill_tool():
    names = {p.parent.name: p for p in Path("skills").rglob("SKILL.md")}
    listed = "\\n".join(f"- {name}" for name in names)
    return {  # <--
        "name": "load_skill",
        "description": f"Load a skill. Skills:\\n{listed}",  # <--
        "input_schema": {"type": "object", "properties": {}},
    }
"""),
    )

    def fix(self, report: Report, source: str) -> Fix | None:
        """`sorted(...)` where the order becomes text: safe where the elements provably compare, else unsafe."""
        from cachesafe_rules.edits import sorted_fix

        return sorted_fix(report, source)
