"""README.md says what is true: its Python runs, its commands print what it shows, its tables are complete.

In a console block, lines behind `$` are run and the lines below them must come in that order; `…` stands for anything.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pytest_cachesafe
from pytest_cachesafe.cli import _COMMANDS as COMMANDS
from pytest_cachesafe.cli import _parse
from pytest_cachesafe.commands.lint import add as add_lint
from pytest_cachesafe.configuration import LINT_KEYS
from pytest_cachesafe.gate.expression import DEFAULT, METRICS
from pytest_cachesafe.lint.settings import load_settings
from pytest_cachesafe.options import OPTIONS
from pytest_cachesafe.prefix.causes import CAUSES

Run = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTEST = ("-m", "pytest", "-p", "pytest_cachesafe.plugin", "--color=no")
SDKS = "needs the anthropic and openai SDKs: pip install 'pytest-cachesafe[providers]'"


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def block_with(text: str, language: str = "python") -> str:
    """The one block that holds a text."""
    (found,) = (block for block in blocks(language) if text in block)
    return found


def rows(heading: str) -> str:
    """A section of the README."""
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found, f"README has no section {heading}"
    return found[1]


def steps(block: str) -> Iterator[tuple[str, list[str]]]:
    """Commands of a console block, each with the lines shown below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *shown = part.rstrip("\n").split("\n")
        yield command, [line for line in shown if line.strip()]


def first_absent(shown: list[str], output: list[str]) -> str | None:
    """The first shown line that does not come, in its place, in the output."""
    rest = iter(output)
    for line in shown:
        pattern = re.compile(".*".join(map(re.escape, line.rstrip().split("…"))))
        if not any(pattern.fullmatch(candidate) for candidate in rest):
            return line
    return None


def arguments(command: str) -> tuple[str, ...]:
    """A shown command as arguments of the Python that runs the tests."""
    name, *rest = shlex.split(command)
    if name == "cachesafe":
        return ("-m", "pytest_cachesafe", *rest)
    assert name == "pytest", f"README shows a command that this test cannot run: {command}"
    # No caps: how much of a line is shown must not depend on the length of a temporary folder's name.
    return (*PYTEST, "-vv", *rest)


@pytest.mark.usefixtures("smollm2_tokenizer_dir", "qwen3_dir")
@pytest.mark.parametrize("number", range(len(blocks("console"))))
def test_commands_print_what_is_shown(number: int, project_copy: Path, run: Run) -> None:
    if "provider_traffic" in blocks("console")[number] and "observe" in blocks("console")[number]:
        pytest.importorskip("anthropic", reason=SDKS)
    folder, status, count = project_copy, 0, 0
    for command, shown in steps(blocks("console")[number]):
        if command.startswith("cd "):
            folder = folder / command.removeprefix("cd ")
            assert folder.is_dir(), f"block {number}: {command}"
            continue
        if command == "echo $?":
            assert shown == [str(status)], f"status of the command before in block {number}"
            continue
        done = run(folder, *arguments(command))
        status = done.returncode
        # pytest puts a mark and spaces before what a failed assertion says.
        output = [re.sub(r"^E       ", "", line).rstrip() for line in done.stdout.splitlines()]
        assert first_absent(shown, output) is None, done.stdout
        count += 1
    assert count, f"console block {number} runs nothing"


@pytest.mark.usefixtures("smollm2_tokenizer_dir")
def test_python_runs(tmp_path: Path, run: Run) -> None:
    pytest.importorskip("anthropic", reason=SDKS)
    pytest.importorskip("openai", reason=SDKS)
    sources = blocks("python")
    for number, source in enumerate(sources):
        assert "def test_" in source, f"Python block {number} tests nothing"
        (tmp_path / f"test_readme_{number}.py").write_text(source, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\nfilterwarnings = error\n", encoding="utf-8")

    done = run(tmp_path, *PYTEST, "-p", "pytest_asyncio.plugin", "-W", "ignore::pytest.PytestDeprecationWarning")

    assert done.returncode == 0, done.stdout
    tests = sum(source.count("def test_") for source in sources)
    assert f" {tests} passed in " in done.stdout


def test_first_test_catches_a_clock(tmp_path: Path, run: Run) -> None:
    clock = '"system": f"It is {datetime.now():%H:%M}."'
    source = "from datetime import datetime\n" + block_with("build_request").replace('"system": SYSTEM', clock)
    assert clock in source
    (tmp_path / "test_with_clock.py").write_text(source, encoding="utf-8")

    moved = run(tmp_path, *PYTEST, "-vv")
    assert moved.returncode == 1, moved.stdout
    assert "under clock: a time of day changed in the system text" in moved.stdout

    # What the README says of the same test without it.
    (tmp_path / "test_with_clock.py").write_text(source.replace(', under=["clock"]', ""), encoding="utf-8")
    unmoved = run(tmp_path, *PYTEST, "-vv")
    assert unmoved.returncode == 0, unmoved.stdout
    row = 1 + next(number for number, line in enumerate(source.splitlines()) if clock in line)
    assert re.search(rf"CachesafeWarning: the system text holds a time.* .*test_with_clock\.py:{row} ", unmoved.stdout)


def tables() -> list[str]:
    """The TOML blocks, also those inside lists."""
    return [textwrap.dedent(t) for t in re.findall(r"^ *```toml\n(.*?)^ *```$", README, re.MULTILINE | re.DOTALL)]


def test_acceptance_in_the_configuration_is_one(tmp_path: Path) -> None:
    from pytest_cachesafe.prefix.accept import project_acceptances

    (table,) = [table for table in tables() if "accept" in table]
    (tmp_path / "pyproject.toml").write_text(table, encoding="utf-8")
    (accept,) = project_acceptances(tmp_path)
    assert accept.cause == "reasoning_dropped"
    assert accept.max_lost_tokens == 1500


def test_tables_are_complete() -> None:
    causes = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", rows("Causes"), re.MULTILINE))))
    assert causes == set(CAUSES)

    options = rows("Options")
    flags = set(re.findall(r"`(--cachesafe-[\w-]+)`", options))
    assert flags == {option.spelling for option in OPTIONS if option.flag}
    assert set(re.findall(r"`(cachesafe_\w+)`", options)) == {option.dest for option in OPTIONS if option.flag}
    markers = set(re.findall(r"\| `(\w+)(?:=.*?)?` \| [^|]*\|$", options, re.MULTILINE))
    assert markers == {option.name for option in OPTIONS if option.marker}

    api = rows("The API")
    assert [name for name in pytest_cachesafe.__all__ if name != "__version__" and f"`{name}" not in api] == []


def test_commands_are_complete() -> None:
    shown = re.findall(
        r"`cachesafe ([a-z]+)", "".join(re.findall(r"^\| (`cachesafe .*?) \|", rows("Command line"), re.MULTILINE))
    )
    assert sorted(shown) == sorted(COMMANDS)


def test_the_lock_files_life_runs(project_copy: Path, run: Run) -> None:
    folder = project_copy / "examples" / "ci_gate"
    # Of the project that the block speaks of.
    (folder / "tests" / "test_a.py").write_text("def test_nothing():\n    pass\n", encoding="utf-8")
    lines = [line for line in block_with("new-only", "sh").splitlines() if line.startswith("pytest ")]
    assert len(lines) == 3
    for line in lines:
        done = run(folder, *PYTEST, *shlex.split(line, comments=True)[1:], CI="false")
        assert done.returncode == 0, done.stdout
        assert "cachesafe.lock.jsonl" in done.stdout


@pytest.mark.parametrize(
    "line", [line for block in blocks("sh") for line in block.splitlines() if line.startswith("cachesafe ")]
)
def test_commands_of_shell_blocks_are_understood(line: str) -> None:
    _parse(shlex.split(line, comments=True)[1:])


@pytest.mark.parametrize(
    ("flags", "status"), [(("--cachesafe-update",), 4), (("--cachesafe-report=html:no/x.html",), 4)]
)
def test_exit_status_of_pytest(flags: tuple[str, ...], status: int, project_copy: Path, run: Run) -> None:
    assert run(project_copy / "examples" / "ci_gate", *PYTEST, *flags, CI="true").returncode == status


@pytest.mark.parametrize(("old", "new", "status"), [("two logs", "gone", 1), ('{"test"', "<<<<<<< {", 4)])
def test_exit_status_by_the_lock_file(old: str, new: str, status: int, project_copy: Path, run: Run) -> None:
    folder = project_copy / "examples" / "ci_gate"
    lock = folder / "cachesafe.lock.jsonl"
    lock.write_text(lock.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    assert run(folder, *PYTEST, CI="true").returncode == status


def test_what_fails_is_complete() -> None:
    section = rows("The gate")
    shown = re.findall(r"^\| `([a-z]+)[`:]", section, re.MULTILINE)
    assert [name for name in METRICS if name not in shown] == []
    assert f"Default: `{DEFAULT}`" in section


def test_gate_options_are_some() -> None:
    (table,) = [table for table in tables() if "[tool.pytest.ini_options]" in table]
    given = dict(re.findall(r"^(cachesafe_\w+) = \"?(.*?)\"?$", table, re.MULTILINE))
    known = {option.dest: option for option in OPTIONS}
    parsed = {known[name].name: known[name].parse(value) for name, value in given.items()}
    assert parsed.keys() == {"gate", "compare_fail", "prefix_change", "min_cached_share"}
    assert parsed["min_cached_share"] == 0.8


def test_provider_rules_in_the_configuration_are_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_cachesafe.providers.rules.load import load_rules

    (table,) = [table for table in tables() if "[tool.cachesafe.providers" in table]
    (tmp_path / "pyproject.toml").write_text(table, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    rules = load_rules()
    mine = rules.model("openai", "my-deployment")
    assert mine is not None
    assert mine.prices == getattr(rules.model("openai", "gpt-5.6-sol"), "prices", None)
    theirs = rules.model("anthropic", "claude-sonnet-4-6")
    assert theirs is not None
    assert theirs.minimum is not None
    assert theirs.minimum.value == 2048


def test_the_action_has_what_the_workflow_gives_it() -> None:
    yaml = pytest.importorskip("yaml", reason="comes with transformers")
    steps_shown = yaml.safe_load(block_with("actions/checkout", "yaml"))
    inputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    (uses,) = [step for step in steps_shown if "OWNER" in step.get("uses", "")]
    assert uses["with"].keys() <= inputs.keys()


def test_links_lead_somewhere() -> None:
    heads = re.findall(
        r"^#{2,3} (.*)$", re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    anchors = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
    links = re.findall(r"\]\(([^)\s]+)\)", README)
    assert [link for link in links if link.startswith("#") and link[1:] not in anchors] == []
    files = [link.partition("#")[0] for link in links if not link.startswith(("#", "http"))]
    assert [file for file in files if not (ROOT / file).exists()] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_pages_hold_no_code_that_nobody_runs(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"^```(\w+)$", text, re.MULTILINE)) <= {"text"}
    links = re.findall(r"\]\(([^)#\s]+)\)", text)
    assert [link for link in links if not link.startswith("http") and not (page.parent / link).exists()] == []


def test_lint_configuration_is_one(tmp_path: Path) -> None:
    (table,) = [table for table in tables() if "extend-exclude" in table]
    (tmp_path / "pyproject.toml").write_text(table, encoding="utf-8")
    settings = load_settings(tmp_path)
    assert settings.ignore == ("CSF106",)
    assert settings.ignored_in("src/demo/one.py") == {"CSF103"}
    assert settings.sources == {"shop.clock.local_time": "clock:minute"}


def test_word_tables_in_the_configuration_are_some(tmp_path: Path) -> None:
    from pytest_cachesafe.semantic.detect import Detector
    from pytest_cachesafe.semantic.tables.config import read_tables

    (table,) = [table for table in tables() if "[tool.cachesafe.semantic]" in table]
    (tmp_path / "pyproject.toml").write_text(table, encoding="utf-8")
    detector = Detector(read_tables(str(tmp_path / "pyproject.toml")))
    assert detector.compare("Rotate keys in sandbox", "Rotate keys in production").kind == "antonym"
    assert detector.compare("Set up Falcon", "Set up Heron").kind == "entity"
    assert detector.compare("Where is my parcel?", "Kindly, where is my shipment?").different_answer == "none"
    assert detector.compare("Is 1 pallet enough?", "Are 2 crates enough?").different_answer == "none"
    assert detector.compare("Is 1 pallet enough?", "Are 2 pallets enough?").kind == "number"


LINT = "Lint: the same mistakes, found in source"


def test_lint_tables_are_complete() -> None:
    section = rows(LINT)
    commands, keys = re.findall(r"^\| [a-z]+ \|.*?\n((?:\|.*\n)+)", section, re.MULTILINE)
    named = re.findall(r"^\| (`.*?) \|", keys, re.MULTILINE)
    assert sorted(re.findall(r"`([\w-]+)`", " ".join(named))) == sorted(LINT_KEYS)

    parser = argparse.ArgumentParser()
    add_lint(parser)
    (formats,) = (action.choices for action in parser._actions if action.dest == "output_format")
    (shown,) = re.findall(r"`--output-format FORMAT` \| (.*?) \|", commands)
    assert [*re.findall(r"`(\w+)`", shown)] == [name for name in formats or () if name != "text"]
    # Left to `--help`: options of every command, and those that say nothing of the source.
    common = {"--help", "--quiet", "--output-file", "--strict", "--jobs", "--no-cache", "--exit-zero", "--all"}
    options = {name for action in parser._actions for name in action.option_strings if name.startswith("--")}
    assert set(re.findall(r"(--[a-z][a-z-]+)", commands)) - common == options - common


def test_hook_is_one() -> None:
    yaml = pytest.importorskip("yaml", reason="comes with transformers")
    shown = block_with("repos:", "yaml")
    ids = {hook["id"] for repo in yaml.safe_load(shown)["repos"] for hook in repo["hooks"]}
    offered = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    assert ids < offered
    assert all(name in shown for name in offered)


@pytest.mark.parametrize("comment", re.findall(r"`(# (?:cachesafe|noqa): ?[\w-]*.*?)`", rows(LINT)))
def test_suppressions_silence(comment: str, tmp_path: Path, run: Run) -> None:
    value = "platform.node()" if "CSF106" in comment else "datetime.now()"
    head, tail = (f"{comment}\n", "") if "ignore-file" in comment else ("", f"  {comment}")
    source = f'{head}import platform\nfrom datetime import datetime\n\nSYSTEM = "On {{}}."\n\n\ndef build(question):\n'
    source += f'    return [{{"role": "system", "content": SYSTEM.format({value})}}, question]'
    lint = ("-m", "pytest_cachesafe", "lint", "--no-cache", "prompt.py")
    (tmp_path / "prompt.py").write_text(source.removeprefix(head) + "\n", encoding="utf-8")
    assert re.search(r"prompt\.py:\d+:\d+: CSF10[16] ", run(tmp_path, *lint).stdout)
    (tmp_path / "prompt.py").write_text(source + tail + "\n", encoding="utf-8")
    assert run(tmp_path, *lint).stdout.strip() == "cachesafe: no findings in 1 file (1 suppressed)"


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^make ([\w-]+)", "".join(blocks("sh")), re.MULTILINE))
    assert targets >= {"demo", "test"}
    assert [name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []


def test_a_command_that_prints_something_else_is_noticed() -> None:
    output = ["first", "second 12 tokens", "third"]
    assert first_absent(["first", "second … tokens", "third"], output) is None
    assert first_absent(["second 13 tokens"], output) == "second 13 tokens"
    assert first_absent(["third", "first"], output) == "first"
