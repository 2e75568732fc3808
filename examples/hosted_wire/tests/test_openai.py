"""Function calls that are replayed as the model wrote them."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_cachesafe import assert_prefix_stable

from openai_desk import replay, replay_parsed, request

CALL = {"type": "function_call", "call_id": "call_1", "name": "find_order", "arguments": '{"number": "A-1001"}'}


def requests_sent(stored: dict[str, Any]) -> list[dict[str, Any]]:
    """Three requests; the first replay of the call is in the run itself, the second comes from the database."""
    asked = {"role": "user", "content": "Where is order A-1001?"}
    result = {"type": "function_call_output", "call_id": "call_1", "output": "shipped on Monday, parcel 77120"}
    answered = {"role": "assistant", "content": "It was shipped on Monday."}
    follow_up = {"role": "user", "content": "And when will it be here?"}
    return [
        request([asked]),
        request([asked, CALL, result]),
        request([asked, stored, result, answered, follow_up]),
    ]


def test_replayed_calls_are_the_models_own_bytes() -> None:
    assert_prefix_stable(requests_sent(replay(CALL)))


def test_parsing_and_writing_again_is_caught() -> None:
    with pytest.raises(AssertionError, match="the same tool-call arguments, written out differently"):
        assert_prefix_stable(requests_sent(replay_parsed(CALL)))
