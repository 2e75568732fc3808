"""VCR cassettes, recorded from real SDKs against a server on loopback, and mended by hand where they are broken."""

from __future__ import annotations

import base64
import gzip
import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from pytest_cachesafe.providers.capture.readers import parse_exchanges, read_exchanges
from pytest_cachesafe.usage import UsageError

USAGE = {"input_tokens": 14, "cache_creation_input_tokens": 2823, "cache_read_input_tokens": 0, "output_tokens": 2}
MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5", "stop_reason": "end_turn",
    "stop_sequence": None, "content": [{"type": "text", "text": "ok"}], "usage": USAGE,
}  # fmt: skip
STREAM = [
    {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 2},
    },
    {"type": "message_stop"},
]
CHAT = {
    "id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-4o",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10},
}  # fmt: skip


class _Provider(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        kind = "application/json"
        if self.path.startswith("/v1/messages/count_tokens"):
            data = json.dumps({"input_tokens": 3}).encode()
        elif self.path.startswith("/v1/messages") and body.get("stream"):
            kind = "text/event-stream"
            data = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in STREAM).encode()
        elif self.path.startswith("/v1/messages"):
            data = json.dumps(MESSAGE).encode()
        else:
            data = json.dumps(CHAT).encode()
        packed = "gzip" in self.headers.get("accept-encoding", "") and kind == "application/json"
        data = gzip.compress(data) if packed else data
        self.send_response(200)
        self.send_header("content-type", kind)
        if packed:
            self.send_header("content-encoding", "gzip")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Provider)
    thread = Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{http.server_address[1]}"
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture
def vcr() -> Any:
    return pytest.importorskip("vcr", reason="needs vcrpy, to record a cassette: pip install vcrpy")


SYSTEM = [{"type": "text", "text": "Rules: ü. " * 50, "cache_control": {"type": "ephemeral"}}]


def talk(anthropic: Any, server: str) -> None:
    with anthropic.Anthropic(api_key="sk-ant-1", base_url=server, max_retries=0) as client:
        common = {"model": "claude-opus-5", "max_tokens": 5, "system": SYSTEM}
        client.messages.count_tokens(model="claude-opus-5", messages=[{"role": "user", "content": "one"}])
        client.messages.create(messages=[{"role": "user", "content": "one"}], **common)
        with client.messages.stream(messages=[{"role": "user", "content": "two"}], **common) as stream:
            assert stream.get_final_text() == "ok"


# vcrpy cannot write packed bodies as JSON.
@pytest.mark.parametrize(("serializer", "decode"), [("yaml", True), ("yaml", False), ("json", True)])
def test_a_cassette_of_the_anthropic_sdk(server: str, vcr: Any, serializer: str, decode: bool, tmp_path: Path) -> None:
    anthropic = pytest.importorskip("anthropic", reason="needs the Anthropic SDK: pip install anthropic")
    path = tmp_path / f"cassette.{serializer}"
    with vcr.VCR(serializer=serializer, decode_compressed_response=decode).use_cassette(str(path)):
        talk(anthropic, server)
    first, second = read_exchanges(path)
    assert (first.provider, first.api, first.model, first.path) == (
        "anthropic", "messages", "claude-opus-5", "/v1/messages",
    )  # fmt: skip
    assert first.body["system"] == SYSTEM
    assert first.host == server.removeprefix("http://")
    assert [e.body["messages"][0]["content"] for e in (first, second)] == ["one", "two"]
    assert (first.stream, second.stream) == (False, True)
    # Put together from the events, it is the same reply.
    for exchange in (first, second):
        assert exchange.status == 200
        assert exchange.usage == USAGE
        assert exchange.reply is not None
        assert exchange.reply["content"] == MESSAGE["content"]
        assert not exchange.predicted
    assert "sk-ant-1" not in repr((first, second))
    assert first.scope == second.scope != ""
    assert first.headers["anthropic-version"]
    assert first.body["system"][0] is second.body["system"][0]


def test_a_cassette_of_the_openai_sdk(server: str, vcr: Any, tmp_path: Path) -> None:
    openai = pytest.importorskip("openai", reason="needs the OpenAI SDK: pip install openai")
    path = tmp_path / "cassette.yaml"
    cassette = vcr.use_cassette(str(path), filter_headers=["authorization"])
    with cassette, openai.OpenAI(api_key="sk-1", base_url=f"{server}/v1", max_retries=0) as client:
        client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "one"}])
    (found,) = read_exchanges(path)
    assert (found.provider, found.api, found.model) == ("openai", "chat", "gpt-4o")
    assert found.usage == CHAT["usage"]


def interaction(**changes: Any) -> dict[str, Any]:
    body = json.dumps({"model": "claude-opus-5", "messages": [{"role": "user", "content": "hi"}]})
    request = {"method": "POST", "uri": "https://api.anthropic.com/v1/messages", "body": body, "headers": {}}
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": json.dumps(MESSAGE)}}
    return {"request": request | changes, "response": response}


def document(*interactions: Any) -> str:
    return json.dumps({"version": 1, "interactions": list(interactions)})


def test_requests_to_others_are_left_aside() -> None:
    others = [
        interaction(uri="https://example.com/", method="GET", body=None),
        interaction(uri="https://api.openai.com/v1/embeddings", body=json.dumps({"input": "x"})),
        interaction(uri="https://api.anthropic.com/v1/models", method="GET", body=None),
    ]
    (found,) = parse_exchanges(document(*others, interaction()))
    assert found.body["messages"] == [{"role": "user", "content": "hi"}]
    with pytest.raises(UsageError, match=r"no request to a model in this cassette; it has 1 x .*embeddings"):
        parse_exchanges(document(*others))


def test_bodies_in_all_the_forms_recorders_write() -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "hü"}]}, ensure_ascii=False)

    forms: list[Any] = [
        body,
        {"string": body},
        {"base64_string": base64.b64encode(body.encode()).decode()},
        # Packed, and the header that would say so is gone.
        {"base64_string": base64.b64encode(gzip.compress(body.encode())).decode()},
        json.loads(body),
    ]
    for form in forms:
        (found,) = parse_exchanges(document(interaction(body=form)))
        assert found.body == json.loads(body)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (document(), "no request to a model in this cassette"),
        (document({"response": {}}), "interaction 0: has no request with a uri"),
        (
            document(interaction(), interaction(body="x=1")),
            "interaction 1: the body of Anthropic Messages is no JSON (3 bytes)",
        ),
        (document(interaction(body="[1]")), "interaction 0: the body of Anthropic Messages is JSON, but no object"),
        (document(interaction(body=None)), "interaction 0: the body of Anthropic Messages is no JSON (0 bytes)"),
        ("version: 1\ninteractions: 3\n", "a cassette has a list of interactions"),
        ("interactions:\n- request: {uri: [\n", "not a cassette, line"),
        ("interactions: !!python/object/apply:os.system [touch /tmp/x]\n", "not a cassette, line 1"),
        ("interactions: !!python/name:os.system\n", "not a cassette, line 1"),
    ],
)
def test_broken_cassettes_are_told_in_one_line(text: str, words: str) -> None:
    pytest.importorskip("yaml", reason="needs PyYAML, to read cassettes: pip install pyyaml")
    with pytest.raises(UsageError) as caught:
        parse_exchanges(text, "cassette")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_pyyaml_a_json_cassette_is_read_and_a_yaml_one_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert len(parse_exchanges(document(interaction()))) == 1
    with pytest.raises(UsageError, match="reading it needs PyYAML: pip install pyyaml"):
        parse_exchanges("version: 1\ninteractions: []\n")
