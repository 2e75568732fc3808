"""Files that override: what they return reaches a prompt only through a method of the base, which lies elsewhere.

Such a file holds no word of a sink. It is found by words: a class whose base is defined in a file with a sink, and a
method with a clock in it that the base has as well and calls on its object. The flow analysis says whether it is true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from cachesafe_rules.patterns import lazy_pattern

__all__ = ["may_override", "overriding"]

# Roots of clocks, the sources that methods are overridden for; each costs a search in every file.
_ROOTS = (b"datetime", b"import time", b"strftime")
_SOURCES = lazy_pattern(rb"now\(|today\(|strftime|time\(")
_CLASS = lazy_pattern(rb"^[ \t]*class[ \t]+(\w+)[ \t]*(?:\(([^)]*)\))?[^\n]*:", re.MULTILINE)
_METHOD = lazy_pattern(rb"^[ \t]+(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*\(", re.MULTILINE)
_WORD = lazy_pattern(rb"\w+")
# Bases above bases.
_LEVELS = 3


class _Class(NamedTuple):
    """A class by its text: the words in its brackets, and its methods with a clock."""

    name: bytes
    bases: frozenset[bytes]
    volatile: frozenset[bytes]


def may_override(data: bytes) -> bool:
    """Whether a file has a class and a clock at all."""
    return any(root in data for root in _ROOTS) and b"class " in data


def overriding(names: Iterable[str], entries: Iterable[str], read: Callable[[str], bytes | None]) -> frozenset[str]:
    """Those of `names` that may override something of a class in one of the `entries`."""
    classes = {name: found for name in names if (found := _classes(read(name) or b""))}
    asked = {method for found in classes.values() for one in found for method in one.volatile}
    wanted = {base for found in classes.values() for one in found for base in one.bases}
    # By class name: what its bases and itself define and call on their object.
    called: dict[bytes, frozenset[bytes]] = {}
    for name in entries if asked else ():
        data = read(name) or b""
        methods = frozenset(m for m in asked if b"self." + m in data and b"def " + m in data)
        for match in _CLASS.finditer(data) if methods else ():
            if match[1] in wanted:
                called[match[1]] = called.get(match[1], frozenset()) | methods
    out: set[str] = set()
    for _ in range(_LEVELS):
        before = len(called)
        for name, found in classes.items():
            for one in found:
                above = frozenset().union(*(called.get(base, frozenset()) for base in one.bases))
                if above:
                    called.setdefault(one.name, above)
                if not above.isdisjoint(one.volatile):
                    out.add(name)
        if len(called) == before:
            break
    return frozenset(out)


def _classes(data: bytes) -> list[_Class]:
    """The classes with bases; a method belongs to the class whose head stands above it."""
    heads = list(_CLASS.finditer(data))
    out = []
    for number, head in enumerate(heads):
        bases = frozenset(_WORD.findall(head[2] or b""))
        if not bases:
            continue
        text = data[head.end() : heads[number + 1].start() if number + 1 < len(heads) else len(data)]
        starts = list(_METHOD.finditer(text))
        volatile = [
            method[1]
            for place, method in enumerate(starts)
            if _SOURCES.search(
                text, method.start(), starts[place + 1].start() if place + 1 < len(starts) else len(text)
            )
        ]
        out.append(_Class(head[1], bases, frozenset(volatile) - {b"__init__"}))
    return out
