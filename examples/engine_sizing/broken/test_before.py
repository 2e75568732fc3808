"""A salt per customer, and a pool that is too small; these fail, and should."""

from __future__ import annotations

from pytest_cachesafe import PrefixCache, assert_reuse

from before import build_request_salted
from desk import SHOPS, build_messages

MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"


def test_the_second_customer_finds_the_rules_of_the_shop() -> None:
    customers = [build_request_salted(SHOPS[0], customer, 0) for customer in ("customer-1", "customer-2")]
    assert_reuse(customers, engine="vllm", template=MODEL, min_cached=0.8)


def test_twenty_blocks_hold_two_chats() -> None:
    """Another customer in between: the pool is too small for both."""
    requests = [
        {"messages": build_messages(SHOPS[0], 0), "key": "one"},
        {"messages": build_messages(SHOPS[1], 0), "key": "two"},
        {"messages": build_messages(SHOPS[0], 1), "key": "one"},
    ]
    assert_reuse(requests, engine=PrefixCache("vllm", block_size=16, num_blocks=20), template=MODEL)
