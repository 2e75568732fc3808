"""Helpers that call themselves: what a rule follows through them ends somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import write

from pytest_cachesafe.lint.run import lint

BLOCKS = """
def copied(value):
    if isinstance(value, dict):
        return {key: copied(one) for key, one in value.items()}
    if isinstance(value, list):
        return [copied(one) for one in value]
    return value


def build(state, question):
    blocks = copied(state)
    blocks[-1]["cache_control"] = {"type": "ephemeral"}
    return {"model": "m", "system": blocks, "messages": [{"role": "user", "content": question}]}
"""
TEXTS = """
def told(node, docs):
    return node.text + told(node.next, docs) + f"{told(node, docs)}"


def build(node, docs, history):
    return {"model": "m", "system": f"You help. {told(node, docs)}", "messages": history}
"""


@pytest.mark.parametrize("program", [BLOCKS, TEXTS], ids=["blocks", "texts"])
def test_no_rule_fails(tmp_path: Path, program: str) -> None:
    write(tmp_path, {"app.py": program})
    result = lint([tmp_path], cache=False)
    assert result.crashed == []
    assert result.files == 1
