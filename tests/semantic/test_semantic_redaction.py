"""What a user wrote stays out of reports where no prompt text may be shown: reasons, labelled pairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.cli import main
from pytest_cachesafe.semantic.cases import load_cases
from pytest_cachesafe.semantic.judge import CollisionJudge

pytest.importorskip("numpy")

NOT = ("Is the API rate limited?", "Is the API not rate limited?")
OTHER = "Where is my invoice?"


def embed(texts: list[str]) -> list[list[float]]:
    return [["API" in t, "invoice" in t, len(t) / 200] for t in texts]


@pytest.mark.parametrize("mode", ["text", "hash"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_reasons_of_an_allow_list(
    mode: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "embedding.py").write_text(
        "def embed(texts):\n    return [['API' in t, 'invoice' in t, len(t) / 200] for t in texts]\n", "utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "prompts.jsonl").write_text("\n".join(json.dumps(text) for text in (*NOT, OTHER)), "utf-8")
    entries: list[dict[str, Any]] = [
        {"a": NOT[0], "b": NOT[1], "reason": "the ACME page says both"},
        {"a": NOT[0], "b": OTHER, "reason": "ACME has one page"},
    ]
    (tmp_path / "allow.jsonl").write_text("\n".join(map(json.dumps, entries)), "utf-8")
    words = ["collisions", str(tmp_path / "prompts.jsonl"), "--allow", str(tmp_path / "allow.jsonl"), "--encoder",
             "embedding:embed", "--threshold", "0.9", "--output-format", form]  # fmt: skip
    assert main(words) == 0
    assert capsys.readouterr().out.count("ACME") >= 2
    assert main([*words, "--redact", mode]) == 0
    out = capsys.readouterr().out
    assert "ACME" not in out
    assert "[28 characters" in out


def test_the_repr_of_a_case_holds_no_prompt(tmp_path: Path) -> None:
    """pytest shows the arguments of a failed test beside the report."""
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps({"a": NOT[0], "b": NOT[1], "same_answer": False}), "utf-8")
    (case,) = load_cases(file)
    assert "rate limited" not in repr(case)
    assert "cases.jsonl: line 1" in repr(case)


def test_a_report_of_allowed_pairs_by_the_api() -> None:
    report = CollisionJudge(embed, 0.9).collisions([*NOT, OTHER], allow=[(*NOT, "the ACME page says both")])
    assert "allowed (the ACME page says both)" in report.text()
    assert "ACME" not in report.text(redact="hash")
