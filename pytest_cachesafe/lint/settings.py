"""What a project wants of the linter: `[tool.cachesafe]` of the nearest `pyproject.toml`, then the command line.

A project is the repository (the nearest folder upwards with `.git`), since a flow does not stop at the border of a
package; without one it is the folder of the outermost `pyproject.toml`, else the folder itself. Settings are those of
the nearest table above a file, up to the project's root. What tables add to the names that are looked for holds in
the whole project, whichever of its files are asked for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pytest_cachesafe.configuration import file_stamp, read_table
from pytest_cachesafe.lint.globs import Globs, compile_globs
from pytest_cachesafe.lint.selectors import check_selectors, codes_of, known_codes, resolve, split_selectors
from pytest_cachesafe.usage import UsageError

__all__ = [
    "Settings",
    "check_codes",
    "describe",
    "identity",
    "load_settings",
    "nested_settings",
    "with_nested",
    "with_overrides",
]

Marker = Literal["pyproject.toml", ".git", ""]

# Folders of installed code: what lies in them is no part of the project around them.
_INSTALLED = frozenset(("site-packages", "dist-packages", "node_modules"))


@dataclass(frozen=True)
class Settings:
    """The settings of one project. Fields named as the keys, with underscores.

    `root`: the project's folder, without symbolic links; `config`: the file the table is in; `marker`: what made `root`
    the root ("" for nothing but the request itself). `sources` and `flags` map to `kind` or `kind:granularity`,
    `sink_calls` to the name or the position of an argument. `origins`: where each field that is not a default is from.
    """

    root: Path
    config: Path | None = None
    marker: Marker = ""
    select: tuple[str, ...] = ("ALL",)
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # None: the folders in `discover.BY_HABIT` and `discover.BUILT`.
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    tests: bool = False
    baseline: Path | None = None
    rules: tuple[str, ...] = ()
    prompt_names: tuple[str, ...] = ()
    safe_names: tuple[str, ...] = ()
    sink_keywords: tuple[str, ...] = ()
    sink_calls: Mapping[str, str | int] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    sanitizers: tuple[str, ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)

    def pattern_name(self, name: str) -> str:
        """A file's name (relative to `root`) as the patterns of the configuration see it."""
        base = self.root if self.config is None else self.config.parent
        if base == self.root:
            return name
        return name.removeprefix(f"{base.relative_to(self.root).as_posix()}/")

    @property
    def excluded(self) -> Globs:
        """What the configuration leaves out, as patterns for `pattern_name`."""
        return compile_globs((self.exclude or ()) + self.extend_exclude)

    def selected(self, known: Mapping[str, str] | None = None) -> frozenset[str]:
        """The codes that are on; `known` adds rules of other packages (code -> name) to this project's."""
        return resolve(self.select, self.extend_select, self.ignore, known_codes() if known is None else known)

    def ignored_in(self, name: str, known: Mapping[str, str] | None = None) -> frozenset[str]:
        """The codes that `per-file-ignores` switches off in a file."""
        if not self.per_file_ignores:
            return frozenset()
        known = known_codes() if known is None else known
        own = self.pattern_name(name)
        covering = [codes for glob, codes in self.per_file_ignores.items() if compile_globs((glob,)).covers(own)]
        return frozenset().union(*(codes_of(selector, known) for codes in covering for selector in codes))


def load_settings(path: Path, known: Mapping[str, str] | None = None) -> Settings:
    """The settings for a file or folder (which need not exist), read again only when the configuration changed.

    Args:
        path: file or folder.
        known: code -> name of the rules that may be selected; this project's unless given.

    Raises:
        UsageError: broken TOML, an unknown key, a value of the wrong type, an unknown rule.
    """
    folder = os.path.realpath(path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path)))
    settings = _located(folder)
    if settings.select != ("ALL",) or settings.ignore or settings.extend_select or settings.per_file_ignores:
        check_codes(settings, known)
    return settings


def _located(folder: str) -> Settings:
    """Go up from a folder: the nearest table gives the settings, the repository is the project."""
    config: tuple[str, tuple[int, int]] | None = None
    outermost: str | None = None
    marker: Marker = ""
    parent, root = folder, folder
    while True:
        if os.path.basename(parent) in _INSTALLED and parent != folder:
            # What is installed is a project of its own, whatever lies around it.
            break
        root = parent
        path = os.path.join(parent, "pyproject.toml")
        stamp = file_stamp(path)
        if stamp is not None:
            # A nearest file that is broken is told even where it does not mention us.
            if config is None and read_table(path, stamp, strict=outermost is None) is not None:
                config = path, stamp
            outermost = parent
        above = os.path.dirname(parent)
        if os.path.lexists(os.path.join(parent, ".git")):
            marker = ".git"
            break
        if above == parent:
            root = folder
            break
        parent = above
    if marker != ".git" and outermost is not None:
        root, marker = outermost, "pyproject.toml"
    return _build(root, *(config or (None, None)), marker)


@lru_cache(maxsize=64)
def _build(root: str, config: str | None, stamp: tuple[int, int] | None, marker: Marker) -> Settings:
    """One object for a folder as long as its configuration is the same."""
    if config is None or stamp is None:
        return Settings(Path(root), marker=marker)
    from pytest_cachesafe.lint.settings_values import read_values

    table = read_table(config, stamp) or {}
    values = read_values(table, config)
    if "baseline" in values:
        values["baseline"] = Path(config).parent / values["baseline"]
    origins = dict.fromkeys(values, config)
    return Settings(Path(root), Path(config), marker, origins=origins, **values)


def nested_settings(path: str, outer: Settings) -> Settings | None:
    """The settings that a `pyproject.toml` inside the project gives its own folder; None where it has no table.

    Names stay relative to the outer project's root.
    """
    stamp = file_stamp(path)
    if stamp is None or read_table(path, stamp) is None:
        return None
    settings = _build(str(outer.root), path, stamp, outer.marker)
    check_codes(settings)
    return settings


def check_codes(settings: Settings, known: Mapping[str, str] | None = None) -> None:
    """Refuse unknown rules. Give `known` with the rules of other packages once those are loaded.

    Raises:
        UsageError: naming file and key, and the closest rule.
    """
    others = known is None and bool(settings.rules)
    known = known_codes() if known is None else known
    where = settings.config or "[tool.cachesafe]"
    for name in ("select", "ignore", "extend_select"):
        origin = settings.origins.get(name, "")
        place = origin if origin.startswith("--") else f"{where}: [tool.cachesafe] {name.replace('_', '-')}"
        check_selectors(getattr(settings, name), known, place, others=others)
    for glob, selectors in settings.per_file_ignores.items():
        check_selectors(selectors, known, f"{where}: [tool.cachesafe] per-file-ignores {glob!r}", others=others)


def with_overrides(
    settings: Settings,
    *,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    extend_select: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    extend_exclude: Sequence[str] | None = None,
    tests: bool | None = None,
    baseline: Path | None = None,
    known: Mapping[str, str] | None = None,
) -> Settings:
    """The settings with what the command line says; None leaves a setting as it is.

    Values may hold commas. `select` begins anew: `ignore` and `extend-select` of the file no longer count beside it.
    `ignore`, `extend_select` and `extend_exclude` add to what the file says; a `baseline` is relative to the current
    folder.

    Raises:
        UsageError: an unknown rule or a pattern that cannot be one, naming the option.
    """
    changes: dict[str, Any] = {}
    origins = dict(settings.origins)

    def give(name: str, value: Any) -> None:
        changes[name] = value
        origins[name] = f"--{name.replace('_', '-')}"

    if select is not None:
        give("select", split_selectors(select))
        if not changes["select"]:
            raise UsageError("--select: no rule named; give codes, prefixes or names, or ALL")
        changes.update(ignore=(), extend_select=())
        origins.pop("ignore", None)
        origins.pop("extend_select", None)
    for name, added in (("ignore", ignore), ("extend_select", extend_select)):
        if added is not None:
            before = changes.get(name, getattr(settings, name))
            words = split_selectors(added)
            check_selectors(words, known_codes() if known is None else known, f"--{name.replace('_', '-')}",
                            others=known is None and bool(settings.rules))  # fmt: skip
            give(name, (*before, *words))
    for name, globs in (("exclude", exclude), ("extend_exclude", extend_exclude)):
        if globs is not None:
            from pytest_cachesafe.lint.settings_values import read_values

            key = name.replace("_", "-")
            value = read_values({key: list(globs)}, f"--{key}")[name]
            give(name, value if name == "exclude" else (*settings.extend_exclude, *value))
    if tests is not None:
        changes["tests"], origins["tests"] = tests, "--include-tests"
    if baseline is not None:
        give("baseline", Path(os.path.abspath(baseline)))
    if not changes:
        return settings
    changed = replace(settings, origins=origins, **changes)
    if select is not None:
        check_codes(changed, known)
    return changed


def with_nested(settings: Settings, nested: Iterable[Settings]) -> Settings:
    """The settings with what the tables inside the project add to the names that are looked for; where two say
    different things of one name, the first."""
    changes: dict[str, Any] = {}
    for other in nested:
        for name in _NAMES:
            before, more = changes.get(name, getattr(settings, name)), getattr(other, name)
            if more:
                changes[name] = (
                    {**more, **before} if isinstance(more, Mapping) else tuple(dict.fromkeys((*before, *more)))
                )
    return replace(settings, **changes) if changes else settings


_NAMES = ("rules", "prompt_names", "safe_names", "sink_keywords", "sink_calls", "sources", "sanitizers", "flags")
_PLACES = ("root", "config", "marker", "origins")


def identity(settings: Settings) -> str:
    """What can change a result, as canonical JSON: part of a cache's key. No absolute paths."""
    values = {f.name: getattr(settings, f.name) for f in fields(settings) if f.name not in (*_PLACES, "baseline")}
    values["patterns"] = settings.pattern_name("")
    return json.dumps(values, sort_keys=True)


def describe(settings: Settings) -> list[str]:
    """Each setting with its value and where it is from, for `--show-settings`."""
    from pytest_cachesafe.lint.walk import BUILT, BY_HABIT

    reason = {
        "pyproject.toml": "outermost pyproject.toml",
        ".git": "nearest .git",
        "": "no pyproject.toml or .git above",
    }
    lines = [
        f"root = {_written(settings.root)}  ({reason[settings.marker]})",
        f"configuration = {_written(settings.config) if settings.config else 'none'}",
    ]
    for item in fields(settings):
        if item.name not in _PLACES:
            origin = settings.origins.get(item.name, "default")
            value = getattr(settings, item.name)
            if item.name == "exclude" and value is None:
                value = tuple(sorted(BY_HABIT | BUILT))
            lines.append(f"{item.name.replace('_', '-')} = {_written(value)}  ({origin})")
    return lines


def _written(value: Any) -> str:
    """A value as TOML would have it."""
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        pairs: Iterable[str] = (f"{json.dumps(k)} = {_written(v)}" for k, v in value.items())
        return "{ " + ", ".join(pairs) + " }" if value else "{}"
    if isinstance(value, tuple):
        return "[" + ", ".join(_written(v) for v in value) + "]"
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
