"""CSF902: a suppression that suppresses nothing."""

from __future__ import annotations

from cachesafe_rules.example import bad, good
from cachesafe_rules.meta_rule import MetaRule

__all__ = ["UnusedSuppression"]


class UnusedSuppression(MetaRule):
    """A `# cachesafe: ignore[...]` or `# noqa: CSF...` comment matches no finding.

    ## Why

    The code behind it was mended, or the comment stands on the wrong line. Left in place it hides the next finding
    there. Only codes of rules that ran are judged.

    ## What to do

    Delete the comment; `--fix` does it.
    """

    code = "CSF902"
    name = "unused-suppression"
    severity = "warning"
    fixed_by_engine = True

    VALID = (
        good("""
from datetime import datetime


def system_prompt() -> str:
    return f"It is {datetime.now()}."  # cachesafe: ignore[CSF101] a demo of the break
"""),
    )
    INVALID = (
        bad("""
def system_prompt() -> str:
    return "You are a clerk."  # cachesafe: ignore[CSF101] no clock any more  # <--
"""),
    )
