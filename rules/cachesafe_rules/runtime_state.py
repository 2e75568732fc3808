"""CSF110: the state of a running program in a cached prefix."""

from __future__ import annotations

from cachesafe_rules.arrival_rule import ArrivalRule
from cachesafe_rules.example import bad, good

__all__ = ["RuntimeState"]


class RuntimeState(ArrivalRule):
    """A page, a cursor, a counter or a step number stands in the system text or the tools.

    ## Why

    The system text should say what holds for the whole conversation. State that moves at each step makes it another
    text at each step, and everything behind it, the history included, is computed and billed again every time.

    Reported where the counter is counted up by the function that builds the text or by one that calls it, or counts the
    rounds of the loop around it, and where a chat, an agent or 200 characters of fixed text stand behind it. An
    attribute that a method counts counts under any name where that method asks the model. State of a session is
    reported where a tool of the same file writes it (`tool_context.state["cart"]`, `ctx.deps.cart`, a placeholder
    `{cart}` of an agent's instruction), and what is fetched over the network where its address or the function around
    says that it moves: rates, prices, the weather, the states of devices. So is what a database counts or says of how
    things stand (`select count(*)`, a column `status` or `quantity`), and the length of a queue (`qsize()`, `llen()`).
    A page, a cursor and what else only has the name of a state are told of a file of up to 40 rows that no other file
    imports: in others nobody sees when they change. In such a file also: a number that `next()` draws of an
    `itertools.count()`, the states of devices (`hass.states.get(…)`), the artifacts of a session, the output of a
    command that is set elsewhere, the entries of a folder that is worked in, sorted or not, and what a function that
    writes instructions for each request reads of its dependencies under a name for work that goes on (`todos`, `plan`).

    ## What to do

    Put the state into the newest user message, or let a tool return it: there it belongs to its step, and stays as it
    was when the next step is appended.
    """

    code = "CSF110"
    name = "runtime-state"
    severity = "warning"
    kinds = ("state", "mutable")

    VALID = (
        good("""
def build(history, step, limit):
    newest = {"role": "user", "content": f"Step {step} of {limit}. Go on."}
    return [{"role": "system", "content": "You drive a browser."}, *history, newest]
"""),
        good("""
from google.adk.agents import LlmAgent


def add(article: str, tool_context):
    tool_context.state["cart"] = [*tool_context.state.get("cart", []), article]


def instruct(context):
    return f"Shop: {context.state.get('shop')}. You sell coffee machines."


agent = LlmAgent(name="shop", model="gemini-2.5-flash", instruction=instruct, tools=[add])
"""),
        good("""
import httpx

from langchain_core.messages import SystemMessage


def messages(history):
    team = httpx.get("https://crm.example/team").json()
    return [SystemMessage(content=f"Colleagues: {team}. You advise exporters."), *history]
"""),
        good("""
MAX_STEPS = 10
SYSTEM_PROMPT = f"You have {MAX_STEPS} steps."


def build(history, page):
    return [{"role": "system", "content": SYSTEM_PROMPT}, *history, {"role": "user", "content": page.url}]
"""),
        good("""
import logging

log = logging.getLogger(__name__)


class Agent:
    def __init__(self):
        self.step = 0

    def build(self, history):
        self.step += 1
        log.info("step %s", self.step)
        return [{"role": "system", "content": "You drive a browser."}, *history]
"""),
    )
    INVALID = (
        bad("""
class Agent:
    def __init__(self):
        self.step = 0

    def build(self, history):
        self.step += 1
        system = f"You drive a browser. This is step {self.step}."  # <--
        return [{"role": "system", "content": system}, *history]  # <--
"""),
        bad("""
import anthropic


class Interview:
    def __init__(self):
        self.client = anthropic.Anthropic()
        self.asked = 0
        self.messages = []

    def head(self):
        return f"You interview. Questions asked: {self.asked}. Ask one at a time."

    def turn(self, text):
        self.messages.append({"role": "user", "content": text})
        reply = self.client.messages.create(  # <--
            model="claude-sonnet-5", max_tokens=500, system=self.head(), messages=self.messages  # <--
        )
        self.asked += 1
        return reply
"""),
        bad("""
from google.adk.agents import LlmAgent


def add(article: str, tool_context):
    tool_context.state["cart"] = [*tool_context.state.get("cart", []), article]


def instruct(context):
    return f"Cart: {context.state.get('cart')}. You sell coffee machines."


agent = LlmAgent(name="shop", model="gemini-2.5-flash", instruction=instruct, tools=[add])  # <--
"""),
        bad("""
import httpx

from langchain_core.messages import SystemMessage


def messages(history):
    rates = httpx.get("https://bank.example/exchange-rates").json()
    return [SystemMessage(content=f"Rates: {rates}. You advise exporters."), *history]  # <--
"""),
        bad("""
import anthropic


def ask(client: anthropic.Anthropic, page, messages):
    system = f"You drive a browser. Current page: {page.url}"  # <--
    return client.messages.create(model="claude-sonnet-5", max_tokens=500, system=system, messages=messages)  # <--
"""),
        bad("""
from langchain_core.messages import SystemMessage


def messages(current_state, history):
    text = "You drive a browser. URL: " + current_state.url  # <--
    return [SystemMessage(content=text), *history]  # <--
"""),
        bad("""
def run(client, task):
    messages = [{"role": "user", "content": task}]
    for step in range(10):
        system = f"You are an agent. Step {step + 1} of 10."  # <--
        reply = client.messages.create(model="claude-sonnet-5", max_tokens=500, system=system, messages=messages)  # <--
        messages.append({"role": "assistant", "content": reply.content})
"""),
    )
