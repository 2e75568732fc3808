"""The structure rules: every example of every rule, and what all of them promise."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachesafe_rules.api import Context, Rule
from cachesafe_rules.cache_key_per_run import CacheKeyPerRun
from cachesafe_rules.changing_before_stable import ChangingBeforeStable
from cachesafe_rules.edited_history import EditedHistory
from cachesafe_rules.history_insert import HistoryInsert
from cachesafe_rules.marker_on_changing_block import MarkerOnChangingBlock
from cachesafe_rules.model_per_call import ModelPerCall
from cachesafe_rules.sliding_window import SlidingWindow
from cachesafe_rules.summarised_history import SummarisedHistory
from cachesafe_rules.too_many_markers import TooManyMarkers
from cachesafe_rules.tools_per_turn import ToolsPerTurn
from cachesafe_rules.ttl_order import TtlOrder
from cachesafe_rules.unsorted_json import UnsortedJson
from cachesafe_rules.unstable_tool_order import UnstableToolOrder
from tests.support.lint_examples import check_example, view_of

RULES: list[Rule] = [
    UnsortedJson(),
    UnstableToolOrder(),
    ChangingBeforeStable(),
    HistoryInsert(),
    SlidingWindow(),
    SummarisedHistory(),
    ToolsPerTurn(),
    ModelPerCall(),
    EditedHistory(),
    MarkerOnChangingBlock(),
    TooManyMarkers(),
    TtlOrder(),
    CacheKeyPerRun(),
]
BAD = [(rule, example) for rule in RULES for example in rule.INVALID]
GOOD = [(rule, example) for rule in RULES for example in rule.VALID]


@pytest.mark.parametrize(("rule", "example"), BAD, ids=[f"{rule.code}-{n}" for n, (rule, _) in enumerate(BAD)])
def test_invalid(rule: Rule, example) -> None:
    reports = check_example(rule, example.code)
    assert reports
    assert {report.span.row for report in reports} <= set(example.rows), [(r.span.row, r.message) for r in reports]


@pytest.mark.parametrize(("rule", "example"), GOOD, ids=[f"{rule.code}-{n}" for n, (rule, _) in enumerate(GOOD)])
def test_valid(rule: Rule, example) -> None:
    assert [(report.span.row, report.message) for report in check_example(rule, example.code)] == []


@pytest.mark.parametrize(("rule", "example"), GOOD, ids=[f"{rule.code}-{n}" for n, (rule, _) in enumerate(GOOD)])
def test_valid_for_all(rule: Rule, example) -> None:
    """What one rule calls fine no other one reports."""
    assert [(other.code, r.span.row) for other in RULES for r in check_example(other, example.code)] == []


@pytest.mark.parametrize(("rule", "example"), BAD, ids=[f"{rule.code}-{n}" for n, (rule, _) in enumerate(BAD)])
def test_needles(rule: Rule, example) -> None:
    assert any(needle in example.code.encode() for needle in rule.needles)


FILES = sorted(Path(sysconfig.get_path("stdlib")).glob("*/*.py"))


@given(st.sampled_from(FILES))
@settings(deadline=None, max_examples=25)
def test_no_rule_fails_on_code_it_was_not_made_for(path: Path) -> None:
    """The standard library talks to no model: no rule raises there, and none has anything to say."""
    code = path.read_text(encoding="utf-8", errors="ignore")
    try:
        view = view_of(code)
    except (SyntaxError, ValueError):
        return
    assert [(rule.code, report.span.row) for rule in RULES for report in rule.check(Context("a.py", view))] == []
