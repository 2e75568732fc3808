"""`cachesafe simulate`: a log in, JSON and text out, exit status, interrupts, files."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.cli import main

A, B = list(range(20)), list(range(100, 120))


@pytest.fixture
def simulate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(lines: list[Any], *options: str, form: str = "json", name: str = "log.jsonl") -> tuple[int, Any, str]:
        path = tmp_path / name
        text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        status = main(["simulate", str(path), "--output-format", form, *options])
        out, err = capsys.readouterr()
        return status, (json.loads(out) if form == "json" and out else out), err

    return run


def test_the_contract(simulate: Any) -> None:
    lines = [{"prompt_token_ids": A, "tag": "x", "tenant": "t"}, {"prompt_token_ids": A}, {"prompt_token_ids": B}]
    status, data, err = simulate(lines, "--engine", "vllm", "--block-size", "16", "--blocks", "100")
    assert (status, err) == (0, "")
    # The second prompt finds one block of 16 of its 20 tokens.
    assert (data["schema"], data["requests"], data["tokens"]) == (1, 3, 60)
    assert (data["cached_tokens"], data["hit_blocks"], data["num_blocks"]) == (16, 1, 100)
    assert data["per_request"] == [
        {"request": 0, "line": 1, "tokens": 20, "cached_tokens": 0, "hit_blocks": 0, "admitted": True, "waited": 0,
         "miss_reason": "new_prefix", "tag": "x", "tenant": "t"},
        {"request": 1, "line": 2, "tokens": 20, "cached_tokens": 16, "hit_blocks": 1, "admitted": True, "waited": 0,
         "miss_reason": "below_block", "tag": None, "tenant": None},
        {"request": 2, "line": 3, "tokens": 20, "cached_tokens": 0, "hit_blocks": 0, "admitted": True, "waited": 0,
         "miss_reason": "new_prefix", "tag": None, "tenant": None},
    ]  # fmt: skip
    assert data["by_tag"]["x"]["tokens"] == 20
    assert (data["skipped"]["count"], data["partial"]) == (0, False)
    status, summary, _ = simulate(lines, "--blocks", "100", "--summary")
    assert status == 0
    assert "per_request" not in summary
    assert {k: v for k, v in data.items() if k != "per_request"} == summary


def test_rows_are_those_of_the_library(simulate: Any, tmp_path: Path) -> None:
    from pytest_cachesafe import replay

    lines = [{"prompt_token_ids": A, "tag": "é\ud800##[x]", "conversation": "c", "replica": "r"}] * 3
    _, data, _ = simulate(lines)
    assert data == {"schema": 1, **replay(tmp_path / "log.jsonl").as_dict()}


def test_text(simulate: Any) -> None:
    status, text, _ = simulate([A, A], form="text")
    assert status == 0
    assert text.startswith("vLLM reuses 40.0% of prompt tokens: 16 of 40 in 2 requests (block size 16, pool without")
    assert simulate([A, A], "-q", form="text")[1].count("\n") == 1


def test_gzip_and_standard_input(simulate: Any, tmp_path: Path) -> None:
    assert simulate([A, A], name="log.jsonl.gz")[1]["cached_tokens"] == 16
    for data in (gzip.compress(b"[1]\n[2]"), b"[1]\n[2]"):
        done = subprocess.run(
            [sys.executable, "-m", "pytest_cachesafe", "simulate", "-", "--summary", "--output-format", "json"],
            input=data,
            capture_output=True,
            check=True,
        )
        assert json.loads(done.stdout)["requests"] == 2


BROKEN = [{"prompt_token_ids": A}, "nope", "{}", "[1.5]", "[-1]", "[]", '{"messages": []}', "[true]", [1, 2]]


@pytest.mark.parametrize("form", ["json", "text"])
def test_bad_lines_are_named_counted_and_passed_over(form: str, simulate: Any) -> None:
    status, data, err = simulate(BROKEN, form=form)
    assert status == 2
    lines = err.splitlines()
    assert len(lines) == 6
    assert "log.jsonl: line 2: not JSON" in lines[0]
    assert "log.jsonl: line 6: an empty list" in lines[4]
    assert lines[5] == "cachesafe: … and 2 more lines that are no request"
    if form == "json":
        assert (data["requests"], data["skipped"]["count"]) == (2, 7)
        assert data["skipped"]["lines"] == [2, 3, 4, 5, 6, 7, 8]
        assert len(data["per_request"]) == 2
    else:
        assert "7 lines skipped" in data


def test_strict_stops_at_the_first(simulate: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    status, data, err = simulate(BROKEN, "--strict", "--output-file", str(out))
    assert (status, data) == (2, "")
    assert err.count("\n") == 1
    assert "line 2: not JSON" in err
    assert not out.exists()


def test_no_line_is_a_request(simulate: Any) -> None:
    status, data, err = simulate(["nope", "{}"])
    assert (status, data) == (2, "")
    assert err.count("\n") == 1
    assert "line 1: not JSON" in err
    assert "empty" in simulate([])[2] or "no request" in simulate([])[2]


def test_a_prompt_larger_than_the_pool(simulate: Any) -> None:
    status, data, err = simulate([A, list(range(500)), A], "--blocks", "9")
    assert status == 2
    assert "line 2: 500 tokens are more than the whole cache holds" in err
    assert (data["requests"], data["skipped"]["lines"]) == (2, [2])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--block-size", "-1"], "block_size=-1"),
        (["--blocks", "0"], "num_blocks=0"),
        (["--live", "0"], "live=0"),
        (["--engine", "vlm"], "did you mean 'vllm'"),
        (["--trace-format", "csv"], "unknown value 'csv'"),
        (["--engine-option", "policy"], "NAME=VALUE"),
        (["--engine-option", "polcy=lru"], "polcy"),
        (["--sweep", "blocks=x"], "no whole number"),
        (["--window", "soon"], "--window 'soon'"),
        (["--shard", "0/2"], "--shard-by"),
        (["--shard-by", "replica", "--shard", "2"], "expected I/N"),
        (["--export", "rows.xls"], ".parquet or .csv"),
        (["--policies"], "--model"),
        (["--trace-format", "mooncake"], "in a log of Mooncake"),
        (["--output-file", "/nowhere/out.json"], "/nowhere/out.json"),
    ],
)
def test_mistakes(options: list[str], says: str, simulate: Any) -> None:
    status, data, err = simulate([A], *options)
    assert (status, data) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_no_log_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate"]) == 2
    assert "name a log" in capsys.readouterr().err
    assert main(["simulate", "missing.jsonl"]) == 2
    assert "missing.jsonl: no such file" in capsys.readouterr().err


def test_options_of_the_engine(simulate: Any) -> None:
    status, data, _ = simulate([A, A], "--engine", "sglang", "--engine-option", "policy=lfu", "--blocks", "100")
    assert (status, data["cached_tokens"], data["options"]["policy"]) == (0, 19, "lfu")


def test_sweep(simulate: Any) -> None:
    _, data, _ = simulate([A, A], "--sweep", "block_size=4,16", "--sweep", "blocks=100,unlimited", "--summary")
    # 19 tokens may be found: 4 blocks of 4, or one of 16.
    assert [(p["block_size"], p["num_blocks"], p["cached_tokens"]) for p in data["sweep"]] == [
        (4, 100, 16),
        (4, None, 16),
        (16, 100, 16),
        (16, None, 16),
    ]


def test_redacted(simulate: Any) -> None:
    lines = [{"prompt_token_ids": A, "tag": "secret-tag", "tenant": "secret-tenant", "conversation": "secret-c"}]
    for form in ("text", "json"):
        assert "secret" not in str(simulate(lines, "--redact", "text", form=form)[1])


def test_redacted_lines_of_messages(simulate: Any, smollm2_tokenizer_dir: Path) -> None:
    lines = [[{"role": "user", "content": "Hi"}], {"messages": [{"role": "secret-role", "contents": "x"}]}]
    options = ["--model", str(smollm2_tokenizer_dir), "--redact", "text"]
    status, data, err = simulate(lines, *options)
    assert (status, data["requests"], data["skipped"]["lines"]) == (2, 1, [2])
    assert "line 2: [" in err
    assert "secret" not in err + str(data)


def test_output_file_is_whole_or_untouched(simulate: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert simulate([A], "--output-file", str(out))[:2] == (0, "")
    before = out.read_text()
    assert json.loads(before)["requests"] == 1
    assert simulate([A, "nope"], "--strict", "--output-file", str(out))[0] == 2
    assert out.read_text() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log.jsonl", "out.json"]


def test_csv_without_formulas(simulate: Any, tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    tags = ["=1+1", "+x", "-x", "@x", "a,b", 'a"b', "a\nb", "plain"]
    simulate([{"prompt_token_ids": A, "tag": tag} for tag in tags], "--export", str(out))
    rows = list(csv.DictReader(io.StringIO(out.read_text(), newline="")))
    assert [row["tag"] for row in rows] == ["'=1+1", "'+x", "'-x", "'@x", "a,b", 'a"b', "a\nb", "plain"]
    assert [row["cached_tokens"] for row in rows] == ["0"] + ["16"] * 7


def test_parquet(simulate: Any, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "rows.parquet"
    simulate([{"prompt_token_ids": A, "tag": "x\ud800"}, A], "--export", str(out))
    rows = parquet.read_table(out).to_pylist()
    assert [(row["request"], row["cached_tokens"], row["miss_reason"], row["tag"]) for row in rows] == [
        (0, 0, "new_prefix", "x\\ud800"),
        (1, 16, "below_block", None),
    ]


def test_parquet_without_the_extra(simulate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    status, _, err = simulate([A], "--export", str(tmp_path / "rows.parquet"))
    assert status == 2
    assert 'pip install "pytest-cachesafe[export]"' in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("form", ["json", "text"])
def test_an_interrupt_writes_what_there_is(form: str, tmp_path: Path) -> None:
    out, rows = tmp_path / "out", tmp_path / "rows.csv"
    command = [sys.executable, "-m", "pytest_cachesafe", "simulate", "-", "--output-format", form]
    process = subprocess.Popen(
        [*command, "--output-file", str(out), "--export", str(rows), "--block-size", "1"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    # So much that the pipe only takes it while somebody reads; then the command waits for more.
    process.stdin.write(b"[1, 2, 3]\n" * 40_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert process.stderr.read() == b""
    with process.stderr, process.stdin:
        pass
    if form == "json":
        data = json.loads(out.read_text())
        assert data["partial"] is True
        count = data["requests"]
        assert 0 < count <= 40_000
        assert len(data["per_request"]) == count
        assert data["tokens"] == 3 * count
        # All but the first find two of three tokens.
        assert data["cached_tokens"] == 2 * (count - 1)
        assert rows.read_text().count("\n") == count + 1
    else:
        assert out.read_text().startswith("partial result: vLLM reuses ")


def test_progress_is_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_cachesafe.report import progress

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(progress, "_PATIENCE", 0)
    monkeypatch.setattr(progress, "_PAUSE", 0)
    terminal = Terminal()
    bar = progress.Progress(terminal)
    assert bar.due()
    bar.show(50, 100, "5 requests")
    bar.clear()
    assert f"[{'#' * 15}{'.' * 15}]  50% 5 requests" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert not progress.Progress(io.StringIO()).due()
    assert not progress.Progress(Terminal(), wanted=False).due()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_the_reader_of_the_output_goes_away(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("[1, 2, 3]\n" * 20_000)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest_cachesafe", "simulate", str(path), "--output-format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 0
