"""What the check of a set of prompts costs beside encoding them with MiniLM, from one run.

The prompts are those of the judging sets at hand, as many as there are up to `--prompts` (bars: judging a pair costs at
most 1/50 of encoding its two prompts; everything but encoding at most 5% of encoding). All vectors are kept, so that a
second run measures the rest alone.

Both sides run on one thread, as the detector does, and are measured in CPU seconds, which other work on the machine
changes least; with `--threads` above 1 encoding and matrix get them, and the clock on the wall counts. Encoding is
timed in batches: two prompts by themselves take longer. A pair is judged cold: once, with neither of its prompts seen
before, by tables in which no word was looked up. The pairs are drawn evenly from all that a check judges, and the
prompts that are encoded for comparison are theirs. Garbage is collected as ever, but the collector does not walk
through the model and the word tables each time, which otherwise falls to whoever is measured when it is due.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from semantic_sets import DEVELOPMENT, JUDGING, read_set, why_not

from pytest_cachesafe.semantic.collisions import find_collisions
from pytest_cachesafe.semantic.detect import Detector
from pytest_cachesafe.semantic.encoder import DEFAULT_ENCODER, Encoder, load_encoder
from pytest_cachesafe.semantic.judge import CollisionJudge
from pytest_cachesafe.semantic.prompts import PromptSet
from pytest_cachesafe.semantic.similarity import close_pairs
from pytest_cachesafe.semantic.tables import Tables

EVERY = 20
PAIRS = 1000
# Pairs that are judged between two times of encoding; fewer prompts at a time would be padded more.
TURN = 250


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


def timed(work: Any, clock: Callable[[], float]) -> tuple[float, Any]:
    """Seconds, and what came out."""
    started = clock()
    found = work()
    return clock() - started, found


def settled() -> None:
    """Leaves what is there to itself: from now on the garbage collector walks through what is made after this."""
    gc.collect()
    gc.freeze()


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
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    # Read when numpy and torch are first imported.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    clock = time.process_time if options.threads == 1 else time.perf_counter
    texts = prompts(options.prompts)
    if len(texts) < PAIRS:
        print("collisions: too few prompts at hand; `make bench-semantic` brings them", file=sys.stderr)
        return 1
    kept = Kept(load_encoder(DEFAULT_ENCODER), texts)
    fresh = load_encoder(DEFAULT_ENCODER, keep=False)
    fresh.embed(texts[:2])
    floor = options.threshold - 0.05
    matrix, close = timed(lambda: close_pairs(kept.vectors, options.threshold, floor, 100_000), clock)
    pairs = list(zip(texts[:PAIRS], texts[PAIRS : 2 * PAIRS], strict=True))
    if len(close) >= PAIRS:
        some = range(0, len(close), len(close) // PAIRS)
        pairs = [(texts[close.a[at]], texts[close.b[at]]) for at in some][:PAIRS]
    ratio = judged(pairs, fresh, clock)
    seconds, _ = timed(lambda: fresh.embed(texts[::EVERY]), clock)
    encoding = seconds / len(texts[::EVERY]) * len(texts)
    # Tables of its own: no word has been looked up in them.
    judge = CollisionJudge(kept, options.threshold, tables=Tables.default().with_user())
    settled()
    rest, report = timed(lambda: find_collisions(judge, PromptSet.of(texts), threshold=options.threshold), clock)
    shown, _ = timed(lambda: (report.text(), report.as_dict()), clock)
    share = (rest + shown) / encoding
    print(
        f"collisions: {len(texts):,} prompts, encoding {encoding:.0f} s (from {len(texts[::EVERY])} of them), "
        f"everything else {rest + shown:.2f} s = {share:.1%} (bar 5%), of it the matrix {matrix:.1f} s; "
        f"{len(close):,} close pairs, {len(report.collisions):,} collisions"
    )
    return 0 if share <= 0.05 and ratio >= 50 else 1


def judged(pairs: Sequence[tuple[str, str]], encoder: Encoder, clock: Callable[[], float]) -> float:
    """How many times as long as judging them it takes to encode pairs; both by turns, so that both meet one machine."""
    detector = Detector(Tables.default().with_user())
    detector.compare("Is it safe?", "Is it not safe?")
    settled()
    cold = encoding = 0.0
    encoded = 0
    for start in range(0, len(pairs), TURN):
        turn = pairs[start : start + TURN]
        some = list(dict.fromkeys(text for pair in turn[::2] for text in pair))
        encoding += timed(lambda some=some: encoder.embed(some), clock)[0]
        encoded += len(some)
        cold += timed(lambda turn=turn: [detector.compare(a, b) for a, b in turn], clock)[0]
    warm, _ = timed(lambda: [detector.compare(a, b) for a, b in pairs], clock)
    each = 2 * encoding / encoded
    ratio = each / (cold / len(pairs))
    print(
        f"collisions: a pair is judged in {1e3 * cold / len(pairs):.3f} ms ({1e3 * warm / len(pairs):.3f} ms again), "
        f"its prompts are encoded in {1e3 * each:.1f} ms: 1/{ratio:.0f} (bar 1/50; {len(pairs):,} pairs)"
    )
    return ratio


if __name__ == "__main__":
    sys.exit(main())
