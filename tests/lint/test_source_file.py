"""Files are written back byte for byte, whole or not at all; diffs can be applied and are harmless on a screen."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.lint.source_file import decoded, read_source, unified_diff, write_source
from pytest_cachesafe.usage import UsageError


@pytest.mark.parametrize(
    "data",
    [
        b"x = 1\n",
        b"",
        b"\xef\xbb\xbfx = '\xc3\xa9'\r\n",
        b"# coding: latin-1\nx = '\xe9'\r",
        b"# -*- coding: cp1252 -*-\nx = '\x80'\n",
        b"x = 1\r\ny = 2\n\x0cz",
    ],
)
def test_only_what_changed_is_changed(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(data)
    source = read_source(path)
    assert not write_source(source, source.text)
    assert path.read_bytes() == data
    assert write_source(source, source.text + "y")
    assert path.read_bytes() == data + b"y"
    assert [p.name for p in tmp_path.iterdir()] == ["a.py"]


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.booleans())
def test_text_survives_reading(text: str, bom: bool) -> None:
    data = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    try:
        source = decoded("a.py", data)
    except UsageError:
        return  # the text happens to declare another encoding
    assert source.text.encode(source.encoding) == data[3 if source.bom else 0 :]


@pytest.mark.parametrize("data", [b"\xff\xfe", b"# coding: nonsense\n", b"# coding: ascii\n\xe9"])
def test_what_is_no_text_is_said_so(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(data)
    with pytest.raises(UsageError, match="cannot read") as caught:
        read_source(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_source(tmp_path / "a.py")


def test_the_mode_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x\n")
    path.chmod(0o750)
    write_source(read_source(path), "y\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "real"
    folder.mkdir()
    (folder / "a.py").write_text("x\n")
    link = tmp_path / "a.py"
    link.symlink_to(folder / "a.py")
    write_source(read_source(link), "y\n")
    assert link.is_symlink()
    assert (folder / "a.py").read_text() == "y\n"


def test_a_read_only_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x\n")
    path.chmod(0o444)
    with pytest.raises(UsageError, match="read-only"):
        write_source(read_source(path), "y\n")
    assert path.read_text() == "x\n"


def test_a_file_that_was_saved_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x\n")
    source = read_source(path)
    path.write_text("newer\n")
    with pytest.raises(UsageError, match="changed meanwhile"):
        write_source(source, "y\n")
    assert path.read_text() == "newer\n"
    assert [p.name for p in tmp_path.iterdir()] == ["a.py"]


def test_a_file_that_is_gone_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x\n")
    source = read_source(path)
    path.unlink()
    with pytest.raises(UsageError, match="cannot fix"):
        write_source(source, "y\n")
    assert list(tmp_path.iterdir()) == []


def test_text_that_does_not_fit_the_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"# coding: latin-1\n")
    with pytest.raises(UsageError, match="does not fit"):
        write_source(read_source(path), "# coding: latin-1\n'€'\n")


def test_no_diff_where_nothing_changed() -> None:
    assert unified_diff("a.py", "x\n", "x\n") == ""


def test_a_diff_reads_as_expected() -> None:
    assert unified_diff("src/a.py", "x = 1\n\ty = set()", "x = 1\n\ty = sorted(set())") == (
        "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n x = 1\n"
        "-\ty = set()\n\\ No newline at end of file\n+\ty = sorted(set())\n\\ No newline at end of file\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\r\nb\r\n", "a\r\nB\r\n"),
        ("a\nb", "a\nB"),
        ("a\nb\n", "a\nb"),
        ("", "a\n"),
        ("é\n\tx = '\\t'\n" * 9, "é\n\tx = '\\t'\n" * 8 + "ü\n"),
    ],
)
def test_a_diff_can_be_applied(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "src" / "a.py"
    path.parent.mkdir()
    path.write_bytes(before.encode())
    diff = unified_diff("src/a.py", before, after)
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(command, input=diff.encode(), cwd=tmp_path, check=True, env=environment)
    assert path.read_bytes().decode() == after


def test_a_diff_carries_no_commands() -> None:
    text = "'''\n::error::x\n  ::warning::y\n##[error]z\n\x1b[31mred\u202e\r::stop\n'''\nx = 1\n"
    diff = unified_diff("a\n::error::b.py", text, text.replace("x = 1", "x = 2"))
    assert "\x1b" not in diff
    assert "\u202e" not in diff
    assert "##[" not in diff
    for row in diff.replace("\r", "\n").split("\n"):
        assert not row.strip().startswith("::")
        assert not row[1:].strip().startswith("::")
