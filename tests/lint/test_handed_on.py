"""A text that is reported where it is built, and those who hand it on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.findings import Finding, Flow, Location, Severity
from pytest_cachesafe.lint.handed_on import gathered
from pytest_cachesafe.lint.run import lint

BUILDER = """from datetime import datetime


def build_system_prompt():
    return f"It is {datetime.now()}."
"""
STEPS = """from datetime import datetime


def build_system_prompt():
    text = " ".join(["Be brief.", f"It is {datetime.now()}."])
    # Back to whoever asked for it.
    return text
"""
CALLER = """from prompts import build_system_prompt


def ask(client):
    return client.messages.create(model="m", max_tokens=9, system=build_system_prompt(), messages=[])
"""


def made(
    row: int, source: int, *steps: int, name: str = "a.py", severity: str = "error", more: tuple[int, ...] = ()
) -> Finding:
    sources = [{"filename": "a.py", "row": s, "column": 1, "kind": "clock"} for s in (source, *more)]
    return Finding(
        "CSF101",
        f"clock at {row}",
        Severity(severity),
        Location(filename=name, row=row, column=1),
        flow=tuple(Flow("a.py", step, f"step {step}") for step in steps),
        data={"sources": sources, "sink": "system message", "end_location": {"row": row, "column": 9}},
    )


def rows(findings: list[Finding]) -> list[int | None]:
    return [finding.location.row for finding in findings]


def test_a_caller_becomes_a_step_of_the_text() -> None:
    text, caller = made(5, 1, 1, 5), made(20, 1, 1, 5, 20, name="b.py")
    (found,) = gathered([text, caller])
    assert found.location == text.location
    assert {(s.filename, s.row) for s in found.flow} >= {("a.py", 1), ("a.py", 5), ("a.py", 20), ("b.py", 20)}
    assert found.flow[-1].message == "also reaches the system message at b.py:20"
    assert [(a["filename"], a["row"]) for a in found.data["also"]] == [("b.py", 20)]


def test_a_chain_of_callers_has_one_report() -> None:
    chain = [made(5, 1, 1, 5), made(9, 1, 1, 5, 9), made(12, 1, 1, 9, 12)]
    for order in (chain, chain[::-1]):
        assert rows(gathered(order)) == [5]


def test_a_caller_that_adds_a_value_of_its_own_is_reported() -> None:
    assert rows(gathered([made(5, 1, 1, 5), made(9, 1, 1, 5, 9, more=(8,))])) == [5, 9]


def test_the_same_source_by_another_way_is_reported() -> None:
    assert rows(gathered([made(5, 1, 1, 5), made(9, 1, 1, 9)])) == [5, 9]


def test_a_note_does_not_stand_for_an_error() -> None:
    assert rows(gathered([made(5, 1, 1, 5, severity="note"), made(9, 1, 1, 5, 9)])) == [5, 9]


def taking(row: int, *flow: tuple[str, int, str], kind: str = "clock", sink: str = "system message") -> Finding:
    """A finding of row `row` in c.py; its source is the first step."""
    name, first, _ = flow[0]
    steps = [Flow(*step) for step in flow]
    source = {"filename": name, "row": first, "column": 1, "kind": kind, "api": "it"}
    return Finding(
        "CSF101",
        f"at {row}",
        Severity("error"),
        Location(filename=steps[-1].filename, row=row, column=1),
        flow=tuple(steps),
        data={"sources": [source], "sink": sink, "end_location": {"row": row, "column": 9}},
    )


READ = ("a.py", 1, "datetime.now() is read here")
JOINED = ("b.py", 4, "joined into a string")
GIVEN = ("b.py", 7, "reaches the return value of prompt()")
TAKEN = ("c.py", 9, "returned by prompt()")
SENT = ("c.py", 9, "reaches the system message")


def test_who_takes_the_result_of_the_builder_is_told_with_it() -> None:
    # The row that gives the text back is no step of its callers: they tell of the function instead.
    (found,) = gathered([taking(9, READ, JOINED, TAKEN, SENT), taking(7, READ, JOINED, GIVEN)])
    assert (found.location.filename, found.location.row) == ("b.py", 7)
    assert [(a["filename"], a["row"]) for a in found.data["also"]] == [("c.py", 9)]
    assert Flow(*SENT) in found.flow


def test_a_function_of_the_same_name_is_another_one() -> None:
    other = ("d.py", 4, "joined into a string")
    assert len(gathered([taking(7, READ, JOINED, GIVEN), taking(9, READ, other, TAKEN, SENT)])) == 2


def test_who_hands_a_value_to_the_builder_is_not_the_builder() -> None:
    # `prompt(now())` in b.py and c.py: each of them has a clock of its own to mend.
    handing = taking(4, READ, ("b.py", 4, "passed on here"), ("d.py", 2, GIVEN[2]), ("b.py", 4, GIVEN[2]))
    assert len(gathered([handing, taking(9, READ, ("d.py", 2, "joined into a string"), TAKEN, SENT)])) == 2


def test_prompts_that_use_one_clock_are_told_each() -> None:
    helped = [("b.py", 4, "returned by now()"), ("b.py", 4, "formatted into a string")]
    also = [("c.py", 4, "returned by now()"), ("c.py", 4, "formatted into a string")]
    assert len(gathered([taking(4, READ, *helped, GIVEN), taking(9, READ, *also, SENT)])) == 2


def test_a_builder_of_which_another_value_is_told_does_not_stand_for_this_one() -> None:
    own = ("b.py", 2, "random() is read here")
    assert len(gathered([taking(7, own, JOINED, GIVEN), taking(9, READ, JOINED, TAKEN, SENT)])) == 2


def ordered(row: int, *sources: int, code: str = "CSF201", severity: str = "warning") -> Finding:
    """A finding on the order of sets that arise in other rows, by ways of their own."""
    finding = made(row, sources[0], *sources, row, severity=severity, more=sources[1:]) if sources else made(row, row)
    data = finding.data if sources else {}
    return replace(finding, code=code, severity=Severity(severity), data={**data, "sink": "list of tools"})


def test_one_order_that_several_tools_have_is_one_report() -> None:
    longer = replace(ordered(9, 1), flow=(Flow("a.py", 1, "a"), Flow("a.py", 7, "b"), Flow("a.py", 9, "c")))
    (found,) = gathered([longer, ordered(30, 1), ordered(50, 1)])
    assert found.location.row == 30, "the shortest way stands for the others"
    assert {step.row for step in found.flow} >= {1, 7, 9, 50}
    assert {a["row"] for a in found.data["also"]} == {9, 50}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ordered(5, 1), ordered(9, 2)),
        (ordered(5, 1, 3), ordered(9, 1, 2)),
        (ordered(5, 1, severity="note"), ordered(3, code="CSF204")),
        (ordered(5, 1), ordered(2, code="CSF204")),
    ],
    ids=["of-two-sets", "with-one-more", "milder", "other-place"],
)
def test_orders_that_are_mended_at_other_places_are_told_each(first: Finding, second: Finding) -> None:
    assert len(gathered([first, second])) == 2


def test_the_place_of_an_order_is_told_with_its_way() -> None:
    place = ordered(1, code="CSF204")
    for findings in ([place, ordered(5, 1)], [ordered(5, 1), place]):
        (found,) = gathered(findings)
        assert (found.code, found.location.row) == ("CSF201", 5)


def test_a_worse_report_on_an_order_stays() -> None:
    assert rows(
        gathered([ordered(5, 1, severity="note"), replace(ordered(9, 1), flow=made(9, 1, 1, 7, 8, 9).flow)])
    ) == [9]


def test_a_report_on_two_orders_stands_for_those_on_one() -> None:
    assert rows(gathered([ordered(5, 1), ordered(7, 2), ordered(9, 1, 2)])) == [9]
    assert rows(gathered([ordered(5, 1, 3), ordered(7, 2, 4), ordered(9, 1, 2)])) == [5, 7]


def test_the_report_that_is_nearest_to_an_order_stands_for_all() -> None:
    far = replace(ordered(3, 1), location=Location(filename="b.py", row=3, column=1))
    assert rows(gathered([far, ordered(5, 1)])) == [5]


def test_one_clock_of_several_prompts_is_no_order() -> None:
    assert len(gathered([ordered(5, 1, code="CSF101"), ordered(9, 1, code="CSF101")])) == 2


PLACES = [(9, "c"), (3, "d"), (5, "e")]


def test_a_value_that_several_prompts_take_is_told_with_each_of_them() -> None:
    ways = [((f"{x}.py", row, "returned by today()"), (f"{x}.py", row, "reaches system_prompt")) for row, x in PLACES]
    assert len(gathered([taking(way[1][1], READ, JOINED, *way) for way in ways])) == 3


def test_who_joins_two_texts_is_told_with_the_first() -> None:
    first, second = taking(7, READ, JOINED, GIVEN), made(5, 1, 1, 5, name="d.py")
    other = {"filename": "a.py", "row": 1, "column": 1, "kind": "clock"}
    second = replace(second, flow=(Flow("d.py", 5, "reaches the return value of more()"),))
    caller = taking(
        9, READ, JOINED, TAKEN, ("d.py", 5, "random() is read here"), ("c.py", 9, "returned by more()"), SENT
    )
    both = replace(caller, data={**caller.data, "sources": [*caller.data["sources"], {**other, "row": 5}]})
    second = replace(second, data={**second.data, "sources": [{**other, "row": 5}]})
    assert rows(gathered([first, second, both])) == [7, 5]
    assert rows(gathered([first, both])) == [7, 9]


def with_value(finding: Finding, kind: str, granularity: str) -> Finding:
    sources = [{**s, "granularity": "minute", "frozen": False} for s in finding.data["sources"]]
    added = {**sources[0], "row": 8, "kind": kind, "granularity": granularity, "api": "its"}
    return replace(finding, data={**finding.data, "sources": [*sources, added]})


def test_a_caller_that_adds_what_costs_less_is_told_with_the_text() -> None:
    text, caller = taking(7, READ, JOINED, GIVEN), taking(9, READ, JOINED, TAKEN, SENT)
    assert rows(gathered([text, with_value(caller, "host", "host")])) == [7]
    assert rows(gathered([text, with_value(caller, "random", "call")])) == [7, 9]


def test_a_memory_that_is_handed_to_the_builder_is_that_of_the_builder() -> None:
    inside = taking(7, ("b.py", 4, "memory is read here"), GIVEN, kind="memory")
    handed = taking(9, ("c.py", 9, "memory is read here"), GIVEN, SENT, kind="memory")
    (found,) = gathered([inside, handed])
    assert found.location.row == 7


def test_a_clock_that_a_caller_reads_is_one_more_than_that_of_the_builder() -> None:
    inside = taking(7, ("b.py", 4, "datetime.now() is read here"), GIVEN)
    handed = taking(9, ("c.py", 9, "datetime.now() is read here"), GIVEN, SENT)
    assert len(gathered([inside, handed])) == 2


def test_two_that_lie_on_the_way_of_each_other_leave_one() -> None:
    assert len(gathered([made(5, 1, 1, 9, 5), made(9, 1, 1, 5, 9)])) == 1


@given(
    st.lists(
        st.builds(
            lambda row, source, steps, severity, code: replace(made(row, source, *steps, severity=severity), code=code),
            st.integers(1, 8),
            st.integers(1, 2),
            st.lists(st.integers(1, 8), max_size=4),
            st.sampled_from(["error", "warning", "note"]),
            st.sampled_from(["CSF101", "CSF201", "CSF204"]),
        ),
        max_size=8,
    )
)
@settings(deadline=None)
def test_no_place_is_lost_and_the_order_stays(findings: list[Finding]) -> None:
    def places(found: list[Finding]) -> set[tuple[str | None, int | None]]:
        return {(f.location.filename, f.location.row) for f in found} | {
            (s.filename, s.row) for f in found for s in f.flow
        }

    once = gathered(findings)
    assert places(findings) <= places(once)
    assert len(findings) == 0 or len(once) >= 1
    left = iter(rows(findings))
    assert all(row in left for row in rows(once)), "the order has changed"


def project(folder: Path) -> Path:
    (folder / "pyproject.toml").write_text("")
    (folder / "prompts.py").write_text(BUILDER)
    (folder / "agent.py").write_text(CALLER)
    return folder


def test_a_run_has_one_report_with_the_caller_in_it(tmp_path: Path) -> None:
    (found,) = lint([project(tmp_path)], cache=False).findings
    assert str(found.location.filename).endswith("prompts.py")
    assert any(step.filename.endswith("agent.py") for step in found.flow)


def test_a_run_has_one_report_where_the_text_is_made_in_steps(tmp_path: Path) -> None:
    (project(tmp_path) / "prompts.py").write_text(STEPS)
    (found,) = lint([tmp_path], cache=False).findings
    assert str(found.location.filename).endswith("prompts.py")
    assert any(step.filename.endswith("agent.py") for step in found.flow)


def test_the_caller_alone_is_told_of_in_its_own_file(tmp_path: Path) -> None:
    (found,) = lint([project(tmp_path) / "agent.py"], cache=False).findings
    assert str(found.location.filename).endswith("agent.py")


def test_a_suppressed_text_does_not_hide_its_callers(tmp_path: Path) -> None:
    project(tmp_path)
    text = BUILDER.replace('"\n', '"  # cachesafe: ignore[CSF101] known\n')
    (tmp_path / "prompts.py").write_text(text)
    result = lint([tmp_path], cache=False)
    assert result.suppressed >= 1
    assert all(not str(f.location.filename).endswith("prompts.py") for f in result.findings)
