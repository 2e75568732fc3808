"""What a check says: the first line, the parts of a finding, redaction, JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe import UsageError
from pytest_cachesafe.findings import Severity
from pytest_cachesafe.messages import to_chat
from pytest_cachesafe.providers.checks.codes import CODES
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.recording import Recording
from tests.support.wire_requests import LONG, MARK, anthropic, assistant, check, marked_last, openai, text, tool, user

SECRET = "The customer is Ada Lovelace of Ockham Park"


def clock(system: str = LONG) -> list[dict[str, Any]]:
    tools = [tool("search", cache_control=MARK)]
    turns = [[user("q")], [user("q"), assistant("a"), user("r")], [user("q"), assistant("a"), user("r"), user("s")]]
    return [
        anthropic(marked_last(m), tools=tools, system=[text(f"It is 10:4{i}:07. {system}", cache_control=MARK)])
        for i, m in enumerate(turns)
    ]


def test_the_first_line_is_complete_in_itself() -> None:
    first = check(clock()).text().splitlines()[0]

    assert first.startswith("requests are not cache-safe: request 1 does not continue request 0: a time of day changed")
    assert "at system[0]" in first
    assert "and 1 more finding)" in first
    assert "[anthropic; token counts are estimates]" in first


def test_a_finding_has_place_cause_origin_both_sides_loss_and_fix() -> None:
    lines = check(clock()).text().splitlines()
    shown = {line.strip().split(":")[0]: line for line in lines if line.startswith("    ") and ":" in line}

    assert {"where", "cause", "before", "after", "lost", "fix", "also"} <= shown.keys()
    assert "timestamp (application), the provider's name for it: system_changed" in shown["cause"]
    assert shown["also"].endswith("request 2")
    assert "in 2 requests" in shown["lost"]
    assert "USD per 1,000 conversations" in shown["lost"]
    # The mark stands under the first character that differs.
    mark = lines[lines.index(shown["after"]) + 1]
    assert shown["before"][mark.index("^")] == "0"
    assert shown["after"][mark.index("^")] == "1"


def test_a_clean_check_says_what_was_checked_and_what_is_predicted() -> None:
    bodies = [anthropic(marked_last([user("q")])), anthropic(marked_last([user("q"), assistant("a"), user("r")]))]
    lines = (
        check(bodies, count_tokens=lambda words: 5000 if words == LONG else 10, name="support bot").text().splitlines()
    )

    assert lines[0] == "requests are cache-safe [support bot]: 2 requests [anthropic]"
    # 5,000 + 10 are written and then read; the next request adds two blocks.
    assert lines[1].startswith("  request 0: write=5010 read=0 uncached=0, ")
    assert lines[2].startswith("  request 1: write=20 read=5010 uncached=0, ")
    assert re.search(r"together 0\.02\d+ USD, without caching 0\.03\d+ USD", lines[3])


@pytest.mark.parametrize("mode", ["text", "hash"])
def test_redacted_reports_hold_no_prompt_text(mode: str) -> None:
    bodies = clock(f"{SECRET}. {LONG}")
    bodies[2]["tools"] = [tool("ada_lovelace_lookup"), tool("search", cache_control=MARK)]
    report = check(bodies)
    plain = report.text(2) + json.dumps(report.as_dict())
    hidden = report.text(2, mode) + json.dumps(report.as_dict(mode))

    assert "10:41:07" in plain
    assert "ada_lovelace_lookup" in plain
    for word in ("Ada", "Lovelace", "10:41:07", "10:40:07", "ada_lovelace", "Looks things up"):
        assert word not in hidden
    assert "system[0]" in hidden


def test_control_characters_are_visible() -> None:
    bodies = clock("\x1b[31mred\u202e ::error::x")
    shown = check(bodies).text(2)

    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert not any(line.lstrip().startswith("::") for line in shown.splitlines())


def test_json_has_the_documented_keys() -> None:
    data = json.loads(json.dumps(check(clock()).as_dict()))

    assert data["schema"] == 1
    for request in data["requests"]:
        assert request.keys() >= {"usage", "cost_usd", "miss_reason", "conversation"}
    assert data["requests"][0]["usage"].keys() >= {
        "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"
    }  # fmt: skip
    for finding in data["findings"]:
        assert list(finding)[:5] == ["code", "severity", "request", "path", "message"]
    assert data["estimated"] is True


def test_usage_is_named_as_its_provider_names_it() -> None:
    report = check([openai([user("q")]), openai([user("q"), assistant("a"), user("r")])], "openai")

    details = report.as_dict()["requests"][1]["usage"]["prompt_tokens_details"]
    assert details.keys() >= {"cached_tokens", "cache_write_tokens"}


def test_what_the_model_wrote_is_part_of_the_price() -> None:
    body = anthropic([user("q")])
    usage = {"input_tokens": 1, "output_tokens": 1_000_000}
    silent = Exchange("anthropic", "messages", body, model=body["model"])
    spoken = Exchange("anthropic", "messages", body, model=body["model"], status=200, usage=usage, predicted=True)
    costs = [check([e]).requests[0].cost_usd for e in (silent, spoken)]

    assert costs[0] is not None
    assert costs[1] is not None
    # sonnet-4-6: 15 USD a million output tokens.
    assert costs[1] - costs[0] == pytest.approx(15.0)


def test_conversations_are_priced_apart_and_writes_have_a_break_even() -> None:
    bodies = [*clock(), anthropic(marked_last([user("Another talk altogether.")]), model="claude-opus-5")]
    report = check(bodies)
    data = report.as_dict()

    assert [c["conversation"] for c in data["costs"]] == [0, 1]
    assert sum(c["cost_usd"] for c in data["costs"]) == pytest.approx(data["cost_usd"])
    # 1.25 + 0.1 against 2 for one reuse; 2 + 2 * 0.1 against 3 for two.
    assert data["break_even"]["claude-opus-5"] == [
        {"ttl": "5m", "reuses": 1, "cached": 1.35, "plain": 2.0},
        {"ttl": "1h", "reuses": 2, "cached": 2.2, "plain": 3.0},
    ]
    assert "5m from reuse 1 on (1.35 against 2 times the input price)" in report.text(1)
    assert "  conversation 1: about " in report.text(1)


def test_severity_decides_the_exit_status() -> None:
    note = check([anthropic(marked_last([user("Hello?")]), system="Be brief.")])

    assert [f.severity for f in note.findings] == [Severity.NOTE]
    assert (note.exit_status(), note.exit_status(strict=True), bool(note)) == (0, 1, True)
    assert (check(clock()).exit_status(), bool(check(clock()))) == (1, False)


def test_the_users_line_is_named() -> None:
    exchanges = [Exchange("anthropic", "messages", b, model=b["model"], line="agent.py:12") for b in clock()]

    assert "    sent:   agent.py:12" in check(exchanges).text().splitlines()


def test_recordings_chats_exchanges_and_bodies_give_the_same() -> None:
    bodies = clock()
    recording = Recording()
    for body in bodies:
        recording.request(body)
    exchanges = [Exchange("anthropic", "messages", b, model=b["model"]) for b in bodies]
    texts = {check(given).text() for given in (bodies, recording, [to_chat(b) for b in bodies], exchanges)}

    assert len(texts) == 1


def test_conversation_keys_of_a_recording_keep_requests_apart() -> None:
    recording = Recording()
    for body, key in zip(clock(), ("a", "b", "c"), strict=True):
        recording.request(body, key=key)

    assert check(recording).conversations == 3


def test_what_was_caught_and_is_no_chat_is_still_checked() -> None:
    recording = Recording()
    point = {"messages": [user([{"cachePoint": {"type": "default"}}])]}
    for body in (point, {"messages": [user([{"text": "q"}])]}):
        recording.catch(Exchange("bedrock", "converse", body, model="us.anthropic.claude-opus-4-6-v1:0"))
    report = check(recording, "bedrock")

    assert [(f.code, f.location.request) for f in report.findings] == [("cachepoint-only", 0)]
    assert len(report.requests) == 2


def test_one_request_is_judged_by_the_rules_for_one() -> None:
    report = check([anthropic([user("q")])])

    assert report.findings == []
    assert report.notes == ["one request: only the rules for one request were applied"]
    assert check(anthropic([user("q")])).notes == report.notes


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "no requests: nothing to check"),
        (Recording(), "the recording is empty"),
        ("text", "cannot read requests from str"),
        ([user("q"), assistant("a")], "got a list of messages where requests are meant"),
        ([{"model": "m"}], "request 0: "),
        ([anthropic([user("q")]), 7], "request 1: "),
        ([anthropic([user("q")]), {"contents": []}], "request 1: "),
        ([openai([user("q")], tools=[{"type": "function", "function": {"name": "f"}}])], "request 0: "),
        ([{"messages": [7]}], "request 0: "),
    ],
)
def test_what_cannot_be_checked_is_one_line_with_its_place(given: Any, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)) as caught:
        check(given)
    assert "\n" not in str(caught.value)


def test_an_unknown_provider_names_the_closest() -> None:
    with pytest.raises(UsageError, match="did you mean 'anthropic'"):
        check([anthropic([user("q")])], "antropic")


def test_unknown_blocks_are_kept_and_reported() -> None:
    odd = {"type": "hologram", "data": "x"}
    first = anthropic(marked_last([user([odd, text("q")])]))
    second = anthropic(marked_last([user([odd, text("q")]), assistant("a"), user("r")]))

    report = check([first, second])
    assert report.findings == []
    assert any("hologram" in note for note in report.notes)
    second["messages"][0]["content"][0] = {**odd, "data": "y"}
    assert [f.code for f in check([first, second]).findings] == ["history-edited"]


def test_requests_without_model_say_that_minimum_and_prices_are_unknown() -> None:
    report = check([{"messages": [user("q")]}])

    assert any("no model is named" in note for note in report.notes)
    assert check([{"messages": [user("q")]}], model="claude-opus-5").requests[0].cost_usd is not None


@pytest.mark.parametrize("code", CODES)
def test_every_code_says_what_and_what_to_do(code: str) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code)
    assert CODES[code].says
    assert CODES[code].fix


def test_failed_requests_write_nothing_and_are_no_finding() -> None:
    body = anthropic(marked_last([user("q")]))
    failed = Exchange("anthropic", "messages", body, model=body["model"], status=529)
    then = Exchange("anthropic", "messages", body, model=body["model"], status=200)
    report = check([failed, then, then])

    assert report.findings == []
    assert report.requests[0].usage is None
    reads = [v.usage.read for v in report.requests[1:] if v.usage is not None]
    assert reads[0] == 0
    assert reads[1] > 0


def test_every_code_stands_in_the_docs_as_it_is() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "providers.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1]: line for line in docs.splitlines() if line.startswith("| `")}

    assert list(rows) == list(CODES)
    for name, code in CODES.items():
        weight = f"{code.weight} (400)" if code.refused else code.weight
        cells = [f"`{name}`", weight, code.says, code.fix, code.anthropic or "", code.openai or ""]
        assert [cell.strip() for cell in rows[name].strip("|").split(" | ")] == [c.strip() for c in cells]
