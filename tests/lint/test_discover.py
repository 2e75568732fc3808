"""Which files are read and which are reported."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pytest_cachesafe.lint import walk as module
from pytest_cachesafe.lint.discover import Discovery, discover, projects
from pytest_cachesafe.lint.path_kinds import is_test_path
from pytest_cachesafe.lint.settings import load_settings, with_overrides
from pytest_cachesafe.lint.walk import index, walk
from pytest_cachesafe.prompt import UsageError


def make(root: Path, *names: str, config: str | None = "") -> Path:
    """A project of small files."""
    root.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (root / "pyproject.toml").write_text(config, encoding="utf-8")
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n", encoding="utf-8")
    return root


def found(root: Path, *paths: str, **overrides: Any) -> Discovery:
    settings = with_overrides(load_settings(root), **overrides)
    return discover([root / p for p in paths or ("",)], settings)


def names(entries: Iterable[Any]) -> list[str]:
    return [e.name for e in entries]


# The walk


def test_python_files_in_order_with_their_stamps(tmp_path: Path) -> None:
    make(tmp_path, "b.py", "a/c.py", "a/d.pyi", "a/e.txt", "a/prompt.txt", "é x.py", "a/data.json", "Makefile")
    got = found(tmp_path)
    assert names(got.files) == ["a/c.py", "b.py", "é x.py"]
    assert got.templates == ["a/prompt.txt"]
    entry = got.files[0]
    at = (tmp_path / "a" / "c.py").stat()
    assert entry == ("a/c.py", str(tmp_path.resolve() / "a" / "c.py"), at.st_size, at.st_mtime_ns)
    assert index(tmp_path) == got.files
    assert list(got.project.values()) == got.files
    assert (got.warnings, got.unreadable, got.excluded) == ([], [], [])


def test_what_is_never_walked(tmp_path: Path) -> None:
    outside = [
        f"{folder}/x.py"
        for folder in (".git", ".venv", "node_modules", "a/site-packages", "__pycache__", ".tox", ".history/a")
    ]
    habits = ["venv/x.py", "a/vendor/x.py", "third_party/x.py", "build/lib/x.py", "dist/x.py"]
    make(tmp_path, "x.py", ".github/x.py", "a/build/__init__.py", "a/build/x.py", *outside, *habits)
    make(tmp_path / "named", "pyvenv.cfg", "bin/python", "lib/x.py", config=None)
    # A file that strayed there makes no environment of a folder of source.
    make(tmp_path / "strayed", "pyvenv.cfg", "y.py", config=None)
    own = [".github/x.py", "a/build/__init__.py", "a/build/x.py", "strayed/y.py", "x.py"]
    assert names(found(tmp_path).files) == own
    # `exclude` takes the place of the habits, never of what is no one's own code.
    assert names(found(tmp_path, exclude=["third_party"]).files) == sorted([*own, *habits[:2], *habits[3:]])
    assert names(found(tmp_path, extend_exclude=[".github", "x.py", "strayed"]).files) == ["a/build/__init__.py"]


def test_a_root_inside_installed_code_is_walked(tmp_path: Path) -> None:
    make(tmp_path / ".venv", "pyvenv.cfg")
    package = make(tmp_path / ".venv" / "site-packages" / "build", "x.py", "sub/y.py", "node_modules/z.py", config=None)
    assert names(found(package).files) == ["sub/y.py", "x.py"]
    assert names(found(package / "sub").files) == ["sub/y.py"]


def test_a_folder_that_was_typed_is_walked(tmp_path: Path) -> None:
    make(tmp_path, "x.py", "build/y.py", ".venv/lib/z.py", "venv/v.py")
    got = found(tmp_path, "build", ".venv")
    assert names(got.files) == [".venv/lib/z.py", "build/y.py"]
    assert sorted(got.project) == [".venv/lib/z.py", "build/y.py", "x.py"]
    got = found(tmp_path, "build", extend_exclude=["/build"])
    assert names(got.files) == []
    assert got.excluded == [f"{tmp_path / 'build'}: excluded by '/build'"]


def test_a_part_of_the_project_is_reported_and_all_of_it_read(tmp_path: Path) -> None:
    make(tmp_path, "a/x.py", "ab/y.py", "a/deep/z.py", "w.py", "a/t.jinja", "t.jinja")
    got = found(tmp_path, "a", "w.py")
    assert names(got.files) == ["a/deep/z.py", "a/x.py", "w.py"]
    assert got.templates == ["a/t.jinja"]
    assert sorted(got.project) == ["a/deep/z.py", "a/x.py", "ab/y.py", "w.py"]
    assert got.all_templates == ["a/t.jinja", "t.jinja"]


def test_a_path_given_twice_counts_once(tmp_path: Path) -> None:
    make(tmp_path, "a/x.py")
    got = found(tmp_path, "a/x.py", "a", "", "a/../a/x.py")
    assert names(got.files) == ["a/x.py"]


# Files given by name


def test_files_given_by_name_honour_excludes(tmp_path: Path) -> None:
    make(tmp_path, "gen/x.py", "vendor/x.py", "a/build/x.py", "pkg/build/__init__.py", "pkg/build/x.py", "own/y.py")
    make(tmp_path / "own", "pyvenv.cfg", "Scripts/python.exe", config=None)
    given_names = ["gen/x.py", "vendor/x.py", "a/build/x.py", "pkg/build/x.py", "own/y.py"]
    got = found(tmp_path, *given_names, extend_exclude=["gen"])
    assert names(got.files) == ["pkg/build/x.py"]
    reasons = [line.split(": ", 1)[1] for line in got.excluded]
    assert reasons == [
        "excluded by 'gen'",
        "excluded by default: folder 'vendor'",
        "excluded by default: folder 'build'",
        "excluded by default: folder 'own' is a virtual environment",
    ]


def test_kinds_of_files_given_by_name(tmp_path: Path) -> None:
    make(tmp_path, "tool", "gui.pyw", "stub.pyi", "prompt.j2", "notes.rst", ".hidden")
    got = found(tmp_path, "tool", "gui.pyw", "stub.pyi", "prompt.j2", "notes.rst", ".hidden")
    assert names(got.files) == [".hidden", "gui.pyw", "tool"]
    assert got.templates == ["prompt.j2"]
    assert [Path(line.split(": ")[0]).name for line in got.excluded] == ["stub.pyi", "notes.rst"]
    assert "tool" in got.project
    assert "neither Python nor a prompt template" in got.excluded[0]


TREE = st.lists(
    st.lists(st.sampled_from(["a", "build", "vendor", "node_modules", "gen", "deep"]), max_size=3).map(
        lambda folders: "/".join([*folders, "x.py"])
    ),
    min_size=1,
    max_size=6,
    unique=True,
)


@hypothesis_settings(deadline=None, max_examples=60)
@given(
    TREE,
    st.lists(st.sampled_from(["a", "build", "gen"]), max_size=2, unique=True),
    st.sampled_from(["", '[tool.cachesafe]\nextend-exclude = ["gen"]\n', '[tool.cachesafe]\nexclude = ["a/deep"]\n']),
    st.sampled_from(["", *(f'[tool.cachesafe]\n{key} = ["/deep/x.py"]\n' for key in ("exclude", "extend-exclude"))]),
)
def test_a_file_by_name_is_reported_exactly_if_a_walk_comes_to_it(
    tmp_path_factory: pytest.TempPathFactory, tree: list[str], packages: list[str], config: str, nested: str
) -> None:
    root = make(tmp_path_factory.mktemp("tree"), *tree, config=config)
    for package in packages:
        if (root / package).is_dir():
            make(root / package, "__init__.py", config=None)
    if nested and (root / "a").is_dir():
        make(root / "a", config=nested)
    settings = load_settings(root)
    deep = {n for n in names(discover([root], settings).files) if n.startswith("a/deep/x")}
    assert not (nested and deep)
    walked = {n for n in names(discover([root], settings).files) if n.endswith("x.py")}
    one_by_one = {n for name in tree for n in names(discover([root / name], settings).files)}
    assert one_by_one == walked
    assert walked == set(names(discover([root / name for name in tree], settings).files))


# Links


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    make(tmp_path, "a/x.py")
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    got = found(tmp_path)
    assert names(got.files) == ["a/x.py"]
    assert (got.warnings, got.unreadable) == ([], [])
    with pytest.raises(UsageError, match=r"loop\.py: cannot be read: .*symbolic links"):
        found(tmp_path, "loop.py")


def test_links_to_files(tmp_path: Path) -> None:
    other = make(tmp_path / "other", "y.py")
    root = make(tmp_path / "root", "x.py")
    (root / "again.py").symlink_to(root / "x.py")
    (root / "far.py").symlink_to(other / "y.py")
    (root / ".#lock.py").symlink_to(root / "gone.py")
    (root / "folder.py").symlink_to(other, target_is_directory=True)
    assert names(found(root).files) == ["far.py", "x.py"]
    assert names(found(root, "again.py").files) == ["again.py"]


def test_a_project_reached_through_a_link(tmp_path: Path) -> None:
    root = make(tmp_path / "real", "a/x.py")
    link = tmp_path / "link"
    link.symlink_to(root, target_is_directory=True)
    settings = load_settings(link / "a")
    assert settings.root == root.resolve()
    assert names(discover([link / "a", link / "a" / "x.py"], settings).files) == ["a/x.py"]


def test_a_folder_named_like_a_file(tmp_path: Path) -> None:
    make(tmp_path, "odd.py/x.py", "odd.txt/y.py")
    got = found(tmp_path)
    assert names(got.files) == ["odd.py/x.py", "odd.txt/y.py"]
    assert got.templates == []


# What cannot be read


@pytest.mark.parametrize("name", ["gone.py", "gone", "x.py/y.py", "a\0b.py"])
def test_a_missing_path(name: str, tmp_path: Path) -> None:
    root = make(tmp_path, "x.py")
    with pytest.raises(UsageError) as caught:
        discover([root / name], load_settings(root))
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_what_is_neither_file_nor_folder(tmp_path: Path) -> None:
    root = make(tmp_path, "x.py")
    os.mkfifo(root / "pipe.py")
    assert names(found(root).files) == ["x.py"]
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        found(root, "pipe.py")


def test_a_large_file_is_skipped_with_a_warning(tmp_path: Path) -> None:
    root = make(tmp_path, "x.py", "a/edge.py")
    for name, size in (("a/large.py", 50_000_000), ("a/edge.py", module.MAX_BYTES)):
        with open(root / name, "wb") as file:
            file.truncate(size)
    warning = "a/large.py: skipped: 50.0 MB, only files up to 5 MB are read"
    for paths in ([""], ["a"], ["a/large.py", "a/edge.py"], ["a/large.py", ""]):
        got = found(root, *paths)
        assert "a/edge.py" in names(got.files)
        assert "a/large.py" not in got.project
        assert (got.warnings, got.unreadable) == ([warning], [])
    assert found(root, "x.py").warnings == []


def test_an_unreadable_folder_matters_where_it_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make(tmp_path, "a/x.py", "closed/y.py")
    real = os.scandir

    def scandir(path: str) -> Any:
        if os.path.basename(path) == "closed":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(module.os, "scandir", scandir)
    got = found(root)
    assert names(got.files) == ["a/x.py"]
    assert got.unreadable == ["closed: cannot be read: Permission denied"]
    assert found(root, "closed").unreadable == got.unreadable
    assert found(root, "a").unreadable == []


def test_odd_names_survive(tmp_path: Path) -> None:
    odd = "::error file=x,line=1::\x1b[31m\n.py"
    root = make(tmp_path, odd)
    assert names(found(root).files) == [odd]
    with open(os.fsencode(root) + b"/\xff.py", "wb"):
        pass
    assert os.fsdecode(b"\xff.py") in names(found(root).files)


# Projects in projects


def test_a_nested_project_has_its_own_settings(tmp_path: Path) -> None:
    make(tmp_path, "gen/x.py", "a.py", config='[tool.cachesafe]\nextend-exclude = ["gen", "libs/*/old"]\n')
    make(tmp_path / "libs" / "one", "gen/x.py", "sub/y.py", "y.py", config='[tool.cachesafe]\nexclude = ["sub"]\n')
    make(tmp_path / "libs" / "two", "gen/x.py", "old/y.py", "z.py", config="[project]\n")
    got = found(tmp_path)
    assert names(got.files) == ["a.py", "libs/one/gen/x.py", "libs/one/y.py", "libs/two/z.py"]
    assert got.settings_for("libs/one/y.py").exclude == ("sub",)
    assert got.settings_for("libs/one/y.py").root == tmp_path.resolve()
    assert got.settings_for("libs/two/z.py") is got.settings
    assert got.settings_for("a.py") is got.settings
    # Run on the nested folder alone, the same files are left out.
    assert names(found(tmp_path, "libs/one").files) == ["libs/one/gen/x.py", "libs/one/y.py"]
    assert names(found(tmp_path, "libs/two").files) == ["libs/two/z.py"]


def test_a_folder_with_its_own_settings_inside_one_left_out_by_habit(tmp_path: Path) -> None:
    own = '[tool.cachesafe]\nexclude = ["/gen"]\n'
    make(tmp_path / "vendor", "x.py", config=own)
    make(tmp_path / "libs", "gen/x.py", "sub/gen/x.py", "vendor/x.py", config=own)
    make(tmp_path, "a.py")
    got = found(tmp_path)
    assert names(got.files) == ["a.py", "libs/sub/gen/x.py", "libs/vendor/x.py"]
    given_names = ["vendor/x.py", "libs/vendor/x.py", "libs/gen/x.py"]
    assert names(found(tmp_path, *given_names).files) == ["libs/vendor/x.py"]
    # The habits of the folder that holds `vendor` decide, not the settings inside it.
    assert got.left_out("vendor/x.py") == "excluded by default: folder 'vendor'"


def test_a_broken_nested_project_is_told(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    make(tmp_path / "inner", "b.py", config="[tool.cachesafe]\nselct = []\n")
    with pytest.raises(UsageError, match=r"inner.pyproject\.toml: .*did you mean 'select'"):
        found(tmp_path)


def test_paths_are_grouped_by_project(tmp_path: Path) -> None:
    one = make(tmp_path / "one", "a.py", "s/b.py")
    two = make(tmp_path / "two", "c.py")
    loose = make(tmp_path / "loose", "d.py", "s/e.py", config=None)
    paths = [two / "c.py", loose / "s" / "e.py", one / "s" / "b.py", loose / "d.py", one]
    groups = projects(paths)
    assert [(s.root.name, [p.name for p in ps]) for s, ps in groups] == [
        ("two", ["c.py"]),
        ("one", ["b.py", "one"]),
        ("loose", ["d.py", "e.py"]),
    ]
    (settings, own) = groups[2]
    assert names(discover(own, settings).files) == ["d.py", "s/e.py"]


def test_a_lone_script_does_not_make_its_folder_a_project(tmp_path: Path) -> None:
    root = make(
        tmp_path, "x.py", "y.py", "pkg/__init__.py", "pkg/z.py", "heap/a.py", "heap/pkg/__init__.py", config=None
    )
    got = found(root, "x.py")
    assert names(got.files) == ["x.py"]
    assert sorted(got.project) == ["pkg/__init__.py", "pkg/z.py", "x.py", "y.py"]
    assert "heap/a.py" in names(found(root).files)


def test_the_walk_of_a_part(tmp_path: Path) -> None:
    make(tmp_path, "a/x.py", "b/y.py")
    tree = walk(load_settings(tmp_path), "a")
    assert names(tree.files) == ["a/x.py"]
    assert tree.folders == {"a"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tests/x.py", True),
        ("a/test/x.py", True),
        ("a/Tests/deep/x.py", True),
        ("unit_tests/x.py", True),
        ("pkg/testing/x.py", True),
        ("test_x.py", True),
        ("a/x_test.py", True),
        ("a/conftest.py", True),
        ("app/tests.py", True),
        ("latest.py", False),
        ("contest/x.py", False),
        ("a/attestation.py", False),
        ("testing.py", False),
        ("protest_x.py", False),
        ("test.d/x.py", False),
    ],
)
def test_paths_of_tests(name: str, expected: bool) -> None:
    assert is_test_path(name) is expected
