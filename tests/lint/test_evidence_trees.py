"""Parts of trees that the evidence asks for."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

from pytest_cachesafe.lint.evidence.trees import functions

NESTED = """
def top(): ...
class A:
    def method(self):
        def inner(): ...
try:
    def in_try(): ...
except ValueError:
    def in_except(): ...
else:
    def in_else(): ...
finally:
    def in_finally(): ...
match 1:
    case 1:
        def in_case(): ...
with open("x") as file:
    for x in file:
        async def in_for(): ...
    else:
        def in_for_else(): ...
if 1: pass
elif 2:
    def top(): ...
"""


def _walked(body: list[ast.stmt]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.setdefault(node.name, []).append(node.lineno)
    return found


def test_functions_are_found_wherever_a_statement_may_stand_in_the_order_of_the_tree() -> None:
    texts = [NESTED]
    library = Path(sysconfig.get_path("stdlib"))
    texts += [(library / name).read_text("utf-8") for name in ("typing.py", "dataclasses.py", "inspect.py", "enum.py")]
    for text in texts:
        body = ast.parse(text).body
        found = {name: [f.lineno for f in same] for name, same in functions(body).items()}
        assert list(found.items()) == list(_walked(body).items())
        assert found
