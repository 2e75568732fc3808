"""One report for a request whose history is lost for two reasons.

Where text that changes with every turn stands before the history, nothing of that history is reused; that the same
list is cut to a window as well costs nothing more until the text is moved. The window becomes a step of the report on
the text. Suppressions, the baseline and fixes come first: they mean single places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.findings import Flow

if TYPE_CHECKING:
    from pytest_cachesafe.findings import Finding

__all__ = ["carrying", "unmasked"]

_BEFORE = "CSF301"
_WINDOW = "CSF303"


def unmasked(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those that change nothing; the ones that hide them get their places. Order is kept."""
    told: dict[tuple[str | None, str, str], list[int]] = {}
    for index, finding in enumerate(findings):
        if finding.code == _BEFORE and (history := finding.data.get("history")):
            told.setdefault((finding.location.filename, finding.data["function"], history), []).append(index)
    # Where the function also sends that history behind a text that stays, the window costs there.
    hosts = {key: every[0] for key, every in told.items() if len(every) >= findings[every[0]].data["requests"]}
    into: dict[int, int] = {}
    for index, finding in enumerate(findings) if hosts else ():
        if finding.code == _WINDOW:
            # A list goes by its own name, and by that of what was cut from it.
            keys = [
                (finding.location.filename, finding.data.get("function"), n) for n in finding.data.get("names") or ()
            ]
            host = next((hosts[key] for key in keys if key in hosts), None)
            if host is not None:
                into[index] = host
    if not into:
        return list(findings)
    hidden: dict[int, list[Finding]] = {}
    for index, host in sorted(into.items()):
        hidden.setdefault(host, []).append(findings[index])
    return [
        carrying(finding, hidden[index]) if index in hidden else finding
        for index, finding in enumerate(findings)
        if index not in into
    ]


def carrying(finding: Finding, hidden: Sequence[Finding]) -> Finding:
    """The finding with the places and messages of others."""
    flow = dict.fromkeys(finding.flow)
    also: list[Any] = list(finding.data.get("also") or ())
    for other in hidden:
        where = other.location
        flow.update(dict.fromkeys(other.flow))
        flow[Flow(where.filename or "", where.row or 1, f"also {other.code}: {other.message}")] = None
        also.append(
            {"code": other.code, "name": other.data.get("name"), "row": where.row, "message": other.message},
        )
        also.extend(other.data.get("also") or ())
    return replace(finding, flow=tuple(flow), data={**finding.data, "also": also})
