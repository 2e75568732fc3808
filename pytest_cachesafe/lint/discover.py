"""Which files there are: all of the project (to be read) and those that were asked for (to be reported).

What `exclude` names is not read at all, also when it is given by name, as a commit hook does; `per-file-ignores`
silences files that should still be read. Names are relative to the project's root, with forward slashes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_cachesafe.lint.path_kinds import TEMPLATE_SUFFIXES, is_prompt_template
from pytest_cachesafe.lint.walk import (
    BUILT,
    BY_HABIT,
    ENVIRONMENT_FILES,
    FOREIGN,
    MAX_BYTES,
    FileEntry,
    Problem,
    is_environment,
    too_large,
    walk,
)
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.lint.settings import Settings

__all__ = ["Discovery", "discover", "left_out", "projects", "template_entries"]


class Discovery(NamedTuple):
    """What was asked for, and what there is.

    `files`, `templates`: asked for, by name in order. `warnings`: sentences on what was left out; `unreadable`: those
    that must end in exit status 2; `excluded`: sentences on paths given by name and left out by configuration or kind.
    `project`: all Python files of the project by name, `files` included; `all_templates`: all template names.
    """

    files: list[FileEntry]
    templates: list[str]
    warnings: list[str]
    unreadable: list[str]
    excluded: list[str]
    project: dict[str, FileEntry]
    all_templates: list[str]
    settings: Settings
    nested: dict[str, Settings]

    def settings_for(self, name: str) -> Settings:
        """The settings of the nearest configuration above a file."""
        folder = name
        while self.nested and "/" in folder:
            folder = folder.rpartition("/")[0]
            if folder in self.nested:
                return self.nested[folder]
        return self.settings

    def left_out(self, name: str) -> str | None:
        """Why a walk would not come to a file of this name, in words; None where it would."""
        return left_out(name, self)


def template_entries(found: Discovery, overlay: Mapping[str, bytes]) -> list[FileEntry]:
    """The project's prompt templates, by name; what cannot be read or is too large is passed over."""
    entries = []
    for name in filter(is_prompt_template, found.all_templates):
        path = os.path.join(found.settings.root, name)
        if name in overlay:
            entries.append(FileEntry(name, path, len(overlay[name]), 0))
            continue
        try:
            facts = os.stat(path)
        except OSError:
            continue
        if stat.S_ISREG(facts.st_mode) and facts.st_size <= MAX_BYTES:
            entries.append(FileEntry(name, path, facts.st_size, facts.st_mtime_ns))
    return entries


def projects(paths: Sequence[Path]) -> list[tuple[Settings, list[Path]]]:
    """The paths by the project they belong to, in the order given.

    Raises:
        UsageError: as `load_settings`.
    """
    from pytest_cachesafe.lint.settings import load_settings

    by_folder: dict[str, Settings] = {}
    groups: dict[Path, tuple[Settings, list[Path]]] = {}
    for path in paths:
        folder = os.fspath(path) if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))
        settings = by_folder.get(folder) or by_folder.setdefault(folder, load_settings(path))
        root = settings.root
        if root not in groups:
            # Not those of the path: what is asked for must not change what the project is.
            groups[root] = (load_settings(root), [])
        groups[root][1].append(path)
    # Folders that nothing marks as projects belong together where one lies in the other.
    for root in [r for r, (settings, _) in groups.items() if not settings.marker]:
        outer = next((p for p in reversed(root.parents) if p in groups and not groups[p][0].marker), None)
        if outer is not None:
            groups[outer][1].extend(groups.pop(root)[1])
    return list(groups.values())


def discover(paths: Sequence[Path], settings: Settings) -> Discovery:
    """What these paths ask for, in one project (see `projects`).

    A folder is walked even where its own name is excluded by habit (`build`), as its name was typed; a file in such a
    folder is left out, as commit hooks pass the names of all files that changed.

    Raises:
        UsageError: a path does not exist, or is neither file nor folder.
    """
    given = [_Given(path, settings) for path in paths]
    whole = bool(settings.marker) or any(g.folder and not g.name for g in given)
    tree = walk(settings, whole=whole)
    found = Discovery(
        [], [], [], [], [], {f.name: f for f in tree.files}, tree.templates, settings, tree.nested
    )  # fmt: skip
    files: dict[str, FileEntry] = {}
    templates: set[str] = set()
    problems: set[Problem] = set()
    for item in given:
        if not item.folder:
            _take_file(item, found, files, templates, problems)
            continue
        pattern = settings.excluded.covering(settings.pattern_name(item.name)) if item.name else None
        if pattern:
            found.excluded.append(f"{item.text}: excluded by {pattern!r}")
            continue
        part = tree
        if item.name not in tree.folders or not whole:
            part = walk(settings, item.name)
            found.project.update((f.name, f) for f in part.files)
            found.all_templates[:] = sorted({*found.all_templates, *part.templates})
            found.nested.update(part.nested)
        below = f"{item.name}/" if item.name else ""
        for file in part.files:
            if file.name.startswith(below):
                files.setdefault(file.name, file)
        templates.update(name for name in part.templates if name.startswith(below) and is_prompt_template(name))
        problems.update(p for p in part.problems if p.name == (item.name or ".") or p.name.startswith(below))
    found.files.extend(sorted(files.values()))
    found.templates.extend(sorted(templates))
    for problem in sorted(problems):
        (found.unreadable if problem.fatal else found.warnings).append(problem.message)
    return found


class _Given:
    """A path as the user gave it, and its name in the project ("" for the root)."""

    __slots__ = ("folder", "name", "path", "stat", "text")

    def __init__(self, path: Path, settings: Settings) -> None:
        self.text = os.fspath(path)
        try:
            self.stat = os.stat(path)
        except FileNotFoundError:
            raise UsageError(f"{self.text}: no such file or folder") from None
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            raise UsageError(f"{self.text}: cannot be read: {reason}") from None
        self.folder = stat.S_ISDIR(self.stat.st_mode)
        if not self.folder and not stat.S_ISREG(self.stat.st_mode):
            raise UsageError(f"{self.text}: neither a file nor a folder")
        # A link to a file keeps its own name: its project is where it lies.
        if self.folder:
            self.path = os.path.realpath(path)
        else:
            above, last = os.path.split(os.path.abspath(path))
            self.path = os.path.join(os.path.realpath(above), last)
        self.name = "" if self.path == str(settings.root) else Path(self.path).relative_to(settings.root).as_posix()


def _take_file(
    item: _Given, found: Discovery, files: dict[str, FileEntry], templates: set[str], problems: set[Problem]
) -> None:
    """A file that was given by its own name."""
    reason = left_out(item.name, found)
    if reason:
        found.excluded.append(f"{item.text}: {reason}")
        return
    last = item.name.rpartition("/")[2]
    if is_prompt_template(item.name):
        templates.add(item.name)
    elif last.endswith(TEMPLATE_SUFFIXES):
        found.excluded.append(f"{item.text}: no prompt template by its name")
    elif last.endswith((".py", ".pyw")) or "." not in last.strip("."):
        if item.stat.st_size > MAX_BYTES:
            problems.add(too_large(item.name, item.stat.st_size))
            return
        entry = FileEntry(item.name, item.path, item.stat.st_size, item.stat.st_mtime_ns)
        found.project[item.name] = files[item.name] = entry
    else:
        found.excluded.append(f"{item.text}: neither Python nor a prompt template")


def left_out(name: str, found: Discovery) -> str | None:
    """Why a walk would not come to this file; None where it would."""
    settings = found.settings_for(name)
    pattern = settings.excluded.covering(settings.pattern_name(name))
    if pattern:
        return f"excluded by {pattern!r}"
    for folder in _folders(name):
        last = folder.rpartition("/")[2]
        habit = found.settings_for(folder).exclude is None
        built = last in BUILT and not (found.settings.root / folder / "__init__.py").is_file()
        if last in FOREIGN or (habit and (last in BY_HABIT or built)):
            return f"excluded by default: folder {last!r}"
        if is_environment(name for name in ENVIRONMENT_FILES if (found.settings.root / folder / name).exists()):
            return f"excluded by default: folder {last!r} is a virtual environment"
    return None


def _folders(name: str) -> Iterator[str]:
    """The folders above a name, outermost first."""
    at = name.find("/")
    while at > 0:
        yield name[:at]
        at = name.find("/", at + 1)
