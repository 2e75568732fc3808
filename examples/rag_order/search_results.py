"""What the search index returned for one chat, and the chat."""

from __future__ import annotations

from handbook import Message, Passage

FOUND = [
    Passage("leave-4", "Annual leave is 28 days. Up to five unused days move on into the next year.", 0.83),
    Passage("leave-1", "Leave is requested from the team lead at least two weeks ahead.", 0.83),
    Passage("sick-2", "From the third day of sickness on, a doctor's note is needed.", 0.79),
    Passage("leave-9", "In the year of joining, leave is counted by months worked.", 0.71),
]
CHAT: list[Message] = [
    {"role": "user", "content": "How many days of leave do I have?"},
    {"role": "assistant", "content": "28 days [leave-4]."},
    {"role": "user", "content": "Can I take some of them next year?"},
    {"role": "assistant", "content": "Up to five days [leave-4]."},
    {"role": "user", "content": "Whom do I ask?"},
]
