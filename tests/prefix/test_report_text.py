"""What people read: a complete first line, the worst first, nothing harmful or secret, a line that reproduces it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pytest_cachesafe
from pytest_cachesafe import Accept, ChatTemplate, Toggle, check_prefix_stable

Messages = list[dict[str, Any]]
SMALL = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"


def say(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def talk(turns: int, system: str = "You keep the shop.") -> Messages:
    messages = [say("system", system)]
    for n in range(turns):
        messages += [say("user", f"Question {n}?"), say("assistant", f"Answer {n}.")]
    return messages[:-1]


def clocks(turns: int) -> list[Messages]:
    return [talk(n, f"You keep the shop. It is 10:{n:02}:07.") for n in range(1, turns + 1)]


def test_the_first_line_is_complete() -> None:
    first = check_prefix_stable(clocks(3), name="shop").first_line
    assert re.fullmatch(
        r"prompt prefix is not stable \[shop\]: request 2 does not continue request 1: a time of day changed in the "
        r"system text at messages\[0\]\.content, the request itself changed; about \d+ of \d+ tokens lost from token "
        r"about \d+ on \(also at request 1\) \[wire format .*\]",
        first,
    )


def test_all_is_well_in_one_line() -> None:
    report = check_prefix_stable([talk(1), talk(2)], template=ChatTemplate.from_string(SMALL, name="small"))
    assert re.fullmatch(
        r"prompt prefix is stable over 2 requests \(1 comparison\) \[chat template small \(.*\)\]", report.first_line
    )


def test_the_worst_comes_before_the_first() -> None:
    """A small loss at request 1, everything lost at request 3."""
    requests = [talk(1), talk(2), talk(3), talk(4)]
    requests[0][-1] = say("user", "Question 0, trimmed on replay?   ")
    requests[1][1] = requests[2][1] = requests[3][1] = say("user", "Question 0, trimmed on replay?")
    requests[0] = [*requests[0], say("assistant", "Answer 0."), say("user", "Hm?")]
    requests[1] = [*requests[0][:1], requests[1][1], *requests[0][2:], say("assistant", "Yes."), say("user", "Good.")]
    requests[2] = [*requests[1], say("assistant", "Well."), say("user", "Go on.")]
    requests[3] = [
        say("system", "You keep the SHOP."),
        *requests[2][1:],
        say("assistant", "Done."),
        say("user", "Bye."),
    ]
    report = check_prefix_stable(requests)
    lines = report.text().splitlines()
    assert [s.request for s in report.judged if s.verdict != "stable"] == [1, 3]
    assert "request 3 does not continue request 2" in lines[0]
    assert lines[1].startswith("  also: request 1 does not continue request 0")
    worst = next(i for i, line in enumerate(lines) if line.startswith("  worst: request 3"))
    first = next(i for i, line in enumerate(lines) if line.startswith("  first: request 1"))
    assert worst < first
    assert "cause:  system_changed (application)" in "\n".join(lines[worst:first])
    assert "cause:  whitespace (application)" in "\n".join(lines[first:])


def test_verbosity_lifts_the_cap() -> None:
    requests = clocks(59)
    short, long = (check_prefix_stable(requests).text(v).splitlines() for v in (0, 2))
    assert len(short) < 45
    assert all(len(line) <= 120 for line in short[1:]), short
    assert "-vv" in "\n".join(short)
    for n in range(1, 59):
        assert any(f"request {n} against request {n - 1}" in line for line in long), n
    assert "-vv" not in "\n".join(long)


HOSTILE = [
    "\x1b[2J\x1b[31mEVIL", "::error file=a.py::EVIL", "\n::error::EVIL", "\r::warning::EVIL", "##[error]EVIL",
    "##vso[task.complete]EVIL", "##teamcity[EVIL]", "<script>EVIL</script>", "\u202eEVIL\u2066", "\x00\x07\x08EVIL",
    "\u2028::error::EVIL", "\x85::error::EVIL", "\x9b31mEVIL", "\x0b::error::EVIL", "e\u0301\u200b\ufeffEVIL",
    "\ud800EVIL",
]  # fmt: skip
_FORBIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def harmless(text: str) -> None:
    assert not _FORBIDDEN.search(text), repr(_FORBIDDEN.search(text))
    for line in re.split(r"\r\n|[\r\n]", text):
        assert not re.match(r"\s*::", line), line
        assert not re.search(r"##(\[|vso\[|teamcity\[)", line), line
    text.encode("utf-8")


REFUSES = ChatTemplate.from_string("{{ raise_exception('refused: ' ~ messages[0].content) }}", name="refuses")


def reports(evil: str) -> dict[str, Any]:
    """The hostile text in every place that a report prints."""
    answer, more = say("assistant", "Fine."), say("user", "More?")
    tool = {"type": "function", "function": {"name": evil, "description": "d", "parameters": {}}}
    small = ChatTemplate.from_string(SMALL, name="small")
    return {
        "before": ([[say("user", f"a {evil}")], [say("user", "a changed"), answer, more]], {}),
        "after": ([[say("user", "a changed")], [say("user", f"a {evil}"), answer, more]], {}),
        "lead": ([[say("user", f"{evil} a")], [say("user", f"{evil} b"), answer, more]], {}),
        "name": ([[say("user", "a")], [say("user", "b"), answer, more]], {"name": evil}),
        "role": ([{"messages": [say(evil, "a")]}, {"messages": [say(evil, "b"), answer, more]}], {}),
        "tool": ([{"messages": [more], "tools": [tool]}, {"messages": [more, answer, more], "tools": []}], {}),
        "left out": ([[more], [more, answer, more]], {"template": small, "tools": [tool]}),
        "model": ([{"messages": [more], "model": evil}, {"messages": [more, answer, more], "model": "m"}], {}),
        "template": ([[say("user", evil)], [say("user", evil), answer, more]], {"template": REFUSES}),
        "reason": ([[more], [more, answer, more]], {"accept": [Accept(cause="date", reason=evil)]}),
        "toggle": ([[more], [more, answer, more]], {"toggles": [Toggle(evil, [evil, 1])], "template": small}),
    }


@pytest.mark.parametrize("evil", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_shown_harmlessly(evil: str) -> None:
    for place, (chats, options) in reports(evil).items():
        report = check_prefix_stable(chats, **options)
        for verbosity in (0, 2):
            for mode in ("none", "text", "hash"):
                text = report.text(verbosity, mode)
                harmless(text)
                if place in ("before", "after", "lead", "template"):
                    assert ("EVIL" in text) == (mode == "none"), (place, mode, text)


@pytest.mark.parametrize("filler", ["word ", "\x1b[31m", "é", "a\n"])
def test_ten_megabytes(filler: str) -> None:
    long = filler * (10_000_000 // len(filler.encode()))
    for before, after in ((long + "one", long + "two"), ("one" + long, "two" + long)):
        report = check_prefix_stable(
            [[say("user", before)], [say("user", after), say("assistant", "a"), say("user", "b")]]
        )
        assert not report.passed
        text = report.text(2)
        harmless(text)
        assert len(text) < 4000


SECRET = "xylophone-{}"


def secret_chat(change: str) -> Messages:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": {"q": SECRET.format("argument")}}}
    return [
        say("system", SECRET.format("system")),
        say("user", SECRET.format("question") + change),
        {"role": "assistant", "content": SECRET.format("call"), "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "look", "content": SECRET.format("result")},
        say("assistant", SECRET.format("answer")),
        say("user", SECRET.format("more")),
    ]


@pytest.mark.parametrize("mode", ["text", "hash"])
@pytest.mark.parametrize(
    "template", [None, SMALL, "{{ raise_exception('no: ' ~ messages[1].content) }}", "{{ messages[0].role }}"]
)
def test_redacted_reports_hold_no_prompt_text(mode: str, template: str | None) -> None:
    given = None if template is None else ChatTemplate.from_string(template, name="small")
    report = check_prefix_stable([secret_chat(" one"), [*secret_chat(" two"), say("assistant", "x"), say("user", "y")]],
                                 template=given)  # fmt: skip
    assert not report.passed
    assert "xylophone" not in report.text(0, mode) + report.text(2, mode)
    assert report.first_line != report.text(0, mode).splitlines()[0] or "xylophone" not in report.first_line


FAILING = """
import json, pathlib
from pytest_cachesafe import Accept, assert_prefix_stable

GIVEN = json.loads(pathlib.Path(__file__).with_name("given.json").read_text("utf-8"))

def test_it():
    options = dict(GIVEN["options"])
    options["accept"] = [Accept(**item) for item in options.get("accept", [])]
    assert_prefix_stable(GIVEN["chat"], **options)
"""


@pytest.fixture
def failing(tmp_path: Path) -> Any:
    """Runs a test that fails, in a process of its own; gives its output and a runner for the command it prints."""
    root = Path(pytest_cachesafe.__file__).parents[1]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "CI", "BUILD_NUMBER"))}
    env |= {"PYTHONPATH": str(root), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONUTF8": "1"}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", *words]
        return subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, encoding="utf-8", timeout=120, check=False
        )

    def fail(chat: Any, *flags: str, **options: Any) -> tuple[str, Any]:
        (tmp_path / "given.json").write_text(json.dumps({"chat": chat, "options": options}), encoding="utf-8")
        (tmp_path / "test_it.py").write_text(FAILING, encoding="utf-8")
        done = run("pytest", "-p", "pytest_cachesafe.plugin", "-q", "--junitxml=junit.xml", *flags, "test_it.py")
        assert "1 failed" in done.stdout, done.stdout + done.stderr
        return done.stdout, run

    return fail


def reproduce(out: str) -> list[str]:
    lines = [line.removeprefix("E").strip() for line in out.splitlines() if "reproduce: " in line]
    assert len(lines) == 1, out
    words = shlex.split(lines[0].removeprefix("reproduce: "))
    assert words[0] == "cachesafe"
    return words[1:]


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": "pears",  "n": 1}'}}
AGENT = [
    say("user", "Look for pears: ∂ \u202e 'quoted' \"twice\" $HOME `x`"),
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "8 pears at 10:41:07"},
]


@pytest.mark.parametrize(
    ("chat", "options"),
    [
        (clocks(3), {}),
        ([AGENT, [say("user", "Look for plums"), *AGENT[1:], say("assistant", "8."), say("user", "Thanks.")]], {}),
        ([{"model": m, "messages": talk(n)} for n, m in ((1, "a"), (2, "b"))], {"name": 'it\'s "mine"'}),
        (
            [talk(1), [*talk(1, "You sell."), say("assistant", "[x]"), say("user", "y")]],
            {"accept": [{"cause": "date", "reason": "a, b = c"}], "block_size": 4, "fail_on": ["history", "tail"]},
        ),
        (["one two three", "one two four five"], {}),
        ([[1, 2, 3], [1, 2, 4, 5]], {}),
    ],
    ids=["clock", "agent", "model", "options", "texts", "ids"],
)
def test_the_reproduce_line_is_true(chat: Any, options: Any, failing: Any) -> None:
    out, run = failing(chat, **options)
    words = reproduce(out)
    done = run("pytest_cachesafe", *words)
    assert done.returncode == 1, done.stdout + done.stderr
    first = next(line for line in out.splitlines() if "prompt prefix is not stable" in line)
    said = first.partition("prompt prefix is not stable")[2].partition(": ")[2].partition(" [")[0]
    assert said in done.stdout
    data = json.loads(run("pytest_cachesafe", *words, "--output-format", "json").stdout)
    kept = {k: v for k, v in options.items() if k in ("block_size",)}
    expected = check_prefix_stable(chat, **kept).as_dict()
    for key in ("verdict", "first_step", "worst_step", "lost_tokens", "lost_blocks", "cause", "origin", "location"):
        assert data[key] == expected[key], key


def test_the_reproduce_line_names_the_template(failing: Any, tmp_path: Path) -> None:
    (tmp_path / "my small.jinja").write_text(SMALL, encoding="utf-8")
    out, run = failing(clocks(2), template="my small.jinja")
    words = reproduce(out)
    assert words[-2:] == ["--template", "my small.jinja"]
    assert run("pytest_cachesafe", *words).returncode == 1


@pytest.mark.parametrize("mode", ["text", "hash"])
def test_a_redacted_run_writes_no_prompt_text_anywhere(mode: str, failing: Any, tmp_path: Path) -> None:
    chat = [secret_chat(" one"), [*secret_chat(" two"), say("assistant", "x"), say("user", "y")]]
    out, _ = failing(chat, f"--cachesafe-redact={mode}", "-vv")
    assert "reproduce:" not in out
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.name not in ("given.json",) and path.suffix != ".pyc":
            assert b"xylophone" not in path.read_bytes(), path
    assert "xylophone" not in out
