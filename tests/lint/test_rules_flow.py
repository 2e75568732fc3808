"""Every example of the rules on flows, through the linter: the bad ones at a marked line, the good ones silent."""

from __future__ import annotations

from typing import Any

import pytest

from cachesafe_rules.api import Example, Rule
from cachesafe_rules.registry import known_codes, load_rules
from pytest_cachesafe.lint.run import lint_text

FLOW = [code for code in known_codes() if code.startswith("CSF1")] + ["CSF201", "CSF202"]
META = ["CSF901", "CSF902", "CSF903"]


def examples(codes: list[str], which: str) -> list[Any]:
    return [
        pytest.param(rule, example, id=f"{rule.code}-{which.lower()}-{number}")
        for rule in load_rules(codes)
        for number, example in enumerate(getattr(rule, which))
    ]


def rows(rule: Rule, example: Example, select: list[str]) -> list[int | None]:
    findings = lint_text(example.code, filename=example.filename, select=select)
    return [finding.location.row for finding in findings if finding.code == rule.code]


@pytest.mark.parametrize(("rule", "example"), examples(FLOW, "INVALID"))
def test_found_at_a_marked_line(rule: Rule, example: Example) -> None:
    found = rows(rule, example, [rule.code])
    assert found, f"nothing found in\n{example.code}"
    assert set(found) <= set(example.rows), example.code


@pytest.mark.parametrize(("rule", "example"), examples(FLOW, "VALID"))
def test_silent_on_what_is_fine(rule: Rule, example: Example) -> None:
    assert lint_text(example.code, filename=example.filename, select=FLOW) == [], example.code


@pytest.mark.parametrize(("rule", "example"), examples(META, "INVALID"))
def test_meta_rules_find(rule: Rule, example: Example) -> None:
    found = rows(rule, example, [*FLOW, *META])
    assert found
    assert set(found) <= set(example.rows)


@pytest.mark.parametrize(("rule", "example"), examples(META, "VALID"))
def test_meta_rules_are_silent(rule: Rule, example: Example) -> None:
    assert rows(rule, example, [*FLOW, *META]) == []


@pytest.mark.parametrize("rule", load_rules(FLOW), ids=lambda rule: rule.code)
def test_good_and_bad_examples_parse(rule: Rule) -> None:
    for example in (*rule.VALID, *rule.INVALID):
        if example.filename.endswith(".py"):
            compile(example.code, example.filename, "exec")
