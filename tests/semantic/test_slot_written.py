"""Values written in two ways, and values that only look alike."""

from __future__ import annotations

import pytest

from tests.support.semantic_pairs import judged


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Can it hold 2.5M events?", "Can it hold 2,500,000 events?"),
        ("Can it hold 2.5M events?", "Can it hold 2.5 million events?"),
        ("Is a 3m cable long enough?", "Is a 3 metre cable long enough?"),
        ("Is 4 GB of memory enough?", "Is 4096 MB of memory enough?"),
        ("Is 4 GB of memory enough?", "Is 4000 MB of memory enough?"),
        ("Is 1 TB of disk enough?", "Is 1048576 MB of disk enough?"),
        ("Can I send 2000 messages per day?", "Can I send 2,000 messages a day?"),
        ("Can I send 6 messages a minute?", "Can I send 6 messages per minute?"),
        ("Is there a 50% off deal?", "Is there a half off deal?"),
        ("Is the desk staffed Mon-Fri?", "Is the desk staffed Monday to Friday?"),
        ("Is the desk staffed Mon-Fri?", "Is the desk staffed on weekdays?"),
        ("Renew my sub", "Renew my subscription"),
        ("How much salt should I eat a day?", "How much salt should I eat per day?"),
        ("Is the pool open till 9?", "Is the pool open until 9?"),
        ("I can't sign up", "I am unable to sign up"),
    ],
)
def test_written_otherwise(a: str, b: str) -> None:
    assert judged(a, b)[0] == "none"


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("Can it hold 2.5M events?", "Can it hold 2.6 million events?", "number"),
        ("Can it hold 2.5M events?", "Can it hold 2.5 billion events?", "number"),
        ("Is 4 GB of memory enough?", "Is 4200 MB of memory enough?", "number"),
        ("Is 4 GB of memory enough?", "Is 4096 KB of memory enough?", "number"),
        ("Can I send 6 messages a minute?", "Can I send 6 messages per hour?", "period"),
        ("Is there a 50% off deal?", "Is there a 40% off deal?", "percent"),
        ("Is there a half off deal?", "Is there a 40% off deal?", "percent"),
        ("Is the desk staffed Mon-Fri?", "Is the desk staffed Mon-Sat?", "weekday"),
        ("Renew my sub", "Cancel my subscription", "antonym"),
        ("Remove 3 users a day later", "Remove 3 users a week later", "unit"),
    ],
)
def test_other_values(a: str, b: str, kind: str) -> None:
    assert judged(a, b) == ("certain", kind)


def test_a_day_is_no_week() -> None:
    assert judged("How much salt should I eat a day?", "How much salt should I eat per week?") == ("suspect", "period")
