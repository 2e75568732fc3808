"""`capture_traffic`: the user's own code runs unchanged; what it sends is caught, answered and noted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.providers.capture.captured import Captured

__all__ = ["capture_traffic"]


@contextmanager
def capture_traffic(
    replies: Any = None,
    *,
    template: Any = None,
    hosts: Sequence[str] = (),
    passthrough: Sequence[str] = (),
    clock: Callable[[], float] | None = None,
    count_tokens: Callable[[str], int] | None = None,
    rules: Mapping[str, Any] | Any | None = None,
    answer_errors: bool = True,
    live: bool = False,
    key: str | None = None,
) -> Iterator[Captured]:
    """Catch what the Anthropic, OpenAI, google-genai and Bedrock SDKs send, and whatever is built on them.

    Nothing leaves the machine. Requests are recognised by their path, so that gateways, Azure, Vertex and a local
    engine behind `base_url` are caught as well, on loopback too. Other requests to loopback and Unix sockets go
    through; an unknown remote host fails the test at once, and again at the end if somebody swallowed it.

    Not caught: gRPC, websockets and HTTP clients that are not Python's, subprocesses, clients with a mock transport of
    their own (it answers first).

    Args:
        replies: what the model answers, see `script.Script`; None: "ok" to everything.
        template: front end for the recording's assertions; None: the wire front end.
        hosts: further hosts that serve models: "gateway.example", "gateway.example:8443", ".example" for all below.
        passthrough: hosts that are let through, also on loopback, and not noted.
        clock: seconds, any origin; decides lifetimes in the simulated cache. None: the monotonic clock.
        count_tokens: exact token counts; None: estimates, marked as such.
        rules: dated provider rules to use instead of the packaged ones.
        answer_errors: answer 400 where the provider would (a fifth marker, …).
        live: send the requests for real, with the user's own keys, and note the provider's counters.
        key: conversation key of all requests.

    Raises:
        UsageError: an argument that means nothing.
        CaptureStopped: an outcome of pytest's: a request to an unknown host, or one that the script cannot answer.
    """
    from pytest_cachesafe.providers.capture.answering import Session
    from pytest_cachesafe.providers.capture.captured import Captured
    from pytest_cachesafe.providers.capture.environment import dummy_keys
    from pytest_cachesafe.providers.capture.telemetry import flush
    from pytest_cachesafe.providers.capture.transports.imports import Watcher, install_imported
    from pytest_cachesafe.providers.capture.transports.patches import hub
    from pytest_cachesafe.providers.capture.transports.sockets import install as install_sockets

    recording = Captured(template=template, key=key)
    session = Session(
        replies, recording=recording, hosts=_names(hosts, "hosts"), passthrough=_names(passthrough, "passthrough"),
        clock=clock, count_tokens=count_tokens, rules=rules, answer_errors=answer_errors, live=live,
    )  # fmt: skip
    recording.session = session

    def install() -> None:
        install_imported()
        install_sockets()

    watcher = Watcher()
    error: BaseException | None = None
    with ExitStack() as stack:
        if not live:
            stack.enter_context(dummy_keys())
        watcher.install()
        stack.callback(watcher.remove)
        hub.enter(session, install)
        stack.callback(hub.leave, session)
        try:
            yield recording
        except BaseException as raised:
            error = raised
            raise
        finally:
            flush()
            if not recording.exchanges and not session.stopped and not session.counted:
                recording.note(_nothing(session.elsewhere))
            if error is not None:
                session.raise_again(error)
    session.raise_again(None)


def _names(given: Sequence[str], name: str) -> tuple[str, ...]:
    if isinstance(given, str):
        raise UsageError(f"{name}={given!r}: a list of host names is meant, {name}=[{given!r}]")
    for host in given:
        if not isinstance(host, str) or not host or "/" in host:
            raise UsageError(
                f"{name}: {host!r} is no host name; give it without scheme and path, such as 'llm.example'"
            )
    return tuple(given)


def _nothing(elsewhere: Mapping[str, int]) -> str:
    """Why nothing was caught, as far as that is known."""
    words = "no request was caught"
    if elsewhere:
        seen = ", ".join(f"{count} by {name}" for name, count in elsewhere.items())
        return f"{words}: a mock transport of the client's own answered before they got here ({seen})"
    return f"{words}; gRPC, websockets, clients with a transport of their own and subprocesses are not seen"
