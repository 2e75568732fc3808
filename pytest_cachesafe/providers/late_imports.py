"""Modules that are imported later: whoever waits for one is called as soon as it is there; none is imported for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["LateImports"]


class LateImports(MetaPathFinder):
    """First in `sys.meta_path` from `install` to `remove`: one look into a table for every other import.

    Args:
        names: modules that are waited for; then: called with the name and the module.
    """

    def __init__(self, names: Container[str], then: Callable[[str, ModuleType], None]) -> None:
        self._names, self._then = names, then
        self._inside: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec the other finders give, with a loader that comes back when the module is there."""
        if fullname not in self._names or fullname in self._inside:
            return None
        self._inside.add(fullname)
        try:
            spec = find_spec(fullname)
        finally:
            self._inside.discard(fullname)
        if spec is None or spec.loader is None:
            return None
        spec.loader = _Loading(spec.loader, lambda module: self._then(fullname, module))
        return spec

    def install(self) -> None:
        """Begin to wait."""
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Stop; somebody may have emptied the list meanwhile."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)


class _Loading(Loader):
    def __init__(self, loader: Any, then: Callable[[ModuleType], None]) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        # The module is to look as if nobody had stood between; resources are found through its loader.
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
