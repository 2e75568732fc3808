"""The error for mistakes of the user's, in a module that costs nothing to import."""

from __future__ import annotations

__all__ = ["NothingToLint", "UsageError"]


class UsageError(Exception):
    """The user's input cannot be judged: one line that says what, where and what to do.

    The command line prints it and exits with 2; in a test it fails the test with that line. It is never a verdict.
    """


class NothingToLint(UsageError):
    """The paths hold no file that the linter reads."""
