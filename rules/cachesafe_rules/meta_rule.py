"""Rules about the lint itself: their findings are made by the engine, here are their words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from cachesafe_rules.api import Context, Report, Rule

__all__ = ["MetaRule"]


class MetaRule(Rule):
    """A rule whose findings the engine makes while it parses files and applies suppressions. Not a rule by itself."""

    # Whether the engine has a fix; such a rule has none of its own.
    fixed_by_engine: ClassVar[bool] = False

    def check(self, context: Context) -> Iterator[Report]:
        """Nothing: what these rules are about is not in the model that rules see."""
        return iter(())
