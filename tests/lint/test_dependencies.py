"""Which files an import may mean another file in, and sets of files kept once."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.lint.dependencies import FileSets, may_import
from pytest_cachesafe.lint.project import ProjectIndex

NAMES = [
    "a.py",
    "b.py",
    "src/a.py",
    "pkg/__init__.py",
    "pkg/a.py",
    "pkg/sub/__init__.py",
    "pkg/sub/b.py",
    "lib/pkg/b.py",
]
IMPORTS = [("a", 0), ("b", 0), ("pkg", 0), ("pkg.a", 0), ("pkg.sub.b", 0), ("sub.b", 0), ("", 1), ("a", 1), ("b", 2)]


def spelt(dotted: str, level: int) -> bytes:
    if level:
        return f"from {'.' * level}{dotted} import *\n".encode()
    return f"import {dotted}\n".encode()


@given(
    st.sets(st.sampled_from(NAMES)),
    st.sets(st.sampled_from(NAMES)),
    st.sampled_from(["a.py", "pkg/a.py", "pkg/sub/b.py", "x/y.py", "pkg/sub/__init__.py"]),
    st.sampled_from(IMPORTS),
)
@settings(deadline=None, max_examples=tries(400))
def test_a_file_whose_import_means_another_file_is_always_among_them(
    before: set[str], behind: set[str], importer: str, asked: tuple[str, int]
) -> None:
    before, behind = before | {importer}, behind | {importer}
    found = may_import(sorted(before ^ behind), [importer], lambda name: spelt(*asked))
    answers = [ProjectIndex(names).resolve(asked[0], importer, asked[1]) for names in (before, behind)]
    if answers[0] != answers[1]:
        assert found is None or importer in found


def test_files_that_name_nothing_of_it_are_not() -> None:
    texts = {"a.py": b"import os\n", "b.py": b"from tools import clock\n", "gone.py": None}
    assert may_import(["tools/clock.py"], texts, texts.get) == {"b.py", "gone.py"}
    assert may_import([f"x{n}.py" for n in range(1000)], texts, texts.get) is None


def sets_over(contents: dict[str, str]) -> FileSets:
    return FileSets(lambda names: "|".join(contents.get(name, "-") for name in names))


def test_a_set_is_kept_once_and_holds_while_its_files_do() -> None:
    contents = {"a": "1", "b": "2"}
    sets = sets_over(contents)
    one, two = sets.add(("a", "b")), sets.add(("b",))
    assert sets.add(("a", "b")) == one
    dumped, numbers = sets.dump([two, two, one])
    stored = json.loads(json.dumps(dumped))
    assert stored["names"] == ["a", "b"]
    contents["a"] = "3"
    again = sets_over(contents)
    again.load(stored)
    assert again.names(numbers[one]) == ("a", "b")
    assert not again.holds(numbers[one])
    assert again.holds(numbers[two])
    assert again.add(("a", "b")) != numbers[one]
    assert again.holds(again.add(("a", "b")))


def test_a_number_that_is_none_is_refused() -> None:
    sets = sets_over({})
    for number in (-1, 0):
        with pytest.raises(IndexError):
            sets.names(number)
