"""CSF904: a suppression without a code."""

from __future__ import annotations

from cachesafe_rules.example import bad, good
from cachesafe_rules.meta_rule import MetaRule

__all__ = ["BareSuppression"]


class BareSuppression(MetaRule):
    """A suppression names no rule, so it silences all of them. Reported under `--strict` only.

    ## Why

    A bare comment also hides what is found there later, by rules that did not exist when it was written.

    ## What to do

    Name the rule, and say why: `# cachesafe: ignore[CSF103] one rewrite a day is fine`.
    """

    code = "CSF904"
    name = "bare-suppression"
    severity = "warning"

    VALID = (
        good("""
from datetime import date


def system_prompt() -> str:
    return f"Today is {date.today()}."  # cachesafe: ignore[CSF103] one rewrite a day is fine
"""),
    )
    INVALID = (
        bad("""
from datetime import date


def system_prompt() -> str:
    return f"Today is {date.today()}."  # cachesafe: ignore  # <--
"""),
    )
