"""What following a provider's cache costs beside parsing the requests, on an agent of 200 requests and 70,000 tokens.

CPU seconds, the best of a few runs. Layout and simulated cache get each request as it was parsed from the wire, with
nothing shared between requests (the worst case), and once more with equal messages shared, as a capture shares them.
Bars: shared, at most a tenth of what the same calls through the SDK cost on a transport that does nothing and one
`json.loads` of the bodies (without the SDK: at most a third of that parsing); and each block read once, not once a
request.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from pytest_cachesafe.providers.blocks.layout import Layouter, lay_out
from pytest_cachesafe.providers.cache.simulate import ProviderCache
from pytest_cachesafe.providers.exchange import Exchange

REQUESTS = 200
MODEL = "claude-sonnet-4-6"
SENTENCE = "The quarterly report of the northern branch lists {n} open invoices, {m} of them overdue since spring. "


def requests() -> list[dict[str, Any]]:
    """A tool agent's requests as its code holds them, the marker on the newest block of each; history is shared."""
    tools = [
        {
            "name": f"tool_{n}",
            "description": SENTENCE.format(n=n, m=n),
            "input_schema": {"type": "object", "properties": {name: {"type": "string"} for name in "abcd"}},
        }
        for n in range(20)
    ]
    system = [{"type": "text", "text": SENTENCE * 40, "cache_control": {"type": "ephemeral"}}]
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "Find what is overdue."}]}]
    out: list[dict[str, Any]] = []
    for n in range(REQUESTS):
        *earlier, last = messages
        *blocks, newest = last["content"]
        marked = {**last, "content": [*blocks, {**newest, "cache_control": {"type": "ephemeral"}}]}
        turn = [*earlier, marked]
        out.append({"model": MODEL, "max_tokens": 1024, "tools": tools, "system": system, "messages": turn})
        calls = [{"type": "tool_use", "id": f"c{n}.{i}", "name": f"tool_{i}", "input": {"a": str(n)}} for i in (0, 1)]
        results = [
            {"type": "tool_result", "tool_use_id": f"c{n}.{i}", "content": SENTENCE.format(n=n, m=i) * 5}
            for i in (0, 1)
        ]
        messages += [
            {"role": "assistant", "content": [{"type": "text", "text": f"Looking at {n}."}, *calls]},
            {"role": "user", "content": results},
        ]
    return out


def bodies() -> list[bytes]:
    """The same as they go out."""
    return [json.dumps(body).encode() for body in requests()]


def exchanges(parsed: list[Any]) -> list[Exchange]:
    """The requests, a second apart."""
    return [
        Exchange("anthropic", "messages", body, model=MODEL, sent_at=float(n), began_at=n + 0.5)
        for n, body in enumerate(parsed)
    ]


def best(prepare: Callable[[], Any], work: Callable[[Any], object], runs: int = 5) -> float:
    """CPU seconds of the fastest of a few runs; `prepare` is not timed."""
    found = []
    for _ in range(runs):
        given = prepare()
        gc.collect()
        start = time.process_time()
        work(given)
        found.append(time.process_time() - start)
    return min(found)


def follow(given: list[Exchange]) -> None:
    """Every request through one cache, as the session does it."""
    cache = ProviderCache({})
    read = [cache.request(exchange).usage.read for exchange in given]
    assert all(later > earlier for earlier, later in pairwise(read[1:])), read


def made(given: list[Exchange]) -> tuple[int, int]:
    """(blocks in all requests, blocks that were made)"""
    layouter, total, known = Layouter(), 0, {}
    for exchange in given:
        for block in layouter.lay_out(exchange).blocks:
            total += 1
            known[id(block)] = block
    return total, len(known)


def calls(parsed: list[Any]) -> float | None:
    """CPU seconds of the requests through the SDK on a transport that does nothing; None without the SDK."""
    try:
        import anthropic
        import httpx2
    except ImportError:
        return None
    usage = {"input_tokens": 1, "output_tokens": 1}
    reply = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": usage}

    def answer(request: Any) -> Any:
        return httpx2.Response(200, json=reply)

    client = anthropic.Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(answer)))
    client.messages.create(**parsed[0])
    return best(lambda: parsed, lambda given: [client.messages.create(**body) for body in given], runs=3)


def main() -> int:
    """Measure and print; 1 if a bar is missed."""
    wire = bodies()

    def fresh() -> list[Exchange]:
        return exchanges([json.loads(body) for body in wire])

    def shared() -> list[Exchange]:
        known: dict[str, Any] = {}
        parsed = [json.loads(body) for body in wire]
        for body in parsed:
            for name in ("tools", "system", "messages"):
                body[name] = [known.setdefault(json.dumps(item), item) for item in body[name]]
        return exchanges(parsed)

    parsing = best(lambda: wire, lambda given: [json.loads(body) for body in given])
    apart, together = best(fresh, follow), best(shared, follow)
    layouts = best(fresh, lambda given: list(map(Layouter().lay_out, given)))
    anew = best(fresh, lambda given: [lay_out(exchange) for exchange in given], runs=1)
    total, new = made(fresh())
    size = sum(map(len, wire))
    print(f"{REQUESTS} requests, {size / 1e6:.1f} MB, the last {len(wire[-1]):,} bytes")
    print(f"  json.loads of the bodies                 {parsing:7.3f} s")
    print(f"  layout and cache, nothing shared         {apart:7.3f} s   {apart / parsing:.2f} of json.loads")
    print(f"  layout and cache, equal messages shared  {together:7.3f} s   {together / parsing:.2f}")
    print(f"  layout alone, nothing shared             {layouts:7.3f} s   {layouts / parsing:.2f}")
    print(f"  layout anew for every request            {anew:7.3f} s   {anew / parsing:.2f}")
    print(f"  blocks {total:,}, of which {new:,} were read")
    sent = calls([json.loads(body) for body in wire])
    bar = parsing / 3
    if sent is not None:
        bar = (sent + parsing) / 10
        print(f"  the SDK's calls on a null transport      {sent:7.3f} s")
        print(f"  layout and cache against calls and json.loads: {together / (sent + parsing):.1%}")
    failed = together > bar or new > 0.05 * total
    print("MISSED" if failed else "met")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
