"""Vectors on disk: by model and text, whole or not at all, bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_cachesafe.semantic import vectors as module
from pytest_cachesafe.semantic.vectors import VectorStore

np = pytest.importorskip("numpy")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CACHESAFE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def unit(count: int, dimension: int = 4, seed: int = 0) -> Any:
    rows = np.random.default_rng(seed).standard_normal((count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def files(cache: Path) -> list[Path]:
    return sorted((cache / "vectors").rglob("*.vec"))


def test_what_was_put_is_found_by_another_process() -> None:
    rows = unit(3)
    VectorStore("model").put(["a", "b", "ä\n"], rows)
    found = VectorStore("model").get(["ä\n", "missing", "a"])
    assert sorted(found) == [0, 2]
    assert np.array_equal(found[0], rows[2])
    assert np.array_equal(found[2], rows[0])
    assert VectorStore("another model").get(["a"]) == {}


def test_a_text_is_kept_once(cache: Path) -> None:
    store = VectorStore("model")
    store.put(["a"], unit(1))
    store.put(["a"], unit(1, seed=1))
    assert len(files(cache)) == 1
    assert np.array_equal(store.get(["a"])[0], unit(1)[0])


@pytest.mark.parametrize("damage", [lambda data: data[:-3], lambda data: b"", lambda data: b"x" * len(data)])
def test_damage_is_made_anew_and_hides_nothing_else(cache: Path, damage: Any) -> None:
    VectorStore("model").put(["a"], unit(1))
    VectorStore("model").put(["b"], unit(1, seed=1))
    first = files(cache)[0]
    first.write_bytes(damage(first.read_bytes()))
    assert sorted(VectorStore("model").get(["a", "b"])) == [1]


def test_a_row_that_is_no_unit_vector_is_made_anew(cache: Path) -> None:
    VectorStore("model").put(["a", "b"], unit(2))
    file = files(cache)[0]
    data = bytearray(file.read_bytes())
    data[-4:] = np.float32("nan").tobytes()
    file.write_bytes(bytes(data))
    assert sorted(VectorStore("model").get(["a", "b"])) == [0]


def test_many_small_writes_become_few_files(cache: Path) -> None:
    store = VectorStore("model")
    for number in range(120):
        store.put([str(number)], unit(1, seed=number))
    assert len(files(cache)) <= 49
    assert len(VectorStore("model").get([str(number) for number in range(120)])) == 120
    assert not list((cache / "vectors").rglob("*.tmp"))


def test_the_oldest_go_when_the_room_is_used_up(cache: Path) -> None:
    # 100 rows of 16 bytes key and 16 bytes vector, and 16 of header: 3,216 bytes a file; three fit.
    for number in range(6):
        VectorStore("model", most_bytes=10_000).put([f"{number}-{i}" for i in range(100)], unit(100, seed=number))
    assert sum(file.stat().st_size for file in files(cache)) <= 10_000
    found = VectorStore("model").get([f"{number}-0" for number in range(6)])
    assert sorted(found) == [3, 4, 5]


def test_models_that_are_not_used_go(cache: Path) -> None:
    for number in range(12):
        VectorStore(f"model {number}").put(["a"], unit(1))
    assert len(list((cache / "vectors").iterdir())) == 8
    assert VectorStore("model 11").get(["a"])


def test_where_nothing_can_be_written_nothing_is_lost(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, records: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_write", full)
    store = VectorStore("model")
    store.put(["a"], unit(1))
    assert sorted(store.get(["a"])) == [0]
    assert VectorStore("model").get(["a"]) == {}


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=1, max_size=20, unique=True), st.integers(0, 2**32 - 1))
def test_exactly_what_was_put(texts: list[str], seed: int) -> None:
    rows = unit(len(texts), dimension=7, seed=seed)
    # The folder outlives an example: another example's vectors are another model's.
    model = f"model {seed} {texts!r}"
    VectorStore(model).put(texts, rows)
    found = VectorStore(model).get(texts)
    assert sorted(found) == list(range(len(texts)))
    assert all(np.array_equal(found[i], rows[i]) for i in found)
