"""The lock file as text: round trips, merges of two of them, and what cannot be read."""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.gate.entry import Entry, entry_of
from pytest_cachesafe.gate.lockfile import dump, parse, read, write
from pytest_cachesafe.usage import UsageError

_COUNTS = st.integers(0, 10**9)
_NAMES = st.text(max_size=12)
_WORDS = st.none() | st.text(string.ascii_letters, min_size=1, max_size=6)


@st.composite
def entries(draw: st.DrawFn, tests: st.SearchStrategy[str] = _NAMES) -> Entry:
    """Any entry that a check can leave."""
    prefix = draw(_WORDS)
    return Entry(
        draw(tests), draw(_NAMES), draw(st.sampled_from(["stable", "reuse", "provider", "snapshot"])), draw(_NAMES),
        template=draw(_WORDS), tokenizer=draw(_WORDS), exact=draw(st.booleans()), requests=draw(_COUNTS),
        tokens=draw(_COUNTS), reusable=draw(_COUNTS), kept=draw(st.dictionaries(_NAMES, _COUNTS, max_size=3)),
        cause=draw(_WORDS), place=draw(_WORDS), prefix=prefix, prefix_tokens=draw(_COUNTS) if prefix else 0,
        cost_usd=draw(st.none() | st.floats(0, 10**6)),
    )  # fmt: skip


def by_key(found: list[Entry]) -> dict[tuple[str, str], Entry]:
    return {entry.key: entry for entry in found}


def line(**values: object) -> str:
    made = {
        "test": "t.py::a", "name": "stable", "kind": "stable", "front_end": "wire", "requests": 2, "tokens": 9,
        "reusable": 5, "kept": {"stable": 5}, "schema": 1, **values,
    }  # fmt: skip
    return json.dumps({key: value for key, value in made.items() if value is not ...}) + "\n"


@given(st.lists(entries()))
def test_what_is_written_is_read_again(found: list[Entry]) -> None:
    lock = parse(dump(by_key(found)), "lock")
    assert lock.entries == by_key(found)
    assert not lock.contradictions


@given(st.lists(entries()))
def test_it_is_ascii_sorted_one_line_each_in_any_order(found: list[Entry]) -> None:
    kept = by_key(found)
    text = dump(kept)
    assert text == dump(dict(reversed(kept.items())))
    assert text.isascii()
    assert text.count("\n") == len(kept)
    keys = [(row["test"], row["name"]) for row in map(json.loads, text.splitlines())]
    assert keys == sorted(keys)


@given(st.lists(entries(st.sampled_from("abc")), max_size=6), st.lists(entries(st.sampled_from("abc")), max_size=6))
@settings(max_examples=tries(200))
def test_a_union_of_two_gives_each_key_once_or_names_both_lines(ours: list[Entry], theirs: list[Entry]) -> None:
    a, b = by_key(ours), by_key(theirs)
    lines = [*dump(a).splitlines(), *dump(b).splitlines()]
    lock = parse("\n".join(lines) + "\n", "lock")
    assert lock.entries.keys() == a.keys() | b.keys()
    differing = {key for key in a.keys() & b.keys() if a[key] != b[key]}
    assert {key for key, *_ in lock.contradictions} == differing == lock.rivals.keys()
    for key, first, second in lock.contradictions:
        assert [parse(lines[row - 1], "lock").get(key) for row in (first, second)] == [a[key], b[key]]
    # Written by a run that saw none of these tests: both lines stay, whichever branch was merged into which.
    swapped = parse("\n".join([*dump(b).splitlines(), *dump(a).splitlines()]), "lock")
    assert dump(lock.entries, lock.rivals) == dump(swapped.entries, swapped.rivals)
    assert parse(dump(lock.entries, lock.rivals), "lock").rivals.keys() == differing


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda data: data.decode("latin-1")))
def test_any_text_is_a_lock_file_or_one_line_of_words(text: str) -> None:
    said = ""
    try:
        parse(text, "lock")
    except UsageError as error:
        said = str(error)
    assert not said or (said.startswith("lock:") and len(said.splitlines()) == 1)


@given(entries(), st.data())
def test_a_cut_line_is_never_another_entry(entry: Entry, data: st.DataObject) -> None:
    text = dump(by_key([entry]))
    cut = data.draw(st.integers(1, len(text) - 2))
    with pytest.raises(UsageError, match=r"^lock:1: not JSON: .*cut off.*--cachesafe-update"):
        parse(text[:cut], "lock")


WRONG: dict[str, tuple[str, str]] = {
    "conflict": (
        "<<<<<<< HEAD\n" + line() + "=======\n",
        "lock:1: a conflict marker of a merge: keep the lines of both",
    ),
    "conflict later": (line() + ">>>>>>> b\n", "lock:2: a conflict marker"),
    "newer": (line(schema=2), "lock:1: written by a newer version (schema 2, this one reads 1): upgrade"),
    "no schema": (line(schema=...), "lock:1: no schema number"),
    "schema of text": (line(schema="1"), "lock:1: no schema number"),
    "a list": ("[1]\n", "lock:1: a JSON object is meant"),
    "not JSON": (line() + "hello\n" + line(name="b"), "lock:2: not JSON"),
    "deep": ("[" * 100_000 + "\n", "lock:1: "),
    "missing": (line(tokens=...), "lock:1: tokens is missing"),
    "negative": (line(tokens=-1), "lock:1: tokens is -1"),
    "float": (line(tokens=1.5), "lock:1: tokens is 1.5"),
    "truth": (line(tokens=True), "lock:1: tokens is true"),
    "text": (line(tokens="9"), 'lock:1: tokens is "9"'),
    "null": (line(template=None), "lock:1: template is null"),
    "kept": (line(kept={"stable": -5}), "lock:1: kept is"),
    "kept of a list": (line(kept=[1]), "lock:1: kept is [1]"),
    "no number": (line(cost_usd=float("nan")), "lock:1: cost_usd is NaN"),
    "endless": (line(cost_usd=float("inf")), "lock:1: cost_usd is Infinity"),
    "estimated": (line(estimated="no"), 'lock:1: estimated is "no"'),
    "huge": (line(tokens=10**40), "lock:1: tokens is 1000"),
}


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG)
def test_nonsense_is_one_line_with_its_place(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text, "lock")
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("name", [name for name in WRONG if name != "newer"])
def test_to_be_mended_good_lines_stay_and_the_others_are_named(name: str) -> None:
    lock = parse(WRONG[name][0] + line(name="good"), "lock", mend=True)
    assert ("t.py::a", "good") in lock.entries
    assert lock.dropped
    assert all(words.startswith("lock:") for words in lock.dropped)


def test_a_newer_file_is_never_mended() -> None:
    with pytest.raises(UsageError, match="newer version"):
        parse(WRONG["newer"][0], "lock", mend=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text + "\n\n",
        lambda text: text + text,
        lambda text: text.rstrip("\n"),
    ],
    ids=["CRLF", "BOM", "blank lines", "twice", "no newline at the end"],
)
def test_what_editors_and_merges_do_to_a_file_is_read(change: Callable[[str], str], tmp_path: Path) -> None:
    text = line() + line(name="two")
    path = tmp_path / "lock"
    path.write_bytes(change(text).encode())
    lock = read(path)
    assert lock is not None
    assert lock.entries == parse(text, "lock").entries
    assert not lock.contradictions
    assert write(path, lock.entries)
    assert path.read_bytes() == dump(lock.entries).encode()


def test_keys_of_a_later_version_are_read_over() -> None:
    assert parse(line(added={"by": ["a later version"]}), "lock").entries == parse(line(), "lock").entries


def test_other_bytes_are_told_and_mended(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_bytes(line().encode() + b'{"test": "caf\xe9"}\n')
    with pytest.raises(UsageError, match="not UTF-8"):
        read(path)
    lock = read(path, mend=True)
    assert lock is not None
    assert len(lock) == 1
    assert lock.dropped == ["lock:2: not UTF-8"]


def test_a_folder_in_its_place_and_no_file_at_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path)
    assert read(tmp_path / "none") is None


class Checked:
    """A report as far as an entry reads it."""

    gate_kind = "stable"

    def __init__(self, front_end: str) -> None:
        self.front_end = front_end

    def gate_values(self) -> dict[str, object]:
        return {
            "kind": "stable", "front_end": self.front_end, "requests": 1, "tokens": 1, "reusable": 0, "kept": {},
            "cost_usd": 0.1 + 0.2,
        }  # fmt: skip


@pytest.mark.parametrize(
    ("front_end", "written"),
    [
        ("chat template /home/t.jinja (text level, sha256 01ab)", "chat template t.jinja (text level, sha256 01ab)"),
        ("chat template /home/my work/a b.jinja (sha256 0123abcd)", "chat template a b.jinja (sha256 0123abcd)"),
        ("chat template of /models/Qwen/ (sha256 0123abcd)", "chat template of Qwen (sha256 0123abcd)"),
        ("chat template of Qwen/Qwen3-8B (sha256 0123abcd)", "chat template of Qwen/Qwen3-8B (sha256 0123abcd)"),
        ("callable f.<locals>.g", "callable f.<locals>.g"),
    ],
)  # fmt: skip
def test_no_folder_of_this_machine_and_no_noise_of_floats_goes_in(front_end: str, written: str) -> None:
    entry = entry_of(Checked(front_end), "t.py::a", "stable")
    assert entry.front_end == written
    assert entry.cost_usd == 0.3


def test_the_work_grows_with_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    equal = Entry.__eq__

    def counted(self: Entry, other: object) -> bool:
        nonlocal compared
        compared += 1
        return equal(self, other)

    monkeypatch.setattr(Entry, "__eq__", counted)
    found = [Entry(f"t.py::t{i}", "stable", "stable", "wire", tokens=i) for i in range(2000)]
    other = [Entry(f"t.py::t{i}", "stable", "stable", "wire", tokens=i + i % 2) for i in range(2000)]
    lock = parse(dump(by_key(found)) + dump(by_key(other)), "lock")
    assert len(lock.contradictions) == 1000
    # Each second line against the one before it, and each differing one against the one rival there is.
    assert compared <= 4000
