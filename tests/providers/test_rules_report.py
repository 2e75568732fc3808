"""`cachesafe check --rules`: every value with its day and source, and what was checked too long ago."""

from __future__ import annotations

import json
from datetime import date, timedelta

import pytest

from pytest_cachesafe.providers.rules.load import load_rules
from pytest_cachesafe.report.rules import parse_age, rules_table
from pytest_cachesafe.usage import UsageError

TODAY = date(2026, 12, 1)


def test_the_table_names_value_day_and_source_of_every_rule() -> None:
    table = rules_table(load_rules({}), today=TODAY)
    lines = table.text().splitlines()
    line = next(line for line in lines if "minimum" in line and "claude-sonnet-4-6 " in line)
    assert line.startswith("  2026-11-29   minimum")
    assert "1,024 tokens (anthropics/anthropic-sdk-python#1194 reports caching only from 2,048" in line
    mark = line.rsplit("[", 1)[1].rstrip("]")
    source = next(line for line in lines if line.startswith(f"  [{mark}] "))
    assert 'Claude Platform Docs, "Prompt caching"' in source
    assert source.endswith("Cache limitations")
    # Not read at the provider's: marked.
    assert any(line.startswith("  2026-11-29 ? minimum  claude-fable-5-2") for line in lines)
    assert any("unknown  price" in line and "claude-mythos-5-2, claude-mythos-preview" in line for line in lines)
    assert "deepseek (listed, not checked)" in lines
    assert "in 0.1, read 0.01 (0.1x), write 5m 0.125, write 1h 0.2, out 0.5 USD/MTok; above 100,000" in table.text()
    assert table.status == 0
    assert table.stale == ()


def test_json_has_the_same_rows() -> None:
    table = rules_table(load_rules({}), today=TODAY, provider="anthropic")
    data = json.loads(json.dumps(table.as_dict()))
    assert data["schema"] == 1
    assert len(data["rules"]) == len(table.rows)
    (row,) = (r for r in data["rules"] if r["kind"] == "price" and r["name"] == "claude-haiku-5-5")
    assert [tier["above"] for tier in row["value"]] == [0, 100_000]
    assert row["checked"] == "2026-11-29"
    assert {r["provider"] for r in data["rules"]} == {"anthropic"}


def test_stale_rules_are_listed_and_decide_the_exit_status() -> None:
    rules = load_rules({})
    fresh = rules_table(rules, "90d", today=date(2026, 11, 29) + timedelta(days=90))
    assert fresh.status == 0
    assert "all checked within 90 days" in fresh.text()
    # One day later those of 2026-11-29 are too old, those of 2026-11-30 not yet.
    late = rules_table(rules, "90d", today=date(2026, 11, 29) + timedelta(days=91))
    assert late.status == 1
    assert {row.checked for row in late.stale} == {date(2026, 11, 29)}
    assert f"{len(late.stale)} of {len(late.rows)} rules were checked more than 90 days ago" in late.text()
    assert "2026-11-30" not in late.text()
    assert late.as_dict()["stale_after_days"] == 90


def test_the_users_own_values_are_marked_and_stale_only_with_a_day() -> None:
    own = {"minimum": 5, "checked": date(2020, 1, 1)}
    rules = load_rules({"anthropic": {"facts": {"lookback": 3}, "models": {"mine\x1b[31m": own}}})
    table = rules_table(rules, "90d", today=TODAY)
    assert [row.name for row in table.stale] == ["mine\x1b[31m"]
    text = rules_table(rules, today=TODAY).text()
    assert "  yours        fact     lookback" in text
    assert "\x1b" not in text
    assert "mine\\x1b[31m" in text


@pytest.mark.parametrize(("text", "days"), [("90d", 90), ("2w", 14), ("3m", 90), ("1y", 365), (" 7D ", 7)])
def test_ages(text: str, days: int) -> None:
    assert parse_age(text) == timedelta(days=days)


@pytest.mark.parametrize("text", ["", "90", "d", "-1d", "1.5d", "9h", "90 d"])
def test_an_age_of_another_form_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="--stale-after"):
        parse_age(text)
