"""Options that would pass without a word, first lines under exit status 1, and output that cannot be written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.cli import main
from pytest_cachesafe.commands.stable import toggle
from pytest_cachesafe.prompt import UsageError

TEMPLATE = (
    "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
    "{%- if no_think is defined and no_think %}{{- '<think></think>' }}{%- endif %}{%- endif %}"
)
CHAT = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Hello?"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "And now?"},
]


@pytest.fixture
def stable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    (tmp_path / "t.jinja").write_text(TEMPLATE)

    def run(*options: str, chat: Any = CHAT) -> tuple[int, str]:
        path = tmp_path / "chat.json"
        path.write_text(json.dumps(chat))
        status = main(["stable", str(path), "--template", str(tmp_path / "t.jinja"), *options])
        out, err = capsys.readouterr()
        return status, out + err

    return run


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no_think=true,false:keep", "unknown expectation 'keep'; did you mean 'keeps'?"),
        ("no_think=true,false:blah", "unknown expectation 'blah'; known: keeps, tail, splits, report"),
        ("no_think=true,false: Keeps", "unknown expectation 'Keeps'; did you mean 'keeps'?"),
        ("no_think=true,false:", "unknown expectation ''"),
        ("order:tools:keep", "unknown expectation 'keep'; did you mean 'keeps'?"),
        ("order:", "expected order:NAME"),
        ("order::keeps", "expected order:NAME"),
    ],
)
def test_a_misspelt_expectation(text: str, says: str, stable: Any) -> None:
    status, words = stable("--toggle", text)
    assert status == 2
    assert says in words
    assert words.count("\n") == 1


def test_values_with_a_colon() -> None:
    assert list(toggle('model="a:b","c:d"').values) == ["a:b", "c:d"]
    assert list(toggle("at=10:41,10:42").values) == ["10:41", "10:42"]
    with pytest.raises(UsageError, match="a value with a colon is written in quotes"):
        toggle("model=a:b,c:d")


@pytest.mark.parametrize("text", ["", ",", " , "])
def test_failing_on_nothing_is_no_check(text: str, stable: Any) -> None:
    status, words = stable("--fail-on", text)
    assert (status, "names no verdict" in words) == (2, True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--template-kwarg", "nosuch=1"], "template keyword 'nosuch' is never read"),
        (["--toggle", "order:tools"], "toggle compared nothing: order of tools"),
    ],
)
def test_the_first_line_names_what_the_exit_status_counts(options: list[str], says: str, stable: Any) -> None:
    status, words = stable(*options)
    lines = words.splitlines()
    assert status == 1
    assert ", 1 warning: " in lines[0]
    assert says in lines[0]
    assert any(line.startswith("  warning: ") and says in line for line in lines)
    assert not any(line.startswith("  note: ") and says in line for line in lines)
    assert stable(*options, "-q") == (1, lines[0] + "\n")


def test_two_warnings(stable: Any) -> None:
    first = stable("--template-kwarg", "one=1", "--template-kwarg", "two=1", "-q")[1]
    assert ", 2 warnings: " in first
    assert "'one'" in first
    assert "'two'" in first


def test_a_first_line_under_strict(stable: Any) -> None:
    assert stable("--accept", "cause=date", "-q")[0] == 0
    status, first = stable("--accept", "cause=date", "-q", "--strict")
    assert (status, first.endswith("; notes count (--strict)\n")) == (1, True)
    assert "--strict" not in stable("--strict", "-q")[1]


def test_a_toggle_that_changes_the_end_only(stable: Any) -> None:
    status, words = stable("--toggle", "no_think=false,true:keeps")
    assert status == 1
    assert "the value True changes the end of the prompt, expected 'keeps'" in words.splitlines()[0]
    assert "  toggle no_think: tail, only the end of the prompt changes (expected: keeps)" in words
    assert "100%" not in words
    assert stable("--toggle", "no_think=false,true:tail")[0] == 0


def test_messages_are_no_tools(stable: Any, tmp_path: Path) -> None:
    status, words = stable("--tools", str(tmp_path / "chat.json"))
    assert status == 2
    assert "chat.json: tools[0] is a message of role 'system'; a tool definition is meant" in words


def test_two_wire_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bodies = [
        {"model": "claude-x", "system": "k", "messages": CHAT[1:2]},
        {"contents": [{"role": "user", "parts": [{"text": "Hello?"}]}]},
    ]
    paths = [tmp_path / name for name in ("a.json", "b.json", "both.jsonl")]
    for path, body in zip(paths, bodies, strict=False):
        path.write_text(json.dumps(body))
    paths[2].write_text("\n".join(map(json.dumps, bodies)))
    assert main(["stable", str(paths[2])]) == 2
    assert "requests 0 and 1 are of different wire formats, anthropic and gemini" in capsys.readouterr().err
    assert main(["compare", str(paths[0]), str(paths[1])]) == 2
    assert "b.json are of different wire formats, anthropic and gemini" in capsys.readouterr().err


needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")


@needs_full
@pytest.mark.parametrize("command", ["stable chat.json", "scan chat.json --output-format json", "--help", "--version"])
@pytest.mark.parametrize(
    ("streams", "says"),
    [
        (">/dev/full", "cannot write to standard output: No space left on device"),
        (">&-", "standard output is closed"),
        (">/dev/full 2>/dev/full", ""),
        (">&- 2>&-", ""),
    ],
)
def test_output_that_cannot_be_written(command: str, streams: str, says: str, tmp_path: Path) -> None:
    if command == "--help" and ">&-" in streams:
        # argparse has another stream for its help.
        return
    (tmp_path / "chat.json").write_text(json.dumps(CHAT))
    line = f'"{sys.executable}" -m pytest_cachesafe {command} {streams}'
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root}
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == (1 if says else 0)
    assert says in done.stderr


def test_closed_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["stable", "-"]) == 2
    assert "standard input is closed" in capsys.readouterr().err
