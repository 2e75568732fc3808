"""A difference under way, before its words are cut from the prompts."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pytest_cachesafe.semantic.slots.item import Item

__all__ = ["Found"]


class Found(NamedTuple):
    """One difference between two profiles."""

    kind: str
    tier: Literal["certain", "suspect"]
    a: tuple[Item, ...]
    b: tuple[Item, ...]
