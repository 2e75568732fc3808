"""Wording that never changes an answer: slips of the pen, hesitation, courtesy, filling words."""

from __future__ import annotations

from functools import cache

import pytest

from pytest_cachesafe.semantic.detect import Detector

QUESTIONS = [
    "How do I replace the battery of the scanner?",
    "Which documents does a visitor need for the badge?",
    "Is the canteen open on Fridays?",
    "What's the fee for 3 parcels?",
    "Can I share the calendar without an account?",
]


@cache
def detector() -> Detector:
    return Detector()


def tier(a: str, b: str) -> str:
    return detector().compare(a, b).different_answer


@pytest.mark.parametrize(
    ("right", "slip"),
    [
        ("battery", "batery"),
        ("scanner", "scaner"),
        ("replace", "relpace"),
        ("documents", "docments"),
        ("visitor", "vistor"),
        ("badge", "bagde"),
        ("open", "opne"),
        ("Fridays", "Firdays"),
        ("parcels", "parcles"),
        ("without", "withuot"),
        ("calendar", "calender"),
        ("Which", "Whcih"),
    ],
)
def test_a_slip_of_the_pen_is_read_after_the_other_prompt(right: str, slip: str) -> None:
    (question,) = (q for q in QUESTIONS if right in q)
    assert tier(question, question.replace(right, slip)) == "none"
    assert tier(question.replace(right, slip), question) == "none"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        # Two words that exist are two words, however near.
        ("Where is the hostel?", "Where is the hotel?"),
        ("Set the contrast", "Set the contract"),
        ("Does Ana have access?", "Does Ani have access?"),
        ("Is a formal tone used?", "Is an informal tone used?"),
        ("Ship it in formal dress", "Ship it informal"),
    ],
)
def test_words_that_exist_are_no_slips(a: str, b: str) -> None:
    assert tier(a, b) != "none"


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    "wording",
    [
        "um, {}",
        "so like {}",
        "right, {}",
        "okay so um {}",
        "Hiya, {}",
        "Quick question: {}",
        "Sorry for the bother, {}",
        "Hope you are well. {}",
        "{} Any help would be greatly appreciated.",
        "{} Thanks a million!",
        "{} Kind regards",
        "Can anyone tell me {}",
        "I was just wondering, {}",
        "wait, {}",
    ],
)
def test_courtesy_and_hesitation(question: str, wording: str) -> None:
    said = wording.format(question[0].lower() + question[1:])
    assert detector().compare(question, said).differences == ()


@pytest.mark.parametrize("sound", ["um", "uh", "erm", "err", "hmm", "yeah", "ok"])
def test_hesitation_between_the_words_of_a_phrase(sound: str) -> None:
    assert tier("How do I set up the router?", f"How do I set {sound} up the router?") == "none"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Which films are good?", "Which films are good to watch?"),
        ("How long does it take?", "How long does it usually take?"),
        ("What is the excess on my cover?", "What is the excess on my cover policy?"),
        ("How do I renew the pass?", "How do how do I renew the pass?"),
        ("Is there a wi-fi code?", "Is there a wifi code?"),
    ],
)
def test_words_that_add_nothing(a: str, b: str) -> None:
    assert tier(a, b) == "none"


def test_a_prompt_of_courtesy_alone_is_its_words() -> None:
    assert detector().profile("Thank you very much!").template
