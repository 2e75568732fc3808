"""What `cachesafe lint` costs: whole processes, CPU seconds (user and system) and peak memory, told by the system.

On a large tree (a copy of the Python files of the installed transformers): a cold run and an unchanged second run,
beside ruff (F, B, DTZ) without and with its cache, and beside cachedrift, the linter for the same faults that is found
on PyPI. On single files: a clean one and one of 300 lines with a finding, beside the start of bare Python with `ast`
and `json`. Commands take turns, so that a busy moment of the machine meets all; medians and their ratios are printed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

CLEAN = "def total(prices: list[float]) -> float:\n    return sum(prices)\n"
# 30 functions of 10 rows; one of them puts a clock into the system message.
ROWS = '''\
def report_{n}(orders, customer):
    """One of many functions that have nothing to do with a prompt."""
    lines = []
    for order in sorted(orders, key=lambda order: order.number):
        if order.customer == customer and not order.cancelled:
            lines.append(f"{{order.number}}: {{order.total:.2f}}")
    text = "\\n".join(lines) or "no orders"
    return {{"title": "Orders {n}", "text": text, "count": len(lines)}}


'''
FAULT = '''\
def build(history, question):
    """The request: the clock in front of all that could be reused."""
    now = datetime.now()
    system = f"You are the order desk. It is {now:%H:%M}."
    newest = {"role": "user", "content": question}
    first = {"role": "system", "content": system}
    return [first, *history, newest]
'''


class Cost(NamedTuple):
    """CPU seconds and peak resident memory in MB (of the largest process) of one command."""

    cpu: float
    memory: float


def run(command: Sequence[str], folder: Path, environment: dict[str, str], expected: Sequence[int]) -> Cost:
    """Run a command to its end; what it prints is thrown away."""
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    words = process.stderr.read().decode("utf-8", "replace")
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in expected:
        raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}: {words[-500:]}")
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def median(costs: Sequence[Cost]) -> float:
    """Median CPU seconds."""
    return statistics.median(cost.cpu for cost in costs)


def script(name: str) -> str | None:
    """An installed command: beside this Python, else on the path."""
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    return beside or shutil.which(name)


def ours() -> list[str]:
    """`cachesafe lint` as it is installed here, or as a module of this checkout."""
    beside = shutil.which("cachesafe", path=str(Path(sys.executable).parent))
    return [beside, "lint"] if beside else [sys.executable, "-m", "pytest_cachesafe", "lint"]


def child_environment(cache: Path) -> dict[str, str]:
    """This checkout importable, compiled files kept, results in a folder of the benchmark's own."""
    root = Path(__file__).resolve().parents[1]
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "GITHUB_ACTIONS")}
    path = [str(root), str(root / "rules"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**environment, "PYTHONPATH": os.pathsep.join(path), "CACHESAFE_CACHE": str(cache)}


def copy_tree(folder: Path) -> Path | None:
    """The Python files of the installed transformers, away from the settings of this project; None if not installed."""
    spec = find_spec("transformers")
    if spec is None or not spec.submodule_search_locations:
        return None
    target = folder / "transformers"
    for name in Path(spec.submodule_search_locations[0]).rglob("*.py"):
        copy = target / name.relative_to(spec.submodule_search_locations[0])
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(name, copy)
    return target


def measure_tree(folder: Path, runs: int) -> None:
    """Print the costs on the large tree."""
    tree = copy_tree(folder)
    if tree is None:
        print("lint, large tree: left out, pip install transformers")
        return
    files = list(tree.rglob("*.py"))
    print(f"lint, {len(files):,} files, {sum(file.stat().st_size for file in files) / 1e6:.1f} MB of Python")
    ruff = script("ruff")
    style = [ruff or "ruff", "check", "--isolated", "--select", "F,B,DTZ", "--exit-zero", "-q", "transformers"]
    cold, warm, ruff_cold, ruff_warm = [], [], [], []
    for number in range(runs + 1):
        cache = folder / f"cache-{number}"
        environment = child_environment(cache)
        first = run([*ours(), "transformers"], folder, environment, (0, 1))
        second = run([*ours(), "transformers"], folder, environment, (0, 1))
        peers = []
        if ruff:
            peers.append(run([*style, "--no-cache"], folder, environment, (0,)))
            run([*style, "--cache-dir", str(cache / "ruff")], folder, environment, (0,))
            peers.append(run([*style, "--cache-dir", str(cache / "ruff")], folder, environment, (0,)))
        shutil.rmtree(cache, ignore_errors=True)
        # The first round brings the files into memory and compiles the modules.
        if number:
            cold.append(first)
            warm.append(second)
            ruff_cold += peers[:1]
            ruff_warm += peers[1:]
    print(f"  cachesafe lint, cold               {median(cold):7.2f} s")
    print(f"  cachesafe lint, second run         {median(warm):7.2f} s")
    if ruff:
        print(f"  ruff F,B,DTZ --no-cache            {median(ruff_cold):7.2f} s")
        print(f"  ruff F,B,DTZ, second run           {median(ruff_warm):7.2f} s")
        print(f"  cold / ruff cold                   {median(cold) / median(ruff_cold):7.2f}   (at most 4)")
        print(f"  second run / ruff's second run     {median(warm) / median(ruff_warm):7.2f}   (at most 1)")
    else:
        print("  ruff: left out, pip install ruff")
    print(f"  peak memory, cold                  {max(cost.memory for cost in cold):7.0f} MB (at most 250)")
    peer = script("cachedrift")
    if peer is None:
        print("  cachedrift: left out, pip install cachedrift==0.1.0")
        return
    drift = run([peer, "transformers"], folder, child_environment(folder / "unused"), (0, 1, 2))
    print(f"  cachedrift                         {drift.cpu:7.2f} s")
    print(f"  cold / cachedrift                  {median(cold) / drift.cpu:7.2f}")


def measure_files(folder: Path, runs: int) -> None:
    """Print the costs of one file, as a commit hook meets it."""
    project = folder / "project"
    project.mkdir()
    parts = [ROWS.format(n=n) for n in range(29)]
    parts.insert(15, FAULT + "\n\n")
    text = "from datetime import datetime\n\n\n" + "".join(parts).rstrip("\n") + "\n"
    (project / "pyproject.toml").write_text("[tool.cachesafe]\n", encoding="utf-8")
    (project / "clean.py").write_text(CLEAN, encoding="utf-8")
    (project / "found.py").write_text(text, encoding="utf-8")
    bare: list[Cost] = []
    clean: list[Cost] = []
    found: list[Cost] = []
    for number in range(runs + 1):
        cache = folder / f"files-{number}"
        environment = child_environment(cache)
        three = (
            run([sys.executable, "-c", "import ast, json"], project, environment, (0,)),
            run([*ours(), "clean.py"], project, environment, (0,)),
            run([*ours(), "found.py"], project, environment, (1,)),
        )
        if number:
            for costs, cost in zip((bare, clean, found), three, strict=True):
                costs.append(cost)
    print(f"lint, one file ({len(text.splitlines())} lines with a finding)")
    print(f"  python -c 'import ast, json'       {median(bare) * 1000:7.1f} ms")
    print(f"  cachesafe lint, clean              {median(clean) * 1000:7.1f} ms")
    print(f"  cachesafe lint, with a finding     {median(found) * 1000:7.1f} ms")
    print(f"  clean / bare Python                {median(clean) / median(bare):7.2f}   (at most 4)")
    print(f"  finding / bare Python              {median(found) / median(bare):7.2f}   (at most 15)")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="rounds over the large tree (default 3)")
    parser.add_argument("--file-runs", type=int, default=11, help="rounds over the single files (default 11)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cachesafe-bench-") as name:
        measure_files(Path(name).resolve(), args.file_runs)
        measure_tree(Path(name).resolve(), args.runs)


if __name__ == "__main__":
    main()
