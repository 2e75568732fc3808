"""KV reuse on the real model: a prefix of 800 tokens with 20 questions of 10 tokens, against computing every prompt.

Reuse and recomputing take turns, question by question, in one process. Prints tokens, seconds and their ratios (bars:
at least 15x fewer prefill tokens, at least 5x less prefill time) and the largest logit difference (bar at float32:
1e-3, with equal greedy text); at float32 also what copies and cropping back cost, beside a cache shared by mistake.
`--dtype` (repeatable) adds runs in other types, `--questions N` shortens them.
"""

from __future__ import annotations

import argparse
import sys
import time

from pytest_cachesafe.kv import KVProbe

SENTENCE = "The library opens at nine and closes at six. Members may borrow up to five books for three weeks. "


def run(model: str, dtype: str, questions: int, threads: int | None) -> bool:
    """One run; whether the bars are met (only the full run at float32 is judged)."""
    started = time.perf_counter()
    probe = KVProbe.load(model, dtype=dtype, threads=threads)
    print(f"kv {dtype}: loaded in {time.perf_counter() - started:.1f} s")
    prefix = (probe.encode(SENTENCE) * 50)[:800]
    asked = [probe.encode(f"\nQuestion {n}: may I renew a book twice, please?")[:10] for n in range(questions)]
    report = probe.reuse(prefix, asked)
    fewer = report.prompt_tokens / report.computed_tokens
    faster = (report.recompute_seconds or 0.0) / report.seconds
    print(report)
    print(f"kv {dtype}: {fewer:.1f}x fewer prefill tokens (bar 15), {faster:.1f}x less prefill time (bar 5)")
    for way, other in probe.ways(prefix, asked[:5], verify=0).items() if dtype == "float32" else ():
        spent, held = other.seconds - other.prefix_seconds, other.peak_bytes / 2**20
        right = "" if other.prefix_intact else ", prefix spoilt"
        print(
            f"kv {dtype}: {way:6} {spent:.3f} s for {len(other.continuations)} suffixes, at most {held:.1f} MiB{right}"
        )
    exact = bool(report.same_text) and (report.largest_difference or 0.0) <= 1e-3
    return dtype != "float32" or questions < 20 or (fewer >= 15 and faster >= 5 and exact)


def main() -> int:
    """Measure and print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="HuggingFaceTB/SmolLM2-135M-Instruct")
    parser.add_argument("--dtype", action="append", choices=("float32", "bfloat16", "float16"))
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    # Every run is made, whatever the first ones say.
    good = [run(options.model, dtype, options.questions, options.threads) for dtype in options.dtype or ["float32"]]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
