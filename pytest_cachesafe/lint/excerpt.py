"""Whether a file may be an excerpt: short, with a word of chats in it. Such a file is taken as it stands, so rules are
asked about fewer words."""

from __future__ import annotations

from cachesafe_rules.needles import IN_EXCERPTS, SHORT_FILE

__all__ = ["may_be_excerpt"]

# Forty rows of code have about two thousand characters; what is longer need not be counted.
_MOST = 6000


def may_be_excerpt(data: bytes) -> bool:
    """By its bytes alone."""
    if len(data) > _MOST or not any(word in data for word in IN_EXCERPTS):
        return False
    return data.count(b"\n") <= SHORT_FILE
