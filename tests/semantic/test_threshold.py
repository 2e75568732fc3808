"""Thresholds: a cosine similarity from 0 to 1, with 0, and never a distance by mistake."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_cachesafe.semantic.threshold import parse_threshold
from pytest_cachesafe.usage import UsageError


@pytest.mark.parametrize(
    ("given", "number"),
    [(0, 0.0), (0.0, 0.0), (1, 1.0), (0.95, 0.95), ("0.8", 0.8), ("similarity:0.1", 0.1), ("distance:0.1", 0.9)],
)
def test_what_is_meant(given: object, number: float) -> None:
    assert parse_threshold(given) == pytest.approx(number)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (0.05, "looks like a distance, and a cosine similarity is meant: give 0.95"),
        (0.3, "give 0.7"),
        ("0.1", "looks like a distance"),
        (1.01, "must be a cosine similarity from 0 to 1$"),
        (1.5, "must be a cosine similarity from 0 to 1$"),
        (95, "did you mean 0.95"),
        (-0.1, "must be a cosine similarity from 0 to 1"),
        (float("nan"), "from 0 to 1 is meant"),
        (True, "from 0 to 1 is meant"),
        (None, "from 0 to 1 is meant"),
        ("high", "from 0 to 1 is meant"),
        ("angle:0.4", "from 0 to 1 is meant"),
        ("distance:1.9", "a cosine distance from 0 to 1 is meant"),
    ],
)
def test_what_is_refused(given: object, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        parse_threshold(given)
    assert "\n" not in str(caught.value)


@given(st.floats(0.3, 1.0, exclude_min=True))
def test_similarities_stay_what_they_are(value: float) -> None:
    assert parse_threshold(value) == value
    assert parse_threshold(f"similarity:{value!r}") == value
