"""Findings as pytest items, so that one run gates tests and source: `pytest --cachesafe-lint`.

Each error or warning is an item that fails; a project without any has one item that passes, so that the count shows
that it was linted. Notes are told at the end of the run. What is reported is told by `asked`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_cachesafe.usage import NothingToLint, UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.findings import Finding
    from pytest_cachesafe.lint.run import Outcome

__all__ = ["MARKER", "LintFailure", "lint_items"]

MARKER = "cachesafe_lint"
_NAME = "cachesafe-lint"


class LintFailure(AssertionError):
    """A finding, or the reason why nothing could be found."""


class _Group(pytest.Collector):
    """The findings of one file."""

    def collect(self) -> list[pytest.Item]:
        """Items are made with it, not by it."""
        return []


class _Item(pytest.Item):
    """One finding, or the project as a whole; fails with `text` where there is one."""

    def __init__(
        self,
        *,
        text: str | None,
        row: int,
        title: str,
        notes: Sequence[str] = (),
        found: Sequence[dict[str, Any]] = (),
        **given: Any,
    ) -> None:
        super().__init__(**given)
        self._text = text
        # What it stands for, in JSON form.
        self._found = found
        self._place = (self.path, row - 1, title)
        self._notes = notes
        self.add_marker(MARKER)

    def runtest(self) -> None:
        """Fail if there is something to tell."""
        collector = self.config.pluginmanager.get_plugin("cachesafe-report")
        if collector is not None:
            collector.linted(self._found)
        # Here, since each attempt begins without what an earlier one noted.
        self.user_properties += [("cachesafe_note", note) for note in self._notes]
        if self._text is not None:
            raise LintFailure(self._text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report alone; a traceback would show our own code."""
        if isinstance(excinfo.value, LintFailure):
            return excinfo.getrepr(style="value")
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Where it is and what it is called."""
        return self._place


def lint_items(session: pytest.Session) -> list[pytest.Item]:
    """The items for what is asked for, in the order of the findings.

    Raises:
        pytest.UsageError: a finding that was named by its id is not there.
    """
    from pytest_cachesafe.lint.asked import asked, ignored

    config, root = session.config, session.config.rootpath
    wanted = asked(config)
    if wanted is None:
        return []
    try:
        outcome = _outcome(wanted.paths)
    except NothingToLint:
        # Folders of documents, say, which pytest may well have tests in.
        return []
    except UsageError as error:
        return [_project_item(session, root, str(error))]
    if not outcome.result.files and not outcome.failed and str(root) not in wanted.paths:
        return []
    items = list(_items(session, root, outcome))
    missing = [one for one in wanted.ids if all(item.nodeid != one for item in items)]
    if missing and not outcome.failed:
        raise pytest.UsageError(f"not found: {missing[0]} (no such finding, or no longer)")
    return [
        item
        for item in items
        if item.path == root
        or (wanted.keeps(os.path.realpath(item.path), item.nodeid) and not ignored(config, item.path))
    ]


def _outcome(paths: tuple[str, ...]) -> Outcome:
    from pytest_cachesafe.lint.options import LintOptions
    from pytest_cachesafe.lint.run import run_lint

    return run_lint(LintOptions(paths))


def _items(session: pytest.Session, root: Path, outcome: Outcome) -> Iterator[pytest.Item]:
    from pytest_cachesafe.lint.result import LintResult
    from pytest_cachesafe.report.lint import render

    result = outcome.result
    failing = [finding for finding in result.findings if str(finding.severity) != "note"]
    notes = [finding for finding in result.findings if str(finding.severity) == "note"]
    told = [*result.faults, *(result.warnings if outcome.failed else ())]
    if outcome.failed or notes or not failing:
        lines = render("concise", LintResult(findings=notes), sources=outcome.sources).splitlines()
        found = [_entry(note, root) for note in notes]
        yield _project_item(session, root, "\n".join(told) if outcome.failed else None, lines, found)
    groups: dict[str, _Group] = {}
    names: dict[str, int] = {}
    for finding in failing:
        filename = finding.location.filename or ""
        shown = _shown(filename, root)
        group = groups.get(filename)
        if group is None:
            group = _Group.from_parent(session, name=shown, nodeid=shown, path=root / shown)
            groups[filename] = group
        text = render("full", LintResult(findings=[finding]), sources=outcome.sources)
        yield _finding_item(group, finding, text.rstrip("\n"), names, _entry(finding, root))


def _shown(filename: str, root: Path) -> str:
    """Like the ids of tests: from the root folder, whatever folder pytest was started in."""
    return os.path.relpath(os.path.join(os.getcwd(), filename), root).replace(os.sep, "/")


def _entry(finding: Finding, root: Path) -> dict[str, Any]:
    """A finding as reports of the run have it."""
    from pytest_cachesafe.report.lint.json_list import entry

    found = entry(finding)
    flow = [{**step, "filename": _shown(step["filename"], root)} for step in found["flow"]]
    return {**found, "filename": _shown(found["filename"], root), "flow": flow}


def _finding_item(
    group: _Group, finding: Finding, text: str, names: dict[str, int], found: dict[str, Any]
) -> pytest.Item:
    row = finding.location.row or 1
    name = f"{finding.code}:{row}"
    # Two of one rule in one row, or a re-run would take one for the other.
    names[f"{group.name}::{name}"] = seen = names.get(f"{group.name}::{name}", 0) + 1
    if seen > 1:
        name += f":{seen}"
    title = f"{finding.code} {finding.data.get('name', '')}".strip()
    title = f"{title} in {group.name}:{row}"
    item: pytest.Item = _Item.from_parent(group, name=name, text=text, row=row, title=title, found=[found])
    return item


def _project_item(
    session: pytest.Session,
    root: Path,
    text: str | None,
    notes: Sequence[str] = (),
    found: Sequence[dict[str, Any]] = (),
) -> pytest.Item:
    group = _Group.from_parent(session, name=_NAME, nodeid=_NAME, path=root)
    item: pytest.Item = _Item.from_parent(
        group, name="project", text=text, row=1, title=_NAME, notes=notes, found=found
    )
    return item
