"""Which findings a comment silences, and which of those comments are of no use.

`# cachesafe: ignore[CODE, name] reason` silences what is named, a bare `# cachesafe: ignore` everything; `# noqa: CODE`
and a bare `# noqa` work as with flake8. Such a comment counts on every row of the reported code, on the first and the
last row of its statement (for `if`, `with` and the like: on the rows of the head), and on the line where the volatile
value arises, in whichever file that is. A `# cachesafe:` comment also counts on the `def` line or a decorator of the
function around, since a function gets one report; a `# noqa` there does not, because it stands there for other tools.

`# cachesafe: ignore-file[CODE]` on a line of its own, in the first 20 rows or before the first statement, silences a
whole file. What only looks like a comment, inside a string, is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from cachesafe_rules.api import Edit, Fix
from cachesafe_rules.model import Span
from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.confirm import Located
from pytest_cachesafe.lint.directives import Directive, codes_for, directives, may_hold

__all__ = ["Problem", "Suppressions"]

_FILE_ROWS = 20
_META = "CSF9"
_WORDS = ("ignore", "ignore-file", "noqa")
_OURS = lazy_pattern(r"CSF\d*", re.IGNORECASE)


class Problem(NamedTuple):
    """A fault of a suppression itself: CSF902 (unused), CSF903 (unknown), CSF904 (bare)."""

    code: str
    message: str
    span: Span
    help: str
    fix: Fix | None = None


class _Entry:
    """One directive in a file, and what it has silenced so far."""

    __slots__ = ("column", "directive", "row", "used", "whole_file")

    def __init__(self, row: int, column: int, directive: Directive, whole_file: bool) -> None:
        self.row = row
        self.column = column
        self.directive = directive
        self.whole_file = whole_file
        self.used: set[str] = set()

    def silences(self, code: str, known: Mapping[str, str]) -> bool:
        parts = self.directive.parts
        if self.directive.broken is not None or self.directive.word not in _WORDS:
            return False
        if parts is None:
            # Whoever silences everything here did not mean the linter's remarks on that very comment.
            return not code.startswith(_META)
        return any(code in codes_for(part.text, known) for part in parts)


class Suppressions:
    """The suppressions of all files of a run. Ask `silences` for every report first, then `problems` for every file.

    Args:
        known: code -> name of all rules, loaded or not.
        locate: a file's text and tree by its name in spans; None where there is none (not Python, not readable).
    """

    def __init__(self, known: Mapping[str, str], locate: Callable[[str], Located | None]) -> None:
        self._known = known
        self._locate = locate
        self._files: dict[str, tuple[Located | None, list[_Entry]]] = {}

    def silences(self, code: str, span: Span, sources: Iterable[Span] = ()) -> bool:
        """Whether a report is silenced at its place, or at the source of every value it is about.

        Every comment that would do is marked as used: which one of several is meant cannot be told.
        """
        silenced = self._at(code, span, with_function=True)
        spans = list(dict.fromkeys(sources))
        # Each is asked, so that each comment counts as used.
        answers = [self._at(code, source, with_function=False) for source in spans]
        return silenced or (bool(answers) and all(answers))

    def problems(self, filename: str, active: Iterable[str], strict: bool = False) -> list[Problem]:
        """What is wrong with a file's suppressions, in order.

        Args:
            filename: a file of which all findings were asked about.
            active: the codes of the rules that ran; a suppression of others may be of use in another run.
            strict: tell bare ones as well.
        """
        located, entries = self._file(filename)
        if located is None:
            return []
        ran = frozenset(active)
        found = [p for entry in entries for p in self._judge(located, entry, ran, strict)]
        found = [p for p in found if not self._meta_silenced(entries, p)]
        return sorted(found, key=lambda p: (p.span, p.code))

    def _meta_silenced(self, entries: list[_Entry], problem: Problem) -> bool:
        return any(
            entry.silences(problem.code, self._known)
            for entry in entries
            if entry.whole_file or entry.row == problem.span.row
        )

    def _at(self, code: str, span: Span, *, with_function: bool) -> bool:
        located, entries = self._file(span.filename)
        if located is None or not entries:
            return False
        rows, head = located.comment_rows(span)
        matching = [
            entry
            for entry in entries
            if (
                entry.whole_file
                if entry.directive.word == "ignore-file"
                else entry.row in rows or (with_function and entry.row in head and entry.directive.word == "ignore")
            )
            and entry.silences(code, self._known)
        ]
        for entry in matching:
            entry.used.add(code)
        return bool(matching)

    def _file(self, filename: str) -> tuple[Located | None, list[_Entry]]:
        if filename not in self._files:
            located = self._locate(filename)
            self._files[filename] = (located, _entries(located) if located is not None else [])
        return self._files[filename]

    def _judge(self, located: Located, entry: _Entry, ran: frozenset[str], strict: bool) -> Iterable[Problem]:
        directive = entry.directive
        own = directive.word != "noqa"
        if directive.broken is not None or directive.word not in _WORDS:
            yield self._unreadable(located, entry)
            return
        misplaced = directive.word == "ignore-file" and not entry.whole_file
        parts = directive.parts
        if parts is None:
            if strict and (own or entry.used):
                yield Problem(
                    "CSF904",
                    f"this suppression names no rule, so it hides every one of them ({_shown(directive)})",
                    _span(located, entry),
                    f"name the rule and say why: # cachesafe: {directive.word if own else 'ignore'}[CODE] reason",
                )
            judged = {code for code in self._known if not code.startswith(_META)}
            # A bare noqa is other linters' business as long as it does not silence anything of ours.
            if own and not entry.used and (misplaced or judged <= ran):
                yield self._unused(located, entry, None, misplaced)
            return
        unused: list[int] = []
        for index, part in enumerate(parts):
            if not own and not _OURS.fullmatch(part.text) and part.text.upper() not in self._known:
                continue  # another linter's code
            codes = codes_for(part.text, self._known)
            if not codes:
                yield self._unknown(located, entry, index)
            elif all(code.startswith(_META) for code in codes):
                continue
            elif misplaced or (not codes & entry.used and {c for c in codes if not c.startswith(_META)} <= ran):
                unused.append(index)
        if unused:
            yield self._unused(located, entry, unused, misplaced)

    def _unused(self, located: Located, entry: _Entry, unused: list[int] | None, misplaced: bool) -> Problem:
        parts = entry.directive.parts
        if misplaced:
            message = f"# cachesafe: ignore-file silences nothing here: it belongs in the first {_FILE_ROWS} rows"
            advice = "put it on a line of its own before the first statement"
            return Problem("CSF902", message, _span(located, entry), advice)
        if unused is None or parts is None:
            message = "unused suppression: no finding here"
        else:
            message = f"unused suppression: no finding of {', '.join(parts[i].text for i in unused)} here"
        fix = Fix("remove the unused suppression", "safe", (_removal(located, entry, unused),))
        advice = "delete it, or move it to a row of the reported statement"
        return Problem("CSF902", message, _span(located, entry), advice, fix)

    def _unknown(self, located: Located, entry: _Entry, index: int) -> Problem:
        part = (entry.directive.parts or ())[index]
        near = _nearest(part.text, self._known)
        span = located_span(located, entry.row, entry.column + part.start, entry.column + part.end)
        return Problem("CSF903", f"unknown rule {part.text!r} in a suppression", span, near)

    def _unreadable(self, located: Located, entry: _Entry) -> Problem:
        directive = entry.directive
        if directive.broken is not None:
            message, advice = (
                f"this suppression is ignored: {directive.broken}",
                "write # cachesafe: ignore[CODE] reason",
            )
        else:
            message, advice = f"unknown directive {directive.word!r}", "write # cachesafe: ignore[CODE] reason"
        return Problem("CSF903", message, _span(located, entry), advice)


def _entries(located: Located) -> list[_Entry]:
    # Most files hold none, and then no comment is searched for.
    rows = [row for row, text in enumerate(located.rows, 1) if "#" in text and may_hold(text)]
    if not rows:
        return []
    first = located.first_row()
    found: list[_Entry] = []
    for row in rows:
        comment = located.comment(row)
        if comment is None:
            continue
        alone = not located.rows[row - 1][: comment.column - 1].strip()
        for directive in directives(comment.text):
            if directive.word not in _WORDS and not _like_ignore(directive.word):
                continue  # `# cachesafe: we cannot ...` is prose
            whole = directive.word == "ignore-file" and alone and (row <= _FILE_ROWS or first is None or row < first)
            found.append(_Entry(row, comment.column, directive, whole))
    return found


def _like_ignore(word: str) -> bool:
    import difflib

    return bool(difflib.get_close_matches(word, ("ignore", "ignore-file", "disable", "noqa"), 1, 0.75))


def _nearest(text: str, known: Mapping[str, str]) -> str:
    from pytest_cachesafe.configuration import closest

    hint = closest(text, [*known, *known.values()], names=False)
    return hint or "`cachesafe rule --all` lists codes and names"


def _shown(directive: Directive) -> str:
    return "# noqa" if directive.word == "noqa" else f"# cachesafe: {directive.word}"


def _span(located: Located, entry: _Entry) -> Span:
    directive = entry.directive
    return located_span(located, entry.row, entry.column + directive.start, entry.column + directive.end)


def located_span(located: Located, row: int, column: int, end_column: int) -> Span:
    """A span on one row of a file."""
    return Span(located.filename, row, column, row, end_column)


def _removal(located: Located, entry: _Entry, unused: list[int] | None) -> Edit:
    """The edit that takes out the unused parts, or the whole directive when nothing is left of it."""
    from cachesafe_rules.edits import remove_comment

    directive = entry.directive
    parts = directive.parts
    if unused is None or parts is None or len(unused) == len(parts):
        return remove_comment(located.rows, _span(located, entry))
    kept = [part.text for index, part in enumerate(parts) if index not in unused]
    span = located_span(located, entry.row, entry.column + parts[0].start, entry.column + parts[-1].end)
    return Edit(span, ", ".join(kept))
