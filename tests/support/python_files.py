"""Python files that are at hand wherever Python is: its standard library, the tests of that, and what is installed."""

from __future__ import annotations

import ast
import random
import sysconfig
from pathlib import Path

STDLIB = Path(sysconfig.get_path("stdlib"))
# Packages of which all files are taken: old and new style, async, long tables, regular expressions, odd encodings.
WHOLE = ("asyncio", "concurrent", "email", "html", "http", "importlib", "json", "logging", "re", "xml")
# Files full of rare syntax.
RARE = (
    "test_ast.py", "test_fstring.py", "test_generators.py", "test_genexps.py", "test_grammar.py", "test_patma.py",
    "test_positional_only_arg.py", "test_string_literals.py", "test_syntax.py", "test_tokenize.py",
    "test_type_comments.py", "test_unpack_ex.py", "test_with.py", "test_named_expressions.py",
    "test_except_star.py", "test_lambda.py",
)  # fmt: skip
# Upper bounds of the classes of size.
SIZES = (2_000, 10_000, 40_000, 100_000, 400_000)


def python_files(each: int, largest: int, *, library: bool = False) -> list[Path]:
    """All files of `WHOLE` and `RARE` up to `largest` bytes, and a sample: `each` files of every size (a quarter of
    that above 100,000 bytes) of the rest of the standard library, of its tests and of installed packages. `library`:
    all of the standard library, without its tests. The same files on every run on a machine."""
    own, tests, installed = list[Path](), list[Path](), list[Path]()
    for path in sorted(STDLIB.rglob("*.py")):
        if path.stat().st_size <= largest:
            parts = path.relative_to(STDLIB).parts
            kind = installed if "site-packages" in parts else tests if {"test", "tests"} & {*parts} else own
            kind.append(path)
    chosen = [path for path in own if library or path.relative_to(STDLIB).parts[0] in WHOLE]
    chosen += [path for path in tests if path.name in RARE]
    rand = random.Random(11)
    for kind in (own, tests, installed):
        rest = sorted({*kind} - {*chosen})
        for low, high in zip((0, *SIZES), SIZES, strict=False):
            size = [path for path in rest if low < path.stat().st_size <= high]
            chosen += rand.sample(size, min(each if high <= 100_000 else each // 4, len(size)))
    return chosen


def difference(one: ast.AST, other: ast.AST, *, places: bool) -> str | None:
    """Where two trees first differ, in words; None where they are the same. Several times as fast as `ast.dump`."""
    pending: list[tuple[object, object]] = [(one, other)]
    while pending:
        a, b = pending.pop()
        if type(a) is not type(b):
            return f"{a!r} and {b!r}"
        if isinstance(a, ast.AST) and isinstance(b, ast.AST):
            if places and _place(a) != _place(b):
                return f"{ast.dump(a)[:200]} at {_place(a)} and {_place(b)}"
            pending += [(getattr(a, name, None), getattr(b, name, None)) for name in a._fields]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return f"{len(a)} and {len(b)} of {[*map(ast.dump, a)][:200]}"
            pending += zip(a, b, strict=True)
        elif a != b:
            return f"{a!r} and {b!r}"
    return None


def _place(node: ast.AST) -> tuple[object, ...]:
    return tuple(getattr(node, name, None) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"))
