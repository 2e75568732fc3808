"""The cache folder: private, whole entries only, built once however many processes ask."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_cachesafe.models.cache import build_once, cache_root, file_sha256
from pytest_cachesafe.prompt import UsageError

POSIX = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes are POSIX")


@POSIX
def test_the_folder_is_private(empty_cache: Path) -> None:
    assert stat.S_IMODE(cache_root().stat().st_mode) == 0o700
    empty_cache.chmod(0o755)
    assert stat.S_IMODE(cache_root().stat().st_mode) == 0o700


@POSIX
@pytest.mark.parametrize("create", [True, False])
def test_a_folder_of_someone_else_is_refused(create: bool, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_root()
    if os.geteuid() == 0:
        os.chown(empty_cache, 12345, -1)
    owner = empty_cache.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(UsageError, match=f"belongs to user {owner}, not you; set CACHESAFE_CACHE to a folder of your"):
        cache_root(create=create)


@POSIX
def test_a_link_of_someone_else_is_refused(empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    empty_cache.symlink_to(tmp_path / "real")
    cache_root()
    try:
        os.lchown(empty_cache, 12345, -1)
    except PermissionError:
        pytest.skip("only root can give a link away")
    with pytest.raises(UsageError, match="is a link that user 12345 made, not you"):
        cache_root()


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("below", ["", "more/levels"])
def test_a_file_in_its_place_is_one_line(
    create: bool, below: str, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty_cache.write_text("", encoding="utf-8")
    monkeypatch.setenv("CACHESAFE_CACHE", str(empty_cache / below))
    with pytest.raises(UsageError, match=r"(it|/cache) is no folder; set CACHESAFE_CACHE to a folder you can write$"):
        cache_root(create=create)


def test_a_home_that_is_no_user_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACHESAFE_CACHE", "~no_such_user/cache")
    with pytest.raises(UsageError, match=r"^cache folder ~no_such_user/cache: .*; set CACHESAFE_CACHE to a full path$"):
        cache_root()


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [("CACHESAFE_CACHE", "{}/mine", "{}/mine"), ("XDG_CACHE_HOME", "{}/xdg", "{}/xdg/pytest-cachesafe")],
)
def test_where_the_folder_is(
    variable: str, value: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CACHESAFE_CACHE", raising=False)
    monkeypatch.setenv(variable, value.format(tmp_path))
    assert cache_root() == Path(expected.format(tmp_path))
    assert cache_root().is_dir()


CHILD = """
import os, sys, time
from pathlib import Path
from pytest_cachesafe.models.cache import build_once

def build(folder):
    with open(sys.argv[2], "a") as log:
        log.write("built\\n")
    (folder / "a").write_text("1")
    time.sleep(0.5)
    (folder / "b").write_text("2")

target = build_once(Path(sys.argv[1]), build)
print(sorted(os.listdir(target)))
"""


def test_several_processes_build_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path / "entry"), str(tmp_path / "log")]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [child.communicate(timeout=60)[0].strip() for child in children]
    assert outputs == ["['a', 'b']"] * 3
    assert (tmp_path / "log").read_text(encoding="utf-8") == "built\n"


def test_a_failed_build_leaves_no_entry_and_can_be_repeated(tmp_path: Path) -> None:
    target = tmp_path / "entry"

    def fail(folder: Path) -> None:
        (folder / "half").write_text("", encoding="utf-8")
        raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        build_once(target, fail)
    assert [path.name for path in tmp_path.iterdir()] == ["entry.lock"]
    build_once(target, lambda folder: None)
    assert target.is_dir()


def test_the_remains_of_a_killed_build_are_removed(tmp_path: Path) -> None:
    remains = tmp_path / "entry.abc.tmp"
    remains.mkdir()
    (remains / "large").write_text("", encoding="utf-8")
    build_once(tmp_path / "entry", lambda folder: None)
    assert not remains.exists()


def test_a_remembered_checksum_follows_the_content(empty_cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_bytes(b"a" * (5 << 20))
    before = file_sha256(file)
    assert file_sha256(file) == before
    times = (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    file.write_bytes(b"b" * (5 << 20))
    # Same size, and the modification time set back: as a careful forger, or an archive tool, would leave it.
    os.utime(file, ns=times)
    assert file_sha256(file) == file_sha256(file, remember=False) != before
