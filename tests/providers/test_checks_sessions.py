"""Several chats of one test that open alike, each with an id of its own in the system text."""

from __future__ import annotations

import json
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe import check_requests
from pytest_cachesafe.providers.observe.observer import Observer, Seen

MANUAL = "Answer from the manual of Northwind Tools. " * 300
URLS = {"messages": "https://api.anthropic.com/v1/messages", "chat": "https://api.openai.com/v1/chat/completions"}


class Chat(NamedTuple):
    """How many turns it has, its id, its replies, and whether the id stays."""

    turns: int
    session: UUID
    answer: str
    streamed: bool
    pinned: bool = True


CHATS = st.builds(
    Chat, st.integers(1, 4), st.uuids(version=4), st.sampled_from(["On Monday.", "On Tuesday."]), st.booleans(),
    st.just(True),
)  # fmt: skip


def bodies(chat: Chat, api: str) -> list[dict[str, Any]]:
    """Its requests."""
    found: list[dict[str, Any]] = []
    history: list[dict[str, Any]] = []
    for turn in range(chat.turns):
        history = [*history, {"role": "user", "content": "Where is it?" if turn == 0 else f"And question {turn}?"}]
        session = chat.session if chat.pinned else UUID(int=(chat.session.int + turn * 0x1234567890ABCDEF) % 2**128)
        system = f"Session {session}. {MANUAL}"
        if api == "chat":
            found.append({"model": "gpt-6-sol", "messages": [{"role": "system", "content": system}, *history]})
        else:
            block = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
            found.append({"model": "claude-opus-5", "max_tokens": 9, "system": [block], "messages": history})
        history = [*history, {"role": "assistant", "content": chat.answer}]
    return found


def observed(api: str, requests: list[tuple[dict[str, Any], Chat]]) -> Seen:
    """What is seen of a test that sends these."""
    observer = Observer()
    for body, chat in requests:
        sent = observer.request("POST", URLS[api], [("anthropic-version", "1")], json.dumps(body).encode(), "httpx")
        assert sent is not None
        observer.reply(sent, 200, None if chat.streamed else _reply(api, chat), "application/json")
    found = observer.take("test_it")
    assert found is not None
    return found


def _reply(api: str, chat: Chat) -> bytes:
    if api == "chat":
        choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": chat.answer}}
        return json.dumps({"choices": [choice]}).encode()
    return json.dumps({"content": [{"type": "text", "text": chat.answer}], "stop_reason": "end_turn"}).encode()


@st.composite
def mixed(draw: st.DrawFn, *, changing: bool) -> tuple[list[Chat], list[int]]:
    """Chats, at least one of which goes on, and whose turn it is; with `changing`, the first has a new id each turn."""
    goes_on = CHATS.map(lambda chat: chat._replace(turns=max(chat.turns, 2)))
    chats = [draw(goes_on), *draw(st.lists(CHATS, min_size=1, max_size=4))]
    if changing:
        chats.insert(0, draw(goes_on)._replace(pinned=False))
    return chats, draw(st.permutations([n for n, chat in enumerate(chats) for _ in range(chat.turns)]))


def seen_of(chats: list[Chat], order: list[int], api: str) -> Seen:
    """What is seen of them in that order."""
    left = [iter(bodies(chat, api)) for chat in chats]
    return observed(api, [(next(left[n]), chats[n]) for n in order])


@settings(max_examples=tries(300), deadline=None)
@given(mixed(changing=False), st.sampled_from(sorted(URLS)))
def test_chats_that_only_grow_are_not_told_as_one(case: tuple[list[Chat], list[int]], api: str) -> None:
    seen = seen_of(*case, api)
    assert [(one.code, one.message) for one in seen.broken] == []
    assert seen.conversations == len({chat.session for chat in case[0]})


@settings(max_examples=tries(300), deadline=None)
@given(mixed(changing=True), st.sampled_from(sorted(URLS)))
def test_a_chat_that_changes_its_id_is_told_among_others(case: tuple[list[Chat], list[int]], api: str) -> None:
    seen = seen_of(*case, api)
    assert sum(one.requests for one in seen.broken) == case[0][0].turns - 1
    assert {one.cause for one in seen.broken} == {"id"}


@pytest.mark.parametrize("api", ["chat", "messages"])
def test_the_same_question_asked_again_with_another_id_is_told(api: str) -> None:
    asked = [body for n in (1, 2) for body in bodies(Chat(1, UUID(int=n * 7**40), "ok", True), api)]
    report = check_requests(asked, "openai" if api == "chat" else "anthropic")
    assert not report.passed


def test_chats_of_two_users_are_two() -> None:
    first, second = (bodies(Chat(3, UUID(int=5), "ok", True), "chat") for _ in range(2))
    for name, chat in (("Anna", first), ("Bob", second)):
        for body in chat:
            body["messages"][0] = {"role": "system", "content": f"You help {name}. {MANUAL}"}
    report = check_requests([*first, *second], "openai")
    assert (report.passed, report.conversations) == (True, 2)


def test_chats_that_open_with_the_same_examples_are_two() -> None:
    chats = [bodies(Chat(3, UUID(int=n * 7**40), "ok", True), "chat") for n in (1, 2)]
    for body in (body for chat in chats for body in chat):
        example = [{"role": "user", "content": "For example?"}, {"role": "assistant", "content": "Yes."}]
        body["messages"][1:1] = example
    report = check_requests([*chats[0], *chats[1]], "openai")
    assert (report.passed, report.conversations) == (True, 2)


def test_a_text_that_is_another_one_when_a_turn_is_tried_again_is_told() -> None:
    one, other = (bodies(Chat(4, UUID(int=n * 7**40), "ok", True), "chat") for n in (1, 2))
    report = check_requests([*one[:3], *other[2:]], "openai")
    assert [finding.location.request for finding in report.findings if finding.code == "system-changed"] == [3]


@pytest.mark.parametrize("pinned", [True, False])
def test_chats_with_the_same_examples_and_questions_of_their_own(pinned: bool) -> None:
    chats = [bodies(Chat(3, UUID(int=n * 7**40), "ok", True, pinned), "chat") for n in (1, 2)]
    for n, body in ((n, body) for n, chat in enumerate(chats) for body in chat):
        body["messages"][1] = {"role": "user", "content": ("How tall is it?", "Do you ship to Norway?")[n]}
        body["messages"][1:1] = [{"role": "user", "content": "For example?"}, {"role": "assistant", "content": "Yes."}]
    report = check_requests([*chats[0], *chats[1]], "openai")
    assert report.passed is pinned
