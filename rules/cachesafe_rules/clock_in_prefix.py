"""CSF101: a clock that changes within minutes, or every hour, in a cached prefix."""

from __future__ import annotations

from cachesafe_rules.api import Fix, Report
from cachesafe_rules.arrival_rule import ArrivalRule, in_template
from cachesafe_rules.example import bad, good
from cachesafe_rules.model import Arrival, Source
from cachesafe_rules.policy import is_date, is_frozen

__all__ = ["ClockInPrefix"]


class ClockInPrefix(ArrivalRule):
    """The time of day is written into the system text, the tools or the few-shot messages.

    ## Why

    Prefix caches of engines and providers reuse a prompt up to the first token that differs. Tools and system text
    stand in front of every message, so a clock there makes each request a new prompt: the whole conversation is
    computed, and billed, again. A clock down to the minute or finer is an error; one cut to the hour is a warning,
    since the prefix is written anew once an hour. A date is another rule, `daily-date`; a clock read at import is
    `frozen-clock`.

    Reported where the code shows what stands behind the time: a chat (earlier messages from elsewhere), an agent that
    is built with the text, or 200 characters of fixed text, a name taken for as many. It is looked for in the function
    that puts the text into what is sent, in those that read the attribute it is kept in, and in their callers, over two
    calls and in any file of the project. Where more than 30 files use a function's name, or all files that the time
    comes by have up to 40 rows, nothing is asked.

    A time at the end of a long system text, or right in front of the question in it, is not reported where the request
    is visibly that text and one question, the text of a template file too. Nor is one in a job that a timer starts (a
    digest, a reminder): no cache lives until the next. Nor is the stamp of a record (`entry.created_at`) that was kept
    and is read back, nor one in a text that is only saved (`save_persona(...)`, a row or a document of a database, but
    none of a session or a chat; messages that a memory is told of a user) or of which only the tokens are counted, nor
    one in a system message that a later node of a graph adds to the messages of the state. Nor is a clock that a name
    gets as it is (`system_prompt_ts = time.time()`): it is no text. Nor is one of the values that a helper offers to
    all templates (`text.format(**known())`) where no text of the project prints it, one in a block of its own behind
    the last marker, or one behind a marker at which the system text is cut.

    Callers that hand a text on are steps of the report on the place where it is built.

    A clock that is handed over (`Bot(now=datetime.now)`, a `partial`) counts where it is called. The seconds that have
    passed, or are left, are a time like any other.

    A time that is seen to be read once and kept is a warning that says for how long: in a constructor (`when a Bot is
    made`), in `main()` outside of its loops, where an attribute or item holds nothing yet. Its chat keeps the prefix,
    the next object or run begins with another one.

    ## What to do

    - Put the time into the newest user message, where nothing stands behind it; keep it there unchanged afterwards.
    - Or read it once when the session starts and keep that text, at the price of one new prefix a session; or cut it to
      the day, at the price of one rewrite a day.
    - Or offer a tool that returns the time: the model asks when it needs to know.
    """

    code = "CSF101"
    name = "clock-in-prefix"
    severity = "error"
    kinds = ("clock",)

    VALID = (
        good("""
from datetime import datetime

SYSTEM = "You are a booking helper."


def build(history, user_text):
    now = datetime.now().isoformat()
    newest = f"<now>{now}</now>\\n{user_text}"
    return [{"role": "system", "content": SYSTEM}, *history, {"role": "user", "content": newest}]
"""),
        good("""
from datetime import datetime

from pydantic_ai import Agent

agent = Agent("openai:gpt-5", system_prompt="You are a travel agent. Ask current_time for the time.")


@agent.tool_plain
def current_time() -> str:
    "The current date and time."
    return datetime.now().isoformat()
"""),
        good("""
import logging
import time

import anthropic

client = anthropic.Anthropic()
log = logging.getLogger(__name__)
SYSTEM_PROMPT = "You answer questions about orders."


def ask(messages):
    started = time.time()
    reply = client.messages.create(model="claude-sonnet-5", max_tokens=500, system=SYSTEM_PROMPT, messages=messages)
    log.info("answered in %.2f s", time.time() - started)
    return reply
"""),
        good('''
SYSTEM_PROMPT = """You write Python.
To tell the time, run `datetime.datetime.now().isoformat()` in the sandbox.
"""


def build(question):
    return [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": question}]
'''),
        good("""
from datetime import datetime, timezone
from uuid import uuid4


def build(client, question):
    return client.responses.create(
        model="gpt-5",
        instructions="You are terse.",
        input=question,
        metadata={"sent_at": datetime.now(timezone.utc).isoformat(), "request": str(uuid4())},
    )
"""),
        good("""
from datetime import datetime

from langchain_core.messages import HumanMessage, SystemMessage


def messages(question: str):
    asked = f"It is {datetime.now():%H:%M}. {question}"
    return [SystemMessage(content="You are a timetable."), HumanMessage(content=asked)]
"""),
        good("""
from datetime import datetime


def build(question):
    system = [
        {"type": "text", "text": "You know the handbook.", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": f"Time: {datetime.now().isoformat()}"},
    ]
    return {"system": system, "messages": [{"role": "user", "content": question}]}
"""),
    )
    INVALID = (
        bad("""
from datetime import datetime, timezone

HEADER = "Current date: {current_date}\\n\\nFollow the guidelines below."


def build(user_text):
    header = HEADER.format(current_date=datetime.now(timezone.utc).isoformat())  # <--
    return [{"role": "system", "content": header}, {"role": "user", "content": user_text}]  # <--
"""),
        bad("""
from datetime import datetime

import anthropic

client = anthropic.Anthropic()


def ask(question):
    return client.messages.create(  # <--
        model="claude-sonnet-5",
        max_tokens=500,
        system=f"You are a clerk. Local time: {datetime.now():%H:%M}",  # <--
        messages=[{"role": "user", "content": question}],
    )
"""),
        bad("""
import time

from openai import OpenAI

client = OpenAI()


def ask(question):
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    rules = "You are terse." + " It is " + stamp  # <--
    return client.responses.create(model="gpt-5", instructions=rules, input=question)  # <--
"""),
        bad("""
from datetime import datetime

from langchain_core.messages import SystemMessage


def messages(history):
    return [SystemMessage(content="You help. Now: %s" % datetime.now()), *history]  # <--
"""),
        bad("""
from datetime import datetime

from langchain_core.prompts import ChatPromptTemplate

prompt = ChatPromptTemplate.from_messages(  # <--
    [("system", "It is {now}. You are helpful."), ("human", "{q}")]  # <--
).partial(now=lambda: datetime.now().strftime("%A, %d %B %Y %H:%M:%S"))  # <--
"""),
        bad("""
from datetime import datetime

from pydantic_ai import Agent

agent = Agent("openai:gpt-5")


@agent.system_prompt
def with_time() -> str:
    return f"The time is {datetime.now()}."  # <--
"""),
        bad("""
from datetime import datetime

from pydantic_ai import Agent

agent = Agent("anthropic:claude-sonnet-5", system_prompt="You plan trips.")


@agent.instructions
def clock() -> str:
    now = datetime.now().strftime("%H:%M")
    return "Time: " + now  # <--
"""),
        bad("""
from datetime import datetime

from agents import Agent


def make_agent():
    return Agent(name="clerk", instructions=f"You are a clerk. It is {datetime.utcnow().isoformat()}.")  # <--
"""),
        bad("""
from datetime import datetime

from google import genai
from google.genai import types

client = genai.Client()


def ask(question):
    config = types.GenerateContentConfig(system_instruction=f"Be brief. Now: {datetime.now()}")  # <--
    return client.models.generate_content(model="gemini-3-flash", contents=question, config=config)
"""),
        bad("""
from datetime import datetime

from google.adk.agents import Agent


def set_time(callback_context):
    callback_context.state["_time"] = datetime.now().isoformat()


root_agent = Agent(  # <--
    model="gemini-3-flash",
    name="root",
    instruction="You plan trips. Current time: {_time}",  # <--
    before_agent_callback=set_time,
)
"""),
        bad("""
from datetime import datetime

from llama_index.core.llms import ChatMessage, MessageRole


def build(question):
    text = "You are an index. Time: {}".format(datetime.now().isoformat())  # <--
    return [ChatMessage(role=MessageRole.SYSTEM, content=text), ChatMessage(role="user", content=question)]  # <--
"""),
        bad("""
from datetime import datetime


class Agent:
    def __init__(self):
        self.parts = ["You are a coding agent."]

    def system_prompt(self):
        self.parts.append(f"Now: {datetime.now().strftime('%A, %B %d, %Y %I:%M %p')}")  # <--
        return "\\n\\n".join(self.parts)  # <--
"""),
        bad("""
from datetime import datetime


def build(user_text):
    hour = datetime.now().replace(minute=0, second=0, microsecond=0)
    return [{"role": "system", "content": f"It is about {hour}."}, {"role": "user", "content": user_text}]  # <--
"""),
        bad("""
from datetime import datetime


def render(tokenizer, history):
    messages = [{"role": "system", "content": f"Now: {datetime.now():%H:%M:%S}"}, *history]  # <--
    return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
"""),
        bad("""
import datetime


def tools():
    now = datetime.datetime.now().isoformat()
    return [{"name": "book", "description": f"Book a slot. Now: {now}", "input_schema": {"type": "object"}}]  # <--
"""),
    )

    def counts(self, arrival: Arrival, source: Source) -> bool:
        return not is_frozen(source) and not is_date(source) and not in_template(arrival, source)

    def fix(self, report: Report, source: str) -> Fix | None:
        """The sentence with the clock moves to the newest user message, else the clock is cut to the day; unsafe."""
        from cachesafe_rules.clock_edits import clock_fix

        return clock_fix(report, source)
