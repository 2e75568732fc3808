"""JSON that any reader takes and no CI obeys; files that are whole or untouched."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.files import write_atomic
from pytest_cachesafe.prompt import UsageError
from pytest_cachesafe.report.jsonout import to_json


@settings(derandomize=True, deadline=None)
@given(st.text(st.characters()))
def test_text_comes_back_and_output_is_ascii(text: str) -> None:
    written = to_json({"text": text + "##[error]##vso[x]"})
    assert written.isascii()
    assert "##[" not in written
    assert "##vso[" not in written
    assert json.loads(written) == {"schema": 1, "text": text + "##[error]##vso[x]"}


def test_keys_keep_their_order_behind_the_schema() -> None:
    assert list(json.loads(to_json({"b": 1, "a": 2}))) == ["schema", "b", "a"]


def test_nan_is_a_fault_not_output() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json({"x": float("nan")})


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_mode_follows_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_atomic(tmp_path / "out.json", "x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == 0o640


def test_an_existing_file_is_replaced_and_nothing_is_left_behind(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")
    write_atomic(target, "new \ud800")
    assert target.read_text() == "new \\ud800"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    write_atomic(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(UsageError, match="No space left"):
        write_atomic(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", ["missing/out.json", "."])
def test_unwritable_places_are_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        write_atomic(tmp_path / name, "x")
