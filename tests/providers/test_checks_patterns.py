"""What agent frameworks were seen to send (LangChain, pydantic-ai, OpenAI Agents SDK, LiteLLM), as wire bodies."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pytest_cachesafe.providers.exchange import Exchange
from tests.support.wire_requests import (
    LONG,
    MARK,
    anthropic,
    assistant,
    call,
    check,
    function,
    marked_last,
    only,
    openai,
    responses,
    result,
    text,
    told,
    tool,
    user,
)

TOOLS = [tool("search"), tool("read"), tool("write")]
NOW = "The time is 2026-01-05 10:4{}:07. "


def turn(n: int) -> list[dict[str, Any]]:
    """A user's turn with one tool call and its result; the request in between ends in the result."""
    return [
        user(f"Question {n} about topic {n}?"),
        assistant([text(f"Let me see, {n}."), call("search", n, q=f"topic {n}")]),
        user([result(n, f"Row {n}: " + f"value {n} " * 30)]),
        assistant(f"Answer {n}."),
    ]


def history(turns: int) -> list[dict[str, Any]]:
    return [message for n in range(turns) for message in turn(n)]


def requests_of(turns: int) -> list[list[dict[str, Any]]]:
    """Message lists of all requests of an agent of so many turns, two a turn."""
    out = []
    for n in range(turns):
        before = history(n)
        out += [[*before, turn(n)[0]], [*before, *turn(n)[:3]]]
    return out


def agent(turns: int = 5, **more: Any) -> list[dict[str, Any]]:
    return [anthropic(marked_last(m), tools=TOOLS, **more) for m in requests_of(turns)]


def test_a_clean_five_turn_agent_has_no_finding_and_reads_more_each_time() -> None:
    report = check(agent())

    assert report.findings == []
    reads = [v.usage.read for v in report.requests if v.usage is not None]
    assert reads[0] == 0
    assert reads == sorted(set(reads))


def test_a_clock_in_the_instructions_breaks_every_request() -> None:
    bodies = [
        {**body, "system": [text(NOW.format(i) + LONG, cache_control=MARK)]} for i, body in enumerate(agent()[:6])
    ]
    report = check(bodies)

    assert [f.location.request for f in report.findings] == [1, 2, 3, 4, 5]
    assert {(f.cause, f.origin, f.location.path) for f in report.findings} == {
        ("timestamp", "application", "system[0]")
    }
    assert {v.miss_reason for v in report.requests[1:]} == {"system_changed"}


def test_a_clock_evaluated_once_a_run_breaks_each_user_turn() -> None:
    bodies = [
        {**body, "system": [text(NOW.format(i // 2) + LONG, cache_control=MARK)]} for i, body in enumerate(agent(4))
    ]

    # Requests 2, 4 and 6 begin a turn; the requests that end in results keep their text.
    assert [f.location.request for f in check(bodies).findings] == [2, 4, 6]


def test_a_clock_kept_in_the_history_is_clean() -> None:
    stamp = NOW.format(1)
    bodies = [{**body, "system": [text(stamp + LONG, cache_control=MARK)]} for body in agent()]

    assert check(bodies).findings == []


def test_a_date_is_a_note() -> None:
    days = ["Today is 2026-01-05. ", "Today is 2026-01-06. "]
    bodies = [
        {**body, "system": [text(day + LONG, cache_control=MARK)]} for body, day in zip(agent(1), days, strict=True)
    ]
    finding = only(check(bodies))

    assert (str(finding.severity), finding.cause) == ("note", "date")
    assert check(bodies).passed


def test_shuffled_tools_are_found_at_the_steps_that_shuffle() -> None:
    bodies = agent(3)
    for i in (1, 2, 4):
        bodies[i]["tools"] = TOOLS[::-1]
    report = check(bodies)

    # Changed at 1, kept at 2, back at 3, changed at 4, back at 5.
    assert told(report) == [("tools-reordered", "error", n, "tools[0]") for n in (1, 3, 4, 5)]


def test_tool_results_cleared_step_by_step_are_pruned_history() -> None:
    bodies = agent(4)
    for i, body in enumerate(bodies):
        cleared = max(i - 3, 0)
        for n in range(cleared):
            place = 4 * n + 2
            if place < len(body["messages"]) - 1:
                body["messages"][place] = user([result(n, "[cleared]")])
    report = check(bodies)

    assert {f.code for f in report.findings} == {"history-pruned"}
    assert [(f.location.request, f.location.path) for f in report.findings][:2] == [
        (4, "messages[2].content[0]"),
        (5, "messages[6].content[0]"),
    ]


def test_a_cleared_result_is_pruned_even_if_the_placeholder_is_longer() -> None:
    start = [user("Look it up."), assistant([call("search", 1, q="x")])]
    bodies = [
        anthropic(marked_last([*start, user([result(1, "42")])])),
        anthropic(
            marked_last([*start, user([result(1, "[this result was cleared]")]), assistant("42."), user("Why?")])
        ),
    ]

    assert only(check(bodies)).code == "history-pruned"


def test_summaries_in_the_same_words_are_still_summaries() -> None:
    said = [[user(f"Question {n}?"), assistant(f"Answer {n}.")] for n in range(8)]
    summary = user("What was said before is summarised here.")

    def sent(first: int, last: int) -> list[dict[str, Any]]:
        kept = [m for pair in said[first:last] for m in pair]
        return [*([summary] if first else []), *kept, user(f"Question {last}?")]

    steps = [(0, 2), (0, 3), (2, 4), (2, 5), (4, 6), (4, 7)]
    bodies = [anthropic(marked_last(sent(*step))) for step in steps]

    assert told(check(bodies)) == [
        ("history-summarised", "error", 2, "messages[0].content"),
        ("history-summarised", "error", 4, "messages[1].content"),
    ]


@pytest.mark.parametrize("kept", [True, False])
def test_a_summary_before_an_answer_that_was_given_twice_is_a_summary(kept: bool) -> None:
    answer = assistant("word " * 100)
    said = [m for n in range(3) for m in (user(f"a question about {n}"), answer)]
    summary = user("Here is a summary of the conversation to date:\n\n" + "word " * 100)
    bodies = [openai(said[: 2 * n + 1]) for n in range(3)]
    bodies.append(openai([summary, *([answer] if kept else []), user("a question about 3")]))
    report = check(bodies, "openai")
    edited = check(
        [*bodies[:3], openai([user("a question about taxes"), answer, user("a question about 3")])], "openai"
    )

    assert [f.code for f in edited.findings if f.location.request == 3] == ["history-edited"]
    if kept:
        assert [(f.code, f.location.request, f.data["against"]) for f in report.findings] == [
            ("history-summarised", 3, 2)
        ]
    else:
        # Nothing of the conversation is left but its system text: another one.
        assert (report.findings, report.requests[3].against) == ([], None)


def test_the_next_summary_in_the_same_words_is_one_too() -> None:
    answer, summary = assistant("word " * 100), user("Here is a summary of what was said: " + "word " * 100)
    ask = [user(f"a question about {c}") for c in "abcdef"]
    bodies = [
        [ask[0]], [ask[0], answer, ask[1]], [ask[0], answer, ask[1], answer, ask[2]],
        [summary, answer, ask[3]], [summary, answer, ask[3], answer, ask[4]], [summary, answer, ask[5]],
    ]  # fmt: skip
    report = check([openai(body) for body in bodies], "openai")
    found = [(f.code, str(f.severity), f.location.request, f.data["against"]) for f in report.findings]

    assert found == [("history-summarised", "error", 3, 2), ("history-summarised", "error", 5, 4)]


def test_an_edit_before_equal_answers_is_an_edit() -> None:
    ok = assistant("ok")
    before = [user("Plan a trip to Oslo."), ok, user("And then?"), ok, user("And the day after?")]
    now = [user("Plan a trip to Bergen."), *before[1:], ok, user("Thanks.")]

    assert only(check([openai(before), openai(now)], "openai")).code == "history-edited"


@pytest.mark.parametrize("answer", ["ok", "answer {}"])
def test_a_window_over_equal_answers_is_a_cut_history(answer: str) -> None:
    talk = [m for n in range(7) for m in (user(f"question {n}"), assistant(answer.format(n)))]
    # Three questions at most: from the fourth request on, one goes each time.
    report = check([openai(talk[max(2 * n - 4, 0) : 2 * n + 1]) for n in range(7)], "openai")

    found = [(f.code, f.location.request, f.data["against"]) for f in report.findings]
    assert found == [("history-cut", n, n - 1) for n in range(3, 7)]


def test_a_block_that_was_taken_out_is_shown() -> None:
    reminder = text("<reminder> stay polite")
    before = [user([text("Where is it?"), reminder])]
    now = [user([text("Where is it?")]), assistant("On its way."), user([text("When?"), reminder])]
    found = only(check([anthropic(marked_last(before)), anthropic(marked_last(now))]))

    assert found.location.path == "messages[0].content[1]"
    assert found.data["before"].endswith("<reminder> stay polite")


def test_an_answer_begun_by_the_caller_goes_on() -> None:
    begun = [user("Name a city."), assistant("The city is")]
    whole = [user("Name a city."), assistant("The city is Oslo."), user("Why?")]
    bodies = [anthropic([*marked_last(begun[:1]), *begun[1:]]), anthropic([*marked_last(whole[:1]), *whole[1:]])]

    assert check(bodies).findings == []


def test_a_compaction_of_the_providers_is_a_summary() -> None:
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "…"}
    before = [user("Question 0?"), assistant("Answer 0."), user("Question 1?")]
    report = check([responses(before), responses([item, assistant("Answer 1."), user("Question 2?")])], "openai")

    assert [(f.code, f.data["reason"]) for f in report.findings] == [("history-summarised", "context_compacted")]


def test_the_newest_messages_alone_are_a_cut_history() -> None:
    bodies = [anthropic(marked_last(m[-4:]), tools=TOOLS) for m in requests_of(4)]
    report = check(bodies)

    assert {f.code for f in report.findings} == {"history-cut"}
    assert len(report.findings) == len([m for m in requests_of(4) if len(m) > 4])


def test_a_summary_is_one_finding_and_the_call_that_made_it_is_another_conversation() -> None:
    full = requests_of(3)
    summary_call = anthropic([user("Summarise: " + " ".join(str(m["content"]) for m in full[-1]))], system=None)
    shortened = [user("Summary: three questions were answered."), *full[-1][-3:], assistant("Answer 2."), user("Next?")]
    bodies = [anthropic(marked_last(m), tools=TOOLS) for m in full]
    bodies += [summary_call, anthropic(marked_last(shortened), tools=TOOLS)]
    report = check(bodies)
    finding = only(report)

    assert (finding.code, str(finding.severity)) == ("history-summarised", "warning")
    assert (finding.location.request, finding.data["against"]) == (7, 5)
    assert report.requests[6].conversation != report.requests[7].conversation


def test_caching_middleware_and_own_markers_make_a_fifth() -> None:
    # The middleware: automatic, last system block, last tool. The user: two more.
    body = anthropic(
        [user([text("a", cache_control=MARK), text("b", cache_control=MARK), text("c")])],
        tools=[*TOOLS[:2], {**TOOLS[2], "cache_control": MARK}],
        cache_control=MARK,
    )

    assert told(check([body])) == [("too-many-markers", "error", 0, "cache_control")]


def test_three_markers_of_which_one_moves_are_fine() -> None:
    tools = [*TOOLS[:2], {**TOOLS[2], "cache_control": {**MARK, "ttl": "5m"}}]
    bodies = [anthropic(marked_last(m, "5m"), tools=tools) for m in requests_of(4)]

    assert check(bodies).findings == []


def test_streamed_and_whole_answers_are_the_same() -> None:
    bodies = agent(3)
    for body in bodies[3:]:
        body["messages"] = [
            {**m, "content": [text(m["content"])]} if m["role"] == "assistant" and isinstance(m["content"], str) else m
            for m in body["messages"]
        ]

    assert check(bodies).findings == []


def test_fields_that_a_framework_adds_each_time_are_fine() -> None:
    def replayed(message: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(message["content"], list):
            return message
        extra = {"tool_use": {"caller": {"type": "direct"}}, "tool_result": {"is_error": False}}
        return {**message, "content": [{**b, **extra.get(b["type"], {})} for b in message["content"]]}

    bodies = [anthropic(marked_last([replayed(m) for m in messages]), tools=TOOLS) for messages in requests_of(3)]

    assert check(bodies).findings == []


def test_parallel_results_in_one_message_are_fine() -> None:
    first = [user("Compare A and B.")]
    calls = [*first, assistant([call("search", 1, q="A"), call("search", 2, q="B")])]
    both = [*calls, user([result(1, "A is 1"), result(2, "B is 2")])]
    bodies = [anthropic(marked_last(m), tools=TOOLS) for m in (first, both, [*both, assistant("B."), user("Why?")])]

    assert check(bodies).findings == []


def test_results_in_another_order_are_found() -> None:
    start = [user("Compare A and B."), assistant([call("search", 1, q="A"), call("search", 2, q="B")])]
    one, other = result(1, "A is 1"), result(2, "B is 2")
    bodies = [
        anthropic(marked_last([*start, user([one, other])]), tools=TOOLS),
        anthropic(marked_last([*start, user([other, one]), assistant("B."), user("Why?")]), tools=TOOLS),
    ]
    finding = only(check(bodies))

    assert finding.location.path == "messages[2].content[0]"
    assert finding.data["reason"] == "messages_changed"


def test_a_model_switch_that_brings_its_own_system_text_is_one_finding() -> None:
    bodies = agent(3)
    for body in bodies[3:]:
        body["model"] = "claude-opus-5"
        body["system"] = body["system"][-1:]
    for body in bodies[:3]:
        body["system"] = [text("You have these abilities: …"), *body["system"]]

    assert told(check(bodies)) == [("model-changed", "warning", 3, "model")]


def test_two_models_that_answer_in_turns_each_find_their_own() -> None:
    one, other = agent(3), agent(3, model="claude-opus-5")
    bodies = [body for pair in zip(one, other, strict=True) for body in pair]

    assert check(bodies).findings == [], "two runs, each with its own model"
    assert check(bodies).conversations == 2
    # One run with each model after the other.
    assert check([*one, *other]).findings == []
    # Where the first model is left after its first request, it is a switch.
    assert only(check([one[0], *other])).code == "model-changed"


def test_a_new_cache_key_per_run_is_found_at_every_run() -> None:
    asked = [user(f"Question {n}?") for n in range(5)]
    bodies = []
    for n in range(5):
        messages = [m for i in range(n) for m in (asked[i], assistant(f"Answer {i}."))]
        bodies.append(responses([*messages, asked[n]], prompt_cache_key=f"agents-sdk:run:{n:032x}"))
    report = check(bodies, "openai")

    assert told(report) == [("prompt-cache-key-changed", "error", n, "prompt_cache_key") for n in (1, 2, 3, 4)]
    older = check([{**body, "model": "gpt-5"} for body in bodies], "openai")
    assert {str(f.severity) for f in older.findings} == {"warning"}, "before GPT-5.6 the key only routes"


def test_one_key_per_conversation_is_fine() -> None:
    bodies = []
    for who in ("a", "b"):
        messages = [user(f"I am {who}, hello.")]
        for n in range(3):
            bodies.append(openai(messages, prompt_cache_key=f"user-{who}"))
            messages = [*messages, assistant(f"Hi {who} {n}."), user(f"More {n}?")]

    assert check(bodies, "openai").findings == []


def _handoff() -> list[dict[str, Any]]:
    ask, answer = user("I want a refund."), assistant("Transferred.")
    triage = {"instructions": "You triage requests of customers of the shop.", "tools": [function("transfer")]}
    refunds = {"instructions": "Pay money back, kindly, by card only.", "tools": [function("refund")]}
    later = [ask, answer, user("By card."), assistant("Done.")]
    return [
        responses([ask], **triage),
        responses([ask, answer, user("By card.")], **refunds),
        responses([*later, user("Thanks, one more thing.")], **triage),
    ]


def test_a_handoff_is_told_once_and_the_way_back_is_not() -> None:
    report = check(_handoff(), "openai")

    assert told(report) == [("handoff", "warning", 1, "tools[0]")]
    assert report.requests[2].against == 0


def test_agents_of_one_house_hand_over_by_a_call() -> None:
    """Their instructions differ in a sentence; the tool that was called to hand over is the first agent's only."""
    handed = [
        {"type": "function_call", "call_id": "c1", "name": "transfer_to_refunds", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "refunds"},
    ]
    triage: dict[str, Any] = {"tools": [{"type": "function", "name": "transfer_to_refunds", "parameters": {}}]}
    refunds = {"instructions": "You do refunds. " + LONG}
    items = [user("a"), *handed, assistant("done"), user("b")]
    bodies = [responses(items[:1], **triage), responses(items[:3], **refunds), responses(items, **triage)]
    report = check(bodies, "openai")

    assert told(report) == [("handoff", "warning", 1, "tools")]
    assert report.requests[2].against == 0
    # With the same instructions it is one agent whose tools come and go.
    bare = check([bodies[0], responses(items[:3])], "openai")
    assert [f.code for f in bare.findings] == ["tools-changed"]
    # A clock beside it is no other agent.
    ticking = [responses(items[:1], instructions=f"{LONG} It is 10:01.", **triage)]
    ticking.append(responses(items[:3], instructions=f"{LONG} It is 10:02."))
    assert [f.code for f in check(ticking, "openai").findings] == ["tools-changed"]


def test_agents_that_are_asked_the_same_are_not_compared() -> None:
    ask = [user("Plan a trip to Bergen.")]
    boilerplate = "You are a member of a team. Follow the house rules. " + LONG
    planner = {"system": [text(f"{boilerplate} You plan.", cache_control=MARK)], "tools": TOOLS[:1]}
    critic = {"system": [text(f"{boilerplate} You criticise.", cache_control=MARK)], "tools": TOOLS[1:]}
    more = [*ask, assistant("Day one."), user("And day two?")]
    bodies = [anthropic(marked_last(m), **who) for m in (ask, more) for who in (planner, critic)]

    report = check(bodies)
    assert report.findings == []
    assert [v.against for v in report.requests] == [None, None, 0, 1]
    # The same without tools: that the first one goes on as it was tells two agents from one that changes.
    bare = [{key: value for key, value in body.items() if key != "tools"} for body in bodies]
    assert check(bare).findings == []
    assert only(check(bare[:2])).code == "marker-on-changing-block"


def test_a_switch_of_endpoint_inside_a_conversation() -> None:
    ask = [user("Which city?")]
    with_tools = responses(ask, tools=[{"type": "function", "name": "f", "parameters": {"type": "object"}}])
    without = openai([*ask, assistant("Oslo."), user("Why?")])

    assert told(check([with_tools, without], "openai")) == [("endpoint-changed", "warning", 1, "")]


def test_a_switch_of_provider_inside_a_conversation() -> None:
    ask = [user("Which city?")]
    body = anthropic([*ask, assistant("Oslo."), user("Why?")])
    exchanges = [
        Exchange("openai", "chat", openai(ask), model="gpt-5.4"),
        Exchange("anthropic", "messages", body, model=body["model"]),
    ]
    found = only(check(exchanges))
    assert (found.code, str(found.severity), found.location.request) == ("provider-changed", "warning", 1)
    assert "another provider (openai before, anthropic now)" in found.message
    assert found.data["reason"] is None, "no provider publishes a name for it"


def test_messages_in_another_order_with_new_ones_behind_are_not_cut_off() -> None:
    one, other, end = (
        [user("First, this."), assistant("Yes.")],
        [user("Then, that."), assistant("No.")],
        [user("Well?")],
    )
    bodies = [
        anthropic(marked_last([*one, *other, *end]), system=LONG),
        anthropic(marked_last([*other, *one, *end, assistant("So."), user("Thanks.")]), system=LONG),
    ]
    assert only(check(bodies)).code == "history-reordered"


def test_a_result_that_is_written_anew_is_not_pruned() -> None:
    # The marker moves on, and a time in the result changes; as many words as before.
    def results(clock: str) -> list[dict[str, Any]]:
        return [user("Which?"), assistant([call("search", 0)]), user([result(0, f"at {clock}: " + "row " * 60)])]

    bodies = [
        anthropic(marked_last(results("9:59:58"))),
        anthropic(marked_last([*results("10:00:03"), assistant("This."), user("Why?")])),
        anthropic(marked_last([*results("9:59:07"), assistant("This."), user("Why?"), assistant("So."), user("Oh?")])),
    ]
    assert [f.code for f in check(bodies).findings] == ["history-edited"] * 2
    short = [*results("")[:2], user([result(0, "[cleared]")]), assistant("This."), user("Why?")]
    assert only(check([bodies[0], anthropic(marked_last(short))])).code == "history-pruned"


def test_two_providers_asked_the_same_question_are_compared_not_switched() -> None:
    ask = [user("Which city?")]
    exchanges = [
        Exchange("openai", "chat", openai(ask), model="gpt-5.4"),
        Exchange("anthropic", "messages", anthropic(ask), model="claude-opus-5-5"),
    ]
    report = check(exchanges)
    assert report.findings == []
    assert report.conversations == 2


@pytest.mark.parametrize("switched_on", [True, False])
def test_tools_in_some_requests_only_without_a_system_text(switched_on: bool) -> None:
    ask, more = [user("Which city?")], [assistant("Oslo."), user("Why?")]
    for make, definition in ((openai, function("f")), (anthropic, tool("f"))):
        bare, full = ({}, {"tools": [definition]})
        first, second = (bare, full) if switched_on else (full, bare)
        bodies = [make(ask, **first), make([*ask, *more], **second)]
        found = only(check(bodies, "openai" if make is openai else "anthropic"))
        assert (found.code, found.location.path) == ("tools-changed", "tools")
        assert found.data["reason"] == "tools_changed"


@pytest.mark.parametrize(("marked", "severity"), [(True, "warning"), (False, "note")])
def test_the_first_image_costs_only_what_is_marked(marked: bool, severity: str) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    first = [user("Look at " + LONG)]
    second = [*first, assistant("Where?"), user([picture, text("Here.")])]
    bodies = [anthropic(marked_last(m) if marked else m, system=LONG) for m in (first, second)]
    found = [f for f in check(bodies).findings if f.code == "images-toggled"]
    assert [str(f.severity) for f in found] == [severity]


def test_new_items_alone_are_put_behind_what_the_provider_holds() -> None:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Oslo."}]}
    first = Exchange(
        "openai", "responses", responses([user("Which city?")]), model="gpt-5.6-sol", status=200,
        reply={"id": "resp_1", "output": [said]},
    )  # fmt: skip
    second = responses([user("Why?")], previous_response_id="resp_1")
    report = check([first, Exchange("openai", "responses", second, model="gpt-5.6-sol")], "openai")

    assert report.findings == []
    assert report.requests[1].against == 0
    changed = {**second, "instructions": "Be rude. " + LONG}
    report = check([first, Exchange("openai", "responses", changed, model="gpt-5.6-sol")], "openai")
    assert told(report) == [("system-changed", "error", 1, "instructions")]


def test_items_replayed_with_ids_and_status_are_fine() -> None:
    call_made = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": "4"}
    bodies = [
        responses([user("q")]),
        responses([user("q"), {**call_made, "status": "completed"}, output]),
        responses([user("q"), call_made, {**output, "status": "completed"}, assistant("4."), user("ok")]),
    ]

    assert check(bodies, "openai").findings == []


def test_a_validation_retry_only_appends() -> None:
    retry = [user("Give JSON."), assistant("{"), user("That is not JSON: try again.")]

    assert check([openai(retry[:1]), openai(retry)], "openai").findings == []


@pytest.mark.parametrize(("kept", "expected"), [(True, []), (False, ["marker-lost-in-conversion"])])
def test_markers_through_a_gateway(kept: bool, expected: list[str]) -> None:
    source = {"system": [text(LONG, cache_control=MARK)], "messages": [user("q")]}
    point = [{"cachePoint": {"type": "default"}}] if kept else []
    wire = {"system": [{"text": LONG}, *point], "messages": [user([{"text": "q"}])]}
    report = check([{"source": source, "body": wire}], "bedrock")

    assert [f.code for f in report.findings] == expected


def test_arguments_rewritten_the_same_way_each_time_are_no_break() -> None:
    made = '{"city":"Zürich","a":[1.0,2e3]}'
    replayed = '{"city": "Zürich", "a": [1.0, 2000.0]}'

    def called(arguments: str) -> dict[str, Any]:
        entry = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": arguments}}
        return {"role": "assistant", "content": None, "tool_calls": [entry]}

    reply = {"id": "chatcmpl-1", "choices": [{"index": 0, "message": called(made)}]}
    after = [user("q"), called(replayed), {"role": "tool", "tool_call_id": "call_1", "content": "4"}]
    bodies = [openai([user("q")]), openai(after), openai([*after, assistant("4."), user("ok")])]
    exchanges = [Exchange("openai", "chat", body, model="gpt-4o") for body in bodies]
    exchanges[0].reply, exchanges[0].status = reply, 200
    report = check(exchanges, "openai")

    assert report.findings == []
    assert [n for n in report.notes if "not replayed in the bytes" in n] == [
        "request 1, messages[2].tool_calls[0].function.arguments: tool-call arguments are not replayed in the bytes "
        "the model made; no break here, but one where generated text is cached"
    ]


def _thinking_turns(model: str) -> list[dict[str, Any]]:
    thought = {"type": "thinking", "thinking": "Look first.", "signature": "s1"}
    first = [user("Find the bug."), assistant([thought, call("read", 1)]), user([result(1, "code " * 50)])]
    more = [*first, assistant("Line 3."), user("Fix it.")]
    settings = {"model": model, "thinking": {"type": "enabled", "budget_tokens": 2000}}
    return [anthropic(marked_last(m), **settings) for m in (first[:1], first, more)]


def test_thinking_that_the_interface_takes_out_is_a_note_with_its_model() -> None:
    finding = only(check(_thinking_turns("claude-sonnet-4-5")))

    assert (finding.code, str(finding.severity), finding.origin) == ("thinking-stripped", "note", "provider")
    assert (finding.location.request, finding.location.path) == (2, "messages[1].content[0]")
    assert finding.data["lost_tokens"] > 0
    assert check(_thinking_turns("claude-sonnet-4-6")).findings == [], "this model keeps it"


@pytest.mark.parametrize(("model", "severity"), [("claude-sonnet-4-5", "warning"), ("claude-sonnet-4-6", "error")])
def test_thinking_that_the_client_drops_weighs_less_where_it_would_be_dropped_anyway(model: str, severity: str) -> None:
    bodies = [copy.deepcopy(body) for body in _thinking_turns(model)[1:]]
    del bodies[1]["messages"][1]["content"][0]
    finding = only(check(bodies))

    assert (finding.code, str(finding.severity)) == ("thinking-dropped", severity)
    assert finding.location.path == "messages[1].content[0]"
