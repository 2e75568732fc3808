"""A project is the same project, whichever of its files or folders a run is asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_cachesafe.findings import Finding
from pytest_cachesafe.lint.options import LintOptions
from pytest_cachesafe.lint.run import lint, run_lint

HELPER = """from datetime import datetime


def stamp():
    return datetime.now().isoformat()
"""
AGENT = """from shared.clock import stamp


def ask(client):
    return client.messages.create(model="m", max_tokens=9, system=f"It is {stamp()}.", messages=[])
"""
FILES = {
    "libs/shared/pyproject.toml": "[project]\nname = 'shared'\n",
    "libs/shared/shared/clock.py": HELPER,
    "apps/bot/pyproject.toml": "[project]\nname = 'bot'\n",
    "apps/bot/bot/agent.py": AGENT,
}
NAMES = [name for name in FILES if name.endswith(".py")]


@pytest.fixture
def monorepo(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    write(root, FILES)
    (root / ".git").mkdir()
    return root


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def facts(findings: list[Finding]) -> set[tuple[object, ...]]:
    return {(f.code, f.data["fingerprint"], f.message.rpartition(": ")[2]) for f in findings}


def run(path: Path, **options: object) -> list[Finding]:
    return run_lint(LintOptions((str(path),), cache=False, **options)).result.findings  # type: ignore[arg-type]


@pytest.mark.parametrize("marker", [".git", "pyproject.toml"])
def test_a_flow_over_packages_is_seen_from_each_of_its_files(monorepo: Path, marker: str) -> None:
    if marker != ".git":
        (monorepo / ".git").rmdir()
        (monorepo / marker).write_text("")
    whole = lint([monorepo], cache=False).findings
    assert [f.code for f in whole] == ["CSF101"]
    for path in [*NAMES, "apps/bot", "libs"]:
        found = lint([monorepo / path], cache=False).findings
        assert facts(found) == facts(whole), path
        for finding in found:
            assert os.path.realpath(finding.location.filename or "").startswith(str(monorepo / path))


def test_a_baseline_of_the_whole_holds_for_each_file(monorepo: Path) -> None:
    baseline = monorepo / "lint.json"
    assert run_lint(LintOptions((str(monorepo),), cache=False, write_baseline=str(baseline))).written == 1
    for path in ["", "apps", *NAMES]:
        result = run_lint(LintOptions((str(monorepo / path),), cache=False, baseline=str(baseline))).result
        assert not result.findings, path
        assert result.stale == 0
        assert result.baselined == 1


def test_the_nearest_table_of_each_file_counts(monorepo: Path) -> None:
    write(monorepo, {"apps/bot/pyproject.toml": '[tool.cachesafe]\nignore = ["CSF101"]\n'})
    assert run(monorepo) == []
    assert run(monorepo / NAMES[1]) == []
    write(monorepo, {"pyproject.toml": '[tool.cachesafe]\nignore = ["CSF1"]\n',
                     "apps/bot/pyproject.toml": "[tool.cachesafe]\n"})  # fmt: skip
    assert [f.code for f in run(monorepo)] == [f.code for f in run(monorepo / NAMES[1])] == ["CSF101"]


def test_a_baseline_of_a_package_holds_for_its_own_files(monorepo: Path) -> None:
    write(monorepo, {"apps/bot/pyproject.toml": '[tool.cachesafe]\nbaseline = "known.json"\n'})
    written = run_lint(LintOptions((str(monorepo),), cache=False, write_baseline=""))
    assert written.written == 1
    assert (monorepo / "apps/bot/known.json").is_file()
    assert run(monorepo) == []
    assert run(monorepo / NAMES[1]) == []


def test_tests_are_asked_for_package_by_package(monorepo: Path) -> None:
    prompt = 'from datetime import datetime\nSYSTEM_PROMPT = f"It is {datetime.now()}."\n'
    write(monorepo, {"apps/bot/tests/test_a.py": prompt, "libs/shared/tests/test_b.py": prompt,
                     "libs/shared/pyproject.toml": "[tool.cachesafe]\ntests = true\n"})  # fmt: skip
    found = {os.path.basename(f.location.filename or "") for f in run(monorepo) if f.code == "CSF102"}
    assert found == {"test_b.py"}
    assert [f.code for f in run(monorepo / "libs/shared/tests/test_b.py")] == ["CSF102"]


def test_names_that_a_package_adds_hold_from_wherever_it_is_seen(monorepo: Path) -> None:
    code = 'import house\nSYSTEM_PROMPT = f"You serve {house.tenant()}."\n'
    table = '[tool.cachesafe]\nsources = {"house.tenant" = "user"}\n'
    write(monorepo, {"apps/bot/pyproject.toml": table, "apps/bot/bot/more.py": code})
    one = run(monorepo / "apps/bot/bot/more.py")
    assert [f.code for f in one] == ["CSF105"]
    assert facts(one) <= facts(run(monorepo))


def test_standard_input_belongs_to_the_same_project(monorepo: Path) -> None:
    options = LintOptions(cache=False, stdin=AGENT.encode(), stdin_filename=str(monorepo / "apps/bot/bot/fresh.py"))
    assert [f.code for f in run_lint(options).result.findings] == ["CSF101"]
