"""Tags, courtesy and closings: dropped where they are none of the question, kept where they are the question."""

from __future__ import annotations

import pytest

from tests.support.semantic_pairs import detector


def tier(a: str, b: str) -> str:
    return detector().compare(a, b).different_answer


@pytest.mark.parametrize("wh", ["Why", "When", "Where"])
@pytest.mark.parametrize("rest", ["visible", "stored", "running"])
def test_a_negated_question_with_a_wh_word_is_no_tag(wh: str, rest: str) -> None:
    assert tier(f"{wh} is it not {rest}?", f"{wh} is it {rest}?") == "certain"
    assert tier(f"{wh} isn't it {rest}?", f"{wh} is it {rest}?") == "certain"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Is it not valid?", "Is it invalid?"),
        ("Is it not valid?", "Is it valid?"),
        ("Why is it not visible?", "Why is it invisible?"),
        ("Is it not possible to split an order?", "Is it impossible to split an order?"),
        ("Is it not possible to split an order?", "Is it possible to split an order?"),
        ("The queue is full, is it not?", "The queue is full"),
        ("The queue is full isn't it?", "The queue is full"),
        ("The job is done, isn't it?", "The job is done"),
        ("They ship abroad, don't they?", "They ship abroad"),
    ],
)
def test_a_polite_not_and_a_tag_change_nothing(a: str, b: str) -> None:
    assert tier(a, b) == "none"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Is it impossible to split an order?", "Is it possible to split an order?"),
        ("Is it valid?", "Is it invalid?"),
        ("The queue is full, is it not?", "The queue is empty"),
        ("Why don't you deliver to islands?", "Why do you deliver to islands?"),
    ],
)
def test_real_negations_are_kept(a: str, b: str) -> None:
    assert tier(a, b) == "certain"


@pytest.mark.parametrize("ask", ["Could", "Can", "Would"])
@pytest.mark.parametrize(
    "courtesy", ["{} you please tell me: {}", "{} you kindly tell me: {}", "Please, {} you tell me {}"]
)
def test_courtesy_inside_an_opener_hides_nothing(ask: str, courtesy: str) -> None:
    one, other = "do I rinse it before painting?", "Do I rinse it after painting?"
    assert tier(courtesy.format(ask, one), other) == "certain"
    assert tier(courtesy.format(ask, one), "Do I rinse it before painting?") == "none"


@pytest.mark.parametrize(
    "closing",
    ["Kind regards", "kind regards", "Best regards", "Warm regards", "Best wishes", "Yours sincerely", "Kind regards!"],
)
def test_a_closing_without_a_mark_in_front_hides_nothing(closing: str) -> None:
    assert tier(f"Unlock badge 5120 {closing}", "Lock badge 5120") == "certain"
    assert tier(f"Unlock badge 5120 {closing}", "Unlock badge 5120") == "none"
    assert tier(f"Is badge 5120 locked? {closing}", "Is badge 5120 locked?") == "none"
    assert tier(f"Is badge 5120 locked? {closing}", "Is badge 5120 unlocked?") == "certain"


def test_a_closing_that_is_asked_about_is_kept() -> None:
    assert tier("What stands before best wishes", "What stands before the signature") != "none"
