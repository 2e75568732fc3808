"""`cachesafe rule`: what a rule is about."""

from __future__ import annotations

import json

import pytest

from cachesafe_rules.pages import page
from cachesafe_rules.registry import known_codes, load_rules
from pytest_cachesafe.cli import main


@pytest.mark.parametrize("word", ["CSF101", "csf101", "clock-in-prefix", "clock_in_prefix"])
def test_one_rule(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", word]) == 0
    assert capsys.readouterr().out == page(load_rules(["CSF101"])[0])


def test_one_rule_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "CSF101", "--output-format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["schema"], data["code"], data["name"], data["severity"]) == (1, "CSF101", "clock-in-prefix", "error")


def test_all_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "--all"]) == 0
    out = capsys.readouterr().out
    assert [line.split("(")[1] for line in out.splitlines() if line.startswith("# ") and "(CSF" in line] == [
        f"{code})" for code in known_codes()
    ]
    assert main(["rule", "--all", "--output-format", "json"]) == 0
    assert [rule["code"] for rule in json.loads(capsys.readouterr().out)["rules"]] == list(known_codes())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["CSF110x"], "did you mean 'CSF110'?"),
        (["clock-prefix"], "did you mean 'clock-in-prefix'?"),
        (["zzz"], "`cachesafe rule --all` shows every rule"),
        ([], "name a rule"),
        (["CSF101", "--all"], "name a rule"),
        (["CSF101", "CSF102"], "unexpected argument 'CSF102'"),
    ],
)
def test_mistakes(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err
