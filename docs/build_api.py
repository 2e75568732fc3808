"""The public names, from their signatures and docstrings: `python docs/build_api.py` writes docs/api.md."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "rules")]

import pytest_cachesafe  # noqa: E402

TARGET = Path(__file__).with_name("api.md")
HEAD = """# The public names

Written by `python docs/build_api.py` from signatures and docstrings. All of them are imported from `pytest_cachesafe`.
Every error that is a user's mistake is a `UsageError` with one line: what, where, what to do.
"""
# What a docstring's sections are called in it, as Google's style has them.
_SECTION = re.compile(r"^(Args|Raises|Returns|Yields):$")


def document() -> str:
    """The whole page."""
    names = [name for name in pytest_cachesafe.__all__ if name != "__version__"]
    parts = [HEAD, *("\n".join(_entry(name)) + "\n" for name in names)]
    return "\n".join(parts)


def _entry(name: str) -> Iterator[str]:
    value = getattr(pytest_cachesafe, name)
    yield f"## `{name}`"
    yield ""
    yield from _described(name, value)
    if not inspect.isclass(value):
        return
    for member, function in _members(value):
        yield ""
        yield f"### `{name}.{member}`"
        yield ""
        yield from _described(f"{name}.{member}", function)


def _members(value: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that have something to say, those of our own base classes included."""
    for member in dir(value):
        static = inspect.getattr_static(value, member)
        function = static.__func__ if isinstance(static, (classmethod, staticmethod)) else static
        if isinstance(static, property):
            function = static.fget
        if member.startswith("_") or not inspect.isfunction(function):
            continue
        if function.__module__.startswith("pytest_cachesafe") and inspect.getdoc(function):
            yield member, static if isinstance(static, property) else function


def _described(name: str, value: Any) -> Iterator[str]:
    if not isinstance(value, property):
        signature = _signature(value)
        if signature is not None:
            yield "```text"
            yield from _wrapped(name, signature)
            yield "```"
            yield ""
    yield from _paragraphs(inspect.getdoc(value) or "")


def _signature(value: Any) -> str | None:
    if inspect.isclass(value) and issubclass(value, BaseException):
        return None
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    # Addresses of objects that are defaults would differ from run to run.
    text = re.sub(r"<(?:function |class ')?([\w.]+)[^>]*>", r"\1", str(signature.replace(parameters=parameters)))
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text).replace("= factory", "= …")


def _wrapped(name: str, signature: str) -> Iterator[str]:
    line = f"{name}{signature}"
    if len(line) <= 110:
        yield line
        return
    inside, arrow, result = signature[1:].rpartition(") -> ") if ") -> " in signature else (signature[1:-1], "", "")
    yield f"{name}("
    depth, start = 0, 0
    for at, sign in enumerate(inside):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            yield f"    {inside[start : at + 1].strip()}"
            start = at + 1
    yield f"    {inside[start:].strip()},"
    yield f"){f' -> {result}' if arrow else ''}"


def _paragraphs(text: str) -> Iterator[str]:
    """A docstring as Markdown: its sections become lists."""
    section = False
    item: list[str] = []
    for line in text.split("\n"):
        if _SECTION.match(line):
            section = True
            yield f"**{line}**"
            yield ""
        elif section and line.startswith("    "):
            if not line.startswith("     ") and item:
                yield from _item(item)
                item = []
            item.append(line.strip())
        else:
            if item:
                yield from _item(item)
                item = []
            section = section and not line.strip()
            yield line
    if item:
        yield from _item(item)


def _item(lines: list[str]) -> Iterator[str]:
    first, *rest = lines
    yield f"- {first}"
    yield from (f"  {line}" for line in rest)


if __name__ == "__main__":
    TARGET.write_text(document(), encoding="utf-8")
