"""One capture: requests in, scripted answers out, everything noted in the order in which it arrived."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_cachesafe.providers.capture import redact, telemetry
from pytest_cachesafe.providers.capture.bodies import BodyReader, json_body
from pytest_cachesafe.providers.capture.callsite import users_line
from pytest_cachesafe.providers.capture.captured import Captured
from pytest_cachesafe.providers.capture.escape import is_ours, stop
from pytest_cachesafe.providers.capture.live import Live
from pytest_cachesafe.providers.capture.predict import Predictor
from pytest_cachesafe.providers.capture.raw import RawReply, RawRequest
from pytest_cachesafe.providers.capture.recognise import (
    Endpoint,
    Target,
    is_loopback,
    is_model_host,
    matches_host,
    recognise,
    target_of,
)
from pytest_cachesafe.providers.capture.replies import Ids, Rendered, render
from pytest_cachesafe.providers.capture.reply import Failure
from pytest_cachesafe.providers.capture.script import Script
from pytest_cachesafe.providers.capture.transports.gate import Watch
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.providers.fronts import Front
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.providers.cache.simulate import Prediction

__all__ = ["Session"]


class Session:
    """What the transports talk to; see `capture_traffic` for the arguments."""

    def __init__(
        self,
        replies: Any = None,
        *,
        recording: Captured,
        hosts: Sequence[str] = (),
        passthrough: Sequence[str] = (),
        clock: Callable[[], float] | None = None,
        count_tokens: Callable[[str], int] | None = None,
        rules: Any = None,
        answer_errors: bool = True,
        live: bool = False,
    ) -> None:
        self.script = replies if isinstance(replies, Script) else Script(replies)
        self.recording = recording
        self.live = live
        # What was raised because a request could not be answered; the first one is raised again at the end.
        self.stopped: list[BaseException] = []
        # Model requests that a transport of the user's own answered, by its name.
        self.elsewhere: dict[str, int] = {}
        # Requests for a count of tokens: answered, and no part of the recording.
        self.counted = 0
        self._hosts, self._passthrough = tuple(hosts), tuple(passthrough)
        self._answer_errors = answer_errors and not live
        self._clock = _callable(clock, "clock", "seconds") or time.monotonic
        self._start = self._read_clock()
        self.rules = rules
        self._count_tokens = _callable(count_tokens, "count_tokens", "a number of tokens")
        self._predictor = Predictor(rules, count_tokens)
        self._ids = Ids()
        self._reader = BodyReader()
        self._lock = RLock()
        # (method, URL) of requests that are ours.
        self._taken: set[tuple[str, str]] = set()
        # Names and addresses that sockets may reach: where requests were let through.
        self._open: set[str] = set()

    @property
    def count_tokens(self) -> Callable[[str], int] | None:
        """What tokens are counted with; None: estimates."""
        return self._count_tokens

    @count_tokens.setter
    def count_tokens(self, counter: Callable[[str], int] | None) -> None:
        self._count_tokens = _callable(counter, "count_tokens", "a number of tokens")
        self._predictor = Predictor(self.rules, counter)

    # What transports ask (transports.gate.Gate).

    def takes(self, method: str, url: str, headers: Iterable[tuple[str, str]], *, mocked: bool = False) -> bool:
        """Whether a request is answered here; refuses unknown remote hosts."""
        if (method, url) in self._taken:
            return True
        target = target_of(url)
        if matches_host(target, self._passthrough):
            self._open.add(target.name)
            return False
        found = recognise(method, url, redact.lower_headers(headers), None, hosts=self._hosts)
        if found.kind != "unknown":
            if not target.query:
                # Asked for every request; a query may hold a key, and is not kept.
                self._taken.add((method, url))
            return True
        if mocked or is_loopback(target.name) or telemetry.is_metadata_host(target.name):
            return False
        raise self._stop(self._unknown(f"{method} {target.host}{target.path}", target))

    def answer(self, request: RawRequest) -> RawReply | Watch | None:
        """The scripted reply to a request; a watch if it is sent for real; None if it is none of ours."""
        try:
            return self._answer(request)
        except Exception as error:
            # SDKs would take it for a broken connection, try again, and hide it. A mistake is told once, in its line.
            raise self._stop(str(error), error) from (None if isinstance(error, UsageError) else error)

    def connects(self, host: str) -> None:
        """Whether a socket may go there."""
        if is_loopback(host) or host in self._open:
            return
        if telemetry.is_metadata_host(host) or telemetry.is_telemetry_host(host):
            # Refused as a machine without network would: nobody fails for it.
            raise ConnectionRefusedError(f"{host}: not reachable while traffic is captured")
        target = Target(host, host, "/", "")
        if matches_host(target, self._passthrough) or (self.live and is_model_host(host)):
            self._open.add(host)
            return
        if is_model_host(host) or matches_host(target, self._hosts):
            raise self._stop(
                f"a socket to {host}: a model request went past the libraries whose traffic is captured (httpx2, "
                "httpx, aiohttp, requests, botocore) and was not sent; use one of these, or let it through with "
                "passthrough=[…]"
            )
        raise self._stop(self._unknown(f"a socket to {host}", target))

    def resolved(self, host: str, addresses: Iterable[str]) -> None:
        """The addresses of a host that may be reached may be reached as well."""
        if host in self._open:
            self._open.update(addresses)

    def answered_elsewhere(self, by: str, method: str, url: str) -> None:
        """Note a model request that a mock of the user's keeps from being seen."""
        if recognise(method, url, {}, None, hosts=self._hosts).kind == "generate":
            self.elsewhere[by] = self.elsewhere.get(by, 0) + 1

    # One request.

    def _answer(self, request: RawRequest) -> RawReply | Watch | None:
        target = target_of(request.url)
        headers = redact.lower_headers(request.headers)
        with self._lock:
            body, wrong = json_body(request.body, headers, self._reader)
            fronts = self._reader.fronts
        endpoint = recognise(request.method, request.url, headers, body, hosts=self._hosts, target=target)
        if endpoint.kind == "telemetry":
            with self._lock:
                self.recording.telemetry += 1
            return telemetry.answer(request.method, target)
        if endpoint.kind == "unknown":
            if request.mocked or is_loopback(target.name):
                return None
            raise self._stop(self._unknown(f"{request.method} {target.host}{target.path}", target))
        if endpoint.kind == "unscripted":
            if self.live:
                self._open.add(target.name)
                return None
            raise self._stop(
                f"{target.host}{target.path} is not scripted: {endpoint.name}. Scripted are Anthropic Messages, OpenAI "
                "Chat Completions and Responses, Gemini generateContent, Bedrock Converse and InvokeModel with Claude; "
                "name the host in passthrough=[…] to let it through"
            )
        exchange = self._exchange(request, endpoint, target, headers, body)
        if endpoint.kind == "count_tokens":
            if self.live:
                self._open.add(target.name)
                return None
            self.counted += 1
            return self._predictor.counted(exchange)
        with self._lock:
            exchange.sent_at = self._now()
            self.recording.catch(exchange)
            prediction = None
            try:
                if wrong is None:
                    prediction, wrong = self._predicted(exchange, fronts)
            finally:
                # As many as there are exchanges, whatever happens.
                self.recording.predictions.append(prediction)
            if wrong is not None:
                number = len(self.recording.exchanges) - 1
                self.recording.note(f"request {number} ({exchange.path}): {wrong}")
            if self.live:
                self._open.add(target.name)
                return Live(self, exchange)
            if prediction is None:
                # What the provider would say, too.
                return self._handed(exchange, render(exchange, Failure(400, wrong), {}, self._ids), endpoint)
            refused = self._predictor.refused(exchange, fronts) if self._answer_errors else None
            scripted = refused or self.script.next(exchange)
            counters = {} if isinstance(scripted, Failure) else self._predictor.counters(prediction, exchange)
            return self._handed(exchange, render(exchange, scripted, counters, self._ids), endpoint)

    def _predicted(self, exchange: Exchange, fronts: Sequence[Front]) -> tuple[Prediction | None, str | None]:
        """(what the provider's cache would say, None), or (None, why the body is no request of its API)."""
        try:
            return self._predictor.predict(exchange, fronts), None
        except UsageError:
            wrong = self._predictor.wrong(exchange)
            if wrong is None:
                # Not the body, but the user's own counter.
                raise
            return None, wrong

    def _exchange(
        self, request: RawRequest, endpoint: Endpoint, target: Target, headers: Mapping[str, str], body: Any
    ) -> Exchange:
        assert endpoint.provider is not None
        assert endpoint.api is not None
        return Exchange(
            provider=endpoint.provider,
            api=endpoint.api,
            body=body if body is not None else {},
            model=endpoint.model,
            path=endpoint.path,
            host=target.host,
            headers=redact.kept_headers(headers),
            scope=redact.scope_of(target, headers),
            attempt=redact.attempt_of(headers),
            stream=endpoint.stream,
            library=request.library,
            line=users_line(3),
        )

    def _handed(self, exchange: Exchange, made: Rendered, endpoint: Endpoint) -> RawReply:
        """Note what is about to be said, and have it noted when its first byte is read."""
        exchange.status = made.raw.status
        exchange.reply = made.message
        if made.raw.status < 400:
            exchange.usage, exchange.predicted = made.usage, True
        chunks = made.raw.chunks
        if endpoint.framing == "array" and made.raw.stream:
            chunks = _as_array(chunks)
        elif not made.raw.stream:
            chunks = tuple(chunks)
            made.raw.headers.setdefault("content-length", str(sum(map(len, chunks))))
        return RawReply(made.raw.status, made.raw.headers, self._begun(exchange, chunks), made.raw.stream)

    def _begun(self, exchange: Exchange, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            if exchange.began_at is None:
                self.began(exchange)
            yield chunk

    def began(self, exchange: Exchange) -> None:
        """The first byte of a reply is on its way: what the request wrote can be read from now on."""
        with self._lock:
            exchange.began_at = self._now()
            if exchange.status is not None and exchange.status < 400:
                self._predictor.began(exchange, exchange.began_at)

    def _now(self) -> float:
        return self._read_clock() - self._start

    def _read_clock(self) -> float:
        now = self._clock()
        # Not what differs from itself: NaN.
        if isinstance(now, bool) or not isinstance(now, (int, float)) or now != now:
            raise UsageError(f"clock() returned {type(now).__name__} {str(now)[:40]!r}; a number of seconds is meant")
        return now

    # What cannot be answered.

    def _unknown(self, what: str, target: Target) -> str:
        return (
            f"{what}: an unknown host while traffic is captured, the request was not sent; mock it, or name "
            f"{target.name} in passthrough=[…] (in hosts=[…] if it serves a model)"
        )

    def _stop(self, message: str, fault: BaseException | None = None) -> BaseException:
        # A mistake of the user's is told in a line; a fault of ours, or of a replies function, shows where it is.
        trace = fault is not None and not isinstance(fault, UsageError)
        words = f"{type(fault).__name__} while a request was answered: {message}" if trace else message
        made = stop(words, traceback=trace)
        with self._lock:
            self.stopped.append(made)
        return made

    def raise_again(self, error: BaseException | None) -> None:
        """At the end: fail once more for what was stopped, unless that is what is under way.

        Args:
            error: the exception that ends the block, if one does.

        Raises:
            CaptureStopped: with the first message.
        """
        if not self.stopped or is_ours(error) or (error is not None and not isinstance(error, Exception)):
            return
        first = self.stopped[0]
        more = f" (and {len(self.stopped) - 1} more)" if len(self.stopped) > 1 else ""
        raise stop(f"{first.args[0] if first.args else first}{more}") from (error or first.__cause__)


_F = TypeVar("_F", bound=Callable[..., Any])


def _callable(given: _F | None, name: str, meant: str) -> _F | None:
    if given is not None and not callable(given):
        raise UsageError(f"{name} is {type(given).__name__}; a function that returns {meant} is meant")
    return given


def _as_array(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Server-sent events as one JSON array, in pieces: what Gemini streams where `alt=sse` is not asked for."""
    opening = b"["
    for chunk in chunks:
        yield opening + chunk.partition(b"data: ")[2].rstrip()
        opening = b",\r\n"
    yield b"]" if opening != b"[" else b"[]"
