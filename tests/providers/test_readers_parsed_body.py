"""Cassettes that keep the JSON itself beside, or instead of, the body."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_cachesafe.providers.capture.readers import read_exchanges


def test_a_parsed_body_stands_for_the_body(tmp_path: Path) -> None:
    body = {"model": "claude-opus-5", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    usage = {"input_tokens": 8, "output_tokens": 2, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    reply = {"type": "message", "content": [{"type": "text", "text": "ok"}], "usage": usage}
    headers = {"content-type": ["application/json"]}
    request = {"method": "POST", "uri": "https://api.anthropic.com/v1/messages", "headers": headers}
    document = {
        "version": 1,
        "interactions": [
            {
                "request": {**request, "parsed_body": body},
                "response": {"status": {"code": 200}, "headers": headers, "parsed_body": reply},
            },
            {
                "request": {**request, "body": json.dumps(body), "parsed_body": {"model": "other"}},
                "response": {"status": {"code": 200}, "headers": headers, "body": {"string": json.dumps(reply)}},
            },
        ],
    }
    file = tmp_path / "cassette.json"
    file.write_text(json.dumps(document))
    found = read_exchanges(file)
    assert [dict(exchange.body) for exchange in found] == [body, body]
    assert [exchange.usage for exchange in found] == [usage, usage]
