"""`cachesafe stable`: inputs, options, JSON and exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.cli import main

SYSTEM = {"role": "system", "content": "You are a billing helper for Example Ltd."}
USER = {"role": "user", "content": "How do I download an invoice?"}
MORE = [{"role": "assistant", "content": "Open Billing."}, {"role": "user", "content": "And a receipt?"}]
CHAT = [SYSTEM, USER, *MORE]
CLOCKED = [
    {"messages": [{"role": "system", "content": f"Help. Now: 10:4{i}:00."}, USER, *(MORE * i)]} for i in (0, 1, 2)
]


@pytest.fixture
def stable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(chat: Any, *options: str, name: str = "chat.json", form: str = "json") -> tuple[int, Any]:
        path = tmp_path / name
        path.write_text(chat if isinstance(chat, str) else json.dumps(chat), encoding="utf-8")
        status = main(["stable", str(path), "--output-format", form, *options])
        out, err = capsys.readouterr()
        return status, (json.loads(out) if form == "json" and status != 2 else out or err)

    return run


def test_a_growing_chat(stable: Any) -> None:
    status, data = stable(CHAT)
    assert status == 0
    assert (data["schema"], data["verdict"], data["requests"], len(data["steps"])) == (1, "stable", 2, 1)
    keys = {"first_step", "worst_step", "lost_tokens", "lost_blocks", "generated_text_reused", "cause", "origin"}
    assert keys | {"steps", "toggles", "accepted"} <= set(data)


@pytest.mark.parametrize(
    "written",
    [
        json.dumps(CLOCKED),
        json.dumps({"requests": CLOCKED}),
        "\n".join(json.dumps(body) for body in CLOCKED),
        json.dumps([body["messages"] for body in CLOCKED]),
    ],
    ids=["list", "requests", "lines", "message lists"],
)
def test_requests_as_sent(written: str, stable: Any) -> None:
    status, data = stable(written)
    assert status == 1
    assert (data["verdict"], data["cause"], data["origin"]) == ("history", "timestamp", "application")
    assert (data["first_step"], data["requests"]) == (1, 3)


def test_an_acceptance(stable: Any) -> None:
    status, data = stable(CLOCKED, "--accept", "cause=timestamp,part=system,reason=known, for now")
    assert (status, data["verdict"]) == (0, "stable")
    assert data["accepted"][0]["accept"]["reason"] == "known, for now"
    assert stable(CLOCKED, "--accept", "cause=order,reason=x")[0] == 1
    assert stable(CLOCKED, "--strict", "--accept", "cause=timestamp,reason=x")[0] == 1


def test_text_form(stable: Any) -> None:
    status, text = stable(CLOCKED, form="text")
    assert status == 1
    assert "a time of day changed" in text.splitlines()[0]


def test_redacted_results_hold_no_text(stable: Any) -> None:
    for form in ("text", "json"):
        shown = str(stable(CLOCKED, "--redact", "hash", form=form)[1])
        assert "How do I" not in shown
        assert "0:00." not in shown


def test_failing_on_less(stable: Any) -> None:
    assert stable(CLOCKED, "--fail-on", "raises, not_rendered")[0] == 0
    status, words = stable(CLOCKED, "--fail-on", "histroy")
    assert (status, "did you mean 'history'" in words) == (2, True)


def test_a_reset(stable: Any) -> None:
    log = [{"messages": [SYSTEM, USER]}, {"messages": [SYSTEM, {"role": "user", "content": "<summary> so far"}]}]
    assert stable(log)[0] == 1
    status, data = stable(log, "--reset", "<summary>")
    assert (status, data["resets"]) == (0, [1])
    assert stable(log, "--reset", "1", "--max-resets", "0")[0] == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--template-kwarg", "novalue"], "expected NAME=VALUE"),
        (["--toggle", "novalues"], "expected NAME=V1,V2"),
        (["--toggle", "enable_thinking=true"], "at least two values"),
        (["--toggle", "enable_thinking=true,false:tial"], "did you mean 'tail'"),
        (["--accept", "cuase=date"], "did you mean 'cause'"),
        (["--accept", "cause=dte"], "did you mean 'date'"),
        (["--under", "clokc"], "clock"),
        (["--requests", "usr"], "did you mean 'user'"),
        (["--min-shared", "2"], "between 0 and 1"),
        (["--block-size", "0"], "at least 1"),
        (["--model", "no/such-model"], "no/such-model"),
    ],
)
def test_bad_options(options: list[str], says: str, stable: Any) -> None:
    status, words = stable(CHAT, *options)
    assert status == 2
    assert words.startswith("cachesafe: ")
    assert words.count("\n") == 1
    assert says in words


TEMPLATE = (
    "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
    "{%- if not enable_thinking %}{{- '<think></think>' }}{%- endif %}{%- endif %}"
)


def test_a_toggle_and_a_keyword_of_a_template(stable: Any, tmp_path: Path) -> None:
    file = tmp_path / "think.jinja"
    file.write_text(TEMPLATE)
    status, data = stable(CHAT, "--template", str(file), "--template-kwarg", "enable_thinking=true")
    assert (status, data["verdict"]) == (0, "stable")
    status, data = stable(CHAT, "--template", str(file), "--template-kwarg", "enable_thinking=false")
    assert (status, data["verdict"]) == (0, "tail")
    assert stable(CHAT, "--template", str(file), "--template-kwarg", "enable_thinking=false", "--strict")[0] == 1
    status, data = stable(CHAT, "--template", str(file), "--toggle", "enable_thinking=true,false:splits")
    assert status == 1
    assert "enable_thinking" in data["toggles"]


def test_values_are_json_where_they_can_be() -> None:
    from pytest_cachesafe.commands.stable import keyword, toggle

    assert keyword("a=true") == ("a", True)
    assert keyword("a=False") == ("a", False)
    assert keyword('a={"b": [1]}') == ("a", {"b": [1]})
    assert keyword("a=high=er") == ("a", "high=er")
    made = toggle("effort=low,10:41:report")
    assert (made.name, list(made.values), made.expect) == ("effort", ["low", "10:41"], "report")
    assert list(toggle("clock=10:41,10:42").values) == ["10:41", "10:42"]
    ordered = toggle("order:tools:keeps")
    assert (ordered.kind, ordered.name, ordered.expect) == ("order", "tools", "keeps")


def test_qwen3_agents_lose_their_reasoning(stable: Any, qwen3_dir: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}
    agent = [
        USER,
        {"role": "assistant", "content": "", "reasoning_content": "I need the forecast. " * 20, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "4 degrees"},
        *MORE,
    ]
    options = ["--model", str(qwen3_dir)]
    assert stable(agent, *options, "--requests", "user")[1]["verdict"] == "stable"
    status, data = stable(agent, *options)
    assert (status, data["verdict"], data["cause"], data["origin"]) == (1, "history", "reasoning_dropped", "template")
    accepted = ["--accept", "cause=reasoning_dropped,template=qwen3,max_lost_tokens=800,reason=template design"]
    assert stable(agent, *options, *accepted)[0] == 0
