"""CSF901: a file that cannot be parsed."""

from __future__ import annotations

from cachesafe_rules.example import bad, good
from cachesafe_rules.meta_rule import MetaRule

__all__ = ["SyntaxErrorFound"]


class SyntaxErrorFound(MetaRule):
    """A file cannot be parsed, so nothing is known about it.

    ## Why

    A linter that skips a file silently says "clean" about it. Syntax that is newer than the Python that runs the
    linter is read with a second parser; only what neither can read is reported, at the place where reading stopped.
    A template of a Python file, with a template's lines where reading stops, is no broken file.

    ## What to do

    Correct the syntax, or leave the file out with `exclude`.
    """

    code = "CSF901"
    name = "syntax-error"
    severity = "error"

    VALID = (good("SYSTEM_PROMPT = 'You are a clerk.'\n"),)
    INVALID = (bad("def build(:  # <--\n    return []  # <--\n"),)
