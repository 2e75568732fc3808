"""Parameters without an annotation in a short file: of what class they are, by what is read of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.flow.classes import annotated_names
from pytest_cachesafe.lint.flow.moment import is_excerpt

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.module import ClassInfo, FunctionInfo

__all__ = ["only_class_with"]


def only_class_with(engine: Engine, function: FunctionInfo, name: str) -> ClassInfo | None:
    """The one class of a short file that has all the fields which a function reads of a parameter; None where nothing
    is read, where it lacks one of them, and where there are two such classes."""
    classes = [cls for cls in function.module.classes if cls is not function.cls]
    if not classes or not is_excerpt(engine, function.module):
        return None
    read = {
        node.attr
        for node in ast.walk(engine.node(function))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    }
    having = [cls for cls in classes if read <= {*annotated_names(engine, cls), *cls.methods}]
    return having[0] if read and len(having) == 1 else None
