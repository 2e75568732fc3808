"""Free when unused: what a session that does not use the plugin loads."""

from __future__ import annotations

import json
import sys
from typing import Any

LIST_MODULES = """
import json, sys

def pytest_unconfigure(config):
    with open("modules.json", "w") as file:
        json.dump(sorted(sys.modules), file)
"""


def _modules(project: Any, plugin: str) -> set[str]:
    result = project.pytester.runpytest_subprocess("-q", "-p", plugin, timeout=120)
    result.assert_outcomes(passed=2)
    return set(json.loads((project.path / "modules.json").read_text(encoding="utf-8")))


def test_a_session_that_does_not_use_us_loads_next_to_nothing(project: Any) -> None:
    (project.path / "empty_plugin.py").write_text("", encoding="utf-8")
    (project.path / "conftest.py").write_text(LIST_MODULES, encoding="utf-8")
    (project.path / "test_two.py").write_text("def test_a(): pass\ndef test_b(): pass\n", encoding="utf-8")
    added = _modules(project, "pytest_cachesafe.plugin") - _modules(project, "empty_plugin")
    assert "pytest_cachesafe.plugin" in added
    assert len(added) <= 25, sorted(added)
    roots = {name.partition(".")[0] for name in added}
    assert roots <= {"pytest_cachesafe", *sys.stdlib_module_names}, sorted(roots)


def test_public_names_load_no_third_party_module_by_themselves(project: Any) -> None:
    (project.path / "names.py").write_text(
        "import sys\n"
        "import pytest_cachesafe\n"
        "assert not [name for name in sys.modules if name.startswith('pytest_cachesafe.')], 'not lazy'\n"
        "from pytest_cachesafe import assert_prefix_stable, compare, Accept, Toggle, Prompt, Recording\n"
        "roots = {name.partition('.')[0] for name in sys.modules}\n"
        "heavy = roots & {'pytest', 'jinja2', 'libcst', 'tokenizers', 'transformers', 'torch', 'numpy'}\n"
        "assert not heavy, heavy\n",
        encoding="utf-8",
    )
    result = project.pytester.runpython("names.py")
    assert result.ret == 0, result.stderr.str()
