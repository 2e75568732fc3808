"""Calls that write a row of a database: a message in it was said once, and stands where it was said."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import Func

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.module import FunctionInfo
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["stored"]

_WRITES = lazy_pattern(r"^a?(?:add|save|insert|create|store|record|log|persist|write|append|put|upsert)(?:_|$)")
# Whom a row is given to, by name; a session or a store may be a chat as well.
_STORES = lazy_pattern(r"(?:^|_)(?:repos?|repositor(?:y|ies)|crud|db|database|dao|sql|sqlite|postgres|supabase)$")
_ROWS = frozenset(("commit", "insert_one", "insert_many", "executemany", "execute", "fetchrow", "fetchone"))
_INSERTS = lazy_pattern(r"\b(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET)\b", re.IGNORECASE)


def stored(engine: Engine, node: ast.Call, function: Value, last: str) -> bool:
    """Whether a call is a method that adds a row: by whom it is asked of, or by what it does."""
    if not isinstance(node.func, ast.Attribute) or not _WRITES.match(last):
        return False
    owner = dotted_name(node.func.value).lower().rpartition(".")[2]
    if _STORES.search(owner):
        return True
    functions = function.shape.functions if isinstance(function.shape, Func) else ()
    return bool(functions) and all(_inserts(engine, known) for known in functions)


def _inserts(engine: Engine, function: FunctionInfo) -> bool:
    """Whether a function runs an INSERT, or adds an object to a session and commits."""
    called: set[str] = set()
    told = False
    for stmt in engine.node(function).body:
        for part in ast.walk(stmt):
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
                called.add(part.func.attr)
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                told = told or _INSERTS.search(part.value) is not None
    if told:
        return not _ROWS.isdisjoint(called)
    if not called.isdisjoint({"insert_one", "insert_many"}):
        return True
    return "commit" in called and not called.isdisjoint({"add", "insert"})
