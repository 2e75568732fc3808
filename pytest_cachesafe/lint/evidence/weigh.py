"""Which reports stay: those whose cost the code shows, in code that runs, with something behind them to lose.

A time that is read once and kept is told as that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.evidence.files import Files
from pytest_cachesafe.lint.evidence.mechanism import Mechanism
from pytest_cachesafe.lint.evidence.pinned import Pinned
from pytest_cachesafe.lint.evidence.prefix.last_lines import LastLines
from pytest_cachesafe.lint.evidence.prefix.one_shot import OneShot
from pytest_cachesafe.lint.evidence.running.called import Called
from pytest_cachesafe.lint.evidence.running.overridden import Overridden
from pytest_cachesafe.lint.evidence.running.unpassed import Unpassed
from pytest_cachesafe.lint.evidence.sending.appended import Appended
from pytest_cachesafe.lint.evidence.sending.bare import Bare
from pytest_cachesafe.lint.evidence.sending.kept_texts import KeptTexts
from pytest_cachesafe.lint.evidence.sending.left_behind import LeftBehind
from pytest_cachesafe.lint.evidence.sending.newest import Newest
from pytest_cachesafe.lint.evidence.sending.tool_dicts import ToolDicts
from pytest_cachesafe.lint.evidence.sending.windows import Windows

if TYPE_CHECKING:
    from cachesafe_rules.api import Report, Rule

__all__ = ["weighed"]


def weighed(
    told: Mapping[str, Sequence[tuple[Rule, Report]]],
    files: Sequence[str],
    read: Callable[[str], bytes | None],
    templates: Sequence[str] = (),
) -> dict[str, list[tuple[Rule, Report]]]:
    """The reports by file without those that cost nothing; what looks at one file is asked before what looks at all.

    `files` are those of the project, `templates` its texts, `read` gives the bytes of one.
    """
    seen = Files(read)
    shown = Mechanism(files, seen)
    left: dict[str, list[tuple[Rule, Report]]] = {}
    for name, reports in told.items():
        once = OneShot(name, seen, shown.is_alone)
        left[name] = [
            (r, report) for r, report in reports if shown.shown(r.code, report) and not once.holds(r.code, report)
        ]
    rows = {name: {report.span.row for _, report in reports} for name, reports in left.items() if reports}
    overridden = Overridden(files, read)
    called = Called(files, read)
    never = {name: overridden.rows(name, asked) for name, asked in rows.items()}
    for name, dead in (*called.dead(rows).items(), *never.items()):
        left[name] = [(rule, report) for rule, report in left[name] if report.span.row not in dead]
    unpassed = Unpassed(files, read, called.is_told)
    last = LastLines(files, seen, templates, left)
    kept = KeptTexts(files, seen)
    newest = Newest(files, read)
    appended = Appended(files, seen)
    bare = Bare(seen)
    others = ToolDicts(read)
    left_behind = LeftBehind(seen, shown.is_alone)
    windows = Windows(files, read, shown.is_alone)
    pinned = Pinned(seen)
    return {
        name: [
            (r, pinned.worded(r.code, report))
            for r, report in reports
            if not (unpassed.holds(report) or last.holds(r.code, report) or windows.holds(r.code, report))
            and not any(one.holds(report) for one in (kept, newest, appended, bare, others, left_behind))
        ]
        for name, reports in left.items()
    }
