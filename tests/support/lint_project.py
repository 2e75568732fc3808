"""A small project on disk for tests of whole lint runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_cachesafe.findings import Finding
from pytest_cachesafe.lint.run import lint

HELPER = "from datetime import datetime\n\n\ndef stamp():\n    return datetime.now().isoformat()\n"
PROMPT = (
    "from helper import stamp\n\n\ndef build(question):\n"
    '    return [{"role": "system", "content": f"It is {stamp()}."}, {"role": "user", "content": question}]\n'
)
CLEAN = "def add(a, b):\n    return a + b\n"
# A finding of its own, whatever else there is.
CLOCK = (
    "from datetime import datetime\n\n\ndef build(question):\n"
    '    return [{"role": "system", "content": f"It is {datetime.now()}."}, {"role": "user", "content": question}]\n'
)
# A finding with a safe fix.
UNSORTED = 'def system_prompt():\n    return "You speak " + ", ".join({"de", "en", "fr"})  # languages\n'


def write(root: Path, files: Mapping[str, str], config: str | None = "[tool.cachesafe]\n") -> Path:
    """A project; `config` is its pyproject.toml, None for none."""
    root.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (root / "pyproject.toml").write_text(config, encoding="utf-8")
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def places(findings: list[Finding]) -> list[tuple[str, int, str]]:
    """File name without folders, row and code of each."""
    return [(Path(f.location.filename or "").name, f.location.row or 0, f.code) for f in findings]


def codes_of_app(root: Path, text: str) -> list[str]:
    """The codes of the findings in `app.py`, a program that another file starts."""
    write(root, {"app.py": text, "start.py": "import app\n\napp.run()\n"})
    return [code for _, _, code in places(lint([root], cache=False).findings)]
