"""A model as encoder, with a model that is none: what is encoded, what is kept, what is shown meanwhile."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.report import progress
from pytest_cachesafe.semantic import model_encoder
from pytest_cachesafe.semantic.model_encoder import ModelEncoder
from pytest_cachesafe.usage import UsageError

np = pytest.importorskip("numpy")

TEXTS = [f"question number {number}" for number in range(600)]


class Model:
    """Counts what it is asked; stops at the call `dies_at`."""

    def __init__(self, dies_at: int | None = None) -> None:
        self.calls: list[list[str]] = []
        self.dies_at = dies_at

    def encode(self, texts: list[str], **_: Any) -> Any:
        if len(self.calls) == self.dies_at:
            raise KeyboardInterrupt
        self.calls.append(list(texts))
        return np.array([[len(text), ord(text[-1]), 1.0] for text in texts], dtype=np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CACHESAFE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "model"
    path.mkdir()
    (path / "modules.json").write_text('[{"type": "sentence_transformers.models.Transformer"}]', encoding="utf-8")
    (path / "config.json").write_text('{"max_position_embeddings": 512}', encoding="utf-8")
    (path / "tokenizer_config.json").write_text('{"model_max_length": 1e30}', encoding="utf-8")
    (path / "model.safetensors").write_bytes(b"weights")
    return path


def use(model: Model, monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.setattr(model_encoder, "_load", lambda folder, name: model)
    # Threads are set for a model that runs in torch.
    monkeypatch.setattr(model_encoder, "default_threads", lambda: None)
    return model


def test_each_distinct_text_once_and_in_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = use(Model(), monkeypatch)
    vectors = ModelEncoder(folder).embed(["b", "a", "b", "ccc"])
    assert sorted(text for call in model.calls for text in call) == ["a", "b", "ccc"]
    assert np.array_equal(vectors[0], vectors[2])
    assert not np.array_equal(vectors[0], vectors[1])
    # The longest first, so that a lack of memory shows at once.
    assert model.calls[0][0] == "ccc"
    assert ModelEncoder(folder).embed([]).shape[0] == 0


def test_other_weights_are_another_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = use(Model(), monkeypatch)
    ModelEncoder(folder).embed(["a"])
    ModelEncoder(folder).embed(["a"])
    assert len(model.calls) == 1
    (folder / "model.safetensors").write_bytes(b"other weights")
    ModelEncoder(folder).embed(["a"])
    assert len(model.calls) == 2


def test_an_interrupt_loses_the_last_part_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(Model(dies_at=2), monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        ModelEncoder(folder).embed(TEXTS)
    model = use(Model(), monkeypatch)
    ModelEncoder(folder).embed(TEXTS)
    assert sum(map(len, model.calls)) == 600 - 2 * 256


@pytest.mark.parametrize("terminal", [True, False])
def test_a_bar_on_a_terminal_alone(folder: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    use(Model(), monkeypatch)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_PAUSE", 0.0)
    stream = Stream()
    monkeypatch.setattr(sys, "stderr", stream)
    ModelEncoder(folder).embed(TEXTS)
    shown = stream.getvalue()
    assert ("512 of 600 prompts embedded" in shown) is terminal
    assert bool(shown) is terminal


@pytest.mark.parametrize(
    ("given", "window"),
    [(None, 512), ({"max_seq_length": 128}, 128), ({"max_seq_length": None}, 512), ({"other": 1}, 512)],
)
def test_the_window_is_what_sentence_transformers_takes(folder: Path, given: Any, window: int) -> None:
    if given is not None:
        (folder / "sentence_bert_config.json").write_text(json.dumps(given), encoding="utf-8")
    assert ModelEncoder(folder).window == window


def test_files_that_cannot_be_read(folder: Path) -> None:
    pytest.importorskip("tokenizers")
    (folder / "tokenizer.json").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match=r"tokenizer\.json cannot be read"):
        ModelEncoder(folder).count("a")
    (folder / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match=r"config\.json cannot be read"):
        ModelEncoder(folder)
