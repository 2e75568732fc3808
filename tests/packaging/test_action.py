"""`action.yml`: its steps are run as GitHub runs them, in the example that shows it; what they name exists."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="comes with transformers")

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "ci_gate"
bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def load(path: Path) -> Any:
    # YAML 1.1 reads the key `on` as true; nothing here looks at it.
    return yaml.safe_load(path.read_text(encoding="utf-8"))


ACTION = load(ROOT / "action.yml")


class Job:
    """A job that uses the action: evaluates what its expressions use, runs its steps in order."""

    def __init__(self, folder: Path, **inputs: str) -> None:
        self.folder = folder
        self.inputs = {name: spec["default"] for name, spec in ACTION["inputs"].items()} | inputs
        self.steps: dict[str, dict[str, str]] = {}
        self.summary = ""

    def value(self, text: str) -> str:
        def one(match: re.Match[str]) -> str:
            scope, *rest = match[1].strip().split(".")
            if scope == "inputs":
                return self.inputs[".".join(rest)]
            if scope == "github":
                assert rest == ["action_path"]
                return str(ROOT)
            assert (scope, rest[1]) == ("steps", "outputs"), match[0]
            return self.steps.get(rest[0], {}).get(rest[2], "")

        return re.sub(r"\$\{\{(.*?)\}\}", one, text)

    def wanted(self, condition: str | None) -> bool:
        if condition is None:
            return True
        match = re.fullmatch(r"inputs\.([\w-]+) != '(.*)'", condition)
        assert match, condition
        return self.inputs[match[1]] != match[2]

    def run(self, tmp_path: Path) -> list[subprocess.CompletedProcess[str]]:
        done = []
        # `python` is the one that runs the tests.
        tools = tmp_path / "bin"
        tools.mkdir(exist_ok=True)
        python = tools / "python"
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
        python.chmod(0o755)
        for number, step in enumerate(ACTION["runs"]["steps"]):
            if not self.wanted(step.get("if")):
                continue
            assert step["shell"] == "bash"
            output, summary = tmp_path / f"output-{number}", tmp_path / "summary.md"
            output.touch()
            summary.touch()
            environment = {
                **os.environ, **{key: self.value(text) for key, text in step.get("env", {}).items()},
                "PATH": os.pathsep.join([str(tools), os.environ["PATH"]]), "CI": "true", "GITHUB_ACTIONS": "true",
                "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary), "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "rules")]), "PYTHONUTF8": "1",
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "pytest_cachesafe.plugin",
            }  # fmt: skip
            for name in ("PYTEST_ADDOPTS", "GITHUB_BASE_REF"):
                environment.pop(name, None)
            done.append(
                subprocess.run(
                    ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                    cwd=self.folder / self.value(step.get("working-directory", ".")),
                    env=environment, capture_output=True, encoding="utf-8", timeout=120, check=False,
                )
            )  # fmt: skip
            lines = output.read_text(encoding="utf-8").splitlines()
            self.steps[step.get("id", str(number))] = dict(line.split("=", 1) for line in lines)
            self.summary = summary.read_text(encoding="utf-8")
        return done


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with the example in a folder of it."""
    shutil.copytree(EXAMPLE, tmp_path / "checkout" / "bot", ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
    return tmp_path / "checkout"


@bash
def test_a_clean_change_passes(checkout: Path, tmp_path: Path) -> None:
    job = Job(checkout, **{"install": "none", "working-directory": "bot", "lint-paths": "triage.py"})
    lint, test, result = job.run(tmp_path)
    assert lint.returncode == test.returncode == 0, lint.stderr + test.stdout
    assert result.returncode == 0
    assert result.stdout == "cachesafe lint: exit 0; pytest: exit 0\n"
    for key in ("lint-sarif", "test-sarif"):
        file = checkout / job.value(ACTION["outputs"][key]["value"])
        assert json.loads(file.read_text(encoding="utf-8"))["version"] == "2.1.0"
    folder = checkout / job.value(ACTION["outputs"]["reports"]["value"])
    assert sorted(file.name for file in folder.iterdir()) == ["lint.sarif", "report.html", "report.md", "tests.sarif"]
    assert "six logs" in job.summary


@bash
def test_a_worse_prompt_fails_with_annotation_summary_and_reports(checkout: Path, tmp_path: Path) -> None:
    shutil.copy(checkout / "bot" / "before" / "triage.py", checkout / "bot" / "triage.py")
    job = Job(checkout, **{"install": "none", "working-directory": "bot", "lint-paths": "triage.py"})
    _, test, result = job.run(tmp_path)
    # The step itself goes on, so that the reports are there when the job fails.
    assert test.returncode == 0
    assert "cache regression in six logs" in test.stdout
    assert re.search(
        r"^::error .*file=bot/tests/test_triage\.py|^::error .*file=tests/test_triage\.py", test.stdout, re.M
    )
    assert result.returncode == 1
    assert "pytest: exit 1" in result.stdout
    assert "1 regression" in job.summary


@bash
def test_parts_can_be_left_out(checkout: Path, tmp_path: Path) -> None:
    job = Job(checkout, **{"install": "none", "working-directory": "bot", "lint-paths": "none"})
    _, result = job.run(tmp_path)
    assert result.stdout == "cachesafe lint: exit left out; pytest: exit 0\n"
    assert result.returncode == 0


@bash
def test_inputs_are_no_script(checkout: Path, tmp_path: Path) -> None:
    words = '"; touch pwned; echo "$(touch pwned)`touch pwned`'
    job = Job(checkout, **{"install": "none", "working-directory": "bot", "lint-paths": words, "pytest-args": words})
    *_, result = job.run(tmp_path)
    assert result.returncode == 1
    assert not list(tmp_path.rglob("pwned"))


def test_no_input_is_pasted_into_a_script() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]


def test_it_installs_this_very_version() -> None:
    install = ACTION["runs"]["steps"][0]
    assert Job(ROOT, install="[render]").value(install["env"]["PACKAGE"]) == f"{ROOT}[render]"
    assert (ROOT / "pyproject.toml").is_file()


def test_the_workflow_uses_what_the_action_has() -> None:
    (job,) = load(EXAMPLE / ".github" / "workflows" / "cachesafe.yml")["jobs"].values()
    (uses,) = [step for step in job["steps"] if "OWNER" in step.get("uses", "")]
    assert uses["with"].keys() <= ACTION["inputs"].keys()
    named = re.findall(rf"steps\.{uses['id']}\.outputs\.([\w-]+)", json.dumps(job))
    assert set(named) == set(ACTION["outputs"])
