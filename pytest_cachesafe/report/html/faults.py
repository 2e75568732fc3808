"""What a check found wrong, of every kind in one form: where, why, both sides, what it costs, what to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_cachesafe.report.html.reading import dollars, mapping, rows, whole

__all__ = ["Fault", "faults_of"]


@dataclass
class Fault:
    """One thing that is wrong. The same thing in several requests is one fault."""

    severity: str
    # The cause class, or the code of the rule.
    code: str
    title: str
    requests: list[int] = field(default_factory=list)
    place: str = ""
    cause: str = ""
    detail: str = ""
    # Text in front of the divergence, and behind it on either side.
    lead: str = ""
    before: str = ""
    after: str = ""
    lost: int = 0
    estimated: bool = False
    usd_per_1000: float | None = None
    fix: str = ""
    built: str = ""

    @property
    def has_text(self) -> bool:
        """Whether there is something to show of either side."""
        return bool(self.before or self.after)


def faults_of(kind: str, data: Mapping[str, Any]) -> list[Fault]:
    """The faults of a check, the worst first."""
    if kind == "stable":
        return _of_steps(data)
    if kind == "provider":
        return _of_findings(data)
    return []


def _of_steps(data: Mapping[str, Any]) -> list[Fault]:
    alike: dict[tuple[str, ...], Fault] = {}
    steps = [*rows(data.get("steps")), *rows(data.get("perturbed"))]
    worst = data.get("worst_step")
    steps.sort(key=lambda step: step.get("request") != worst)
    for step in steps:
        if step.get("reset") is not None:
            continue
        request = whole(step.get("request"))
        under = f" under {step['under']}" if step.get("under") else ""
        if step.get("raised"):
            key: tuple[str, ...] = ("raised", str(step["raised"]), under)
            if key not in alike:
                alike[key] = Fault(
                    "error", "raises", f"the template raises{under}", place="template", detail=str(step["raised"])
                )
            alike[key].requests.append(request)
            continue
        main = step.get("divergence")
        for found in (*([main] if main else []), *(note for note in rows(step.get("notes")) if note != main)):
            if not isinstance(found, Mapping):
                continue
            where = mapping(found.get("location"))
            key = (*(str(found.get(k)) for k in ("cause", "origin")), *(str(where.get(k)) for k in _SAME), under)
            fault = alike.get(key)
            lost = whole(found.get("lost_tokens"))
            if fault is None:
                fault = alike[key] = _divergence(found, where, under, bool(data.get("estimated")))
            fault.requests.append(request)
            fault.lost = max(fault.lost, lost)
    for fault in alike.values():
        fault.requests.sort()
    for name, toggle in mapping(data.get("toggles")).items():
        found, value = mapping(mapping(toggle).get("divergence")), mapping(toggle)
        if value.get("failed") and found:
            fault = _divergence(found, mapping(found.get("location")), "", bool(data.get("estimated")))
            fault.severity, fault.title = "error", str(value["failed"])
            fault.requests.append(whole(value.get("request")))
            fault.lost = whole(found.get("lost_tokens"))
            alike["toggle", str(name)] = fault
    rank = {"error": 0, "warning": 1}
    return sorted(alike.values(), key=lambda fault: (rank.get(fault.severity, 2), -fault.lost))


_SAME = ("part", "role")


def _divergence(found: Mapping[str, Any], where: Mapping[str, Any], under: str, estimated: bool) -> Fault:
    from pytest_cachesafe.prefix.causes import ADVICE, CAUSES, advice

    cause, origin = str(found.get("cause") or ""), str(found.get("origin") or "")
    return Fault(
        str(found.get("severity") or "note"),
        cause,
        f"{CAUSES.get(cause, cause)}{under}",
        place=place_of(where),
        cause=f"{cause} ({origin})" if origin else cause,
        lead=str(found.get("lead") or ""),
        before=str(found.get("before") or ""),
        after=str(found.get("after") or ""),
        estimated=estimated,
        fix=advice(cause, origin) if cause in ADVICE else "",
        built=str(found.get("built") or ""),
    )


def place_of(where: Mapping[str, Any]) -> str:
    """A place in a request."""
    index, part, path = where.get("message_index"), where.get("part"), where.get("path")
    shown = f"message {index} ({where.get('role') or 'unknown role'})" if index is not None else str(part or "prompt")
    if part == "system":
        shown = "system text"
    return f"{shown} at {path}" if path and path not in (part, "prompt") else shown


def _of_findings(data: Mapping[str, Any]) -> list[Fault]:
    alike: dict[tuple[str, ...], Fault] = {}
    for found in rows(data.get("findings")):
        key = tuple(str(found.get(k)) for k in ("code", "severity", "path", "cause"))
        fault = alike.get(key)
        usd = dollars(found.get("lost_usd_per_1000"))
        if fault is None:
            origin = found.get("origin")
            cause = str(found.get("cause") or found.get("code") or "")
            fault = alike[key] = Fault(
                str(found.get("severity") or "note"),
                str(found.get("code") or ""),
                str(found.get("message") or ""),
                place=str(found.get("path") or "the whole request"),
                cause=f"{cause} ({origin})" if origin else cause,
                detail=str(found.get("detail") or ""),
                lead=str(found.get("lead") or ""),
                before=str(found.get("before") or ""),
                after=str(found.get("after") or ""),
                estimated=bool(data.get("estimated")),
                fix=str(found.get("help") or ""),
                built=str(found.get("built") or ""),
            )
        fault.requests.append(whole(found.get("request")))
        fault.lost += whole(found.get("lost_tokens"))
        if usd is not None:
            fault.usd_per_1000 = (fault.usd_per_1000 or 0.0) + usd
    return list(alike.values())
