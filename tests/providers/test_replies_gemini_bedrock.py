"""Scripted Gemini and Bedrock replies, read by the real SDKs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_cachesafe.providers.capture.replies import Ids, render
from pytest_cachesafe.providers.capture.reply import Failure, Reply, ToolCall
from pytest_cachesafe.providers.exchange import Exchange

CALLS = (ToolCall("search", {"q": "Zürich", "n": 2}), ToolCall("now", {}))
REPLIES = {
    "text": Reply("It is sunny in Zürich, and so it will stay."),
    "tools": Reply(tools=CALLS),
    "text and tools": Reply("Let me look.", tools=CALLS),
    "thinking": Reply("Done.", thinking="First I look, then I answer."),
}
GEMINI = {"promptTokenCount": 3000, "cachedContentTokenCount": 2048}
CONVERSE = {
    "inputTokens": 14,
    "cacheReadInputTokens": 0,
    "cacheWriteInputTokens": 2823,
    "cacheDetails": [{"ttl": "5m", "inputTokens": 2823}],
}
ANTHROPIC = {"input_tokens": 14, "cache_creation_input_tokens": 2823, "cache_read_input_tokens": 0}


def rendered(provider: Any, api: Any, reply: Reply | Failure, counters: Any, *, stream: bool = False) -> Any:
    return render(Exchange(provider, api, {}, model="m", stream=stream), reply, counters, Ids())


@pytest.fixture(scope="module")
def bedrock() -> Any:
    session = pytest.importorskip("botocore.session", reason="needs boto3: pip install 'pytest-cachesafe[providers]'")
    return session.get_session().create_client(
        "bedrock-runtime", region_name="us-east-1", aws_access_key_id="none", aws_secret_access_key="none"
    )


def answered(client: Any, raw: Any) -> None:
    """Let the client get a reply instead of sending: what it parses is what a transport would hand to it."""
    import io

    from botocore.awsrequest import AWSResponse

    class Body(io.BytesIO):
        def stream(self, size: int = 1024, **_: Any) -> Any:
            while piece := self.read(size):
                yield piece

    response = AWSResponse("https://none", raw.status, raw.headers, Body(b"".join(raw.chunks)))
    client.meta.events.unregister("before-send.bedrock-runtime", unique_id="scripted")
    client.meta.events.register("before-send.bedrock-runtime", lambda **_: response, unique_id="scripted")


QUESTION = [{"role": "user", "content": [{"text": "hi"}]}]


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_converse_is_read_as_it_was_scripted(bedrock: Any, reply: Reply) -> None:
    made = rendered("bedrock", "converse", reply, CONVERSE)
    answered(bedrock, made.raw)
    read = bedrock.converse(modelId="m", messages=QUESTION)
    read.pop("ResponseMetadata")
    assert read == made.message
    # 14 fresh + 2,823 written + the output
    assert read["usage"]["totalTokens"] == 2837 + read["usage"]["outputTokens"]


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_converse_stream_adds_up_to_the_whole_reply(bedrock: Any, reply: Reply) -> None:
    whole = rendered("bedrock", "converse", reply, CONVERSE).message
    answered(bedrock, rendered("bedrock", "converse", reply, CONVERSE, stream=True).raw)
    blocks: dict[int, dict[str, Any]] = {}
    for event in bedrock.converse_stream(modelId="m", messages=QUESTION)["stream"]:
        (kind, data) = next(iter(event.items()))
        if kind == "contentBlockStart":
            blocks[data["contentBlockIndex"]] = {"toolUse": {**data["start"]["toolUse"], "input": ""}}
        elif kind == "contentBlockDelta":
            put_together(blocks.setdefault(data["contentBlockIndex"], {}), data["delta"])
        elif kind == "messageStop":
            assert data["stopReason"] == whole["stopReason"]
        elif kind == "metadata":
            assert data["usage"] == whole["usage"]
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
    assert list(blocks.values()) == whole["output"]["message"]["content"]


def put_together(block: dict[str, Any], delta: dict[str, Any]) -> None:
    if "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    elif "toolUse" in delta:
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    else:
        said = block.setdefault("reasoningContent", {}).setdefault("reasoningText", {})
        for key, value in delta["reasoningContent"].items():
            said[key] = said.get(key, "") + value


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_invoke_streams_wrap_the_events_of_anthropic(bedrock: Any, reply: Reply) -> None:
    made = rendered("bedrock", "invoke", reply, ANTHROPIC)
    answered(bedrock, made.raw)
    read = bedrock.invoke_model(modelId="m", body=b"{}")
    assert json.loads(read["body"].read()) == made.message
    answered(bedrock, rendered("bedrock", "invoke", reply, ANTHROPIC, stream=True).raw)
    stream = bedrock.invoke_model_with_response_stream(modelId="m", body=b"{}")["body"]
    events = [json.loads(event["chunk"]["bytes"]) for event in stream]
    assert events[0]["type"] == "message_start"
    assert events[-1]["type"] == "message_stop"
    said = "".join(e["delta"].get("text", "") for e in events if e["type"] == "content_block_delta")
    assert said == (reply.text or "")


@pytest.mark.parametrize(
    ("status", "error"), [(400, "ValidationException"), (429, "ThrottlingException"), (403, "AccessDeniedException")]
)
def test_bedrock_failures_are_the_errors_the_client_knows(bedrock: Any, status: int, error: str) -> None:
    from botocore.config import Config

    once = bedrock.meta.config.merge(Config(retries={"max_attempts": 0}))
    assert once is not None
    answered(bedrock, rendered("bedrock", "converse", Failure(status, "no"), CONVERSE).raw)
    with pytest.raises(getattr(bedrock.exceptions, error), match="no"):
        bedrock.converse(modelId="m", messages=QUESTION)


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_gemini_is_read_as_it_was_scripted(reply: Reply) -> None:
    types = pytest.importorskip(
        "google.genai.types", reason="needs google-genai: pip install 'pytest-cachesafe[providers]'"
    )
    made = rendered("gemini", "gemini", reply, GEMINI)
    read = types.GenerateContentResponse.model_validate(made.message)
    assert read.usage_metadata.cached_content_token_count == 2048
    parts = read.candidates[0].content.parts
    assert "".join(p.text or "" for p in parts if not p.thought) == (reply.text or "")
    assert [(p.function_call.name, p.function_call.args) for p in parts if p.function_call] == [
        (c.name, dict(c.input)) for c in reply.tools
    ]
    pieces = []
    for chunk in rendered("gemini", "gemini", reply, GEMINI, stream=True).raw.chunks:
        event = types.GenerateContentResponse.model_validate_json(chunk.decode().removeprefix("data: "))
        pieces += event.candidates[0].content.parts
    assert event.candidates[0].finish_reason.value == "STOP"
    assert event.usage_metadata.candidates_token_count == read.usage_metadata.candidates_token_count
    assert "".join(p.text or "" for p in pieces if not p.thought) == (reply.text or "")


def test_a_gemini_failure_has_googles_shape() -> None:
    made = rendered("gemini", "gemini", Failure(429), GEMINI)
    assert made.raw.status == 429
    assert made.message["error"]["status"] == "RESOURCE_EXHAUSTED"
