"""What a run works on: the projects that the paths belong to, their files, settings and rules."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_cachesafe.usage import NothingToLint, UsageError

if TYPE_CHECKING:
    from cachesafe_rules.api import Rule
    from pytest_cachesafe.lint.discover import Discovery
    from pytest_cachesafe.lint.options import LintOptions
    from pytest_cachesafe.lint.settings import Settings

__all__ = ["Run", "overridden", "rules_of", "runs_of", "settings_of"]


class Run(NamedTuple):
    """One project of a run.

    `settings`: those of its root, with the names that tables further in add; `discovery.settings_for` has those of one
    file. `wanted`: names of the files that are reported on. `codes`: of the rules that are on; `others`: those among
    them that other packages bring; `known`: code -> name of all rules there are. `overlay`: text that is not on disk.
    """

    settings: Settings
    discovery: Discovery
    wanted: frozenset[str]
    codes: frozenset[str]
    others: tuple[Rule, ...]
    known: Mapping[str, str]
    overlay: Mapping[str, bytes]

    @property
    def root(self) -> str:
        return str(self.settings.root)

    def is_left_out_test(self, name: str, data: bytes | None = None) -> bool:
        """Whether a file is a test by its name, or by its `data` where these are given, and the configuration nearest
        to it does not ask for tests."""
        from pytest_cachesafe.lint.path_kinds import is_test_path

        is_test = is_test_path(name)
        if not is_test and data is not None:
            from pytest_cachesafe.lint.tests_inside import holds_tests

            is_test = holds_tests(data)
        return is_test and not self.discovery.settings_for(name).tests


def settings_of(options: LintOptions) -> Settings:
    """The settings in force for the first path."""
    from pytest_cachesafe.lint.settings import load_settings

    path = options.stdin_filename if options.stdin is not None else options.paths[0]
    if options.stdin is None and not os.path.exists(path):
        raise UsageError(f"{path}: no such file or folder")
    return overridden(load_settings(Path(path)), options)


def overridden(settings: Settings, options: LintOptions) -> Settings:
    """The settings with what the command line says."""
    from pytest_cachesafe.lint.settings import with_overrides

    return with_overrides(
        settings,
        select=options.select,
        ignore=options.ignore,
        extend_select=options.extend_select,
        tests=True if options.include_tests else None,
        baseline=Path(options.baseline) if options.baseline else None,
    )


def rules_of(
    settings: Settings, nested: Iterable[Settings] = (), *, strict: bool
) -> tuple[frozenset[str], tuple[Rule, ...], dict[str, str]]:
    """The codes that are on somewhere in the project, the rules of other packages among them, and code -> name of all
    there are."""
    from cachesafe_rules.registry import known_codes, third_party

    every = [settings, *nested]
    known = dict(known_codes())
    others: list[Rule] = []
    named = dict.fromkeys(name for one in every for name in one.rules)
    if named:
        from pytest_cachesafe.lint.settings import check_codes

        try:
            others = third_party(named)
        except ValueError as error:
            where = next(one.config for one in every if one.rules)
            raise UsageError(f"{where or '[tool.cachesafe]'}: {error}") from None
        known.update((rule.code, rule.name) for rule in others)
        for one in every:
            check_codes(one, known)
    on = frozenset().union(*(one.selected(known) for one in every))
    if not strict:
        on -= {"CSF904"}
    return on, tuple(rule for rule in others if rule.code in on), known


def runs_of(options: LintOptions) -> list[Run]:
    """The projects that the options ask for, with their files.

    Raises:
        UsageError: see `lint`.
    """
    from pytest_cachesafe.lint.discover import discover, projects

    if options.stdin is not None:
        return [_stdin_run(options)]
    runs: list[Run] = []
    for plain, paths in projects([Path(path) for path in options.paths]):
        found = discover(paths, overridden(plain, options))
        wanted = {entry.name for entry in found.files} | set(found.templates)
        if options.changed_since is not None:
            from pytest_cachesafe.lint.changed import changed_files

            wanted &= changed_files(plain.root, options.changed_since)
        runs.append(_run(found, wanted, options))
    if options.write_baseline and len(runs) > 1:
        roots = ", ".join(str(run.settings.root) for run in runs)
        raise UsageError(f"--write-baseline: the paths belong to several projects ({roots}): write one for each")
    if not any(run.discovery.files or run.discovery.templates for run in runs):
        told = [line for run in runs for line in (*run.discovery.unreadable, *run.discovery.warnings)]
        if not told and not any(run.discovery.excluded for run in runs):
            raise NothingToLint(f"no Python file and no prompt template in {', '.join(options.paths)}: nothing to lint")
    return runs


def _run(
    found: Discovery, wanted: Iterable[str], options: LintOptions, overlay: Mapping[str, bytes] | None = None
) -> Run:
    """The run over what was found; whatever the paths are, with the names that all of its tables add."""
    from pytest_cachesafe.lint.settings import with_nested

    found.nested.update({folder: overridden(nested, options) for folder, nested in found.nested.items()})
    nested = [found.nested[folder] for folder in sorted(found.nested)]
    rules = rules_of(found.settings, nested, strict=options.strict)
    return Run(with_nested(found.settings, nested), found, frozenset(wanted), *rules, overlay or {})


def _stdin_run(options: LintOptions) -> Run:
    """The project around the file that standard input stands for."""
    from pytest_cachesafe.lint.discover import Discovery, left_out, projects
    from pytest_cachesafe.lint.path_kinds import TEMPLATE_SUFFIXES
    from pytest_cachesafe.lint.walk import FileEntry, walk

    path = Path(os.path.abspath(options.stdin_filename))
    ((plain, _),) = projects([path])
    settings = overridden(plain, options)
    folder = Path(os.path.realpath(path.parent))
    name = (folder / path.name).relative_to(settings.root).as_posix()
    tree = walk(settings, whole=bool(settings.marker))
    data = options.stdin or b""
    files = {entry.name: entry for entry in tree.files}
    if name.endswith(TEMPLATE_SUFFIXES):
        templates = sorted({*tree.templates, name})
        found = Discovery([], [name], [], [], [], files, templates, settings, tree.nested)
    else:
        entry = FileEntry(name, str(folder / path.name), len(data), 0)
        files[name] = entry
        found = Discovery([entry], [], [], [], [], files, tree.templates, settings, tree.nested)
    reason = left_out(name, found)
    if reason is not None:
        found.excluded.append(f"{options.stdin_filename}: {reason}")
    return _run(found, () if reason is not None else (name,), options, {name: data})
