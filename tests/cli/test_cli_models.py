"""`cachesafe models`: what is there, and what is asked of the network only when asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_cachesafe.cli import main


@pytest.fixture(autouse=True)
def empty_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CACHESAFE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def test_the_list_names_the_demo_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--output-format", "json"]) == 0
    models = json.loads(capsys.readouterr().out)["models"]
    demo = next(m for m in models if m["name"] == "HuggingFaceTB/SmolLM2-135M-Instruct")
    assert set(demo) == {"name", "kind", "source", "path", "ready"}
    assert main(["models"]) == 0
    text = capsys.readouterr().out
    if not demo["ready"]:
        assert "cachesafe models --fetch HuggingFaceTB/SmolLM2-135M-Instruct" in text


def test_an_unknown_name_is_refused_without_network(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert main(["models", "--fetch", "no/such-model"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "no/such-model" in err
    assert err.count("\n") == 1


def test_fetching_says_where(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("pytest_cachesafe.models.fetch", lambda name: tmp_path / name)
    assert main(["models", "--fetch", "tiny", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "fetched": "tiny", "path": str(tmp_path / "tiny")}
