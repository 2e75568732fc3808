"""What a check of requests finds, as data. Rendering lives in `report.check`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from pytest_cachesafe.findings import Finding, Severity
from pytest_cachesafe.prompt import Chat
from pytest_cachesafe.providers.cache.usage import Usage

__all__ = ["CacheReport", "RequestVerdict"]

_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


@dataclass(slots=True)
class RequestVerdict:
    """One request: what its provider's cache is predicted to do with it, and why it does not read what it could."""

    request: int
    # Requests of one conversation have one number, from 0 in the order of their first requests.
    conversation: int
    # The request it was compared with; None begins a conversation.
    against: int | None
    provider: str
    model: str | None
    # None where the provider refuses the request or did not answer it, and where too little of it is known.
    usage: Usage | None = None
    # The same under the provider's own counter names.
    counters: Mapping[str, Any] = field(default_factory=dict)
    # USD, input and output; None where a price is unknown. Estimated where `usage` is.
    cost_usd: float | None = None
    uncached_cost_usd: float | None = None
    # The provider's published name for the reason, else the code of the finding; None: read, or nothing to read.
    miss_reason: str | None = None
    # What the documents or an estimate leave open, in words; the numbers are then the likeliest ones.
    unsure: tuple[str, ...] = ()
    # Why nothing is predicted, in words, where `usage` is None ("refused").
    unpredicted: str | None = None
    # Whether it costs something all the same.
    paid: bool = False

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "request": self.request,
            "conversation": self.conversation,
            "against": self.against,
            "provider": self.provider,
            "model": self.model,
            "usage": dict(self.counters) if self.usage is not None else None,
            # The same for every provider.
            "tokens": None
            if self.usage is None
            else {
                "total": self.usage.total,
                "read": self.usage.read,
                "write": self.usage.write,
                "uncached": self.usage.uncached,
            },
            "estimated": self.usage is not None and not self.usage.exact,
            "unsure": list(self.unsure),
            "unpredicted": self.unpredicted,
            "cost_usd": self.cost_usd,
            "uncached_cost_usd": self.uncached_cost_usd,
            "miss_reason": self.miss_reason,
        }


@dataclass
class CacheReport:
    """All requests and everything found. `findings` stand worst first, then in the order of requests."""

    provider: str
    requests: list[RequestVerdict] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # model -> from how many reuses on a write of each lifetime pays: [{"ttl", "reuses", "cached", "plain"}], the sums
    # in units of the input price.
    break_even: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    # Lines of user code that made a request, by its number, where known.
    lines: dict[int, str] = field(default_factory=dict)
    name: str | None = None
    # What an assertion asked for beside the findings and did not get, one sentence each.
    missed: list[str] = field(default_factory=list)
    layout: Callable[[CacheReport, int, str], str] | None = None
    # Where a changing value was built, by a finding's (lead, before); filled in when an assertion fails.
    built: dict[tuple[str, str], str] = field(default_factory=dict)
    # The first request, for what a lock file keeps of tools and system text.
    opening: Chat | None = None

    def sort(self) -> None:
        """Worst first."""
        self.findings.sort(key=lambda f: (_RANK[f.severity], f.location.request or 0))

    @property
    def conversations(self) -> int:
        """How many there are."""
        return len({r.conversation for r in self.requests})

    @property
    def exact(self) -> bool:
        """Whether all token numbers were counted."""
        return all(r.usage is None or r.usage.exact for r in self.requests)

    @property
    def cost_usd(self) -> float | None:
        """USD of all requests; None where a price is unknown."""
        return _sum([r.cost_usd for r in self.requests if r.usage is not None])

    @property
    def uncached_cost_usd(self) -> float | None:
        """USD of all requests if nothing were cached."""
        return _sum([r.uncached_cost_usd for r in self.requests if r.usage is not None])

    @property
    def continuing_tokens(self) -> tuple[int, int]:
        """(read, all) prompt tokens of the requests that continue another one and were answered."""
        found = [r.usage for r in self.requests if r.against is not None and r.usage is not None]
        return sum(u.read for u in found), sum(u.total for u in found)

    @property
    def gate_kind(self) -> str:
        """What a check of this kind is called in a lock file."""
        return "provider"

    def gate_values(self) -> dict[str, Any]:
        """What a lock file keeps of this check."""
        from pytest_cachesafe.frontends.wire import WireFrontEnd

        reusable = read = 0
        for verdict in self.requests:
            before = self.requests[verdict.against].usage if verdict.against is not None else None
            if verdict.usage is not None and before is not None:
                reusable += before.total
                read += min(verdict.usage.read, before.total)
        worst = self.findings[0] if self.findings else None
        return {
            "kind": "provider", "front_end": f"requests to {self.provider}", "exact": self.exact,
            "requests": len(self.requests), "conversations": self.conversations,
            "tokens": sum(r.usage.total for r in self.requests if r.usage is not None),
            "reusable": reusable, "kept": {self.provider: read}, "cost_usd": self.cost_usd,
            "cause": None if worst is None else worst.code, "place": None if worst is None else worst.location.path,
            "opening": None if self.opening is None else WireFrontEnd().prompt(self.opening),
        }  # fmt: skip

    @property
    def costs(self) -> list[dict[str, Any]]:
        """USD of each conversation, with caching and without; None where a price is unknown."""
        out = []
        for number in sorted({r.conversation for r in self.requests}):
            answered = [r for r in self.requests if r.conversation == number and r.usage is not None]
            sums = _sum([r.cost_usd for r in answered]), _sum([r.uncached_cost_usd for r in answered])
            out.append({"conversation": number, "cost_usd": sums[0], "uncached_cost_usd": sums[1]})
        return out

    def failures(self) -> list[Finding]:
        """Errors and warnings, worst first."""
        return [f for f in self.findings if f.severity is not Severity.NOTE]

    @property
    def passed(self) -> bool:
        """Whether there are notes at most."""
        return not self.failures()

    def __bool__(self) -> bool:
        return self.passed

    def exit_status(self, *, strict: bool = False) -> int:
        """0 fine or notes only, 1 errors or warnings (`strict`: notes as well)."""
        return int(bool(self.findings if strict else self.failures()))

    def as_dict(self, redact: str = "none") -> dict[str, Any]:
        """JSON form, as `cachesafe check` prints it; with `redact` no prompt text is in it."""
        return {
            "schema": 1,
            "provider": self.provider,
            "requests": [r.as_dict() for r in self.requests],
            "findings": [finding_dict(f, redact) for f in self.findings],
            "missed": list(self.missed),
            "conversations": self.conversations,
            "estimated": not self.exact,
            "cost_usd": self.cost_usd,
            "uncached_cost_usd": self.uncached_cost_usd,
            "costs": self.costs,
            "break_even": self.break_even,
            "notes": list(self.notes),
        }

    def text(self, verbosity: int = 0, redact: str = "none") -> str:
        """For people; the first line is complete in itself."""
        if self.layout is not None:
            return self.layout(self, verbosity, redact)
        return "\n".join(f.message for f in self.findings) or f"{len(self.requests)} requests: nothing found"


def _sum(values: list[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    if not known or len(known) < len(values):
        return None
    # Sums of the decimal numbers that are shown.
    return float(sum(Fraction(repr(v)) for v in known))


def finding_dict(finding: Finding, redact_mode: str = "none") -> dict[str, Any]:
    """JSON form of one finding: code, severity, request, path and message first."""
    from typing import cast

    from pytest_cachesafe.report.visible import Redact, redact

    out: dict[str, Any] = {
        "code": finding.code,
        "severity": str(finding.severity),
        "request": finding.location.request,
        "path": finding.location.path,
        "message": finding.message,
        "cause": finding.cause,
        "origin": finding.origin,
        "help": finding.help,
        "location": finding.location.as_dict(),
    }
    for key, value in finding.data.items():
        hidden = redact_mode != "none" and key in ("lead", "before", "after", "detail") and isinstance(value, str)
        out[key] = redact(value, cast("Redact", redact_mode)) if hidden else value
    return out
