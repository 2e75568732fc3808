"""The rules of a run, each imported when it is first needed: most files call for none of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cachesafe_rules.api import Rule
    from pytest_cachesafe.lint.literals import Literals

__all__ = ["RuleSet"]


class RuleSet:
    """The rules with these codes; `others` are those among them that other packages bring, imported already."""

    def __init__(self, codes: Iterable[str], others: Sequence[Rule] = ()) -> None:
        self.codes = frozenset(codes)
        self.others = tuple(rule for rule in others if rule.code in self.codes)
        self._loaded: dict[str, Rule] = {rule.code: rule for rule in self.others}
        self._all = False
        # Of our own rules the literals are known only when they are loaded.
        self.other_needles = tuple(dict.fromkeys(needle for rule in self.others for needle in rule.needles))

    def __contains__(self, code: object) -> bool:
        return code in self.codes

    def of(self, codes: Iterable[str]) -> Mapping[str, Rule]:
        """Those with these codes, by code; codes that are off are passed over."""
        from cachesafe_rules.registry import load_rules

        wanted = self.codes.intersection(codes)
        self._loaded.update((rule.code, rule) for rule in load_rules(wanted - self._loaded.keys()))
        return {code: self._loaded[code] for code in sorted(wanted)}

    def get(self, code: str) -> Rule | None:
        """One rule, None where it is off."""
        return self.of((code,)).get(code)

    def all(self) -> list[Rule]:
        """All of them, by code."""
        if not self._all:
            self.of(self.codes)
            self._all = True
        return [self._loaded[code] for code in sorted(self.codes)]

    def on_trees(self) -> list[Rule]:
        """The rules that look at the tree of one file: those with needles."""
        return [rule for rule in self.all() if rule.needles]

    @cached_property
    def literals(self) -> Literals:
        """The needles of `on_trees`."""
        from pytest_cachesafe.lint.literals import Literals

        return Literals(needle for rule in self.on_trees() for needle in rule.needles)

    def on_flows(self) -> list[Rule]:
        """The rules that look at what arrives in a file."""
        return [rule for rule in self.all() if not rule.needles]
