"""Syntax newer than the running Python: parsed by libcst, handed on as `ast` nodes.

So one flow analysis serves both. Where the running Python has no node for a construct, the nearest older one stands
for it: a type alias is an assignment, `except*` is `except`, a template string is an f-string, `lazy import` is
`import`; type parameters fall away. This package imports libcst: import it inside the function that needs it.
"""

from __future__ import annotations

import ast
import gc
import re
import sys
import warnings
from typing import Any

from pytest_cachesafe.lint.newer.depth import too_deep

__all__ = ["translate", "translate_piece"]

STACK = 256 * 1024 * 1024
"""Bytes of stack for the thread that parses (address space; memory only as far as it is used). libcst's parser recurses
without a bound of its own and would end the process where the stack ends; `too_deep` refuses input long before."""

FRAMES = 100_000
WHERE = re.compile(r"error at (\d+):(\d+)")

Problem = tuple[int, int, str]
Version = tuple[int, int]


def translate(text: str, *, checked: bool = True) -> tuple[ast.Module | None, Problem | None]:
    """The tree of a module whose lines end in LF, or the row, column (from 1) and words of what libcst rejects.

    Both are None where `text` holds no syntax that is newer than the running Python (unless `checked` is off): then
    the running Python's verdict stands, for libcst accepts a little more than the language has.
    """
    tree, problem, since = _apart(text)
    if checked and tree is not None and since <= sys.version_info[:2]:
        return None, None
    return tree, problem


def translate_piece(text: str) -> tuple[ast.Module | None, Version]:
    """The tree of some statements, None where libcst rejects them; and the first version that knows their syntax."""
    tree, _, since = _apart(text)
    return tree, since


def _apart(text: str) -> tuple[ast.Module | None, Problem | None, Version]:
    """The translation, made in a thread with room for its recursion."""
    deep = too_deep(text)
    if deep is not None:
        return None, (*deep, "nested too deeply"), (0, 0)
    from threading import Thread, stack_size

    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(_translate(text))
        except BaseException as error:
            outcome.append(error)

    ours = not gc.isenabled()
    if ours:
        # What is there already stays out of the way of the collection below.
        gc.freeze()
    limit, stack = sys.getrecursionlimit(), stack_size(STACK)
    try:
        sys.setrecursionlimit(FRAMES)
        thread = Thread(target=work)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        stack_size(stack)
        if ours:
            # The trees of libcst are full of circles.
            gc.collect()
            gc.unfreeze()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    made: tuple[ast.Module | None, Problem | None, Version] = outcome[0]
    return made


def _translate(text: str) -> tuple[ast.Module | None, Problem | None, Version]:
    import libcst
    from libcst.metadata import MetadataWrapper, PositionProvider

    from pytest_cachesafe.lint.newer.statements import Statements

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = libcst.parse_module(text)
        except libcst.ParserSyntaxError as error:
            return None, _problem(error), (0, 0)
        except BaseException as error:
            # libcst's own checks (bytes beside text: CSTValidationError) and faults of its native part: rejected, too.
            if isinstance(error, Exception) or type(error).__name__ == "PanicException":
                return None, None, (0, 0)
            raise
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        translator = Statements(module, wrapper.resolve(PositionProvider), text.split("\n"))
        try:
            tree = translator.translate()
        except (SyntaxError, ValueError) as error:
            # A literal that libcst takes as it is and Python does not ("\x", a number of 5,000 digits).
            return None, (1, 1, str(error).partition("\n")[0]), (0, 0)
    return tree, None, translator.since


def _problem(error: Any) -> Problem:
    found = WHERE.search(error.message)
    if found is None:
        return error.raw_line, max(error.raw_column + 1, 1), "invalid syntax"
    return int(found[1]), max(int(found[2]), 1), "invalid syntax"
