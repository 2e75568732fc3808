"""As it was: the blank stood at the end of the prefix, and the number of the visitor in front of the rules."""

from __future__ import annotations

from desk import CHAT, RULES, Message


def prefix() -> str:
    """Ends in a blank, which becomes part of the question's first token."""
    return f"{RULES}\n\nQuestion: "


def question(text: str) -> str:
    """What is put behind the prefix."""
    return f"{text}\nAnswer:"


def messages(turns: int) -> list[Message]:
    """The chat up to visitor's turn `turns`; the system text counts the turns."""
    return [
        {"role": "system", "content": f"Turn {turns}. {RULES}"},  # cachesafe: ignore[CSF301] the fault shown here
        *CHAT[: 2 * turns - 1],
    ]
