"""`[tool.cachesafe]` for the linter: found, checked, overridden, told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pytest_cachesafe.configuration import KEYS, LINT_KEYS
from pytest_cachesafe.lint.globs import compile_globs, pattern_fault
from pytest_cachesafe.lint.selectors import codes_of, resolve
from pytest_cachesafe.lint.settings import (
    Settings,
    check_codes,
    describe,
    identity,
    load_settings,
    with_nested,
    with_overrides,
)
from pytest_cachesafe.lint.settings_values import split_kind
from pytest_cachesafe.prefix.accept import project_acceptances
from pytest_cachesafe.prompt import UsageError

KNOWN = {"CSF101": "clock-in-prefix", "CSF103": "daily-date", "CSF104": "random-value", "CSF201": "unordered-set"}


def project(folder: Path, text: str = "") -> Path:
    """A project with this table; returns its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(dedent(text), encoding="utf-8")
    return folder


def table(tmp_path: Path, text: str) -> Settings:
    return load_settings(project(tmp_path, "[tool.cachesafe]\n" + dedent(text)), KNOWN)


# Where it is


def test_the_root_is_the_nearest_pyproject(tmp_path: Path) -> None:
    project(tmp_path, "[tool.cachesafe]\ntests = true\n")
    deep = tmp_path / "src" / "pkg"
    deep.mkdir(parents=True)
    for path in (tmp_path, deep, deep / "missing.py"):
        settings = load_settings(path)
        assert settings.root == tmp_path.resolve()
        assert settings.tests


def test_a_pyproject_without_the_table_inherits(tmp_path: Path) -> None:
    project(tmp_path, '[tool.cachesafe]\nextend-exclude = ["libs/a/old", "junk"]\n')
    inner = project(tmp_path / "libs" / "a", "[project]\nname = 'a'\n")
    settings = load_settings(inner / "x.py")
    assert settings.root == tmp_path.resolve()
    assert settings.config == tmp_path.resolve() / "pyproject.toml"
    assert settings.excluded.covers(settings.pattern_name("libs/a/old/x.py"))
    assert not settings.excluded.covers(settings.pattern_name("libs/a/new/x.py"))


def test_the_root_is_the_repository_whatever_configures_the_file(tmp_path: Path) -> None:
    repository = project(tmp_path / "repository", "")
    (repository / ".git").mkdir()
    inner = project(repository / "libs" / "a", "[tool.cachesafe]\ntests = true\n")
    settings = load_settings(inner / "src" / "x.py")
    assert (settings.root, settings.marker) == (repository.resolve(), ".git")
    assert settings.config == inner.resolve() / "pyproject.toml"
    assert settings.tests
    assert not load_settings(repository).tests


def test_without_a_repository_the_outermost_pyproject_is_the_root(tmp_path: Path) -> None:
    outer = project(tmp_path / "outer", "")
    inner = project(outer / "x" / "inner", "")
    settings = load_settings(inner)
    assert (settings.root, settings.marker) == (outer.resolve(), "pyproject.toml")


def test_names_of_all_tables_hold_in_the_whole_project(tmp_path: Path) -> None:
    outer = table(tmp_path / "a", 'prompt-names = ["PERSONA"]\nflags = {dated = "clock:day"}\n')
    inner = table(tmp_path / "b", 'prompt-names = ["STYLE"]\nflags = {dated = "host", named = "user"}\ntests = true\n')
    both = with_nested(outer, [inner])
    assert both.prompt_names == ("PERSONA", "STYLE")
    assert both.flags == {"dated": "clock:day", "named": "user"}
    assert not both.tests
    assert with_nested(outer, []) is outer


def test_the_nearest_table_wins_whole(tmp_path: Path) -> None:
    project(tmp_path, "[tool.cachesafe]\ntests = true\n")
    inner = project(tmp_path / "inner", "[tool.cachesafe]\nrules = []\n")
    assert not load_settings(inner).tests


def test_a_repository_is_a_border(tmp_path: Path) -> None:
    project(tmp_path, "[tool.cachesafe]\ntests = true\n")
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    (repository / "src").mkdir()
    settings = load_settings(repository / "src" / "a.py")
    assert (settings.root, settings.marker, settings.tests) == (repository.resolve(), ".git", False)
    # A worktree or submodule has a file of that name.
    (repository / ".git").rmdir()
    (repository / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    assert load_settings(repository / "src").root == repository.resolve()


def test_installed_code_is_its_own_project(tmp_path: Path) -> None:
    project(tmp_path, "[tool.cachesafe]\ntests = true\n")
    package = tmp_path / ".venv" / "lib" / "site-packages" / "package"
    (package / "sub").mkdir(parents=True)
    settings = load_settings(package / "sub")
    assert (settings.root, settings.marker, settings.tests) == (package.resolve(), "", False)


def test_a_folder_of_that_name_is_no_configuration(tmp_path: Path) -> None:
    project(tmp_path, "[tool.cachesafe]\ntests = true\n")
    (tmp_path / "odd" / "pyproject.toml").mkdir(parents=True)
    assert load_settings(tmp_path / "odd").tests


def test_the_same_folder_gives_the_same_object_until_the_file_changes(tmp_path: Path) -> None:
    first = table(tmp_path, "tests = true\n")
    assert load_settings(tmp_path) is first
    assert not table(tmp_path, "tests = false # changed\n").tests


# What may be in it


def test_all_keys_are_read(tmp_path: Path) -> None:
    settings = table(
        tmp_path,
        """
        select = ["ALL"]
        ignore = ["CSF2", "daily-date"]
        extend-select = ["CSF201"]
        exclude = ["legacy"]
        extend-exclude = ["*_pb2.py"]
        tests = true
        baseline = "ci/lint.json"
        rules = ["house"]
        prompt-names = ["PERSONA", ".*_preamble"]
        safe-names = ["reminder"]
        sink-keywords = ["sys_text"]
        sanitizers = ["app.text.stable"]

        [tool.cachesafe.per-file-ignores]
        "scripts/*" = ["CSF1"]

        [tool.cachesafe.sink-calls]
        "app.llm.ask" = "system"
        "app.llm.tell" = 1

        [tool.cachesafe.sources]
        "app.clock.stamp" = "clock:minute"
        "app.request.tenant" = "user"

        [tool.cachesafe.flags]
        with_date = "clock:day"

        [[tool.cachesafe.accept]]
        cause = "date"
        """,
    )
    assert settings.baseline == tmp_path.resolve() / "ci" / "lint.json"
    assert settings.sink_calls == {"app.llm.ask": "system", "app.llm.tell": 1}
    assert settings.sources == {"app.clock.stamp": "clock:minute", "app.request.tenant": "user"}
    assert settings.flags == {"with_date": "clock:day"}
    assert settings.prompt_names == ("PERSONA", ".*_preamble")
    assert settings.selected(KNOWN) == {"CSF101", "CSF104", "CSF201"}
    assert settings.ignored_in("scripts/deep/x.py", KNOWN) == {"CSF101", "CSF103", "CSF104"}
    assert settings.ignored_in("src/x.py", KNOWN) == frozenset()
    # Both readers know the keys of both.
    (accepted,) = project_acceptances(tmp_path)
    assert accepted.cause == "date"


def test_every_key_has_a_reader_and_a_field() -> None:
    from pytest_cachesafe.lint.settings_values import _READERS

    assert tuple(_READERS) == LINT_KEYS
    for key in LINT_KEYS:
        assert key.replace("-", "_") in Settings.__dataclass_fields__


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('selct = ["ALL"]', "no key 'selct'; did you mean 'select'?"),
        ('per_file_ignores = ["ALL"]', "no key 'per_file_ignores'; did you mean 'per-file-ignores'?"),
        ("zzzz = 1", "no key 'zzzz'; known: accept, select"),
        ('select = "ALL"', "select must be a list of strings, got 'ALL'"),
        ("select = [1]", "select must be a list of strings, got 1 in it"),
        ('tests = "yes"', "tests must be true or false, got 'yes'"),
        ("baseline = 3", "baseline must be the path of a file, got 3"),
        ("per-file-ignores = []", "per-file-ignores must be a table"),
        ('per-file-ignores = {"a.py" = "ALL"}', "per-file-ignores 'a.py' must be a list of strings"),
        ('per-file-ignores = {"a.py" = ["CSF999"]}', "per-file-ignores 'a.py': no rule 'CSF999'"),
        ('select = ["daily-dat"]', "select: no rule 'daily-dat'; did you mean 'daily-date'?"),
        ('ignore = ["csf101"]', "ignore: no rule 'csf101'; did you mean 'CSF101'?"),
        ('extend-select = ["C"]', "extend-select: no rule 'C'"),
        ('select = [""]', "select: no rule ''"),
        ('exclude = [""]', "exclude: pattern '' is empty"),
        ('exclude = ["!keep"]', "cannot be negated"),
        ('extend-exclude = ["../other"]', "contains '..'"),
        ('exclude = ["a\\\\b"]', "write forward slashes"),
        ('exclude = ["[z-a]"]', "is not a pattern"),
        ('exclude = ["[ab.py"]', "has a '[' without its ']'"),
        ('per-file-ignores = {"[" = ["CSF1"]}', "has a '[' without its ']'"),
        ('prompt-names = ["("]', "prompt-names: '(' is not a regular expression"),
        ('safe-names = [""]', "an empty name"),
        ('sink-keywords = ["a b"]', "'a b' is not the name of an argument"),
        ('sanitizers = ["a..b"]', "'a..b' is not a dotted name"),
        ("sink-calls = {ask = true}", "sink-calls 'ask' must be the name of an argument or its position"),
        ("sink-calls = {ask = -1}", "got -1"),
        ("sink-calls.app.ask = 0", "put a name with dots into quotes"),
        ('sources = {now = "clok"}', "unknown kind 'clok'; did you mean 'clock'?"),
        ('sources = {now = "clock:minutes"}', "unknown granularity 'minutes'; did you mean 'minute'?"),
        ('sources = {now = "clock:"}', "unknown granularity ''"),
        ("flags = {with_date = 1}", "must be a kind such as 'clock'"),
    ],
)
def test_mistakes_are_told_in_one_line(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        table(tmp_path, text + "\n")
    message = str(caught.value)
    assert words in message
    assert message.startswith(f"{tmp_path.resolve() / 'pyproject.toml'}: [tool.cachesafe] ")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"[tool.cachesafe]\nselect = \n", ":2:10: not valid TOML: Invalid value"),
        (b"[tool.cachesafe]\nselect = [", ":2:11: not valid TOML: "),
        (b"[tool.other\n", ":1:12: not valid TOML: "),
        (b"# \xc3\xa9\xff\n", ":1:4: not valid TOML: not UTF-8"),
        (b"[tool.cachesafe]\ntests = " + b"[" * 3000, "not valid TOML"),
        (b"tool.cachesafe = 3\n", "tool.cachesafe must be a table"),
        (b"\xef\xbb\xbf[tool.cachesafe]\n", ":1:1: not valid TOML: begins with a byte order mark"),
    ],
)
def test_a_broken_file(data: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(data)
    with pytest.raises(UsageError) as caught:
        load_settings(tmp_path)
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path.resolve() / "pyproject.toml"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("folder", ["", "below"])
def test_a_link_that_leads_nowhere(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "pyproject.toml").symlink_to("gone.toml")
    with pytest.raises(UsageError, match="a link that leads nowhere"):
        load_settings(tmp_path / folder)


def test_other_tables_of_that_kind_are_none_of_ours(tmp_path: Path) -> None:
    project(tmp_path, "tool = 3\n")
    assert load_settings(tmp_path).config is None


def test_rules_of_others_are_checked_once_they_are_known(tmp_path: Path) -> None:
    project(tmp_path, '[tool.cachesafe]\nrules = ["house"]\nselect = ["HOUSE001", "house-rule"]\n')
    settings = load_settings(tmp_path)
    check_codes(settings, {**KNOWN, "HOUSE001": "house-rule"})
    with pytest.raises(UsageError, match="no rule 'HOUSE001'"):
        check_codes(settings, KNOWN)
    project(tmp_path, '[tool.cachesafe]\nrules = ["house"]\nselect = ["CSF999"]\n')
    with pytest.raises(UsageError, match="no rule 'CSF999'"):
        load_settings(tmp_path)


def test_kinds_in_two_parts() -> None:
    assert split_kind("clock") == ("clock", None)
    assert split_kind("clock:day") == ("clock", "day")


# Which rules are on


@pytest.mark.parametrize(
    ("select", "extend", "ignore", "on"),
    [
        (["ALL"], [], [], set(KNOWN)),
        (["ALL"], [], ["CSF1"], {"CSF201"}),
        (["ALL"], ["CSF101"], ["CSF1"], {"CSF101", "CSF201"}),
        (["CSF10"], [], ["CSF1"], {"CSF101", "CSF103", "CSF104"}),
        (["daily-date"], [], ["ALL"], {"CSF103"}),
        (["CSF103"], [], ["daily-date"], set()),
        (["CSF"], [], ["ALL"], set(KNOWN)),
        ([], ["CSF2"], [], {"CSF201"}),
        ([], [], [], set()),
    ],
)
def test_the_more_specific_selector_wins(select: list[str], extend: list[str], ignore: list[str], on: set[str]) -> None:
    assert resolve(select, extend, ignore, KNOWN) == on


SELECTORS = st.lists(
    st.sampled_from(["ALL", "CSF", "CSF1", "CSF10", "CSF2", "CSF20", "CSF9", *KNOWN, *KNOWN.values()]), max_size=4
)


@hypothesis_settings(deadline=None)
@given(SELECTORS, SELECTORS, SELECTORS)
def test_selection_is_independent_of_order_and_never_grows_by_ignoring(
    select: list[str], extend: list[str], ignore: list[str]
) -> None:
    on = resolve(select, extend, ignore, KNOWN)
    assert on == resolve([*extend[::-1], *select[::-1]], [], ignore[::-1], KNOWN)
    assert on <= resolve(select, extend, [], KNOWN)
    assert on <= frozenset().union(*(codes_of(s, KNOWN) for s in [*select, *extend]))


# Patterns


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("legacy", ["legacy/a.py", "src/legacy/b/a.py", "legacy"], ["legacy2/a.py", "legacy.py"]),
        ("legacy/", ["src/legacy/a.py"], ["legacy.py"]),
        ("/legacy", ["legacy/a.py"], ["src/legacy/a.py"]),
        ("./src/gen", ["src/gen/a.py"], ["x/src/gen/a.py"]),
        ("*_pb2.py", ["a_pb2.py", "x/y/a_pb2.py"], ["a_pb2.pyi", "a_pb2/x.py"]),
        ("tests/*", ["tests/a.py", "tests/deep/a.py"], ["tests", "src/tests/a.py"]),
        ("src/**/gen.py", ["src/gen.py", "src/a/b/gen.py"], ["src/a/regen.py", "gen.py"]),
        ("**/gen.py", ["gen.py", "a/gen.py"], ["a/regen.py"]),
        ("docs/**", ["docs/a.py", "docs/a/b.py"], ["docs"]),
        ("a?.py", ["ab.py"], ["a.py", "a/b.py"]),
        ("[ab].py", ["a.py"], ["c.py"]),
        ("[!ab].py", ["c.py"], ["a.py"]),
        ("x/[!a]", ["x/b"], ["x/a"]),
        ("x[!a]y", ["xby"], ["x/y"]),
        ("docs/**", ["docs/a\n.py"], []),
        ("a.py", ["a.py"], ["axpy"]),
        ("[[]", ["["], ["a"]),
        ("[]a]", ["]", "a"], ["b"]),
    ],
)
def test_patterns(pattern: str, inside: list[str], outside: list[str]) -> None:
    assert pattern_fault(pattern) is None
    globs = compile_globs((pattern,))
    assert [name for name in inside if not globs.covers(name)] == []
    assert [name for name in outside if globs.covers(name)] == []


NAMES = st.lists(st.sampled_from(["a", "b.py", "src", "x y", "[", "é\n"]), min_size=1, max_size=4).map("/".join)


@hypothesis_settings(deadline=None)
@given(NAMES)
def test_a_name_written_out_is_a_pattern_for_itself_and_what_lies_below(name: str) -> None:
    globs = compile_globs((f"/{name}",))
    assert globs.match(name)
    assert globs.covers(f"{name}/below.py")
    assert not globs.covers(f"{name}x")
    assert globs.covering(name) == f"/{name}"


@hypothesis_settings(deadline=None)
@given(st.text(alphabet="ab*?[]!^-&|~/.\\", max_size=12), NAMES)
def test_no_pattern_breaks_the_matcher(pattern: str, name: str) -> None:
    if pattern_fault(pattern) is None:
        assert isinstance(compile_globs((pattern,)).covers(name), bool)


# The command line


def test_select_begins_anew(tmp_path: Path) -> None:
    settings = table(tmp_path, 'ignore = ["CSF101"]\nextend-select = ["CSF2"]\n')
    changed = with_overrides(settings, select=["CSF1, daily-date"], known=KNOWN)
    assert changed.select == ("CSF1", "daily-date")
    assert changed.selected(KNOWN) == {"CSF101", "CSF103", "CSF104"}
    assert settings.ignore == ("CSF101",)


def test_ignore_and_extend_add(tmp_path: Path) -> None:
    settings = table(tmp_path, 'ignore = ["CSF101"]\nextend-exclude = ["a"]\n')
    changed = with_overrides(settings, ignore=["CSF2"], extend_select=["CSF201"], extend_exclude=["b"], known=KNOWN)
    assert changed.ignore == ("CSF101", "CSF2")
    assert changed.extend_exclude == ("a", "b")
    assert changed.selected(KNOWN) == {"CSF103", "CSF104", "CSF201"}
    both = with_overrides(settings, select=["ALL"], ignore=["CSF2"], known=KNOWN)
    assert both.ignore == ("CSF2",)


def test_nothing_given_changes_nothing(tmp_path: Path) -> None:
    settings = table(tmp_path, "tests = true\n")
    assert with_overrides(settings) is settings
    assert not with_overrides(settings, tests=False).tests


def test_a_baseline_is_where_the_user_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    settings = load_settings(project(tmp_path))
    monkeypatch.chdir(tmp_path / "here")
    assert with_overrides(settings, baseline=Path("b.json")).baseline == tmp_path / "here" / "b.json"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"select": ["CSF7"]}, "--select: no rule 'CSF7'"),
        ({"select": [","]}, "--select: no rule named"),
        ({"ignore": ["dayly-date"]}, "--ignore: no rule 'dayly-date'; did you mean 'daily-date'?"),
        ({"extend_select": ["X"]}, "--extend-select: no rule 'X'"),
        ({"exclude": ["!a"]}, "--exclude: pattern '!a' starts with"),
    ],
)
def test_mistakes_on_the_command_line(options: dict[str, list[str]], words: str, tmp_path: Path) -> None:
    settings = load_settings(project(tmp_path))
    with pytest.raises(UsageError) as caught:
        with_overrides(settings, known=KNOWN, **options)  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


# Told and kept


def test_what_is_shown_and_where_it_came_from(tmp_path: Path) -> None:
    settings = table(tmp_path, 'ignore = ["CSF1"]\nflags = {with_date = "clock:day"}\n')
    settings = with_overrides(settings, tests=True, ignore=["CSF2"], known=KNOWN)
    lines = describe(settings)
    config = tmp_path.resolve() / "pyproject.toml"
    assert lines[0] == f'root = "{tmp_path.resolve()}"  (outermost pyproject.toml)'
    assert f'flags = {{ "with_date" = "clock:day" }}  ({config})' in lines
    assert 'ignore = ["CSF1", "CSF2"]  (--ignore)' in lines
    assert "tests = true  (--include-tests)" in lines
    assert 'select = ["ALL"]  (default)' in lines
    assert any(line.startswith('exclude = [".direnv", ') and '"vendor"' in line for line in lines)
    keys = {line.split(" = ")[0] for line in lines}
    assert keys == {"root", "configuration", *LINT_KEYS}
    assert set(KEYS) > set(LINT_KEYS)


def test_identity_is_of_settings_not_of_places(tmp_path: Path) -> None:
    text = '[tool.cachesafe]\nignore = ["CSF1"]\nexclude = ["a"]\n'
    one, two = (load_settings(project(tmp_path / name, text)) for name in "ab")
    assert identity(one) == identity(two)
    assert str(tmp_path) not in identity(one)
    assert json.loads(identity(one))["ignore"] == ["CSF1"]
    for change in ({"tests": True}, {"ignore": ["CSF2"]}, {"extend_exclude": ["b"]}):
        assert identity(with_overrides(one, known=KNOWN, **change)) != identity(one)  # type: ignore[arg-type]


def test_the_start_stays_light() -> None:
    code = (
        "import sys, pytest_cachesafe.lint.settings, pytest_cachesafe.lint.discover, pytest_cachesafe.lint.changed;"
        "heavy = {'tomllib', 'tomli', 'difflib', 'subprocess', 'hashlib', 'libcst', 'jinja2', 'pytest',"
        " 'cachesafe_rules', 'pytest_cachesafe.prompt', 'pytest_cachesafe.lint.settings_values'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
