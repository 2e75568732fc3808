"""What the model is told about its surroundings."""

from __future__ import annotations

from datetime import datetime


def moment() -> str:
    """Day and time, for greetings and opening hours."""
    return datetime.now().strftime("%A, %d %B %Y, %H:%M")
