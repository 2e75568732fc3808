"""Quick ways through the detector give what the thorough ones give."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.semantic.detect import Detector
from pytest_cachesafe.semantic.tables import Tables
from pytest_cachesafe.semantic.text.scan import scan

PLAIN = st.text(alphabet="abgetcx '_-./,?!:;\n()\"%$[]{}~@^*\\\té’“🤗İß", max_size=40)


@settings(deadline=None, max_examples=tries(500))
@given(PLAIN)
@example("get /users")
@example("i can't log_in, can i?")
@example("a--b")
@example("and/or")
@example("l'état c'est moi (_x_)")
def test_plain_prompts_are_cut_as_all_others_are(text: str) -> None:
    # A sign behind it, which is no word, and the prompt is no plain one.
    assert list(scan(text)) == list(scan(text + " ="))


@settings(deadline=None)
@given(st.text(max_size=60))
def test_every_piece_is_a_slice_of_its_prompt(text: str) -> None:
    tokens = scan(text)
    assert [tokens[at] for at in range(len(tokens))] == list(tokens) == tokens[:]
    assert all(0 <= t.start < t.end <= len(text) for t in tokens)
    assert list(tokens.starts) == sorted(tokens.starts)


def test_words_are_put_in_place_of_others() -> None:
    tokens = scan("please log in now")
    spliced = tokens.spliced([(0, 1, ()), (1, 2, ("log_in",))])
    assert [(t.word, t.start, t.end) for t in spliced] == [("log_in", 7, 13), ("now", 14, 17)]


@pytest.mark.parametrize("turns", [1, 2])
def test_words_are_kept_for_their_own_tables_only(turns: int) -> None:
    shipped = Detector()
    mine = Detector(Tables.default().with_user(ignore=["weekly"], antonyms=[("export", "print")]))
    for _ in range(turns):
        assert shipped.compare("Send the weekly report", "Send the report").differences
        assert not mine.compare("Send the weekly report", "Send the report").differences
        assert mine.compare("How do I export it?", "How do I print it?").kind == "antonym"
        assert shipped.compare("How do I export it?", "How do I print it?").kind != "antonym"
