"""What catching an agent's traffic costs beside its own calls: 200 requests through the SDK, 70,000 tokens at the end.

CPU seconds, the best of a few runs. Peer: the same calls on a transport that does nothing, plus one `json.loads` of
each body (which any capture needs). Bar: at most a tenth more. Measured too: what is kept, beside the bodies' size.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import tracemalloc
from typing import Any

from providers import MODEL, REQUESTS, bodies, calls

from pytest_cachesafe.providers.capture.session import capture_traffic


def caught(parsed: list[Any]) -> tuple[float, Any]:
    """(CPU seconds of the calls inside a capture, the recording)"""
    import anthropic

    client = anthropic.Anthropic(api_key="none")
    with capture_traffic() as rec:
        client.messages.create(**parsed[0])
        gc.collect()
        start = time.process_time()
        for body in parsed:
            client.messages.create(**body)
        return time.process_time() - start, rec


def kept(parsed: list[Any]) -> int:
    """Bytes that a capture still holds after its last request."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        _, rec = caught(parsed)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0] - before
        assert len(rec.exchanges) == REQUESTS + 1
        return held
    finally:
        tracemalloc.stop()


def main() -> int:
    """Measure and print; 1 if the bar is missed."""
    wire = bodies()
    parsed = [json.loads(body) for body in wire]
    sent = calls(parsed)
    if sent is None:
        print("capture: the SDK is not installed: pip install 'pytest-cachesafe[providers]'")
        return 0
    loads = []
    for _ in range(5):
        gc.collect()
        start = time.process_time()
        for body in wire:
            json.loads(body)
        loads.append(time.process_time() - start)
    peer = sent + min(loads)
    ours = min(caught(parsed)[0] for _ in range(5))
    size = sum(map(len, wire))
    print(f"{REQUESTS} requests of {MODEL}, {size / 1e6:.1f} MB, the last {len(wire[-1]):,} bytes")
    print(f"  calls on a null transport {sent:.3f} s, json.loads of the bodies {min(loads):.3f} s")
    print(f"  calls inside a capture    {ours:.3f} s   {ours / peer:.2f} of both")
    print(f"  kept by the capture       {kept(parsed) / 1e6:.1f} MB")
    failed = ours > 1.1 * peer
    print("MISSED" if failed else "met")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
