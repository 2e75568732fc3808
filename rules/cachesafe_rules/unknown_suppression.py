"""CSF903: a suppression of a rule that does not exist."""

from __future__ import annotations

from cachesafe_rules.example import bad, good
from cachesafe_rules.meta_rule import MetaRule

__all__ = ["UnknownSuppression"]


class UnknownSuppression(MetaRule):
    """A suppression names a code or name that no rule has.

    ## Why

    A mistyped code suppresses nothing, so the finding stays, or the author believes that something is silenced.

    ## What to do

    Correct it; `cachesafe rule --all` lists the codes and names.
    """

    code = "CSF903"
    name = "unknown-suppression"
    severity = "warning"

    VALID = (
        good("""
from datetime import date


def system_prompt() -> str:
    return f"Today is {date.today()}."  # cachesafe: ignore[daily-date] one rewrite a day is fine
"""),
    )
    INVALID = (
        bad("""
def system_prompt() -> str:
    return "You are a clerk."  # cachesafe: ignore[CSF999] mistyped  # <--
"""),
    )
