"""`cachesafe compare`: JSON, exit status, and the text form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.cli import main

SYSTEM = {"role": "system", "content": "You are a billing helper for Example Ltd."}
USER = {"role": "user", "content": "How do I download an invoice?"}
MORE = [{"role": "assistant", "content": "Open Billing."}, {"role": "user", "content": "And a receipt?"}]
TEMPLATE = (
    "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)


@pytest.fixture
def compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(a: Any, b: Any, *options: str, form: str = "json") -> tuple[int, Any]:
        for name, value in (("a.json", a), ("b.json", b)):
            (tmp_path / name).write_text(json.dumps(value), encoding="utf-8")
        files = [str(tmp_path / "a.json"), str(tmp_path / "b.json")]
        status = main(["compare", *files, "--output-format", form, *options])
        out = capsys.readouterr().out
        return status, json.loads(out) if form == "json" else out

    return run


def test_growth_extends(compare: Any) -> None:
    status, data = compare([SYSTEM, USER], [SYSTEM, USER, *MORE])
    assert status == 0
    assert (data["extends"], data["scope"], data["divergence"]) == (True, "none", None)
    assert data["shared_tokens"] == data["tokens"][0] < data["tokens"][1]


def test_the_other_way_round_does_not_extend(compare: Any) -> None:
    status, data = compare([SYSTEM, USER, *MORE], [SYSTEM, USER])
    assert (status, data["extends"], data["divergence"]) == (1, False, None)


def test_a_clock_in_the_system_text(compare: Any) -> None:
    a, b = ([{"role": "system", "content": f"Help. Now: 10:4{i}:00."}, USER] for i in (1, 2))
    status, data = compare(a, b)
    assert status == 1
    assert data["schema"] == 1
    found = data["divergence"]
    assert (found["cause"], found["origin"], data["scope"]) == ("timestamp", "application", "history")
    assert {k: found["location"][k] for k in ("part", "message_index", "role")} == {
        "part": "system",
        "message_index": 0,
        "role": "system",
    }
    assert found["before"].startswith("1:00.")
    assert found["after"].startswith("2:00.")
    assert found["char_index"] == data["shared_chars"]
    assert found["block_index"] == found["token_index"] // 16


def test_block_size_moves_the_block(compare: Any) -> None:
    a, b = ([{"role": "system", "content": "word " * 200 + str(i)}, USER] for i in (1, 2))
    _, data = compare(a, b, "--block-size", "8")
    assert data["divergence"]["block_index"] == data["divergence"]["token_index"] // 8 > 0


def test_the_text_form_is_complete_in_its_first_line(compare: Any) -> None:
    a, b = ([{"role": "system", "content": f"Help. Now: 10:4{i}:00."}, USER] for i in (1, 2))
    status, text = compare(a, b, form="text")
    lines = text.splitlines()
    assert status == 1
    assert "system text" in lines[0]
    assert "a time of day changed" in lines[0]
    side_a, side_b, caret = (next(line for line in lines if line.strip().startswith(x)) for x in ("A:", "B:", "^"))
    at = caret.index("^")
    assert (side_a[at], side_b[at]) == ("1", "2")
    assert any("wire" in line for line in lines)


def test_prompt_text_in_the_report_is_harmless(compare: Any) -> None:
    a, b = ([{"role": "system", "content": f"x\x1b[2J\n::error::{i}\u202e"}, USER] for i in "ab")
    for form in ("text", "json"):
        path_out = compare(a, b, form=form)[1]
        shown = path_out if isinstance(path_out, str) else json.dumps(path_out)
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert not any(line.lstrip().startswith("::") for line in shown.splitlines())


@pytest.mark.parametrize("mode", ["text", "hash"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_redacted(mode: str, form: str, compare: Any) -> None:
    a, b = ([{"role": "system", "content": f"secret {i} word"}, USER] for i in "ab")
    shown = str(compare(a, b, "--redact", mode, form=form)[1])
    assert "word" not in shown
    assert "characters" in shown


def test_a_template_file(compare: Any, tmp_path: Path) -> None:
    file = tmp_path / "chatml.jinja"
    file.write_text(TEMPLATE)
    status, data = compare([SYSTEM, USER], [SYSTEM, USER, *MORE], "--template", str(file))
    assert (status, data["extends"]) == (0, True)
    assert "chatml.jinja" in data["front_end"]


@pytest.mark.parametrize("mode", ["none", "hash"])
def test_a_template_that_leaves_messages_out_is_no_pass(mode: str, compare: Any, tmp_path: Path) -> None:
    file = tmp_path / "empty.jinja"
    file.write_text("always the same")
    status, data = compare([SYSTEM, USER], [SYSTEM, USER, *MORE], "--template", str(file), "--redact", mode)
    assert (status, data["extends"]) == (1, True)
    assert data["not_rendered"][0]["what"] == "message"
    status, text = compare([SYSTEM, USER], [SYSTEM, USER], "--template", str(file), "--redact", mode, form="text")
    assert status == 1
    assert "not rendered" in text.splitlines()[0]
    assert ("billing helper" in text) == (mode == "none")


def test_files_with_several_requests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log.json").write_text(json.dumps({"requests": [{"messages": [USER]}, {"messages": [USER, *MORE]}]}))
    (tmp_path / "a.json").write_text(json.dumps([USER]))
    assert main(["compare", str(tmp_path / "log.json"), str(tmp_path / "a.json")]) == 2
    assert "holds 2 requests; compare takes one" in capsys.readouterr().err


def test_a_template_that_refuses_names_the_file(
    compare: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "strict.jinja"
    file.write_text("{%- if messages | length > 2 %}{{ raise_exception('only two') }}{%- endif %}x")
    (tmp_path / "a.json").write_text(json.dumps([SYSTEM, USER]))
    (tmp_path / "b.json").write_text(json.dumps([SYSTEM, USER, *MORE]))
    assert main(["compare", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "--template", str(file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"cachesafe: {tmp_path / 'b.json'}: the template refuses the chat")
    assert "only two" in err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--template", "missing.jinja"], "missing.jinja: no such file"),
        (["--wire", "openai", "--model", "x"], "--wire compares bodies as sent"),
        (["--block-size", "0"], "at least 1"),
        (["--tools", "missing.json"], "missing.json: no such file"),
    ],
)
def test_bad_options(options: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text(json.dumps([SYSTEM, USER]))
    assert main(["compare", str(tmp_path / "a.json"), str(tmp_path / "a.json"), *options]) == 2
    assert says in capsys.readouterr().err


def test_a_forced_wire_format(compare: Any) -> None:
    body = {"messages": [USER], "system": "Be brief."}
    assert "anthropic" in compare(body, body, "--wire", "anthropic")[1]["front_end"]
    body = {"model": "m", "input": [USER]}
    assert "responses" in compare(body, body, "--wire", "openai")[1]["front_end"]


def test_tools_for_bare_lists(compare: Any, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"type": "function", "function": {"name": "get_weather", "parameters": {}}}]))
    plain = compare([SYSTEM, USER], [SYSTEM, USER])[1]
    given = compare([SYSTEM, USER], [SYSTEM, USER], "--tools", str(tools))[1]
    assert given["tokens"][0] > plain["tokens"][0]


def test_token_ids(compare: Any) -> None:
    status, data = compare([1, 2, 3, 4], [1, 2, 5, 6, 7])
    assert status == 1
    assert (data["shared_tokens"], data["tokens"], data["divergence"]["token_index"]) == (2, [4, 5], 2)


def test_the_default_system_text_of_smollm2(compare: Any, smollm2_tokenizer_dir: Path) -> None:
    plain = [{"role": "user", "content": "What is the capital of France?"}]
    dated = [{"role": "system", "content": "Today is Tuesday."}, *plain]
    _, data = compare(plain, dated, "--model", str(smollm2_tokenizer_dir), "--no-generation-prompt")
    assert (data["shared_tokens"], data["tokens"], data["estimated"]) == (3, [33, 21], False)
    assert data["divergence"]["cause"] == "default_system_text"
    assert data["divergence"]["origin"] == "template"


def test_signs_of_the_wire_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / name for name in ("a.json", "b.json")]
    user = {"role": "user", "content": "Hello?"}
    for path, system in zip(paths, ("Be kind.", "Be kind.\n- Be brief."), strict=True):
        path.write_text(json.dumps({"model": "claude-x", "system": system, "messages": [user]}))
    main(["compare", *map(str, paths)])
    words = capsys.readouterr().out
    assert "(the text ends here)" in words
    assert "␟ ends it" in words
    for path, system in zip(paths, ("Be kind.", "Be nice."), strict=True):
        path.write_text(json.dumps({"model": "claude-x", "system": system, "messages": [user]}))
    main(["compare", *map(str, paths), "--redact", "text"])
    assert "ends it" not in capsys.readouterr().out
