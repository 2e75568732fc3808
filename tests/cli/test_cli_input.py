"""Files that users hand over: every fault is one line with the file and the place in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_cachesafe.cli import main

GOOD = '[{"role": "user", "content": "Hi"}]'


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"messages": [{"role": "user"}],\n "tools": [}', "not JSON, line 2 column 12"),
        (b"", "is empty"),
        (b"  \n ", "is empty"),
        (b'"hello"', "a lone string is no chat"),
        (b"42", "42 is no chat"),
        (b"null", "null is no chat"),
        (b"[]", "empty"),
        (b'{"requests": []}', "requests is an empty list"),
        (b'{"messages": []}', "empty chat"),
        (b'{"model": "x"}', "no messages found"),
        (b'[{"content": "x"}]', "role"),
        (b'[{"role": "user", "content": 7}]', "content"),
        (b'[{"role": "user", "content": NaN}]', "NaN is not JSON"),
        (b'{"messages": [], "messages": []}', "the key 'messages' stands twice"),
        (b"[" * 100_000, "nested too deeply"),
        (b'[{"role": "user", "content": "\xff"}]', "not UTF-8 (byte 30)"),
        ('[{"role": "user"}]'.encode("utf-16"), "looks like UTF-16"),
        (b'[{"role": "user", "content": ' + b"1" * 5000 + b"}]", "chat.json"),
        (b'{"messages": [{"role": "user", "content": "x"}]}\n{"messages": [}', "line 2"),
    ],
)
@pytest.mark.parametrize("command", ["stable", "compare", "scan"])
def test_bad_files(data: bytes, says: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "chat.json"
    path.write_bytes(data)
    (tmp_path / "good.json").write_text(GOOD)
    argv = [command, str(path)] + ([str(tmp_path / "good.json")] if command == "compare" else [])
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"cachesafe: {path}: ")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["stable", "scan"])
def test_a_directory(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, str(tmp_path)]) == 2
    assert "is a directory" in capsys.readouterr().err


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert main(["scan", str(path)]) == 0


def test_errors_name_the_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"messages": [{"role": "user", "content": "x"}]}\n\n{"messages": [{"content": "y"}]}\n')
    assert main(["stable", str(path)]) == 2
    assert "request 1" in capsys.readouterr().err


def test_two_standard_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "-", "-"]) == 2
    assert "only one" in capsys.readouterr().err
