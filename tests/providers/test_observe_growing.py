"""Tests that are seen to be fine byte by byte: what is said of them is what the full check says."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.providers.observe import observer as observed
from pytest_cachesafe.providers.observe.growing import Growing
from pytest_cachesafe.providers.observe.observer import Observer, Seen
from pytest_cachesafe.providers.observe.sent import Sent
from pytest_cachesafe.providers.rules.load import load_rules

MANUAL = "You are a support bot. " + "Answer from the manual. " * 400
MARK = {"cache_control": {"type": "ephemeral"}}
HEADERS = [("anthropic-version", "2023-06-01"), ("x-api-key", "k"), ("content-length", "7")]
TOOL = {"name": "search", "description": "finds", "input_schema": {"type": "object"}}
CLAUDE: list[dict[str, Any]] = [
    {"model": "claude-opus-5", "max_tokens": 9},
    {"model": "claude-haiku-5-5", "max_tokens": 9, "system": "You write titles."},
    {"model": "claude-opus-5", "max_tokens": 9, "system": [{"type": "text", "text": MANUAL, **MARK}]},
    {"model": "claude-opus-5", "max_tokens": 9, "system": [{"type": "text", "text": "At 10:41. " + MANUAL, **MARK}]},
    {"model": "claude-opus-5", "max_tokens": 9, "system": [{"type": "text", "text": "Be.", **MARK}], "tools": [TOOL]},
    {"model": "claude-opus-5", "max_tokens": 9, "system": MANUAL},
    {"model": "claude-opus-5", "max_tokens": 9, "system": MANUAL, **MARK},
    {"model": "claude-opus-5", "max_tokens": 9, "system": MANUAL, "tools": [{**TOOL, **MARK}], "temperature": 0.5},
    {"model": "claude-opus-5", "max_tokens": 0, "stream": True},
]  # fmt: skip
GPT: list[dict[str, Any]] = [
    {"model": "gpt-6-sol"},
    {"model": "gpt-6-sol", "prompt_cache_key": "k"},
    {"model": "gpt-5.6", "prompt_cache_key": "k", "reasoning_effort": "low"},
    {"model": "gpt-6-sol", "tools": [{"type": "function", "function": {"name": "search", "parameters": {}}}]},
    {"model": "gpt-6-sol", "previous_response_id": "r"},
]
# Of both, those with which nothing is wrong whatever is said.
QUIET = (0, 2, 3, 7)
WILD = ["edit", "branch", "cut", "frame", "mark", "odd", "twice"]
WORDS = ["hello", "what is it?", "", "tell me more of it, please", MANUAL]


def sent(body: dict[str, Any], status: int = 200, key: str = "k", blank: bool = False) -> Sent:
    """One request as a client sends it; in two ways of writing JSON."""
    claude = str(body.get("model", "")).startswith("claude")
    url = "https://api.anthropic.com/v1/messages" if claude else "https://api.openai.com/v1/chat/completions"
    flat = [said for pair in HEADERS for said in pair] if claude else ["authorization", f"Bearer {key}"]
    text = json.dumps(body) if blank else json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    return Sent("POST", url, list(flat), text.encode(), "httpx", "agent.py:1", status)


def grown(all_sent: list[Sent]) -> Seen | None:
    """What is proved of a test whose frames are known."""
    rules = load_rules({})
    growing = Growing(lambda exchanges: observed._check(exchanges, rules))
    for _ in range(2 * len(all_sent) + 1):
        # Each time one more frame is known.
        found = growing.proved(all_sent)
        if found is not None:
            return Seen(1, found.requests, found.conversations, found.continuing, found.providers)
    return None


def full(all_sent: list[Sent]) -> dict[str, Any]:
    """What the full check says of a test."""
    seen = observed._read(all_sent, "t", load_rules({}))
    assert seen is not None
    return seen.as_dict()


def said(words: str) -> dict[str, Any]:
    return {"role": "assistant", "content": words}


def asked(words: Any) -> dict[str, Any]:
    return {"role": "user", "content": words}


@st.composite
def runs(draw: st.DrawFn) -> list[Sent]:
    """Requests of one test: conversations side by side that go on, are repeated, edited, cut, branched, handed over."""
    words = st.sampled_from(WORDS) | st.text(max_size=3)
    chats: list[tuple[bool, dict[str, Any], list[Any]]] = []
    out: list[Sent] = []
    ids = iter(range(1000))
    blank = draw(st.booleans())
    # Half of them with one odd thing at most, on frames with which nothing is wrong.
    calm, odd_one = draw(st.booleans()), draw(st.sampled_from(("", *WILD)))
    calmly = ["open", "open", *["go on"] * 4, "tools", "retry"]
    kinds = draw(st.lists(st.sampled_from(calmly if calm else [*calmly, *WILD]), min_size=1, max_size=9))
    if calm and odd_one:
        kinds.insert(draw(st.integers(1, len(kinds))), odd_one)
    for kind in kinds:
        if kind == "open" or not chats:
            claude = draw(st.booleans())
            every = CLAUDE if claude else GPT
            frame = draw(st.sampled_from([every[n] for n in QUIET if n < len(every)] if calm else every))
            system = [] if claude else [{"role": draw(st.sampled_from(("system", "developer"))), "content": MANUAL}]
            content: Any = f"opening {next(ids)}" if calm and draw(st.integers(0, 7)) else draw(words)
            if draw(st.integers(0, 4)) == 0:
                content = [{"type": "text", "text": content}] * draw(st.integers(1, 2))
            messages = [*system[: draw(st.integers(0, 1))], asked(content)]
            if draw(st.integers(0, 5)) == 0:
                messages += [said("canned"), asked(draw(words))]
            chats.append((claude, frame, messages))
        else:
            at = draw(st.integers(0, len(chats) - 1))
            claude, frame, messages = chats[at]
            messages = deepcopy(messages)
            if kind == "go on":
                messages += [*[said(draw(words))] * draw(st.sampled_from((1, 1, 1, 2))), asked(draw(words))]
            elif kind == "tools":
                made, given = f"c{next(ids)}", draw(st.sampled_from(({"q": 1}, {"cache_control": {"a": 1}}, {})))
                if claude:
                    use = {"type": "tool_use", "id": made, "name": "search", "input": given}
                    result = {"type": "tool_result", "tool_use_id": made, "content": draw(words)}
                    messages += [{"role": "assistant", "content": [use]}, asked([result])]
                else:
                    call = {"id": made, "type": "function", "function": {"name": "s", "arguments": json.dumps(given)}}
                    messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
                    messages.append({"role": "tool", "tool_call_id": made, "content": draw(words)})
            elif kind == "edit":
                messages[draw(st.integers(0, len(messages) - 1))] = asked(draw(words))
            elif kind == "branch":
                messages = [*messages[: max(draw(st.integers(1, len(messages))), 1)], said("other"), asked(draw(words))]
            elif kind == "cut":
                messages = [*messages[2:], said("ok"), asked(draw(words))]
            elif kind == "frame":
                frame = draw(st.sampled_from(CLAUDE if claude else GPT))
                messages += [said("ok"), asked(draw(words))]
            elif kind == "mark":
                messages += [said("ok"), asked([{"type": "text", "text": draw(words), **MARK}])]
            elif kind == "odd":
                odd: list[Any] = [
                    {"role": "system", "content": "now"}, said("prefill"), {"role": "user"}, "text", asked([]),
                    asked(7), {"content": "x", "role": "user"}, asked([{"type": "text", "text": "a", "x": 1}]),
                    asked([{"type": "image", "source": {"type": "url", "url": "u"}}]), {"role": "tool", "content": "x"},
                ]  # fmt: skip
                messages += [said("ok"), draw(st.sampled_from(odd))]
            elif kind == "twice":
                messages = messages[:1]
            chats[at] = claude, frame, messages
        status = draw(st.sampled_from((200, 200, 200, 529)))
        out.append(sent({"messages": messages, **frame}, status, draw(st.sampled_from("kkkkkkl")), blank))
    return out


@settings(deadline=None, max_examples=tries(300))
@given(runs())
def test_what_is_proved_is_what_the_full_check_says(all_sent: list[Sent]) -> None:
    found = grown(all_sent)
    if found is not None:
        assert found.as_dict() == full(all_sent)


def growing_test(frame: dict[str, Any], system: str | None = None, words: str = "question") -> list[Sent]:
    messages: list[Any] = [] if system is None else [{"role": "system", "content": system}]
    out = []
    for turn in range(3):
        messages.append(asked(f"{words} {turn}"))
        out.append(sent({"messages": deepcopy(messages), **frame}))
        messages.append(said("ok"))
    return out


@pytest.mark.parametrize("number", [0, 1, 2, 7])
def test_conversations_that_grow_are_seen_at_once(number: int) -> None:
    titles = [sent({**CLAUDE[1], "messages": [asked(f"title {n}")]}) for n in range(3)]
    ours, gpt = growing_test(CLAUDE[number]), growing_test(GPT[0], "You write code. " + MANUAL, "task")
    retried = [ours[0], titles[0], gpt[0], gpt[0], ours[1], titles[1], gpt[1], ours[2], gpt[2], titles[2]]
    found = grown(retried)
    # Ours, the titles one by one, and that of GPT; 2 + 2 go on, and one is a retry.
    assert found == Seen(1, 10, 5, 5, {"anthropic": 6, "openai": 4})
    assert found.as_dict() == full(retried)


@pytest.mark.parametrize("number", [5, 6, 8])
def test_a_frame_with_which_something_may_be_wrong_is_not(number: int) -> None:
    assert grown(growing_test(CLAUDE[number])) is None


def test_a_frame_is_proved_when_it_is_met_again() -> None:
    calls: list[int] = []
    rules = load_rules({})

    def check(exchanges: Any) -> Any:
        calls.append(len(exchanges))
        return observed._check(exchanges, rules)

    growing = Growing(check)
    tests = [growing_test(CLAUDE[2], words=f"question {n}:") for n in range(4)]
    assert [growing.proved(one) is not None for one in tests] == [False, True, True, True]
    # The four made-up requests, once.
    assert calls == [4]


def test_another_account_or_endpoint_is_another_conversation() -> None:
    one, two, three = growing_test(GPT[0], MANUAL)
    two.headers[1] = "Bearer other"
    assert grown([one, two, three]) is None
    three.url = "https://gateway.example/v1/chat/completions"
    assert grown([one, three]) is None


def test_the_observer_says_the_same_of_the_first_test_and_of_the_next() -> None:
    watching = Observer()
    for _ in range(3):
        for request in growing_test(CLAUDE[2]):
            flat = request.headers
            pairs = [(str(n), str(v)) for n, v in zip(flat[::2], flat[1::2], strict=True)]
            assert watching.request("POST", request.url, pairs, request.body, "httpx") is not None
        assert watching.take("t") == Seen(1, 3, 1, 2, {"anthropic": 3})


@pytest.mark.parametrize(
    "broken", [b"", b"{", b'{"messages":[', b'{"messages":[{]}', b"\xff", b'{"messages":[1]}', b"[]"]
)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_what_is_no_request_breaks_nothing(broken: bytes, position: int) -> None:
    requests = growing_test(CLAUDE[2])
    whole = requests[position].body
    for body in (broken, whole[:-1], whole[: len(whole) // 2], whole.replace(b'"ok"', b"ok"), whole + b"}"):
        requests[position].body = body
        assert grown(requests) is None or body == whole
    # As a request goes on, the list may break off where it was the same so far.
    requests[position].body = whole.replace(b'"role":"user"', b"", 2)
    assert grown(requests) is None
