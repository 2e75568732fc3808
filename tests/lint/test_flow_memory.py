"""Trees of the flow analysis may go at any moment: what is parsed again is what was there, and the findings stay."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from lint_project import write

import pytest_cachesafe
from pytest_cachesafe.lint.flow import analysis
from pytest_cachesafe.lint.parse import parse, parse_rows
from pytest_cachesafe.lint.run import lint

# Helpers that the prompt's file needs one after the other, in every form that is parsed for itself: a decorated
# function, a nested one, a method, a class body, the fields of a dataclass. Rows that are not ASCII move the columns.
PROJECT = {
    "clocks.py": (
        "import functools\nfrom datetime import datetime\n\nNAME = 'é – ü'\n\n\n"
        "@functools.lru_cache\ndef stamp(style='%H:%M'):\n"
        "    def inner():\n        é = 'ü'; return é + datetime.now().strftime(style)\n\n    return inner()\n"
    ),
    "parts.py": (
        "from dataclasses import dataclass\n\nfrom clocks import stamp\n\n\n@dataclass\nclass Args:\n"
        "    role: str\n    when: str\n\n\nclass Base:\n    intro = 'You help.'\n\n"
        "    def text(self):\n        return self.intro + self.tail()\n\n    def tail(self):\n        return ''\n"
    ),
    "prompts.py": (
        "from clocks import stamp\nfrom parts import Args, Base\n\n\nclass Dated(Base):\n"
        "    def tail(self):\n        return f'It is {stamp()}.'\n\n\n"
        "def system():\n    args = Args('desk', stamp())\n    return f'ü {args.role} {args.when}' + Dated().text()\n"
    ),
    "app.py": (
        "from prompts import system\n\n\ndef build(question):\n"
        "    return [{'role': 'system', 'content': system()}, {'role': 'user', 'content': question}]\n"
    ),
    "other.py": (
        "from parts import Base\nfrom prompts import Dated\n\n\ndef build(question):\n    made = Dated()\n"
        "    return [{'role': 'system', 'content': made.text()}, {'role': 'user', 'content': question}]\n"
    ),
}


def told(root: Path) -> list[tuple[object, ...]]:
    result = lint([root], cache=False)
    assert result.crashed == []
    return [(f.code, f.message, f.location, f.data["end_location"], tuple(f.flow)) for f in result.findings]


def test_findings_do_not_depend_on_what_stays_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path / "p", PROJECT)
    kept = told(root)
    assert kept
    monkeypatch.setattr(analysis, "_LIVE_BYTES", 0)
    assert told(root) == kept


OWN = sorted(Path(pytest_cachesafe.__file__).parent.rglob("*.py"))[::7]
ODD = (
    'class A:\n    @x(\n      1)\n    def é(self): return "ü", self.é\n\n\tdef bad(): ...\n',
    "if 1:\n\tdef f(a,\n  b=2):\n\t\t'''x\ndef g(): pass\n'''\n\t\treturn f'{a!r:>{b}}'  # é\n",
    "async def f():\r\n    return [\r\n1]\r\nclass B: x = 1; y = 2\r\n",
    "class C:\n  def m(self):\n    return 1 + \\\n2\n  def n(self): pass",
)


@pytest.mark.parametrize("text", [*(path.read_text("utf-8") for path in OWN), *ODD])
def test_rows_parsed_alone_are_what_the_whole_file_has(text: str) -> None:
    whole = parse(text.encode(), "a.py")
    for node in ast.walk(whole.tree) if whole.tree is not None else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            alone = parse_rows(whole.lines, first, node.end_lineno or 0, "a.py")
            assert alone is not None
            assert ast.dump(alone, include_attributes=True) == ast.dump(node, include_attributes=True)


def test_rows_that_hold_no_statement() -> None:
    assert parse_rows(["x = (", "1)"], 1, 1, "a.py") is None
    assert parse_rows(["# nothing"], 1, 1, "a.py") is None
    assert parse_rows([], 1, 4, "a.py") is None
