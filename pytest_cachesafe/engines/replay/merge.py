"""The results of all workers of a log, added up: exactly what one process with a cache per key would have found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_cachesafe.engines.replay.result import ReplayReport, SweepPoint
from pytest_cachesafe.engines.replay.run import Row
from pytest_cachesafe.engines.replay.totals import Groups, LeftOut, ReasonTotals, Totals, Windows
from pytest_cachesafe.usage import UsageError

__all__ = ["merge"]

# What has to be the same in all of them.
_SAME = ("engine", "label", "block_size", "num_blocks", "salts", "options", "assumed", "live", "trace_format", "limits")
_SETUP = ("engine", "block_size", "num_blocks", "salts", "options", "assumed")
_NUMBERS = ("requests", "tokens", "cached_tokens", "hit_blocks")
_COUNTS = ("waited", "replies_dropped", "reasons_forgot")


def merge(results: Sequence[tuple[str, Mapping[str, Any]]]) -> ReplayReport:
    """Add results.

    Args:
        results: name (of the file) and JSON result of every worker, in any order.

    Raises:
        UsageError: something is no result of a shard, or one whose numbers do not add up; shards are missing or given
            twice; they were run differently, or on different logs.
    """
    by_index: dict[int, tuple[str, Mapping[str, Any]]] = {}
    for name, data in results:
        shard = data.get("shard") if isinstance(data, Mapping) else None
        if not isinstance(shard, Mapping) or not isinstance(shard.get("index"), int):
            raise UsageError(f"{name}: no JSON result of simulate with --shard-by and --shard")
        _check(name, data)
        if shard["index"] in by_index:
            raise UsageError(f"{name}: shard {shard['index']} was given before, in {by_index[shard['index']][0]}")
        by_index[shard["index"]] = (name, data)
    first_name, first = next(iter(by_index.values()))
    for name, data in by_index.values():
        for key in _SAME:
            if data.get(key) != first.get(key):
                raise UsageError(f"{name}: {key} is {data.get(key)!r}, in {first_name} {first.get(key)!r}")
        if {**data["shard"], "index": 0} != {**first["shard"], "index": 0}:
            raise UsageError(f"{name}: not a shard of the same run as {first_name}: {dict(data['shard'])}")
    _check_logs([one for one in by_index.values() if one[1]["log"] is not None])
    count = first["shard"]["count"]
    missing = [str(index) for index in range(count) if index not in by_index]
    if missing:
        raise UsageError(f"shard {', '.join(missing[:5])} of {count} is missing; give the results of all shards")
    parts = [by_index[index] for index in sorted(by_index)]
    try:
        return _added([data for _, data in parts])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(f"{first_name}: no complete result of simulate ({type(error).__name__}: {error})") from None


def _check(name: str, data: Mapping[str, Any]) -> None:
    """Whether a result can be one.

    Raises:
        UsageError: another schema, something is missing, numbers that do not add up.
    """
    from pytest_cachesafe.report.jsonout import SCHEMA

    if data.get("schema", SCHEMA) != SCHEMA:
        raise UsageError(f"{name}: schema {data['schema']!r}; this version reads schema {SCHEMA}")
    try:
        _check_numbers(data)
        _added([data])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(f"{name}: no complete result of simulate ({type(error).__name__}: {error})") from None


def _check_numbers(data: Mapping[str, Any]) -> None:
    windows, rows = data["over_time"], data.get("per_request")
    groups = [*data["by_tag"].values(), *data["by_tenant"].values(), *windows["windows"], *data["sweep"]]
    for one in [data, *groups]:
        if any(not _is_count(one[name]) for name in _NUMBERS) or one["cached_tokens"] > one["tokens"]:
            raise ValueError("numbers that cannot be: " + ", ".join(f"{name} {one[name]!r}" for name in _NUMBERS))
    skipped = data["skipped"]
    for what, value in [
        *((name, data[name]) for name in _COUNTS),
        ("without_timestamp", windows["without_timestamp"]),
        ("skipped", skipped["count"]),
        ("too_large", skipped["too_large"]),
        ("not_rendered", data["not_rendered"]["requests"]),
    ]:
        if not _is_count(value):
            raise ValueError(f"{what} is {value!r}")
    if sum(one["requests"] for one in windows["windows"]) + windows["without_timestamp"] != data["requests"]:
        raise ValueError("over_time does not add up to requests")
    missed = data["tokens"] - data["cached_tokens"]
    if data["reasons"] is not None and sum(one["tokens"] for one in data["reasons"].values()) != missed:
        raise ValueError("reasons do not add up to the tokens that were not reused")
    if rows is not None and (
        len(rows) != data["requests"]
        or any(sum(row[name] for row in rows) != data[name] for name in ("tokens", "cached_tokens"))
    ):
        raise ValueError("per_request does not add up to the totals")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check_logs(results: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Every worker reads the whole log; an interrupted one does not know it."""
    for name, data in results[1:]:
        first_name, first = results[0]
        if data["log"] != first["log"]:
            lines = [f"{one['log'].get('lines'):,} lines" for one in (first, data)]
            seen = " and ".join(lines) if lines[0] != lines[1] else f"both of {lines[0]}"
            raise UsageError(f"{name}: another log than that of {first_name} ({seen}); give the shards of one log")


def _added(parts: Sequence[Mapping[str, Any]]) -> ReplayReport:
    first = parts[0]
    counts = {name: sum(part[name] for part in parts) for name in _COUNTS}
    bad = sorted((item["line"], item["message"]) for part in parts for item in part["skipped"]["why"])
    named = {line for line, _ in bad}
    bad += [(line, "no request") for part in parts for line in part["skipped"]["lines"] if line not in named]
    rows: list[Row] | None = None
    if all("per_request" in part for part in parts):
        rows = sorted(_row(row) for part in parts for row in part["per_request"])
    return ReplayReport(
        label=first["label"],
        setup={name: first[name] for name in _SETUP},
        live=first["live"],
        trace_format=first["trace_format"],
        totals=_sum(parts),
        by_tag=_groups([part["by_tag"] for part in parts]),
        by_tenant=_groups([part["by_tenant"] for part in parts]),
        windows=_windows([part["over_time"] for part in parts]),
        reasons=_reasons([part["reasons"] for part in parts]),
        sweep=_sweep([part["sweep"] for part in parts]),
        waited=counts["waited"],
        replies_dropped=counts["replies_dropped"],
        untimed=sum(part["over_time"]["without_timestamp"] for part in parts),
        forgot=counts["reasons_forgot"],
        skipped=sum(part["skipped"]["count"] for part in parts),
        bad=sorted(bad),
        too_large=sum(part["skipped"]["too_large"] for part in parts),
        not_rendered=_left_out([part["not_rendered"] for part in parts]),
        partial=any(part["partial"] for part in parts),
        log=None if any(part["log"] is None for part in parts) else dict(first["log"]),
        shard={"by": first["shard"]["by"], "index": 0, "count": 1},
        limits=first["limits"],
        per_request=rows,
    )


def _sum(parts: Sequence[Mapping[str, Any]]) -> Totals:
    total = Totals()
    for part in parts:
        total.add(part["requests"], part["tokens"], part["cached_tokens"], part["hit_blocks"])
    return total


def _groups(parts: Sequence[Mapping[str, Any]]) -> Groups:
    found = Groups()
    for part in parts:
        for name, one in part.items():
            found.of(name).add(one["requests"], one["tokens"], one["cached_tokens"], one["hit_blocks"])
    return found


def _left_out(parts: Sequence[Mapping[str, Any]]) -> LeftOut:
    found = LeftOut()
    for part in parts:
        found.add(part["requests"], part["first_line"], part["what"])
    return found


def _windows(parts: Sequence[Mapping[str, Any]]) -> Windows:
    """Every worker has read the whole log, so their windows have the same width, unless one was interrupted."""
    width = max(part["width"] for part in parts)
    found = Windows(width, parts[0]["by"])
    begins = "first_request" if found.by == "requests" else "second"
    for part in parts:
        for one in part["windows"]:
            found.of(one[begins]).add(one["requests"], one["tokens"], one["cached_tokens"], one["hit_blocks"])
    return found


def _reasons(parts: Sequence[Mapping[str, Any] | None]) -> ReasonTotals | None:
    found = ReasonTotals()
    for part in parts:
        if part is None:
            return None
        for name, one in part.items():
            both = found.setdefault(name, [0, 0])
            both[0] += one["requests"]
            both[1] += one["tokens"]
    return found


def _sweep(parts: Sequence[Sequence[Mapping[str, Any]]]) -> list[SweepPoint]:
    if len({len(part) for part in parts}) != 1:
        raise ValueError("the sweeps differ")
    points = []
    for same in zip(*parts, strict=True):
        one = same[0]
        if any(
            (s["block_size"], s["num_blocks"], s["salts"]) != (one["block_size"], one["num_blocks"], one["salts"])
            for s in same
        ):
            raise ValueError("the sweeps differ")
        large = sum(point["too_large"] for point in same)
        points.append(SweepPoint(one["block_size"], one["num_blocks"], one["salts"], _sum(same), large))
    return points


def _row(row: Mapping[str, Any]) -> Row:
    return Row._make(row.get(name) for name in Row._fields)
