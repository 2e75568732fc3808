"""Two questions and what the detector says of them, in both directions."""

from __future__ import annotations

from functools import cache

from pytest_cachesafe.semantic.detect import Detector


@cache
def detector() -> Detector:
    return Detector()


def judged(a: str, b: str) -> tuple[str, str | None]:
    """(tier, kind), the same whichever question comes first."""
    verdict, mirrored = detector().compare(a, b), detector().compare(b, a)
    assert (verdict.different_answer, verdict.kind) == (mirrored.different_answer, mirrored.kind)
    return verdict.different_answer, verdict.kind
