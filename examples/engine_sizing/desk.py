"""The help desk of several shops on one engine: each shop has its rules in the system text, its customers chat."""

from __future__ import annotations

from collections.abc import Callable, Iterator

Message = dict[str, str]

SHOPS = ("northwind", "lakeside", "old-town")
QUESTIONS = (
    "Where is my order?",
    "Can I still change the address?",
    "How long may I keep it before I send it back?",
    "Who pays for the parcel?",
)
ANSWERS = (
    "It left our house this morning and should reach you within two days. You will get a message from the carrier.",
    "Yes, as long as the parcel has not been handed over. I have noted the new address for you.",
    "You have thirty days from the day of delivery, and sixty days for anything bought in December.",
)
RULES = (
    "Answer in two sentences at most. Never promise a date that the carrier has not confirmed.",
    "Orders can be changed until they are packed. After that, offer to stop the parcel at the carrier.",
    "Goods may be sent back within thirty days, unworn and in their box. Sale items may be exchanged only.",
    "Refunds go to the card that was charged and take up to five working days. Do not offer vouchers instead.",
    "If a customer is upset, say that you understand, then say what will be done, by whom and by when.",
    "Never ask for a card number. If one is written into the chat, tell the customer to have the card blocked.",
    "Questions about jobs, the press or wholesale go to the office; give its address and nothing else.",
)


def rules(shop: str) -> str:
    """The system text of a shop; the same for all its customers."""
    return "\n".join([f"You work at the help desk of {shop}.", *(f"{i}. {rule}" for i, rule in enumerate(RULES, 1))])


def build_messages(shop: str, turn: int) -> list[Message]:
    """The messages of a customer's request number `turn`."""
    messages = [{"role": "system", "content": rules(shop)}]
    for question, answer in zip(QUESTIONS[:turn], ANSWERS, strict=False):
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return [*messages, {"role": "user", "content": QUESTIONS[turn]}]


Build = Callable[[str, str, int], dict[str, object]]


def build_request(shop: str, customer: str, turn: int) -> dict[str, object]:
    """The request as it is sent: one cache salt per shop, so that shops cannot probe each other's prompts."""
    return {"messages": build_messages(shop, turn), "cache_salt": shop, "tenant": shop, "conversation": customer}


def afternoon(customers: int = 12, *, build: Build = build_request) -> Iterator[dict[str, object]]:
    """A log of requests: `customers` chats that go on side by side, four turns each."""
    for turn in range(len(QUESTIONS)):
        for customer in range(customers):
            yield build(SHOPS[customer % len(SHOPS)], f"customer-{customer}", turn)
