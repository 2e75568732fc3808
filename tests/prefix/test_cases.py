"""Reported faults, each reduced to a small template: verdict, place and cause, all by the public assertion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe import ChatTemplate, check_prefix_stable

FILE = Path(__file__).parent / "cases" / "render-stability.jsonl"
CASES = {case["id"]: case for case in map(json.loads, FILE.read_text("utf-8").splitlines())}
TEMPLATES = {i: c for i, c in CASES.items() if "template" in c["input"]}
IDS = {i: c for i, c in CASES.items() if c["input"].get("type") == "token_ids"}

# Cause and origin in words, as the reports of these faults give them.
CAUSES = {
    "render-02": ("generation_prompt", "template"),
    "render-06": ("reasoning_dropped", "template"),
    "render-08": ("reasoning_dropped", "template"),
    "render-10": ("reasoning_dropped", "template"),
    "render-12": ("date", "template"),
    "render-14": ("date", "template"),
    "render-16": ("system_moved", "template"),
    "render-20": ("tool_arguments_reserialised", "framework"),
    "render-22": ("order", "application"),
    "render-26": ("edited_history", "application"),
    "render-28": ("edited_history", "application"),
    "render-30": ("history_shifted", "application"),
    "render-40": ("number", "application"),
}


def report(case: dict[str, Any], **options: Any) -> Any:
    given = case["input"]
    steps = [dict(step) for step in given["steps"]]
    if "generated_text" in given:
        steps[0]["generated_text"] = given["generated_text"]
    template = ChatTemplate.from_string(
        given["template"],
        special_tokens={"bos_token": given.get("bos_token", ""), "eos_token": given.get("eos_token", "")},
    )
    return check_prefix_stable(steps, template=template, **options)


@pytest.mark.parametrize("name", TEMPLATES)
def test_verdict_and_place(name: str) -> None:
    case = TEMPLATES[name]
    expected = case["expect_machine"]
    found = report(case)
    data = found.as_dict()
    assert data["verdict"] == expected["verdict"], found.text()
    for key, value in expected.get("location", {}).items():
        assert data["location"][key] == value, found.text()
    if "cause" in expected:
        assert data["cause"] == expected["cause"]
    if "severity" in expected:
        assert found.worst.severity.value == expected["severity"]
        assert found.passed
        assert found.exit_status() == 0
    if "generated_text_reused" in expected:
        assert data["generated_text_reused"] is expected["generated_text_reused"]
    if name in CAUSES:
        assert (data["cause"], data["origin"]) == CAUSES[name], found.text()


@pytest.mark.parametrize(
    "name", [n for n, c in TEMPLATES.items() if "common_chars_mini" in c["expect"] and n != "render-18"]
)
def test_character_counts(name: str) -> None:
    expect = TEMPLATES[name]["expect"]
    step = report(TEMPLATES[name]).steps[0]
    if expect["common_chars_mini"] < expect["first_len_chars_mini"]:
        assert step.divergence.location.char_index == expect["common_chars_mini"]
    else:
        assert step.divergence is None


@pytest.mark.parametrize("name", IDS)
def test_generated_ids(name: str, smollm2_tokenizer_dir: Path) -> None:
    given = IDS[name]["input"]
    start = given.get("prompt_text", "<|im_start|>user\nIs it safe?<|im_end|>\n<|im_start|>assistant\n")
    requests = [
        {"prompt": start, "generated_ids": given["generated_ids"]},
        {"prompt": start + given["decoded_text"] + "<|im_end|>\n"},
    ]
    found = check_prefix_stable(requests, template=smollm2_tokenizer_dir)
    assert found.generated_text_reused is False
    canonical = [{"prompt": start, "generated_text": given["decoded_text"]}, requests[1]]
    assert check_prefix_stable(canonical, template=smollm2_tokenizer_dir).generated_text_reused is True
