"""Findings that a project lives with for now: stored by what they say of the code, not by where it stands.

A fingerprint is made of the rule, the file, the text of the statement without white space, and a number that tells
equal statements of one file apart. It survives lines that move, indentation and wrapped lines.

A finding carries others of its function. An entry names those too: they come out once the finding is mended, and are
no news then. Where several stand in one statement, mending one of them changes the text that the others go by: these
are known by their function and their message as long as nothing is added to what is left.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pytest_cachesafe.findings import Finding, fingerprint
from pytest_cachesafe.lint.folded import by_statement, folded_in, told_instead, with_folded
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


@dataclass(slots=True)
class _Held:
    """What a baseline holds: how many findings there may be of each entry, and what each of them carried; None where
    that is not known, since it was written by a version that did not say."""

    left: dict[Entry, int] = field(default_factory=dict)
    also: dict[Entry, frozenset[Entry] | None] = field(default_factory=dict)
    # Of each entry, for every statement with several causes: the fingerprint by cause.
    together: dict[Entry, list[dict[str, str]]] = field(default_factory=dict)
    found: set[tuple[str, str]] = field(default_factory=set)

    def add(self, entry: Entry, also: frozenset[Entry] | None, together: Iterable[dict[str, str]]) -> None:
        key = replace(entry, count=1)
        before = self.also.get(key, also)
        self.left[key] = self.left.get(key, 0) + entry.count
        self.also[key] = None if also is None or before is None else before | also
        known = self.together.setdefault(key, [])
        known += [causes for causes in together if causes not in known]

    def folded(self) -> frozenset[Entry]:
        """All that was carried by something else."""
        return frozenset().union(*(also for also in self.also.values() if also))

    def take(self, key: Entry, folded: frozenset[Entry]) -> bool:
        """Whether a finding is known; its entry is used up."""
        known = self.left.get(key, 0) > 0
        if known:
            self.left[key] -= 1
        elif key not in folded:
            return False
        self.found.add((key.filename, key.fingerprint))
        return True

    def take_rest(self, findings: Sequence[Finding], unknown: Sequence[Finding]) -> bool:
        """Whether these findings, some of them unknown, are what is left of a statement where one was mended."""
        filename = findings[0].location.filename or ""
        causes = {_cause(finding) for finding in findings}
        edited = {_cause(finding): finding.code for finding in unknown}
        for entry, statements in self.together.items():
            for marks in statements if entry.filename == filename else ():
                if causes < marks.keys() and not any((filename, marks[cause]) in self.found for cause in edited):
                    statements.remove(marks)
                    for cause, code in edited.items():
                        self.take(Entry(filename, code, marks[cause]), frozenset())
                    return True
        return False


def fingerprint_of(finding: Finding, line_text: str, ordinal: int) -> str:
    """16 hex digits for a finding. `line_text` is the text of its statement, `ordinal` counts findings of the same rule
    in equal statements of the same file from 0."""
    return fingerprint(finding.code, finding.location.filename or "", "".join(line_text.split()), ordinal)


def with_fingerprints(findings: Iterable[Finding], sources: Callable[[str], Sequence[str] | None]) -> list[Finding]:
    """The findings, and those they carry, each with `data["fingerprint"]`. They must be in order of place; a file that
    cannot be read has the message in place of the statement."""
    seen: Counter[tuple[str, str | None, str]] = Counter()

    def marked(finding: Finding) -> Finding:
        text = _statement(finding, sources)
        key = (finding.code, finding.location.filename, "".join(text.split()))
        mark = fingerprint_of(finding, text, seen[key])
        seen[key] += 1
        return replace(finding, data={**finding.data, "fingerprint": mark})

    # What is carried is counted last. However many of equal statements are mended, the others have the first numbers.
    told = [marked(finding) for finding in findings]
    return [with_folded(one, [marked(o) for o in folded_in(one)]) if folded_in(one) else one for one in told]


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

    held = _Held()
    for finding in findings:
        held.add(_key(finding), frozenset(map(_key, folded_in(finding))), _together(finding))
    written = sum(held.left.values())
    for entry, count in old.left.items():
        if not keep(entry.filename):
            continue
        if entry in held.left:
            before, now = old.also[entry], held.also[entry]
            held.also[entry] = None if before is None or now is None else before | now
            held.together[entry] += [one for one in old.together[entry] if one not in held.together[entry]]
        else:
            held.add(replace(entry, count=count), old.also[entry], old.together[entry])
    entries = [_item(held, entry) for entry in sorted(held.left)]
    write_atomic(path, to_json({"tool": TOOL, "findings": entries}))
    return written


def _item(held: _Held, entry: Entry) -> dict[str, Any]:
    item = asdict(replace(entry, count=held.left[entry]))
    also, together = held.also[entry], held.together[entry]
    if also is not None:
        item["also"] = [{"code": one.code, "fingerprint": one.fingerprint} for one in sorted(also)]
    if together:
        item["together"] = sorted((dict(sorted(marks.items())) for marks in together), key=repr)
    return item


def _together(finding: Finding) -> list[dict[str, str]]:
    """The fingerprints by cause, for every statement of a finding and of what it carries that has several causes."""
    found = ({_cause(one): str(one.data["fingerprint"]) for one in ones} for ones in by_statement(finding))
    return [marks for marks in found if len(marks) > 1]


def _cause(finding: Finding) -> str:
    """What stays the same of a finding while its statement is edited."""
    return fingerprint(finding.code, finding.data.get("group"), finding.message)


def apply_baseline(
    path: str | os.PathLike[str],
    findings: Sequence[Finding],
    gone: Callable[[str], bool] = lambda filename: False,
    sources: Callable[[str], Sequence[str] | None] = lambda filename: None,
) -> tuple[list[Finding], list[Finding], list[Entry]]:
    """Divide findings, which must have fingerprints: those to report, those the baseline holds, and the entries of the
    baseline that no longer happen (with how many of them).

    What a known finding carries is reported in its place as far as the baseline does not know it.

    Entries of a file that is `gone` stand for the same statements in a file of which the baseline knows nothing: it was
    renamed.

    Raises:
        UsageError: no such file, or no baseline of this version.
    """
    held = _read(path)
    left, folded = held.left, held.folded()
    known = {entry.filename for entry in left}
    kept, matched, more = _divided(findings, findings, held, folded)
    old = sorted({entry.filename for entry, count in left.items() if count > 0 and gone(entry.filename)})
    new = sorted({finding.location.filename or "" for finding in kept} - known) if old else ()
    for name, other in _heirs(findings, new, old, held, folded, sources):
        own = [finding for finding in findings if finding.location.filename == name]
        _, moved, new_there = _divided(own, _renamed(own, other, sources), held, folded)
        matched += moved
        more += new_there
        kept = [finding for finding in kept if all(finding is not one for one in moved)]
    if more:
        kept = sorted([*kept, *more], key=_place)
    return kept, matched, [replace(entry, count=count) for entry, count in left.items() if count > 0]


def _divided(
    findings: Sequence[Finding], marked: Sequence[Finding], held: _Held, folded: frozenset[Entry]
) -> tuple[list[Finding], list[Finding], list[Finding]]:
    """The findings without an entry, those with one, which is used up, and what is to be told in place of the latter.

    `marked`: the same findings with the fingerprints to go by.
    """
    # Each an object of its own, since equal findings are told apart.
    marked = [replace(mark) for mark in marked]
    # What is carried is asked for in any case: an entry may be that of a finding which a worse one carries by now.
    asked = [*marked, *(other for mark in marked for other in folded_in(mark))]
    known = {id(mark) for mark in asked if held.take(_key(mark), folded)}
    for mark in marked if any(held.together.values()) else ():
        for ones in by_statement(mark):
            unknown = [one for one in ones if id(one) not in known]
            if unknown and held.take_rest(ones, unknown):
                known.update(map(id, unknown))
    kept, matched, more = [], [], []
    for finding, mark in zip(findings, marked, strict=True):
        if id(mark) not in known:
            kept.append(finding)
            continue
        matched.append(finding)
        # A double says nothing that is not known.
        others = [
            other
            for other, its_mark in zip(folded_in(finding), folded_in(mark), strict=True)
            if id(its_mark) not in known and not other.data.get("double")
        ]
        if others and held.also.get(_key(mark), frozenset()) is not None:
            more.append(told_instead(others))
    return kept, matched, more


def _renamed(findings: Sequence[Finding], name: str, sources: Callable[[str], Sequence[str] | None]) -> list[Finding]:
    """All findings of one file, as they would be if it had another name."""
    texts = {name: sources(findings[0].location.filename or "")}
    moved = [_moved(finding, name) for finding in findings]
    return with_fingerprints(moved, texts.get)


def _moved(finding: Finding, name: str) -> Finding:
    moved = replace(finding, location=replace(finding.location, filename=name))
    return with_folded(moved, [_moved(other, name) for other in folded_in(finding)])


def _heirs(
    findings: Sequence[Finding],
    new: Sequence[str],
    old: Sequence[str],
    held: _Held,
    folded: frozenset[Entry],
    sources: Callable[[str], Sequence[str] | None],
) -> list[tuple[str, str]]:
    """Pairs of a new and an old name, by how many findings of the one have an entry under the other."""
    alike = []
    for name in new:
        own = [finding for finding in findings if finding.location.filename == name]
        for other in old:
            keys = map(_key, _renamed(own, other, sources))
            count = sum(held.left.get(key, 0) > 0 or key in folded for key in keys)
            if count:
                alike.append((-count, name, other))
    pairs: dict[str, str] = {}
    for _, name, other in sorted(alike):
        if name not in pairs and other not in pairs.values():
            pairs[name] = other
    return list(pairs.items())


def _key(finding: Finding) -> Entry:
    return Entry(finding.location.filename or "", finding.code, finding.data["fingerprint"])


def _place(finding: Finding) -> tuple[Any, ...]:
    where = finding.location
    return where.filename or "", where.row or 0, where.column or 0, finding.code, finding.message


def _replaced(path: str | os.PathLike[str]) -> _Held:
    """What a baseline that is about to be written again holds. Only a baseline is overwritten: the next word of a
    command line may as well be a file to lint."""
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except FileNotFoundError:
        return _Held()
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
    held = _Held()
    for item in data["findings"] if data.get("schema") == SCHEMA else ():
        entry = _entry(item)
        if entry is not None:
            held.add(*entry)
    return held


def _read(path: str | os.PathLike[str]) -> _Held:
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
    held = _Held()
    for number, item in enumerate(data["findings"]):
        entry = _entry(item)
        if entry is None:
            raise UsageError(f"{name}: finding {number} is damaged: write it again with --write-baseline")
        held.add(*entry)
    return held


def _entry(item: Any) -> tuple[Entry, frozenset[Entry] | None, list[dict[str, str]]] | None:
    if not isinstance(item, dict):
        return None
    filename, code, mark, count = (item.get(key) for key in ("filename", "code", "fingerprint", "count"))
    if not (isinstance(filename, str) and isinstance(code, str) and isinstance(mark, str) and isinstance(count, int)):
        return None
    also, together = item.get("also"), item.get("together", [])
    if count < 1 or not isinstance(together, list) or not all(map(_is_texts, together)):
        return None
    if also is None:
        return Entry(filename, code, mark, count), None, together
    if not isinstance(also, list):
        return None
    folded = set()
    for one in also:
        other, its_mark = (one.get("code"), one.get("fingerprint")) if isinstance(one, dict) else (None, None)
        if not (isinstance(other, str) and isinstance(its_mark, str)):
            return None
        folded.add(Entry(filename, other, its_mark))
    return Entry(filename, code, mark, count), frozenset(folded), together


def _is_texts(marks: object) -> bool:
    return isinstance(marks, dict) and all(isinstance(mark, str) for mark in marks.values())
