"""Signs, names and paths of code, and time within, during and after."""

from __future__ import annotations

import pytest

from tests.support import semantic_pairs
from tests.support.semantic_pairs import detector


def judged(a: str, b: str) -> tuple[str, str | None]:
    found = semantic_pairs.judged(a, b)
    assert judged_case(a, b) == found[0]
    return found


def judged_case(a: str, b: str) -> str:
    return detector().compare(a.upper(), b.lower()).different_answer


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("How do I read a file in C?", "How do I read a file in C++?", "language"),
        ("How do I read a file in C?", "How do I read a file in C#?", "language"),
        ("How do I read a file in C++?", "How do I read a file in Python?", "language"),
        ("Is x > y true?", "Is x < y true?", "code"),
        ("When is x == y?", "When is x != y?", "code"),
        ("When is x >= y?", "When is x > y?", "code"),
        ("When is x && y true?", "When is x || y true?", "code"),
        ("What is n++ worth?", "What is n-- worth?", "code"),
        ("What does PUT /orders need?", "What does PATCH /orders need?", "code"),
        ("What does GET /orders need?", "What does GET /invoices need?", "code"),
        ("Show rows with price > 5", "Show rows with price < 5", "comparative"),
        ("Can I return it within 14 days?", "Can I return it after 14 days?", "direction"),
        ("Can I return it within a week of purchase?", "Can I return it after a week from purchase?", "direction"),
        ("Is support free during the pilot?", "Is support free after the pilot?", "direction"),
    ],
)
def test_certain(a: str, b: str, kind: str) -> None:
    assert judged(a, b) == ("certain", kind)


def test_parts_of_a_code_name_mean_something() -> None:
    assert judged("Is user_id unique?", "Is order_id unique?") == ("suspect", "substitution")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("How do I read a file in C#?", "How do I read a file in C sharp?"),
        ("How do I read a file in C++?", "How do I read a file in cpp?"),
        ("Settings > Security > Keys: how do I rotate one?", "Settings, Security, Keys: how do I rotate one?"),
        ("Open the menu -> export", "Open the menu, export"),
        ("Is it fast -- or slow?", "Is it fast or slow?"),
        ("Show rows with price > 5", "Show rows with price more than 5"),
        ("Show rows with price >= 5", "Show rows with price at least 5"),
        ("What does GET  /orders need?", "What does get /orders need?"),
        ("Is user_id unique?", "Is user id unique?"),
        ("Is it shipped within 3 days?", "Is it shipped in 3 days?"),
        ("Is support free during the pilot?", "Is support free in the pilot?"),
    ],
)
def test_none(a: str, b: str) -> None:
    assert judged(a, b)[0] == "none"
