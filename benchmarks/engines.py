"""What a replay through our vLLM costs, beside vLLM's own cache manager in the same process.

Ratios of CPU seconds from one run; ours and theirs take turns, the best of a few counts, and both must find the same.
From a list of token ids to blocks that are free again: that is one request. vLLM's share that goes into its keys (a
SHA-256 per block) is told apart, since ours needs no digests. The traces are those of kvcache-ai/Mooncake,
FAST25-release/traces, looked for under `traces` in the cache folder; without them a made one of the same size serves.

Then, with ours alone: many generated requests of 2,000 tokens, and a log of 20,000 lines through `cachesafe simulate`.
Peak memory is told early and late: it must not grow with what was read. `--full` sends a million requests, not 100,000.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.models.cache_folder import cache_root

SUPPORT = Path(__file__).parent.parent / "tests" / "support"
# Blocks in use of the pool, beside the null block.
USABLE = (1_000, 10_000, 50_000)
TRACES = ("conversation", "synthetic")
# The fastest of how many runs counts.
RUNS = 3


def made_trace(requests: int = 12_031) -> list[list[int]]:
    """Conversations that are taken up again: about 24 blocks a request, a good third of them seen before."""
    rng = random.Random(11)
    fresh = iter(range(1, 1 << 30))
    talks: list[list[int]] = []
    found = []
    for _ in range(requests):
        if talks and rng.random() < 0.5:
            talk = talks[-min(len(talks), int(rng.expovariate(1 / 300)) + 1)]
        else:
            talks.append(talk := [0])
        talk.extend(next(fresh) for _ in range(rng.randint(1, 30)))
        found.append(list(talk))
    return found


def traces() -> Iterator[tuple[str, list[list[int]]]]:
    """Name, and the ids of every request."""
    for name in TRACES:
        path = cache_root(create=False) / "traces" / f"{name}_trace.jsonl"
        if path.is_file():
            with path.open(encoding="utf-8") as lines:
                yield f"{name} trace", [json.loads(line)["hash_ids"] for line in lines]
    if not (cache_root(create=False) / "traces" / f"{TRACES[0]}_trace.jsonl").is_file():
        yield "made trace (Mooncake's is not in the cache folder)", made_trace()


def ours(prompts: Sequence[list[int]], block_size: int, num_blocks: int) -> int:
    """Blocks found, with one request at a time."""
    cache = PrefixCache("vllm", block_size=block_size, num_blocks=num_blocks)
    hits = 0
    for prompt in prompts:
        request = cache.request(prompt)
        hits += request.cached_tokens
        if request.admitted:
            request.free()
    return hits // block_size


class Theirs:
    """vLLM's manager on the same requests."""

    def __init__(self, real: SimpleNamespace) -> None:
        from real_vllm import block_hasher

        self.real = real
        self.block_hasher = block_hasher

    def manager(self, block_size: int, num_blocks: int) -> object:
        real = self.real
        spec = real.FullAttentionSpec(block_size=block_size, num_kv_heads=1, head_size=1, dtype=real.torch.float32)
        config = real.KVCacheConfig(
            num_blocks=num_blocks, kv_cache_tensors=[], kv_cache_groups=[real.KVCacheGroupSpec(["layer"], spec)]
        )
        return real.KVCacheManager(
            config, max_model_len=1 << 20, scheduler_block_size=block_size, hash_block_size=block_size
        )

    def make(self, prompts: Sequence[list[int]], block_size: int) -> Iterator[object]:
        """Requests, which hash their blocks when they are made."""
        real = self.real
        hasher = self.block_hasher(real, block_size)
        parameters = real.SamplingParams(max_tokens=1)
        for number, prompt in enumerate(prompts):
            yield real.Request(str(number), prompt, parameters, None, block_hasher=hasher)

    def __call__(self, prompts: Sequence[list[int]], block_size: int, num_blocks: int) -> int:
        manager = self.manager(block_size, num_blocks)
        hits = 0
        for request in self.make(prompts, block_size):
            blocks, hit, _ = manager.get_computed_blocks(request)  # type: ignore[attr-defined]
            hits += hit
            new = request.num_tokens - hit  # type: ignore[attr-defined]
            if manager.allocate_slots(request, new, hit, blocks) is not None:  # type: ignore[attr-defined]
                manager.free(request)  # type: ignore[attr-defined]
        return hits // block_size


def cpu(work: Callable[[], int]) -> tuple[float, int]:
    """CPU seconds, and what came out."""
    gc.collect()
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def compare(
    real: SimpleNamespace | None, name: str, prompts: list[list[int]], block_size: int, usable: int, runs: int
) -> float:
    """Print one line; the ratio, 0 without vLLM's code."""
    theirs = Theirs(real) if real is not None else None
    best = {"ours": 1e9, "theirs": 1e9, "keys": 1e9}
    for _ in range(runs):
        seconds, hits = cpu(lambda: ours(prompts, block_size, usable + 1))
        best["ours"] = min(best["ours"], seconds)
        if theirs is not None:
            seconds, other = cpu(lambda: theirs(prompts, block_size, usable + 1))
            best["theirs"] = min(best["theirs"], seconds)
            assert hits == other, f"{name}, {usable} blocks: ours finds {hits}, vLLM {other}"
            best["keys"] = min(best["keys"], cpu(lambda: sum(1 for _ in theirs.make(prompts, block_size)))[0])
    words = f"  {usable:6,} blocks: {hits:9,} found, ours {best['ours']:.2f} s"
    if theirs is None:
        print(words)
        return 0.0
    ratio = best["theirs"] / best["ours"]
    without = (best["theirs"] - best["keys"]) / best["ours"]
    print(f"{words}, vLLM {best['theirs']:.2f} s: {ratio:.1f}x faster ({without:.1f}x without making its keys)")
    return ratio


def peak() -> float:
    """Peak resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1 << 20)


def prompts(count: int, length: int = 2_000) -> Iterator[list[int]]:
    """Prompts of `length` tokens: one of 50 prefixes of a half, then ids of their own, or an earlier prompt again."""
    rng = random.Random(5)
    stock = array("i", (rng.randrange(50_000) for _ in range(200_000))).tolist()
    half = length // 2
    recent: list[list[int]] = []
    for _ in range(count):
        if recent and rng.random() < 0.3:
            yield recent[rng.randrange(len(recent))]
            continue
        prefix, at = rng.randrange(50) * half, rng.randrange(len(stock) - half)
        prompt = stock[prefix : prefix + half] + stock[at : at + half]
        # Ids of its own, wherever the stock was cut before.
        prompt[half] = rng.randrange(50_000)
        recent = [*recent[-99:], prompt]
        yield prompt


def many(count: int) -> None:
    """Send generated prompts and print time and memory; a process of its own."""
    cache = PrefixCache("vllm", block_size=16, num_blocks=20_001)
    start, hits, making = time.process_time(), 0, 0.0
    early = 0.0
    for number, prompt in enumerate(prompts(count), 1):
        request = cache.request(prompt)
        hits += request.cached_tokens
        request.free()
        if number == count // 10:
            early = peak()
    spent = time.process_time() - start
    start = time.process_time()
    for _ in prompts(count):
        pass
    making = time.process_time() - start
    print(
        f"{count:,} generated requests of 2,000 tokens, 20,000 blocks of 16: {spent - making:.0f} s "
        f"({1e6 * (spent - making) / count:.0f} µs each; making them took {making:.0f} s), "
        f"{hits / count / 20:.0f} % found; peak {early:.0f} MB at 10 %, {peak():.0f} MB at the end"
    )


def log(lines: int, folder: Path) -> Path:
    """A log of prompts of 500 tokens."""
    path = folder / f"{lines}.jsonl"
    with path.open("w", encoding="utf-8") as target:
        for prompt in prompts(lines, 500):
            target.write(json.dumps({"prompt_token_ids": prompt}) + "\n")
    return path


def simulate(lines: int, folder: Path, *more: str) -> tuple[float, float]:
    """CPU seconds and peak memory in MB of `cachesafe simulate`."""
    path = log(lines, folder)
    command = [sys.executable, "-m", "pytest_cachesafe", "simulate", str(path), "--engine", "vllm", "--blocks", "2001"]
    code = (
        "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "u = resource.getrusage(resource.RUSAGE_CHILDREN); print(u.ru_utime + u.ru_stime, u.ru_maxrss);"
        "sys.exit(done.returncode)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command, "--output-format", "json", *more],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds, memory = map(float, done.stdout.split())
    path.unlink()
    return seconds, memory / (1024 if sys.platform != "darwin" else 1 << 20)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the lines; 1 if the bar of five times vLLM's speed on the conversation trace is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="a million generated requests (minutes)")
    parser.add_argument("--many", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.many:
        many(options.many)
        return 0
    sys.path.insert(0, str(SUPPORT))
    import real_vllm
    from fetch_engines import ENGINES, why_not

    reason = why_not("vllm")
    real = None
    if reason is None:
        try:
            real = real_vllm.load()
        except ImportError as error:
            reason = f"vLLM's code cannot be imported: {error}"
    # What vLLM brought into the process is no garbage of either side.
    gc.collect()
    gc.freeze()
    print(f"prefix cache of vLLM {ENGINES['vllm']}, CPU seconds" + (f" (ours alone: {reason})" if reason else ""))
    missed = False
    for name, found in traces():
        print(f"{name}: {len(found):,} requests, one block per id, one request at a time")
        for usable in USABLE:
            barred = not name.startswith("synthetic")
            ratio = compare(real, name, found, 1, usable, RUNS if barred else 1)
            missed |= real is not None and barred and ratio < 5
    print("generated: 2,000 requests of 2,000 tokens, blocks of 16")
    compare(real, "generated", list(prompts(2_000)), 16, 10_000, 1)
    count = 1_000_000 if options.full else 100_000
    subprocess.run([sys.executable, __file__, "--many", str(count)], check=True)
    with tempfile.TemporaryDirectory() as folder:
        # What it remembers to tell why tokens were missed grows to a bound of its own.
        for more in ([], ["--summary"], ["--summary", "--no-reasons"]):
            _, small = simulate(2_000, Path(folder), *more)
            seconds, large = simulate(20_000, Path(folder), *more)
            words = " ".join(["cachesafe simulate", *more])
            print(
                f"{words}: 20,000 lines of 500 tokens in {seconds:.1f} s; "
                f"peak {large:.0f} MB, {small:.0f} MB with 2,000 lines"
            )
    if missed:
        print("MISSED: at least five times vLLM's speed on the conversation trace")
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
