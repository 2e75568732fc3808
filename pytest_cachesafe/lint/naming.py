"""File names as people and machines meet them.

Inside a pass files are named relative to the project's root. A terminal opens what is relative to the current folder;
code-scanning services want names relative to the repository, whatever folder the run was started in.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_cachesafe.findings import Finding

__all__ = ["namer", "renamed"]


def namer(root: str, *, below_root: bool = False) -> Callable[[str], str]:
    """How to name files of this project: relative to the current folder where root and folder lie in one another, else
    absolute; with `below_root` relative to the root instead of absolute."""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        # The folder was removed under us.
        here = ""
    if here == root:
        return lambda name: name
    if here and (root.startswith(os.path.join(here, "")) or here.startswith(os.path.join(root, ""))):

        def near(name: str) -> str:
            return os.path.relpath(os.path.join(root, name), here).replace(os.sep, "/")

        return near
    if below_root:
        return lambda name: name
    return lambda name: os.path.join(root, name).replace(os.sep, "/")


def renamed(finding: Finding, name: Callable[[str], str]) -> Finding:
    """The finding with other names for its place and the steps to it."""
    where = finding.location
    location = where if where.filename is None else replace(where, filename=name(where.filename))
    flow = tuple(replace(step, filename=name(step.filename)) for step in finding.flow)
    return replace(finding, location=location, flow=flow)
