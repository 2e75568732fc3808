"""What a run set out to collect: only inside it can an entry whose test did not show up be called unused."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

__all__ = ["Scope"]

# Options that leave tests or whole files out, not all of them through `pytest_deselected`.
_NARROWING = ("keyword", "markexpr", "lf", "stepwise", "deselect", "ignore", "ignore_glob")


class Scope:
    """Collects what may exist although it was not collected; workers hand theirs over."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._root = os.path.realpath(config.rootpath)
        self.deselected = any(getattr(config.option, name, None) for name in _NARROWING)
        # Node ids of files, folders and classes that were left alone, skipped at import, or could not be imported.
        self.unread: set[str] = set()
        # Whether there are classes among them.
        self._inside = False
        # Some modules were meant to be collected and were not (others are always left alone: caches, environments).
        self.incomplete = False
        # Answers by file, once everything was collected.
        self._files: dict[str, bool] = {}

    # Told while tests are collected.

    def ignored(self, path: str) -> None:
        """A plugin, a conftest or an option left a path alone."""
        self.unread.add(os.path.relpath(os.path.realpath(path), self._root).replace(os.sep, "/"))

    def failed(self, nodeid: str) -> None:
        """A module, class or folder could not be collected, or said that it is skipped here."""
        self.unread.add(nodeid)
        self._inside = self._inside or "::" in nodeid
        self.incomplete = True

    def take(self, deselected: bool, incomplete: bool, unread: Iterable[str]) -> None:
        """What a worker was told."""
        self.incomplete = self.incomplete or incomplete
        self.deselected = self.deselected or deselected
        self.unread.update(unread)
        self._inside = any("::" in node for node in self.unread)

    # Asked at the end.

    def tells(self, test: str) -> bool:
        """Whether a test that was not collected does not exist any more."""
        if self.deselected or "" in self.unread or "." in self.unread:
            return False
        file = test.partition("::")[0]
        told = self._files.get(file)
        if told is None:
            told = self._files[file] = self._tells_of(file)
        return told and not (self._inside and any(node in self.unread for node in _parts(test)))

    def _tells_of(self, file: str) -> bool:
        if any(node in self.unread for node in _folders(file)):
            return False
        path = os.path.realpath(os.path.join(self._root, file))
        if any(path == folder or path.startswith(folder + os.sep) for folder in self._asked()):
            return True
        # Outside `testpaths`: it may well exist, unless its file is gone.
        return self._started_whole() and not os.path.exists(path)

    def _asked(self) -> list[str]:
        start = str(self._config.invocation_params.dir)
        found = []
        for arg in self._config.args:
            word = str(arg)
            # One test, or one class: the others of the file were not asked for.
            if "::" not in word:
                found.append(os.path.realpath(os.path.join(start, word)).rstrip(os.sep))
        return found

    @property
    def whole(self) -> bool:
        """Whether every test was asked for."""
        return self._started_whole() and not self.deselected and not self.incomplete

    def _started_whole(self) -> bool:
        """Whether pytest was started in the root folder without naming anything."""
        config = self._config
        return config.args_source is not pytest.Config.ArgsSource.ARGS and (
            os.path.realpath(config.invocation_params.dir) == self._root
        )

    def payload(self) -> dict[str, Any]:
        """What a worker hands over."""
        return {"deselected": self.deselected, "incomplete": self.incomplete, "unread": sorted(self.unread)}


def _folders(file: str) -> Iterator[str]:
    """Node ids of the folders that a file is in, and its own."""
    for i, char in enumerate(file):
        if char == "/":
            yield file[:i]
    yield file


def _parts(test: str) -> Iterator[str]:
    """Node ids of the classes that a test is in, and its own."""
    node, *rest = test.split("::")
    # A parametrised id may hold "::" itself: then one of these is no node, which does no harm.
    for part in rest:
        node = f"{node}::{part}"
        yield node
