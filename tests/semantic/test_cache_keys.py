"""What a cache embeds and filters by: each fault is found, and a sound key passes."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.semantic.judge import CollisionJudge
from pytest_cachesafe.semantic.key_fields import FIELDS
from pytest_cachesafe.semantic.key_text import find_templates
from pytest_cachesafe.semantic.keys import KeyReport, check_keys
from pytest_cachesafe.usage import UsageError

QUESTIONS = ("Where is my parcel?", "How do I cancel?", "Which sizes are there?", "May I return a gift?", "Is it free?")


class Words:
    """A bag of words that reads the first `window` of them; tokens are words."""

    name = "words"
    notes: tuple[str, ...] = ()

    def __init__(self, window: int | None = None, limit: int = 10_000) -> None:
        self.window = window
        self._limit = limit if window is None else window

    def embed(self, texts: Sequence[str]) -> Any:
        import numpy as np

        rows = []
        for text in texts:
            row = np.zeros(64)
            for word in text.lower().split()[: self._limit]:
                drawn = Random(word)
                row += [drawn.gauss(0, 1) for _ in range(64)]
            rows.append(row / np.linalg.norm(row))
        return np.array(rows, dtype=np.float32)

    def count(self, text: str) -> int | None:
        return None if self.window is None else len(text.split())

    def truncated_ids(self, text: str) -> tuple[int, ...] | None:
        if self.window is None:
            return None
        return tuple(hash(word) for word in text.split()[: self.window])


def judge(window: int | None = None, threshold: float = 0.9, limit: int = 10_000) -> CollisionJudge:
    return CollisionJudge(Words(window, limit), threshold)


def codes(report: KeyReport) -> list[tuple[str, str]]:
    return [(finding.code, finding.cause or "") for finding in report.findings]


def openai(question: str, **extra: Any) -> dict[str, Any]:
    return {
        "model": "m", "tenant": "acme", "user": "ann", "tools": [{"type": "function", "function": {"name": "look_up"}}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Tell me about plan A."},
            {"role": "assistant", "content": "It costs five."},
            {"role": "user", "content": question},
        ],
    } | extra  # fmt: skip


def anthropic(question: str) -> dict[str, Any]:
    body = openai(question)
    body["system"] = [{"type": "text", "text": "Be brief."}]
    body["messages"] = [{**m, "content": [{"type": "text", "text": m["content"]}]} for m in body["messages"][1:]]
    body["metadata"] = {"user_id": body.pop("user")}
    return body


def responses(question: str) -> dict[str, Any]:
    body = openai(question)
    return {**body, "instructions": "Be brief.", "input": body.pop("messages")[1:]}


def gemini(question: str) -> dict[str, Any]:
    roles = {"assistant": "model"}
    messages = [
        {"role": roles.get(m["role"], m["role"]), "parts": [{"text": m["content"]}]}
        for m in openai(question)["messages"]
    ]
    system = {"parts": [{"text": "Be brief."}]}
    return {
        "model": "m", "tenant": "acme", "user_id": "ann", "contents": messages[1:], "systemInstruction": system,
        "tools": [{"functionDeclarations": [{"name": "look_up"}]}],
    }  # fmt: skip


WIRES: tuple[Callable[[str], dict[str, Any]], ...] = (openai, anthropic, responses, gemini)


@pytest.mark.parametrize("wire", WIRES)
def test_a_key_of_the_last_message_alone_tells_nothing_else_apart(wire: Callable[[str], Any]) -> None:
    report = check_keys([wire(question) for question in QUESTIONS], judge())
    assert codes(report) == [
        ("key-last-message", "history"), ("key-not-partitioned", "system"), ("key-not-partitioned", "tenant"),
        ("key-not-partitioned", "user"), ("key-not-partitioned", "model"), ("key-not-partitioned", "tools"),
    ]  # fmt: skip
    assert not report.passed
    assert report.text().startswith("cache keys: what was said before the last message is not in the key (5 of 5")
    assert [str(finding.severity) for finding in report.findings] == ["error"] * 3 + ["warning"] * 3


@pytest.mark.parametrize("wire", WIRES)
def test_a_filter_over_all_of_it_passes(wire: Callable[[str], Any]) -> None:
    def everything(request: Any) -> str:
        return json.dumps(request, sort_keys=True)

    report = check_keys([wire(question) for question in QUESTIONS], judge(), partition=everything)
    assert report.passed
    assert report.told_apart == dict.fromkeys((part.name for part in FIELDS), "filter")
    assert report.text().startswith("cache keys: nothing found (5 keys of 5 requests")


@pytest.mark.parametrize("left_out", [part.name for part in FIELDS])
@pytest.mark.parametrize("wire", WIRES)
def test_each_part_that_a_filter_leaves_out_is_found_alone(wire: Callable[[str], Any], left_out: str) -> None:
    def but_one(request: Any) -> str:
        return json.dumps([part.value(request) for part in FIELDS if part.name != left_out], sort_keys=True)

    report = check_keys([wire(question) for question in QUESTIONS], judge(), partition=but_one)
    assert [finding.cause for finding in report.findings] == [left_out]


@given(st.sampled_from(WIRES), st.sampled_from(FIELDS))
@settings(deadline=None)
def test_a_changed_part_changes_nothing_else(wire: Callable[[str], Any], part: Any) -> None:
    request = wire("Is it free?")
    before = copy.deepcopy(request)
    changed = part.changed(request)
    assert request == before
    assert part.value(changed) != part.value(request)
    for other in FIELDS:
        if other is not part:
            assert other.value(changed) == other.value(request)


def test_text_that_is_embedded_but_hardly_weighs_is_not_told_apart() -> None:
    """The system prompt's name is one word of many."""
    requests = [openai(question, model=f"m{index}") for index, question in enumerate(QUESTIONS)]

    def key(request: Any) -> str:
        return (
            f"{request['model']} "
            + "This is what a long text does to a name in front of it. " * 5
            + str(request["messages"])
        )

    report = check_keys(requests, judge(), key=key)
    (model,) = (finding for finding in report.findings if finding.cause == "model")
    assert "is in the embedded text alone, where another one still merges (5 of 5 requests tried" in model.message
    assert model.data["merged"] == 5


def test_requests_of_the_log_that_share_a_key_are_counted() -> None:
    requests = [openai("And the other one?", tenant=name) for name in ("acme", "acme", "globex", "initech")]
    report = check_keys(requests, judge())
    (tenant,) = (finding for finding in report.findings if finding.cause == "tenant")
    assert tenant.data["in_log"] == 2
    assert "2 requests of the log share a key although it differs" in tenant.message


def test_a_key_that_nobody_gave_is_said() -> None:
    requests = [openai(question) for question in QUESTIONS]
    assert any(
        "no key was given: the last user message is taken" in note for note in check_keys(requests, judge()).notes
    )
    given = check_keys(requests, judge(), key=lambda request: json.dumps(request))
    assert not any("no key was given" in note for note in given.notes)
    # Of bare prompts there is nothing else to embed.
    assert not any("no key was given" in note for note in check_keys(QUESTIONS, judge()).notes)


def test_what_is_shared_on_purpose_is_not_asked_for() -> None:
    requests = [openai(question) for question in QUESTIONS]
    report = check_keys(requests, judge(), shared=["user", "model"])
    assert [finding.cause for finding in report.findings] == ["history", "system", "tenant", "tools"]


def test_parts_that_no_request_has_are_not_asked_for() -> None:
    report = check_keys([{"messages": [{"role": "user", "content": question}]} for question in QUESTIONS], judge())
    assert codes(report) == []
    assert report.told_apart == {}


def test_prompts_and_message_lists_are_requests_as_well() -> None:
    texts = check_keys(list(QUESTIONS), judge())
    assert texts.passed
    assert "give request bodies" in texts.text()
    lists = check_keys([openai(question)["messages"] for question in QUESTIONS], judge())
    assert [finding.cause for finding in lists.findings] == ["history", "system"]


def test_keys_equal_within_the_window_are_named() -> None:
    head = "word " * 20
    report = check_keys([*(head + question for question in QUESTIONS), "Short", "Shorter"], judge(window=16))
    (equal,) = (finding for finding in report.findings if finding.code == "key-equal-after-truncation")
    assert equal.data["requests"] == [0, 1, 2, 3, 4]
    assert equal.location.request == 0
    assert "5 different keys are the same within the 16 tokens that the encoder reads" in equal.message


def test_a_key_that_is_longer_and_alone_is_a_warning() -> None:
    report = check_keys(["word " * 20 + "end", "Short", "Other"], judge(window=16))
    assert codes(report) == [("key-longer-than-window", "truncation")]
    assert not report.passed
    within = check_keys([" ".join(["word"] * 16), "Short", "Other"], judge(window=16))
    assert within.passed


def test_without_a_tokenizer_the_window_shows_in_the_vectors() -> None:
    head = "word " * 100
    texts = [head + question for question in QUESTIONS]
    report = check_keys(texts, judge(limit=50))
    assert ("key-equal-after-truncation", "truncation") in codes(report)
    assert ("key-equal-after-truncation", "truncation") not in codes(check_keys(texts, judge(limit=500)))


def test_shared_text_that_lifts_unrelated_texts_is_named() -> None:
    """Nine of ten words are the template's."""
    template = "Answer as the help desk of our shop would, and be kind to whoever asks you. " * 6
    report = check_keys([f"{template}{question}" for question in QUESTIONS], judge())
    (found,) = report.findings
    assert found.code == "key-template"
    assert found.data["over"] > 20
    assert found.data["lifted"] == found.data["compared"] == 10
    assert "5 keys share" in found.message
    alone = check_keys(list(QUESTIONS), judge())
    assert alone.findings == []


def test_a_short_template_that_lifts_nothing_passes() -> None:
    report = check_keys([f"Question for the desk: {question}" for question in QUESTIONS], judge(threshold=0.97))
    assert report.passed


words = st.text("abcdefgh", min_size=1, max_size=6)


@given(
    st.text("abc xyz", max_size=40),
    st.text("abc xyz", max_size=40),
    st.lists(words, min_size=3, max_size=6, unique=True),
)
@settings(deadline=None)
def test_a_template_is_what_all_keys_share(before: str, after: str, variable: list[str]) -> None:
    texts = [f"{before} {word} {after}" for word in variable]
    for template in find_templates(texts):
        for key, varies in zip(template.keys, template.variable, strict=True):
            assert key.startswith(template.before)
            assert key.endswith(template.after)
            assert varies
            assert varies in key
    if len(before.strip()) >= 24:
        (found,) = find_templates(texts)
        assert found.before.strip() == before.strip()


@pytest.mark.parametrize(
    ("requests", "options", "message"),
    [
        ([], {}, "no requests"),
        ("lone", {}, "a list of prompts"),
        ([openai(" ")], {}, "request 0: key is blank"),
        ([openai("Hi")], {"key": lambda request: 3}, "request 0: key: a prompt is text, not an int"),
        ([openai("Hi")], {"partition": lambda request: request}, "partition gives dict"),
        ([{"model": "m"}], {}, "no prompt in it"),
        ([openai("Hi")], {"shared": ["models"]}, "some of history, system, tenant, user, model, tools"),
        ([openai("Hi")], {"shared": "model"}, "a list of some of"),
    ],
)
def test_what_cannot_be_checked_is_an_error(requests: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_keys(requests, judge(), **options)


def test_an_encoder_that_tells_nothing_apart_is_an_error() -> None:
    with pytest.raises(UsageError, match="same vector for 5 different keys"):
        check_keys(list(QUESTIONS), CollisionJudge(lambda texts: [[1.0, 2.0] for _ in texts], 0.9))


def test_no_prompt_text_is_in_the_report() -> None:
    requests = [openai(f"{question} xyzzy", tenant="acme-xyzzy") for question in QUESTIONS]
    report = check_keys(requests, judge())
    assert "xyzzy" not in report.text() + json.dumps(report.as_dict(), allow_nan=False)
