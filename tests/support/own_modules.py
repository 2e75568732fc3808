"""All modules of this package, loaded before pytest runs inside this process."""

from __future__ import annotations

import importlib
import pkgutil

import pytest_cachesafe

__all__ = ["load_own_modules"]


def load_own_modules() -> None:
    """Load every module of ours; none of them loads anything heavy by itself.

    A run in this process drops the modules that it loaded: a package of which half stays would have every class twice.
    """
    for module in pkgutil.walk_packages(pytest_cachesafe.__path__, "pytest_cachesafe."):
        if module.name not in ("pytest_cachesafe.plugin", "pytest_cachesafe.__main__"):
            importlib.import_module(module.name)
