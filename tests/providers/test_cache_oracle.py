"""The simulated cache against a plain writing-down of the documented rules, on many small conversations."""

from __future__ import annotations

import json
from typing import Any

from cache_requests import HOUR, MARK, NO_MINIMUM, anthropic, letters, said, text, user
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_anthropic import NaiveCache
from tries import tries

from pytest_cachesafe.providers.cache.simulate import ProviderCache
from pytest_cachesafe.providers.exchange import Exchange

BLOCKS = st.sampled_from(
    [
        *(text(c) for c in "abc"),
        {"type": "tool_use", "id": "1", "name": "f", "input": {}},
        {"type": "tool_result", "tool_use_id": "1", "content": "r"},
        {"type": "thinking", "thinking": "t", "signature": "s"},
    ]
)


@st.composite
def conversations(draw: st.DrawFn) -> list[tuple[Exchange, float]]:
    """(request, seconds until its response begins); most go on from the one before, some from an earlier one."""
    histories: list[list[dict[str, Any]]] = [[]]
    out: list[tuple[Exchange, float]] = []
    now = 0.0
    for _ in range(draw(st.integers(1, 10))):
        now += draw(st.sampled_from([0.0, 1.0, 100.0, 299.0, 300.0, 2_000.0, 3_600.0]))
        base = histories[-1] if draw(st.integers(0, 3)) else draw(st.sampled_from(histories))
        flat = [*base, *draw(st.lists(BLOCKS, min_size=1, max_size=30))]
        histories.append(flat)
        marks = draw(st.lists(st.integers(0, len(flat) - 1), max_size=3)) if draw(st.booleans()) else [len(flat) - 1]
        # Longest lifetimes first, as the API wants them.
        kinds = sorted(draw(st.lists(st.booleans(), min_size=len(marks), max_size=len(marks))), reverse=True)
        given = [dict(block) for block in flat]
        for at, hour in zip(sorted(marks), kinds, strict=True):
            given[at] |= HOUR if hour else MARK
        messages = [user(*given[:3]), *([said(*given[3:])] if given[3:] else [])]
        extra = draw(st.sampled_from([{}, {"system": [text("rules", **HOUR)]}, {"system": "rules"}]))
        out.append((anthropic(messages, at=now, **extra), draw(st.sampled_from([0.0, 0.5, 50.0]))))
    return out


@given(conversations())
@settings(deadline=None, max_examples=tries(200))
def test_the_same_as_the_rules_written_down_plainly(requests: list[tuple[Exchange, float]]) -> None:
    provider, naive = ProviderCache(NO_MINIMUM, letters), NaiveCache()
    for exchange, wait in requests:
        assert exchange.sent_at is not None
        wire = Exchange("anthropic", "messages", json.loads(json.dumps(exchange.body)), model=exchange.model)
        wire.sent_at, wire.began_at = exchange.sent_at, exchange.sent_at + wait
        usage = provider.request(wire).usage
        assert (usage.read, dict(usage.written), usage.uncached) == naive.request(wire, wire.began_at)
