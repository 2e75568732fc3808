"""Nothing wrong, nothing said; one thing wrong, one thing said: over generated conversations."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.agent_recordings import recording
from tests.support.wire_requests import (
    LONG,
    MARK,
    anthropic,
    assistant,
    call,
    check,
    marked_last,
    openai,
    result,
    text,
    tool,
    user,
)


@pytest.mark.parametrize("seed", range(20))
def test_clean_recordings_of_several_agents_have_no_finding(seed: int) -> None:
    provider, bodies = recording(seed)
    report = check(bodies, provider)

    assert [f.message for f in report.findings] == []
    assert report.conversations >= 2


@pytest.mark.parametrize("seed", range(0, 20, 3))
def test_one_edit_in_a_clean_recording_is_one_finding_of_its_conversation(seed: int) -> None:
    provider, bodies = recording(seed)
    clean = check(bodies, provider)
    continued = [v for v in clean.requests if v.against is not None and bodies[v.request] != bodies[v.against]]
    conversation = continued[-1].conversation
    for verdict in clean.requests:
        if verdict.conversation == conversation and verdict.request >= continued[-1].request:
            _reword_first(bodies[verdict.request])
    report = check(bodies, provider)

    assert len(report.findings) == 1
    assert report.findings[0].location.request == continued[-1].request
    assert report.requests[continued[-1].request].conversation == conversation


def _reword_first(body: dict[str, Any]) -> None:
    """Change the first thing the user said, which is at the start of the messages."""
    messages = copy.deepcopy(body["messages"])
    first = next(m for m in messages if m["role"] == "user")
    if isinstance(first["content"], str):
        first["content"] += " (urgent)"
    else:
        first["content"][0]["text"] += " (urgent)"
    body["messages"] = messages


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=40).filter(str.strip)


@st.composite
def turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Messages of a conversation that ends in the user's words or in tool results, with distinct texts."""
    messages: list[dict[str, Any]] = []
    for n in range(draw(st.integers(2, 5))):
        shape = draw(st.sampled_from(["text", "block", "blocks"]))
        words = f"{n}: {draw(WORDS)}"
        content: Any = {
            "text": words,
            "block": [text(words)],
            "blocks": [text(words), text(f"also {n}: {draw(WORDS)}")],
        }[shape]
        messages.append(user(content))
        if draw(st.booleans()):
            count = draw(st.integers(1, 3))
            numbers = range(10 * n, 10 * n + count)
            thought = [{"type": "thinking", "thinking": f"hm {n}", "signature": f"s{n}"}] if draw(st.booleans()) else []
            messages.append(assistant([*thought, *(call("search", k, q=f"q{k}") for k in numbers)]))
            messages.append(user([result(k, f"row {k} {draw(WORDS)}") for k in numbers]))
        messages.append(assistant(f"answer {n}: {draw(WORDS)}"))
    return messages[:-1]


def grown(messages: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The requests of a conversation: one for every end of the user's words or of results."""
    return [messages[: i + 1] for i, m in enumerate(messages) if m["role"] == "user"]


TOOLS = [tool("search"), tool("read", strict=True)]


@given(
    turns(),
    st.sampled_from(["moving", "automatic", "system only", "tools too"]),
    st.sampled_from([None, "5m", "1h"]),
    st.randoms(use_true_random=False),
)
@settings(deadline=None, max_examples=30)
def test_a_clean_conversation_never_has_a_finding(
    messages: list[dict[str, Any]], marks: str, ttl: str | None, rng: Any
) -> None:
    marker = MARK if ttl is None else {**MARK, "ttl": ttl}
    bodies = []
    for so_far in grown(messages):
        tools = [TOOLS[0], {**TOOLS[1], "cache_control": marker}] if marks == "tools too" else TOOLS
        body = anthropic(
            marked_last(so_far, ttl) if marks in ("moving", "tools too") else so_far,
            tools=tools,
            system=[text(LONG, cache_control=marker)],
            cache_control=marker if marks == "automatic" else None,
            # What may change from request to request.
            temperature=rng.random(),
            max_tokens=rng.randint(1, 4000),
            stream=rng.random() < 0.5,
            metadata={"user_id": str(rng.random())},
        )
        keys = list(body)
        rng.shuffle(keys)
        bodies.append({key: body[key] for key in keys})
        if rng.random() < 0.2:
            bodies.append(bodies[-1])

    report = check(bodies)

    assert [f.message for f in report.findings] == []
    assert report.conversations == 1
    # What is said to be fine is read.
    assert all(v.usage is not None and v.usage.read > 0 for v in report.requests if v.against is not None)


def _blocks_before_last(messages: list[dict[str, Any]]) -> list[tuple[int, int | None]]:
    """(message, block) of everything that the user or a tool said before the newest message."""
    found: list[tuple[int, int | None]] = []
    for i, message in enumerate(messages[:-1]):
        content = message["content"]
        if isinstance(content, str):
            found.append((i, None))
        else:
            found += [(i, j) for j, block in enumerate(content) if block["type"] in ("text", "tool_result")]
    return found


def _edited(messages: list[dict[str, Any]], place: tuple[int, int | None], word: str) -> list[dict[str, Any]]:
    out = copy.deepcopy(messages)
    i, j = place
    if j is None:
        out[i]["content"] += word
    else:
        block = out[i]["content"][j]
        key = "text" if block["type"] == "text" else "content"
        block[key] += word
    return out


@given(turns(), st.data())
@settings(deadline=None, max_examples=40)
def test_an_edit_of_an_earlier_block_always_is_exactly_one_finding_with_its_place(
    messages: list[dict[str, Any]], data: st.DataObject
) -> None:
    sent = grown(messages)
    at = data.draw(st.integers(1, len(sent) - 1), label="request that edits")
    place = data.draw(st.sampled_from(_blocks_before_last(sent[at - 1])) if _blocks_before_last(sent[at - 1]) else
                      st.just((0, None if isinstance(sent[0][0]["content"], str) else 0)), label="place")  # fmt: skip
    bodies = [
        anthropic(marked_last(m if n < at else _edited(m, place, " (edited)")), tools=TOOLS) for n, m in enumerate(sent)
    ]
    report = check(bodies)

    assert len(report.findings) == 1, [f.message for f in report.findings]
    finding = report.findings[0]
    assert finding.location.request == at
    i, j = place
    assert finding.location.path is not None
    assert finding.location.path.startswith(f"messages[{i}].content" + ("" if j is None else f"[{j}]"))
    assert report.requests[at].miss_reason == "messages_changed"


@given(turns(), st.integers(0, 3), st.sampled_from(["tools", "system", "model", "thinking", "order"]))
@settings(deadline=None, max_examples=40)
def test_one_change_in_front_is_exactly_one_finding(messages: list[dict[str, Any]], at: int, what: str) -> None:
    sent = grown(messages)
    at = 1 + at % (len(sent) - 1)
    changed: dict[str, dict[str, Any]] = {
        "tools": {"tools": [*TOOLS, tool("late")]},
        "system": {"system": [text(LONG + "And be kind.", cache_control=MARK)]},
        "model": {"model": "claude-opus-5"},
        "thinking": {"thinking": {"type": "adaptive"}},
        "order": {"tools": TOOLS[::-1]},
    }
    bodies = [anthropic(marked_last(m), tools=TOOLS) | (changed[what] if n >= at else {}) for n, m in enumerate(sent)]
    report = check(bodies)

    assert [f.location.request for f in report.findings] == [at]


@given(st.lists(WORDS, min_size=2, max_size=6, unique=True), st.sampled_from(["gpt-4o", "gpt-5.5", "gpt-5.6-sol"]))
@settings(deadline=None, max_examples=40)
def test_a_growing_chat_at_openai_never_has_a_finding(words: list[str], model: str) -> None:
    messages = [user(words[0])]
    bodies = []
    for n, said in enumerate(words[1:]):
        bodies.append(openai(messages, model=model, temperature=n / 10))
        messages = [*messages, assistant(f"answer {n} {said}"), user(f"question {n} {said}")]
    bodies.append(openai(messages, model=model))

    assert [f.message for f in check(bodies, "openai").findings] == []
