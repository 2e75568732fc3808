"""Functions named after writing recalled text (`format_memory`): only what they look up themselves is recalled."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_programs import assert_silent
from lint_project import write

from pytest_cachesafe.lint.run import lint, lint_text

PROGRAM = """
from shelf import find

RULES = "Say what you know."


class Writer:
    sources = ("a.md", "b.md")

    def __init__(self, notes):
        self.notes = notes

    def format_memory(self, found):
{body}

    def build(self, found, history):
        return [{{"role": "system", "content": f"You help.\\n{{self.format_memory(found)}}"}}, *history]
"""


@pytest.mark.parametrize(
    "body",
    [
        '        return "\\n".join(f"- {one.text}" for one in found)',
        '        return "\\n".join(found[name] for name in self.sources if found.get(name)) + RULES',
        "        lines = []\n        for one in found:\n            lines.append(str(one))\n        return str(lines)",
    ],
)
def test_what_is_given_is_not_recalled(body: str) -> None:
    assert_silent(PROGRAM.format(body=body))


@pytest.mark.parametrize(
    "body",
    [
        "        return str(self.notes)",
        '        return "\\n".join(find(found))',
        '        return "\\n".join(one.text for one in found.read_all())',
    ],
)
def test_what_is_looked_up_is_recalled(body: str) -> None:
    program = PROGRAM.format(body=body)
    assert "CSF109" in [finding.code for finding in lint_text(program)], program


FOREIGN = """
from shelf import format_memory


def build(user_id, page, history):
    return [{{"role": "system", "content": f"You help.\\n{{format_memory({given})}}"}}, *history]
"""


@pytest.mark.parametrize(
    ("given", "told"), [("user_id", True), ("", True), ("user_id, limit=5", True), ("page", False)]
)
def test_a_foreign_function_is_judged_by_what_it_is_given(given: str, told: bool, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"app.py": FOREIGN.format(given=given)})
    assert ("CSF109" in [f.code for f in lint([root], cache=False).findings]) is told
