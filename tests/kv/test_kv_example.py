"""`examples/kv_reuse` passes as it is, each broken version fails for its reason, the model is loaded once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ONCE = """
def test_one(smollm2):
    assert smollm2.bytes_per_token() == 30 * 3 * 64 * 2 * 4  # layers, KV heads, head size, K and V, float32

def test_two(smollm2, cachesafe):
    assert cachesafe.kv() is smollm2
    assert smollm2.assert_reuse([1] * 20, [[2, 3], [4, 5]], min_reused=0.6, new_tokens=1).reused_tokens == 40
"""


@pytest.mark.usefixtures("probe")
def test_example(tmp_path: Path) -> None:
    # A copy: nothing is written into the tree. All in one run, for torch and the model are loaded once per session.
    folder = tmp_path / "kv_reuse"
    shutil.copytree(ROOT / "examples" / "kv_reuse", folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    (folder / "test_once.py").write_text(ONCE, encoding="utf-8")
    path = os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "rules"), os.environ.get("PYTHONPATH")]))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    tests = ("tests", "broken", "test_once.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "pytest_cachesafe.plugin", "-vvv", "--color=no", *tests],
        cwd=folder,
        env={
            **environment,
            "PYTHONPATH": path,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    text = done.stdout
    assert " 3 failed, 7 passed in " in text, text
    assert re.findall(r"^(\S+)::\S+ FAILED", text, re.MULTILINE) == ["broken/test_before.py"] * 3
    assert "E       KV cache reuse does not hold: the prefilled cache was written into" in text
    assert "E       KV cache reuse does not hold: 5 of 126 prompt tokens reused (4.0%), wanted at least 80.0%" in text
    assert "E       prompt prefix is not stable: request 2 does not continue request 1: a number changed" in text
