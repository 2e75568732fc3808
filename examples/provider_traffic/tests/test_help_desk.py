"""The help desk as it is. No key, no network: the SDK's requests are caught and get the replies scripted here."""

from __future__ import annotations

import pytest
from pytest_cachesafe import Failure, Reply, ToolCall

from help_desk import MODEL, HelpDesk

LOOK_UP = ToolCall("find_order", {"number": "A-1001"})


def test_a_conversation_is_cache_safe(llm_traffic) -> None:
    llm_traffic.reply(LOOK_UP, "It was shipped on Monday.", "The parcel is 77120.", "You are welcome.")
    desk = HelpDesk()
    assert desk.ask("Where is order A-1001?") == "It was shipped on Monday."
    desk.ask("And the parcel?")
    desk.ask("Thanks!")
    assert len(llm_traffic) == 4
    llm_traffic.assert_cache_safe()
    llm_traffic.assert_cached(min_share=0.9)


def test_the_manual_is_written_once_and_read_from_then_on(cachesafe) -> None:
    # About: no public tokenizer, so counts are estimates unless you give count_tokens=.
    with cachesafe.record(replies="ok") as sent:
        first, second = HelpDesk(), HelpDesk()
        first.ask("Do you ship to Norway?")
        second.ask("Can I pay by invoice?")
    sent.assert_read(request=1, at_least=1000)


def test_the_counters_that_a_dashboard_reads(cachesafe) -> None:
    with cachesafe.record(count_tokens=lambda text: len(text) // 4):
        desk = HelpDesk()
        asked = [{"role": "user", "content": "Do you ship to Norway?"}]
        first, second = (
            desk.client.messages.create(model=MODEL, max_tokens=9, system=desk.system(), messages=asked).usage
            for _ in range(2)
        )
    assert first.cache_read_input_tokens == 0
    assert first.cache_creation_input_tokens == second.cache_read_input_tokens > 1000


def test_an_overloaded_provider(cachesafe) -> None:
    """Retries of the SDK are requests too; they are no break."""
    with cachesafe.record(
        replies=[Failure(529, headers={"retry-after-ms": "1"}), Reply("Sorry for the wait.")]
    ) as sent:
        assert HelpDesk().ask("Are you there?") == "Sorry for the wait."
    assert [exchange.status for exchange in sent.exchanges] == [529, 200]
    sent.assert_cache_safe()


@pytest.mark.cachesafe(max_cost=0.10)
def test_what_a_conversation_may_cost(cachesafe) -> None:
    """USD, by the provider's list prices: a hard budget needs no lock file."""
    with cachesafe.record(replies={"order": LOOK_UP, "shipped": "On Monday.", "": "You are welcome."}) as sent:
        desk = HelpDesk()
        desk.ask("Where is my order A-1001?")
        for _ in range(5):
            desk.ask("Thanks!")
    sent.assert_cache_safe()
