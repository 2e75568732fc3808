"""The outcome of a stability check, as data. Rendering lives in `report.stability`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_cachesafe.findings import Location, Severity
from pytest_cachesafe.prefix.accept import Acceptances
from pytest_cachesafe.prefix.compare import Divergence
from pytest_cachesafe.prefix.rendered import Missing
from pytest_cachesafe.prefix.step import Step, Verdict
from pytest_cachesafe.prefix.toggles import ToggleResult
from pytest_cachesafe.prefix.wording import missing_sentence, step_sentence
from pytest_cachesafe.prompt import Prompt

__all__ = ["PrefixFailure", "StabilityReport", "kind_of"]

# Which of two verdicts says more; a template that raised was not compared at all.
_WEIGHT = {"stable": 0, "tail": 1, "not_rendered": 2, "history": 3, "raises": 4}


@dataclass
class StabilityReport:
    """Verdicts, losses and causes over all steps of one check."""

    front_end: str
    exact: bool
    block_size: int
    requests: int
    conversations: int
    steps: list[Step]
    acceptances: Acceptances
    name: str | None = None
    fail_on: tuple[str, ...] = ("history", "raises", "not_rendered")
    min_shared: float | None = None
    toggles: list[ToggleResult] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    # Steps seen only under a perturbation.
    perturbed: list[Step] = field(default_factory=list)
    # Lines of user code that read the clock, random bytes or the environment while prompts were built.
    reads: list[Any] = field(default_factory=list)
    resets: list[int] = field(default_factory=list)
    unused_resets: list[str] = field(default_factory=list)
    over_resets: str | None = None
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    generated_text_reused: bool | None = None
    # `cachesafe stable …` line that shows the same, where the chat could be written down.
    reproduce: str | None = None
    # What an engine finds of the same requests, where one was named (`reuse.EngineReport`).
    reuse: Any = None
    # Hashes of the template and the tokenizer, and the first request's prompt: what a lock file keeps of them.
    identity: Mapping[str, Any] | None = None
    opening: Prompt | None = None
    # Tokens of requests that no step is about.
    alone_tokens: int = 0
    # Where the changing value was built, by the divergence's (lead, before); filled in when the check fails.
    built: dict[tuple[str, str], str] = field(default_factory=dict)
    # How the report is laid out for people: (report, verbosity, redact) -> text. Given by the layer above.
    layout: Callable[[StabilityReport, int, str], str] | None = None

    @property
    def judged(self) -> list[Step]:
        """Steps that carry a verdict: all but declared resets."""
        return [s for s in (*self.steps, *self.perturbed) if s.reset is None]

    @property
    def prefix_verdict(self) -> Verdict:
        """The verdict on the prefix alone, whatever is missing from the prompt."""
        return max((s.verdict for s in self.judged), key=_WEIGHT.__getitem__, default="stable")

    @property
    def verdict(self) -> Verdict:
        """The worst over all steps; `not_rendered` outranks a tail loss and yields to a rewritten history."""
        found: list[Verdict] = [self.prefix_verdict]
        if self.missing:
            found.append("not_rendered")
        return max(found, key=_WEIGHT.__getitem__)

    @property
    def first(self) -> Step | None:
        """The first step that is not stable."""
        return next((s for s in self.judged if s.verdict != "stable"), None)

    @property
    def worst(self) -> Step | None:
        """The step that weighs most: errors before notes, then verdict, then tokens lost."""
        broken = [s for s in self.judged if s.verdict != "stable"]
        return max(
            broken,
            key=lambda s: (s.severity is not Severity.NOTE, _WEIGHT[s.verdict], s.lost_tokens, -s.request),
            default=None,
        )

    @property
    def lost_tokens(self) -> int:
        """Tokens lost at the worst step."""
        return self.worst.lost_tokens if self.worst else 0

    @property
    def lost_blocks(self) -> int:
        """Whole cache blocks lost at the worst step."""
        return self.worst.lost_blocks if self.worst else 0

    def failures(self) -> list[str]:
        """Why the assertion fails, worst first; empty when it passes. One sentence each."""
        out: list[tuple[tuple[int, int], str]] = []
        alike: dict[object, list[Step]] = {}
        for step in self.judged:
            if step.verdict in self.fail_on and not _is_note(step, self.fail_on):
                alike.setdefault(kind_of(step), []).append(step)
        for steps in alike.values():
            worst = max(steps, key=lambda s: s.lost_tokens)
            also = [str(s.request) for s in steps if s is not worst]
            more = f" (also at request{'s' if len(also) > 1 else ''} {_few(also)})" if also else ""
            text = step_sentence(worst, self.exact) + more
            out.append(((-_WEIGHT[worst.verdict], -worst.lost_tokens), text))
        if self.missing and "not_rendered" in self.fail_on:
            out.append(((-_WEIGHT["not_rendered"], 0), missing_sentence(self.missing)))
        texts = [text for _, text in sorted(out, key=lambda x: x[0])]
        texts += [t.failed for t in self.toggles if t.failed]
        if self.min_shared is not None:
            texts += [
                f"request {s.request} shares {s.shared_tokens} of {s.tokens} tokens ({s.shared_tokens / s.tokens:.0%}) "
                f"with request {s.against}, min_shared is {self.min_shared:.0%}"
                for s in self.judged
                if s.tokens and s.shared_tokens / s.tokens < self.min_shared
            ]
        if self.over_resets:
            texts.append(self.over_resets)
        return texts

    @property
    def ended_early(self) -> bool:
        """Whether a comparison stopped at a divergence, so that nothing is known of what stands behind it."""
        return any(s.divergence is not None and s.divergence.severity is not Severity.NOTE for s in self.judged)

    @property
    def passed(self) -> bool:
        """Whether the assertion holds."""
        return not self.failures()

    def __getstate__(self) -> dict[str, Any]:
        """Failures go between processes; a prompt that is still to be cut into segments cannot."""
        return {**self.__dict__, "opening": None}

    @property
    def gate_kind(self) -> str:
        """What a check of this kind is called in a lock file."""
        return "stable"

    @property
    def tokens(self) -> int:
        """Prompt tokens of all requests that were rendered, the last of each conversation included."""
        sizes: dict[int, int] = {}
        for step in self.steps:
            if step.request_tokens is not None:
                sizes[step.request] = step.request_tokens
                if step.against is not None:
                    sizes[step.against] = step.tokens
        return sum(sizes.values()) + self.alone_tokens

    def gate_values(self) -> dict[str, Any]:
        """What a lock file keeps of this check."""
        steps = [s for s in self.steps if s.reset is None]
        worst = self.worst
        divergence = worst.divergence if worst is not None else None
        kept = {"stable": sum(s.shared_tokens for s in steps)}
        found = self.reuse
        if found is not None:
            kept[found.engine] = sum(min(r.cached_tokens, r.continued_tokens) for r in found.continuing)
        return {
            "kind": "stable", "front_end": self.front_end, "identity": self.identity, "opening": self.opening,
            "exact": self.exact, "requests": self.requests, "tokens": self.tokens,
            "reusable": sum(s.tokens for s in steps), "kept": kept,
            "cause": None if divergence is None else divergence.cause,
            "place": None if divergence is None else _place(divergence.location),
        }  # fmt: skip

    @property
    def most_lost(self) -> tuple[Step, Divergence, bool] | None:
        """The step that loses most tokens, failed or not: what ends its prefix there, and whether that is accepted."""
        step = max(
            (s for s in self.steps if s.reset is None),
            key=lambda s: (s.tokens - s.shared_tokens, -s.request),
            default=None,
        )
        if step is None or step.tokens == step.shared_tokens:
            return None
        found = [(d, True) for d, _ in step.accepted] + [(d, False) for d in (step.divergence, *step.notes) if d]
        if not found:
            return None
        # An earlier one leaves less of the prefix.
        divergence, accepted = max(found, key=lambda pair: pair[0].lost_tokens)
        return step, divergence, accepted

    @property
    def severity(self) -> Severity | None:
        """`error` when the assertion fails, `note` when only something small was seen, None when all is stable."""
        if self.failures():
            return Severity.ERROR
        if self.warnings:
            return Severity.WARNING
        if self.worst is not None or any(s.notes or s.accepted for s in self.judged) or self.acceptances.unused():
            return Severity.NOTE
        return None

    def exit_status(self, strict: bool = False) -> int:
        """0 fine or notes only, 1 errors and warnings; `strict` counts notes."""
        if self.severity in (Severity.ERROR, Severity.WARNING):
            return 1
        return 1 if strict and self.severity is Severity.NOTE else 0

    def as_dict(self) -> dict[str, Any]:
        """JSON form, as `cachesafe stable` prints it."""
        worst, first = self.worst, self.first
        divergence = worst.divergence if worst is not None else None
        return {
            "schema": 1,
            "verdict": self.verdict,
            "prefix_verdict": self.prefix_verdict,
            "severity": None if self.severity is None else str(self.severity),
            "first_step": None if first is None else first.request,
            "worst_step": None if worst is None else worst.request,
            "lost_tokens": self.lost_tokens,
            "lost_blocks": self.lost_blocks,
            "generated_text_reused": self.generated_text_reused,
            "cause": None if divergence is None else divergence.cause,
            "origin": "template"
            if worst is not None and worst.raised
            else None
            if divergence is None
            else divergence.origin,
            "location": None if divergence is None else divergence.as_dict()["location"],
            "steps": [s.as_dict() for s in self.steps],
            "perturbed": [s.as_dict() for s in self.perturbed],
            "toggles": {t.toggle.name: t.as_dict() for t in self.toggles},
            "accepted": self.acceptances.as_list(),
            "not_rendered": [m.as_dict() for m in self.missing],
            "resets": list(self.resets),
            "requests": self.requests,
            "conversations": self.conversations,
            "front_end": self.front_end,
            "estimated": not self.exact,
            "block_size": self.block_size,
            "reuse": None if self.reuse is None else self.reuse.as_dict(),
            "failures": self.failures(),
            "notes": [*self.notes],
            "warnings": list(self.warnings),
            "reads": [r.as_dict() if hasattr(r, "as_dict") else str(r) for r in self.reads],
        }

    def text(self, verbosity: int = 0, redact: str = "none") -> str:
        """For people; the first line is complete in itself."""
        if self.layout is not None:
            return self.layout(self, verbosity, redact)
        return "\n".join(self.failures() or ["prompt prefix is stable"])

    @property
    def first_line(self) -> str:
        """The first line of `text`."""
        return self.text().split("\n", 1)[0]

    def __bool__(self) -> bool:
        return self.passed


def kind_of(step: Step) -> object:
    """Steps of one kind are told in one sentence."""
    d = step.divergence
    if d is None:
        return (step.verdict, step.raised, step.under)
    return (step.verdict, d.cause, d.origin, d.location.part, d.location.role, step.under)


def _place(where: Location) -> str:
    return where.part or "prompt" if where.message_index is None else f"messages[{where.message_index}] ({where.role})"


def _few(items: list[str]) -> str:
    return ", ".join(items if len(items) <= 6 else [*items[:5], f"{len(items) - 5} more"])


def _is_note(step: Step, fail_on: tuple[str, ...]) -> bool:
    """A day-level date is a note unless tail losses, which are notes as well, were asked to fail."""
    return step.severity is Severity.NOTE and step.verdict == "history" and "date" not in fail_on


class PrefixFailure(AssertionError):
    """`assert_prefix_stable` failed; `report` holds the data, `str()` the text for people."""

    def __init__(self, report: StabilityReport, verbosity: int = 0, redact: str = "none") -> None:
        super().__init__(report.text(verbosity, redact))
        self.report = report
        self._shown = (verbosity, redact)

    def __reduce__(self) -> tuple[type[PrefixFailure], tuple[StabilityReport, int, str]]:
        """Pools hand failures over between processes."""
        return type(self), (self.report, *self._shown)
