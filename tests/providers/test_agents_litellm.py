"""LiteLLM: what it makes of markers on the way to each provider."""

from __future__ import annotations

import os
import warnings
from typing import Any

import pytest

from pytest_cachesafe import capture_traffic, check_requests

pytestmark = pytest.mark.oracle
MANUAL = "You are a support bot. " + "Answer from the manual. " * 400


@pytest.fixture(scope="module")
def litellm() -> Any:
    # Its list of prices comes from the network otherwise.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("litellm", reason="needs LiteLLM, which wants an environment of its own")


def body(turns: int) -> list[dict[str, Any]]:
    mark = {"cache_control": {"type": "ephemeral"}}
    messages: list[dict[str, Any]] = [{"role": "system", "content": [{"type": "text", "text": MANUAL, **mark}]}]
    for turn in range(turns):
        if turn:
            messages.append({"role": "assistant", "content": "ok"})
        messages.append({"role": "user", "content": f"question {turn}"})
    return messages


def sent(litellm: Any, model: str) -> Any:
    with warnings.catch_warnings(), capture_traffic() as rec:
        warnings.simplefilter("ignore")
        for turn in range(1, 4):
            litellm.completion(model=model, messages=body(turn), max_tokens=20)
    assert len(rec.exchanges) == 3
    return rec


def test_markers_reach_anthropic_and_nothing_is_found(litellm: Any) -> None:
    rec = sent(litellm, "anthropic/claude-opus-5")
    assert rec.exchanges[0].api == "messages"
    assert "cache_control" in str(rec.exchanges[0].body)
    assert [f.code for f in check_requests(rec).failures()] == []


def test_markers_become_cache_points_for_bedrock(litellm: Any) -> None:
    rec = sent(litellm, "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0")
    assert rec.exchanges[0].api == "converse"
    assert "cachePoint" in str(rec.exchanges[0].body)
    assert [f.code for f in check_requests(rec).failures()] == []


def test_markers_are_dropped_for_openai(litellm: Any) -> None:
    rec = sent(litellm, "openai/gpt-5")
    assert "cache_control" not in str(rec.exchanges[0].body)
    assert [f.code for f in check_requests(rec).failures()] == []


def test_a_marker_for_gemini_asks_for_cached_contents_which_are_not_scripted(litellm: Any) -> None:
    """LiteLLM 1.110 makes a cachedContents object of it; 1.10x dropped the marker."""
    with pytest.raises(pytest.fail.Exception, match="cachedContents is not scripted"):
        sent(litellm, "gemini/gemini-2.5-flash")
