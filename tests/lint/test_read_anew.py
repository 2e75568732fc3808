"""A file's text is read anew for a request only where the functions on its way read it, not what kept it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import write

from pytest_cachesafe.lint.run import lint

READS = 'Path("MEMORY.md").read_text()'
ANSWER = """

def answer(client, history):
    system_prompt = f"You help. Keep to these rules. {%s} Answer in the language of the question."
    return client.messages.create(model="m", max_tokens=9, system=system_prompt, messages=history)
"""
ROWS = "".join(f"ROW_{number} = {number}\n" for number in range(45))
CALLED = f"\n\ndef rules():\n    return {READS}\n\n\ndef all_rules():\n    return rules().strip()\n" + ANSWER
KEPT = f"""

class Book:
    def __init__(self):
        self.load()

    def load(self):
        self.text = {READS}

    def rules(self):
        return self.text


BOOK = Book()
""" + ANSWER.replace("{%s}", "{BOOK.rules()}")
NAMED = f"\n\ndef rules():\n    return {READS}\n\n\nRULES = rules()\n" + ANSWER.replace("{%s}", "{RULES}")


@pytest.mark.parametrize(
    ("program", "found"),
    [
        (ANSWER.replace("{%s}", "{" + READS.replace('"', "'") + "}"), True),
        (CALLED.replace("{%s}", "{rules()}"), True),
        (CALLED.replace("{%s}", "{all_rules()}"), True),
        (KEPT, False),
        (NAMED, False),
    ],
    ids=["here", "called", "called-twice", "kept-in-an-object", "kept-in-a-name"],
)
def test_each_function_on_the_way_reads(tmp_path: Path, program: str, found: bool) -> None:
    text = f"from pathlib import Path\n\n{ROWS}{program}"
    write(tmp_path, {"chat.py": text, "app.py": "import chat\n"})
    codes = [finding.code for finding in lint([tmp_path], cache=False).findings]
    assert ("CSF109" in codes) is found, codes
