"""The door for rules, ours and yours: subclass `Rule`, look at a `Context`, yield `Report`s.

A third party ships rules as an entry point of group `cachesafe.rules` that names a module with a list `RULES`; it is
loaded only where the configuration asks for it (`rules = ["its-name"]`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

from cachesafe_rules.model import Arrival, ModuleView, Span, Step

__all__ = ["Applicability", "Context", "Edit", "Example", "Fix", "Folded", "Report", "Rule"]

Applicability = Literal["safe", "unsafe", "suggestion"]


class Edit(NamedTuple):
    """Replace the text in `span` by `text`."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change to one file. `safe`: cannot change what the program means; `unsafe`: changes the prompt; `suggestion`:
    words only (no edits)."""

    message: str
    applicability: Applicability
    edits: tuple[Edit, ...] = ()


@dataclass(slots=True)
class Report:
    """What a rule found. Reports with the same `group` (a function) are folded into one; None stands alone.

    `folded` is filled in when that is done: a rule leaves it empty.
    """

    message: str
    span: Span
    severity: str | None = None
    confidence: str = "high"
    steps: tuple[Step, ...] = ()
    group: str | None = None
    help: str | None = None
    data: dict[str, Any] = field(default_factory=dict)
    folded: tuple[Folded, ...] = field(default=(), repr=False)


class Folded(NamedTuple):
    """A report that another one carries; `double`: it tells a defect that another rule tells as well."""

    rule: Rule
    report: Report
    double: bool = False


class Example(NamedTuple):
    """A small program and the rows a finding may be at; empty `rows` for one that is fine. `filename` for templates."""

    code: str
    rows: tuple[int, ...] = ()
    filename: str = "example.py"


@dataclass(slots=True)
class Context:
    """One file under a rule's eyes. `settings` are the configured names, read only."""

    filename: str
    view: ModuleView
    settings: Mapping[str, Any] = field(default_factory=dict)

    def arrivals(self, *kinds: str) -> Iterator[Arrival]:
        """Arrivals that carry a source of one of these kinds."""
        wanted = frozenset(kinds)
        for arrival in self.view.arrivals:
            if any(taint.source.kind in wanted for taint in arrival.taints):
                yield arrival


class Rule:
    """One rule. The class docstring is its page: first line the summary, then what is wrong, why, and what to do.

    `code` (letters and three digits) and `name` (kebab case) never change and are never reused. `severity` is what a
    report has unless it says otherwise. `needles`: literal bytes of which a file holds at least one where `check` can
    find something; empty for rules that only look at `arrivals`.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Literal["error", "warning", "note"]]
    needles: ClassVar[tuple[bytes, ...]] = ()
    VALID: ClassVar[tuple[Example, ...]] = ()
    INVALID: ClassVar[tuple[Example, ...]] = ()

    def check(self, context: Context) -> Iterator[Report]:
        """Yield what is wrong in this file."""
        raise NotImplementedError

    def fix(self, report: Report, source: str) -> Fix | None:
        """A change that mends the report, made on the file's text; None where there is none. libcst may be used."""
        return None
