"""Syntax newer than the running Python: parsed by libcst, handed on as `ast` nodes.

So one flow analysis serves both. Where the running Python has no node for a construct, the nearest older one stands
for it: a type alias is an assignment, `except*` is `except`, a template string is an f-string, `lazy import` is
`import`; type parameters fall away. This package imports libcst: import it inside the function that needs it.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from typing import Any

from pytest_cachesafe.lint.newer.depth import too_deep

__all__ = ["translate"]

STACK = 256 * 1024 * 1024
"""Bytes of stack for the thread that parses (address space; memory only as far as it is used). libcst's parser recurses
without a bound of its own and would end the process where the stack ends; `too_deep` refuses input long before."""

FRAMES = 100_000
WHERE = re.compile(r"error at (\d+):(\d+)")

Problem = tuple[int, int, str]


def translate(text: str, *, checked: bool = True) -> tuple[ast.Module | None, Problem | None]:
    """The tree of a module whose lines end in LF, or the row, column (from 1) and words of what libcst rejects.

    Both are None where `text` holds no syntax that is newer than the running Python (unless `checked` is off): then
    the running Python's verdict stands, for libcst accepts a little more than the language has.
    """
    deep = too_deep(text)
    if deep is not None:
        return None, (*deep, "nested too deeply")
    from threading import Thread, stack_size

    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(_translate(text, checked))
        except BaseException as error:
            outcome.append(error)

    limit, stack = sys.getrecursionlimit(), stack_size(STACK)
    try:
        sys.setrecursionlimit(FRAMES)
        thread = Thread(target=work)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        stack_size(stack)
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    tree, problem = outcome[0]
    return tree, problem


def _translate(text: str, checked: bool) -> tuple[ast.Module | None, Problem | None]:
    import libcst
    from libcst.metadata import MetadataWrapper, PositionProvider

    from pytest_cachesafe.lint.newer.statements import Statements

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = libcst.parse_module(text)
        except libcst.ParserSyntaxError as error:
            return None, _problem(error)
        except BaseException as error:
            # libcst's own checks (bytes beside text: CSTValidationError) and faults of its native part: rejected, too.
            if isinstance(error, Exception) or type(error).__name__ == "PanicException":
                return None, None
            raise
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        translator = Statements(module, wrapper.resolve(PositionProvider), text.split("\n"))
        try:
            tree = translator.translate()
        except (SyntaxError, ValueError) as error:
            # A literal that libcst takes as it is and Python does not ("\x", a number of 5,000 digits).
            return None, (1, 1, str(error).partition("\n")[0])
    if checked and translator.since <= sys.version_info[:2]:
        return None, None
    return tree, None


def _problem(error: Any) -> Problem:
    found = WHERE.search(error.message)
    if found is None:
        return error.raw_line, max(error.raw_column + 1, 1), "invalid syntax"
    return int(found[1]), max(int(found[2]), 1), "invalid syntax"
