"""Findings that a project lives with for now: stored by what they say of the code, not by where it stands.

A fingerprint is made of the rule, the file, the text of the statement without white space, and a number that tells
equal statements of one file apart. It survives lines that move, indentation and wrapped lines.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pytest_cachesafe.findings import Finding, fingerprint
from pytest_cachesafe.usage import UsageError

__all__ = ["Entry", "apply_baseline", "fingerprint_of", "with_fingerprints", "write_baseline"]

SCHEMA = 1
TOOL = "pytest-cachesafe"


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """Findings of a baseline with the same fingerprint; `count` is how many there may be."""

    filename: str
    code: str
    fingerprint: str
    count: int = 1


def fingerprint_of(finding: Finding, line_text: str, ordinal: int) -> str:
    """16 hex digits for a finding. `line_text` is the text of its statement, `ordinal` counts findings of the same rule
    in equal statements of the same file from 0."""
    return fingerprint(finding.code, finding.location.filename or "", "".join(line_text.split()), ordinal)


def with_fingerprints(findings: Iterable[Finding], sources: Callable[[str], Sequence[str] | None]) -> list[Finding]:
    """The findings, each with `data["fingerprint"]`. They must be in order of place; a file that cannot be read has the
    message in place of the statement."""
    seen: Counter[tuple[str, str | None, str]] = Counter()
    out = []
    for finding in findings:
        text = _statement(finding, sources)
        key = (finding.code, finding.location.filename, "".join(text.split()))
        mark = fingerprint_of(finding, text, seen[key])
        seen[key] += 1
        out.append(replace(finding, data={**finding.data, "fingerprint": mark}))
    return out


def _statement(finding: Finding, sources: Callable[[str], Sequence[str] | None]) -> str:
    where = finding.location
    lines = sources(where.filename) if where.filename is not None else None
    row = where.row or 1
    if lines is None or not 1 <= row <= len(lines):
        return finding.message
    end = finding.data.get("end_location")
    if not isinstance(end, Mapping):
        return lines[row - 1]
    last = min(max(int(end["row"]), row), len(lines))
    rows = list(lines[row - 1 : last])
    if last == end["row"]:
        rows[-1] = rows[-1][: max(int(end["column"]) - 1, 0)]
    # After the end, since both may lie in one row.
    rows[0] = rows[0][max((where.column or 1) - 1, 0) :]
    return "\n".join(rows)


def write_baseline(
    path: str | os.PathLike[str], findings: Iterable[Finding], keep: Callable[[str], bool] = lambda filename: False
) -> int:
    """Store the findings, which must have fingerprints, as the new baseline; returns how many.

    Entries of an old baseline stay where `keep` says so of their file: a run over a part of a project knows nothing of
    the rest.

    Raises:
        UsageError: the file cannot be written, or is there and is no baseline.
    """
    old = _replaced(path)
    # The lint start-up does not pay for it.
    from pytest_cachesafe.files import write_atomic
    from pytest_cachesafe.report.jsonout import to_json

    counts = Counter(_key(finding) for finding in findings)
    written = sum(counts.values())
    counts.update({entry: count for entry, count in old.items() if keep(entry.filename) and entry not in counts})
    entries = [asdict(replace(entry, count=count)) for entry, count in sorted(counts.items())]
    write_atomic(path, to_json({"tool": TOOL, "findings": entries}))
    return written


def apply_baseline(
    path: str | os.PathLike[str],
    findings: Sequence[Finding],
    gone: Callable[[str], bool] = lambda filename: False,
    sources: Callable[[str], Sequence[str] | None] = lambda filename: None,
) -> tuple[list[Finding], list[Finding], list[Entry]]:
    """Divide findings, which must have fingerprints: those to report, those the baseline holds, and the entries of the
    baseline that no longer happen (with how many of them).

    Entries of a file that is `gone` stand for the same statements in a file of which the baseline knows nothing: it was
    renamed.

    Raises:
        UsageError: no such file, or no baseline of this version.
    """
    left = _read(path)
    known = {entry.filename for entry in left}
    kept, matched = _divided(findings, map(_key, findings), left)
    old = sorted({entry.filename for entry, count in left.items() if count > 0 and gone(entry.filename)})
    new = sorted({finding.location.filename or "" for finding in kept} - known) if old else ()
    for name, other in _heirs(findings, new, old, left, sources):
        own = [finding for finding in findings if finding.location.filename == name]
        _, moved = _divided(own, _renamed(own, other, sources), left)
        matched += moved
        kept = [finding for finding in kept if all(finding is not one for one in moved)]
    return kept, matched, [replace(entry, count=count) for entry, count in left.items() if count > 0]


def _divided(
    findings: Sequence[Finding], keys: Iterable[Entry], left: dict[Entry, int]
) -> tuple[list[Finding], list[Finding]]:
    """The findings without an entry under their key, and those with one, which is used up."""
    kept, matched = [], []
    for finding, key in zip(findings, keys, strict=True):
        if left.get(key, 0) > 0:
            left[key] -= 1
            matched.append(finding)
        else:
            kept.append(finding)
    return kept, matched


def _renamed(findings: Sequence[Finding], name: str, sources: Callable[[str], Sequence[str] | None]) -> list[Entry]:
    """The keys that all findings of one file would have if it had another name."""
    texts = {name: sources(findings[0].location.filename or "")}
    moved = [replace(finding, location=replace(finding.location, filename=name)) for finding in findings]
    return [_key(finding) for finding in with_fingerprints(moved, texts.get)]


def _heirs(
    findings: Sequence[Finding],
    new: Sequence[str],
    old: Sequence[str],
    left: Mapping[Entry, int],
    sources: Callable[[str], Sequence[str] | None],
) -> list[tuple[str, str]]:
    """Pairs of a new and an old name, by how many findings of the one have an entry under the other."""
    alike = []
    for name in new:
        own = [finding for finding in findings if finding.location.filename == name]
        for other in old:
            count = sum(left.get(key, 0) > 0 for key in _renamed(own, other, sources))
            if count:
                alike.append((-count, name, other))
    pairs: dict[str, str] = {}
    for _, name, other in sorted(alike):
        if name not in pairs and other not in pairs.values():
            pairs[name] = other
    return list(pairs.items())


def _key(finding: Finding) -> Entry:
    return Entry(finding.location.filename or "", finding.code, finding.data["fingerprint"])


def _replaced(path: str | os.PathLike[str]) -> dict[Entry, int]:
    """What a baseline that is about to be written again holds. Only a baseline is overwritten: the next word of a
    command line may as well be a file to lint."""
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except FileNotFoundError:
        return {}
    except IsADirectoryError:
        raise UsageError(f"baseline {os.fspath(path)!r} cannot be written: it is a folder") from None
    except OSError as error:
        raise UsageError(f"baseline {os.fspath(path)!r} cannot be written: {error.strerror or error}") from None
    try:
        data = json.loads(raw.decode("utf-8-sig")) if raw.strip() else {"findings": []}
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("findings"), list):
        raise UsageError(f"--write-baseline: {os.fspath(path)!r} is there and is no baseline: name another file")
    entries = [entry for item in data["findings"] if (entry := _entry(item)) is not None]
    return {replace(entry, count=1): entry.count for entry in entries} if data.get("schema") == SCHEMA else {}


def _read(path: str | os.PathLike[str]) -> dict[Entry, int]:
    """How many findings there may be of each entry."""
    name = f"baseline {os.fspath(path)!r}"
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except FileNotFoundError:
        raise UsageError(f"{name} does not exist: write it with --write-baseline") from None
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror or error}") from None
    try:
        data = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise UsageError(f"{name} is not JSON: restore it or write it again with --write-baseline") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(data.get("findings"), list) or type(schema) is not int:
        raise UsageError(f"{name} is no baseline: write one with --write-baseline")
    if schema != SCHEMA:
        raise UsageError(
            f"{name} has schema {schema}, this version reads {SCHEMA}: write it again with --write-baseline"
        )
    counts: dict[Entry, int] = {}
    for number, item in enumerate(data["findings"]):
        entry = _entry(item)
        if entry is None:
            raise UsageError(f"{name}: finding {number} is damaged: write it again with --write-baseline")
        key = replace(entry, count=1)
        counts[key] = counts.get(key, 0) + entry.count
    return counts


def _entry(item: Any) -> Entry | None:
    if not isinstance(item, dict):
        return None
    filename, code, mark, count = (item.get(key) for key in ("filename", "code", "fingerprint", "count"))
    if not (isinstance(filename, str) and isinstance(code, str) and isinstance(mark, str) and isinstance(count, int)):
        return None
    return Entry(filename, code, mark, count) if count >= 1 else None
