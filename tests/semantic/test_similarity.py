"""The closest pairs: the same as of the whole matrix, whatever the blocks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.semantic.similarity import close_pairs, cosine, cosines

np = pytest.importorskip("numpy")


def unit(count: int, dimension: int, seed: int) -> Any:
    rows = np.random.default_rng(seed).standard_normal((count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def naive(vectors: Any, floor: float) -> list[tuple[float, int, int]]:
    exact = vectors.astype(np.float64) @ vectors.astype(np.float64).T
    pairs = [
        (-round(float(exact[a, b]), 6), a, b)
        for a in range(len(vectors))
        for b in range(a + 1, len(vectors))
        if round(float(exact[a, b]), 6) >= floor
    ]
    return sorted(pairs)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 40), st.integers(1, 4), st.integers(0, 10**6), st.floats(-1, 1), st.integers(1, 9), st.booleans())
def test_as_the_whole_matrix(count: int, dimension: int, seed: int, floor: float, block: int, twins: bool) -> None:
    vectors = unit(count, dimension, seed)
    if twins:
        vectors[count // 2 :] = vectors[: count - count // 2]
    expected = naive(vectors, floor)
    found = close_pairs(vectors, floor, floor, 10_000, block=block)
    got = sorted(zip((-found.similarity).tolist(), found.a.tolist(), found.b.tolist(), strict=True))
    # Values of the two ways may differ in the last decimal, and with it who is at the floor.
    edge = {(a, b) for value, a, b in expected + got if abs(-value - floor) < 5e-6}
    assert [pair[1:] for pair in sorted(got, key=lambda p: p[1:]) if pair[1:] not in edge] == [
        pair[1:] for pair in sorted(expected, key=lambda p: p[1:]) if pair[1:] not in edge
    ]
    assert list(found.similarity) == sorted(found.similarity, reverse=True)
    best = naive(vectors, -2)[0]
    assert found.closest[2] == pytest.approx(-best[0], abs=2e-6)


@settings(deadline=None, max_examples=40)
@given(st.integers(3, 40), st.integers(0, 10**6), st.integers(1, 30), st.integers(2, 16))
def test_the_most_are_the_closest(count: int, seed: int, most: int, block: int) -> None:
    vectors = unit(count, 3, seed)
    every = close_pairs(vectors, 0.5, -1.0, 10_000, block=block)
    few = close_pairs(vectors, 0.5, -1.0, most, block=block)
    assert few.similarity == pytest.approx(every.similarity[:most], abs=1e-9)
    assert few.above_floor == every.above_floor == count * (count - 1) // 2
    assert few.merged == int((every.similarity >= 0.5).sum())


def test_the_blocks_change_nothing() -> None:
    vectors = unit(300, 8, 5)
    results = [close_pairs(vectors, 0.8, 0.7, 500, block=block) for block in (7, 64, 300, 1024)]
    for other in results[1:]:
        assert np.array_equal(other.a, results[0].a)
        assert np.array_equal(other.b, results[0].b)
        assert (other.merged, other.above_floor, other.closest) == (
            results[0].merged,
            results[0].above_floor,
            results[0].closest,
        )


def test_equal_vectors_are_at_one() -> None:
    row = unit(1, 384, 3)[0]
    assert cosine(row, row.copy()) == 1.0
    assert cosine(row, -row) == -1.0
    assert list(cosines(np.stack([row, row]), np.stack([row, -row]))) == [1.0, -1.0]


def test_it_says_how_far_it_is() -> None:
    seen: list[tuple[int, int]] = []
    close_pairs(unit(10, 3, 0), 0.9, 0.9, 10, block=4, each=lambda done, whole: seen.append((done, whole)))
    assert seen == [(4, 10), (8, 10), (10, 10)]
