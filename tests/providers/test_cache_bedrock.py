"""Claude's cache on Bedrock: cache points, minimum per checkpoint, no runs."""

from __future__ import annotations

from typing import Any

import pytest
from cache_requests import NO_MINIMUM, converse, letters

from pytest_cachesafe.providers.cache.simulate import ProviderCache
from pytest_cachesafe.providers.exchange import Exchange

POINT: dict[str, Any] = {"cachePoint": {"type": "default"}}
HOUR = {"cachePoint": {"type": "default", "ttl": "1h"}}


def ask(*content: dict[str, Any], system: str = "", model: str = "anthropic.claude-opus-5-5", **body: Any) -> Exchange:
    lead = {"system": [{"text": system}, POINT]} if system else {}
    return converse([{"role": "user", "content": list(content)}], model=model, **lead, **body)


def test_cache_points_write_and_read() -> None:
    provider = ProviderCache(NO_MINIMUM, letters)
    first = provider.request(ask({"text": "hello"}, HOUR, {"text": "you"}, system=""))
    assert (first.usage.read, dict(first.usage.written), first.usage.uncached) == (0, {"1h": 5}, 3)
    second = provider.request(ask({"text": "hello"}, HOUR, {"text": "you"}, {"text": "!!"}, POINT))
    # The first checkpoint is read; behind it 5 more up to the second.
    assert (second.usage.read, dict(second.usage.written), second.usage.uncached) == (5, {"5m": 5}, 0)


@pytest.mark.parametrize(
    ("system", "message", "written", "opened"),
    [
        # The first checkpoint that is made needs 1,024 tokens in front of it, the second 2,048 by the documents;
        # replies on record show one that was made with fewer.
        (1_024, 1_024, 2_048, 0),
        (1_024, 1_023, 2_047, 1),
        (1_023, 1_025, 2_048, 0),
        # One that is too short is none, so that the next one is the first.
        (1_023, 1, 1_024, 0),
        (1_000, 23, 0, 0),
    ],
)
def test_a_second_checkpoint_below_twice_the_minimum_is_open(
    system: int, message: int, written: int, opened: int
) -> None:
    provider = ProviderCache({}, letters)
    model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    found = provider.request(ask({"text": "m" * message}, POINT, system="s" * system, model=model))
    assert found.usage.write == written
    assert sum("checkpoint 2 is documented to need 2,048" in words for words in found.unsure) == opened


def test_runs_of_tool_blocks_count_each() -> None:
    calls = [{"toolUse": {"toolUseId": str(i), "name": "f", "input": {}}} for i in range(10)]
    results = [{"toolResult": {"toolUseId": str(i), "content": [{"text": "r"}]}} for i in range(10)]
    start: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "q"}, POINT]}]
    for extra, read in (([], 0), ([POINT], 1)):
        provider = ProviderCache(NO_MINIMUM, letters)
        provider.request(converse(start))
        grown = [
            {"role": "user", "content": [{"text": "q"}]},
            {"role": "assistant", "content": [*calls, *extra]},
            {"role": "user", "content": [*results, POINT]},
        ]
        # 20 positions behind the last checkpoint: out of reach, unless another one stands in between.
        assert provider.request(converse(grown)).usage.read == read


def test_a_tool_choice_leaves_tools_and_system() -> None:
    tools = {"tools": [{"toolSpec": {"name": "f"}}, POINT]}
    provider = ProviderCache(NO_MINIMUM, letters)
    provider.request(ask({"text": "q"}, POINT, system="s", toolConfig=tools))
    found = provider.request(ask({"text": "q"}, POINT, system="s", toolConfig={**tools, "toolChoice": {"any": {}}}))
    assert found.read_at == "system[0]"


def test_bedrock_publishes_no_reasons() -> None:
    provider = ProviderCache(NO_MINIMUM, letters)
    provider.request(ask({"text": "q"}, POINT, system="a"))
    assert provider.request(ask({"text": "q"}, POINT, system="b")).miss is None
