"""CSF201: the order of a set in a cached prefix."""

from __future__ import annotations

from cachesafe_rules.api import Fix, Report
from cachesafe_rules.arrival_rule import ArrivalRule, written_out
from cachesafe_rules.example import bad, good
from cachesafe_rules.model import Arrival, Source, Taint
from cachesafe_rules.policy import OF_THE_CALL

__all__ = ["UnorderedSet"]


class UnorderedSet(ArrivalRule):
    """The elements of a set become text or a list in the order in which the set holds them.

    ## Why

    Python's hashes of strings are salted anew in every process, so a set of strings has another order in each of them:
    two workers, or the same worker after a restart, send different prompts for the same data. Inside one process it
    looks stable, which is why tests do not see it.

    ## When it is reported

    The order must be seen on its whole way. Each round of a loop gets an element, and nothing of the order; it counts
    where the rounds are collected. A set of numbers has the same order everywhere.

    - In the tools (their list, a description, a schema) the set becomes a list or text without `sorted`. A dict with
      `description` and `parameters` is taken for a tool where it holds a schema or says its type, or a name around it
      (file, function, variable, argument, key) speaks of tools; a step of a plan has such keys as well.
    - In a system text, besides: the set stands in the same file or is made at import; it is joined, formatted or added
      to the text there; and its elements are not what this one call brought (retrieved documents, a user's tags), for
      then no two requests have the same text anyway. What is written down, is the module's or the object's own, is
      handed over as a constant by every call, or is called tools, skills, languages and the like, is there in every
      request.

    ## What to do

    Sort where the set becomes text: `", ".join(sorted(names))`. Membership tests and lookups need no order. One set
    that comes to several prompts or tools is one report.
    """

    code = "CSF201"
    name = "unordered-set"
    severity = "warning"
    kinds = ("set",)

    def counts(self, arrival: Arrival, source: Source) -> bool:
        """In system text the order of a set counts where the set is made at import or stands in the same file: whether
        one that is made elsewhere, call by call, is the same in several requests cannot be told."""
        return arrival.part != "system" or source.frozen or source.span.filename == arrival.span.filename

    def shows(self, arrival: Arrival, taint: Taint) -> bool:
        """In system text it must be seen that the set is written out, and is there in other requests as well."""
        if arrival.part != "system":
            return True
        return written_out(taint) and all(step.message != OF_THE_CALL for step in taint.steps)

    VALID = (
        good("""
LANGUAGES = {"de", "en", "fr"}


def system_prompt() -> str:
    return "You speak " + ", ".join(sorted(LANGUAGES))
"""),
        good("""
ALLOWED = {"search", "fetch"}


def build(names, question):
    chosen = [name for name in names if name in ALLOWED]
    return [{"role": "system", "content": f"Tools: {', '.join(chosen)}"}, {"role": "user", "content": question}]
"""),
        good("""
def system_prompt(topics) -> str:
    unique = sorted(set(topics))
    return f"You know {len(unique)} topics: {unique}"
"""),
        good("""
def system_prompt(topics: list[str]) -> str:
    unique = list(dict.fromkeys(topics))
    return f"You know: {unique}"
"""),
        good("""
from langchain_core.messages import SystemMessage


def messages(documents, history):
    topics = set(d.topic for d in documents)
    return [SystemMessage(content=f"You know about {topics}."), *history]
"""),
        good("""
LANGUAGES = frozenset({"de", "en"})


def build(question):
    newest = {"role": "user", "content": f"{question} ({', '.join(LANGUAGES)})"}
    return [{"role": "system", "content": "You translate."}, newest]
"""),
    )
    INVALID = (
        bad("""
LANGUAGES = {"de", "en", "fr"}


def system_prompt() -> str:
    return "You speak " + ", ".join(LANGUAGES)  # <--
"""),
        bad("""
from langchain_core.messages import SystemMessage


def messages(skills, history):
    topics = set(skill.topic for skill in skills)
    return [SystemMessage(content=f"You know about {topics}."), *history]  # <--
"""),
        bad("""
import anthropic

SKILLS = frozenset({"read", "write", "count"})


def ask(client: anthropic.Anthropic, messages):
    lines = [f"- {skill}" for skill in SKILLS]
    system = "You can:\\n" + "\\n".join(lines)  # <--
    return client.messages.create(model="claude-sonnet-5", max_tokens=500, system=system, messages=messages)  # <--
"""),
        bad("""
from smolagents import Tool


class Interpreter(Tool):
    name = "python_interpreter"
    output_type = "string"

    def __init__(self, authorized_imports):
        self.authorized_imports = list(set(authorized_imports))
        self.inputs = {  # <--
            "code": {
                "type": "string",
                "description": f"The code; these imports are allowed: {self.authorized_imports}.",  # <--
            }
        }
"""),
        bad("""
from pydantic_ai import Agent

TOPICS = {"tax", "law"} | {"rent"}

agent = Agent("openai:gpt-5", system_prompt=f"You advise on {', '.join(TOPICS)}.")  # <--
"""),
    )

    def fix(self, report: Report, source: str) -> Fix | None:
        """`sorted(...)` where the order becomes text: safe where the elements provably compare, else unsafe."""
        from cachesafe_rules.edits import sorted_fix

        return sorted_fix(report, source)
