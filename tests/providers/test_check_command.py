"""`cachesafe check`: reading, exit status, formats."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pytest_cachesafe
from pytest_cachesafe.cli import main
from tests.support.wire_requests import LONG, MARK, anthropic, assistant, marked_last, openai, text, tool, user

SECRET = "Ada Lovelace lives at Ockham Park."


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The rules of the project that the tests run in are not theirs.
    monkeypatch.chdir(tmp_path)


def lines(*bodies: dict[str, Any], name: str = "requests.jsonl") -> str:
    Path(name).write_text("".join(json.dumps(body) + "\n" for body in bodies), encoding="utf-8")
    return name


def clean() -> list[dict[str, Any]]:
    return [anthropic(marked_last([user("q")])), anthropic(marked_last([user("q"), assistant("a"), user("r")]))]


def clock() -> list[dict[str, Any]]:
    return [
        {**body, "system": [text(f"It is 10:4{i}:07. {SECRET} {LONG}", cache_control=MARK)]}
        for i, body in enumerate(clean())
    ]


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    status = main(["check", *args])
    out = capsys.readouterr()
    return status, out.out, out.err


def test_clean_requests_exit_0(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, lines(*clean()), "--provider", "anthropic")

    assert (status, err) == (0, "")
    assert out.startswith("requests are cache-safe: 2 requests [anthropic")


def test_findings_exit_1_and_the_json_is_as_documented(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, lines(*clock()), "--output-format", "json")
    data = json.loads(out)

    assert status == 1
    assert [r["miss_reason"] for r in data["requests"]] == [None, "system_changed"]
    (finding,) = data["findings"]
    assert (finding["severity"], finding["request"], finding["path"]) == ("error", 1, "system[0]")
    assert finding["cause"] == "timestamp"
    assert data["requests"][0]["usage"]["cache_creation_input_tokens"] > 0


def test_notes_exit_0_unless_strict(capsys: pytest.CaptureFixture[str]) -> None:
    name = lines(anthropic(marked_last([user("Hello?")]), system="Be brief."))

    assert run(capsys, name)[0] == 0
    status, out, _ = run(capsys, name, "--strict")
    assert status == 1
    assert "notes count (--strict)" in out.splitlines()[0]


def test_model_for_bodies_that_name_none(capsys: pytest.CaptureFixture[str]) -> None:
    body = {"system": [{"text": LONG}, {"cachePoint": {"type": "default"}}], "messages": [user([{"text": "q"}])]}
    name = lines(body, body)
    plain = run(capsys, name, "--provider", "bedrock")[1]
    named = run(capsys, name, "--provider", "bedrock", "--model", "us.anthropic.claude-opus-4-6-v1:0")[1]

    assert "no model is named" in plain
    assert "no model is named" not in named


def test_the_model_of_a_line_counts(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = clean()
    del one["model"], other["model"]
    path = "/v1/messages"
    name = lines(
        {"path": path, "model": "claude-sonnet-4-6", "body": one},
        {"path": path, "model": "claude-opus-5", "body": other},
    )
    data = json.loads(run(capsys, name, "--output-format", "json")[1])

    assert [f["code"] for f in data["findings"]] == ["model-changed"]


def test_what_the_capture_writes_is_read_back(capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_cachesafe.providers.capture.storage import write_exchanges
    from pytest_cachesafe.providers.exchange import Exchange

    bodies = [openai([user("q")], tools=[]), openai([user("q"), assistant("a"), user("r")], tools=[])]
    write_exchanges("kept.jsonl", [Exchange("openai", "chat", b, model=b["model"]) for b in bodies])
    status, out, _ = run(capsys, "kept.jsonl")

    assert status == 0
    assert "[openai" in out


def test_redacted_files_are_compared_and_lengths_are_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_cachesafe.providers.capture.storage import write_exchanges
    from pytest_cachesafe.providers.exchange import Exchange

    bodies = clock()
    exchanges = [Exchange("anthropic", "messages", b, model=b["model"]) for b in bodies]
    write_exchanges("kept.jsonl", exchanges, "hash")
    status, out, _ = run(capsys, "kept.jsonl", "--output-format", "json")
    data = json.loads(out)

    assert status == 1
    assert [(f["request"], f["path"]) for f in data["findings"]] == [(1, "system[0]")]
    assert data["requests"][0]["usage"] is None, "checksums have no tokens"
    assert data["findings"][0]["lost_tokens"] is None


@pytest.mark.parametrize("form", ["text", "json"])
def test_redact_hides_prompt_text(capsys: pytest.CaptureFixture[str], form: str) -> None:
    name = lines(*clock())

    assert "Ada" in run(capsys, name, "--output-format", form)[1]
    hidden = run(capsys, name, "--output-format", form, "--redact", "text")[1]
    assert "Ada" not in hidden
    assert "1:07" not in hidden


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    data = "".join(json.dumps(body) + "\n" for body in clean()).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    assert run(capsys, "-")[0] == 0


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("", [], "is empty"),
        ("{", [], "not JSON"),
        ('{"messages": [{"role": "user", "content": "q"}]}\n{"mess', [], "line 2"),
        ("[1, 2]", [], "request body"),
        ("[]", [], "an empty list"),
        (
            '{"contents": [{"role": "user", "parts": [{"text": "q"}]}]}',
            ["--provider", "openai"],
            "not a body of openai",
        ),
        ('{"messages": []}', ["--provider", "anthropic"], "messages"),
        (b"\x00\xff\xfe binary", [], "not UTF-8"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], content: str | bytes, options: list[str], words: str
) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    Path("bad.jsonl").write_bytes(data)
    status, out, err = run(capsys, "bad.jsonl", *options)

    assert (status, out) == (2, "")
    assert err.startswith("cachesafe: ")
    assert words in err
    assert err.count("\n") == 1


def test_options_that_go_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no requests given" in run(capsys)[2]
    assert "no such file" in run(capsys, "nothing.jsonl")[2]
    assert "unknown value 'anthropc'" in run(capsys, "x", "--provider", "anthropc")[2]
    assert "--stale-after goes with --rules" in run(capsys, "--stale-after", "90d")[2]
    assert "checks nothing" in run(capsys, lines(*clean()), "--rules")[2]


def test_the_rules_are_printed_with_sources_and_dates(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--rules", "--provider", "anthropic")

    assert status == 0
    assert "claude-sonnet-4-6" in out
    assert "Prompt caching" in out
    data = json.loads(run(capsys, "--rules", "--output-format", "json")[1])
    assert {row["provider"] for row in data["rules"]} >= {"anthropic", "openai", "gemini", "bedrock"}


def test_stale_rules_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    # Every rule was checked after 2026-01-01, and none in the future.
    assert run(capsys, "--rules", "--stale-after", "100y")[0] == 0
    assert run(capsys, "--rules", "--stale-after", "0d")[0] in (0, 1)
    status, _, err = run(capsys, "--rules", "--stale-after", "soon")
    assert (status, err.count("\n")) == (2, 1)


def test_no_prices(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(run(capsys, lines(*clock()), "--no-prices", "--output-format", "json")[1])

    assert data["cost_usd"] is None
    assert "USD" not in run(capsys, lines(*clock()), "--no-prices")[1]


def test_a_large_body_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    # 20 MB in one request, as an attached file makes them.
    body = anthropic([user([text("row of a table, " * 1_250_000)]), assistant("a"), user("r")])

    assert run(capsys, lines(body))[0] == 0


def test_no_sdk_is_needed() -> None:
    name = lines(*clock())
    code = (
        "import sys\n"
        "from pytest_cachesafe.cli import main\n"
        f"status = main(['check', {name!r}, '--no-prices'])\n"
        "heavy = {'anthropic', 'openai', 'google.genai', 'boto3', 'botocore', 'httpx', 'httpx2', 'aiohttp', 'requests',"
        " 'genai_prices', 'pydantic', 'transformers'}\n"
        "print(status, sorted(heavy & set(sys.modules)))\n"
    )
    home = str(Path(pytest_cachesafe.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": home},
        check=True,
    )

    assert done.stdout.splitlines()[-1] == "1 []"


def test_tools_in_another_order_name_the_tools(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = clean()
    tools = [tool("alpha"), tool("beta")]
    out = run(capsys, lines({**one, "tools": tools}, {**other, "tools": [*tools, tool("gamma")]}))[1]

    assert "what:   added gamma" in out
