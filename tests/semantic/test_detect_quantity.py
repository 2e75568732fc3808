"""All, most, both and one; bounds that hold the bound and such that do not."""

from __future__ import annotations

import pytest

from tests.support.semantic_pairs import judged


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Archive one project", "Archive all projects"),
        ("Archive one project", "Archive every project"),
        ("Rename one column", "Rename both columns"),
        ("How do I raise the quota of one tenant?", "How do I raise the quota of all tenants?"),
        ("Does the rule hold for all regions?", "Does the rule hold for most regions?"),
        ("Archive a project", "Archive all projects"),
        ("Rotate the signing key", "Rotate all signing keys"),
    ],
)
def test_all_most_both_and_one_are_apart(a: str, b: str) -> None:
    assert judged(a, b) == ("suspect", "quantifier")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Archive all projects", "Archive every project"),
        ("Archive all the projects", "Archive the projects"),
        ("Archive one project", "Archive a project"),
        ("What does each seat cost?", "What does one seat cost?"),
        ("What does every seat cost?", "What does each seat cost?"),
        ("Which one is faster, rail or road?", "Which is faster, rail or road?"),
        ("Which plan has the most users?", "Which plan has most users?"),
        ("How can one archive a project?", "How can I archive a project?"),
        ("Is it on for all users?", "Is it on for users?"),
    ],
)
def test_quantifiers_that_say_the_same(a: str, b: str) -> None:
    assert judged(a, b)[0] == "none"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Is a review due with more than 4 seats?", "Is a review due with 4 or more seats?"),
        ("Is a review due with 4 or more seats?", "Is a review due with exactly 4 seats?"),
        ("Is a review due with at most 4 seats?", "Is a review due with exactly 4 seats?"),
        ("Is a review due with fewer than 4 seats?", "Is a review due with at most 4 seats?"),
        ("Is it free for riders over 70?", "Is it free for riders 70 or over?"),
        ("Is it free for riders older than 70?", "Is it free for riders 70 and older?"),
    ],
)
def test_a_bound_with_and_without_itself_is_a_suspicion(a: str, b: str) -> None:
    assert judged(a, b) == ("suspect", "comparative")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Is a review due with at least 4 seats?", "Is a review due with 4 or more seats?"),
        ("Is it free for riders 70 years and older?", "Is it free for riders 70 years or over?"),
        ("Is it free with exactly 4 seats?", "Is it free with 4 seats?"),
        ("Is the tower older than the bridge?", "Is the tower older than the bridge, please?"),
    ],
)
def test_one_bound_in_other_words(a: str, b: str) -> None:
    assert judged(a, b)[0] == "none"


def test_a_comparison_without_a_number_keeps_its_word() -> None:
    assert judged("Is the tower older than the bridge?", "Is the tower longer than the bridge?")[0] != "none"
