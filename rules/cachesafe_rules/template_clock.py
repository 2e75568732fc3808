"""CSF112: a prompt template that reads a clock itself."""

from __future__ import annotations

from cachesafe_rules.arrival_rule import ArrivalRule, in_template
from cachesafe_rules.example import bad, good
from cachesafe_rules.model import Arrival, Source
from cachesafe_rules.policy import is_frozen

__all__ = ["TemplateClock"]


class TemplateClock(ArrivalRule):
    """A prompt template calls a clock, or has a place for the time that nobody fills with a fixed value.

    ## Why

    The template is rendered for each request, so the clock is read for each request, and no line of Python shows it.
    Chat templates do it too: `strftime_now` in a model's template puts today's date into the default system text. How
    bad it is follows the format: down to the minute an error, an hour a warning, a date a note.

    ## What to do

    Let the caller pass the value, once per session or cut to the day (price: one rewrite a day); or leave it out of
    the template and give the time in the newest user message or through a tool that returns it. Chat templates that
    take a `date_string` or a system message of yours do not read the clock then.
    """

    code = "CSF112"
    name = "template-clock"
    severity = "error"
    kinds = ("clock",)

    VALID = (
        good("You are the assistant of {{ product }}.\nAnswer in {{ language }}.\n", "prompts/system.jinja"),
        good(
            "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}\n",
            "chat_template.jinja",
        ),
        good("To tell the time, call `datetime.now()` in the sandbox.\n", "prompts/system.md"),
        good("""
from jinja2 import Template

TEMPLATE = Template("You are a clerk. Our release is of {{ date }}.")
SYSTEM_PROMPT = TEMPLATE.render(date="2025-06-28")
"""),
    )
    INVALID = (
        bad("You are a clerk.\nIt is {{ now().strftime('%H:%M') }}.  # <--\n", "prompts/system.jinja"),
        bad(
            "{%- set date = strftime_now('%d %b %Y') %}  # <--\n"
            "<|system|>Today Date: {{ date }}  # <--\n"
            "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}\n",
            "chat_template.jinja",
        ),
        bad("{% now 'utc', '%Y-%m-%d %H:%M:%S' %}  # <--\nYou are a clerk.\n", "prompts/system.j2"),
    )

    def counts(self, arrival: Arrival, source: Source) -> bool:
        return in_template(arrival, source) and not is_frozen(source)
