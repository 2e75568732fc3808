"""What the plugin costs a session that does not use it: CPU of `pytest -q` on two empty tests, autoloading off.

Runs our plugin and an empty one in turn and prints medians and their ratio (budget: 1.06) and the modules added
(budget: 25). CPU seconds of the child, user and system, from the operating system.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

MODULES = "import json, sys\ndef pytest_unconfigure():\n    json.dump(sorted(sys.modules), open('modules.json', 'w'))\n"


def cpu_seconds(plugin: str, folder: Path, environment: dict[str, str]) -> float:
    """CPU seconds of one pytest run."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"pytest with {plugin} ended with status {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def added_modules(folder: Path, environment: dict[str, str]) -> list[str]:
    """Modules that our plugin adds to a run."""
    (folder / "conftest.py").write_text(MODULES, encoding="utf-8")
    found = []
    for plugin in ("pytest_cachesafe.plugin", "empty_plugin"):
        cpu_seconds(plugin, folder, environment)
        found.append(set(json.loads((folder / "modules.json").read_text(encoding="utf-8"))))
    (folder / "conftest.py").unlink()
    return sorted(found[0] - found[1])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15, help="runs of each plugin (default 15)")
    runs = parser.parse_args().runs
    root = str(Path(__file__).parents[1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        (folder / "empty_plugin.py").write_text("", encoding="utf-8")
        (folder / "test_two.py").write_text("def test_a(): pass\ndef test_b(): pass\n", encoding="utf-8")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": os.pathsep.join((root, name))}
        modules = added_modules(folder, environment)
        ours, empty = [], []
        for _ in range(runs):
            # In turn, so that a busy moment of the machine meets both.
            ours.append(cpu_seconds("pytest_cachesafe.plugin", folder, environment))
            empty.append(cpu_seconds("empty_plugin", folder, environment))
    a, b = statistics.median(ours), statistics.median(empty)
    best = min(ours) / min(empty)
    lines = (
        f"start-up: {a * 1000:.1f} ms with the plugin, {b * 1000:.1f} ms without: ratio {a / b:.3f} (best {best:.3f})",
        f"modules added: {len(modules)}: {' '.join(modules)}",
    )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
