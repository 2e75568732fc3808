"""The tables: what is shipped, what users add, and what is told of a wrong entry."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_cachesafe.semantic.detect import Detector
from pytest_cachesafe.semantic.tables import Tables
from pytest_cachesafe.semantic.tables.antonyms import ANTONYMS
from pytest_cachesafe.semantic.tables.config import read_tables, tables_from
from pytest_cachesafe.semantic.verdict import KINDS
from pytest_cachesafe.usage import UsageError


def kind(tables: Tables, a: str, b: str) -> tuple[str, str | None]:
    verdict = Detector(tables).compare(a, b)
    return verdict.different_answer, verdict.kind


def test_hand_antonyms_are_many_and_of_known_kinds() -> None:
    assert set(ANTONYMS) <= set(KINDS)
    pairs = [entry for text in ANTONYMS.values() for entry in text.split()]
    assert len(set(pairs)) >= 150
    assert all(entry.count("/") == 1 for entry in pairs)


def test_no_pair_is_both_opposite_and_synonym() -> None:
    tables = Tables.default()
    both = [
        pair
        for pair in tables.antonyms
        if not tables.synonyms.get(pair[0], frozenset()).isdisjoint(tables.synonyms.get(pair[1], frozenset()))
    ]
    assert both == []


def test_wordnet_comes_with_its_notice() -> None:
    import pytest_cachesafe.semantic.tables as package

    folder = Path(package.__file__).with_name("wordnet")
    assert "Princeton" in (folder / "LICENSE").read_text(encoding="utf-8")
    for table in folder.glob("*.txt"):
        assert "WordNet 3.1" in table.read_text(encoding="utf-8").splitlines()[1]


def test_the_shipped_tables_are_made_once() -> None:
    assert Tables.default() is Tables.default()


def test_users_antonyms() -> None:
    a, b = "Is a swing bed free on the ward?", "Is an acute bed free on the ward?"
    assert kind(Tables.default(), a, b) == ("suspect", "substitution")
    tables = Tables.default().with_user(antonyms=[("swing bed", "acute bed")])
    assert kind(tables, a, b) == ("certain", "antonym")
    assert kind(tables, a.replace("bed", "beds"), b.replace("bed", "beds")) == ("certain", "antonym")
    assert kind(Tables.default(), a, b) == ("suspect", "substitution")


def test_users_synonyms() -> None:
    a, b = "Where is the bodega?", "Where is the corner shop?"
    assert kind(Tables.default(), a, b)[0] == "suspect"
    assert kind(Tables.default().with_user(synonyms=[("bodega", "corner shop")]), a, b) == ("none", None)


def test_a_users_synonym_overrules_a_shipped_antonym() -> None:
    a, b = "Who is the buyer?", "Who is the seller?"
    assert kind(Tables.default(), a, b) == ("certain", "antonym")
    assert kind(Tables.default().with_user(synonyms=[("buyer", "seller")]), a, b) == ("none", None)


def test_users_entities() -> None:
    a, b = "What is in the Starter box?", "What is in the garden box?"
    assert kind(Tables.default(), a, b)[0] == "suspect"
    assert kind(Tables.default().with_user(entities=[["starter", "garden", "big family"]]), a, b) == (
        "certain",
        "entity",
    )


def test_users_ignored_words() -> None:
    a, b = "What does the acme plan cost?", "What does the plan cost?"
    assert kind(Tables.default(), a, b) == ("suspect", "scope")
    assert kind(Tables.default().with_user(ignore=["acme"]), a, b) == ("none", None)


def test_users_units() -> None:
    tables = Tables.default().with_user(
        units={"furlong": ("metre", 201.168), "stone": ["gram", 6350.29], "lane": "furlong"}
    )
    assert kind(tables, "Run 2 furlong", "Run 402.336 metres") == ("none", None)
    assert kind(tables, "Run 2 furlong", "Run 2 km") == ("certain", "unit")
    assert kind(tables, "Run 2 lane", "Run 2 furlong") == ("none", None)


def test_other_languages_are_judged_by_the_users_own_entries() -> None:
    tables = Tables.default().with_user(antonyms=[("jährlich", "monatlich")], entities=[["大西洋", "太平洋"]])
    assert kind(
        tables,
        "Wird die Gebühr jährlich und nicht früher fällig?",
        "Wird die Gebühr monatlich und nicht früher fällig?",
    ) == (
        "certain",
        "antonym",
    )
    assert kind(tables, "介绍一下大西洋", "介绍一下太平洋") == ("certain", "entity")
    assert Detector(tables).compare("介绍一下长江", "介绍一下黄河").note is not None


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"antonyms": [("a1", "b1", "c1")]}, "is not a pair"),
        ({"antonyms": [("Same", "same")]}, "fewer than 2 different entries"),
        ({"antonyms": ["hot cold"]}, "is not a list"),
        ({"synonyms": [("one thing", 3)]}, "3 is not text"),
        ({"entities": [["only"]]}, "fewer than 2"),
        ({"ignore": ["  "]}, "has no word in it"),
        ({"ignore": "acme"}, "is not a list"),
        ({"units": {"stone": "boulder"}}, "'boulder' is no known unit"),
        ({"units": {"stone": ("gram", 0)}}, "factor 0.0 is not above 0"),
        ({"units": {"stone": ("gram",)}}, "give [base unit, factor]"),
        ({"units": {"two words": "gram"}}, "is not one word"),
        ({"antonyms": [("ab", "cd")], "synonyms": [("ab", "cd")]}, "antonyms and synonyms: take one out"),
    ],
)
def test_a_wrong_entry_is_told_in_one_line(entries: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError) as raised:
        Tables.default().with_user(**entries)  # type: ignore[arg-type]
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_section_of_pyproject() -> None:
    tables = tables_from({"antonyms": [["dev", "prod"]], "units": {"stone": ["gram", 6350.29]}}, "pyproject.toml")
    assert kind(tables, "Deploy to dev", "Deploy to prod") == ("certain", "antonym")


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"antonym": []}, "has no key 'antonym'; did you mean 'antonyms'?"),
        ({"antonyms": "x"}, "antonyms must be a list"),
        ({"units": []}, "units must be a table of names"),
        ([], "must be a table"),
        ({"ignore": [1]}, "[tool.cachesafe.semantic] ignore: 1 is not text"),
    ],
)
def test_a_wrong_section_names_file_and_key(section: object, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        tables_from(section, "some/pyproject.toml")
    assert str(raised.value).startswith("some/pyproject.toml: ")
    assert words in str(raised.value)


def test_without_a_file_the_shipped_tables_are_read(tmp_path: Path) -> None:
    assert read_tables(str(tmp_path / "pyproject.toml")) is Tables.default()
