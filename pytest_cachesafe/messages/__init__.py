"""Wire formats and message objects in, `Chat` out; which requests a chat stands for and which belong together."""

from __future__ import annotations

from pytest_cachesafe.messages.convert import is_chat_like, to_chat
from pytest_cachesafe.messages.grouping import Link, conversations, interleaved
from pytest_cachesafe.messages.growth import growing_requests

__all__ = ["Link", "conversations", "growing_requests", "interleaved", "is_chat_like", "to_chat"]
