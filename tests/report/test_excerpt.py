"""Two sides of a divergence: aligned, marked, bounded, safe."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.report.excerpt import excerpt
from pytest_cachesafe.report.visible import display_width


def test_caret_stands_under_the_first_difference() -> None:
    shared = "You are a helper for 日本 Ltd.\nNow: 10:4"
    lines = excerpt(shared + "1. Answer", shared + "2. Answer", len(shared))
    assert lines == [
        "before: …e a helper for 日本 Ltd.⏎Now: 10:41. Answer",
        "after:  …e a helper for 日本 Ltd.⏎Now: 10:42. Answer",
        " " * display_width("before: …e a helper for 日本 Ltd.⏎Now: 10:4") + "^",
    ]


def test_texts_that_look_alike_are_written_out() -> None:
    lines = excerpt("caf\u00e9 au lait", "cafe\u0301 au lait", 3)
    assert lines[:2] == ["before: caf\\xe9 au lait", "after:  cafe\\u0301 au lait"]


def test_an_end_is_named() -> None:
    assert excerpt("ab", "abc", 2)[:2] == ["before: ab(ends here)", "after:  abc"]


def test_token_ids_have_no_text_to_show() -> None:
    assert excerpt("", "", 0) == []


def test_escapes_before_the_difference_move_the_caret() -> None:
    assert excerpt("\x1bx", "\x1by", 1)[2] == " " * len("before: \\x1b") + "^"


def test_different_leads_behind_an_accepted_divergence_stay_aligned() -> None:
    lines = excerpt("day 1: a", "monday 12: b", 7, at_b=11, labels=("request 0", "request 1"))
    column = lines[2].index("^")
    assert (lines[0][column], lines[1][column]) == ("a", "b")


@pytest.mark.parametrize("mode", ["text", "hash"])
def test_redacted_excerpts_hold_no_text(mode: str) -> None:
    lines = excerpt("the password is x", "the password is y", 16, redact_mode=mode)  # type: ignore[arg-type]
    assert "password" not in "\n".join(lines)
    assert "character" in lines[0]


@settings(derandomize=True, deadline=None, max_examples=tries(200))
@given(st.text(max_size=60), st.text(max_size=200), st.text(max_size=200), st.integers(40, 120))
def test_lines_are_three_short_and_plain(shared: str, a: str, b: str, width: int) -> None:
    lines = excerpt(shared + a, shared + b, len(shared), width=width)
    assert len(lines) == (3 if a or b else 0)
    assert all("\n" not in line for line in lines)
    assert all(display_width(line) <= width for line in lines[:2])


def test_only_a_window_of_a_large_text_is_read() -> None:
    large = "word " * 2_000_000
    # Escaping ten megabytes five hundred times would not end.
    for _ in range(500):
        lines = excerpt(large, large, 5_000_000)
    assert lines[0].startswith("before: …")


def test_the_end_of_a_text_on_the_wire_is_told_in_words() -> None:
    before, after, _ = excerpt("Be kind.␟\n", "Be kind.\n- slow", 8)
    assert before.endswith("␟⏎ (the text ends here)")
    assert after.endswith("⏎- slow")
    before, after, _ = excerpt("Be kind.␟\n␞user text\n", "Be kind.\n", 8)
    assert before.endswith("␟⏎ (the text ends here) ␞user text⏎")
    assert "ends here" not in after
