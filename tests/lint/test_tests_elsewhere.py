"""Tests in files of other names, generators with a seed and lines on a screen are no prompts; each with its twin."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_programs import brief
from lint_project import places, write

from pytest_cachesafe.lint.run import lint, lint_text

TESTS = """
import {runner}
from datetime import datetime


def messages(history):
    return [{{"role": "system", "content": f"It is {{datetime.now()}}."}}, *history]


{test}
"""
FUNCTION = "def test_time():\n    ask(messages([]))"
CASE = "class Times(unittest.TestCase):\n    def test_time(self):\n        ask(messages([]))"


@pytest.mark.parametrize(
    ("runner", "test", "found"),
    [
        ("pytest", FUNCTION, False),
        ("unittest", CASE, False),
        # What only has the name of a test, and what has none.
        ("json", FUNCTION, True),
        ("pytest", "ask(messages([]))", True),
        ("pytest", FUNCTION.replace("def test_", "def latest_"), True),
    ],
)
def test_a_file_that_holds_tests(tmp_path: Path, runner: str, test: str, found: bool) -> None:
    root = write(tmp_path, {"checks.py": TESTS.format(runner=runner, test=test)})
    assert bool(lint([root], cache=False).findings) is found
    # Whoever asks for tests gets those as well.
    assert places(lint([root], cache=False, include_tests=True).findings) == [("checks.py", 7, "CSF101")]


SHUFFLED = """
import random

EXAMPLES = ["a", "b", "c"]
{module}


def ask(client, history, seed):
    shots = EXAMPLES[:]
    {made}
    {drawn}.shuffle(shots)
    system = "Sort into classes.\\n" + "\\n".join(shots) + "\\nKeep to the rules of the house, whatever is asked."
    return client.chat.completions.create(model="m", messages=[{{"role": "system", "content": system}}, *history])
"""


@pytest.mark.parametrize(
    ("module", "made", "drawn", "found"),
    [
        ("", "rng = random.Random(7)", "rng", False),
        ("", "rng = random.Random(seed)", "rng", False),
        ("", "pass", "random.Random(7)", False),
        # Without a seed, with one that moves, and one that goes on from the call before.
        ("", "rng = random.Random()", "rng", True),
        ("", "rng = random.Random(None)", "rng", True),
        ("import time", "rng = random.Random(time.time())", "rng", True),
        ("rng = random.Random(7)", "pass", "rng", True),
    ],
)
def test_a_generator_with_a_seed(module: str, made: str, drawn: str, found: bool) -> None:
    assert bool(brief(lint_text(SHUFFLED.format(module=module, made=made, drawn=drawn)))) is found


@pytest.mark.parametrize(("seed", "found"), [("7", False), ("", True)])
def test_a_module_that_draws_with_a_seed(seed: str, found: bool) -> None:
    text = (
        f"import random\n\nrng = random.Random({seed})\nSHOTS = ['a', 'b', 'c']\nrng.shuffle(SHOTS)\n"
        "SYSTEM_PROMPT = 'Sort.\\n' + '\\n'.join(SHOTS)\n\n\n"
        "def ask(client, history):\n"
        "    return client.chat.completions.create(\n"
        "        model='m', messages=[{'role': 'system', 'content': SYSTEM_PROMPT}, *history])\n"
    )
    assert bool(brief(lint_text(text))) is found


LINE = """
import time
from dataclasses import dataclass


class Line:
    pass


@dataclass
class SystemMessage(Line):
    content: str
    {field}

    def {method}(self, screen):
        return {{"a": self.content}}


def join(screen, name):
    SystemMessage(content=f"{{name}} came at {{time.ctime()}}").{method}(screen)
"""


@pytest.mark.parametrize(
    ("field", "method", "found"),
    [
        ("at: float = 0", "draw", False),
        ("at: float = 0", "render_line", False),
        ("role: str = 'system'", "draw", True),
        ("at: float = 0", "to_dict", True),
    ],
)
def test_a_line_of_a_screen(field: str, method: str, found: bool) -> None:
    assert bool(brief(lint_text(LINE.format(field=field, method=method)))) is found


@pytest.mark.parametrize(("kind", "found"), [("int", True), ("str", True), ("bool", False)])
def test_a_number_that_is_worked_out_of_a_clock(kind: str, found: bool) -> None:
    text = (
        "import time\n\n\nclass Call:\n    def __init__(self):\n        self.begun = time.monotonic()\n\n"
        f"    def remaining(self) -> {kind}:\n        return int(480 - (time.monotonic() - self.begun))\n\n"
        "    def messages(self, history):\n"
        '        return [{"role": "system", "content": f"{self.remaining()} s are left."}, *history]\n'
    )
    assert bool(brief(lint_text(text))) is found
