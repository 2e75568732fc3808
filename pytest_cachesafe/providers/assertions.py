"""Assertions on requests that were sent: nothing wrong with them, enough of them cached, this one reads that much."""

from __future__ import annotations

from typing import Any

from pytest_cachesafe.providers.checks.result import CacheReport, RequestVerdict
from pytest_cachesafe.usage import UsageError

__all__ = ["CacheFailure", "assert_cache_safe", "assert_cached", "assert_read"]


class CacheFailure(AssertionError):
    """Requests are not cached as they should be; `report` holds the data, `str()` the text for people."""

    def __init__(self, report: CacheReport, verbosity: int = 0, redact: str = "none") -> None:
        super().__init__(report.text(verbosity, redact))
        self.report = report
        self._shown = (verbosity, redact)

    def __reduce__(self) -> tuple[type[CacheFailure], tuple[CacheReport, int, str]]:
        """Pools hand failures over between processes."""
        return type(self), (self.report, *self._shown)


def assert_cache_safe(requests: Any, **options: Any) -> CacheReport:
    """Assert that nothing is wrong with requests: no marker that is refused or does nothing, no prefix that is lost.

    Takes what `check_requests` takes. Notes (best effort, an estimate near a limit) never fail.

    Raises:
        CacheFailure: an AssertionError whose first line is complete in itself; `.report` holds the data.
        UsageError: the requests cannot be judged.
    """
    __tracebackhide__ = True
    return _settled(_checked(requests, options))


def assert_cached(requests: Any, *, min_share: float = 0.8, **options: Any) -> CacheReport:
    """Assert that the provider's cache serves enough: the share of prompt tokens that are read.

    Counted are requests that continue another one, all together: a first request has nothing to read.

    Args:
        requests, options: as `check_requests`.
        min_share: least share, above 0 and at most 1.

    Raises:
        CacheFailure: less is read; the findings say why.
        UsageError: a share that is none, or no request continues another.
    """
    __tracebackhide__ = True
    if isinstance(min_share, bool) or not isinstance(min_share, (int, float)) or not 0 < min_share <= 1:
        raise UsageError(f"min_share={min_share!r}: a share above 0 and at most 1")
    report = _checked(requests, options)
    read, total = report.continuing_tokens
    if not total:
        why = dict.fromkeys(v.unpredicted for v in report.requests if v.against is not None and v.unpredicted)
        told = f" ({'; '.join(filter(None, why))})" if why else ""
        raise UsageError(f"nothing was compared: no request that was answered continues another one{told}")
    if read / total < min_share:
        about = "" if report.exact else "about "
        report.missed.append(
            f"{about}{read:,} of {total:,} prompt tokens are read from the cache ({read / total:.0%}) in requests that "
            f"continue another one, min_share is {min_share:.0%}"
        )
    return _settled(report, findings=False)


def assert_read(requests: Any, *, request: int, at_least: int, **options: Any) -> CacheReport:
    """Assert what one request reads from the cache, in tokens.

    Args:
        requests, options: as `check_requests`.
        request: its number, from 0 in the order in which they were sent, retries included.
        at_least: tokens.

    Raises:
        CacheFailure: it reads less; the findings say why.
        UsageError: there is no such request, or it was not answered.
    """
    __tracebackhide__ = True
    if isinstance(at_least, bool) or not isinstance(at_least, int) or at_least < 1:
        raise UsageError(f"at_least={at_least!r}: a number of tokens, 1 or more")
    report = _checked(requests, options)
    verdict = _of(report, request)
    if verdict.usage is None:
        raise UsageError(f"what request {request} reads is not known: {verdict.unpredicted}")
    if verdict.usage.read < at_least:
        about = "" if verdict.usage.exact else "about "
        why = f" ({verdict.miss_reason})" if verdict.miss_reason else ""
        report.missed.append(
            f"request {request} reads {about}{verdict.usage.read:,} of {verdict.usage.total:,} prompt tokens from the "
            f"cache{why}, at_least is {at_least:,}"
        )
    return _settled(report, findings=False)


def _of(report: CacheReport, request: int) -> RequestVerdict:
    if isinstance(request, bool) or not isinstance(request, int) or not 0 <= request < len(report.requests):
        most = len(report.requests) - 1
        raise UsageError(f"request={request!r}: there are requests 0 to {most}" if most else "there is request 0 alone")
    return report.requests[request]


def _checked(requests: Any, options: dict[str, Any]) -> CacheReport:
    from pytest_cachesafe.providers.checks.check import check_requests

    known = ("provider", "model", "rules", "count_tokens", "prices", "name")
    for key in options:
        if key not in known:
            from pytest_cachesafe.options import closest

            raise UsageError(f"there is no option {key!r}{closest(key, known)}")
    for key in ("count_tokens", "rules"):
        # What the replies were counted with is what the check counts with.
        given = getattr(requests, key, None)
        if given is not None and options.get(key) is None:
            options[key] = given
    for words in getattr(requests, "notes", ()):
        if words.startswith("no request was caught") and not len(requests):
            # Better than that it is empty: why.
            raise UsageError(f"nothing to check: {words}")
    return check_requests(requests, **options)


def _settled(report: CacheReport, *, findings: bool = True) -> CacheReport:
    __tracebackhide__ = True
    from pytest_cachesafe.gate.judging import settle
    from pytest_cachesafe.perturb.node import current_node

    node = current_node()
    failed = bool(report.missed) or (findings and not report.passed)
    if node is not None:
        node.record(report, passed=not failed)
    if failed:
        _locate(report, node)
        if node is None:
            raise CacheFailure(report)
        raise CacheFailure(report, node.config.get_verbosity(), node.settings["redact"].value)
    settle(report, node)
    return report


def _locate(report: CacheReport, node: Any) -> None:
    """Name the lines that built what changed."""
    import os

    from pytest_cachesafe.source import told

    root = str(node.config.rootpath) if node is not None else os.getcwd()
    for finding in report.failures()[:8]:
        lead, before = str(finding.data.get("lead") or ""), str(finding.data.get("before") or "")
        words = told(lead, before, finding.cause, root)
        if words is not None:
            report.built[lead, before] = words
