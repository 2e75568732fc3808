"""CSF111: a framework's switch that writes a changing value into the prompt."""

from __future__ import annotations

from cachesafe_rules.arrival_rule import ArrivalRule
from cachesafe_rules.example import bad, good

__all__ = ["FrameworkFlag"]


class FrameworkFlag(ArrivalRule):
    """A switch makes the framework write the date, the time, a location or state into the system text.

    ## Why

    The changing value is not in your code, so it is easily missed: the framework adds it when it builds the request.
    What it costs depends on what is added: a time down to the second makes every request a new prompt (error), a date
    costs one rewrite a day (note), what is remembered of a user separates users (warning), the location of the machine
    separates machines (note). A format given beside the switch (`datetime_format`, `date_format`) decides.

    What a switch does depends on the release. The lock file or the requirements beside the code, or in a folder above
    it, name it; of a range the highest release counts, without a bound today's. `inject_date` of crewai wrote into the
    task, a user message, until 1.15.14, which is not reported; since then the date ends the system prompt.

    In files that others of the project import, or of more than 40 rows, the agent must be seen to have tools, members,
    a memory, a session or a history: without them a single question is all that follows.

    Silent where the project itself declares the switch, as a field or parameter that is not handed on: what it does
    there is for the project to say, and its clock is looked for as any other.

    ## What to do

    Switch it off. Give the time in the newest user message, once per session, cut to the day at the price of one
    rewrite a day, or through a tool that returns it.
    """

    code = "CSF111"
    name = "framework-flag"
    severity = "warning"
    kinds = ("flag",)

    VALID = (
        good("""
from agno.agent import Agent

agent = Agent(name="clerk", instructions="You are a clerk.", add_datetime_to_context=False)
"""),
        good("""
from crewai import Agent

agent = Agent(role="Clerk", goal="Answer", backstory="You know the handbook.")
"""),
        good("""
from openai_harmony import SystemContent

content = SystemContent.new().with_conversation_start_date("2025-06-28")
"""),
        good("""
def make_calendar(inject_date: bool = False):
    return {"inject_date": inject_date}
"""),
    )
    INVALID = (
        bad("""
from agno.agent import Agent
from agno.models.openai import OpenAIChat

agent = Agent(  # <--
    model=OpenAIChat(id="gpt-5"),
    instructions="You are a clerk.",
    add_datetime_to_context=True,  # <--
)
"""),
        bad("""
from agno.agent import Agent

agent = Agent(instructions="You know the town.", add_location_to_context=True)  # <--
"""),
        bad("""
from crewai import Agent

planner = Agent(  # <--
    role="Planner",
    goal="Plan the week",
    backstory="You know the calendar.",
    inject_date=True,  # <--
)
"""),
        bad("""
from agno.team import Team


def make_team(members):
    return Team(members=members, instructions="Work together.", add_datetime_to_context=True)  # <--
"""),
    )
