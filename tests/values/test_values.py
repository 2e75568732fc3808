"""`find_values` and `value_at`: what is recognised, what is left alone, and that no input makes them slow."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.values import find_values, value_at


@pytest.mark.parametrize(
    ("text", "kind", "value", "granularity"),
    [
        ("now 2026-11-29T20:40:35Z.", "timestamp", "2026-11-29T20:40:35Z", "second"),
        ("2026-11-29 20:40:35.123 UTC", "timestamp", "2026-11-29 20:40:35.123 UTC", "second"),
        ("2026-11-29T20:40+01:00", "timestamp", "2026-11-29T20:40+01:00", "minute"),
        ("2026-11-29T00:00:00Z", "timestamp", "2026-11-29T00:00:00Z", "day"),
        ("Sun, 29 Nov 2026 20:40:35 +0000", "timestamp", "Sun, 29 Nov 2026 20:40:35 +0000", "second"),
        ("Tue Nov 29 20:40:35 2026", "timestamp", "Tue Nov 29 20:40:35 2026", "second"),
        ("on Nov 29, 2026 at 8:40 PM we", "timestamp", "Nov 29, 2026 at 8:40 PM", "minute"),
        ("[29/Nov/2026:20:40:35 +0000]", "timestamp", "29/Nov/2026:20:40:35 +0000", "second"),
        ("run-20261129T204035Z", "timestamp", "20261129T204035Z", "second"),
        ("log_2026-11-29_20-40-35.txt", "timestamp", "2026-11-29_20-40-35", "second"),
        ("ts=1795999999", "timestamp", "1795999999", "second"),
        ("ts=1795999999.25", "timestamp", "1795999999.25", "second"),
        ("ts=1795999999123", "timestamp", "1795999999123", "second"),
        ("at 10:41 sharp", "time", "10:41", "minute"),
        ("at 10:41:05 AM", "time", "10:41:05 AM", "second"),
        ("at 3 PM", "time", "3 PM", "hour"),
        ("Today: 2026-11-29", "date", "2026-11-29", "day"),
        ("Today: 29 Nov 2026", "date", "29 Nov 2026", "day"),
        ("Nov 29, 2026", "date", "Nov 29, 2026", "day"),
        ("November 29th", "date", "November 29th", "day"),
        ("29.11.2026", "date", "29.11.2026", "day"),
        ("11/29/2026", "date", "11/29/2026", "day"),
        ("Today is Tuesday.", "date", "Tuesday", "day"),
        ("in November 2026 we", "date", "November 2026", "month"),
        ("Current year: 2026", "date", "2026", "year"),
        (r"text\n2026-11-29 in a JSON string", "date", "2026-11-29", "day"),
        ("550e8400-e29b-41d4-a716-446655440000", "uuid", "550e8400-e29b-41d4-a716-446655440000", None),
        ("d41d8cd98f00b204e9800998ecf8427e", "hash", "d41d8cd98f00b204e9800998ecf8427e", None),
        ("commit a1b2c3d fixed", "hash", "a1b2c3d", None),
        ("id call_abc123", "id", "call_abc123", None),
        ("req-8f3kd92ls0", "id", "req-8f3kd92ls0", None),
        ("chatcmpl-AbC123xyzQ9", "id", "chatcmpl-AbC123xyzQ9", None),
        ("toolu_01A09q90qw90lq917835lq9", "id", "toolu_01A09q90qw90lq917835lq9", None),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "id", "01ARZ3NDEKTSV4RRFFQ69G5FAV", None),
        ("V1StGXR8_Z5jdHi6B-myT", "id", "V1StGXR8_Z5jdHi6B-myT", None),
        ("cwd=/tmp/pytest-1/x.txt.", "path", "/tmp/pytest-1/x.txt", None),
        (r"in C:\Users\me\a.txt", "path", r"C:\Users\me\a.txt", None),
        ("from 10.0.0.5:8080", "host", "10.0.0.5:8080", None),
        ("fe80::1ff:fe23:4567:890a", "host", "fe80::1ff:fe23:4567:890a", None),
        ("on localhost:8000", "host", "localhost:8000", None),
        ("<Foo object at 0x7f3c2d1e>", "address", "0x7f3c2d1e", None),
        ("weighs 5 kg", "unit", "5 kg", None),
        ("grew 12%", "unit", "12%", None),
        ("sum 1,234,567.89", "number", "1,234,567.89", None),
    ],
)
def test_recognised(text: str, kind: str, value: str, granularity: str | None) -> None:
    found = find_values(text)
    assert [(v.kind, v.text, v.granularity) for v in found] == [(kind, value, granularity)]
    assert text[found[0].start : found[0].end] == value


@pytest.mark.parametrize(
    "text",
    [
        "version 1.2.3",
        "Python 3.11 and v2.0.1-rc1",
        "in 1999 and 2026 we",
        "ISBN 1491957662",
        "ISBN 978-0-306-40615-7",
        "$1499999999",
        "1500000000 people",
        "2147483647",
        "the gpt-4o-2024-08-06 model",
        "claude-sonnet-4-20250514",
        "a ratio of 16:9",
        "tool_choice file_search get_weather thread_id max_tokens",
        "some-long-kebab-case-name",
        "getElementByIdAndClassName2",
        "Wav2Vec2BertRotaryPositionalEmbedding and Qwen3OmniMoeTalkerTextMLP",
        "Qwen3-Coder-30B-A3B-Instruct",
        "x[..., 0::2] and a::b",
        "File grid.py:26",
        "regex>=2025.10.22",
        "bytes free 2758115328",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        "std::vector<int>",
        "May I go in March, or Mon?",
        "decade1 facade22",
        "and/or </div>",
        "colour #a1b2c3d4",
    ],
)
def test_left_alone(text: str) -> None:
    assert [v for v in find_values(text) if v.kind not in ("number", "unit")] == []


def test_kinds_keep_whole_values_only() -> None:
    assert find_values("2026-11-29T20:40:35Z", {"date", "time"}) == []
    assert [v.text for v in find_values("2026-11-29, then 10:41", ["date"])] == ["2026-11-29"]


def test_what_is_no_id_is_read_for_dates() -> None:
    assert [v.text for v in find_values("report-2026-11-29-final")] == ["2026-11-29"]


_SOUP = st.lists(
    st.sampled_from(
        ["2026-11-29", "10:41", "a1b2c3d4", "/tmp/x", "Nov", " ", "29", ",", ":", "-", ".", "\\", "é", "Z", "\n"]
    )
    | st.text(max_size=5),
    max_size=40,
).map("".join)


@settings(derandomize=True, deadline=None, max_examples=tries(300))
@given(_SOUP)
def test_values_are_ordered_disjoint_and_exact(text: str) -> None:
    end = 0
    for value in find_values(text):
        assert end <= value.start < value.end
        assert text[value.start : value.end] == value.text
        end = value.end


@settings(derandomize=True, deadline=None, max_examples=tries(200))
@given(_SOUP)
def test_value_at_agrees_with_find_values_in_short_texts(text: str) -> None:
    found = find_values(text)
    for index in range(len(text) + 1):
        here = value_at(text, index)
        covering = [v for v in found if v.start <= index < v.end]
        touching = [v for v in found if v.end == index]
        assert here == (covering or touching or [None])[0]


def test_value_at_reads_a_window_only() -> None:
    filler = "word " * 400_000
    text = filler + "2026-11-29T20:40:35Z " + filler
    at = len(filler) + 5
    # A scan of 4 MB takes seconds: two thousand of them would not end.
    values = {value_at(text, at) for _ in range(2000)}
    assert [(v.start, v.text) for v in values if v] == [(len(filler), "2026-11-29T20:40:35Z")]


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "1",
        "a1",
        "/a",
        "A-",
        "1.",
        "1:",
        "::",
        "a:",
        "Nov ",
        "2026-",
        "a_",
        "C:\\",
        "a.",
        "\\",
        "1,000",
        "req_",
        "f:",
    ],
)
def test_no_input_makes_it_slow(unit: str) -> None:
    # Work that grows with the square of this text would take hours.
    text = unit * (200_000 // len(unit))
    assert find_values(text + " 2026-11-29T20:40:35Z")[-1].text == "2026-11-29T20:40:35Z"


_WORD = st.from_regex(r"[A-Z]?[a-z]{1,9}", fullmatch=True)
_MOMENT = st.datetimes(datetime(2000, 1, 1, 0, 0, 1), datetime(2035, 12, 31))
_ZONES = st.sampled_from([None, timezone.utc, timezone(timedelta(hours=5, minutes=30))])
# As programs print them, with the time to the second; and what may stand behind a word only with a blank between.
_PRINTED = [
    datetime.isoformat, lambda d: d.isoformat(" "), lambda d: d.isoformat(" ", "minutes"), "%Y-%m-%d %H:%M:%S",
    "%H:%M:%S", "%H:%M:%S.%f", "%Y%m%dT%H%M%S", "%Y-%m-%d, %H:%M:%S",
]  # fmt: skip
_APART = ["%H:%M", "%a %b %d %H:%M:%S %Y", "%d.%m.%Y %H:%M", "%b %d, %Y at %H:%M"]


@given(_MOMENT, st.sampled_from([*_PRINTED, *_APART]), _ZONES, st.data())
@settings(deadline=None)
def test_a_clock_between_words_is_found(moment: datetime, form: Any, zone: Any, data: st.DataObject) -> None:
    moment = moment.replace(tzinfo=zone) if callable(form) else moment
    clock = form(moment) if callable(form) else moment.strftime(form)
    before = data.draw(_WORD if form in _PRINTED else st.sampled_from(["", "It is ", "(", "time="]))
    text = before + clock + data.draw(_WORD)
    start, end = len(before), len(before) + len(clock)
    found = [v for v in find_values(text) if v.kind in ("timestamp", "time") and v.start <= start and v.end >= end]
    assert len(found) == 1, (text, find_values(text))


_DOTTED = st.lists(st.integers(0, 99_999), min_size=2, max_size=4).map(lambda n: ".".join(map(str, n)))
_ADDRESS = st.tuples(st.ip_addresses(), st.sampled_from(["", ":80", ":8080"])).map(lambda p: f"{p[0]}{p[1]}")
_UUIDS = st.uuids().map(str)
_HEX = st.integers(10**12, 10**40).map(lambda n: f"{n:x}")
_IDS = st.tuples(st.sampled_from(["req_", "call_", "v", "rc", "build-", "id:"]), st.integers(0, 9999)).map(
    lambda p: f"{p[0]}{p[1]}"
)


@given(st.one_of(_DOTTED, _ADDRESS, _UUIDS, _HEX, _IDS), st.one_of(st.just(""), _WORD), st.one_of(st.just(""), _WORD))
@settings(deadline=None)
def test_versions_ids_addresses_and_decimals_between_words_are_no_clock(value: str, before: str, after: str) -> None:
    text = before + value + after
    assert [v for v in find_values(text) if v.kind in ("timestamp", "time")] == [], text


def test_a_word_behind_a_clock_does_not_make_it_a_number() -> None:
    from pytest_cachesafe.values import classify_change

    one, other = "2026-11-30 07:49:06.488108Answer briefly.", "2026-11-30 07:49:07.102331Answer briefly."
    cause, left, right = classify_change(one, other, 18)
    assert left is not None
    assert right is not None
    assert (cause, left.text, right.text) == ("timestamp", one[:26], other[:26])


@pytest.mark.parametrize("text", ["item10:20 of", "aspect16:10", "verse3:16th", "AB10:20:30:40", "fe80::a10:20:30"])
def test_pairs_of_numbers_in_words_are_no_clock(text: str) -> None:
    assert [v for v in find_values(text) if v.kind in ("timestamp", "time")] == []
