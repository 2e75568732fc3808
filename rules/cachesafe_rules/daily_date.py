"""CSF103: a date in a cached prefix."""

from __future__ import annotations

from cachesafe_rules.api import Fix, Report
from cachesafe_rules.arrival_rule import ArrivalRule, in_template
from cachesafe_rules.example import bad, good
from cachesafe_rules.model import Arrival, Source
from cachesafe_rules.policy import is_date, is_frozen

__all__ = ["DailyDate"]


class DailyDate(ArrivalRule):
    """A date that is today's (or this month's or year's) stands in the system text, the tools or the few-shot messages.

    ## Why

    At midnight the prefix changes and is computed and billed anew, in every running conversation: one rewrite a day
    for a day, one a month for a month. Within the day everything is reused, so this is a note with its price, not an
    error. Caches live for minutes or hours, so only conversations that run over midnight lose anything.

    A date at the end of a long system text, or right in front of the question in it, is not reported where the request
    is visibly that text and one question, the text of a template file too.

    ## What to do

    Keep it where one rewrite a day is affordable. Else put the date into the newest user message, read it once when
    the session starts, or offer a tool that returns the time.
    """

    code = "CSF103"
    name = "daily-date"
    severity = "note"
    kinds = ("clock",)

    VALID = (
        good("""
from datetime import date


def build(history, question):
    system = {"role": "system", "content": "You are a calendar."}
    return [system, *history, {"role": "user", "content": f"Today is {date.today()}. {question}"}]
"""),
        good("""
from datetime import date

from langchain_core.messages import HumanMessage, SystemMessage

SYSTEM = "You book rooms."


def messages(history, question):
    return [SystemMessage(SYSTEM), *history, HumanMessage(f"[{date.today():%d.%m.%Y}] {question}")]
"""),
        good("""
from datetime import date

from agents import Agent, function_tool


@function_tool
def today() -> str:
    "Today's date."
    return date.today().isoformat()


agent = Agent(name="clerk", instructions="Ask `today` for the date.", tools=[today])
"""),
        good("""
from datetime import date
from pathlib import Path


def save(answer: str, system_prompt: str) -> None:
    Path(f"answers-{date.today():%Y-%m-%d}.md").write_text(answer)
"""),
        good("""
CUTOFF = "2024-06"
SYSTEM_PROMPT = f"Your knowledge ends in {CUTOFF}."


def build(question):
    return [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": question}]
"""),
    )
    INVALID = (
        bad("""
from datetime import date


def build(question):
    system = f"You are a calendar. Today is {date.today().isoformat()}."  # <--
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]  # <--
"""),
        bad("""
from datetime import datetime

from langchain_core.messages import SystemMessage

RESEARCH_PROMPT = "You do research. Today is {date}."


def get_today_str() -> str:
    return datetime.now().strftime("%a %b %d, %Y")


def node(state):
    prompt = RESEARCH_PROMPT.format(date=get_today_str())  # <--
    return [SystemMessage(content=prompt), *state["messages"]]  # <--
"""),
        bad("""
from datetime import date

from pydantic_ai import Agent, RunContext

agent = Agent("openai:gpt-5")


@agent.system_prompt
async def with_date(ctx: RunContext) -> str:
    return f"You write SQL. Today's date is {date.today()}."  # <--
"""),
        bad("""
import datetime

from openai_harmony import Role, Message, SystemContent


def system_message():
    today = datetime.datetime.now().strftime("%Y-%m-%d")
    content = SystemContent.new().with_conversation_start_date(today)  # <--
    return Message.from_role_and_content(Role.SYSTEM, content)  # <--
"""),
        bad("""
import time

import anthropic


def ask(client: anthropic.Anthropic, messages):
    blocks = [{"type": "text", "text": "You are a clerk. Date: " + time.strftime("%d %B %Y")}]  # <--
    return client.messages.create(model="claude-sonnet-5", max_tokens=500, system=blocks, messages=messages)  # <--
"""),
        bad("""
from datetime import datetime

from jinja2 import Template

TEMPLATE = Template("You are a clerk. It is the year {{ year }}.")


def system_prompt() -> str:
    return TEMPLATE.render(year=datetime.now().year)  # <--
"""),
        bad("""
from datetime import date

from google.genai import types


def config():
    text = "Be brief. Month: {month}".replace("{month}", date.today().strftime("%B %Y"))  # <--
    return types.GenerateContentConfig(system_instruction=text)  # <--
"""),
    )

    def counts(self, arrival: Arrival, source: Source) -> bool:
        return is_date(source) and not is_frozen(source) and not in_template(arrival, source)

    def fix(self, report: Report, source: str) -> Fix | None:
        """The sentence with the date moves to the newest user message; unsafe, since the prompt changes."""
        from cachesafe_rules.clock_edits import move_to_user

        return move_to_user(report, source)
