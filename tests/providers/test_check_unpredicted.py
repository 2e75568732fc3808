"""What a check says of requests of which it knows too little, or whose place no document describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.providers.checks.check import check_requests
from pytest_cachesafe.providers.exchange import Exchange
from tests.support.wire_requests import LONG, MARK, anthropic, assistant, call, check, marked_last, openai, text, user


def exchange(body: dict[str, Any], **more: Any) -> Exchange:
    return Exchange("anthropic", "messages", body, model=body["model"], **more)


TWO = [anthropic(marked_last(m)) for m in ([user(LONG)], [user(LONG), assistant("Yes."), user("Why?")])]


@pytest.mark.parametrize(
    ("hidden", "words"), [("texts", "its texts are redacted"), ("markers", "its source does not show markers")]
)
def test_what_the_source_does_not_show_is_not_predicted_and_said_once(hidden: str, words: str) -> None:
    report = check_requests([exchange(body, omits=(hidden,)) for body in TWO])
    assert report.findings == []
    assert [v.usage for v in report.requests] == [None, None]
    assert [v.miss_reason for v in report.requests] == [None, None]
    assert report.text().count(words) == 1
    assert [r["unpredicted"] for r in report.as_dict()["requests"]] == [words] * 2


def test_a_refused_and_an_unanswered_request_say_so() -> None:
    refused = anthropic([user([text("", cache_control=MARK)])])
    report = check_requests([exchange(refused), exchange(TWO[0], status=529), exchange(TWO[0])])
    assert [v.unpredicted for v in report.requests] == ["refused", "not answered, status 529", None]
    assert "request 1 (conversation 1): no prediction (not answered, status 529)" in report.text()


def test_a_marker_inside_a_tool_result_is_no_error_and_no_wrong_count() -> None:
    result = {"type": "tool_result", "tool_use_id": "c0", "content": [text(LONG, cache_control=MARK)]}
    bodies = [
        anthropic([user("Look."), assistant([call("look", 0)]), user([result])]),
        anthropic([user("Look."), assistant([call("look", 0)]), user([result]), assistant("Yes."), user("Why?")]),
    ]
    report = check(bodies)
    assert report.findings == []
    # Read: all but what was added.
    assert report.requests[1].usage is not None
    assert report.requests[0].usage is not None
    assert report.requests[1].usage.read == report.requests[0].usage.write > 0
    note = "request 0, messages[2].content[0].content[0]: a marker inside a tool result is taken as one on the result"
    assert [n for n in report.notes if n.startswith(note) and n.endswith("(unverified)")]


def test_markers_inside_tool_results_are_counted_against_the_limit() -> None:
    parts = [text(f"part {i}", cache_control=MARK) for i in range(5)]
    result = {"type": "tool_result", "tool_use_id": "c0", "content": parts}
    report = check([anthropic([user("Look."), assistant([call("look", 0)]), user([result])])])
    assert [f.code for f in report.findings if str(f.severity) == "error"] == ["too-many-markers"]


def test_an_azure_deployment_is_not_priced_by_its_name() -> None:
    pytest.importorskip("genai_prices", reason="prices of models we have none for: pip install genai-prices")
    path = "/openai/deployments/o1/chat/completions"
    body = {**openai([user("hi")]), "model": "o1"}
    priced = check_requests([Exchange("openai", "chat", body, model="o1", path="/v1/chat/completions")])
    assert priced.requests[0].cost_usd is not None, "the model itself has a price there"
    report = check_requests([Exchange("openai", "chat", body, model="o1", path=path)])
    assert report.requests[0].cost_usd is None


def test_bodies_without_model_are_checked_and_said_to_be_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pytest_cachesafe.cli import main

    file = tmp_path / "requests.jsonl"
    file.write_text("".join(json.dumps({k: v for k, v in b.items() if k != "model"}) + "\n" for b in TWO), "utf-8")
    assert main(["check", str(file), "--provider", "anthropic"]) == 0
    assert "requests 0, 1: no model is named" in capsys.readouterr().out
