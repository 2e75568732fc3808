"""Requests seen while one test ran, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from pytest_cachesafe.providers.capture.bodies import BodyReader
from pytest_cachesafe.providers.capture.callsite import users_line
from pytest_cachesafe.providers.capture.recognise import recognise, target_of
from pytest_cachesafe.providers.capture.redact import attempt_of, kept_headers, lower_headers, scope_of
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.usage import UsageError

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
        self._exchanges: list[Exchange] = []
        self._reader = BodyReader()
        self._unread: dict[str, int] = {}

    def request(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes, library: str
    ) -> Exchange | None:
        """A request is about to be sent."""
        lower = lower_headers(headers)
        found = recognise(method, url, lower, None)
        if found.kind != "generate":
            return None
        try:
            with self._lock:
                parsed = self._reader.read(body.decode("utf-8"))
        except (ValueError, RecursionError):
            self._note(f"{found.name}: a body that is no JSON")
            return None
        if not isinstance(parsed, dict):
            self._note(f"{found.name}: a body that is no JSON object")
            return None
        found = recognise(method, url, lower, parsed)
        if found.provider is None or found.api is None:
            return None
        target = target_of(url)
        exchange = Exchange(
            found.provider, found.api, parsed, model=found.model, path=found.path, host=target.host,
            headers=kept_headers(lower), scope=scope_of(target, lower), attempt=attempt_of(lower),
            stream=found.stream, library=library, line=users_line(3),
        )  # fmt: skip
        with self._lock:
            self._exchanges.append(exchange)
        return exchange

    def reply(self, token: Exchange, status: int, body: bytes | None, content_type: str) -> None:
        """Its reply came."""
        token.status = status
        if body is None or "json" not in content_type:
            return
        try:
            whole = json.loads(body)
        except (ValueError, RecursionError):
            return
        if isinstance(whole, dict):
            token.reply = whole

    def _note(self, words: str) -> None:
        with self._lock:
            self._unread[words] = self._unread.get(words, 0) + 1

    def take(self, test: str) -> Seen | None:
        """What a test that ends now has sent, judged; None if it sent nothing."""
        with self._lock:
            exchanges, self._exchanges = self._exchanges, []
            unread, self._unread = self._unread, {}
            self._reader = BodyReader()
        if not exchanges and not unread:
            return None
        seen = Seen(tests=1, requests=len(exchanges), unjudged=unread)
        for exchange in exchanges:
            seen.providers[exchange.provider] = seen.providers.get(exchange.provider, 0) + 1
        if exchanges:
            _judge(exchanges, test, seen)
        return seen


def _judge(exchanges: Sequence[Exchange], test: str, seen: Seen) -> None:
    from pytest_cachesafe.findings import Severity
    from pytest_cachesafe.providers.checks.check import check_observed

    try:
        report = check_observed(exchanges)
    except UsageError as error:
        seen.unjudged[str(error)] = seen.unjudged.get(str(error), 0) + 1
        return
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
