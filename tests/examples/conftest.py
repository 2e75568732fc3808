"""A copy of `examples/` to run in: nothing may be written into the tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def project_copy(tmp_path: Path) -> Path:
    """A folder with a copy of `examples/` in it."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return tmp_path


@pytest.fixture
def run() -> Run:
    """Run `python ARGS` in a folder, with this package and without any pytest plugin that is not asked for."""

    def call(folder: Path, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "rules"), os.environ.get("PYTHONPATH")]))
        base: Mapping[str, str] = {
            **os.environ,
            "PYTHONPATH": path,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUTF8": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            # Several runs at once on few cores: threads that wait for each other take three times the time of one.
            "OMP_NUM_THREADS": "1",
        }
        # Options of the run that runs this test are not meant for the one inside.
        inner = {key: value for key, value in base.items() if key not in ("PYTEST_ADDOPTS", "BUILD_DOCTOR_MODEL")}
        return subprocess.run(
            [sys.executable, *args],
            cwd=folder,
            env={**inner, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            # Real models on a busy machine: the bound is there so that nothing hangs forever.
            timeout=300,
            check=False,
        )

    return call
