"""CSF102: a clock in a cached prefix that is read once, at import."""

from __future__ import annotations

from cachesafe_rules.arrival_rule import ArrivalRule
from cachesafe_rules.example import bad, good
from cachesafe_rules.model import Arrival, Source
from cachesafe_rules.policy import is_frozen

__all__ = ["FrozenClock"]


class FrozenClock(ArrivalRule):
    """A prompt constant holds the time or date of the moment when its module was imported.

    ## Why

    Two defects in one. In a process that lives long, a server or a worker, the date in the prompt is stale: the model
    is told yesterday's. And each restart and each worker has another prefix, so none of them reads what another one
    cached; a rolling deployment makes every running conversation cold.

    ## What to do

    Read the clock when the request is built, not at import; then treat it as any clock: newest user message; once per
    session or cut to the day, at the price of one rewrite a day; or a tool that returns the time.
    """

    code = "CSF102"
    name = "frozen-clock"
    severity = "warning"
    kinds = ("clock",)

    VALID = (
        good("""
RELEASED = "2025-06-28"
SYSTEM_PROMPT = f"You are the assistant of release {RELEASED}."
"""),
        good("""
from datetime import datetime

STARTED = datetime.now()
SYSTEM_PROMPT = "You are a status page."


def uptime() -> float:
    return (datetime.now() - STARTED).total_seconds()
"""),
        good("""
from datetime import date

SYSTEM_PROMPT = "You are a calendar."


def build(history, question):
    newest = {"role": "user", "content": f"Today is {date.today()}. {question}"}
    return [{"role": "system", "content": SYSTEM_PROMPT}, *history, newest]
"""),
        good("""
import time

LOG_FILE = f"run-{time.strftime('%Y%m%d-%H%M%S')}.log"
INSTRUCTIONS = "Write what you did into the log."
"""),
    )
    INVALID = (
        bad("""
from datetime import datetime

SYSTEM_PROMPT = f\"\"\"You use a computer.  # <--
The current date is {datetime.today().strftime('%A, %B %d, %Y')}.  # <--
\"\"\"  # <--
"""),
        bad("""
from datetime import date

TODAY = date.today().isoformat()
RESEARCH_INSTRUCTIONS = "You do research. Today is " + TODAY  # <--
"""),
        bad("""
from datetime import datetime

from pydantic_ai import Agent

agent = Agent("openai:gpt-5", system_prompt=f"You plan trips. It is {datetime.now()}.")  # <--
"""),
        bad("""
from datetime import datetime

from langchain_core.prompts import ChatPromptTemplate

prompt = ChatPromptTemplate.from_messages(  # <--
    [
        ("system", f"Today is {datetime.now():%Y-%m-%d}. You are helpful."),  # <--
        ("human", "{question}"),
    ]
)
"""),
        bad("""
import time

EXTRA_INSTRUCTION = "Write files into run_{timestamp}."

SYSTEM_PROMPT = EXTRA_INSTRUCTION.format(timestamp=int(time.time()))  # <--
"""),
        bad("""
from datetime import datetime

from agents import Agent

agent = Agent(  # <--
    name="clerk",
    instructions="You are a clerk. Today is {}.".format(datetime.now().strftime("%d %B %Y")),  # <--
)
"""),
        bad("""
from datetime import date


class Planner:
    system_prompt = f"You plan the week. Today is {date.today():%A}."  # <--
"""),
    )

    def counts(self, arrival: Arrival, source: Source) -> bool:
        return is_frozen(source)
