"""Small programs for tests of the flow analysis, kept as text in `tests/lint/data`.

A file has words of introduction, then programs that begin with `### name`. `NOW` in them stands for a reading of the
clock, and for fixed text in the program's harmless twin. Lines that a finding may be at end in `# here`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.findings import Finding
from pytest_cachesafe.lint.run import lint_text

__all__ = ["CLOCK", "FIXED", "assert_found", "assert_silent", "brief", "cases", "filled", "marked", "programs"]

CLOCK = "datetime.now()"
FIXED = "'noon'"
_DATA = Path(__file__).parents[1] / "lint" / "data"
_HEAD = "from datetime import datetime\n"


def programs(file: str) -> dict[str, str]:
    """The programs of a data file by name."""
    found: dict[str, str] = {}
    for part in re.split(r"(?m)^### ", (_DATA / file).read_text(encoding="utf-8"))[1:]:
        name, _, code = part.partition("\n")
        assert name not in found, f"{file}: {name} twice"
        found[name] = code.strip("\n") + "\n"
    return found


def cases(*files: str) -> list[Any]:
    """The programs of data files as parameters of a test, named after the program."""
    return [pytest.param(code, id=name) for file in files for name, code in programs(file).items()]


def filled(code: str, value: str = CLOCK) -> str:
    """The program with an import of the clock on top and `value` for `NOW`."""
    return _HEAD + textwrap.dedent(code).lstrip("\n").replace("NOW", value)


def marked(code: str) -> set[int]:
    """Rows that end in `# here`."""
    return {row for row, line in enumerate(code.splitlines(), 1) if line.endswith("# here")}


def brief(findings: Sequence[Finding]) -> list[tuple[int | None, str, str]]:
    """Row, code and severity of each."""
    return [(f.location.row, f.code, str(f.severity)) for f in findings]


def severity_of(code: str) -> str:
    """How bad a clock is in a program: one that is read once and kept is a warning."""
    return "warning" if "# The time is kept." in code else "error"


def assert_found(code: str, *codes: str, severity: str | None = None) -> None:
    """Exactly these codes are found, each at a marked line, with this severity."""
    found = brief(lint_text(code))
    assert sorted({name for _, name, _ in found}) == sorted(codes), (found, code)
    assert {row for row, _, _ in found} <= marked(code), (found, code)
    if severity is not None:
        assert {word for _, _, word in found} == {severity}, (found, code)


def assert_silent(code: str) -> None:
    """Nothing is found."""
    found = brief(lint_text(code))
    assert found == [], (found, code)
