"""`semantic_cache`, its options, and `@pytest.mark.cachesafe(cases=…)`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Project

pytest.importorskip("numpy")

HEAD = """
def by_topic(texts):
    return [["API" in t, "plan" in t, len(t) / 1000] for t in texts]

NOT = ["Is the API rate limited?", "Is the API not rate limited?"]
"""
LINES = [
    {"a": "Is the API limited?", "b": "Is the API limited, please?", "same_answer": True},
    {"a": "Cancel my annual plan", "b": "Cancel my monthly plan", "same_answer": False, "id": "plans"},
]


def test_the_fixture_takes_threshold_from_the_options(project: Project) -> None:
    project.test(
        HEAD
        + """
def test_default(cachesafe, semantic_cache):
    assert semantic_cache.threshold == 0.95
    assert cachesafe.semantic(threshold=0.5).threshold == 0.5

@pytest.mark.cachesafe(threshold=0.8)
def test_marker(semantic_cache, cachesafe):
    assert semantic_cache.threshold == 0.8
    cachesafe.semantic(by_topic).assert_no_collisions(NOT)

def test_words_alone(semantic_cache):
    semantic_cache.assert_distinct(*NOT)
"""
    )
    result = project.run("-v")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["E *1 collision among 2 prompts at threshold 0.8 ?by_topic?: negation*"])
    result = project.run("--cachesafe-threshold=0.9", "-k", "default")
    result.assert_outcomes(failed=1)
    result = project.run("--cachesafe-threshold=0.1")
    result.stderr.fnmatch_lines(["*--cachesafe-threshold: 0.1 looks like a distance*"])


def test_an_encoder_of_the_users_own_by_its_name(project: Project) -> None:
    (project.path / "my_embedding.py").write_text(HEAD, encoding="utf-8")
    project.test(
        """
import pytest

NOT = ["Is the API rate limited?", "Is the API not rate limited?"]

def test_option(semantic_cache):
    assert semantic_cache.at(0.9).collisions(NOT).collisions

@pytest.mark.cachesafe(encoder="my_embedding:by_subject")
def test_marker(semantic_cache):
    semantic_cache.judge(*NOT)
"""
    )
    result = project.run("--cachesafe-encoder=my_embedding:by_topic", "-v")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["encoder my_embedding:by_subject: module 'my_embedding' has no attribute*"])


def test_redacted_failures(project: Project) -> None:
    project.test(HEAD + "def test_it(cachesafe):\n    cachesafe.semantic(by_topic).assert_no_collisions(NOT)\n")
    result = project.run("--cachesafe-redact=text", "--tb=short")
    result.assert_outcomes(failed=1)
    assert "Is the API" not in "\n".join(line for line in result.outlines if line.startswith("E"))


def test_a_test_for_each_case(project: Project) -> None:
    (project.path / "cases.jsonl").write_text("\n".join(map(json.dumps, LINES)), encoding="utf-8")
    project.test(
        HEAD
        + """
@pytest.mark.cachesafe(cases="cases.jsonl", threshold=0.9)
def test_cache(case, cachesafe):
    case.check(cachesafe.semantic(by_topic))

@pytest.mark.cachesafe(cases=["cases.jsonl"])
class TestAll:
    def test_case(self, case):
        assert case.id in ("line1", "plans")

    def test_other(self):
        pass
"""
    )
    result = project.run("-v")
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines_random(
        ["*test_cache?line1? PASSED*", "*test_cache?plans? FAILED*", "*test_other PASSED*"]
    )


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ('cases="missing.jsonl"', "missing.jsonl: no such file"),
        ("cases=3", "must be the name of a file"),
        ("cases=[]", "must be the name of a file"),
    ],
)
def test_files_that_cannot_be_read(project: Project, mark: str, words: str) -> None:
    project.test(f"@pytest.mark.cachesafe({mark})\ndef test_it(case):\n    pass\n")
    result = project.run()
    result.assert_outcomes(errors=1)
    assert words in result.stdout.str()


def test_a_marked_test_without_the_argument(project: Project) -> None:
    project.test('@pytest.mark.cachesafe(cases="x.jsonl")\ndef test_it():\n    pass\n')
    result = project.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*test_it takes no argument 'case': write def test_it(case, semantic_cache)*"])
