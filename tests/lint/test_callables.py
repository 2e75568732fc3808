"""Functions that are handed over, or bound to some of their arguments, and called later."""

from __future__ import annotations

import pytest

from pytest_cachesafe.lint.run import lint_text

HEAD = "import time\nfrom datetime import datetime, timezone\nfrom functools import partial\n\n\n"
ASK = '\n\ndef ask(client, history):\n    return client.chat([{{"role": "system", "content": {text}}}, *history])\n'
# A clock, and what gives the same each time.
CLOCKS = [
    ("datetime.now", "tone"),
    ("lambda: datetime.now().isoformat()", "lambda: 'warm'"),
    ("stamp", "tone"),
    ("partial(time.strftime, '%H:%M')", "partial(str, 'warm')"),
    ("partial(datetime.now, timezone.utc)", "partial(tone)"),
]
HELPERS = 'def stamp():\n    return time.strftime("%H:%M:%S")\n\n\ndef tone():\n    return "warm"\n\n\n'
PLAIN = 'def build(name, now):\n    return f"You are {name}. {now()}. Be brief."\n'
WAYS = [
    (PLAIN, 'build("x", CLOCK)'),
    (PLAIN, 'build("x", now=CLOCK)'),
    (PLAIN.replace("now)", "now=CLOCK)"), 'build("x")'),
    (PLAIN + '\n\nmake = partial(build, "x", CLOCK)\n', "make()"),
    (PLAIN + "\n\nmake = partial(build, now=CLOCK)\n", 'make("x")'),
    (PLAIN + "\n\ndef outer(read):\n    return 'Rules. ' + build('x', read)\n", "outer(CLOCK)"),
    ("now = CLOCK\n", 'f"You are x. {now()}. Be brief."'),
]
OBJECT = """class Bot:
    def __init__(self, client, clock=None):
        self.client = client
        self.clock = {kept}

    def ask(self, history):
        return self.client.chat([{{"role": "system", "content": f"{{self.clock()}}. Be brief."}}, *history])


{made}
"""


def found(program: str) -> list[tuple[str, str]]:
    return [(finding.code, str(finding.severity)) for finding in lint_text(HEAD + HELPERS + program)]


@pytest.mark.parametrize(("clock", "other"), CLOCKS)
@pytest.mark.parametrize(("before", "text"), WAYS)
def test_what_is_handed_over_is_read_where_it_is_called(before: str, text: str, clock: str, other: str) -> None:
    program = before + ASK.format(text=text)
    assert found(program.replace("CLOCK", clock)) == [("CSF101", "error")]
    assert found(program.replace("CLOCK", other)) == []


@pytest.mark.parametrize(
    ("kept", "made"),
    [
        ("clock", "bot = Bot(object, CLOCK)"),
        ("clock", "bot = Bot(object, clock=CLOCK)"),
        ("clock", "def main(client):\n    return Bot(client, CLOCK)"),
        ("clock or CLOCK", "bot = Bot(object)\n\n\ndef serve(history):\n    return bot.ask(history)"),
    ],
)
@pytest.mark.parametrize(("clock", "other"), CLOCKS[:1] + CLOCKS[2:4])
def test_an_object_calls_what_it_is_made_with_for_each_request(kept: str, made: str, clock: str, other: str) -> None:
    program = OBJECT.format(kept=kept, made=made)
    assert found(program.replace("CLOCK", clock)) == [("CSF101", "error")]
    assert found(program.replace("CLOCK", other)) == []


def test_a_time_that_an_object_is_made_with_is_kept() -> None:
    program = OBJECT.format(kept="clock", made="def main(client):\n    return Bot(client, datetime.now())")
    assert found(program.replace("self.clock()", "self.clock")) == [("CSF101", "warning")]


def test_a_partial_is_called_with_what_is_missing() -> None:
    bound = 'def build(name, at):\n    return f"You are {name}. {at}. Be brief."\n\n\nmake = partial(build, "x")\n'
    assert found(bound + ASK.format(text="make(datetime.now().isoformat())")) == [("CSF101", "error")]
    assert found(bound + ASK.format(text="make('noon')")) == []


def test_a_function_that_is_handed_over_and_not_called() -> None:
    called = 'def build(name, now):\n    USE\n    return f"You are {name}. Be brief."\n' + ASK.format(
        text='build("x", datetime.now)'
    )
    assert found(called.replace("USE", "print(now())")) == []
    assert found(called.replace("USE", "name += str(now())")) == [("CSF101", "error")]
