"""The steps of several ways in one report: each way keeps its order, whatever they share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cachesafe_rules.arrival_rule import joined
from cachesafe_rules.model import Step
from pytest_cachesafe.lint.run import lint_text

CHAT = """
from datetime import datetime


def answer(client, history):
    system_prompt = f"It is {datetime.now():%H:%M}. You are the clerk of a shop."
    return client.messages.create(model="m", max_tokens=9, system=system_prompt, messages=history)
"""


def test_a_value_is_read_before_it_arrives() -> None:
    (finding,) = lint_text(CHAT)
    told = [step.message for step in finding.flow]
    assert told[0] == "datetime.now() is read here"
    assert told.index("reaches the system_prompt") < told.index("reaches the argument system of the request")


# Ways through places with one order, as those of a program without loops.
ways = st.lists(st.lists(st.integers(0, 9), unique=True).map(sorted), max_size=5)


@given(ways)
def test_every_way_keeps_its_order(drawn: list[list[int]]) -> None:
    steps = [[Step("a.py", row, "here") for row in way] for way in drawn]
    told = joined(steps)
    assert sorted(step.row for step in told) == sorted({row for way in drawn for row in way})
    for way in steps:
        assert [step for step in told if step in way] == way


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=4))
def test_every_step_is_told_once_whatever_the_order(drawn: list[list[int]]) -> None:
    told = joined([[Step("a.py", row, "here") for row in way] for way in drawn])
    assert sorted(step.row for step in told) == sorted({row for way in drawn for row in way})
