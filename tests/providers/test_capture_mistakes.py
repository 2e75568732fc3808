"""What users get wrong in a capture: told in one line, where it was written, without the text of the prompt."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe import Failure, Reply, ToolCall, UsageError, capture_traffic
from pytest_cachesafe.providers.capture.raw import RawRequest
from pytest_cachesafe.providers.capture.script import Script
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.providers.observe.observer import Observer
from pytest_cachesafe.report.observe import observe_lines

URL = "https://api.anthropic.com/v1/messages"
# No values of ours, and none that any of the arguments below takes.
WRONG = st.one_of(st.binary(max_size=200), st.sets(st.integers()), st.floats(), st.complex_numbers(), st.builds(object))


def body(text: str = "hello", system: str = "be brief") -> dict[str, Any]:
    return {"model": "claude-sonnet-5", "max_tokens": 9, "system": system, "messages": [says(text)]}


def says(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def send(rec: Any, asked: dict[str, Any] | None = None, url: str = URL) -> Any:
    """As a transport hands it over."""
    raw = json.dumps(asked or body()).encode()
    return rec.session.answer(RawRequest("POST", url, [("content-type", "application/json")], raw, "httpx"))


def one_line(error: pytest.ExceptionInfo[BaseException]) -> str:
    told = str(error.value)
    assert "\n" not in told
    assert len(told) < 300
    return told


@settings(deadline=None)
@given(WRONG)
def test_a_reply_of_wrong_parts_is_refused_where_it_is_written(value: Any) -> None:
    made: list[Any] = [
        lambda: Reply(value), lambda: Reply(tools=value), lambda: Reply(tools=[value]), lambda: Reply(thinking=value),
        lambda: Reply(output_tokens=value), lambda: Reply(usage=value), lambda: ToolCall(value),
        lambda: ToolCall("f", value),
        lambda: ToolCall("f", id=value), lambda: ToolCall("f", arguments=value), lambda: Failure(value),
        lambda: Failure(500, value), lambda: Failure(500, type=value), lambda: Failure(500, headers=value),
        lambda: Failure(500, headers={"a": value}), lambda: Script(value), lambda: Script([value]),
    ]  # fmt: skip
    for make in made:
        with pytest.raises(UsageError) as error:
            make()
        one_line(error)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Reply(tools=ToolCall("search")), r"\[ToolCall\(…\)\]"),  # type: ignore[arg-type]
        (lambda: Reply(tools=[{"name": "search"}]), "entry 0 is dict, no ToolCall"),  # type: ignore[list-item]
        (lambda: ToolCall(""), "the name of a tool"),
        (lambda: ToolCall("search", {"q": {1, 2}}), "no JSON"),
        (lambda: Reply(output_tokens=-1), "0 or more"),
        (lambda: Reply(output_tokens=True), "0 or more"),
        (lambda: Script(Reply), r"the class Reply; give one of it, Reply\(…\)"),
        (lambda: Script(lambda: "ok"), "called with the request"),
        (lambda: Script(lambda request, more: "ok"), "called with the request.*more"),
        (lambda: Script({5: "ok"}), "the key 5 is int"),
    ],
)
def test_usual_slips_name_what_is_meant(make: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told) as error:
        make()
    one_line(error)


def test_an_asynchronous_function_is_refused_before_it_is_asked() -> None:
    async def answer(request: Exchange) -> str:
        return "ok"

    with pytest.raises(UsageError, match="asynchronous"):
        Script(answer)


def test_functions_with_further_defaults_are_taken() -> None:
    def answer(request: Exchange, words: str = "hello") -> str:
        return words

    assert Script(answer).next(Exchange("anthropic", "messages", {})) == Reply("hello")
    assert Script(print).next(Exchange("anthropic", "messages", {})) == Reply()


def test_an_endless_iterator_is_asked_once_for_each_request() -> None:
    taken: list[int] = []

    def numbers() -> Iterator[str]:
        for number in itertools.count():
            taken.append(number)
            yield f"answer {number}"

    script = Script(numbers())
    asked = Exchange("anthropic", "messages", {})
    assert [script.next(asked).text for _ in range(3)] == ["answer 0", "answer 1", "answer 2"]  # type: ignore[union-attr]
    assert taken == [0, 1, 2]
    assert script.left == 0


def test_an_iterator_that_ends_says_so() -> None:
    script = Script(iter(["one"]))
    asked = Exchange("anthropic", "messages", body())
    assert script.next(asked) == Reply("one")
    with pytest.raises(UsageError, match=r"request 2 .* the script holds 1 answer"):
        script.next(asked)


@pytest.mark.parametrize("clock", [5, "now", lambda: None, lambda: "12:00", lambda: math.nan, lambda: True])
def test_a_clock_that_is_none_is_refused_at_once(clock: Any) -> None:
    with pytest.raises(UsageError, match=r"clock.* seconds.* meant") as error, capture_traffic(clock=clock):
        pytest.fail("the block must not begin")
    one_line(error)


def test_a_counter_that_cannot_be_called_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="count_tokens is int; a function"), capture_traffic(count_tokens=4):  # type: ignore[arg-type]
        pytest.fail("the block must not begin")
    with capture_traffic() as rec, pytest.raises(UsageError, match="count_tokens is str"):
        rec.count_tokens = "gpt-4o"  # type: ignore[assignment]


def test_a_mistake_of_the_script_is_told_once_not_as_the_cause_of_itself() -> None:
    with pytest.raises(pytest.fail.Exception, match="matches none") as error, capture_traffic({"weather": "x"}) as rec:
        send(rec)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


def test_counting_tokens_is_no_silence_of_the_capture() -> None:
    with capture_traffic() as rec:
        assert send(rec, url=f"{URL}/count_tokens").status == 200
    assert len(rec) == 0
    assert rec.notes == []
    with capture_traffic() as silent:
        pass
    assert "no request was caught" in silent.notes[0]


def test_an_empty_recording_says_who_answered_instead() -> None:
    httpx = pytest.importorskip("httpx", reason="needs httpx: pip install httpx")
    mock = httpx.MockTransport(lambda request: httpx.Response(200, json={}))
    with capture_traffic() as rec, httpx.Client(transport=mock) as client:
        client.post(URL, json=body())
    judges: list[Any] = [rec.assert_cache_safe, rec.assert_cached, lambda: rec.assert_read(request=0, at_least=1)]
    for judge in judges:
        with pytest.raises(UsageError, match=r"nothing to check: no request was caught.*1 by httpx\.MockTransport"):
            judge()
    with capture_traffic() as noted:
        pass
    # Requests noted by hand need no traffic.
    noted.request(body())
    assert len(noted.assert_cache_safe().requests) == 1


@pytest.mark.parametrize("given", [["yes"], ("yes",), {"a": "b"}, Reply("yes"), Failure(500), ToolCall("f")])
def test_replies_in_the_place_of_the_template_are_noticed(cachesafe: Any, given: Any) -> None:
    with pytest.raises(UsageError, match="name replies=") as error, cachesafe.record(given):
        pytest.fail("the block must not begin")
    one_line(error)


SECRET = "diagnosis of Zebed"
REDACTED = f"""
import json
from pytest_cachesafe.providers.capture.raw import RawRequest

def send(rec):
    asked = {{"model": "claude-sonnet-5", "max_tokens": 9, "messages": [{{"role": "user", "content": BODY}}]}}
    rec.session.answer(RawRequest("POST", "{URL}", [], json.dumps(asked).encode(), "httpx"))

def test_none_left(cachesafe):
    with cachesafe.record(replies=["one"]) as rec:
        send(rec)
        send(rec)

def test_none_matches(cachesafe):
    with cachesafe.record(replies={{"weather": "x"}}) as rec:
        send(rec)

def test_no_answer(cachesafe):
    with cachesafe.record(replies=lambda request: 4) as rec:
        send(rec)
"""


@pytest.mark.parametrize(
    ("mode", "seen", "shown"), [("none", True, "newest message '"), ("text", False, "[18 c"), ("hash", False, "sha256")]
)
def test_a_script_that_cannot_answer_shows_the_prompt_only_where_it_may(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, mode: str, seen: bool, shown: str
) -> None:
    for name in ("CI", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root / 'rules'}")
    # The text reaches the test from elsewhere: it does not stand in the source that a traceback shows.
    monkeypatch.setenv("PROMPT", SECRET)
    pytester.makeini("[pytest]\n")
    pytester.makepyfile(test_it="import os\nBODY = os.environ['PROMPT']\n" + REDACTED)
    result = pytester.runpytest_inprocess("-p", "pytest_cachesafe.plugin", f"--cachesafe-redact={mode}")
    assert result.parseoutcomes() == {"failed": 3}
    told = result.stdout.str()
    assert (SECRET in told) is seen
    assert shown in told
    assert "request 2 (/v1/messages, model claude-sonnet-5" in told


def observed(*bodies: dict[str, Any]) -> Any:
    observer = Observer()
    for one in bodies:
        token = observer.request("POST", URL, [], json.dumps(one).encode(), "httpx")
        assert token is not None
        observer.reply(token, 200, b'{"type": "message"}', "application/json")
    return observer.take("test_it.py::test_chat")


def test_observe_adds_up_what_a_fault_costs_in_one_conversation() -> None:
    from pytest_cachesafe import check_requests

    long = "You are a careful agent. " * 2_000
    bodies = [
        {
            **body(),
            "system": [{"type": "text", "text": f"{n} {long}", "cache_control": {"type": "ephemeral"}}],
            "messages": [says("q"), *[says("ok", role) for _ in range(n) for role in ("assistant", "user")]],
        }
        for n in range(4)
    ]
    seen = observed(*bodies)
    assert len(seen.broken) == 1
    found = [f.data["lost_tokens"] for f in check_requests(bodies).findings]
    assert len(found) == 3
    # Three of four requests write anew what the one before had written.
    assert seen.broken[0].requests == 3
    assert seen.broken[0].lost_tokens == sum(found)
    assert any("in 3 requests" in line for line in observe_lines(seen, "."))


def test_observe_counts_a_conversation_with_two_faults_once() -> None:
    long = "You are a careful agent. " * 2_000
    tools = [{"name": name, "description": name, "input_schema": {"type": "object"}} for name in ("find", "read")]
    bodies = [
        {
            **body(),
            "system": [{"type": "text", "text": f"{n // 2} {long}", "cache_control": {"type": "ephemeral"}}],
            "tools": tools if n < 3 else tools[::-1],
            "messages": [says("q"), *[says("ok", role) for _ in range(n) for role in ("assistant", "user")]],
        }
        for n in range(4)
    ]
    seen = observed(*bodies)
    assert len({one.code for one in seen.broken}) == 2
    assert "1 conversation loses its prefix:" in observe_lines(seen, ".")
