"""What one run of the linter is asked for."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LintOptions"]


class LintOptions(NamedTuple):
    """`paths` select what is reported; what is read is the project around them.

    `select` None leaves the configured rules; `stdin` is the text of the one file `stdin_filename`, given in place of
    paths. `fix` with `diff` changes nothing on disk. `write_baseline`: list the findings there instead of leaving out
    those of a baseline ("" for the baseline in use).
    """

    paths: tuple[str, ...] = (".",)
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    include_tests: bool = False
    strict: bool = False
    baseline: str | None = None
    write_baseline: str | None = None
    changed_since: str | None = None
    stdin: bytes | None = None
    stdin_filename: str = "stdin.py"
    jobs: int = 1
    cache: bool = True
    fixes: bool = True
    fix: bool = False
    unsafe_fixes: bool = False
    diff: bool = False
    # Names relative to the project's root where the current folder lies elsewhere; None of them is absolute.
    below_root: bool = False
