"""The wheel: both packages, their type marker, the entry points and the licence; nothing else at top level."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_top_level(wheel: zipfile.ZipFile) -> None:
    top = {name.partition("/")[0] for name in wheel.namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"pytest_cachesafe", "cachesafe_rules"}


def test_every_module_is_in_it(wheel: zipfile.ZipFile) -> None:
    sources = {
        file.relative_to(base).as_posix()
        for base, package in ((ROOT, "pytest_cachesafe"), (ROOT / "rules", "cachesafe_rules"))
        for file in (base / package).rglob("*")
        if file.is_file() and file.suffix != ".pyc"
    }
    assert sources <= set(wheel.namelist())
    assert {"pytest_cachesafe/py.typed", "cachesafe_rules/py.typed"} <= sources


def test_editable_install_sees_both_packages(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel:editable", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (path,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(path) as editable:
        (name,) = (name for name in editable.namelist() if name.endswith(".pth"))
        folders = editable.read(name).decode().splitlines()
    assert [Path(folder) for folder in folders] == [ROOT, ROOT / "rules"]


def test_hooks_call_what_is_installed(wheel: zipfile.ZipFile) -> None:
    yaml = pytest.importorskip("yaml", reason="comes with transformers")
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["id"] for hook in hooks] == ["cachesafe-lint", "cachesafe-lint-fix"]
    (name,) = (name for name in wheel.namelist() if name.endswith("/entry_points.txt"))
    for hook in hooks:
        script, command, *_ = hook["entry"].split()
        assert f"{script} = pytest_cachesafe.cli:main" in wheel.read(name).decode()
        assert command == "lint"
        # File names are cut into several calls otherwise, and each would index the project.
        assert hook["require_serial"] is True


def test_entry_points_and_licence(wheel: zipfile.ZipFile) -> None:
    (info,) = {name.partition("/")[0] for name in wheel.namelist() if name.partition("/")[0].endswith(".dist-info")}
    points = wheel.read(f"{info}/entry_points.txt").decode()
    assert "[pytest11]\ncachesafe = pytest_cachesafe.plugin" in points
    assert "[console_scripts]\ncachesafe = pytest_cachesafe.cli:main" in points
    assert b"Apache License" in wheel.read(f"{info}/licenses/LICENSE")


def test_base_dependencies_stay_light(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    required = HeaderParser().parsestr(wheel.read(name).decode()).get_all("Requires-Dist") or []
    base = {line.partition(">")[0].strip() for line in required if "extra ==" not in line}
    assert base == {"pytest", "jinja2", "libcst", "tomli"}
