"""Tests that stand in a file of any name."""

from __future__ import annotations

import re

from cachesafe_rules.patterns import lazy_pattern

__all__ = ["holds_tests"]

# What runs tests is taken in, and some are defined.
_RUNNER = lazy_pattern(r"^(?:import|from)[ \t]+(?:pytest|unittest)\b", re.M)
_TEST = lazy_pattern(r"^(?:(?:async[ \t]+)?def[ \t]+test_\w*\(|class[ \t]+\w+\([^)]*TestCase\b)", re.M)


def holds_tests(data: bytes) -> bool:
    """Whether a file is a test by what it holds: it takes in what runs tests, and defines some at its top."""
    if b"test_" not in data and b"TestCase" not in data:
        return False
    text = data.decode("utf-8", "replace")
    return _RUNNER.search(text) is not None and _TEST.search(text) is not None
