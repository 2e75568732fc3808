"""Known divergences that a team has decided to live with, each with a bound and a reason."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_cachesafe.configuration import file_stamp, read_table
from pytest_cachesafe.prefix.causes import CAUSES
from pytest_cachesafe.prefix.compare import Divergence
from pytest_cachesafe.prompt import UsageError

__all__ = ["Accept", "Acceptances", "project_acceptances"]

_PARTS = ("template", "tools", "system", "message", "generation_prompt")


@dataclass(frozen=True)
class Accept:
    """Accept one kind of divergence; every field that is given must match.

    Args:
        cause: cause class (`reasoning_dropped`, `date`, …; see `pytest_cachesafe.prefix.causes`).
        part: `template`, `tools`, `system`, `message` or `generation_prompt`.
        role: role of the message it happens in.
        template: part of the front end's name ("Qwen3"); any case.
        max_lost_tokens: the most tokens one step may lose by it; more is a failure again.
        reason: why this is fine; shown in every report.

    Raises:
        UsageError: nothing to match, an unknown cause or part, a negative bound.
    """

    cause: str | None = None
    part: str | None = None
    role: str | None = None
    template: str | None = None
    max_lost_tokens: int | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        if self.cause is None and self.part is None and self.role is None:
            raise UsageError("Accept(…) needs at least one of cause, part, role: an empty one would hide everything")
        for name, allowed in (("cause", tuple(CAUSES)), ("part", _PARTS)):
            value = getattr(self, name)
            if value is not None and value not in allowed:
                near = difflib.get_close_matches(str(value), allowed, 1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(allowed)}"
                raise UsageError(f"Accept({name}={value!r}): unknown {name}{hint}")
        bound = self.max_lost_tokens
        if bound is not None and (not isinstance(bound, int) or isinstance(bound, bool) or bound < 0):
            raise UsageError(f"Accept(max_lost_tokens={bound!r}): a whole number of tokens, at least 0")

    def matches(self, divergence: Divergence, front_end: str) -> bool:
        """Whether this is the kind of divergence that was accepted (the bound is judged apart)."""
        where = divergence.location
        return (
            self.cause in (None, divergence.cause)
            and self.part in (None, where.part)
            and self.role in (None, where.role)
            and (self.template is None or self.template.lower() in front_end.lower())
        )

    def within(self, divergence: Divergence) -> bool:
        """Whether the loss stays inside the bound; estimates are judged by their best value."""
        return self.max_lost_tokens is None or divergence.lost_tokens[1] <= self.max_lost_tokens

    def describe(self) -> str:
        """One line: what is accepted and why."""
        given = [
            f"{f.name}={getattr(self, f.name)}"
            for f in fields(self)
            if f.name != "reason" and getattr(self, f.name) is not None
        ]
        return ", ".join(given) + (f" ({self.reason})" if self.reason else "")

    def option(self) -> str:
        """The value of `--accept` that means the same."""
        given = [f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name) not in (None, "")]
        return ",".join(given)

    @classmethod
    def parse(cls, text: str) -> Accept:
        """Read `cause=…,max_lost_tokens=…,reason=…`; a reason takes the rest of the line, commas included.

        Raises:
            UsageError: not of that form, or an unknown key.
        """
        values: dict[str, Any] = {}
        rest = text
        while rest:
            key, eq, tail = rest.partition("=")
            key = key.strip()
            if not eq:
                raise UsageError(f"--accept {text!r}: expected key=value, got {rest!r}")
            if key == "reason":
                values[key], rest = tail, ""
            else:
                values[key], _, rest = tail.partition(",")
        return cls.from_mapping(values, f"--accept {text!r}")

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], where: str) -> Accept:
        """Build one from configuration, naming `where` in errors."""
        known = [f.name for f in fields(cls)]
        for key in values:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, 1)
                raise UsageError(f"{where}: unknown key {key!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        data = dict(values)
        bound = data.get("max_lost_tokens")
        if isinstance(bound, str):
            if not bound.strip().isdigit():
                raise UsageError(f"{where}: max_lost_tokens must be a whole number, got {bound!r}")
            data["max_lost_tokens"] = int(bound)
        try:
            return cls(**data)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None


@dataclass
class Acceptances:
    """The acceptances of one check, with what each of them took."""

    own: Sequence[Accept] = ()
    project: Sequence[Accept] = ()
    taken: dict[int, list[Divergence]] = field(default_factory=dict)
    # The steps in which each was used: one rewritten datum may differ in several places.
    steps: dict[int, set[object]] = field(default_factory=dict)
    # Divergences that matched and lost more than the bound allows.
    over: dict[int, list[Divergence]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for item in self.own:
            if not isinstance(item, Accept):
                raise UsageError(f"accept=[…] takes Accept(…) objects, got {type(item).__name__}")

    def all(self) -> list[Accept]:
        """Those of the call first: the closest wins."""
        return [*self.own, *self.project]

    def take(self, divergence: Divergence, front_end: str, step: object = None) -> Accept | None:
        """The acceptance that covers this divergence, noted as used; None if none does."""
        for i, item in enumerate(self.all()):
            if not item.matches(divergence, front_end):
                continue
            if item.within(divergence):
                self.taken.setdefault(i, []).append(divergence)
                self.steps.setdefault(i, set()).add(step)
                return item
            self.over.setdefault(i, []).append(divergence)
        return None

    def over_bound(self, divergence: Divergence, front_end: str) -> Accept | None:
        """The acceptance that would cover it but for its bound."""
        return next((i for i in self.all() if i.matches(divergence, front_end) and not i.within(divergence)), None)

    def unused(self) -> list[Accept]:
        """Acceptances given in the call that no longer happen (project-wide ones may belong to other tests)."""
        return [item for i, item in enumerate(self.own) if i not in self.taken and i not in self.over]

    def as_list(self) -> list[dict[str, Any]]:
        """JSON form: each acceptance with how often and how much."""
        out = []
        for i, item in enumerate(self.all()):
            took = self.taken.get(i, [])
            if i >= len(self.own) and not took:
                continue
            out.append(
                {
                    "accept": {
                        f.name: getattr(item, f.name) for f in fields(item) if getattr(item, f.name) not in (None, "")
                    },
                    "count": len(self.steps.get(i, ())),
                    "max_lost_tokens": max((d.lost_tokens[1] for d in took), default=0),
                    "used": bool(took),
                    "over_bound": max((d.lost_tokens[1] for d in self.over.get(i, ())), default=None),
                }
            )
        return out


def project_acceptances(start: Path | None = None) -> list[Accept]:
    """`[[tool.cachesafe.accept]]` tables of the nearest `pyproject.toml` at or above `start` (default: here).

    Raises:
        UsageError: the file is not TOML, or a table is not an acceptance.
    """
    folder = (start or Path.cwd()).resolve()
    for parent in (folder, *folder.parents):
        path = str(parent / "pyproject.toml")
        stamp = file_stamp(path)
        if stamp is not None:
            return list(_read(path, stamp))
    return []


@lru_cache(maxsize=16)
def _read(path: str, stamp: tuple[int, int]) -> tuple[Accept, ...]:
    """The file's acceptances; read again only when the file changed, since every check asks."""
    tables = (read_table(path, stamp) or {}).get("accept", [])
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise UsageError(f"{path}: [[tool.cachesafe.accept]] must be an array of tables")
    return tuple(Accept.from_mapping(t, f"{path}: [[tool.cachesafe.accept]] {i + 1}") for i, t in enumerate(tables))
