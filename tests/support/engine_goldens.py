"""What the real engines did, kept as text: `python tests/support/engine_goldens.py` writes the files anew.

A golden is a file of JSON lines under tests/engines/goldens. The first line says what made it; each further line is a
step of `engine_traffic` and, under `gives`, its outcome on the real engine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from engine_drive import run_real
from engine_traffic import sglang_traffic, vllm_traffic
from fetch_engines import ENGINES

__all__ = ["GOLDENS", "digest_steps", "read_golden", "unit_steps"]

Step = dict[str, Any]
_FOLDER = Path(__file__).parent.parent / "engines" / "goldens"


def _unit(name: str, block_size: int = 16, num_blocks: int = 11, **options: Any) -> Step:
    return {"engine": "vllm", "block_size": block_size, "num_blocks": num_blocks, **options, "unit": name}


def unit_steps() -> list[Step]:
    """What vLLM's own unit tests of its manager do (tests/v1/core/test_prefix_caching.py, 2026-11), as steps."""
    # Three full blocks of the same ids, then a tail that differs.
    common = [block for block in range(3) for _ in range(16)]
    image = [["aaa", 14, 2], ["aaa", 16, 10], ["bbb", 26, 22]]
    other = [["aaa", 14, 2], ["aaa", 16, 10], ["ccc", 26, 22]]
    return [
        _unit("prefill"),
        {"request": "0", "tokens": common + [3] * 7},
        {"request": "1", "tokens": common + [3] * 5},
        {"free": "0"},
        {"free": "1"},
        {"request": "2", "tokens": common + [3] * 6},
        {"free": "2"},
        {"request": "3", "tokens": [99] * (16 * 10)},
        _unit("requests that may not read"),
        {"request": "0", "tokens": common + [3] * 7, "read": False},
        {"request": "1", "tokens": common + [3] * 5},
        {"request": "2", "tokens": common + [3] * 6, "read": False},
        _unit("decode"),
        {"request": "0", "tokens": common + [3] * 7},
        {"append": "0", "tokens": [8] * 5},
        {"append": "0", "tokens": [7] * 19},
        _unit("evict"),
        {"request": "0", "tokens": list(range(5 * 16 + 7))},
        {"request": "1", "tokens": list(range(16 * 5, 16 * 8))},
        {"free": "0"},
        {"free": "1"},
        {"request": "2", "tokens": [*range(2 * 16), 2 * 16]},
        _unit("a key is only used with its content"),
        {"request": "0", "tokens": list(range(16))},
        {"free": "0"},
        {"request": "1", "tokens": list(range(17))},
        _unit("found blocks are not taken for new ones", num_blocks=3),
        {"request": "0", "tokens": list(range(16))},
        {"request": "1", "tokens": list(range(16, 32))},
        {"free": "0"},
        {"free": "1"},
        {"request": "2", "tokens": list(range(32))},
        _unit("caching off", block_size=4, num_blocks=5, caching=False),
        {"request": "1", "tokens": list(range(10))},
        {"free": "1"},
        {"request": "2", "tokens": list(range(16))},
        {"request": "3", "tokens": list(range(4))},
        _unit("multimodal items"),
        {"request": "0", "tokens": [*range(14), *[999] * 34, *[100] * 7], "mm": image},
        {"append": "0", "tokens": [8] * 6},
        {"request": "1", "tokens": [*range(14), *[999] * 34, *[200] * 5], "mm": other},
        _unit("salts"),
        {"request": "0", "tokens": common + [3] * 11, "salt": "salt1"},
        {"append": "0", "tokens": [8] * 6},
        {"request": "1", "tokens": common + [4] * 5, "salt": "salt1"},
        {"request": "2", "tokens": common + [4] * 11, "salt": "salt2"},
        _unit("too few blocks although some are found"),
        {"request": "0", "tokens": list(range(16 * 3))},
        {"request": "1", "tokens": list(range(16 * 6))},
        {"free": "1"},
        {"request": "2", "tokens": [5] * (16 * 2)},
        {"request": "3", "tokens": list(range(16 * 9))},
        _unit("reset"),
        {"request": "0", "tokens": [*range(16 * 3), 3, 3, 3]},
        {"request": "1", "tokens": [*range(16 * 3), 4, 4, 4, 4]},
        {"reset": True},
        {"free": "0"},
        {"free": "1"},
        {"reset": True},
        {"request": "2", "tokens": [*range(16 * 3), 5]},
    ]


def digest_steps() -> list[Step]:
    """Keys at the edges of their encoding."""
    numbers = [0, 1, 23, 24, 255, 256, 65535, 65536, 2**31 - 1]
    requests: list[Step] = [
        {},
        {"salt": "s"},
        {"salt": "Schlüssel 🔑"},
        {"salt": "x" * 23},
        {"salt": "x" * 24},
        {"salt": "x" * 300},
        {"lora": ["adapter", "/models/adapter"]},
        {"lora": ["Ä", "/" + "m" * 300]},
        # Offsets count from the block's start: below zero in the blocks after the first.
        {"mm": [["image", 1, 7]]},
        {"mm": [["a", 0, 1], ["b", 1, 2], ["c", 3, 6]], "salt": "s", "lora": ["adapter", "/models/adapter"]},
        {"mm": [["a" * 64, 2, 2]]},
    ]
    steps: list[Step] = []
    for start in ({"hash": "sha256_cbor"}, {"hash": "sha256_cbor", "none_hash_seed": "0"}):
        for size in (1, 4):
            steps.append({"engine": "vllm", "block_size": size, "num_blocks": 20, **start})
            for number, more in enumerate(requests):
                steps += [{"request": str(number), "tokens": numbers, **more}, {"free": str(number)}]
    return steps


def _vllm() -> list[Step]:
    return list(vllm_traffic(7, 70))


def _hashed() -> list[Step]:
    """Digests and KV events."""
    return list(vllm_traffic(8, 25, hash="sha256_cbor", events=True, int_block_hashes=False))


def _sglang() -> list[Step]:
    return list(sglang_traffic(7, 50))


# Name of the file: engine, the steps, and how to tell it to a reader.
GOLDENS: dict[str, tuple[str, Callable[[], list[Step]], str]] = {
    "vllm_units": ("vllm", unit_steps, "engine_goldens.unit_steps()"),
    "vllm_digests": ("vllm", digest_steps, "engine_goldens.digest_steps()"),
    "vllm_traffic": ("vllm", _vllm, "engine_traffic.vllm_traffic(7, 70)"),
    "vllm_events": ("vllm", _hashed, "engine_traffic.vllm_traffic(8, 25, hash='sha256_cbor', events=True, …)"),
    "sglang_traffic": ("sglang", _sglang, "engine_traffic.sglang_traffic(7, 50)"),
}


def read_golden(name: str) -> tuple[list[Step], list[Step]]:
    """Steps, and their outcomes on the real engine."""
    lines = [json.loads(line) for line in (_FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    outcomes = [line.pop("gives") for line in lines[1:]]
    return lines[1:], outcomes


def main(names: Iterable[str]) -> int:
    """Write the named goldens, all if none is named."""
    _FOLDER.mkdir(exist_ok=True)
    for name in names or GOLDENS:
        engine, steps_of, words = GOLDENS[name]
        steps = steps_of()
        outcomes = run_real(engine, steps)
        head = {"made_by": f"{engine} {ENGINES[engine]}", "steps": words}
        lines = [head, *({**step, "gives": gives} for step, gives in zip(steps, outcomes, strict=True))]
        text = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)
        (_FOLDER / f"{name}.jsonl").write_text(text, encoding="utf-8")
        sys.stdout.write(f"{name}: {len(steps)} steps, {len(text)} characters\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
