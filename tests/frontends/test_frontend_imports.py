"""Imports between the files of the front ends go one way, those for types alone included."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest_cachesafe.frontends

FOLDER = Path(pytest_cachesafe.frontends.__file__).parent
PREFIX = "pytest_cachesafe.frontends."


def _imported(file: Path) -> set[str]:
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {module.removeprefix(PREFIX) for module in modules if module.startswith(PREFIX)}


def test_no_file_imports_in_a_circle() -> None:
    graph = {file.stem: _imported(file) for file in FOLDER.glob("*.py") if file.stem != "__init__"}
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("context") < order.index("environment") < order.index("provenance") < order.index("template")
