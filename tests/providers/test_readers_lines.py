"""Requests read from JSON lines of ours and from bare bodies, and every kind of bad input told in one line."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.providers.capture.readers import parse_exchanges, read_exchanges
from pytest_cachesafe.providers.capture.readers.lines import exchange_of_line
from pytest_cachesafe.usage import UsageError

ANTHROPIC = {"model": "claude-opus-5", "max_tokens": 5, "system": "s", "messages": [{"role": "user", "content": "hi"}]}
CHAT = {"model": "gpt-4o", "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}]}
RESPONSES = {"model": "gpt-6-sol", "input": "hi"}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
CONVERSE = {"messages": [{"role": "user", "content": [{"text": "hi"}]}], "inferenceConfig": {"maxTokens": 5}}
INVOKE = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (ANTHROPIC, ("anthropic", "messages", "claude-opus-5")),
        (CHAT, ("openai", "chat", "gpt-4o")),
        (RESPONSES, ("openai", "responses", "gpt-6-sol")),
        (GEMINI, ("gemini", "gemini", None)),
        (CONVERSE, ("bedrock", "converse", None)),
        ({"provider": "bedrock", "body": INVOKE}, ("bedrock", "invoke", None)),
        ({"provider": "bedrock", "model": "us.anthropic.claude-opus-5", "body": INVOKE},
         ("bedrock", "invoke", "us.anthropic.claude-opus-5")),
        ({"path": "/model/us.anthropic.claude-opus-5/converse", "body": CONVERSE},
         ("bedrock", "converse", "us.anthropic.claude-opus-5")),
        ({"path": "/v1beta/models/gemini-2.5-flash:generateContent?key=k", "body": GEMINI},
         ("gemini", "gemini", "gemini-2.5-flash")),
        ({"path": "/openai/deployments/prod/chat/completions", "body": {"messages": CHAT["messages"]}},
         ("openai", "chat", "prod")),
        ({"path": "/v1/messages", "body": ANTHROPIC}, ("anthropic", "messages", "claude-opus-5")),
        ({"api": "responses", "body": RESPONSES}, ("openai", "responses", "gpt-6-sol")),
    ],
)  # fmt: skip
def test_a_line_says_itself_whose_it_is(line: dict[str, Any], expected: tuple[str, str, str | None]) -> None:
    (found,) = parse_exchanges(json.dumps(line))
    assert (found.provider, found.api, found.model) == expected
    assert found.body == line.get("body", line)
    assert found.path is None or "?" not in found.path


def test_the_caller_says_what_the_lines_do_not() -> None:
    (plain,) = parse_exchanges(
        json.dumps({"messages": [{"role": "user", "content": "x"}]}), provider="anthropic", model="m"
    )
    assert (plain.provider, plain.model) == ("anthropic", "m")
    (own,) = parse_exchanges(json.dumps({"provider": "openai", "body": CHAT}), provider="anthropic", model="m")
    assert (own.provider, own.model) == ("openai", "gpt-4o")
    (invoked,) = parse_exchanges(json.dumps(INVOKE), provider="bedrock")
    assert invoked.api == "invoke"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ANTHROPIC) + "\n" + json.dumps(ANTHROPIC) + "\n",
        json.dumps(ANTHROPIC) + "\r\n\r\n" + json.dumps(ANTHROPIC),
        json.dumps([ANTHROPIC, ANTHROPIC]),
        json.dumps({"requests": [ANTHROPIC, ANTHROPIC]}, indent=2),
        json.dumps(ANTHROPIC, indent=2) + "\n" + json.dumps(ANTHROPIC, indent=2),
        "\ufeff" + json.dumps([ANTHROPIC, ANTHROPIC]),
    ],
)
def test_requests_may_stand_in_lines_in_a_list_or_one_after_the_other(text: str, tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text(text, "utf-8")
    assert [e.body for e in read_exchanges(path)] == [ANTHROPIC, ANTHROPIC]


def test_unknown_blocks_and_keys_are_kept() -> None:
    body = {**ANTHROPIC, "new_field": 1, "messages": [{"role": "user", "content": [{"type": "hologram", "data": [1]}]}]}
    (found,) = parse_exchanges(json.dumps({"body": body, "provider": "anthropic", "something": "else"}))
    assert found.body == body


def test_line_separators_inside_strings_break_no_line() -> None:
    body = {**ANTHROPIC, "system": "a\u2028b\x85c\x0bd"}
    text = "\n".join([json.dumps(ANTHROPIC), json.dumps(body, ensure_ascii=False)])
    assert [e.body for e in parse_exchanges(text)] == [ANTHROPIC, body]


def test_standard_input_and_text_are_read_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(ANTHROPIC).encode())))
    assert read_exchanges("-")[0].body == ANTHROPIC
    assert read_exchanges(json.dumps(ANTHROPIC))[0].body == ANTHROPIC


def test_a_body_of_twenty_megabytes_is_read(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 20_000_000}}
    path = tmp_path / "requests.jsonl"
    path.write_text(json.dumps({**ANTHROPIC, "messages": [{"role": "user", "content": [image]}]}))
    (found,) = read_exchanges(path)
    assert len(found.body["messages"][0]["content"][0]["source"]["data"]) == 20_000_000


GOOD = json.dumps(ANTHROPIC)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "requests: is empty"),
        (" \n\n", "requests: is empty"),
        ("hello", "requests: not JSON, line 1 column 1: Expecting value"),
        (GOOD + "\nnot json\n" + GOOD, "requests: not JSON, line 2 column 1: Expecting value"),
        (GOOD + "\n" + GOOD[:40], "requests: line 2 is cut off"),
        (GOOD + "\n" + GOOD[:-1], "requests: line 2 is cut off"),
        (GOOD + "\n" + GOOD[:-1] + "\n", "requests: not JSON, line 2 column"),
        (GOOD[:30], "requests: not JSON, line 1 column"),
        ('{"messages": NaN}', "requests: line 1: NaN is not JSON; write null or a number"),
        (GOOD + '\n{"messages": Infinity}\n', "requests: line 2: Infinity is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "requests: an empty list: no requests"),
        ("3", "requests: a number where a request body (a JSON object) is meant"),
        (GOOD + "\n[]\n", "requests: line 2: a list where a request body (a JSON object) is meant"),
        ('[{"role": "user", "content": "x"}]', "a list of messages where requests are meant"),
        ("{}", "no request body: it has no messages, input or contents (it has nothing)"),
        ('{"error": {"message": "x"}}', "it has no messages, input or contents (it has error)"),
        ('{"body": "text"}', "requests: body is a string; the JSON object that was sent is meant"),
        ('{"prompt": "Once upon"}', "a completion of a bare prompt; requests with messages are checked"),
        (
            '{"provider": "antropic", "body": {"messages": []}}',
            "unknown provider 'antropic'; did you mean 'anthropic'?",
        ),
        ('{"api": "message", "body": {"messages": []}}', "unknown api 'message'; did you mean 'messages'?"),
        ('{"api": "messages", "status": "200", "body": {"messages": []}}', "status must be a whole number, not str"),
        (
            '{"api": "messages", "sent_at": true, "body": {"messages": []}}',
            "sent_at must be a number of seconds, not bool",
        ),
        ('{"model": 3, "messages": [{"role": "user", "content": "x"}]}', "model is a number; a model id is meant"),
    ],
)
def test_bad_input_is_one_line_that_says_where(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_exchanges(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "provider", "words"),
    [
        (CHAT, "anthropic", "not a body of anthropic, it looks like openai"),
        (ANTHROPIC, "openai", "not a body of openai, it looks like anthropic"),
        (GEMINI, "anthropic", "not a body of anthropic, it looks like gemini"),
        (ANTHROPIC, "gemini", "not a body of gemini, it looks like anthropic"),
        (CONVERSE, "anthropic", "not a body of anthropic, it looks like bedrock"),
        (ANTHROPIC, "bedrock", "not a body of bedrock, it looks like anthropic"),
        (ANTHROPIC, "antropic", "unknown provider 'antropic'; did you mean 'anthropic'?"),
    ],
)
def test_a_body_of_another_provider_is_told(body: dict[str, Any], provider: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_exchanges(json.dumps(body), provider=provider)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x1f\x8b\x08\x00rest", "is compressed with gzip; unpack it first"),
        (b"\xff\xfe{\x00", "not UTF-8 text (byte 0); it looks like UTF-16"),
        (b'{"messages": "\xe9"}', "not UTF-8 text (byte 14)"),
        (b"\x00\x01\x02\x03", "not JSON, line 1 column 1"),
    ],
)
def test_binary_content_is_told(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "requests.bin"
    path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        read_exchanges(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read_exchanges(tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match="is a directory"):
        read_exchanges(tmp_path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"model": "text-embedding-3-small", "input": "a"}, "a request for embeddings"),
        ({"model": "own", "input": ["a", "b"]}, "a request for embeddings"),
        ({"model": "own", "input": "a", "dimensions": 256}, "a request for embeddings"),
        ({"model": "omni-moderation-latest", "input": "a"}, "a request for moderation"),
        ({"model": "gpt-4o-mini-tts", "input": "a", "voice": "alloy"}, "a request for speech"),
        ({"custom_id": "1", "url": "/v1/embeddings", "body": {"model": "m", "input": "a"}}, "/v1/embeddings is "),
    ],
)
def test_what_goes_to_no_chat_model_is_told_by_its_name(line: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=f"^line 3: {words}.*no request to a chat model; leave it out$"):
        exchange_of_line(line, "line 3", None, None)


def test_a_line_of_a_batch_file_is_read_by_its_url() -> None:
    body = {"model": "gpt-5.4", "input": [{"role": "user", "content": "hi"}]}
    line = {"custom_id": "1", "method": "POST", "url": "/v1/responses", "body": body}
    assert exchange_of_line(line, "line 1", None, None).api == "responses"
