"""What the check of a set of prompts costs beside encoding them with MiniLM, from one run.

The prompts are those of the judging sets at hand, as many as there are up to `--prompts` (bars: judging a pair costs at
most 1/50 of encoding its two prompts; everything but encoding at most 5% of encoding). Encoding is timed on every
20th prompt; all vectors are kept, so that a second run measures the rest alone.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from semantic_sets import DEVELOPMENT, JUDGING, read_set, why_not

from pytest_cachesafe.semantic.collisions import find_collisions
from pytest_cachesafe.semantic.detect import Detector
from pytest_cachesafe.semantic.encoder import DEFAULT_ENCODER, load_encoder
from pytest_cachesafe.semantic.judge import CollisionJudge
from pytest_cachesafe.semantic.prompts import PromptSet
from pytest_cachesafe.semantic.similarity import close_pairs

EVERY = 20
PAIRS = 1000


class Kept:
    """An encoder whose vectors are there already."""

    window = None
    notes: list[str] = []  # noqa: RUF012

    def __init__(self, encoder: Any, texts: Sequence[str]) -> None:
        self.name = encoder.name
        self.vectors = encoder.embed(texts)
        self._rows = {text: row for row, text in enumerate(texts)}
        self.window, self.count, self.truncated_ids = encoder.window, encoder.count, encoder.truncated_ids

    def embed(self, texts: Sequence[str]) -> Any:
        """Look up."""
        return self.vectors[[self._rows[text] for text in texts]]


def timed(work: Any) -> tuple[float, Any]:
    """Seconds, and what came out."""
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


def prompts(most: int) -> list[str]:
    """Distinct prompts of the sets at hand, shuffled in one fixed way."""
    names = [name for name in (*DEVELOPMENT, *JUDGING) if why_not(name) is None]
    texts = sorted({text for name in names for pair in read_set(name) for text in (pair.a, pair.b)})
    random.Random(1).shuffle(texts)
    return texts[:most]


def main() -> int:
    """Measure and print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=10_000)
    parser.add_argument("--threshold", type=float, default=0.85)
    options = parser.parse_args()
    texts = prompts(options.prompts)
    if len(texts) < PAIRS:
        print("collisions: too few prompts at hand; `make bench-semantic` brings them", file=sys.stderr)
        return 1
    fresh = load_encoder(DEFAULT_ENCODER, keep=False)
    fresh.embed(texts[:2])
    sample = texts[::EVERY]
    seconds, _ = timed(lambda: fresh.embed(sample))
    each = seconds / len(sample)
    encoding = each * len(texts)
    kept = Kept(load_encoder(DEFAULT_ENCODER), texts)
    floor = options.threshold - 0.05
    matrix, close = timed(lambda: close_pairs(kept.vectors, options.threshold, floor, 100_000))
    judge = CollisionJudge(kept, options.threshold)
    rest, report = timed(lambda: find_collisions(judge, PromptSet.of(texts), threshold=options.threshold))
    shown, _ = timed(lambda: (report.text(), report.as_dict()))
    share = (rest + shown) / encoding
    print(
        f"collisions: {len(texts):,} prompts, encoding {encoding:.0f} s (from {len(sample)} of them), everything else "
        f"{rest + shown:.1f} s = {share:.1%} (bar 5%), of it the matrix {matrix:.1f} s; {len(close):,} close pairs, "
        f"{len(report.collisions):,} collisions"
    )
    pairs = list(zip(texts[:PAIRS], texts[PAIRS : 2 * PAIRS], strict=True))
    if len(close) >= PAIRS:
        # Close pairs take longest: most of their words are the same.
        pairs = [(texts[a], texts[b]) for a, b in zip(close.a[:PAIRS], close.b[:PAIRS], strict=True)]
    detector = Detector()
    detector.compare(*pairs[0])
    cold, _ = timed(lambda: [detector.compare(a, b) for a, b in pairs])
    warm, _ = timed(lambda: [detector.compare(a, b) for a, b in pairs])
    ratio = 2 * each / (cold / len(pairs))
    print(
        f"collisions: a pair is judged in {1e3 * cold / len(pairs):.2f} ms ({1e3 * warm / len(pairs):.2f} ms again), "
        f"1/{ratio:.0f} of encoding its prompts (bar 1/50)"
    )
    return 0 if share <= 0.05 and ratio >= 50 else 1


if __name__ == "__main__":
    sys.exit(main())
