"""Whether a program knows several users: in one that nowhere tells them apart, `user_name` is its owner's.

The name alone makes `user_name` a value that differs between requests. A program for one person has the same word for
that person, the same in every request of an installation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.path_kinds import is_test_path

if TYPE_CHECKING:
    from cachesafe_rules.model import Arrival, Source

__all__ = ["Persons"]

_NAMES = frozenset({"user_name", "username", "user_full_name"})
# How users, their rooms and their sessions are told apart. Roots first: a search for a literal is cheaper.
_ROOTS = (
    b"user_id", b"user_ids", b"userid", b"User", b"current_user", b"from_user", b"author", b"tenant",
    b"customer", b"account", b"session_id", b"request.", b"deps.", b"user_email", b"login", b"_user(", b"users",
)  # fmt: skip
_TOLD_APART = lazy_pattern(
    rb"\b(?:user_?ids?|current_user|effective_user|from_user|author\.(?:name|id|display_name)|tenant(?:_id)?|"
    rb"customer_(?:id|name)|account_id|session_ids?|request\.user|user_email|login_required|list_users|sign_?up|"
    rb"(?:get|create|add|register|find|load|delete)_users?|deps\.user_name)\b|\bclass \w*User\b|[\"']users[\"']"
)
# In a handful of files nobody expects to see where a parameter comes from.
_FEWEST = 20


class Persons:
    """Asks whether a project knows several users. `read` gives the bytes of one of its files."""

    def __init__(self, files: Collection[str], read: Callable[[str], bytes | None]) -> None:
        self._files = files
        self._read = read
        self._several: bool | None = None

    def differing(self, arrival: Arrival) -> Arrival | None:
        """The arrival without names of a user that is the same in every request; None where nothing is left."""
        if not any(_is_name(taint.source) for taint in arrival.taints) or self._tells_apart():
            return arrival
        taints = tuple(taint for taint in arrival.taints if not _is_name(taint.source))
        return replace(arrival, taints=taints) if taints else None

    def _tells_apart(self) -> bool:
        if self._several is None:
            self._several = len(self._files) < _FEWEST or any(map(self._speaks_of_users, self._files))
        return self._several

    def _speaks_of_users(self, name: str) -> bool:
        if is_test_path(name):
            return False
        data = self._read(name)
        return data is not None and any(root in data for root in _ROOTS) and _TOLD_APART.search(data) is not None


def _is_name(source: Source) -> bool:
    return source.kind == "user" and source.api in _NAMES
