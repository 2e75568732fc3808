"""docs/api.md is what the docstrings say."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest_cachesafe

ROOT = Path(__file__).parents[2]


def test_it_is_current() -> None:
    written = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert runpy.run_path(str(ROOT / "docs" / "build_api.py"))["document"]() == written, "run: python docs/build_api.py"


def test_every_public_name_is_described() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    names = [name for name in pytest_cachesafe.__all__ if name != "__version__"]
    entries = {part.split("`", 1)[0]: part for part in page.split("\n## `")[1:]}
    assert list(entries) == names
    # More than a signature: a sentence.
    assert [name for name, part in entries.items() if not part.rpartition("```")[2].strip(" `\n")] == []
