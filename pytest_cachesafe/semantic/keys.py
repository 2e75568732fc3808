"""Checks of what a semantic cache embeds and filters by: faults of the key make collisions that no threshold mends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.findings import Finding, Location, Severity
from pytest_cachesafe.semantic.key_fields import FIELDS, Field, last_user_text
from pytest_cachesafe.semantic.prompts import checked
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.semantic.encoder import Encoder
    from pytest_cachesafe.semantic.judge import CollisionJudge

__all__ = ["KeyReport", "check_keys"]

# Requests that are changed to see what the key notices, spread over the log.
_TRIED = 20


@dataclass
class KeyReport:
    """What is wrong with a cache's keys."""

    encoder: str
    threshold: float
    requests: int
    # Distinct texts that are embedded.
    keys: int
    findings: list[Finding]
    # Parts of requests whose change the key notices, and how: "filter", or "text alone".
    told_apart: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong; notes do not count."""
        return all(finding.severity is Severity.NOTE for finding in self.findings)

    def __bool__(self) -> bool:
        return self.passed

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "encoder": self.encoder,
            "threshold": self.threshold,
            "requests": self.requests,
            "keys": self.keys,
            "findings": [finding.as_dict() for finding in self.findings],
            "told_apart": dict(self.told_apart),
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """For people; the first line is complete in itself. No prompt text is in it."""
        from pytest_cachesafe.report.visible import visible

        by = f"at threshold {self.threshold:g} [{visible(self.encoder)}]"
        where = f"{self.keys:,} keys of {self.requests:,} requests {by}"
        wrong = [finding for finding in self.findings if finding.severity is not Severity.NOTE]
        if wrong:
            more = f"; {len(wrong) - 1} more" if len(wrong) > 1 else ""
            lines = [f"cache keys: {wrong[0].message}{more} ({where})"]
        else:
            lines = [f"cache keys: nothing found ({where})"]
        for finding in self.findings:
            lines.append(f"  {finding.severity} {finding.code}: {finding.message}")
            if finding.help:
                lines.append(f"      {finding.help}")
        if self.told_apart:
            told = ", ".join(f"{name} ({how})" for name, how in self.told_apart.items())
            lines.append(f"  told apart: {told}")
        lines += [f"  note: {visible(note)}" for note in self.notes]
        return "\n".join(lines)


def check_keys(
    requests: Iterable[Any],
    judge: CollisionJudge,
    *,
    key: Callable[[Any], str] | None = None,
    partition: Callable[[Any], Any] | None = None,
    shared: Sequence[str] = (),
    lines: Sequence[int] | None = None,
) -> KeyReport:
    """Check what a cache embeds (`key`) and what it filters by (`partition`).

    Args:
        requests: prompts, request bodies or message lists, as the cache gets them.
        key: the text that is embedded, from a request; the last user message without it.
        partition: what must be equal besides (tenant, model, checksum of the system prompt …); nothing without it.
        shared: parts that may share a key on purpose: history, system, tenant, user, model, tools.
        lines: of the file they come from, one a request, for messages; without them requests count from 0.

    Raises:
        UsageError: no requests, an unknown part, a key that is no text or blank, a partition that cannot be compared,
            or an encoder that cannot be used.
    """
    from pytest_cachesafe.semantic.key_text import template_findings, window_findings

    known = [part.name for part in FIELDS]
    if isinstance(shared, str) or any(name not in known for name in shared):
        raise UsageError(f"shared={shared!r}: a list of some of {', '.join(known)} is meant")
    if isinstance(requests, (str, bytes, Mapping)):
        raise UsageError("requests: a list of prompts or request bodies is meant, not a lone one")
    given = list(requests)
    if not given:
        raise UsageError("no requests: there are no keys to check")
    make = _Keys(key, partition)
    made = [make(request, _place(index, lines)) for index, request in enumerate(given)]
    places: dict[str, int] = {}
    for index, (text, _) in enumerate(made):
        places.setdefault(text, index)
    texts = list(places)
    report = KeyReport(judge.encoder.name, judge.threshold, len(given), len(texts), [])
    report.findings += window_findings(judge.encoder, texts, places, lines)
    if not report.findings:
        _check_not_constant(judge.encoder, texts[:_TRIED])
    report.findings += template_findings(judge, texts)
    bodies = [index for index, request in enumerate(given) if not isinstance(request, str)]
    # Every part is checked, whatever the first ones gave.
    checks = [
        _check_part(report, part, given, made, bodies, make, judge, lines) for part in FIELDS if part.name not in shared
    ]
    if not any(checks) and len(shared) < len(FIELDS):
        report.notes.append(
            "the requests hold nothing besides the text: give request bodies to check what else the key must tell apart"
        )
    if key is None and bodies:
        filtered = "" if partition is not None else " and nothing is filtered by"
        report.notes.append(
            f"no key was given: the last user message is taken for it{filtered}; give the key and the partition that "
            "your cache uses"
        )
    report.notes += judge.encoder.notes
    order = list(Severity)
    report.findings.sort(key=lambda finding: order.index(finding.severity))
    return report


def _place(index: int, lines: Sequence[int] | None) -> str:
    return f"request {index}" if lines is None else f"line {lines[index]}"


def _check_not_constant(encoder: Encoder, texts: Sequence[str]) -> None:
    """With an encoder that gives the same vector for everything, a key that passes would mean nothing.

    Raises:
        UsageError: it does.
    """
    vectors = encoder.embed(texts)
    if len(texts) > 1 and float(abs(vectors - vectors[0]).max()) <= 1e-6:
        raise UsageError(
            f"encoder {encoder.name} gives the same vector for {len(texts)} different keys: nothing was checked; give "
            "the encoder that your cache uses"
        )


class _Keys:
    """The user's functions, with what they give checked."""

    def __init__(self, key: Callable[[Any], str] | None, partition: Callable[[Any], Any] | None) -> None:
        self._key = last_user_text if key is None else key
        self._partition = partition

    def __call__(self, request: Any, where: str) -> tuple[str, Any]:
        text = checked(self._key(request), f"{where}: key")
        part = None if self._partition is None else self._partition(request)
        try:
            hash(part)
        except TypeError:
            raise UsageError(
                f"{where}: partition gives {type(part).__name__}, which cannot be compared by a filter: give text or a "
                "tuple of texts"
            ) from None
        return text, part


def _check_part(
    report: KeyReport,
    part: Field,
    given: Sequence[Any],
    made: Sequence[tuple[str, Any]],
    bodies: Sequence[int],
    make: _Keys,
    judge: CollisionJudge,
    lines: Sequence[int] | None,
) -> bool:
    """Change one part of some requests; say whether the cache would still find the old answer.

    False where no request has that part, and nothing was checked.
    """
    having = [index for index in bodies if part.value(given[index]) is not None]
    if not having:
        return False
    step = max(len(having) // _TRIED, 1)
    tried = unseen = 0
    by_text: list[tuple[str, str, int]] = []
    first: int | None = None
    for index in having[::step][:_TRIED]:
        changed = part.changed(given[index])
        text, filtered = make(changed, f"{_place(index, lines)} with another {part.name}")
        tried += 1
        if filtered != made[index][1]:
            continue
        if text == made[index][0]:
            unseen += 1
            first = index if first is None else first
        else:
            by_text.append((made[index][0], text, index))
    cosines = [judge.similarity(old, new) for old, new, _ in by_text]
    merged = [(value, index) for value, (_, _, index) in zip(cosines, by_text, strict=True) if value >= judge.threshold]
    if not unseen and not merged:
        report.told_apart[part.name] = "text alone" if by_text else "filter"
        return True
    alike = _same_key_in_log(part, given, made, having)
    seen = f"; {alike:,} requests of the log share a key although it differs" if alike else ""
    if unseen:
        message = f"{part.words} is not in the key ({unseen} of {tried} requests tried keep their key without it){seen}"
    else:
        closest = max(value for value, _ in merged)
        message = (
            f"{part.words} is in the embedded text alone, where another one still merges ({len(merged)} of {tried} "
            f"requests tried, cosine up to {closest:.3f}){seen}"
        )
    report.findings.append(
        Finding(
            "key-last-message" if part.name == "history" else "key-not-partitioned",
            message,
            part.severity,
            Location(request=first if first is not None else merged[0][1]),
            cause=part.name,
            origin="application",
            help=part.why,
            data={"tried": tried, "unseen": unseen, "merged": len(merged), "in_log": alike},
        )
    )
    return True


def _same_key_in_log(part: Field, given: Sequence[Any], made: Sequence[tuple[str, Any]], having: Sequence[int]) -> int:
    """Requests that have the key of an earlier one which differs in this part."""
    first: dict[tuple[str, Any], Any] = {}
    count = 0
    for index in having:
        value = part.value(given[index])
        count += first.setdefault(made[index], value) != value
    return count
