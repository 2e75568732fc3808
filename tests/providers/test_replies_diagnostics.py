"""Cache diagnostics in scripted Anthropic replies, read by the real SDK: whole and streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest

anthropic = pytest.importorskip(
    "anthropic", reason="needs the anthropic SDK: pip install 'pytest-cachesafe[providers]'"
)

from pytest_cachesafe.providers.capture.session import capture_traffic  # noqa: E402

SYSTEM = "Rules of the house. " * 500
ASK: dict[str, Any] = {
    "model": "claude-opus-5-5",
    "max_tokens": 10,
    "messages": [{"role": "user", "content": "hi"}],
}


def system(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words, "cache_control": {"type": "ephemeral"}}]


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_names_the_reason_only_where_it_was_asked_for(stream: bool) -> None:
    with capture_traffic():
        client = anthropic.Anthropic(api_key="none")

        def send(words: str, **more: Any) -> Any:
            if not stream:
                return client.messages.create(**ASK, system=system(words), **more)
            with client.messages.stream(**ASK, system=system(words), **more) as events:
                return events.get_final_message()

        first = send(SYSTEM, diagnostics={"previous_message_id": None})
        assert first.diagnostics is None
        second = send("New. " + SYSTEM, diagnostics={"previous_message_id": first.id})
        third = send("New. " + SYSTEM, diagnostics={"previous_message_id": second.id})
        fourth = send("Old. " + SYSTEM)
    reason = second.diagnostics.cache_miss_reason
    assert reason.type == "system_changed"
    assert reason.cache_missed_input_tokens > 1_000
    assert isinstance(second, anthropic.types.Message)
    assert third.diagnostics is None, "nothing differs"
    assert fourth.diagnostics is None, "not asked for"
    assert "diagnostics" not in second.usage.to_dict()


def test_a_stream_says_it_in_its_first_event() -> None:
    with capture_traffic():
        client = anthropic.Anthropic(api_key="none")
        client.messages.create(**ASK, system=system(SYSTEM))
        wanted = {"previous_message_id": "msg_of_another_time"}
        events = list(client.messages.create(**ASK, system=system(SYSTEM), diagnostics=wanted, stream=True))
    said = [json.loads(e.to_json()).get("message", {}).get("diagnostics") for e in events]
    assert said[0] == {"cache_miss_reason": {"type": "previous_message_not_found"}}
    assert not any(said[1:])
