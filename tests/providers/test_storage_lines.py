"""Exchanges written as JSON lines and read again: nothing lost, no key written, texts shown only as far as allowed."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.providers.capture.mask import Mask
from pytest_cachesafe.providers.capture.readers import parse_exchanges, read_exchanges
from pytest_cachesafe.providers.capture.storage import exchange_line, exchange_lines, write_exchanges
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.usage import UsageError

SYSTEM = "You are an AI assistant tasked with analyzing literary works. " * 4


def exchange(**changes: Any) -> Exchange:
    body = {
        "max_tokens": 16,
        "model": "claude-opus-5",
        "system": [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        "tools": [{"name": "look_up", "description": "Look up", "input_schema": {"type": "object", "properties": {}}}],
        "messages": [
            {"role": "user", "content": "Hello, my name is Ada"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look_up", "input": {"n": 4}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "found"}]},
        ],
    }
    given: dict[str, Any] = {
        "provider": "anthropic",
        "api": "messages",
        "body": body,
        "model": "claude-opus-5",
        "path": "/v1/messages",
        "host": "gateway.example:8443",
        "headers": {"anthropic-version": "2023-06-01"},
        "scope": "0123456789abcdef",
        "sent_at": 1.5,
        "began_at": 2.25,
        "attempt": 1,
        "stream": True,
        "status": 200,
        "reply": {"id": "msg_1", "content": [{"type": "text", "text": "I see"}]},
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 2},
        "predicted": True,
        "library": "httpx2",
        "line": "agent.py:12",
    }
    return Exchange(**(given | changes))


def test_an_exchange_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    plain = Exchange("openai", "responses", {"input": "hi", "model": "gpt-6-sol"}, model="gpt-6-sol")
    assert write_exchanges(path, [exchange(), plain]) == 2
    assert read_exchanges(path) == [exchange(), plain]
    # One object a line, that any tool reads.
    first, second = path.read_text("ascii").splitlines()
    assert json.loads(first)["body"] == exchange().body
    assert list(json.loads(second)) == ["provider", "api", "model", "body"]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=4), TEXTS)
def test_every_body_comes_back_with_key_order_and_number_types(contents: list[Any], text: str) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": text}, {"z": c, "a": c}]} for c in contents]
    sent = exchange(body={"messages": messages})
    (back,) = parse_exchanges(exchange_line(sent))
    assert json.dumps(back.body) == json.dumps(sent.body)


def test_keys_queries_and_users_are_never_written(tmp_path: Path) -> None:
    secret = "sk-ant-very-secret"
    headers = {"Authorization": f"Bearer {secret}", "X-Api-Key": secret, "X-New-Key": secret, "User-Agent": "agent/1"}
    body = {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "image", "source": {"type": "url", "url": f"https://h/a?sig={secret}"}}],
            }
        ],
        "metadata": {"user_id": secret},
        "user": secret,
        "safety_identifier": secret,
        "mcp_servers": [
            {"url": "https://mcp.example", "authorization_token": secret, "headers": {"X-API-Key": secret}}
        ],
    }
    sent = exchange(body=body, headers=headers, path=f"/v1/messages?key={secret}", source={"api_key": secret})
    for mode in ("none", "hash", "text"):
        path = tmp_path / f"{mode}.jsonl"
        write_exchanges(path, [sent], mode)  # type: ignore[arg-type]
        assert secret not in path.read_text("ascii")
    (back,) = read_exchanges(tmp_path / "none.jsonl")
    assert back.headers == {"user-agent": "agent/1"}
    assert back.path == "/v1/messages"
    # The URL itself stays: it is content, whose change is a change of the prompt.
    assert back.body["messages"][0]["content"][0]["source"]["url"].startswith("https://h/a?#")
    assert sent.body["user"] == secret


def test_a_file_is_readable_by_its_owner_only_and_replaces_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text("old")
    path.chmod(0o644)
    write_exchanges(path, [exchange()])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()

    def failing() -> Any:
        yield exchange()
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        write_exchanges(path, failing())
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["requests.jsonl"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(target)
    write_exchanges(link, [exchange()])
    assert link.is_symlink()
    assert read_exchanges(target) == [exchange()]


@pytest.mark.parametrize(("name", "words"), [("", "is a directory"), ("none/x.jsonl", "No such file or directory")])
def test_what_cannot_be_written_is_told(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        write_exchanges(tmp_path / name, [exchange()])


def test_a_body_that_json_cannot_hold_is_told() -> None:
    with pytest.raises(
        UsageError, match=r"a request to /v1/messages cannot be written as JSON: .*NaN|not JSON compliant"
    ):
        exchange_line(exchange(body={"messages": [], "temperature": float("nan")}))
    with pytest.raises(UsageError, match="bytes is not JSON serializable"):
        exchange_line(exchange(body={"messages": [b"x"]}))


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def test_hashed_texts_keep_equality_length_and_the_words_of_the_format() -> None:
    one, two = exchange(), exchange()
    two.body["messages"][0]["content"] = "Hello, my name is Bob"
    first, second = (json.loads(line) for line in exchange_lines([one, two], "hash"))
    assert first["body"]["system"] == second["body"]["system"]
    assert first["body"]["messages"][1:] == second["body"]["messages"][1:]
    assert first["body"]["messages"][0]["content"] != second["body"]["messages"][0]["content"]
    assert len(first["body"]["system"][0]["text"]) == len(SYSTEM)
    assert first["body"]["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert first["body"]["model"] == "claude-opus-5"
    assert [m["role"] for m in first["body"]["messages"]] == ["user", "assistant", "user"]
    assert first["body"]["messages"][1]["content"][0]["type"] == "tool_use"
    # The call and its result are still known to belong together.
    assert first["body"]["messages"][1]["content"][0]["id"] == first["body"]["messages"][2]["content"][0]["tool_use_id"]
    shown = " ".join(strings(first["body"]) + strings(first["reply"]))
    for word in ("Ada", "literary", "look_up", "Look up", "found", "I see"):
        assert word not in shown
    assert parse_exchanges(json.dumps(first))[0].omits == ("texts",)


def test_checksums_cannot_be_tried_out() -> None:
    # Another writer, another secret: the same text looks different, unless the secret is given.
    a, b = exchange_line(exchange(), Mask("hash")), exchange_line(exchange(), Mask("hash"))
    assert a != b
    assert exchange_line(exchange(), Mask("hash", secret=b"s")) == exchange_line(exchange(), Mask("hash", secret=b"s"))


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=2, max_size=6))
def test_hashing_always_keeps_what_is_equal_and_what_differs(texts: list[str]) -> None:
    mask = Mask("hash", secret=b"s")
    made = [mask.value({"messages": [{"role": "user", "content": text}]}) for text in texts]
    for one, first in zip(texts, made, strict=True):
        for other, second in zip(texts, made, strict=True):
            assert (one == other) == (first == second)
        assert (made[texts.index(one)]["messages"][0]["content"] == "") == (one == "")


def test_data_of_tools_is_hidden_whatever_its_keys_are_called() -> None:
    call = {"type": "tool_use", "name": "n", "input": {"type": "diagnosis", "role": "patient", "age": 41, "ok": True}}
    masked = Mask("hash").value({"messages": [{"role": "assistant", "content": [call]}]})
    data = masked["messages"][0]["content"][0]["input"]
    assert list(data) == ["type", "role", "age", "ok"]
    assert "diagnosis" not in str(masked)
    assert "patient" not in str(masked)
    assert "41" not in str(data["age"]) or data["age"].startswith("#")
    # A Responses body calls its list of messages by the same name.
    items = Mask("hash").value({"input": [{"type": "message", "role": "user", "content": "x"}]})
    assert items["input"][0]["type"] == "message"


def test_lengths_alone_cannot_be_compared_and_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    write_exchanges(path, [exchange()], "text")
    line = json.loads(path.read_text())
    assert line["body"]["messages"][0]["content"] == "[21 characters]"
    with pytest.raises(UsageError, match="written without texts, nothing can be compared; redact with 'hash' instead"):
        read_exchanges(path)


def test_an_unknown_mode_is_told() -> None:
    with pytest.raises(UsageError, match="redact='all': one of none, text, hash is meant"):
        list(exchange_lines([], "all"))  # type: ignore[arg-type]


def test_what_requests_repeat_is_held_once_when_a_file_is_read(tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = []
    sent = []
    for turn in range(30):
        messages.append({"role": "user" if turn % 2 == 0 else "assistant", "content": f"turn {turn} " + "x" * 500})
        sent.append(exchange(body={"model": "m", "system": SYSTEM * 2, "messages": list(messages)}))
    path = tmp_path / "requests.jsonl"
    write_exchanges(path, sent)
    back = read_exchanges(path)
    assert [e.body for e in back] == [e.body for e in sent]
    held = {id(message) for e in back for message in e.body["messages"]}
    # 30 messages, not 30 x 31 / 2 = 465.
    assert len(held) == 30
    assert len({id(e.body["system"]) for e in back}) == 1
