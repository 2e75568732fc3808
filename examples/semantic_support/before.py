"""As it was: the cosine decides alone, over the last message, for everybody."""

from __future__ import annotations

from support_bot import Request


def share(question: str, earlier: str) -> bool:
    """Close is good enough."""
    return True


def key(request: Request) -> str:
    """The last message alone."""
    return str(request["messages"][-1]["content"])


def partition(request: Request) -> str:
    """The model alone."""
    return str(request["model"])
