"""Which files there are: all of the project (to be read) and those that were asked for (to be reported).

One walk over the project's folder. It does not follow symbolic links to folders, so a loop of links ends and a link to
`/` costs nothing; a link to a file counts unless its target lies in the project and is seen there. What `exclude`
names is not read at all, also when it is given by name, as a commit hook does; `per-file-ignores` silences files that
should still be read. Names are relative to the project's root, with forward slashes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.lint.settings import Settings

__all__ = [
    "MAX_BYTES", "TEMPLATE_SUFFIXES", "Discovery", "FileEntry", "Problem", "Tree", "discover", "index",
    "is_archived", "is_prompt_template", "is_test_path", "projects", "template_entries", "walk",
]  # fmt: skip

# Larger files are generated data; 1.2 million lines of a real library have none above 1 MB.
MAX_BYTES = 5_000_000
TEMPLATE_SUFFIXES = (".jinja", ".jinja2", ".j2", ".txt", ".md", ".yaml", ".yml", ".prompt")

# Never walked: no one's own code, whatever `exclude` says.
FOREIGN = frozenset((
    ".git", ".hg", ".svn", ".bzr", "__pycache__", "node_modules", "site-packages", "dist-packages", "__pypackages__",
    ".venv", ".tox", ".nox", ".eggs", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis",
    ".ipynb_checkpoints",
))  # fmt: skip
# Walked only where `exclude` is given and does not name them.
BY_HABIT = frozenset((
    "venv", ".direnv", ".pyenv", ".pants.d", "buck-out", "vendor", "vendored", "_vendor",
    "_vendored", "third_party", "third-party", "thirdparty",
))  # fmt: skip
# Build output, unless it is a package of that name.
BUILT = frozenset(("build", "dist", "_build"))


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
        return _left_out(name, self)


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


def is_test_path(name: str) -> bool:
    """Whether a file belongs to the tests, by its name relative to the root."""
    *folders, last = name.lower().split("/")
    if last.startswith("test_") or last.endswith("_test.py") or last in ("tests.py", "conftest.py"):
        return True
    return any(f in ("test", "tests", "testing") or f.endswith(("_test", "_tests")) for f in folders)


def is_archived(name: str) -> bool:
    """Whether a file was put away: nobody calls what lies in an archive."""
    return any(folder in ("archive", "archived", "archives", "attic") for folder in name.lower().split("/")[:-1])


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
        if folder != start and (_is_environment(names) or ((built or not whole) and not package)):
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
        tree.problems.append(_too_large(name, found.st_size))
        return
    tree.files.append(FileEntry(name, entry.path, found.st_size, found.st_mtime_ns))


def _unreadable(name: str, error: OSError) -> Problem:
    return Problem(name, f"{name}: cannot be read: {error.strerror or error}", True)


def _too_large(name: str, size: int) -> Problem:
    message = f"{name}: skipped: {size / 1e6:.1f} MB, only files up to {MAX_BYTES / 1e6:.0f} MB are read"
    return Problem(name, message, False)


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
    reason = _left_out(item.name, found)
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
            problems.add(_too_large(item.name, item.stat.st_size))
            return
        entry = FileEntry(item.name, item.path, item.stat.st_size, item.stat.st_mtime_ns)
        found.project[item.name] = files[item.name] = entry
    else:
        found.excluded.append(f"{item.text}: neither Python nor a prompt template")


# Where a virtual environment has its interpreter.
_TOOLS = ("bin", "Scripts")


def _is_environment(names: Iterable[str]) -> bool:
    """Whether a folder is a virtual environment: its file alone may have strayed into a folder of source."""
    names = set(names)
    return "pyvenv.cfg" in names and not names.isdisjoint(_TOOLS)


def _left_out(name: str, found: Discovery) -> str | None:
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
        if _is_environment(name for name in ("pyvenv.cfg", *_TOOLS) if (found.settings.root / folder / name).exists()):
            return f"excluded by default: folder {last!r} is a virtual environment"
    return None


def _folders(name: str) -> Iterator[str]:
    """The folders above a name, outermost first."""
    at = name.find("/")
    while at > 0:
        yield name[:at]
        at = name.find("/", at + 1)
