"""What is built, installed into an empty environment: all that needs no extra works, and each extra has its line."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Needs an index to install pytest, jinja2 and libcst from, and half a minute.
pytestmark = pytest.mark.oracle

AGENT = """
from datetime import datetime
import anthropic

def ask(history):
    client = anthropic.Anthropic()
    system = f"You are a bot. It is {datetime.now()}. Read the manual."
    return client.messages.create(model="claude-opus-5", max_tokens=9, system=system, messages=history)
"""
TESTS = """
from pytest_cachesafe import *

def chat(turns):
    messages = []
    for turn in range(turns):
        messages += [{"role": "user", "content": f"question {turn}"}, {"role": "assistant", "content": "ok"}]
    return messages[:-1]

def bodies():
    return [{"model": "claude-opus-5", "max_tokens": 9, "messages": chat(turns)} for turns in (1, 2, 3)]

def test_wire():
    assert_prefix_stable(bodies())

def test_text():
    assert_prefix_stable(chat(3), template="t.jinja")

def test_requests():
    assert check_requests(bodies()).text()

def test_fixture(cachesafe):
    with cachesafe.record() as recording:
        for turns in (1, 2):
            recording.request(chat(turns))
    recording.assert_stable()

def test_render():
    assert_prefix_stable(chat(3), template="model")

def test_kv():
    KVProbe.load("model")

def test_semantic():
    assert_no_collisions(["a question", "another"])

def test_clock():
    assert_prefix_stable(lambda turn: chat(turn.index + 1), requests=2, under=["clock"])
"""
MISSING = {
    "test_render": 'the tokenizer of model needs tokenizers: pip install "pytest-cachesafe[render]"',
    "test_kv": 'loading model needs transformers: pip install "pytest-cachesafe[kv]"',
    "test_semantic": 'comparing embeddings needs numpy: pip install "pytest-cachesafe[semantic]"',
    "test_clock": 'under=["clock"] needs time-machine: pip install "pytest-cachesafe[clock]"',
}


def run(*command: str | Path, cwd: Path, ok: int = 0) -> str:
    """Output of a command that knows nothing of this checkout."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON", "CI"))}
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=clean, capture_output=True, text=True)
    assert done.returncode == ok, done.stdout + done.stderr
    return done.stdout + done.stderr


def build(kind: str, source: Path, folder: Path) -> Path:
    run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder, cwd=source)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of an environment that holds the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("bare")
    run(sys.executable, "-m", "venv", folder, cwd=folder)
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    install = [str(commands / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", str(wheel)]
    done = subprocess.run(install, cwd=folder, capture_output=True, text=True)
    if done.returncode and not os.environ.get("CI"):
        pytest.skip(f"no index to install from: {done.stderr.strip().splitlines()[-1]}")
    assert not done.returncode, done.stderr
    return commands


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "t.jinja").write_text("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    (tmp_path / "model").mkdir()
    for name, text in (
        ("tokenizer.json", '{"version": "1.0", "model": {"type": "BPE", "vocab": {}, "merges": []}}'),
        ("tokenizer_config.json", '{"chat_template": "{{ messages }}"}'),
        ("config.json", '{"architectures": ["LlamaForCausalLM"], "model_type": "llama"}'),
        ("model.safetensors", ""),
    ):
        (tmp_path / "model" / name).write_text(text)
    return tmp_path


def test_nothing_heavy_comes_with_it(bare: Path, project: Path) -> None:
    listed = run(bare / "python", "-m", "pip", "list", "--format=freeze", cwd=project).lower()
    names = {line.partition("==")[0] for line in listed.splitlines() if "==" in line}
    assert {"pytest-cachesafe", "pytest", "jinja2", "libcst"} <= names
    assert not names & {"torch", "transformers", "tokenizers", "numpy", "anthropic", "openai", "httpx", "hypothesis"}


def test_the_linter_works(bare: Path, project: Path) -> None:
    said = run(bare / "cachesafe", "lint", "agent.py", cwd=project, ok=1)
    assert "CSF101 datetime.now() changes with every call" in said


def test_checks_work_and_each_missing_extra_has_its_line(bare: Path, project: Path) -> None:
    # The entry point alone brings the plugin.
    said = run(bare / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project, ok=1)
    assert f"{len(MISSING)} failed, 4 passed" in said
    for test, line in MISSING.items():
        assert f"FAILED test_it.py::{test}" in said
        # The whole of what is said of it.
        assert f"_ {test} _" in said
        assert f"\n{line}\n" in said, said


def test_the_gate_and_the_reports_work(bare: Path, project: Path) -> None:
    flags = ("-q", "-p", "no:cacheprovider", "-k", "wire or text", "--cachesafe-report=html,markdown,json,sarif")
    said = run(bare / "python", "-m", "pytest", *flags, "--cachesafe-update", cwd=project)
    assert "cachesafe.lock.jsonl written: 2 added" in said
    assert {path.suffix for path in project.glob("cachesafe-report.*")} == {".html", ".md", ".json", ".sarif"}
    run(bare / "python", "-m", "pytest", *flags, cwd=project)


def test_a_parquet_file_needs_its_extra(bare: Path, project: Path) -> None:
    (project / "log.jsonl").write_text('{"prompt_token_ids": [1, 2, 3]}\n')
    said = run(bare / "cachesafe", "simulate", "log.jsonl", "--export", "x.parquet", cwd=project, ok=2)
    assert 'needs pyarrow.parquet: pip install "pytest-cachesafe[export]"' in said
    assert not (project / "x.parquet").exists()


def test_the_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    import tarfile

    archive = build("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "source", filter="data") if hasattr(tarfile, "data_filter") else packed.extractall(
            tmp_path / "source"
        )
    (source,) = (tmp_path / "source").iterdir()
    again = build("wheel", source, tmp_path / "again")
    one, other = (zipfile.ZipFile(path) for path in (wheel, again))
    # All but the record, which names hashes of the rest in their order.
    held = [{i.filename: i.CRC for i in z.infolist() if not i.filename.endswith("/RECORD")} for z in (one, other)]
    assert held[0] == held[1]
    assert len(held[0]) > 500
