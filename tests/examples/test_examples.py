"""Each example project passes as it is, and each of its broken versions fails with its place and cause."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
PYTEST = ("-m", "pytest", "-p", "pytest_cachesafe.plugin", "-q", "--color=no")

# Makes extras unimportable, as on a machine that has the base dependencies alone.
BASE_ONLY = """
import sys


EXTRAS = ("accelerate", "gguf", "huggingface_hub", "numpy", "time_machine", "tokenizers", "torch", "transformers")


class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Refuse())
"""


def run_both(run: Run, folder: Path, *flags: str, passed: int, failed: int) -> subprocess.CompletedProcess[str]:
    """Run `tests` and `broken` of an example in one process: the former pass, the latter fail."""
    done = run(folder, *PYTEST, *flags, "tests", "broken")
    assert f"{failed} failed, {passed} passed in " in done.stdout.splitlines()[-1], done.stdout
    names = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("FAILED ")]
    assert len(names) == failed
    assert all(name.startswith("broken/") for name in names)
    return done


def failures(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What each failed test said, with its indentation."""
    lines = [line[1:].removeprefix("       ") for line in done.stdout.splitlines() if line.startswith("E ")]
    texts: list[str] = []
    for line in lines:
        if line.startswith(("prompt prefix is not stable", "vLLM does not reuse enough")):
            texts.append(line)
        elif texts:
            texts[-1] += "\n" + line
    return texts


def test_hosted_wire_needs_the_base_dependencies_alone(project_copy: Path, run: Run) -> None:
    folder = project_copy / "examples" / "hosted_wire"
    (folder / "base_only.py").write_text(BASE_ONLY, encoding="utf-8")

    broken = run_both(run, folder, "-p", "base_only", passed=5, failed=3)
    order, clock, edit = failures(broken)
    assert "the same items come in another order in the tools at tools[0]" in order
    assert "cause:  order (application)" in order
    assert "a time of day changed in the system text at system[0].text" in clock
    assert "cause:  timestamp (application)" in clock
    assert "a message that had been sent was changed in message 2 (user) at messages[2].content[0].content" in edit
    assert "cause:  edited_history (application)" in edit
    assert all("token counts are estimates" in text for text in (order, clock, edit))


@pytest.mark.usefixtures("smollm2_tokenizer_dir")
def test_quickstart(project_copy: Path, run: Run) -> None:
    folder = project_copy / "examples" / "quickstart"
    # In sum -vv: no cap on width, whatever the length of this folder's name.
    broken = run_both(run, folder, "-vvv", passed=1, failed=1)
    (text,) = failures(broken)
    assert "does not continue request 2 under clock: a time of day changed in the system text" in text
    assert "chat template of HuggingFaceTB/SmolLM2-135M-Instruct" in text
    assert "city_guide.py:" in text
    assert "in ClockInSystemText.ask: datetime.now" in text


@pytest.mark.usefixtures("smollm2_tokenizer_dir")
def test_rag_order(project_copy: Path, run: Run) -> None:
    folder = project_copy / "examples" / "rag_order"
    broken = run_both(run, folder, passed=1, failed=2)
    toggled, searched = failures(broken)
    assert "order of passages: another order keeps" in toggled
    assert "expected 'keeps'" in toggled
    assert "the same items come in another order in the system text" in searched
    assert "cause:  order (application)" in searched


@pytest.mark.usefixtures("smollm2_tokenizer_dir")
def test_engine_sizing(project_copy: Path, run: Run) -> None:
    folder = project_copy / "examples" / "engine_sizing"
    broken = run_both(run, folder, passed=4, failed=2)
    salted, evicted = failures(broken)
    assert "request 1 finds 0 of 205 tokens (0%), min_cached is 80%: 192 tokens stored under another salt" in salted
    assert "request 2 finds 96 of the 205 tokens of request 0: 96 tokens evicted for lack of room" in evicted

    source = "import json, desk\nfor request in desk.afternoon():\n    print(json.dumps(request))"
    (folder / "requests.jsonl").write_text(run(folder, "-c", source).stdout, encoding="utf-8")
    simulate = ("-m", "pytest_cachesafe", "simulate", "requests.jsonl", "--sweep", "blocks=40,80,120")
    done = run(folder, *simulate, "--model", "HuggingFaceTB/SmolLM2-135M-Instruct")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("vLLM reuses 89.7% of prompt tokens: 11,520 of 12,844 in 48 requests")
    assert "from 80 blocks on nothing more is gained" in done.stdout


def test_semantic_support(project_copy: Path, run: Run) -> None:
    pytest.importorskip("sentence_transformers", reason='pip install "pytest-cachesafe[semantic]"')
    folder = project_copy / "examples" / "semantic_support"
    broken = run_both(run, folder, passed=5, failed=3)
    assert broken.stdout.count("3 collisions among 14 prompts") >= 2
    assert "cache keys: " in broken.stdout


@pytest.mark.usefixtures("qwen3_dir")
def test_agent_tools(project_copy: Path, run: Run) -> None:
    folder = project_copy / "examples" / "agent_tools"
    broken = run_both(run, folder, passed=4, failed=2)
    template, edit = failures(broken)
    assert "reasoning of an earlier turn is no longer there in message 2 (assistant), the template's doing" in template
    assert "cause:  reasoning_dropped (template)" in template
    assert "a message that had been sent was changed in message 3 (tool) at messages[3].content" in edit
    assert "accepted 2 times, at most 981 tokens: cause=reasoning_dropped" in edit


def test_lint_demo(project_copy: Path, run: Run, tmp_path: Path) -> None:
    folder = project_copy / "examples" / "lint_demo"
    broken = run_both(run, folder, "-vvv", passed=1, failed=2)
    moved, ordered = failures(broken)
    assert "cause:  history_shifted (application)" in moved
    assert "cause:  timestamp (application)" in moved
    assert "cause:  order (application)" in ordered
    assert "in the tools at tools[0]" in ordered

    lint = ("-m", "pytest_cachesafe", "lint", "--no-cache")
    before = run(folder, *lint, "before", "--output-format", "json", "-q")
    assert before.returncode == 1
    found = json.loads(before.stdout)
    # In a clone the project is the whole repository, and the example a folder of it.
    cloned = tmp_path / "clone"
    shutil.copytree(project_copy, cloned)
    subprocess.run(["git", "init", "-q", cloned], check=True)
    inside = run(cloned / "examples" / "lint_demo", *lint, "before", "--output-format", "json", "-q")
    assert [f["code"] for f in json.loads(inside.stdout)] == [f["code"] for f in found]
    assert {finding["code"] for finding in found} >= {"CSF101", "CSF201", "CSF204", "CSF303"}
    clocks = [finding for finding in found if finding["code"] == "CSF101"]
    assert {finding["filename"] for finding in clocks} == {"before/desk.py", "before/router.py"}
    assert any(step["filename"] == "before/context.py" for finding in clocks for step in finding["flow"])

    after = run(folder, *lint, "after")
    assert (after.returncode, after.stdout.strip()) == (0, "cachesafe: no findings in 3 files")

    # What its README says of router.py.
    shutil.copytree(folder / "before", tmp_path / "mended")
    run(tmp_path, *lint, "mended", "--fix", "--unsafe-fixes")
    mended = (tmp_path / "mended" / "router.py").read_text(encoding="utf-8")
    written = (folder / "after" / "router.py").read_text(encoding="utf-8")
    assert mended.partition("def ")[2] == written.partition("def ")[2]


@pytest.mark.usefixtures("smollm2_tokenizer_dir")
def test_demo(project_copy: Path, run: Run) -> None:
    # Three of them: each project has its own test.
    done = run(project_copy, "examples/demo.py", "quickstart", "hosted_wire", "lint_demo")
    assert done.returncode == 0, done.stdout
    assert "| prompt prefix is not stable: request 3 does not continue request 2 under clock" in done.stdout
    assert "| 1 passed: every request begins with all of the one before it" in done.stdout
    assert "left out" not in done.stdout
    assert sum(" caught" in line and " passed, " in line for line in done.stdout.splitlines()) == 3
    assert "|     before/context.py:10: datetime.now() is read here" in done.stdout
    assert "| cachesafe: no findings in 3 files" in done.stdout


def test_demo_says_when_the_linter_is_silent(project_copy: Path, run: Run) -> None:
    context = project_copy / "examples" / "lint_demo" / "before" / "context.py"
    context.write_text('def moment() -> str:\n    return "noon"\n', encoding="utf-8")
    done = run(project_copy, "examples/demo.py", "lint_demo")
    assert done.returncode == 1
    assert "the linter found otherwise than it should in examples/lint_demo" in done.stdout


def test_demo_says_when_a_break_is_not_caught(project_copy: Path, run: Run) -> None:
    broken = project_copy / "examples" / "hosted_wire" / "broken" / "test_before.py"
    text = broken.read_text(encoding="utf-8")
    broken.write_text(text.replace("assert_prefix_stable(list", "print(list"), encoding="utf-8")

    done = run(project_copy, "examples/demo.py", "hosted_wire")

    assert done.returncode == 1
    assert (
        "hosted_wire came out otherwise than it should (test_requests_continue_each_other[LatestToolFirst]"
        in done.stdout
    )
