"""Templates as a function fills them: what stands for which placeholder, and which statements give a name its text."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import lru_cache
from string import Formatter

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.trees import Function, called, own_nodes, spelt

__all__ = ["fields", "given", "replaced"]

_PLACE = lazy_pattern(r"\{\{-?\s*([\w.]+)[^}]*\}\}")
_LONGEST_CHAIN = 20


def given(name: str, function: Function) -> list[ast.stmt]:
    """The statements that give a local name its value or add to it, in the order of the source."""
    return _all_given(function).get(name, [])


@lru_cache(maxsize=32)
def _all_given(function: Function) -> dict[str, list[ast.stmt]]:
    found: dict[str, list[ast.stmt]] = {}
    for node in own_nodes(function):
        if isinstance(node, ast.Assign):
            targets = [t for target in node.targets for t in ast.walk(target)]
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        for name in {target.id for target in targets if isinstance(target, ast.Name)}:
            found.setdefault(name, []).append(node)
    return {name: sorted(nodes, key=lambda node: node.lineno) for name, nodes in found.items()}


def replaced(
    call: ast.Call, function: Function, constants: Mapping[str, str]
) -> tuple[str, dict[str, ast.expr]] | None:
    """The text of `TEXT.replace("{a}", a).replace("{b}", b)`, also over several statements, and what stands for each
    word; None where it is not seen."""
    words: dict[str, ast.expr] = {}
    node: ast.expr = call
    rows = call.end_lineno or call.lineno
    for _ in range(_LONGEST_CHAIN):
        if isinstance(node, ast.Call) and called(node) == "replace" and isinstance(node.func, ast.Attribute):
            word = node.args[0] if len(node.args) > 1 else None
            if not (isinstance(word, ast.Constant) and isinstance(word.value, str) and word.value):
                return None
            words.setdefault(word.value, node.args[1])
            node = node.func.value
        elif isinstance(node, ast.Name) and node.id not in constants:
            before = [item for item in given(node.id, function) if item.lineno < rows]
            if not before or not isinstance(before[-1], ast.Assign):
                return None
            node, rows = before[-1].value, before[-1].lineno
        else:
            break
    text = node.value if isinstance(node, ast.Constant) else constants.get(spelt(node))
    return (text, words) if isinstance(text, str) else None


def fields(text: str) -> list[tuple[str, str | None]]:
    """The fixed parts of a template, each with the placeholder behind it; the last has none."""
    if _PLACE.search(text):
        parts = _PLACE.split(text)
        names: list[str | None] = [*parts[1::2], None]
        return list(zip(parts[::2], names, strict=True))
    out: list[tuple[str, str | None]] = []
    number = 0
    try:
        for fixed, name, _, _ in Formatter().parse(text):
            if name == "":
                name, number = str(number), number + 1
            out.append((fixed, re.split(r"[.\[]", name)[0] if name is not None else None))
    except ValueError:
        return [(text, None)]
    return out
