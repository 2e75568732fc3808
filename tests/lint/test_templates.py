"""Template files that read a clock: which, where, and which are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachesafe_rules.template_clock import TemplateClock
from pytest_cachesafe.lint.options import LintOptions
from pytest_cachesafe.lint.run import lint, lint_text, run_lint
from pytest_cachesafe.lint.templates import arrivals_in

FILES = [(e, True) for e in TemplateClock.INVALID if not e.filename.endswith(".py")]
FILES += [(e, False) for e in TemplateClock.VALID if not e.filename.endswith(".py")]


@pytest.mark.parametrize(("example", "bad"), FILES, ids=[f"{e.filename}-{bad}" for e, bad in FILES])
def test_the_examples_of_the_rule(example: object, bad: bool) -> None:
    findings = lint_text(example.code, example.filename)  # type: ignore[attr-defined]
    assert [f.code for f in findings] == (["CSF112"] if bad else [])
    assert all(f.location.row in example.rows for f in findings)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "severity", "column"),
    [
        ("It is {{ now() }}.", "error", 7),
        ("It is {{ now().strftime('%H:%M') }}.", "error", 7),
        ("It is {{ now().strftime('%Y-%m-%d %H h') }}.", "warning", 7),
        ("It is {{ today() }}.", "note", 7),
        ("It is {{- datetime.date.today() -}}.", "note", 7),
        ("{% set d = strftime_now('%d %b %Y') %}{{ d }}", "note", 1),
        ("{% now 'utc', '%Y' %}", "note", 1),
        ("Now: {{ now }}", "error", 6),
        ("Now: {{ now | upper }}", "error", 6),
        ("{% if x %}\n{{ datetime.now().isoformat() }}{% endif %}", "error", 1),
        ("\u2028\u00e9 {{ now() }}", "error", 4),
    ],
)
def test_a_clock_in_a_tag(text: str, severity: str, column: int) -> None:
    (found,) = lint_text(text, "prompts/system.jinja")
    assert (found.code, str(found.severity), found.location.column) == ("CSF112", severity, column)


@pytest.mark.parametrize(
    "text",
    [
        "Call now() to get the time.",
        "{# now() #}",
        "{% raw %}{{ now() }}{% endraw %}",
        "{{ 'now()' }}",
        "{{ user.now() }}",
        "{{ known }} {{ now_playing }} {{ nowhere() }}",
        "{% if strftime_now is defined %}x{% endif %}",
        "{{ now",
        "{% raw %}{{ now() }}",
        "{ { now() } }",
    ],
)
def test_what_only_looks_like_one(text: str) -> None:
    assert lint_text(text, "prompts/system.jinja") == []


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("prompts/a.md", "{{ now() }}", True),
        ("docs/a.md", "{{ now() }}", False),
        ("prompts/a.yaml", "system: It is {{ now() }}", True),
        ("web/page.html.j2", "<footer>{{ now() }}</footer>", False),
        ("web/a.j2", "You are a clerk. {{ now() }}", True),
        ("chat_template.jinja", "{{ strftime_now('%Y') }}", True),
        ("etc/motd.j2", "{{ now() }}", False),
        ("tests/prompts/a.jinja", "{{ now() }}", False),
    ],
)
def test_which_files_are_prompts(name: str, text: str, found: bool, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    (tmp_path / "empty.py").write_text("")
    for path in (tmp_path, tmp_path / name):
        codes = [f.code for f in lint([path], cache=False).findings]
        assert codes == (["CSF112"] if found else []), path


def test_one_report_per_template() -> None:
    (found,) = lint_text("{{ now() }}\n{{ today() }}\n", "system.jinja")
    assert (found.location.row, str(found.severity)) == (1, "error")
    assert {step.row for step in found.flow} == {1, 2}


def test_a_changed_template_is_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACHESAFE_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "project"
    (root / "prompts").mkdir(parents=True)
    (root / "pyproject.toml").write_text("")
    (root / "a.py").write_text("x = 1\n")
    template = root / "prompts" / "system.jinja"
    for text, codes in (("{{ now() }}", ["CSF112"]), ("{{ name }}", []), ("{{ nil }} {{ now() }}", ["CSF112"])):
        template.write_text(text)
        for _ in range(2):
            assert [f.code for f in lint([root]).findings] == codes
    template.unlink()
    assert lint([root]).findings == []


def test_a_template_from_standard_input(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "a.py").write_text("x = 1\n")
    name = str(tmp_path / "system.jinja")
    found = run_lint(LintOptions(cache=False, stdin=b"{{ now() }}", stdin_filename=name)).result
    assert [f.code for f in found.findings] == ["CSF112"]
    assert found.files == 1


@given(
    st.lists(
        st.sampled_from(["{{", "}}", "{%", "%}", "{#", "#}", " now() ", "raw", "endraw", "\r\n", "'", "\x00", "é"])
    )
)
@settings(deadline=None)
def test_whatever_is_left_open(parts: list[str]) -> None:
    text = "".join(parts)
    for arrival in arrivals_in("system.jinja", text.encode()):
        span = arrival.span
        assert (1, 1) <= (span.row, span.column) < (span.end_row, span.end_column)


def test_a_large_file_that_closes_nothing_ends() -> None:
    assert arrivals_in("system.jinja", b"{{ now() " * 200_000) == []
    assert len(arrivals_in("system.jinja", b"{{ now() }}\n" * 5_000)) == 5_000


def test_a_date_that_is_set_and_never_printed() -> None:
    text = "{% set d = strftime_now('%d %b %Y') %}{% if not d is defined %}{% set d = '' %}{% endif %}You are a clerk."
    assert [f.code for f in lint_text(text + "{{ d }}", "prompts/system.jinja")] == ["CSF112"]
    assert lint_text(text, "prompts/system.jinja") == []
    assert [f.code for f in lint_text(text + "{% set e = d %}{{ e }}", "prompts/system.jinja")] == ["CSF112"]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def ask(env):\n    return env.get_template('clerk.jinja').render()\n\nask(1)\n", True),
        # The folder is named, and which of its files is read depends.
        ("def ask(env, name):\n    return env.get_template(f'prompts/{name}.jinja')\n\nask(1, 'a')\n", True),
        ("CLERK = (FOLDER / 'clerk.jinja').read_text()\n\ndef ask(model):\n    return model(CLERK)\n\nask(1)\n", True),
        ("CLERK = (FOLDER / 'clerk.jinja').read_text()\n\ndef known(model):\n    return model.text == CLERK\n", False),
        ("CLERK = (FOLDER / 'clerk.jinja').read_text()\n\ndef known(text):\n    return text in [CLERK, '']\n", False),
        (
            "def _ask(env):\n    return env.get_template('clerk.jinja').render()\n\n"
            "def main():\n    print(1)\n\nmain()\n",
            False,
        ),
        # Another program may render it.
        ("print('hello')\n", True),
    ],
    ids=["rendered", "by-folder", "constant", "compared", "one-of", "dead", "other-program"],
)
def test_a_template_that_nobody_renders(code: str, found: bool, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n")
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "clerk.jinja").write_text("You are a clerk.\nIt is {{ now() }}.\n")
    (tmp_path / "app.py").write_text(code)
    assert [f.code for f in lint([tmp_path], cache=False).findings] == (["CSF112"] if found else [])
