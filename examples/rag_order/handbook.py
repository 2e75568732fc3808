"""Questions about the staff handbook: the passages found go into the system text, the chat follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Message = dict[str, str]


@dataclass(frozen=True)
class Passage:
    """A passage as the search index returns it; the score depends on the replica that answers."""

    id: str
    text: str
    score: float


def build_messages(chat: Sequence[Message], found: Iterable[Passage]) -> list[Message]:
    """The messages to send.

    Passages go in by id, not by score: two replicas that rank a tie differently, or a repeated search in the next turn,
    then give the same prompt. Which passages are in is still the ranking's business.
    """
    return [_system(sorted(found, key=lambda passage: passage.id)), *chat]


def build_messages_by_score(chat: Sequence[Message], found: Iterable[Passage]) -> list[Message]:
    """As it was: best passage first, in the order of the search result."""
    return [_system(found), *chat]


def _system(passages: Iterable[Passage]) -> Message:
    sources = "\n\n".join(f"[{passage.id}] {passage.text}" for passage in passages)
    return {"role": "system", "content": f"Answer from these passages of the staff handbook only.\n\n{sources}"}
