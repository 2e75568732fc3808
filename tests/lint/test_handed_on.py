"""A text that is reported where it is built, and those who hand it on."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.findings import Finding, Flow, Location, Severity
from pytest_cachesafe.lint.handed_on import gathered
from pytest_cachesafe.lint.run import lint

BUILDER = """from datetime import datetime


def build_system_prompt():
    return f"It is {datetime.now()}."
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


def test_two_that_lie_on_the_way_of_each_other_leave_one() -> None:
    assert len(gathered([made(5, 1, 1, 9, 5), made(9, 1, 1, 5, 9)])) == 1


@given(
    st.lists(
        st.builds(
            lambda row, source, steps, severity: made(row, source, *steps, severity=severity),
            st.integers(1, 8),
            st.integers(1, 2),
            st.lists(st.integers(1, 8), max_size=4),
            st.sampled_from(["error", "warning", "note"]),
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
