"""The words and the severity of volatile sources, and which rule each belongs to."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachesafe_rules.api import Context, Report, Rule
from cachesafe_rules.arrival_rule import ArrivalRule
from cachesafe_rules.model import Arrival, ModuleView, Source, Span, Step, Taint
from cachesafe_rules.policy import GRANULARITIES, KINDS, SEVERITIES, is_date, remedy, sentence, severity, spelling
from cachesafe_rules.registry import known_codes, load_rules

FLOW = [code for code in known_codes() if code.startswith("CSF1")] + ["CSF201", "CSF202"]
SINK = Span("app/prompts.py", 7, 5, 8, 20)
SOURCES = st.builds(
    Source,
    kind=st.sampled_from(KINDS),
    granularity=st.sampled_from(GRANULARITIES),
    api=st.sampled_from(["datetime.now", "sys.platform", "user_name", "set", "add_datetime_to_context", "a[0]"]),
    span=st.builds(
        Span,
        st.sampled_from(["app/prompts.py", "app/helper.py"]),
        st.integers(1, 9),
        st.just(3),
        st.just(9),
        st.just(9),
    ),
    frozen=st.booleans(),
)
PARTS = st.sampled_from(["system", "tools", "few_shot", "template"])


@pytest.fixture(scope="module")
def rules() -> list[Rule]:
    return load_rules(FLOW)


def source(
    kind: str, granularity: str, api: str = "f", frozen: bool = False, filename: str = "app/prompts.py"
) -> Source:
    return Source(kind, granularity, api, Span(filename, 3, 1, 3, 9), frozen)


def arrival(*sources: Source, part: str = "system", sink: str = "system message", function: str = "build") -> Arrival:
    return Arrival(sink, part, SINK, function, tuple(Taint(s, way(s)) for s in sources))


def way(one: Source) -> tuple[Step, ...]:
    """Of an order it is seen that it is written out."""
    span = one.span
    read = Step(span.filename, span.row, f"{one.api} is read here")
    return (read, Step(span.filename, span.row, "joined into a string")) if one.kind in ("set", "listing") else ()


def reports(rules: Iterable[Rule], *arrivals: Arrival) -> list[tuple[str, Report]]:
    context = Context("app/prompts.py", ModuleView("app/prompts.py", arrivals=list(arrivals)))
    return [(rule.code, report) for rule in rules for report in rule.check(context)]


@settings(deadline=None)
@given(SOURCES, PARTS)
def test_every_source_belongs_to_exactly_one_rule(one: Source, part: str) -> None:
    found = reports(load_rules(FLOW), arrival(one, part=part))
    # A file read at import is as good as a constant, and so is the day on which it was written; a set that another file
    # makes call by call may be another set.
    elsewhere = one.span.filename != SINK.filename
    silent = (
        one.frozen or is_date(one)
        if one.kind == "file"
        else one.kind == "set" and part == "system" and not one.frozen and elsewhere
    )
    assert len(found) == (0 if silent else 1)


@settings(deadline=None)
@given(st.lists(SOURCES, min_size=1, max_size=6), PARTS)
def test_a_report_is_as_bad_as_its_worst_source_and_names_all_of_them(sources: list[Source], part: str) -> None:
    for rule in load_rules(FLOW):
        assert isinstance(rule, ArrivalRule)
        one = arrival(*sources, part=part)
        mine = [s for s in sources if s.kind in rule.kinds and rule.counts(one, s)]
        found = reports([rule], one)
        assert len(found) == bool(mine)
        for _, report in found:
            assert report.severity == min((severity(s) for s in mine), key=SEVERITIES.index)
            assert len(report.data["sources"]) == len(set(mine))
            rows = {(step.filename, step.row) for step in report.steps}
            assert {(s.span.filename, s.span.row) for s in mine} <= rows
            assert report.steps[-1].filename == SINK.filename
            assert SINK.row <= report.steps[-1].row <= SINK.end_row


@settings(deadline=None)
@given(SOURCES, st.randoms(use_true_random=False))
def test_sentences_are_one_line_and_name_source_and_sink(one: Source, random: object) -> None:
    text = sentence(one, "argument system_prompt of Agent")
    assert "\n" not in text
    assert one.api in text
    assert "the argument system_prompt of Agent" in text
    assert len(text) < 250
    assert remedy(one)


@pytest.mark.parametrize(
    ("kind", "granularity", "frozen", "code", "expected"),
    [
        ("clock", "microsecond", False, "CSF101", "error"),
        ("clock", "call", False, "CSF101", "error"),
        ("clock", "second", False, "CSF101", "error"),
        ("clock", "minute", False, "CSF101", "error"),
        ("clock", "hour", False, "CSF101", "warning"),
        ("clock", "session", False, "CSF101", "note"),
        ("clock", "day", False, "CSF103", "note"),
        ("clock", "month", False, "CSF103", "note"),
        ("clock", "year", False, "CSF103", "note"),
        ("clock", "second", True, "CSF102", "warning"),
        ("clock", "day", True, "CSF102", "warning"),
        ("random", "call", False, "CSF104", "error"),
        ("random", "process", False, "CSF104", "warning"),
        ("temp", "call", False, "CSF104", "error"),
        ("temp", "call", True, "CSF104", "warning"),
        ("user", "user", False, "CSF105", "warning"),
        ("session", "session", False, "CSF105", "warning"),
        ("host", "host", False, "CSF106", "note"),
        ("host", "host", True, "CSF106", "note"),
        ("cwd", "session", False, "CSF106", "note"),
        ("env", "host", False, "CSF106", "note"),
        ("locale", "host", False, "CSF106", "note"),
        ("build", "call", False, "CSF107", "warning"),
        ("repr", "process", False, "CSF108", "error"),
        ("memory", "call", False, "CSF109", "warning"),
        ("file", "call", False, "CSF109", "note"),
        ("state", "call", False, "CSF110", "warning"),
        ("mutable", "call", False, "CSF110", "warning"),
        ("flag", "second", False, "CSF111", "error"),
        ("flag", "day", False, "CSF111", "note"),
        ("flag", "user", False, "CSF111", "warning"),
        ("set", "process", False, "CSF201", "warning"),
        ("set", "process", True, "CSF201", "warning"),
        ("listing", "host", False, "CSF202", "warning"),
    ],
)
def test_code_and_severity(
    rules: list[Rule], kind: str, granularity: str, frozen: bool, code: str, expected: str
) -> None:
    found = reports(rules, arrival(source(kind, granularity, frozen=frozen)))
    assert [(c, r.severity) for c, r in found] == [(code, expected)]


@pytest.mark.parametrize(
    ("granularity", "expected"), [("minute", "error"), ("hour", "warning"), ("day", "note"), ("", "warning")]
)
def test_a_clock_of_the_template_itself(rules: list[Rule], granularity: str, expected: str) -> None:
    one = source("clock", granularity, "strftime_now", filename="prompts/system.jinja")
    assert [(c, r.severity) for c, r in reports(rules, arrival(one))] == [("CSF112", expected)]
    inside = source("clock", granularity, "strftime_now")
    assert [c for c, _ in reports(rules, arrival(inside, part="template"))] == ["CSF112"]


def test_the_sentence_of_a_clock(rules: list[Rule]) -> None:
    [(_, report)] = reports(rules, arrival(source("clock", "microsecond", "datetime.now")))
    assert report.message == (
        "datetime.now() changes with every call and reaches the system message: nothing behind it is reused"
    )
    assert report.group == "build"
    assert report.span == SINK


@pytest.mark.parametrize(
    ("sink", "words"),
    [
        ("SYSTEM_PROMPT", "reaches SYSTEM_PROMPT:"),
        ("description of a tool", "reaches the description of a tool:"),
        ("the list of tools", "reaches the list of tools:"),
    ],
)
def test_a_name_is_a_name_and_words_get_their_article(sink: str, words: str) -> None:
    assert words in sentence(source("random", "call", "uuid4"), sink)


def test_a_date_tells_its_price(rules: list[Rule]) -> None:
    [(_, report)] = reports(rules, arrival(source("clock", "day", "date.today")))
    assert report.message.endswith("the prefix is written anew once a day")


def test_a_frozen_clock_tells_both_defects(rules: list[Rule]) -> None:
    [(_, report)] = reports(rules, arrival(source("clock", "second", "datetime.now", frozen=True), function=""))
    assert "stale" in report.message
    assert "each restart" in report.message
    assert "each worker" in report.message
    assert report.group is None


@pytest.mark.parametrize(
    ("kind", "granularity"),
    [
        *(("clock", often) for often in ("second", "minute", "hour", "day", "session")),
        *(("flag", often) for often in ("second", "minute", "hour", "day")),
    ],
)
@pytest.mark.parametrize("frozen", [False, True])
def test_a_clock_always_gets_its_three_ways_out(granularity: str, kind: str, frozen: bool) -> None:
    text = remedy(source(kind, granularity, "f", frozen))
    assert "newest user message" in text
    assert "per session" in text
    assert "tool that returns the time" in text
    assert "one rewrite" in text or granularity == "day"


@pytest.mark.parametrize(
    ("kind", "api", "spelt"),
    [
        ("clock", "datetime.now", "datetime.now()"),
        ("host", "platform.system", "platform.system()"),
        ("host", "sys.platform", "sys.platform"),
        ("env", "os.environ", "os.environ"),
        ("env", "os.getenv", "os.getenv()"),
        ("user", "user_name", "user_name"),
        ("flag", "add_datetime_to_context", "add_datetime_to_context"),
        ("set", "set", "set()"),
        ("clock", "strftime_now('%H')", "strftime_now('%H')"),
    ],
)
def test_spelling(kind: str, api: str, spelt: str) -> None:
    assert spelling(source(kind, "call", api)) == spelt


def test_steps_of_the_analysis_are_kept_and_ends_are_added() -> None:
    one = source("clock", "second", "time.time", filename="app/helper.py")
    way = (Step("app/helper.py", 3, "read here"), Step("app/helper.py", 5, "returned"))
    [rule] = load_rules(["CSF101"])
    [(_, report)] = reports([rule], Arrival("system message", "system", SINK, "build", (Taint(one, way),)))
    assert report.steps[:2] == way
    assert [(s.filename, s.row) for s in report.steps[2:]] == [("app/prompts.py", 7)]
