"""Where a provider takes content out by itself, what is read is not known: no number that is too high."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.providers.assertions import assert_cached, assert_read
from pytest_cachesafe.providers.cache.cleared import may_clear
from pytest_cachesafe.providers.cache.counters import told
from pytest_cachesafe.providers.cache.usage import Tokens
from pytest_cachesafe.providers.capture.assemble import assembled
from pytest_cachesafe.providers.checks.check import check_requests
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.usage import UsageError
from tests.support.wire_requests import anthropic, assistant, call, marked_last, responses, result, text, user

TOOL_USES = {"edits": [{"type": "clear_tool_uses_20250919"}]}
CLEARED = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 4, "cleared_input_tokens": 5000}


def count(words: str) -> int:
    return len(words) // 4


def turns(n: int) -> list[dict[str, Any]]:
    """A conversation of n tool calls with 1,000 tokens each, the newest answered by a result."""
    out = [user("Look things up.")]
    for i in range(n):
        out += [assistant([call("search", i, q=str(i))]), user([result(i, "word" * 1000)])]
    return out


def exchange(messages: list[dict[str, Any]], reply: dict[str, Any] | None = None, **more: Any) -> Exchange:
    body = anthropic(marked_last(messages), **more)
    made = Exchange("anthropic", "messages", body, model=body["model"])
    if reply is not None:
        made.status, made.reply = 200, {"role": "assistant", "content": [text("ok")], **reply}
    return made


def applied(*edits: dict[str, Any]) -> dict[str, Any]:
    return {"context_management": {"applied_edits": list(edits)}}


def test_after_an_applied_edit_nothing_is_predicted_for_its_conversation() -> None:
    more = {"context_management": TOOL_USES}
    requests = [
        exchange(turns(1), applied(), **more),
        exchange(turns(2), applied(), **more),
        exchange(turns(3), applied(CLEARED), **more),
        exchange(turns(4), applied(), **more),
        # Another conversation of the same agent is known as before.
        exchange([user("Something else.")], applied(), **more),
    ]
    report = check_requests(requests, count_tokens=count)

    assert [v.unpredicted for v in report.requests] == [
        None,
        None,
        "the provider took something out of it (clear_tool_uses_20250919)",
        "the provider took something out of request 2",
        None,
    ]
    assert report.requests[1].usage is not None
    assert report.requests[1].usage.read > 1000
    assert "(2 requests without a prediction not counted)" in report.text()
    with pytest.raises(
        UsageError, match="what request 3 reads is not known: the provider took something out of request 2"
    ):
        assert_read(requests, request=3, at_least=1, count_tokens=count)
    with pytest.raises(UsageError, match=r"nothing was compared: .* \(the provider took something out of "):
        assert_cached(requests[2:4], count_tokens=count)


@pytest.mark.parametrize(("drop", "known"), [(False, False), (True, True)])
def test_what_stands_before_a_compaction_is_left_out(drop: bool, known: bool) -> None:
    """The reply that has it, and requests that still send what stands before it, say nothing; a shorter one does."""
    block = {"type": "compaction", "content": "They looked things up."}
    before = turns(3)
    compacted = {"content": [block, text("ok")], "usage": {"input_tokens": 60, "output_tokens": 5}}
    later = [*([] if drop else before), assistant([block, text("ok")]), user("And now?")]
    report = check_requests([exchange(before, compacted), exchange(later, {}), exchange([*later, *turns(1)[1:]], {})])

    assert report.requests[0].unpredicted == "the provider summarised it (compaction)"
    assert [v.usage is not None for v in report.requests[1:]] == [known, known]
    if not known:
        place = "the provider leaves out what stands before the compaction at messages[7].content[0]"
        assert report.requests[1].unpredicted == place


def test_a_compaction_that_failed_leaves_nothing_out() -> None:
    later = [*turns(1), assistant([{"type": "compaction", "content": None}, text("ok")]), user("And now?")]
    assert check_requests([exchange(later, {})]).requests[0].usage is not None


def test_a_compaction_item_of_openai() -> None:
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "…"}
    body = responses([user("q"), item, user("q2")])
    sent = Exchange("openai", "responses", body, model=body["model"])
    assert (check_requests([sent]).requests[0].unpredicted or "").endswith("before the compaction at input[1]")


# 3 uses are kept, 100,000 tokens are the limit where no trigger is given; 150,000 of a compaction.
@pytest.mark.parametrize(
    ("edit", "uses", "tokens", "answer"),
    [
        ({}, 9, Tokens(90_000, 95_000, 99_999), False),
        ({}, 9, Tokens(90_000, 105_000, 120_000), None),
        ({}, 9, Tokens.exactly(100_000), True),
        ({}, 3, Tokens.exactly(100_000), False),
        ({"clear_at_least": {"type": "input_tokens", "value": 5_000}}, 9, Tokens.exactly(100_000), None),
        ({"trigger": {"type": "input_tokens", "value": 5_000}}, 9, Tokens.exactly(5_000), True),
        ({"trigger": {"type": "tool_uses", "value": 5}}, 9, Tokens.exactly(1_000), True),
        ({"trigger": {"type": "tool_uses", "value": 9}}, 9, Tokens.exactly(1_000), False),
        ({"trigger": {"type": "tool_uses", "value": 5}, "keep": {"value": 9}}, 9, Tokens.exactly(1_000), False),
        ({"type": "compact_20260112"}, 0, Tokens.exactly(149_999), False),
        ({"type": "compact_20260112"}, 0, Tokens.exactly(150_000), True),
        ({"type": "clear_thinking_20251015", "keep": "all"}, 0, Tokens.exactly(1), False),
        ({"type": "clear_thinking_20251015"}, 0, Tokens.exactly(1), False),
    ],
)  # fmt: skip
def test_three_answers_where_no_reply_tells(
    edit: dict[str, Any], uses: int, tokens: Tokens, answer: bool | None
) -> None:
    from pytest_cachesafe.providers.blocks.layout import lay_out

    sent = exchange(turns(uses), context_management={"edits": [{"type": "clear_tool_uses_20250919", **edit}]})
    assert may_clear(sent, lay_out(sent).blocks, tokens) is answer


def test_an_edit_that_may_be_made_leaves_an_estimate() -> None:
    few = {"edits": [{"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 1},
                      "keep": {"type": "tool_uses", "value": 0}, "exclude_tools": ["other"],
                      "clear_at_least": {"type": "input_tokens", "value": 10}}]}  # fmt: skip
    report = check_requests([exchange(turns(2), context_management=few)], count_tokens=count)
    usage = report.requests[0].usage
    assert usage is not None
    assert not usage.exact
    assert any("may be made" in words for words in report.requests[0].unsure)
    assert not check_requests([exchange(turns(2))], count_tokens=count).requests[0].unsure


def test_the_providers_count_of_what_was_left_is_no_measure_of_what_was_sent() -> None:
    """2 x 1,000 tokens were sent, 40 are counted: by that measure the marked system text is below the minimum."""
    sent = exchange(turns(2), applied(CLEARED), context_management=TOOL_USES)
    sent.usage = {"input_tokens": 40, "output_tokens": 1}
    assert told(sent) is None
    assert [f.code for f in check_requests([sent]).findings] == []
    sent.reply = {**(sent.reply or {}), **applied()}
    assert told(sent) == 40


def test_a_stream_tells_of_edits_in_its_last_event() -> None:
    events = [
        {"type": "message_start", "message": {"type": "message", "content": [], "usage": {"input_tokens": 1}}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 1},
            **applied(CLEARED),
        },
        {"type": "message_stop"},
    ]
    data = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()
    reply = assembled(data, "text/event-stream", "messages")
    assert reply is not None
    assert reply["context_management"] == {"applied_edits": [CLEARED]}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 200_000) | st.sampled_from(["all", "x", "clear_tool_uses_20250919"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["edits", "type", "trigger", "value", "keep", "applied_edits"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@given(_VALUES, _VALUES)
@settings(deadline=None)
def test_any_value_is_answered(asked: Any, answered: Any) -> None:
    """Whatever stands there, a request is judged, and without an edit asked for or made nothing changes."""
    sent = exchange(turns(1), {"context_management": answered}, context_management=asked)
    verdict = check_requests([sent], count_tokens=count).requests[0]
    assert (verdict.usage is None) == (verdict.unpredicted is not None)
