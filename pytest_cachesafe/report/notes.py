"""What passed tests had to say, at the end of a run, and markers on classes and modules that compared nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_cachesafe.report.visible import visible

__all__ = ["fail_unpriced", "tell"]

_MOST = 20


def _unpriced(stats: Mapping[str, Sequence[Any]], session: Any) -> dict[str, int]:
    """Classes and modules whose marker sets a price although no test under it has one, with how many tests it has.

    Args:
        stats: pytest's reports by outcome.
        session: what was collected; a run that stopped before its last test says nothing.
    """
    without: Counter[str] = Counter()
    priced: set[str] = set()
    open_ends: list[str] = []
    ended: set[str] = set()
    for report in (report for reports in stats.values() for report in reports):
        if getattr(report, "outcome", "passed") not in ("passed", "rerun"):
            # A test that was skipped may be the one that checks.
            open_ends.append(str(report.nodeid))
        if getattr(report, "when", None) == "teardown":
            ended.add(report.nodeid)
            without.update(value for name, value in report.user_properties if name == "cachesafe_unpriced")
            priced.update(value for name, value in report.user_properties if name == "cachesafe_priced")
    if len(ended) < getattr(session, "testscollected", 0):
        return {}
    return {
        owner: count
        for owner, count in sorted(without.items())
        if owner not in priced and not any(test.startswith((f"{owner}::", f"{owner}/")) for test in open_ends)
    }


def fail_unpriced(session: Any, reporter: Any) -> None:
    """Fail a run in which all tests passed and such a marker stands over some."""
    if _unpriced(reporter.stats, session) and not _informational(session.config):
        session.exitstatus = 1


def _informational(config: Any) -> bool:
    from pytest_cachesafe.options import effective

    return bool(effective(config)["informational"].value)


def tell(terminalreporter: Any) -> None:
    """Print it; nothing where there is nothing."""
    notes: dict[str, list[str]] = {}
    idle = False
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "teardown":
                for name, value in report.user_properties:
                    idle = idle or name == "cachesafe_unpriced"
                    if name == "cachesafe_note":
                        notes.setdefault(str(value), []).append(report.nodeid)
    owners = _unpriced(terminalreporter.stats, terminalreporter._session) if idle else {}
    if not notes and not owners:
        return
    terminalreporter.section("cachesafe notes")
    word = "warning" if owners and _informational(terminalreporter.config) else "error"
    for owner, count in owners.items():
        tests = f"none of its {count} tests has" if count > 1 else "its one test does not have"
        terminalreporter.line(
            f"{word}: {visible(owner)}: @pytest.mark.cachesafe(max_cost=…) compared "
            f"nothing: {tests} a check with a price; call assert_cache_safe() or assert_cached() on the requests to a "
            "provider, or drop max_cost"
        )
    most = len(notes) if terminalreporter.config.get_verbosity() > 0 else _MOST
    for text, said in list(notes.items())[:most]:
        more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
        terminalreporter.line(f"{said[0]}{more}: {visible(text)}")
    if len(notes) > most:
        terminalreporter.line(f"… {len(notes) - most} more notes (-v shows all)")
