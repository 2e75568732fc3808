"""What an import costs: the base package and the models package import the standard library alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("module", ["pytest_cachesafe", "pytest_cachesafe.models", "cachesafe_rules"])
def test_importing_needs_no_third_party_module(module: str) -> None:
    code = (
        f"import sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'rules')]}; before = set(sys.modules); import {module};"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "print(sorted(new - set(sys.stdlib_module_names) - {'pytest_cachesafe', 'cachesafe_rules'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
