"""The index and the pages say what the docstrings say, and the files in the repository are current."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cachesafe_rules.__main__ import documents, main
from cachesafe_rules.api import Context, Example, Fix, Report, Rule
from cachesafe_rules.example import bad, good
from cachesafe_rules.pages import fixable, index, page, page_json, summary
from cachesafe_rules.registry import known_codes, load_rules

ROOT = Path(__file__).resolve().parents[2]


class Sample(Rule):
    """A pipe | in the summary.

    ## Why

    Because.

    What to do
    ----------
    Nothing - - at all.
    """

    code = "ACME001"
    name = "sample-rule"
    severity = "note"
    VALID = (good("\nx = 1\n"), good("{{ x }}\n", "a.jinja"))
    INVALID = (bad('\nx = """```\n"""  # <--\n'), Example("y = 2\n", (1,)))

    def check(self, context: Context):  # type: ignore[no-untyped-def]
        return iter(())


class Fixing(Sample):
    """With a fix."""

    def fix(self, report: Report, source: str) -> Fix | None:
        return None


@pytest.fixture(scope="module")
def rules() -> list[Rule]:
    return load_rules(known_codes())


def test_index_and_pages_in_the_repository_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--check"], ROOT)
    assert code == 0, f"run `python -m cachesafe_rules`; stale: {capsys.readouterr().out.split()}"


def test_every_rule_has_words_of_its_own(rules: list[Rule]) -> None:
    summaries = [summary(rule) for rule in rules]
    assert len(set(summaries)) == len(summaries)
    for rule in rules:
        assert summary(rule).endswith("."), rule.code
        assert len(summary(rule)) < 130, rule.code
        assert len(page(rule).split()) > 80, rule.code


def test_the_index_has_every_rule_and_its_page_exists(rules: list[Rule]) -> None:
    text = index(rules, "../docs/rules")
    for rule in rules:
        assert text.count(f"| [{rule.code}](../docs/rules/{rule.code}.md) | {rule.name} | {rule.severity} |") == 1
        assert f"docs/rules/{rule.code}.md" in documents()


def test_a_page_holds_summary_words_examples_and_the_way_to_suppress() -> None:
    text = page(Sample())
    assert text.startswith("# sample-rule (ACME001)\n\nA pipe | in the summary.\n\nSeverity: note. Fix: none.\n")
    assert "## Why\n\nBecause.\n\n## What to do\n\nNothing - - at all.\n" in text
    assert '````python\nx = """```\n"""  # ACME001\n````' in text
    assert "```python\ny = 2  # ACME001\n```" in text
    assert "`a.jinja`\n\n```jinja\n{{ x }}\n```" in text
    assert "# cachesafe: ignore[ACME001] reason" in text
    assert 'ignore = ["ACME001"]' in text
    assert text.endswith("\n")
    assert "\n\n\n" not in text


def test_json_and_page_are_the_same_text(rules: list[Rule]) -> None:
    for rule in rules:
        data = page_json(rule)
        assert json.loads(json.dumps(data)) == data
        assert data["markdown"] == page(rule)
        for key in ("summary", "explanation", "suppress", "configure"):
            assert data[key] in data["markdown"]
        assert [tuple(example["rows"]) for example in data["invalid"]] == [example.rows for example in rule.INVALID]


def test_a_pipe_does_not_break_the_table() -> None:
    row = index([Sample()], "pages").splitlines()[-3]
    assert "A pipe \\| in the summary." in row


def test_a_fix_is_told_where_there_is_one() -> None:
    assert not fixable(Sample())
    assert fixable(Fixing())
    assert "| yes |" in index([Fixing()], "pages")
    assert "`--fix`" in page(Fixing())
    [unused] = load_rules(["CSF902"])
    assert fixable(unused)


def test_check_writes_nothing_and_names_what_is_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"], tmp_path) == 1
    assert "rules/README.md" in capsys.readouterr().out.split()
    assert list(tmp_path.iterdir()) == []


def test_writing_twice_changes_nothing_and_old_pages_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], tmp_path) == 0
    gone = tmp_path / "docs/rules/CSF000.md"
    gone.write_text("old")
    assert main(["--check"], tmp_path) == 1
    capsys.readouterr()
    assert main([], tmp_path) == 0
    assert capsys.readouterr().out.split() == ["docs/rules/CSF000.md"]
    assert not gone.exists()
    assert main(["--check"], tmp_path) == 0


def test_an_unknown_argument_is_refused(tmp_path: Path) -> None:
    assert main(["--chekc"], tmp_path) == 2


def test_examples_are_marked_by_comments() -> None:
    assert bad("\na = 1\nb = 2  # <--\n") == Example("a = 1\nb = 2\n", (2,))
    assert good("\na = 1\n") == Example("a = 1\n")
    with pytest.raises(ValueError, match="no line"):
        bad("\na = 1\n")
