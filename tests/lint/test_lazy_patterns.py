"""Patterns that are compiled when they are first asked are the patterns that `re.compile` makes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachesafe_rules.patterns import lazy_pattern

SOURCES = [(r"(?P<word>\w+)-(\d+)", 0), (r"^ab?", re.MULTILINE), (r"A|é", re.IGNORECASE), ("", 0)]


@given(st.sampled_from(SOURCES), st.text(alphabet="aAbB1-é\n", max_size=30))
def test_it_finds_what_a_compiled_one_finds(source: tuple[str, int], text: str) -> None:
    lazy, made = lazy_pattern(*source), re.compile(*source)
    for method in ("search", "match", "fullmatch"):
        assert _span(getattr(lazy, method)(text)) == _span(getattr(made, method)(text))
    assert [m.groups() for m in lazy.finditer(text)] == [m.groups() for m in made.finditer(text)]
    assert (lazy.findall(text), lazy.split(text)) == (made.findall(text), made.split(text))
    assert (lazy.sub("<>", text), lazy.subn("<>", text)) == (made.sub("<>", text), made.subn("<>", text))
    assert lazy.pattern == made.pattern


def test_bytes_are_asked_as_well() -> None:
    assert lazy_pattern(rb"\bdef (\w+)").findall(b"def a(): ...\ndef b(): ...") == [b"a", b"b"]


def test_it_is_compiled_once_and_not_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    compile_ = re.compile

    def noted(source: str, flags: int = 0) -> re.Pattern[str]:
        made.append(source)
        return compile_(source, flags)

    monkeypatch.setattr(re, "compile", noted)
    lazy = lazy_pattern("x+")
    assert made == []
    assert [bool(lazy.search(text)) for text in ("ax", "b", "xx")] == [True, False, True]
    assert lazy.match("xx") is not None
    assert made == ["x+"]


def test_what_a_pattern_has_not_is_an_error() -> None:
    with pytest.raises(AttributeError, match="serch"):
        _ = lazy_pattern("x").serch  # type: ignore[attr-defined]


def _span(found: Any) -> tuple[int, int] | None:
    return None if found is None else found.span()
