"""Untrusted prompt text: nothing a terminal, a CI or an eye is fooled by comes out."""

from __future__ import annotations

import io
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.report.visible import clip, display_width, printable, redact, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, 日本 and é", "plain text, 日本 and é"),
        ("a\nb\tc\rd", "a⏎b\\tc\\rd"),
        ("\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("no\u00a0break", "no\\xa0break"),
        ("line\u2028separator\x85", "line\\u2028separator\\x85"),
        ("\ud800 lone", "\\ud800 lone"),
        ("\U000e0041tag\ue000", "\\U000e0041tag\\ue000"),
        ("::error file=x::boo", "\\x3a:error file=x::boo"),
        ("  ::add-mask::x", "  \\x3a:add-mask::x"),
        ("text ##[error]boo", "text \\x23#[error]boo"),
        ("##vso[task.complete]", "\\x23#vso[task.complete]"),
        ("##teamcity[x]", "\\x23#teamcity[x]"),
        ("std::vector and ## heading", "std::vector and ## heading"),
    ],
)
def test_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_carriage_return_hides_no_command() -> None:
    assert visible("x\r::error::y") == "x\\r::error::y"


def test_kept_line_feeds_start_no_command() -> None:
    assert visible("a\n::error::b\n \t##[x]", keep_newlines=True) == "a\n\\x3a:error::b\n \\t\\x23#[x]"


@settings(derandomize=True, deadline=None, max_examples=tries(300))
@given(
    st.text(st.characters())
    | st.lists(st.sampled_from(["\n", "::", "##[", "##vso[", "x", "\r", " ", "\x1b"])).map("".join)
)
def test_no_text_comes_out_active(text: str) -> None:
    for shown, lines in ((visible(text), 1), (visible(text, keep_newlines=True), text.count("\n") + 1)):
        assert len(shown.split("\n")) == lines
        assert all(unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") for c in shown if c != "\n")
        assert not any(re.match(r"\s*::", line) or "##[" in line or "##vso[" in line for line in shown.splitlines())


@settings(derandomize=True, deadline=None)
@given(st.text(max_size=60), st.integers(1, 40))
def test_clip_keeps_the_width(text: str, width: int) -> None:
    shown = clip(visible(text), width)
    assert display_width(shown) <= width
    assert shown.rstrip("…") in visible(text)


def test_redaction_hides_the_text_and_tells_equal_from_different() -> None:
    assert redact("secret", "text") == "[6 characters]"
    assert redact("x", "text") == "[1 character]"
    hashes = [redact(t, "hash") for t in ("secret", "secret", "secrets")]
    assert hashes[0] == hashes[1] != hashes[2]
    assert "secret" not in hashes[0]
    assert redact("\x1b", "none") == "\\x1b"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_printing_never_fails(encoding: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    text = printable(visible("a\nb 日 é \ud800 …"), stream)
    stream.write(text)
    stream.flush()
    assert ("⏎" in text) == (encoding == "utf-8")
