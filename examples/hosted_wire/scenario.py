"""One customer, three questions, six requests: what the tests send through each version of the code."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from order_desk import Conversation

QUESTIONS = [
    ("Where is order A-1001?", "find_order", "A-1001: 1 cordless drill, 119.00 EUR, shipped on Monday, parcel 77120."),
    ("And when will it be here?", "track_parcel", "Parcel 77120: in the depot at Kassel, delivery planned tomorrow."),
    ("Too late, I want the money back.", "refund", "Refund of 119.00 EUR accepted, 2 to 4 working days."),
]
ANSWERS = ["It was shipped on Monday.", "Tomorrow, it is in Kassel now.", "The refund is under way."]


def play(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """The bodies in the order in which they are sent: after each question, and after each tool result."""
    clock = datetime(2026, 3, 2, 10, 41)
    for i, (question, tool, result) in enumerate(QUESTIONS):
        conversation.ask(question, now=clock + timedelta(minutes=2 * i))
        yield conversation.request()
        conversation.call(f"toolu_{i}", tool, number="A-1001")
        conversation.result(f"toolu_{i}", result)
        yield conversation.request()
        conversation.answer(ANSWERS[i])
