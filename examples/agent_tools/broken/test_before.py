"""These fail, and should: the template's own loss, and an edit that the acceptance for it does not hide."""

from __future__ import annotations

from pytest_cachesafe import assert_prefix_stable

from before import CutsOldResults
from build_doctor import TOOLS, Agent
from expected import REASONING
from sessions import play


def test_without_the_acceptance(qwen3: str) -> None:
    assert_prefix_stable(list(play(Agent())), template=qwen3, tools=TOOLS)


def test_old_results_cut(qwen3: str) -> None:
    assert_prefix_stable(list(play(CutsOldResults())), template=qwen3, tools=TOOLS, accept=[REASONING])
