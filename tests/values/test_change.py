"""`classify_change`: the cause of a difference, the same from both sides."""

from __future__ import annotations

import string
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.values import classify_change


def first_difference(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


CASES = [
    ("timestamp", "Now 10:41", "Now 10:42"),
    ("timestamp", "Now 9:41 x", "Now 10:41 x"),
    ("date", "d 2026-11-29.", "d 2026-12-01."),
    ("timestamp", "2026-11-29T10:41:00Z", "2026-11-29T10:41:07Z"),
    ("date", "2026-11-29T00:00:00Z", "2026-11-30T00:00:00Z"),
    ("date", "Today is Tuesday.", "Today is Wednesday."),
    ("date", "Today: 29 Nov 2026", "Today: 30 Nov 2026"),
    ("date", "Today: 29 Nov 2026", "Today: 1 Dec 2026"),
    ("id", "id 550e8400-e29b-41d4-a716-446655440000", "id 650e8400-e29b-41d4-a716-446655440001"),
    ("id", "call_abc123 x", "call_abd124 x"),
    ("id", "req-8f3kd92ls0", "req-9f3kd92lsx"),
    ("number", "user1 x", "user2 x"),
    ("number", "page-001", "page-002"),
    ("number", "total 12", "total 123"),
    ("number", "5 kg now", "6 kg now"),
    ("path", "cwd=/tmp/abcd/x y", "cwd=/tmp/efgh/x y"),
    ("host", "on 10.0.0.5 ok", "on 10.0.0.6 ok"),
    ("whitespace", '{"a":1,"b":2,"c":"dddddd"}', '{"a": 1, "b": 2, "c": "dddddd"}'),
    ("whitespace", "foo  bar", "foo bar"),
    ("whitespace", "Open.\n<|im_end|>\n", "Open.<|im_end|>\n"),
    ("order", "a, b, c then", "c, b, a then"),
    ("order", "line one\nline two\nend", "line two\nline one\nend"),
    ("order", '{"type":"object","properties":{"x":1,"y":2}}', '{"properties":{"x":1,"y":2},"type":"object"}'),
    ("order", "Document [1]: foo\nDocument [2]: bar\n", "Document [2]: bar\nDocument [1]: foo\n"),
    ("order", '[{"name":"a","n":1},{"name":"b","n":2}] tail 1', '[{"name":"b","n":2},{"name":"a","n":1}] tail 2'),
    ("unicode_form", "café au lait bitte", "café au lait bitte"),
    ("unicode_form", '"caf\\u00e9 au lait bitte"', '"café au lait bitte"'),
    ("unicode_form", "ﬁsh", "fish"),
    ("other", "Hello World Here", "hello World Here"),
    ("other", "You are A bot", "You are B bot"),
    ("other", "Old text", "[pruned]"),
    ("timestamp", "t=1795999999 k", "t=1796000031 k"),
    ("other", "abc", "abcdef"),
    ("other", "abc 12", "abc 12 def"),
    ("other", "x Tuesday", "x "),
    ("other", "chunk 12 foo text", "chunk 12 bar text"),
    ("id", "<Foo at 0x7f3c2d1e>", "<Foo at 0x7f3c2d2e>"),
    ("timestamp", "Sun Nov 29 20:40:35 2026", "Sun Nov 29 20:40:36 2026"),
    ("timestamp", "\\nNow: 2026-11-29T10:41:00+00:00\\nfoo", "\\nNow: 2026-11-29T10:42:01+00:00\\nfoo"),
    ("order", "tags: red green blue", "tags: blue green red"),
    ("other", "The cat sat", "The dog sat"),
]


@pytest.mark.parametrize(("cause", "a", "b"), CASES)
def test_cause_from_both_sides(cause: str, a: str, b: str) -> None:
    at = first_difference(a, b)
    found, left, right = classify_change(a, b, at)
    assert found == cause
    assert classify_change(b, a, at) == (found, right, left)


@pytest.mark.parametrize(("cause", "a", "b"), CASES)
def test_cause_does_not_depend_on_what_stands_before(cause: str, a: str, b: str) -> None:
    before = "You are a billing helper for Example Ltd.\n" * 50
    assert classify_change(before + a, before + b, len(before) + first_difference(a, b))[0] == cause


@pytest.mark.parametrize("prefix", ["", "call_", "req-", "session_", "run:"])
@pytest.mark.parametrize(
    ("alphabet", "length"),
    [
        (string.ascii_letters + string.digits, 24),
        (string.ascii_lowercase + string.digits, 20),
        ("0123456789abcdef", 16),
    ],
)
def test_two_random_ids_are_seen_as_ids(prefix: str, alphabet: str, length: int) -> None:
    random = Random(f"{prefix}{length}")
    pairs = [["".join(random.choices(alphabet, k=length)) for _ in "ab"] for _ in range(200)]
    found = [
        classify_change(f"id {prefix}{a} x", f"id {prefix}{b} x", 3 + len(prefix) + first_difference(a, b))[0]
        for a, b in pairs
    ]
    # A few random words look like names; none may be called anything wrong but that.
    assert found.count("id") > 0.93 * len(found)


def test_two_class_names_are_no_ids() -> None:
    assert classify_change("class Wav2Vec2BertModel:", "class Wav2Vec2BertLayer:", 19)[0] == "other"
    assert classify_change("use Qwen3Coder30BInstruct now", "use Qwen3Coder30BThinking now", 17)[0] == "other"


def test_values_of_both_sides_are_given() -> None:
    _, left, right = classify_change("Now: 10:41.", "Now: 10:42:07.", 9)
    assert left is not None
    assert right is not None
    assert (left.text, left.granularity, right.text, right.granularity) == ("10:41", "minute", "10:42:07", "second")


def test_a_replaced_list_item_is_no_order() -> None:
    assert classify_change("a, b, c", "a, d, c", 3)[0] == "other"


def test_reordered_tools_far_apart_are_found() -> None:
    tools = [f'{{"name":"tool_{i}","description":"{"words " * 300}"}}' for i in range(40)]
    a, b = "[" + ",".join(tools) + "]", "[" + ",".join(reversed(tools)) + "]"
    assert classify_change(a, b, first_difference(a, b))[0] == "order"


_TEXT = st.lists(
    st.sampled_from(
        [
            "2026-11-29",
            "10:41",
            "10:42",
            "call_abc123",
            "a",
            "b",
            "A",
            " ",
            "\n",
            ",",
            "é",
            "e\u0301",
            "{",
            "}",
            "12",
            "7",
            "/tmp/x",
        ]
    )
    | st.text(max_size=4),
    max_size=30,
).map("".join)


@settings(derandomize=True, deadline=None, max_examples=tries(500))
@given(_TEXT, _TEXT, _TEXT)
def test_symmetrical(before: str, a: str, b: str) -> None:
    one, other = before + a, before + b
    at = first_difference(one, other)
    cause, left, right = classify_change(one, other, at)
    assert classify_change(other, one, at) == (cause, right, left)
