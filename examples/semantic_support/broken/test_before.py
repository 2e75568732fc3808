"""The version before; these fail, and should."""

from __future__ import annotations

from pathlib import Path

from pytest_cachesafe import CollisionJudge, assert_no_collisions

import before
from support_bot import THRESHOLD, VectorCache, request

QUESTIONS = (Path(__file__).parent.parent / "recorded" / "questions.txt").read_text(encoding="utf-8").splitlines()


def test_the_encoder_alone() -> None:
    """Every pair of the questions, by cosine."""
    assert_no_collisions(QUESTIONS, threshold=THRESHOLD)


def test_the_cache_itself() -> None:
    """The same, asked of the cache."""
    cache = VectorCache(CollisionJudge().encoder.embed, share=before.share)
    assert_no_collisions(QUESTIONS, encoder=cache)


def test_the_key() -> None:
    """The last message alone, and one cache for all customers."""
    asked = [request(question, "Tell me about the starter plan.", "It has one site.") for question in QUESTIONS]
    report = CollisionJudge(threshold=THRESHOLD).check_keys(asked, key=before.key, partition=before.partition)
    assert report.passed, report.text()
