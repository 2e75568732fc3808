"""What a finding says is lost agrees with what is predicted to be read."""

from __future__ import annotations

from typing import Any

from pytest_cachesafe import check_requests

RULES = "Follow the house rules. " * 900


def claude(turn: int, small: str, **settings: Any) -> dict[str, Any]:
    system = [
        {"type": "text", "text": RULES},
        {"type": "text", "text": small, "cache_control": {"type": "ephemeral"}},
    ]
    messages = [{"role": "user", "content": "question"}, {"role": "assistant", "content": "ok"}] * turn
    return {
        "model": "claude-opus-5",
        "system": system,
        "messages": [*messages, {"role": "user", "content": "q"}],
    } | settings


def count(text: str) -> int:
    return len(text) // 4


def test_a_change_in_the_marked_block_loses_the_whole_entry() -> None:
    """One entry a request: 24 x 900 / 4 = 5,400 tokens of rules and 4 of the block ("request number 0" / 4)."""
    report = check_requests([claude(n, f"request number {n}") for n in range(3)], count_tokens=count)
    lost = [f.data["lost_tokens"] for f in report.findings]
    assert lost == [5404, 5404]
    assert [r.usage.read for r in report.requests if r.usage is not None] == [0, 0, 0]


def test_what_an_automatic_cache_still_reads_is_not_lost() -> None:
    def request(turn: int) -> dict[str, Any]:
        system = {"role": "system", "content": f"{RULES} request number {turn}"}
        return {
            "model": "gpt-5",
            "messages": [system, *({"role": "user", "content": f"q{n}"} for n in range(turn + 1))],
        }

    report = check_requests([request(n) for n in range(3)], provider="openai", count_tokens=count)
    for finding in report.findings:
        index = finding.location.request or 0
        before, now = report.requests[index - 1].usage, report.requests[index].usage
        assert before is not None
        assert now is not None
        assert now.read > 5000
        assert finding.data["lost_tokens"] <= before.total - now.read


def test_a_missing_marker_costs_what_one_would_have_saved() -> None:
    """24 x 900 / 4 = 5,400 tokens, sent five times; opus-5 at 5 USD in, 6.25 written, 0.50 read.

    One write and four reads in place of five inputs: 5,400 x (4 x (5 - 0.50) - (6.25 - 5)) / 10^6 = 0.09045 USD.
    """
    asked = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}] * 5
    bodies = [{"model": "claude-opus-5", "system": RULES, "messages": asked[: 2 * n + 1]} for n in range(5)]
    report = check_requests(bodies, count_tokens=count)
    [finding] = report.findings
    assert finding.code == "no-marker"
    assert (finding.data["lost_tokens"], finding.data["lost_requests"]) == (21_600, 4)
    assert (finding.data["lost_usd"], finding.data["lost_usd_per_1000"]) == (0.09045, 90.45)
    assert "21,600 tokens in 4 requests; 90.45 USD per 1,000 conversations" in report.text()
    marked = [{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}]
    better = check_requests([{**body, "system": marked} for body in bodies], count_tokens=count)
    assert report.cost_usd is not None
    assert better.cost_usd is not None
    assert round(report.cost_usd - better.cost_usd, 9) == 0.09045


def test_a_missing_marker_over_several_conversations_is_counted_per_conversation() -> None:
    """Three single questions save 5,400 x (2 x 4.50 - 1.25) / 10^6 = 0.04185 USD; that is for 3 conversations."""
    bodies = [
        {"model": "claude-opus-5", "system": RULES, "messages": [{"role": "user", "content": q}]}
        for q in ("cats?", "taxes?", "Oslo?")
    ]
    [finding] = check_requests(bodies, count_tokens=count).findings
    assert (finding.data["lost_usd"], finding.data["lost_usd_per_1000"]) == (0.04185, 13.95)
    [alone] = check_requests(bodies[:1], count_tokens=count).findings
    assert "lost_tokens" not in alone.data, "sent once, nothing could have been read"


def test_the_way_back_to_a_setting_that_is_still_cached_is_a_note() -> None:
    low = {"output_config": {"effort": "low"}}
    bodies = [claude(0, "x"), claude(1, "x"), claude(2, "x", **low), claude(3, "x")]
    report = check_requests(bodies, count_tokens=count)
    assert [(str(f.severity), f.location.request) for f in report.findings] == [("warning", 2), ("note", 3)] or [
        (str(f.severity), f.location.request) for f in report.findings
    ] == [("error", 2), ("note", 3)]
    assert report.findings[-1].data["lost_tokens"] == 0
    assert report.requests[3].miss_reason is None
