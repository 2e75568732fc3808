"""The closest pairs of many vectors, block by block: memory grows with what is kept, not with the square."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["PRECISION", "ClosePairs", "close_pairs", "cosine", "cosines"]

# Rows of a block: 4 MB of similarities.
_BLOCK = 1024
# Pairs that are computed exactly at a time, and in one block before only the closest are.
_PART = 8192
_FEW = 32768
# Decimals of a cosine. The last bits of a float32 depend on the batch a text was encoded in; equal vectors give 1.0.
PRECISION = 6


@dataclass(slots=True)
class ClosePairs:
    """Pairs of rows, closest first."""

    # Row numbers, the smaller one in `a`; cosines rounded to `PRECISION` decimals.
    a: Array
    b: Array
    similarity: Array
    # Pairs at or above the floor, kept or not, and at or above the threshold.
    above_floor: int
    merged: int
    # The closest pair of all, whatever the floor.
    closest: tuple[int, int, float]

    def __len__(self) -> int:
        return len(self.similarity)


def cosines(left: Array, right: Array) -> Array:
    """Cosine of each row of `left` with the same row of `right`; both hold unit vectors."""
    import numpy as np

    exact = np.einsum("ij,ij->i", left.astype(np.float64), right.astype(np.float64))
    found: Array = np.clip(np.round(exact, PRECISION), -1.0, 1.0)
    return found


def cosine(a: Array, b: Array) -> float:
    """Cosine of two unit vectors."""
    return float(cosines(a[None], b[None])[0])


def close_pairs(
    vectors: Array,
    threshold: float,
    floor: float,
    most: int,
    *,
    block: int = _BLOCK,
    each: Callable[[int, int], None] | None = None,
) -> ClosePairs:
    """Every pair of rows at or above `floor`, at most the `most` closest.

    Args:
        vectors: n x d, rows of length 1, n >= 2.
        threshold: pairs at or above it are counted apart.
        floor: at most `threshold`.
        each: called with (rows done, rows) after each row of blocks.
    """
    import numpy as np

    count = len(vectors)
    # A float32 product may lie a little below what the exact one is rounded to.
    slack = 2.0 * 10.0**-PRECISION
    kept: list[tuple[Array, Array]] = []
    held = above_floor = merged = 0
    # Rises to what is still wanted once more than enough is held.
    bar = floor
    best = (0, 1, -2.0)
    for i in range(0, count, block):
        for j in range(i, count, block):
            table = vectors[i : i + block] @ vectors[j : j + block].T
            if i == j:
                table[np.tril_indices(len(table))] = -2.0
            at = int(table.argmax())
            top = float(table.flat[at])
            if top > best[2]:
                best = (i + at // table.shape[1], j + at % table.shape[1], top)
            if top < floor - slack:
                continue
            above, exact = _counts(vectors, table, (i, j), (floor, threshold), slack)
            above_floor += above[0]
            merged += above[1]
            pairs, values = exact if exact is not None else _pairs(vectors, table >= bar - slack, (i, j))
            good = values >= bar
            kept.append((pairs[good], values[good]))
            held += int(good.sum())
            if held > 2 * most:
                kept = [_closest(kept, most)]
                held = most
                bar = float(kept[0][1][-1])
        if each is not None:
            each(min(i + block, count), count)
    pairs, values = _closest(kept, most)
    a, b, _ = best
    return ClosePairs(
        pairs[:, 0], pairs[:, 1], values, above_floor, merged, (a, b, cosine(vectors[a], vectors[b]))
    )  # fmt: skip


def _counts(
    vectors: Array, table: Array, at: tuple[int, int], levels: tuple[float, float], slack: float
) -> tuple[tuple[int, int], tuple[Array, Array] | None]:
    """Pairs of a block at or above either level, and the pairs themselves where they had to be looked at for that."""
    near = table >= levels[0] - slack
    if int(near.sum()) > _FEW:
        # A pair within a millionth of a level is counted by its float32 value: nobody reads such numbers that closely.
        return (int((table >= levels[0]).sum()), int((table >= levels[1]).sum())), None
    pairs, values = _pairs(vectors, near, at)
    return (int((values >= levels[0]).sum()), int((values >= levels[1]).sum())), (pairs, values)


def _pairs(vectors: Array, mask: Array, at: tuple[int, int]) -> tuple[Array, Array]:
    """Row numbers of the pairs that a mask of one block shows, and their exact cosines."""
    import numpy as np

    # Flat places are found three times as fast as pairs of them.
    flat = np.flatnonzero(mask)
    pairs = np.stack((flat // mask.shape[1] + at[0], flat % mask.shape[1] + at[1]), axis=1).astype(np.int32)
    # A part at a time: a block in which everything is close has half a million pairs.
    values = [
        cosines(vectors[pairs[start : start + _PART, 0]], vectors[pairs[start : start + _PART, 1]])
        for start in range(0, len(pairs), _PART)
    ]
    return pairs, np.concatenate(values) if values else np.empty(0)


def _closest(kept: list[tuple[Array, Array]], most: int) -> tuple[Array, Array]:
    import numpy as np

    if not kept:
        return np.empty((0, 2), dtype=np.int32), np.empty(0)
    pairs = np.concatenate([part for part, _ in kept])
    values = np.concatenate([part for _, part in kept])
    # By cosine, then by place, so that the result does not depend on the blocks.
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -values))[:most]
    return pairs[order], values[order]
