"""Fixes applied to a file's text: whole or not at all, until nothing more can be mended.

Every fix that is kept makes the sum of what is reported smaller, so the work ends, and a second run changes nothing:
what was refused the first time is refused again.
"""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from cachesafe_rules.api import Edit, Fix
from cachesafe_rules.concrete import split_rows

__all__ = ["FixResult", "Fixable", "Skipped", "apply_fixes"]

# Each look at the changed text is a whole lint of the file.
_MOST_LOOKS = 200
_WEIGHT = {"error": 9, "warning": 3, "note": 1}
# Removing comments is what the fix of an unused suppression is for; no other may.
_MAY_REMOVE_COMMENTS = "CSF902"


class Fixable(NamedTuple):
    """One finding as fixing sees it. `row` and `message` are for people; `reports`: how many are folded in it."""

    code: str
    severity: str
    row: int
    message: str
    fix: Fix | None = None
    reports: int = 1


class Skipped(NamedTuple):
    """A fix that was asked for and not made, and why."""

    finding: Fixable
    reason: str


class FixResult(NamedTuple):
    """The text after all fixes; `applied` in the order they were made, places as they were then."""

    text: str
    applied: tuple[Fixable, ...]
    skipped: tuple[Skipped, ...]


Relint = Callable[[str], Sequence[Fixable]]


def apply_fixes(
    text: str, findings: Sequence[Fixable], relint: Relint, *, unsafe: bool = False, filename: str | None = None
) -> FixResult:
    """Make the fixes of a file's findings, then those of what is found next, until none is left.

    Fixes that overlap wait for the next round, the first in the file wins. A fix is taken back, and told in `skipped`,
    where the result does not parse, loses a comment, still has the finding, or reports more than before: errors count
    more than warnings, and these more than notes, so a clock cut down to the day is progress.

    Args:
        text: the file, decoded, with its own line ends; these are used for new lines as well.
        findings: what was found in `text`.
        relint: lints a changed text of the file.
        unsafe: make unsafe fixes too.
        filename: the file's name in spans; edits elsewhere are refused.
    """
    before, current = list(findings), text
    applied: list[Fixable] = []
    refused: dict[tuple[str, Fix], str] = {}
    looks = 0
    newline = _newline(text)
    while True:
        todo = _wanted(before, unsafe, refused)
        batch = _fitting(current, todo, filename, refused)
        if not batch:
            break
        # All at once first; only if that goes wrong one after the other, to learn which one is at fault.
        done: list[Fixable] = []
        for group in [batch] if len(batch) == 1 else [batch, *([finding] for finding in batch)]:
            if looks >= _MOST_LOOKS:
                refused.update({(f.code, f.fix): "too many fixes in one file; run again" for f in group if f.fix})
                continue
            changed = _edited(current, [edit for f in group if f.fix for edit in f.fix.edits], newline)
            reason, after = _judged(current, changed, group, before, relint)
            looks += after is not None
            if reason is None and after is not None:
                current, before, done = changed, list(after), group
                break
            if len(group) == 1 and group[0].fix is not None:
                refused[group[0].code, group[0].fix] = reason or "taken back"
        if done:
            applied += done
            # What did not work before may work on the new text.
            refused = {key: why for key, why in refused.items() if "too many" in why}
    skipped = [Skipped(f, refused[f.code, f.fix]) for f in before if f.fix is not None and (f.code, f.fix) in refused]
    return FixResult(current, tuple(applied), tuple(skipped))


def _wanted(findings: Iterable[Fixable], unsafe: bool, refused: dict[tuple[str, Fix], str]) -> list[Fixable]:
    levels = ("safe", "unsafe") if unsafe else ("safe",)
    return [
        f
        for f in findings
        if f.fix is not None and f.fix.edits and f.fix.applicability in levels and (f.code, f.fix) not in refused
    ]


def _fitting(
    text: str, findings: list[Fixable], filename: str | None, refused: dict[tuple[str, Fix], str]
) -> list[Fixable]:
    """The fixes that do not touch each other, in the order of the file; impossible ones are refused."""
    placed: list[tuple[list[tuple[int, int]], Fixable]] = []
    offsets = _Offsets(text)
    for finding in findings:
        fix = finding.fix
        if fix is None:
            continue
        ranges = [offsets.of(edit) for edit in fix.edits]
        inside = filename is None or all(edit.span.filename == filename for edit in fix.edits)
        known = sorted(r for r in ranges if r is not None)
        if not inside or len(known) < len(ranges) or any(a[1] > b[0] or a == b for a, b in pairwise(known)):
            reason = "its edits overlap or lie outside the file" if inside else "it would change another file"
            refused[finding.code, fix] = reason
            continue
        placed.append((known, finding))
    placed.sort(key=lambda item: item[0])
    out: list[Fixable] = []
    taken: list[tuple[int, int]] = []
    for known, finding in placed:
        # Touching counts: of two insertions at one place the second may have meant the text as it was.
        if all(end < start or stop < begin for begin, end in known for start, stop in taken):
            taken += known
            out.append(finding)
    return out


class _Offsets:
    """From rows and columns to indexes."""

    def __init__(self, text: str) -> None:
        self._rows = split_rows(text)
        self._starts: list[int] = []
        at = 0
        for row in self._rows:
            self._starts.append(at)
            at += len(row)
            at += 2 if text.startswith("\r\n", at) else 1

    def of(self, edit: Edit) -> tuple[int, int] | None:
        span = edit.span
        start, end = self._one(span.row, span.column), self._one(span.end_row, span.end_column)
        return None if start is None or end is None or end < start else (start, end)

    def _one(self, row: int, column: int) -> int | None:
        if 0 < row <= len(self._rows) and 0 < column <= len(self._rows[row - 1]) + 1:
            return self._starts[row - 1] + column - 1
        return None


def _edited(text: str, edits: Iterable[Edit], newline: str) -> str:
    offsets = _Offsets(text)
    placed = sorted(((offsets.of(edit) or (0, 0)), edit.text) for edit in edits)
    for (start, end), new in reversed(placed):
        text = text[:start] + newline.join(split_rows(new)) + text[end:]
    return text


def _judged(
    text: str, changed: str, group: list[Fixable], before: list[Fixable], relint: Relint
) -> tuple[str | None, Sequence[Fixable] | None]:
    """Why a changed text is refused, None if it is good; and what is found in it, None where nobody looked."""
    if changed == text:
        return "it changes nothing", None
    if not _parses(changed):
        return "the result is not valid Python", None
    if not all(f.code == _MAY_REMOVE_COMMENTS for f in group) and _comments(text) - _comments(changed):
        return "it would remove a comment", None
    after = relint(changed)
    left, had = _counts(after), _counts(before)
    for code, number in Counter(f.code for f in group).items():
        # A report that holds several is mended when one of them is gone.
        if left[code] > had[code] - number:
            return f"{code} is still reported afterwards", after
    if _weight(after) >= _weight(before):
        return "more would be reported than before", after
    return None, after


def _counts(findings: Iterable[Fixable]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for finding in findings:
        counted[finding.code] += finding.reports
    return counted


def _weight(findings: Iterable[Fixable]) -> int:
    return sum(_WEIGHT.get(f.severity, 1) * f.reports for f in findings)


def _parses(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
            return True
        except (ValueError, RecursionError, MemoryError):
            return False
        except SyntaxError:
            pass
    # Syntax newer than the running Python is no fault of the fix.
    import libcst as cst

    try:
        cst.parse_module(text)
    except (cst.ParserSyntaxError, RecursionError):
        return False
    return True


def _comments(text: str) -> Counter[str]:
    import io
    import tokenize

    found: Counter[str] = Counter()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found[token.string] += 1
    except (tokenize.TokenError, SyntaxError):
        pass  # newer syntax: as far as it was understood, on both sides
    return found


def _newline(text: str) -> str:
    """The line end of the file: that of its first row."""
    rows = split_rows(text[: text.find("\n") + 1] or text)
    at = len(rows[0])
    return "\r\n" if text.startswith("\r\n", at) else "\r" if text.startswith("\r", at) else "\n"
