"""What the gate costs a run: 1,000 gated tests and a 5 MB lock file beside the same tests without the gate.

Whole processes, CPU seconds of pytest and its workers from the operating system, pairs in turn so that a busy moment of
the machine meets both; medians of ratios. Bars: the gate at most 1.3 times (alone and with `-n 2`), observing
200 tests that call the SDKs of Anthropic and OpenAI at most 1.1 times.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

TESTS = 1000
LOCK = "cachesafe.lock.jsonl"
GATED = """
import pytest
from pytest_cachesafe import assert_prefix_stable

SYSTEM = "You are a support bot. " + "Answer from the manual. " * 200

def chat(number, turns=4):
    messages = [{"role": "system", "content": SYSTEM}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"question {turn} of chat {number}, please " * 10})
        messages.append({"role": "assistant", "content": f"answer {turn} " * 40})
    return messages

@pytest.mark.parametrize("number", range(1000))
def test_chat(number):
    assert_prefix_stable(chat(number))
"""
OBSERVED = """
import json
import anthropic, httpx2, openai, pytest

MANUAL = "You are a support bot. " + "Answer from the manual. " * 200

def respond(request):
    body = json.loads(request.content)
    if "anthropic" in str(request.url):
        return httpx2.Response(200, json={
            "id": "m", "type": "message", "role": "assistant", "model": body["model"], "stop_reason": "end_turn",
            "stop_sequence": None, "content": [{"type": "text", "text": "ok"}],
            "usage": {"input_tokens": 5, "output_tokens": 1}})
    return httpx2.Response(200, json={
        "id": "c", "object": "chat.completion", "created": 1, "model": body["model"],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}})

@pytest.fixture
def http():
    with httpx2.Client(transport=httpx2.MockTransport(respond)) as client:
        yield client

@pytest.mark.parametrize("number", range(100))
def test_claude(http, number):
    client = anthropic.Anthropic(api_key="x", http_client=http)
    system = [{"type": "text", "text": MANUAL, "cache_control": {"type": "ephemeral"}}]
    history = []
    for turn in range(4):
        history.append({"role": "user", "content": f"question {turn} of {number}"})
        client.messages.create(model="claude-opus-5", max_tokens=9, messages=history, system=system)
        history.append({"role": "assistant", "content": "ok"})
        client.messages.create(model="claude-haiku-5-5", max_tokens=9, system="You write titles.",
                               messages=[{"role": "user", "content": f"title {turn} of {number}"}])

@pytest.mark.parametrize("number", range(100))
def test_gpt(http, number):
    client = openai.OpenAI(api_key="x", http_client=http)
    history = [{"role": "system", "content": MANUAL}]
    for turn in range(4):
        history.append({"role": "user", "content": f"task {turn} of {number}"})
        client.chat.completions.create(model="gpt-6-sol", messages=history)
        history.append({"role": "assistant", "content": "ok"})
"""


def cpu_seconds(folder: Path, environment: Mapping[str, str], flags: Sequence[str]) -> float:
    """CPU seconds of one pytest run and its children."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_cachesafe.plugin", *flags]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    said = process.stdout.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"pytest {' '.join(flags)} ended with status {process.returncode}:\n{said[-2000:]}")
    return usage.ru_utime + usage.ru_stime


def grow(lock: Path, megabytes: float) -> int:
    """Fill a lock file up with entries of other tests, as a big project has them; returns how many it holds."""
    lines = lock.read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    size, number = sum(map(len, lines)), 0
    while size < megabytes * 1e6:
        made = json.dumps({**first, "test": f"test_other_{number // 50:03}.py::test_case[{number}-some parameter]"})
        lines.append(made)
        size += len(made) + 1
        number += 1
    lock.write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")
    return len(lines)


def pairs(
    name: str, folder: Path, environment: Mapping[str, str], runs: int, without: Sequence[str], with_: Sequence[str],
    bar: float, lock: bytes | None = None,
) -> bool:  # fmt: skip
    """Measure in turn and print; whether the bar is met."""
    a: list[float] = []
    b: list[float] = []
    for _ in range(runs):
        (folder / LOCK).unlink(missing_ok=True)
        a.append(cpu_seconds(folder, environment, without))
        if lock is not None:
            (folder / LOCK).write_bytes(lock)
        b.append(cpu_seconds(folder, environment, with_))
    ratio = statistics.median(y / x for x, y in zip(a, b, strict=True))
    met = ratio <= bar
    sys.stdout.write(
        f"{name}: {statistics.median(b):.2f} s CPU, {statistics.median(a):.2f} s without: ratio {ratio:.3f} (best "
        f"{min(b) / min(a):.3f}, bar {bar}, load {os.getloadavg()[0]:.1f}): {'met' if met else 'MISSED'}\n"
    )
    sys.stdout.flush()
    return met


def gate(folder: Path, environment: Mapping[str, str], runs: int) -> bool:
    """The gate's bars."""
    (folder / "test_gated.py").write_text(GATED, encoding="utf-8")
    cpu_seconds(folder, environment, ["--cachesafe-update"])
    entries = grow(folder / LOCK, 5.0)
    lock = (folder / LOCK).read_bytes()
    sys.stdout.write(f"lock file: {len(lock) / 1e6:.1f} MB, {entries:,} entries; {TESTS:,} gated tests\n")
    met = pairs("gate", folder, environment, runs, [], [], 1.3, lock)
    if find_spec("xdist") is not None:
        workers = ["-p", "xdist", "-n", "2"]
        met &= pairs("gate -n 2", folder, environment, runs, workers, workers, 1.3, lock)
    return met


def observe(folder: Path, environment: Mapping[str, str], runs: int) -> bool:
    """The bar of `--cachesafe-observe`."""
    if any(find_spec(name) is None for name in ("anthropic", "openai", "httpx2")):
        sys.stdout.write("observe: the SDKs are not installed: pip install 'pytest-cachesafe[providers]'\n")
        return True
    (folder / "test_observed.py").write_text(OBSERVED, encoding="utf-8")
    return pairs("observe", folder, environment, runs, [], ["--cachesafe-observe"], 1.1)


def main() -> int:
    """Measure and print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="pairs of runs (default 7)")
    parser.add_argument("--only", choices=("gate", "observe"), help="one of the two")
    options = parser.parse_args()
    root = Path(__file__).parents[1]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_") and k != "CI"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": f"{root}{os.pathsep}{root / 'rules'}"}
    met = True
    for part in (gate, observe):
        if options.only in (None, part.__name__):
            with tempfile.TemporaryDirectory() as name:
                (Path(name) / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
                met &= part(Path(name), environment, options.runs)
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
