"""A log over several workers: their results add up to that of one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_cachesafe import UsageError, replay
from pytest_cachesafe.engines.replay.merge import merge
from pytest_cachesafe.engines.replay.shards import Shards

Lines = st.lists(
    st.one_of(
        st.builds(
            lambda ids, replica, tag, time, output: {
                "prompt_token_ids": ids,
                "replica": replica,
                "tenant": tag,
                "tag": tag,
                "timestamp": time,
                "output_token_ids": output,
            },
            st.lists(st.integers(0, 1), min_size=1, max_size=50),
            st.sampled_from([None, "r0", "r1", "r2", "r3"]),
            st.sampled_from(["a", "b"]),
            st.integers(0, 500),
            st.lists(st.integers(0, 1), max_size=4),
        ),
        st.just({"prompt_token_ids": []}),
    ),
    min_size=1,
    max_size=30,
).filter(lambda lines: any(line["prompt_token_ids"] for line in lines))


@settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(Lines, st.integers(1, 5), st.sampled_from(["replica", "tenant"]), st.sampled_from(["requests", "seconds"]))
def test_shards_add_up_to_the_whole(
    tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, Any]], count: int, by: str, window_by: str
) -> None:
    path = tmp_path_factory.mktemp("t") / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    # Usable are 11 blocks of 4 tokens, so that prompts of more than 44 do not fit.
    options: dict[str, Any] = {
        "block_size": 4,
        "num_blocks": 12,
        "live": 2,
        "sweep": {"blocks": [12, 30]},
        "window_by": window_by,
        "window": 100 if window_by == "seconds" else None,
    }
    whole = replay(path, shard_by=by, **options)
    parts = [replay(path, shard_by=by, shard=(i, count), **options) for i in range(count)]
    assert sum(part.requests for part in parts) == whole.requests
    merged = merge([(f"{i}.json", json.loads(json.dumps(part.as_dict()))) for i, part in enumerate(reversed(parts))])
    assert merged.as_dict() == whole.as_dict()


def test_each_key_has_a_cache_of_its_own() -> None:
    ids = list(range(9))
    log = [{"prompt_token_ids": ids, "replica": replica} for replica in ("a", "b", "a", None, None)]
    # a and the one without a name find their own prompt once: 8 tokens each.
    assert replay(log, block_size=4, shard_by="replica").cached_tokens == 16
    assert replay(log, block_size=4).cached_tokens == 4 * 8
    assert "a cache per replica" in replay(log, shard_by="replica").text()


def test_a_key_is_always_the_same_workers() -> None:
    owners = {key: [Shards("replica", i, 3).owns(key) for i in range(3)].index(True) for key in ("", "a", "b", "c")}
    # First 8 bytes of SHA-256, big-endian, modulo 3; the same on every machine.
    assert owners == {"": 1, "a": 1, "b": 1, "c": 2}


def results(count: int = 2, **options: Any) -> list[tuple[str, Any]]:
    log = [{"prompt_token_ids": [1, 2], "tenant": str(i)} for i in range(6)]
    return [(f"{i}.json", replay(log, shard_by="tenant", shard=(i, count), **options).as_dict()) for i in range(count)]


def test_results_that_do_not_belong_together() -> None:
    a, b = results()
    with pytest.raises(UsageError, match="shard 1 of 2 is missing"):
        merge([a])
    with pytest.raises(UsageError, match=r"shard 0 was given before, in 0\.json"):
        merge([a, ("again.json", a[1])])
    with pytest.raises(UsageError, match="block_size is 32"):
        merge([a, results(block_size=32)[1]])
    with pytest.raises(UsageError, match="not a shard of the same run"):
        merge([a, results(3)[1]])
    with pytest.raises(UsageError, match=r"x\.json: no JSON result of simulate"):
        merge([a, ("x.json", {"requests": 1})])
    with pytest.raises(UsageError, match=r"x\.json: no JSON result of simulate"):
        merge([a, ("x.json", [1])])
    with pytest.raises(UsageError, match="no complete result"):
        merge([a, ("b.json", {k: v for k, v in b[1].items() if k != "by_tag"})])


def changed(result: tuple[str, Any], *path: Any, to: Any) -> tuple[str, Any]:
    name, data = result[0], json.loads(json.dumps(result[1]))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return name, data


@pytest.mark.parametrize(
    ("path", "to", "words"),
    [
        (["schema"], 2, "schema 2; this version reads schema 1"),
        (["tokens"], -1, "numbers that cannot be"),
        (["requests"], True, "numbers that cannot be"),
        (["cached_tokens"], 10**6, "numbers that cannot be"),
        (["by_tag"], {"x": {"requests": 1, "tokens": -1, "cached_tokens": 0, "hit_blocks": 0}}, "numbers that cannot"),
        (["requests"], 99, "over_time does not add up"),
        (["tokens"], 99, "reasons do not add up"),
        (["per_request"], [], "per_request does not add up"),
        (["skipped", "count"], -1, "skipped is -1"),
        (["waited"], "1", "waited is '1'"),
        (["not_rendered"], {}, "KeyError"),
    ],
)
def test_results_whose_numbers_cannot_be(path: list[Any], to: Any, words: str) -> None:
    a, b = results()
    with pytest.raises(UsageError) as caught:
        merge([a, changed(b, *path, to=to)])
    assert str(caught.value).startswith("1.json: ")
    assert words in str(caught.value)


def test_results_of_different_logs(tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    one.write_text("[1, 2]\n" * 6)
    # As many lines and tokens, another log.
    other.write_text("[1, 3]\n" * 6)
    parts = [
        (f"{i}.json", replay(path, shard_by="tenant", shard=(i, 2)).as_dict()) for i, path in enumerate((one, other))
    ]
    with pytest.raises(UsageError, match=r"1\.json: another log than that of 0\.json \(both of 6 lines\)"):
        merge(parts)
    shorter = replay([[1, 2]] * 5, shard_by="tenant", shard=(1, 2)).as_dict()
    longer = replay([[1, 2]] * 6, shard_by="tenant", shard=(0, 2)).as_dict()
    with pytest.raises(UsageError, match=r"\(6 lines and 5 lines\)"):
        merge([("0.json", longer), ("1.json", shorter)])
    # Compressed or not, it is the same log.
    packed = tmp_path / "one.jsonl.gz"
    packed.write_bytes(gzip.compress(one.read_bytes()))
    assert merge([parts[0], ("1.json", replay(packed, shard_by="tenant", shard=(1, 2)).as_dict())]).requests == 6


def test_a_part_that_was_interrupted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_cachesafe.cli import main

    a, b = results()
    cut = changed(changed(b, "partial", to=True), "log", to=None)
    files = []
    for name, data in (a, cut):
        files.append(str(tmp_path / name))
        Path(files[-1]).write_text(json.dumps(data))
    assert main(["simulate", "--merge", *files]) == 130
    assert capsys.readouterr().out.startswith("partial result: ")


@pytest.mark.parametrize("text", ["1", "1/", "/2", "a/b", "2/2", "-1/2", "0/0"])
def test_shards_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="shard"):
        Shards.parse("replica", text)


def test_files_of_workers(tmp_path: Path) -> None:
    from pytest_cachesafe.cli import main

    log = tmp_path / "log.jsonl"
    log.write_text(
        "".join(json.dumps({"prompt_token_ids": [i, 1, 2], "replica": str(i % 5)}) + "\n" for i in range(40)) + "bad\n"
    )
    base = ["simulate", str(log), "--shard-by", "replica", "--block-size", "1", "--output-format", "json"]
    assert main([*base, "--output-file", str(tmp_path / "whole.json")]) == 2
    parts = []
    for i in range(3):
        parts.append(str(tmp_path / f"{i}.json"))
        # The bad line is one worker's, whose status says so.
        assert main([*base, "--shard", f"{i}/3", "--output-file", parts[-1]]) == (2 if i == 41 % 3 else 0)
    merged = tmp_path / "merged.json"
    assert main(["simulate", "--merge", *parts, "--output-format", "json", "--output-file", str(merged)]) == 2
    assert json.loads(merged.read_text()) == json.loads((tmp_path / "whole.json").read_text())
