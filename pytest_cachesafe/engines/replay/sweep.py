"""Which other caches a log is fed to in the same read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from pytest_cachesafe.engines.cache import check_size
from pytest_cachesafe.engines.replay.shape import Shape
from pytest_cachesafe.usage import UsageError

__all__ = ["parse_sweeps", "sweep_shapes"]

_AXES = ("blocks", "block_size", "salt")
# Caches that are fed at once; each costs as much as the replay itself.
_MOST = 64


def parse_sweeps(texts: Iterable[str]) -> dict[str, list[Any]]:
    """`--sweep blocks=1000,10000`, `block_size=16,32`, `salt=none`, as the `sweep=` argument takes them.

    Raises:
        UsageError: an unknown axis, or a value that is none of it.
    """
    found: dict[str, list[Any]] = {}
    for text in texts:
        axis, equals, values = text.partition("=")
        axis = axis.strip().replace("-", "_")
        if not equals or axis not in _AXES:
            near = difflib.get_close_matches(axis, _AXES, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(_AXES)}"
            raise UsageError(f"--sweep {text!r}: expected AXIS=V1,V2; {hint}")
        found.setdefault(axis, []).extend(_value(axis, word.strip()) for word in values.split(",") if word.strip())
    return found


def _value(axis: str, word: str) -> Any:
    if axis == "salt" or (axis == "blocks" and word in ("unlimited", "none")):
        return word
    digits = word.replace("_", "")
    if not digits.isdecimal():
        raise UsageError(f"--sweep {axis}: {word!r} is no whole number")
    return int(digits)


def sweep_shapes(base: Shape, sweep: Mapping[str, Sequence[Any]], options: Mapping[str, Any]) -> list[Shape]:
    """Every combination of the values, in order; an axis that is not swept stays as it is.

    Where block sizes are swept and blocks are not, the pool keeps its size in tokens.

    Raises:
        UsageError: an unknown axis, no values, more than 64 caches, a size that the engine cannot have.
    """
    for axis, values in sweep.items():
        if axis not in _AXES:
            raise UsageError(f"sweep has no axis {axis!r}; known: {', '.join(_AXES)}")
        if isinstance(values, (str, int)) or not values:
            raise UsageError(f"sweep {axis}: a list of values is meant, at least one")
    sizes = list(dict.fromkeys(sweep.get("block_size", [base.block_size])))
    blocks: list[Any] = list(dict.fromkeys(sweep.get("blocks", ["same"])))
    salts = [base.salts]
    for word in sweep.get("salt", []):
        if word not in ("none", "log"):
            raise UsageError(f"sweep salt: {word!r} is none of log (as the log has them), none (left out)")
        if (word == "log") not in salts:
            salts.append(word == "log")
    if len(sizes) * len(blocks) * len(salts) > _MOST:
        raise UsageError(f"sweep: {len(sizes) * len(blocks) * len(salts)} caches; at most {_MOST} in one read")
    return [
        Shape(
            base.engine,
            size if base.engine != "llamacpp" else None,
            _blocks(base, count, size),
            dict(options),
            mooncake=base.mooncake,
            salts=salted,
        )
        for size, count, salted in product(sizes, blocks, salts)
    ]


def _blocks(base: Shape, count: Any, size: int) -> int | None:
    if count in ("unlimited", "none", None):
        return None
    if count != "same":
        return check_size("blocks", count)
    if base.num_blocks is None or size == base.block_size:
        return base.num_blocks
    # vLLM's null block holds nothing.
    null = 1 if base.engine in ("vllm", "lmcache") else 0
    return max((base.num_blocks - null) * base.block_size // size, 1) + null
