"""The information desk of a library: a fixed text of rules, and visitors who ask about them."""

from __future__ import annotations

RULES = (
    "Rules of the library. The library opens at nine and closes at six. On Sundays it is closed. Members may borrow up"
    " to five books for three weeks. A book may be renewed twice, unless another member waits for it. Whoever returns a"
    " book late pays ten cents a day. Lost books are paid for. Children read free of charge. The reading room is quiet."
)
QUESTIONS = ("When does it open?", "How many books may I borrow?", "May I renew a book?", "Is it open on Sundays?")

Message = dict[str, str]

CHAT: tuple[Message, ...] = (
    {"role": "user", "content": "How many books may I borrow?"},
    {"role": "assistant", "content": "Up to five, for three weeks."},
    {"role": "user", "content": "And may I renew them?"},
    {"role": "assistant", "content": "Twice, unless another member waits."},
    {"role": "user", "content": "What if I am late?"},
)


def prefix() -> str:
    """What every question comes behind. It ends where no token can reach over its end: a line break of its own would
    merge with one at the beginning of the question."""
    return f"{RULES}\n\nQuestion:"


def question(text: str) -> str:
    """What is put behind the prefix. The blank belongs here: it is the first character of the token " When"."""
    return f" {text}\nAnswer:"


def messages(turns: int) -> list[Message]:
    """The chat up to visitor's turn `turns` (from 1), rules first."""
    return [{"role": "system", "content": RULES}, *CHAT[: 2 * turns - 1]]
