"""Encoders: anything that makes vectors of texts, checked and brought to length 1."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.semantic.encoder import load_encoder, unit_vectors
from pytest_cachesafe.usage import UsageError

np = pytest.importorskip("numpy")


def as_lists(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


class Documents:
    """As LangChain's Embeddings."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return as_lists(texts)


class Many:
    """As RedisVL's vectorizers."""

    def embed_many(self, texts: list[str]) -> list[list[float]]:
        return as_lists(texts)


class Sentences:
    """As SentenceTransformer."""

    def encode(self, texts: list[str]) -> Any:
        return np.array(as_lists(texts), dtype=np.float32)


@pytest.mark.parametrize("spec", [as_lists, Documents(), Many(), Sentences(), lambda texts: iter(as_lists(texts))])
def test_anything_that_embeds_lists_of_texts(spec: Any) -> None:
    encoder = load_encoder(spec)
    vectors = encoder.embed(["abc", "d"])
    assert vectors.dtype == np.float32
    assert vectors == pytest.approx(np.array([[3, 1] / np.sqrt(10), [1, 1] / np.sqrt(2)]), abs=1e-6)
    assert encoder.window is None
    assert encoder.count("abc") is None
    assert encoder.truncated_ids("abc") is None


def test_names_help_to_find_it() -> None:
    assert load_encoder(as_lists).name == "as_lists"
    assert load_encoder(Documents()).name == "Documents"
    assert load_encoder(lambda texts: as_lists(texts)).name == "embed()"


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    whole = load_encoder(lambda texts: torch.ones(len(texts), 4, requires_grad=True))
    assert whole.embed(["a", "b"]) == pytest.approx(np.full((2, 4), 0.5))
    each = load_encoder(lambda texts: [torch.ones(4, dtype=torch.bfloat16) for _ in texts])
    assert each.embed(["a", "b"]) == pytest.approx(np.full((2, 4), 0.5))


def test_not_normalised_is_said_once_and_handled() -> None:
    encoder = load_encoder(as_lists)
    encoder.embed(["abc", "d"])
    encoder.embed(["abc", "d"])
    assert len(encoder.notes) == 1
    assert "not of length 1; they were normalised here" in encoder.notes[0]
    quiet = load_encoder(lambda texts: [[0.6, 0.8]] * len(texts))
    quiet.embed(["a"])
    assert quiet.notes == []


@pytest.mark.parametrize(
    ("embed", "words"),
    [
        (lambda texts: [[1.0, 2.0]], "gives 1 vectors for 2 texts"),
        (lambda texts: [0.1, 0.2, 0.3], "gives one vector for 2 texts"),
        (lambda texts: [[1.0, 2.0], [1.0]], "the vector of text 1 has dimension 1, that of the first one 2"),
        (lambda texts: [[1.0, float("nan")], [1.0, 2.0]], "the vector of text 0 holds NaN or infinity"),
        (lambda texts: [[1.0, 2.0], [float("inf"), 2.0]], "the vector of text 1 holds NaN or infinity"),
        (lambda texts: [[1.0, 2.0], [0.0, 0.0]], "the vector of text 1 is all zeros"),
        (lambda texts: None, "gives None"),
        (lambda texts: 3, "gives int"),
        (lambda texts: [["a"], ["b"]], "gives no numbers"),
        (lambda texts: [[], []], "gives empty vectors"),
        (lambda texts: [[[1.0]], [[2.0]]], "gives an array of 3 dimensions"),
    ],
)
def test_vectors_that_cannot_be_used(embed: Callable[[list[str]], Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        load_encoder(embed).embed(["one", "two"])
    assert "\n" not in str(caught.value)


def test_another_dimension_than_before() -> None:
    encoder = load_encoder(lambda texts: [[1.0] * len(texts)] * len(texts))
    encoder.embed(["a", "b"])
    with pytest.raises(UsageError, match="of dimension 3, and of 2 before"):
        encoder.embed(["a", "b", "c"])


def test_an_async_function() -> None:
    async def embed(texts: list[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return as_lists(texts)

    with pytest.raises(UsageError, match="is async"):
        load_encoder(embed).embed(["a"])


def test_what_the_users_own_code_raises_is_passed_on() -> None:
    def embed(texts: list[str]) -> Any:
        raise ConnectionError("refused")

    with pytest.raises(ConnectionError, match="refused"):
        load_encoder(embed).embed(["a"])


@pytest.mark.parametrize("spec", [3, None, Documents, object()])
def test_what_is_no_encoder(spec: Any) -> None:
    with pytest.raises(UsageError, match="encoder="):
        load_encoder(spec)


def test_a_model_that_is_nowhere(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("CACHESAFE_CACHE", str(tmp_path / "cache"))
    with pytest.raises(UsageError, match="nobody/no-encoder"):
        load_encoder("nobody/no-encoder")


@pytest.mark.parametrize(
    ("modules", "words"),
    [
        ('[{"type": "my_code.Evil"}]', r"names my_code\.Evil, which is code that comes with the model"),
        ('[{"type": "sentence_transformers.models.Transformer"}, {"type": "evil.Pooling"}]', r"names evil\.Pooling"),
        ("{", "cannot be read"),
        ("[1]", "cannot be read"),
    ],
)
def test_code_that_comes_with_a_model_is_never_run(tmp_path: Path, modules: str, words: str) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    (tmp_path / "modules.json").write_text(modules, encoding="utf-8")
    with pytest.raises(UsageError, match=words):
        load_encoder(tmp_path)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3).filter(any),
        min_size=1,
        max_size=5,
    )
)
def test_every_vector_has_length_1_afterwards(rows: list[list[float]]) -> None:
    vectors, _ = unit_vectors(rows, len(rows), "encoder")
    assert np.linalg.norm(vectors.astype(np.float64), axis=1) == pytest.approx(np.ones(len(rows)), abs=1e-5)
