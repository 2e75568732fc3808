"""`cachesafe scan`: severity by the clock policy, offsets that point at the value, no alarm on constants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.cli import main


def scan(tmp_path: Path, content: Any, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, Any]]:
    path = tmp_path / ("body.json" if not isinstance(content, str) else "prompt.txt")
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    status = main(["scan", str(path), "--output-format", "json", *options])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("text", "severity", "kind"),
    [
        ("Now: 2026-11-29T10:41:07Z.", "error", "timestamp"),
        ("Current time: 10:41", "error", "time"),
        ("started 10:41:07", "error", "time"),
        ("ts 1795999999", "error", "timestamp"),
        ("Today is 2026-11-29.", "note", "date"),
        ("Today is Tuesday.", "note", "date"),
        ("2026-11-29T00:00:00Z", "note", "timestamp"),
        ("meet at 10:41", "note", "time"),
        ("session 550e8400-e29b-41d4-a716-446655440000", "warning", "uuid"),
        ("trace req-8f3kd92ls0", "warning", "id"),
        ("<Tool object at 0x7f3c2d1e>", "warning", "address"),
        ("work in /tmp/run-x81/files", "warning", "path"),
        ("work in /home/anna/project", "note", "path"),
        ("on 10.0.0.5", "note", "host"),
    ],
)
def test_severity(text: str, severity: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, data = scan(tmp_path, text, capsys)
    assert [(v["severity"], v["kind"]) for v in data["values"]] == [(severity, kind)]
    assert status == (0 if severity == "note" else 1)
    assert scan(tmp_path, text, capsys, "--strict")[0] == 1


@pytest.mark.parametrize(
    "text",
    [
        "Open Monday to Friday, 9:00-17:00 and 18:30 to 20:00.",
        "Python 3.11, version 1.2.3, 12% of 5 kg, in 1999",
        "Answer in /v1/messages style with claude-sonnet-4-20250514",
        "",
    ],
)
def test_constants_raise_no_alarm(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, data = scan(tmp_path, text or "x", capsys)
    assert (status, data["values"]) == (0, [])


def test_offset_and_share_of_a_plain_prompt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "é" * 70 + "Now: 10:41:07 " + "x" * 25
    _, data = scan(tmp_path, text, capsys)
    (value,) = data["values"]
    assert text[value["offset"] :].startswith("10:41:07")
    assert value["share_behind"] == pytest.approx(1 - value["offset"] / len(text), abs=1e-4)
    assert (value["part"], value["path"]) == (None, None)


def test_a_body_names_the_block(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = {
        "model": "claude-sonnet-4-20250514",
        "max_tokens": 10,
        "system": [{"type": "text", "text": "You help."}, {"type": "text", "text": "Now: 2026-11-29T10:41:07Z"}],
        "tools": [{"name": "t", "description": "built at 10:41:07", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "Remind me at 2026-12-01T09:30:00Z"}],
    }
    status, data = scan(tmp_path, body, capsys)
    found = [(v["severity"], v["part"], v["path"]) for v in data["values"]]
    assert ("error", "system", "system[1].text") in found
    assert [f[:2] for f in found].count(("error", "tools")) == 1
    # What a user wrote stays as it was sent.
    assert [f[:2] for f in found].count(("note", "message")) == 1
    assert status == 1
    shares = [v["share_behind"] for v in data["values"]]
    assert shares == sorted(shares, reverse=True)
    assert all(0 < share <= 1 for share in shares)


def test_ids_of_tool_calls_belong_to_the_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chat = [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_a8Xk29QpLm3", "type": "function", "function": {"name": "w", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_a8Xk29QpLm3", "content": "sunny"},
    ]
    assert scan(tmp_path, chat, capsys)[0] == 0


def test_every_request_of_a_log_is_scanned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.jsonl"
    bodies = [
        {"messages": [{"role": "system", "content": f"Now: 10:4{i}:00"}, {"role": "user", "content": "x"}]}
        for i in (1, 2)
    ]
    path.write_text("\n".join(map(json.dumps, bodies)))
    assert main(["scan", str(path), "--output-format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert [(v["request"], v["text"]) for v in data["values"]] == [(0, "10:41:00"), (1, "10:42:00")]


def test_text_that_begins_like_json_is_a_prompt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert scan(tmp_path, "[INST] it is 10:41:07 now [/INST]", capsys)[1]["errors"] == 1


def test_a_front_end_needs_a_chat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "prompt.txt"
    path.write_text("hello")
    assert main(["scan", str(path), "--wire", "anthropic"]) == 2
    assert "plain text is scanned as it is" in capsys.readouterr().err


@pytest.mark.parametrize("mode", ["text", "hash"])
def test_redaction(mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "prompt.txt"
    path.write_text("Now: 10:41:07")
    for form in ("text", "json"):
        main(["scan", str(path), "--redact", mode, "--output-format", form])
        assert "10:41:07" not in capsys.readouterr().out


def test_text_form_is_worst_first_and_capped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "prompt.txt"
    path.write_text("Today: 2026-11-29. " + "at 10:41:07 " * 40)
    main(["scan", str(path)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{path}: 40 errors, 1 note (")
    assert lines[1].startswith("  error: time 10:41:07 at character ")
    assert lines[-1] == "  … 11 more (-vv shows all)"
    main(["scan", str(path), "-vv"])
    assert "  note: date 2026-11-29" in capsys.readouterr().out


def test_a_value_that_is_sent_again_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.jsonl"
    turns = [{"role": "user", "content": "[2026-03-02 10:41] Hello."}]
    bodies = []
    for i in range(6):
        # The system text stays but for one request.
        system = {"role": "system", "content": f"You help since 10:4{8 if i == 3 else 1}:00."}
        bodies.append({"messages": [system, *turns]})
        turns = [*turns, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": f"Question {i}?"}]
    path.write_text("\n".join(map(json.dumps, bodies)))
    assert main(["scan", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{path}: 2 errors, 1 note (")
    places = [
        line.split(" at ", 1)[1].split(", messages[")[0]
        for line in lines[1:]
        if line.startswith("  ") and " at " in line
    ]
    assert places == ["requests 0 to 2, 4 and 5", "request 3", "requests 0 to 5"]
    shares = lines[1].rsplit(", ", 1)[1]
    assert " to " in shares
    assert shares.endswith("of the prompt behind it")
    # JSON keeps every occurrence.
    assert main(["scan", str(path), "--output-format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["notes"] == 6
