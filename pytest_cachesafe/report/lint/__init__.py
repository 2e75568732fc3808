"""The only writers of lint results, one module a format; a format's module is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cachesafe_rules.api import Rule
    from pytest_cachesafe.lint.result import LintResult, Sources

__all__ = ["FORMATS", "render"]

FORMATS = ("concise", "full", "json", "github", "gitlab", "sarif", "junit")
# Where nothing was found these have nothing to say, and a clean run imports no writer.
_EMPTY = ("concise", "full", "github")
_MODULES = {"json": "json_list"}


def render(output_format: str, result: LintResult, *, sources: Sources, rules: Iterable[Rule] = ()) -> str:
    """The findings of a run in one of `FORMATS`: text for stdout, ending in a line end unless it is empty.

    `sources` gives the lines for source frames; `rules` are those that ran, for formats that describe them.

    Raises KeyError for a format that is none.
    """
    if output_format not in FORMATS:
        raise KeyError(output_format)
    if not result.findings and output_format in _EMPTY:
        return ""
    from importlib import import_module

    module = import_module(f"{__name__}.{_MODULES.get(output_format, output_format)}")
    text: str = module.render(result, sources=sources, rules=rules)
    return text
