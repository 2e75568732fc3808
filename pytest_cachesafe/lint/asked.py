"""What of the source a run of pytest asks for: the paths of its command line, and findings named by their ids.

`pytest` and `pytest tests` (where that is what `testpaths` says) mean the project. Other paths restrict what is
reported, as they do for `cachesafe lint`. A test that is named by its id alone asks for nothing of the source.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest

from cachesafe_rules.patterns import lazy_pattern

__all__ = ["Asked", "asked", "ignored", "take_ids"]

_FINDING = lazy_pattern(r"(?P<path>.+)::[A-Z]+\d{3}:\d+(?::\d+)?")
_PROJECT = "cachesafe-lint::project"
_KEY: pytest.StashKey[tuple[str, ...]] = pytest.StashKey()


class Asked(NamedTuple):
    """`paths` to lint; `ids`: of the findings to keep beside those of `whole` paths, as pytest shows them."""

    paths: tuple[str, ...]
    whole: tuple[str, ...]
    ids: tuple[str, ...] = ()

    def keeps(self, path: str, nodeid: str) -> bool:
        """Whether an item that lies in this file was asked for."""
        return nodeid in self.ids or any(path == one or path.startswith(os.path.join(one, "")) for one in self.whole)


def take_ids(config: pytest.Config) -> None:
    """Take ids of findings out of pytest's arguments: it would import the file and look for a test of that name."""
    ids = tuple(arg for arg in config.args if arg == _PROJECT or _FINDING.fullmatch(arg))
    config.stash[_KEY] = ids
    config.args[:] = [arg for arg in config.args if arg not in ids]


def asked(config: pytest.Config) -> Asked | None:
    """What is asked for; None for nothing."""
    root, here = str(config.rootpath), str(config.invocation_params.dir)
    ids = config.stash.get(_KEY, ())
    if not ids and _is_all(config, here):
        return Asked((root,), (root,))
    whole = tuple(os.path.realpath(os.path.join(here, arg)) for arg in config.args if "::" not in arg)
    whole = tuple(path for path in whole if os.path.exists(path))
    shown, paths = [], list(whole)
    for one in ids:
        if one == _PROJECT:
            shown.append(one)
            paths.append(root)
            continue
        name, _, last = one.rpartition("::")
        # Shown from the root folder, typed in any.
        path = next((p for p in (os.path.join(here, name), os.path.join(root, name)) if os.path.exists(p)), None)
        if path is None:
            raise pytest.UsageError(f"file or directory not found: {name}")
        path = os.path.realpath(path)
        shown.append(f"{os.path.relpath(path, os.path.realpath(root)).replace(os.sep, '/')}::{last}")
        paths.append(path)
    return Asked(tuple(dict.fromkeys(paths)), whole, tuple(shown)) if paths else None


def _is_all(config: pytest.Config, here: str) -> bool:
    """Whether no path was typed. A worker of pytest-xdist gets the paths of `testpaths` as if they had been."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        return config.args_source is pytest.Config.ArgsSource.TESTPATHS or here == str(config.rootpath)
    usual = [path for one in config.getini("testpaths") for path in sorted(glob.iglob(one, recursive=True))]
    return bool(usual) and sorted(config.args) == sorted(usual)


def ignored(config: pytest.Config, path: Path) -> bool:
    """Whether `--ignore` or `--ignore-glob` leaves a file out."""
    own = os.path.realpath(path)
    above = [own, *map(str, Path(own).parents)]
    return any(os.path.realpath(one) in above for one in _given(config, "ignore")) or any(
        fnmatch(name, os.path.abspath(pattern)) for pattern in _given(config, "ignore_glob") for name in above
    )


def _given(config: pytest.Config, option: str) -> Sequence[str]:
    return config.getoption(option, None) or ()
