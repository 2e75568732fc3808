"""The picture of the report in the README: `python docs/report_picture.py` writes docs/report.png.

A small project is run as its tests do it, its page is opened in a headless Chromium, and the upper part is saved.
Needs Chromium on PATH, and what the tests need.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from chromium import Chromium, chromium_path  # noqa: E402
from report_project import BEFORE, FILES  # noqa: E402
from small_png import smaller  # noqa: E402

WIDTH = 1040
# Checks that a picture has no room for.
SKIPPED = "not prices and not engine_finds_it and not template"

CUT = """
(() => {
  const telling = [...document.querySelectorAll('.scenario')].find(one => one.textContent.includes('five turns'));
  for (const one of document.querySelectorAll('#gate, #lint, .scenario')) if (one !== telling) one.remove();
  return telling.getBoundingClientRect().bottom + 16;
})()
"""


def make_page(folder: Path) -> Path:
    """Run the project as it was the day before, which writes its lock file, then as it is now."""
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_ADDOPTS")}
    environment |= {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'rules'}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for files, flags in (
        (FILES | BEFORE, ["--cachesafe-update"]),
        (FILES, ["--cachesafe-report=html", "--cachesafe-lint", "-k", SKIPPED]),
    ):
        for name, text in files.items():
            (folder / name).write_text(text.lstrip("\n"), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-p", "pytest_cachesafe.plugin", "-q", "--tb=no", *flags]
        subprocess.run(command, cwd=folder, env=environment, check=False, stdout=subprocess.DEVNULL)
    return folder / "cachesafe-report.html"


def main() -> int:
    """Make it."""
    path = chromium_path()
    if path is None:
        raise SystemExit("no Chromium on PATH (Debian: apt-get install chromium)")
    target = ROOT / "docs" / "report.png"
    with tempfile.TemporaryDirectory() as folder, Chromium(path) as browser:
        browser.open(make_page(Path(folder)), width=WIDTH)
        # From the head to the end of the first check with a waterfall of its prefix.
        height = browser.evaluate(CUT)
        browser.picture(target, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
    target.write_bytes(smaller(target.read_bytes()))
    sys.stdout.write(f"{target.relative_to(ROOT)}: {target.stat().st_size:,} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
