"""What a lint run found, as data; `report.lint` writes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_cachesafe.findings import Finding

__all__ = ["LintResult", "Sources"]

Sources = Callable[[str], "Sequence[str] | None"]
"""The lines of a file by its name in findings (with or without line ends); None where it cannot be read."""


@dataclass(slots=True)
class LintResult:
    """One run. `findings` are what is reported, ordered by path, row, column and code.

    `warnings`, `unread` and `crashed` are sentences: what was left out of the run (a file too large), what was asked
    for and cannot be read, and which rule failed on which file. `files` counts the files looked at; `suppressed`,
    `baselined` and `fixed` count findings that are therefore not in `findings`; `stale` counts entries of the baseline
    that no longer happen. `strict`: notes count as failures. `dry`: nothing was written, `fixed` are the findings that
    would have been mended.
    """

    findings: list[Finding] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    files: int = 0
    suppressed: int = 0
    baselined: int = 0
    fixed: int = 0
    stale: int = 0
    crashed: list[str] = field(default_factory=list)
    strict: bool = False
    dry: bool = False
    unread: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        """Why the run says less than was asked of it."""
        return [*self.unread, *self.crashed]
