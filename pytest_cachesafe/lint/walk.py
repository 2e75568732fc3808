"""One walk over a project's folder, which finds its Python files and what may be a prompt template.

It does not follow symbolic links to folders, so a loop of links ends and a link to `/` costs nothing; a link to a file
counts unless its target lies in the project and is seen there. What `exclude` names is not read at all. Names are
relative to the project's root, with forward slashes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_cachesafe.lint.path_kinds import TEMPLATE_SUFFIXES

if TYPE_CHECKING:
    from pytest_cachesafe.lint.settings import Settings

__all__ = [
    "BUILT", "BY_HABIT", "ENVIRONMENT_FILES", "FOREIGN", "MAX_BYTES", "FileEntry", "Problem", "Tree", "index",
    "is_environment", "too_large", "walk",
]  # fmt: skip

# Larger files are generated data; 1.2 million lines of a real library have none above 1 MB.
MAX_BYTES = 5_000_000

# Never walked: no one's own code, whatever `exclude` says.
FOREIGN = frozenset((
    ".git", ".hg", ".svn", ".bzr", "__pycache__", "node_modules", "site-packages", "dist-packages", "__pypackages__",
    ".venv", ".tox", ".nox", ".eggs", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis",
    ".ipynb_checkpoints", ".history", ".vscode", ".idea",
))  # fmt: skip
# Walked only where `exclude` is given and does not name them.
BY_HABIT = frozenset((
    "venv", ".direnv", ".pyenv", ".pants.d", "buck-out", "vendor", "vendored", "_vendor",
    "_vendored", "third_party", "third-party", "thirdparty",
))  # fmt: skip
# Build output, unless it is a package of that name.
BUILT = frozenset(("build", "dist", "_build"))
# A virtual environment has its mark, and a folder with its interpreter.
_TOOLS = ("bin", "Scripts")
ENVIRONMENT_FILES = ("pyvenv.cfg", *_TOOLS)


class FileEntry(NamedTuple):
    """A file of the project. `name` is relative to its root, `path` absolute."""

    name: str
    path: str
    size: int
    mtime_ns: int


class Problem(NamedTuple):
    """A file or folder that is left out; `fatal` where the user must mend something (exit status 2)."""

    name: str
    message: str
    fatal: bool


class Tree(NamedTuple):
    """A walk. `templates` are names only, not looked at; `nested` are the settings of folders inside the project."""

    files: list[FileEntry]
    templates: list[str]
    folders: set[str]
    problems: list[Problem]
    nested: dict[str, Settings]


def index(root: Path, settings: Settings | None = None) -> list[FileEntry]:
    """All Python files below a project's root, by name; what cannot be read is passed over."""
    if settings is None:
        from pytest_cachesafe.lint.settings import load_settings

        settings = load_settings(root)
    return walk(settings).files


def walk(settings: Settings, start: str = "", *, whole: bool = True) -> Tree:
    """Walk a project.

    Args:
        settings: of the project.
        start: a folder inside it, by name; it is walked even where its own name is excluded by habit.
        whole: False descends into packages only, for a folder that no one has called a project: the files of a lone
            script's folder are its own, those of every folder below (think of `/tmp`) are not.

    Raises:
        UsageError: a `pyproject.toml` inside the project is broken.
    """
    root = str(settings.root)
    from pytest_cachesafe.lint.settings import nested_settings

    tree = Tree([], [], set(), [], {})
    own = os.path.join(root, "")
    at = os.path.join(root, start) if start else root
    stack = [(at, f"{start}/" if start else "", _Excludes(settings), False)]
    while stack:
        path, prefix, excludes, built = stack.pop()
        folder = prefix[:-1]
        try:
            with os.scandir(path) as found:
                entries = list(found)
        except OSError as error:
            tree.problems.append(_unreadable(folder or ".", error))
            continue
        names = {entry.name for entry in entries}
        package = "__init__.py" in names
        if folder != start and (is_environment(names) or ((built or not whole) and not package)):
            continue
        tree.folders.add(folder)
        if folder and "pyproject.toml" in names:
            nested = nested_settings(os.path.join(path, "pyproject.toml"), settings)
            if nested is not None:
                tree.nested[folder] = nested
                excludes = _Excludes(nested)
        for entry in entries:
            name = entry.name
            python = name.endswith(".py")
            if entry.is_dir(follow_symlinks=False):
                if name not in FOREIGN and not (excludes.habits and name in BY_HABIT) and not excludes(prefix + name):
                    stack.append((entry.path, f"{prefix}{name}/", excludes, excludes.habits and name in BUILT))
            elif (python or name.endswith(TEMPLATE_SUFFIXES)) and not excludes(prefix + name):
                if python:
                    _add(tree, entry, prefix, own)
                else:
                    tree.templates.append(prefix + name)
    tree.files.sort()
    tree.templates.sort()
    return tree


class _Excludes:
    """Whether a folder's own configuration leaves out a file or folder, once the folders above it are walked."""

    __slots__ = ("globs", "habits", "length", "prefix")

    def __init__(self, settings: Settings) -> None:
        self.habits = settings.exclude is None
        self.globs = settings.excluded
        # The patterns may be relative to a folder above the root, or to one below it.
        probe = settings.pattern_name("")
        base = settings.root if settings.config is None else settings.config.parent
        self.prefix = probe
        self.length = 0 if probe or base == settings.root else len(base.relative_to(settings.root).as_posix()) + 1

    def __call__(self, name: str) -> bool:
        return bool(self.globs.patterns) and self.globs.match(self.prefix + name[self.length :])


def _add(tree: Tree, entry: os.DirEntry[str], prefix: str, own: str) -> None:
    """Note a file that is named like Python."""
    name = prefix + entry.name
    try:
        found = entry.stat()
        if entry.is_symlink() and os.path.realpath(entry.path).startswith(own):
            return
    except FileNotFoundError:
        # A link to nothing: editors leave such locks beside the file that is being changed.
        return
    except OSError as error:
        if error.errno != errno.ELOOP:
            tree.problems.append(_unreadable(name, error))
        return
    if not stat.S_ISREG(found.st_mode):
        return
    if found.st_size > MAX_BYTES:
        tree.problems.append(too_large(name, found.st_size))
        return
    tree.files.append(FileEntry(name, entry.path, found.st_size, found.st_mtime_ns))


def _unreadable(name: str, error: OSError) -> Problem:
    return Problem(name, f"{name}: cannot be read: {error.strerror or error}", True)


def too_large(name: str, size: int) -> Problem:
    message = f"{name}: skipped: {size / 1e6:.1f} MB, only files up to {MAX_BYTES / 1e6:.0f} MB are read"
    return Problem(name, message, False)


def is_environment(names: Iterable[str]) -> bool:
    """Whether a folder is a virtual environment: its file alone may have strayed into a folder of source."""
    names = set(names)
    return "pyvenv.cfg" in names and not names.isdisjoint(_TOOLS)
