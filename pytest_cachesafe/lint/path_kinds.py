"""What the name of a file says of it, and what a file says that holds tests under another name."""

from __future__ import annotations

import re

from cachesafe_rules.patterns import lazy_pattern

__all__ = ["TEMPLATE_SUFFIXES", "holds_tests", "is_archived", "is_prompt_template", "is_test_path"]

# Tests that stand in a file of any name: it takes in what runs them, and has some.
_RUNNER = lazy_pattern(r"^(?:import|from)[ \t]+(?:pytest|unittest)\b", re.M)
_TEST = lazy_pattern(r"^(?:(?:async[ \t]+)?def[ \t]+test_\w*\(|class[ \t]+\w+\([^)]*TestCase\b)", re.M)

TEMPLATE_SUFFIXES = (".jinja", ".jinja2", ".j2", ".txt", ".md", ".yaml", ".yml", ".prompt")


def is_prompt_template(name: str) -> bool:
    """Whether a file that is not Python may be a prompt template, by its name relative to the root."""
    lowered = name.lower()
    if lowered.endswith((".jinja", ".jinja2", ".j2", ".prompt")):
        return True
    if not lowered.endswith(TEMPLATE_SUFFIXES):
        return False
    # Text and data files, if their path has the word for itself: no release note about a PromptBuilder.
    words = lowered.replace("/", "_").replace("-", "_").replace(".", "_").split("_")
    return not {"prompt", "prompts"}.isdisjoint(words)


def is_test_path(name: str) -> bool:
    """Whether a file belongs to the tests, by its name relative to the root."""
    *folders, last = name.lower().split("/")
    if last.startswith("test_") or last.endswith("_test.py") or last in ("tests.py", "conftest.py"):
        return True
    return any(f in ("test", "tests", "testing") or f.endswith(("_test", "_tests")) for f in folders)


def holds_tests(data: bytes) -> bool:
    """Whether a file is a test by what it holds: it takes in what runs tests, and defines some at its top."""
    if b"test_" not in data and b"TestCase" not in data:
        return False
    text = data.decode("utf-8", "replace")
    return _RUNNER.search(text) is not None and _TEST.search(text) is not None


def is_archived(name: str) -> bool:
    """Whether a file was put away: nobody calls what lies in an archive."""
    return any(folder in ("archive", "archived", "archives", "attic") for folder in name.lower().split("/")[:-1])
