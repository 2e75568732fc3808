"""Requests seen while one test ran, and what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.providers.capture.bodies import BodyReader
from pytest_cachesafe.providers.capture.callsite import users_line
from pytest_cachesafe.providers.capture.recognise import recognise
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.providers.observe.growing import Growing
from pytest_cachesafe.providers.observe.sent import Headers, Sent, exchange_of
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.providers.checks.result import CacheReport
    from pytest_cachesafe.providers.rules.load import Rules

__all__ = ["Broken", "Observer", "Seen"]


@dataclass(slots=True)
class Broken:
    """One conversation that loses its prefix, or whose request is refused."""

    test: str
    code: str
    severity: str
    message: str
    # JSON path in the body; the user's line that made the call ("agent.py:12"), and the line that built the text.
    path: str | None
    line: str | None
    cause: str | None
    help: str | None
    lead: str
    before: str
    after: str
    lost_tokens: int
    estimated: bool
    usd_per_1000: float | None
    model: str | None
    # How many requests pay for it; which of the test's conversations they are in.
    requests: int
    conversation: int

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for another process."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Seen:
    """What was seen over many tests."""

    tests: int = 0
    requests: int = 0
    conversations: int = 0
    # Requests that continue another one: without any, nothing was compared.
    continuing: int = 0
    providers: dict[str, int] = field(default_factory=dict)
    broken: list[Broken] = field(default_factory=list)
    # Why some requests could not be judged, each once with how often.
    unjudged: dict[str, int] = field(default_factory=dict)
    estimated: bool = False

    def add(self, other: Seen) -> None:
        """Take over what another one saw."""
        self.tests += other.tests
        self.requests += other.requests
        self.conversations += other.conversations
        self.continuing += other.continuing
        self.broken += other.broken
        self.estimated = self.estimated or other.estimated
        for name, count in other.providers.items():
            self.providers[name] = self.providers.get(name, 0) + count
        for words, count in other.unjudged.items():
            self.unjudged[words] = self.unjudged.get(words, 0) + count

    def add_attempt(self, other: Seen) -> None:
        """Take over what another attempt of the same test saw: conversations of its own, and no further test."""
        for one in other.broken:
            one.conversation += self.conversations
        other.tests = 0
        self.add(other)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for another process."""
        out: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__ if name != "broken"}
        return {**out, "broken": [one.as_dict() for one in self.broken]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Seen:
        """From `as_dict`."""
        rest = {key: value for key, value in values.items() if key != "broken"}
        return cls(broken=[Broken(**one) for one in values["broken"]], **rest)


class Observer:
    """Sees what clients send; one test at a time. Never raises into the code it watches."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._sent: list[Sent] = []
        # By working directory.
        self._rules: dict[str, tuple[Rules, Growing]] = {}

    def request(self, method: str, url: str, headers: Headers, body: bytes, library: str) -> Sent | None:
        """A request is about to be sent."""
        if not _may_generate(method, url):
            return None
        # One list instead of a tuple a header, none of which the collector has to look at.
        flat = [said for pair in headers for said in pair]
        sent = Sent(method, url, flat, body, library, users_line(3))
        with self._lock:
            self._sent.append(sent)
        return sent

    def reply(self, token: Sent, status: int, body: bytes | None, content_type: str) -> None:
        """Its reply came."""
        token.status = status
        if body is not None and "json" in content_type:
            token.reply = body

    def take(self, test: str) -> Seen | None:
        """What a test that ends now has sent, judged; None if it sent nothing."""
        with self._lock:
            all_sent, self._sent = self._sent, []
        if not all_sent:
            return None
        try:
            rules, growing = self._in_force()
        except UsageError as error:
            return _read(all_sent, test, str(error))
        grown = growing.proved(all_sent)
        if grown is not None:
            return Seen(1, grown.requests, grown.conversations, grown.continuing, grown.providers)
        return _read(all_sent, test, rules)

    def _in_force(self) -> tuple[Rules, Growing]:
        """The rules of the working directory: a test may have gone to one that has another pyproject.toml.

        Raises:
            UsageError: what is there is no rules.
        """
        try:
            folder = os.getcwd()
        except OSError:
            # A test has removed the folder that it worked in.
            folder = ""
        if folder not in self._rules:
            from pytest_cachesafe.providers.rules.load import load_rules

            rules = load_rules() if folder else load_rules({})
            self._rules[folder] = rules, Growing(lambda exchanges: _check(exchanges, rules))
        return self._rules[folder]


def _check(exchanges: Sequence[Exchange], rules: Rules) -> CacheReport:
    from pytest_cachesafe.providers.checks.check import check_observed

    return check_observed(exchanges, rules)


def _read(all_sent: Sequence[Sent], test: str, rules: Rules | str) -> Seen | None:
    """Requests of a test judged in full.

    Args:
        rules: those in force, or why there are none.
    """
    seen = Seen(tests=1)
    reader = BodyReader()
    exchanges = [made for sent in all_sent if (made := exchange_of(sent, reader, seen.unjudged)) is not None]
    if not exchanges and not seen.unjudged:
        return None
    seen.requests = len(exchanges)
    for exchange in exchanges:
        seen.providers[exchange.provider] = seen.providers.get(exchange.provider, 0) + 1
    if not exchanges:
        return seen
    try:
        if isinstance(rules, str):
            raise UsageError(rules)
        _tell(_check(exchanges, rules), exchanges, test, seen)
    except UsageError as error:
        seen.unjudged[str(error)] = seen.unjudged.get(str(error), 0) + 1
    return seen


def _may_generate(method: str, url: str) -> bool:
    """Whether a request can be one to a model, whatever its headers and its body."""
    # Either may hold a key, and is not kept.
    return (_generates if "?" in url or "@" in url else _known_to_generate)(method, url)


def _generates(method: str, url: str) -> bool:
    return any(recognise(method, url, headers, None).kind == "generate" for headers in ({}, {"anthropic-version": ""}))


_known_to_generate = lru_cache(maxsize=256)(_generates)


def _tell(report: CacheReport, exchanges: Sequence[Exchange], test: str, seen: Seen) -> None:
    from pytest_cachesafe.findings import Severity

    seen.conversations = report.conversations
    seen.continuing = sum(verdict.against is not None for verdict in report.requests)
    seen.estimated = not report.exact
    told: dict[tuple[int, str, str | None], Broken] = {}
    for finding in report.findings:
        request = finding.location.request
        if finding.severity is Severity.NOTE or request is None:
            continue
        conversation = report.requests[request].conversation
        key = (conversation, finding.code, finding.location.path)
        data = finding.data
        lost, money = int(data.get("lost_tokens") or 0), data.get("lost_usd_per_1000")
        if key in told:
            # The same fault once more in the same conversation: told once, paid for again.
            one = told[key]
            one.lost_tokens += lost
            one.requests += data.get("lost_requests", 1)
            if money is not None:
                one.usd_per_1000 = (one.usd_per_1000 or 0.0) + money
            continue
        one = told[key] = Broken(
            test,
            finding.code,
            str(finding.severity),
            finding.message,
            finding.location.path,
            exchanges[request].line,
            finding.cause,
            finding.help,
            str(data.get("lead") or ""),
            str(data.get("before") or ""),
            str(data.get("after") or ""),
            lost,
            not report.exact,
            money,
            exchanges[request].model,
            data.get("lost_requests", 1),
            conversation,
        )
        seen.broken.append(one)
