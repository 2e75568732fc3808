"""What a whole project says: nobody else uses the program, nobody runs the base's method."""

from __future__ import annotations

from pathlib import Path

from lint_project import places, write

from pytest_cachesafe.lint.run import lint

PROMPT = """
def build(user_name, history):
    return [{"role": "system", "content": f"You help {user_name}."}, *history]
"""


def codes(root: Path, files: dict[str, str]) -> list[str]:
    """The codes of the findings in a project of these files."""
    write(root, files)
    return [code for _, _, code in places(lint([root], cache=False).findings)]


def many(number: int, text: str = "") -> dict[str, str]:
    """A program of this many files beside the prompt; one of them holds `text`."""
    return {"app/prompt.py": PROMPT, **{f"app/part{i}.py": f"STEP = {i}\n" for i in range(number)}, "app/last.py": text}


def test_a_program_for_one_person(tmp_path: Path) -> None:
    assert codes(tmp_path, many(30)) == []


def test_a_program_that_tells_users_apart(tmp_path: Path) -> None:
    assert codes(tmp_path, many(30, "def find(user_id):\n    return user_id\n")) == ["CSF105"]


def test_a_few_files_say_nothing_of_users(tmp_path: Path) -> None:
    assert codes(tmp_path, many(3)) == ["CSF105"]


BASE = """
import time
from abc import ABC, abstractmethod


class Model(ABC):
    @abstractmethod
    def connect(self):
        ...

    def ask(self, text, history):
        system = {"role": "system", "content": f"You help. {time.time()}"}
        return self.client.chat.completions.create(model="m", messages=[system, *history])
"""
BELOW = "from base import Model\n\n\nclass {0}(Model):\n    def connect(self):\n        return 1\n{1}"
OWN = "\n    def ask(self, text, history):\n        return {}\n"


def test_a_method_that_every_class_below_has(tmp_path: Path) -> None:
    files = {"base.py": BASE, "a.py": BELOW.format("A", OWN.format("1")), "b.py": BELOW.format("B", OWN.format("2"))}
    assert codes(tmp_path, files) == []


def test_a_method_that_one_class_below_takes_over(tmp_path: Path) -> None:
    files = {"base.py": BASE, "a.py": BELOW.format("A", OWN.format("1")), "b.py": BELOW.format("B", "")}
    assert codes(tmp_path, files) == ["CSF101"]


def test_a_method_that_a_class_below_asks_for(tmp_path: Path) -> None:
    asked = OWN.format("super().ask(text, history)")
    assert codes(tmp_path, {"base.py": BASE, "a.py": BELOW.format("A", asked)}) == ["CSF101"]


def test_a_base_that_makes_objects(tmp_path: Path) -> None:
    base = BASE.replace("    @abstractmethod\n", "")
    assert codes(tmp_path, {"base.py": base, "a.py": BELOW.format("A", OWN.format("1"))}) == ["CSF101"]
