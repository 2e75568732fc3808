"""What the name of a file says of it."""

from __future__ import annotations

__all__ = ["TEMPLATE_SUFFIXES", "is_archived", "is_prompt_template", "is_test_path"]

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


def is_archived(name: str) -> bool:
    """Whether a file was put away: nobody calls what lies in an archive."""
    return any(folder in ("archive", "archived", "archives", "attic") for folder in name.lower().split("/")[:-1])
