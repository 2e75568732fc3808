"""Mooncake logs: hash ids as tokens, and in their real lengths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe import PrefixCache, UsageError, replay


def line(hash_ids: list[int], unfull: int = 0) -> dict[str, Any]:
    """A line whose last block lacks `unfull` of its 512 tokens."""
    return {"timestamp": 0, "input_length": len(hash_ids) * 512 - unfull, "output_length": 9, "hash_ids": hash_ids}


def as_tokens(entry: dict[str, Any]) -> list[int]:
    """Ids of the real length: 512 of its own for each hash id."""
    tokens = [hash_id * 512 + i for hash_id in entry["hash_ids"] for i in range(512)]
    return tokens[: entry["input_length"]]


@st.composite
def logs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """As in the published logs an id stands for its block and all before it; an unfull block's id is its own."""
    ids: dict[tuple[Any, ...], int] = {}
    out = []
    for path in draw(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=6), min_size=1, max_size=12)):
        unfull = draw(st.sampled_from([0, 0, 1, 511]))
        keys: list[tuple[Any, ...]] = [tuple(path[: end + 1]) for end in range(len(path))]
        if unfull:
            keys[-1] = ("unfull", unfull, *path)
        out.append(line([ids.setdefault(key, len(ids)) for key in keys], unfull))
    return out


@settings(deadline=None)
@given(logs(), st.sampled_from([512, 1024, 1536]), st.sampled_from([None, 4, 8]), st.sampled_from(["vllm", "sglang"]))
def test_real_lengths_equal_real_tokens(log: list[dict[str, Any]], block: int, blocks: int | None, engine: str) -> None:
    report = replay(log, engine, block_size=block, num_blocks=blocks, strict=False)
    tokens = replay([as_tokens(one) for one in log], engine, block_size=block, num_blocks=blocks, strict=False)
    assert report.totals == tokens.totals
    assert report.skipped == tokens.skipped
    assert report.reasons == tokens.reasons


@settings(deadline=None)
@given(logs(), st.integers(2, 20))
def test_ids_as_tokens(log: list[dict[str, Any]], blocks: int) -> None:
    report = replay(log, num_blocks=blocks, strict=False)
    ids = replay([one["hash_ids"] for one in log], block_size=1, num_blocks=blocks, strict=False)
    assert report.totals == ids.totals


def test_the_two_ways_to_count() -> None:
    log = [line([0, 1, 2], 500), line([0, 1, 3])]
    # As tokens: 6 in all, and of the second prompt 0 and 1 are found.
    ids = replay(log)
    assert (ids.tokens, ids.cached_tokens, ids.hit_blocks) == (6, 2, 2)
    assert "each hash id of 512 tokens counts as one token" in ids.text()
    # In real lengths: 1,036 + 1,536 tokens; 2 blocks of 512 are found.
    real = replay(log, block_size=512)
    assert (real.tokens, real.cached_tokens, real.hit_blocks) == (2572, 1024, 2)
    # One block of 1,024 is found.
    double = replay(log, block_size=1024)
    assert (double.tokens, double.cached_tokens, double.hit_blocks) == (2572, 1024, 1)


@pytest.mark.parametrize("block_size", [2, 16, 256, 513, 1000])
def test_other_block_sizes_are_refused(block_size: int) -> None:
    with pytest.raises(UsageError, match="a multiple of 512"):
        replay([line([0, 1])], block_size=block_size)


def test_engines_without_blocks_of_that_size() -> None:
    with pytest.raises(UsageError, match="not for lmcache"):
        replay([line([0, 1])], "lmcache")
    assert replay([line([0, 1])] * 2, "llamacpp").cached_tokens == 1
    assert replay([line([0, 1])] * 2, PrefixCache("vllm", block_size=1)).cached_tokens == 1
    with pytest.raises(UsageError, match="block_size=512"):
        replay([line([0, 1])], PrefixCache("vllm", block_size=512))


# Hit blocks of the real cache manager (vLLM 0.33.0) per usable blocks, one request at a time, without output.
PUBLISHED = {
    "conversation_trace.jsonl": {1_000: 12_837, 10_000: 60_971, 50_000: 102_165},
    "synthetic_trace.jsonl": {1_000: 10_239, 10_000: 51_548, 50_000: 77_740},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_traces(name: str) -> None:
    from pytest_cachesafe.models.cache import cache_root

    path = cache_root() / "traces" / name
    if not path.is_file():
        pytest.skip(f"{name} (kvcache-ai/Mooncake, FAST25-release/traces) is not in {path.parent}")
    expected = PUBLISHED[name]
    # The null block counts.
    report = replay(path, summary=True, reasons=False, num_blocks=1_001, sweep={"blocks": [n + 1 for n in expected]})
    assert {point.num_blocks: point.totals.hit_blocks for point in report.sweep} == {
        usable + 1: hits for usable, hits in expected.items()
    }
    assert report.hit_blocks == expected[1_000]


def test_a_log_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in [line([0, 1]), line([0, 2])]))
    assert replay(path).hit_blocks == 1
    with pytest.raises(UsageError, match="Mooncake hash ids in a log of token ids"):
        replay(path, trace_format="ids")
