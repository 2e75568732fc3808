"""What catching an agent's traffic costs beside its own calls: 200 requests through the SDK, 70,000 tokens at the end.

Peer: the same calls by the same client on a transport that does nothing but one `json.loads` of each body (which any
capture needs, and which is thrown away here), with the reply that the capture gives. The two take turns; CPU seconds,
the median of the ratios of neighbours, since the speed of a machine changes while it measures. Bar: at most a tenth
more than the peer, with the garbage collector on and, since one full collection more or less on one side is luck, with
it off. Measured too: what is kept, beside the bodies' size.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

from providers import MODEL, REQUESTS, requests

from pytest_cachesafe.providers.capture.session import capture_traffic

TURNS = 15


def timed(given: list[dict[str, Any]], collector: bool) -> float:
    """CPU seconds of all calls by a new client, its first one (imports, lazy models) left out."""
    import anthropic

    with anthropic.Anthropic(api_key="none") as client:
        client.messages.create(**given[0])
        gc.collect()
        if not collector:
            gc.disable()
        try:
            start = time.process_time()
            for body in given:
                client.messages.create(**body)
            return time.process_time() - start
        finally:
            gc.enable()


def peer(given: list[dict[str, Any]], collector: bool, reply: bytes) -> float:
    """Nothing but the reading of each body."""
    import httpx2

    def handle_request(self: Any, request: Any) -> Any:
        json.loads(request.read())
        return httpx2.Response(200, headers={"content-type": "application/json"}, content=reply)

    original = httpx2.HTTPTransport.handle_request
    httpx2.HTTPTransport.handle_request = handle_request  # type: ignore[method-assign]
    try:
        return timed(given, collector)
    finally:
        httpx2.HTTPTransport.handle_request = original  # type: ignore[method-assign]


def caught(given: list[dict[str, Any]], collector: bool = True) -> tuple[float, Any]:
    """(the calls inside a capture, the recording)"""
    with capture_traffic() as rec:
        return timed(given, collector), rec


def kept(given: list[dict[str, Any]]) -> int:
    """Bytes that a capture still holds after its last request."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        _, rec = caught(given)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0] - before
        assert len(rec.exchanges) == REQUESTS + 1
        return held
    finally:
        tracemalloc.stop()


def turns(first: Callable[[], float], second: Callable[[], float]) -> list[tuple[float, float]]:
    """Both measured in turn, each of them first every other time."""
    found = []
    for n in range(TURNS):
        if n % 2:
            b = second()
            found.append((first(), b))
        else:
            a = first()
            found.append((a, second()))
    return found


def main() -> int:
    """Measure and print; 1 if the bar is missed."""
    try:
        import anthropic  # noqa: F401
    except ImportError:
        print("capture: the SDK is not installed: pip install 'pytest-cachesafe[providers]'")
        return 0
    given = requests()
    _, rec = caught(given)
    reply = json.dumps(rec.exchanges[-1].reply).encode()
    peer(given, True, reply)
    wire = [json.dumps(body).encode() for body in given]
    print(f"{REQUESTS} requests of {MODEL}, {sum(map(len, wire)) / 1e6:.1f} MB, the last {len(wire[-1]):,} bytes")
    failed = False
    for on in (True, False):
        found = turns(partial(peer, given, on, reply), lambda on=on: caught(given, on)[0])  # type: ignore[misc]
        nothing, ours = (median(column) for column in zip(*found, strict=True))
        ratios = sorted(b / a for a, b in found)
        failed |= median(ratios) > 1.1
        print(f"  collector {'on' if on else 'off'}")
        print(f"    calls on a null transport that reads the bodies  {nothing:.3f} s")
        print(f"    calls inside a capture                           {ours:.3f} s   {ours / nothing:.2f} of them")
        print(f"    turn by turn {ratios[0]:.2f} to {ratios[-1]:.2f}, median {median(ratios):.2f}")
    print(f"  kept by the capture {kept(given) / 1e6:.1f} MB")
    print("MISSED" if failed else "met")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
