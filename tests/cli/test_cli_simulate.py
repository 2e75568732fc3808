"""`cachesafe simulate`: a log in, JSON and text out, exit status, interrupts, files."""

from __future__ import annotations

import csv
import gc
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
        (["--engine-option", "caching=maybe"], "--engine-option 'caching=maybe': caching is on or off"),
        (["--engine-option", "enable_prefix_caching=on"], "did you mean 'caching'"),
        (["--engine", "llamacpp", "--engine-option", "cache_ram=1"], "cache_ram=1 says nothing without bytes_per"),
        (["--policy-size", "foo=1"], "--policy-size says where --policies act"),
        (["--policies", "--model", "m", "--sweep", "blocks=1"], "--sweep means nothing beside --policies"),
        (["--merge", "a.json", "--export", "rows.csv"], "--export means nothing beside --merge"),
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


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize("lines", [1, 30_000])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_the_result_comes_although_its_rows_cannot_be_written(
    lines: int, form: str, simulate: Any, tmp_path: Path
) -> None:
    # One row waits for the end to be written; many do not.
    (tmp_path / "rows.csv").symlink_to("/dev/full")
    status, data, err = simulate(["[1, 2]"] * lines, "--export", str(tmp_path / "rows.csv"), form=form)
    assert status == 2
    assert err.count("\n") == 1
    assert "rows.csv': No space left on device" in err
    assert f"{lines:,} request" in data if form == "text" else data["requests"] == lines


def test_csv_holds_no_escape_sequences(simulate: Any, tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    tags = ["\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "a\x00b", "\x9b1m", "\u202eabc", "tab\tand\nline", "é"]
    simulate([{"prompt_token_ids": A, "tag": tag} for tag in tags], "--export", str(out))
    rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"), newline="")))
    assert [row["tag"] for row in rows] == [
        *("\\x1b[31mred\\x1b[0m", "\\x1b]0;title\\x07", "a\\x00b", "\\x9b1m", "\\u202eabc"),
        *("tab\tand\nline", "é"),
    ]


@pytest.mark.parametrize(("word", "found"), [("off", 0), ("No", 0), ("0", 0), ("false", 0), ("on", 16), ("True", 16)])
def test_switches_of_the_engine(word: str, found: int, simulate: Any) -> None:
    # The second prompt of 20 tokens finds one block of 16, if anything is kept.
    assert simulate([A, A], "--engine-option", f"caching={word}")[1]["cached_tokens"] == found


def test_sizes_that_nobody_gave_are_said(simulate: Any) -> None:
    _, text, _ = simulate([A, A], "--engine", "llamacpp", form="text")
    assert "RAM for 65,536 tokens: 8,192 MiB at an 8B model's 128 KiB each" in text.splitlines()[0]
    given = ["--engine-option", "cache_ram=1", "--engine-option", "bytes_per_token=1024"]
    assert "65,536" not in simulate([A, A], "--engine", "llamacpp", *given, form="text")[1]


def test_memory_that_runs_out(simulate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_cachesafe.engines.replay.feed import Feed

    sent = Feed.request

    def short(self: Feed, entry: Any) -> Any:
        if entry.line == 3:
            raise MemoryError
        return sent(self, entry)

    monkeypatch.setattr(Feed, "request", short)
    rows = tmp_path / "rows.csv"
    status, data, err = simulate([A, A, A, A], "--export", str(rows), "--sweep", "blocks=50,60")
    # 20 of the first prompt and 4 of the second one are computed.
    words = "out of memory after 2 requests, whose 24 computed tokens the pool without limit keeps"
    assert err == (
        f"cachesafe: {words} and 2 caches of --sweep: the result is partial; give --blocks N, fewer caches to --sweep, "
        "or --no-reasons\n"
    )
    assert (status, data["partial"], data["requests"], len(data["per_request"])) == (2, True, 2, 2)
    assert rows.read_text().count("\n") == 3
    assert "in a pool of 9 blocks of 16: the result" in simulate([A, A, A], "--blocks", "9")[2]
    assert simulate([A, A, A], form="text")[1].startswith("partial result: ")


def test_memory_that_runs_out_elsewhere(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_cachesafe.commands import simulate as command

    def run(args: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(command, "run", run)
    assert main(["simulate", "x"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("cachesafe: out of memory")


def test_windows_by_time_of_a_log_without_times(simulate: Any) -> None:
    _, text, _ = simulate([A, {"prompt_token_ids": A, "timestamp": 1}, A], "--window", "60s", form="text")
    assert "2 requests without a timestamp: in no window" in text


def test_what_the_template_leaves_out_is_told(simulate: Any, smollm2_tokenizer_dir: Path) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    tools = [{"type": "function", "function": {"name": "find_weather", "parameters": {"type": "object"}}}]
    lines = [body, {**body, "tools": tools, "tag": "t"}, {**body, "tools": tools}]
    options = ["--model", str(smollm2_tokenizer_dir)]
    status, data, _ = simulate(lines, *options)
    # A note is no failure.
    assert status == 0
    assert data["not_rendered"] == {"requests": 2, "first_line": 2, "what": {"tools": 2}}
    text = simulate(lines, *options, form="text")[1]
    assert "  note: the template leaves out what 2 requests say: tools (2), first in line 2; sizes and shares" in text
    assert "note" not in simulate([body], *options, form="text")[1]
    policies = ["--policies", *options, "--output-format", "json"]
    assert "leaves out parts of the chat (tools)" in str(simulate([json.dumps(lines[1])], *policies)[1]["notes"])


def test_an_answer_without_content_is_rendered_as_a_server_does(simulate: Any, smollm2_tokenizer_dir: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    answer = {"role": "assistant", "tool_calls": [call]}
    lines = [
        {"messages": [{"role": "user", "content": "hi"}, one, {"role": "tool", "tool_call_id": "1", "content": "res"}]}
        for one in (answer, {**answer, "content": None})
    ]
    status, data, err = simulate(lines, "--model", str(smollm2_tokenizer_dir), "--block-size", "1")
    assert (status, err, data["skipped"]["count"]) == (0, "", 0)
    # The same prompt twice: all but its last token is found.
    tokens = data["per_request"][0]["tokens"]
    assert data["per_request"][1]["cached_tokens"] == tokens - 1


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


def test_a_log_that_cannot_be_replayed_is_all_that_is_said(
    simulate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow.parquet")
    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    out = tmp_path / "rows.parquet"
    status, _, err = simulate([{"messages": [{"role": "user", "content": "q"}]}], "--export", str(out))
    gc.collect()
    assert (status, ignored, len(err.splitlines())) == (2, [], 1)
    assert [file.name for file in tmp_path.iterdir()] == ["log.jsonl"]


def test_parquet_without_the_extra(simulate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    status, _, err = simulate([A], "--export", str(tmp_path / "rows.parquet"))
    assert status == 2
    assert 'pip install "pytest-cachesafe[export]"' in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_writes_what_there_is(form: str, number: int, status: int, tmp_path: Path) -> None:
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
    process.send_signal(number)
    assert process.wait(60) == status
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
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rows.csv"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_a_result_is_written_leaves_nothing(
    number: int, simulate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_cachesafe.report.streamed import RowSpool

    chunks = RowSpool._chunks

    def interrupted(self: RowSpool, head: Any) -> Any:
        yield next(iter(chunks(self, head)))
        signal.raise_signal(number)

    monkeypatch.setattr(RowSpool, "_chunks", interrupted)
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    assert simulate([A], "--output-file", str(tmp_path / "out.json"))[0] == 128 + number
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before


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
