"""Lines that are known without being read: never other than what reading them says."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.gate import lockfile
from pytest_cachesafe.gate.entry import Entry
from pytest_cachesafe.gate.lines import key_of
from pytest_cachesafe.gate.lockfile import dump, parse
from pytest_cachesafe.usage import UsageError

WHOLE = dump(
    {
        ("t.py::a", "é"): Entry(
            "t.py::a", "é", "reuse", "wire \\ \"x\"", template="0a", tokenizer="0b", exact=False, requests=3, tokens=19,
            reusable=9, kept={"stable": 9, "vllm": 0}, cause="clock", place="system", prefix="0c", prefix_tokens=4,
            cost_usd=1.5e-05,
        )
    }
)  # fmt: skip
SMALL = dump({("t.py::a", "stable"): Entry("t.py::a", "stable", "stable", "wire")})


def slowly(line: str) -> Entry | None:
    """What reading the line says; None where it is refused. A blank key in front is no entry's form."""
    try:
        lock = parse(line.replace("{", '{"": 0, ', 1) if line.startswith('{"') else line, "lock")
    except UsageError:
        return None
    return next(iter(lock.entries.values()), None)


@pytest.mark.parametrize("line", [WHOLE, SMALL, SMALL.replace("\n", "\r\n")])
def test_what_this_version_writes_is_known_without_reading(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    meant = slowly(line)
    assert meant is not None
    assert key_of(line.rstrip("\n")) == meant.key
    read: list[str] = []
    known = lockfile._known

    def counted(text: str) -> Entry:
        read.append(text)
        return known(text)

    monkeypatch.setattr(lockfile, "_known", counted)
    monkeypatch.setattr(lockfile, "_entry", lambda *_, **__: pytest.fail("read"))
    lock = parse(line + line.replace("t.py::a", "t.py::b"), "lock")
    assert (len(lock), read) == (2, [])
    assert lock.get(meant.key) == meant
    # Asked for twice, read once.
    assert lock.get(meant.key) is lock.get(meant.key)
    assert len(read) == 1


@given(st.sampled_from([WHOLE, SMALL]), st.integers(0, 400), st.integers(0, 3), st.text(string.printable, max_size=3))
@settings(max_examples=tries(500))
def test_a_damaged_line_is_never_taken_for_known(line: str, at: int, removed: int, put: str) -> None:
    damaged = (line[:at] + put.replace("\n", "") + line[at + removed :]).rstrip("\n")
    key = key_of(damaged)
    if key is not None:
        read = slowly(damaged)
        assert read is not None
        assert key == read.key
        assert parse(damaged, "lock").get(key) == read


@given(
    st.sampled_from(["requests", "tokens", "reusable", "prefix_tokens", "cost_usd", "kept", "estimated", "schema"]),
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.just(10**15)
    | st.just({"a": -1}),
)
@settings(max_examples=tries(300))
def test_a_value_that_reading_refuses_is_never_known(name: str, value: object) -> None:
    line = json.dumps({**json.loads(WHOLE), name: value})
    assert key_of(line) is None or slowly(line) is not None


def test_the_pattern_is_linear_in_the_line() -> None:
    # Backtracking over any of these would not end.
    for part in ("a" * 200_000, "\\\\" * 100_000, '"a": 1, ' * 50_000):
        assert key_of(SMALL.rstrip("\n")[:-2] + part) is None
        assert key_of('{"test": "' + part) is None
        assert key_of(SMALL.replace('"kept": {}', '"kept": {' + part).rstrip("\n")) is None


def test_exactness_is_written_one_way_only() -> None:
    line = json.dumps({**json.loads(WHOLE), "exact": "yes"})
    assert parse(line, "lock").entries == parse(WHOLE, "lock").entries
