"""`python -m cachesafe_rules [--check]`: write the index and the pages of all rules, or only name what is stale."""

from __future__ import annotations

import sys
from pathlib import Path

from cachesafe_rules.pages import index, page
from cachesafe_rules.registry import known_codes, load_rules

__all__ = ["documents", "main"]

INDEX = "rules/README.md"
FOLDER = "docs/rules"


def documents() -> dict[str, str]:
    """The text of every generated file, by its path from the root of the repository."""
    rules = load_rules(known_codes())
    return {INDEX: index(rules, f"../{FOLDER}")} | {f"{FOLDER}/{rule.code}.md": page(rule) for rule in rules}


def main(arguments: list[str], root: Path) -> int:
    """Write what is stale below `root` and delete pages of rules that are gone; `--check`: 1 if there are such."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("python -m cachesafe_rules takes no argument but --check\n")
        return 2
    texts = documents()
    gone = [p for p in sorted((root / FOLDER).glob("*.md")) if f"{FOLDER}/{p.name}" not in texts]
    stale = {name: text for name, text in texts.items() if _read(root / name) != text}
    for name in [*stale, *(f"{FOLDER}/{p.name}" for p in gone)]:
        sys.stdout.write(f"{name}\n")
    if arguments:
        return 1 if stale or gone else 0
    for name, text in stale.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8", newline="\n")
    for path in gone:
        path.unlink()
    return 0


def _read(path: Path) -> str | None:
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).resolve().parents[2]))
