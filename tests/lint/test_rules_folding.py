"""One report per function, whatever order the reports come in."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lint_project import places, write

from cachesafe_rules.api import Context, Report, Rule
from cachesafe_rules.folding import fold
from cachesafe_rules.model import Span, Step
from cachesafe_rules.policy import SEVERITIES
from cachesafe_rules.registry import load_rules
from pytest_cachesafe.lint.run import lint


class Structure(Rule):
    """A rule that does not look at flows."""

    code = "CSF302"
    name = "history-insert"
    severity = "warning"

    def check(self, context: Context):  # type: ignore[no-untyped-def]
        return iter(())


FLOW = load_rules(["CSF101", "CSF103", "CSF106"])
STRUCTURE = Structure()
SPANS = st.builds(
    lambda name, row: Span(name, row, 1, row + 1, 9), st.sampled_from(["a.py", "b.py"]), st.integers(1, 4)
)
REPORTS = st.builds(
    Report,
    message=st.sampled_from(["one", "two", "three", "four"]),
    span=SPANS,
    severity=st.sampled_from([*SEVERITIES, None]),
    steps=st.lists(st.builds(Step, st.just("a.py"), st.integers(1, 4), st.just("step")), max_size=2).map(tuple),
    group=st.sampled_from(["build", "Agent.prompt", None]),
    data=st.sampled_from([{}, {"sources": [{"kind": "clock"}]}, {"sources": [{"kind": "host"}]}]),
)
TOLD = st.one_of(
    st.tuples(st.sampled_from(FLOW), REPORTS), st.tuples(st.just(STRUCTURE), REPORTS.filter(lambda r: r.group is None))
)


@settings(deadline=None)
@given(st.lists(TOLD, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_the_input_is_no_matter(told: list[tuple[Rule, Report]], random) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(told)
    random.shuffle(shuffled)
    assert fold(shuffled) == fold(told)


@settings(deadline=None)
@given(st.lists(TOLD, max_size=8))
def test_folding_is_idempotent_and_leaves_its_input_alone(told: list[tuple[Rule, Report]]) -> None:
    before = repr(told)
    once = fold(told)
    after = repr(once)
    assert fold(once) == once
    assert repr(told) == before
    assert repr(once) == after


@settings(deadline=None)
@given(st.lists(TOLD, max_size=8))
def test_one_report_per_group_and_nothing_is_lost(told: list[tuple[Rule, Report]]) -> None:
    out = fold(told)
    groups = [(r.span.filename, r.group) for _, r in out if r.group]
    assert len(groups) == len(set(groups))
    bodies = [(r.span.filename, r.span.row, r.span.end_row) for rule, r in out if not r.group and rule is not STRUCTURE]
    assert len(bodies) == len(set(bodies))
    assert sum(rule is STRUCTURE for rule, _ in out) == sum(rule is STRUCTURE for rule, _ in told)
    words = {(rule.code, r.message, r.span.row) for rule, r in out}
    words |= {(also["code"], also["message"], also["row"]) for _, r in out for also in r.data.get("also", [])}
    assert words == {(rule.code, r.message, r.span.row) for rule, r in told}
    steps = {step for _, r in out for step in r.steps}
    assert steps >= {step for _, r in told for step in r.steps}


@settings(deadline=None)
@given(st.lists(TOLD, max_size=8))
def test_the_most_severe_stays(told: list[tuple[Rule, Report]]) -> None:
    for rule, report in fold(told):
        mine = SEVERITIES.index(report.severity or rule.severity)
        if report.group:
            same = [(k, r) for k, r in told if (r.span.filename, r.group) == (report.span.filename, report.group)]
            assert mine == min(SEVERITIES.index(r.severity or k.severity) for k, r in same)


def test_the_others_are_told_in_the_one_that_stays() -> None:
    clock, date, host = FLOW
    span = Span("a.py", 4, 1, 4, 20)
    folded = fold(
        [
            (host, Report("platform.system() differs", span, "note", group="build")),
            (date, Report("date.today() changes", Span("a.py", 9, 1, 9, 5), "note", group="build")),
            (clock, Report("datetime.now() changes", span, "error", steps=(Step("a.py", 4, "read"),), group="build")),
        ]
    )
    [(rule, report)] = folded
    assert rule.code == "CSF101"
    assert report.message == "datetime.now() changes"
    assert report.data["also"] == [
        {"code": "CSF103", "name": "daily-date", "row": 9, "message": "date.today() changes"},
        {"code": "CSF106", "name": "host-environment", "row": 4, "message": "platform.system() differs"},
    ]
    assert [s.row for s in report.steps] == [4, 9, 4]


def test_other_files_and_statements_are_not_folded() -> None:
    clock = FLOW[0]
    reports = [
        (clock, Report("x", Span("a.py", 4, 1, 4, 20), "error", group="build")),
        (clock, Report("x", Span("b.py", 4, 1, 4, 20), "error", group="build")),
        (clock, Report("x", Span("a.py", 14, 1, 14, 20), "error")),
        (clock, Report("x", Span("a.py", 15, 1, 15, 20), "error")),
    ]
    assert len(fold(reports)) == 4


ENUM = (
    "def tools(client, names):\n    return client.chat.completions.create(model='m', messages=[], tools=[{\n"
    "        'name': 'pick', 'parameters': {'type': 'object', 'properties': {'x': {'type': 'string',\n"
    "        'enum': list(set(names))}}}}])\n"
)
IN_TURN = (
    "from datetime import datetime\n\n\ndef ask(client, history, question):\n    now = datetime.now()\n"
    "    text = f'It is {now}. You help.'\n"
    "    return client.messages.create(model='m', max_tokens=9, system=text, messages=history)\n"
)


@pytest.mark.parametrize(
    ("program", "code", "double"), [(ENUM, "CSF201", "CSF204"), (IN_TURN, "CSF101", "CSF301")], ids=["set", "clock"]
)
def test_one_defect_is_told_once(tmp_path: Path, program: str, code: str, double: str) -> None:
    write(tmp_path, {"app.py": program})
    alone = {c for _, _, c in places(lint([tmp_path], cache=False, select=(double,)).findings)}
    assert alone == {double}, "else there is nothing to fold"
    assert [c for _, _, c in places(lint([tmp_path], cache=False).findings)] == [code]


def clock(function: str, row: int, what: str = "datetime.now()") -> Report:
    """What a flow says of a clock in a function."""
    return Report("clock", Span("a.py", row, 1, row, 9), group=function, data={"sources": [{"api": what}]})


def before(function: str, row: int, what: str = "datetime.now()", file: str = "a.py") -> Report:
    """What the rule on the order of blocks says."""
    return Report("before", Span(file, row, 1, row + 1, 9), data={"what": what, "function": function})


@pytest.mark.parametrize(
    ("flow", "double", "number"),
    [
        (clock("f", 1), before("f", 20), 1),
        (clock("f", 21), before("g", 20), 1),
        (clock("f", 1), before("g", 20), 2),
        (clock("f", 1), before("f", 20, "documents"), 2),
        (clock("f", 1), before("f", 20, file="b.py"), 2),
    ],
    ids=["function", "place", "elsewhere", "other-value", "other-file"],
)
def test_what_is_the_same_defect(flow: Report, double: Report, number: int) -> None:
    rules = load_rules(["CSF101", "CSF301"])
    assert len(fold([(rules[0], flow), (rules[1], double)])) == number


def test_another_defect_of_the_place_hides_none(tmp_path: Path) -> None:
    program = (
        "from datetime import datetime\n\nENABLED = {'track', 'refund'}\n\n\ndef tools():\n"
        "    return [{'name': name, 'input_schema': {}} for name in ENABLED]\n\n\ndef ask(client, history):\n"
        "    return client.messages.create(\n        model='m', max_tokens=9, tools=tools(),\n"
        "        system=f'It is {datetime.now()}. You help.', messages=history)\n"
    )
    write(tmp_path, {"app.py": program})
    found = [c for _, _, c in places(lint([tmp_path], cache=False).findings)]
    assert {"CSF101", "CSF204"} <= set(found), "the clock is the worse one; the order of the tools is another"
