"""One model for everything the product reports: divergences, lint hits, request rules, collisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

__all__ = ["Finding", "Flow", "Location", "Origin", "Severity", "fingerprint"]

Origin = Literal["application", "framework", "template", "tokenizer", "provider"]


class Severity(str, Enum):
    """How bad a finding is. Notes alone exit 0; errors and warnings exit 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Location:
    """Where in a request or a file; unused fields stay None. Requests and messages count from 0, rows from 1."""

    request: int | None = None
    part: str | None = None
    message_index: int | None = None
    role: str | None = None
    path: str | None = None
    token_index: int | None = None
    char_index: int | None = None
    block_index: int | None = None
    filename: str | None = None
    row: int | None = None
    column: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """JSON form; `part`, `message_index` and `role` are always present, other fields where known."""
        always = ("part", "message_index", "role")
        values = {name: getattr(self, name) for name in self.__slots__}
        return {k: v for k, v in values.items() if k in always or v is not None}


@dataclass(frozen=True, slots=True)
class Flow:
    """One step on the way from where a value arises to where it reaches the prompt."""

    filename: str
    row: int
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, where, who did it, what it costs and what to change. Rendering lives in `report`."""

    code: str
    message: str
    severity: Severity
    location: Location = field(default_factory=Location)
    cause: str | None = None
    origin: Origin | None = None
    help: str | None = None
    flow: tuple[Flow, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """JSON form, without the keys that carry nothing."""
        out: dict[str, Any] = {"code": self.code, "severity": str(self.severity), "message": self.message}
        out["location"] = self.location.as_dict()
        for name in ("cause", "origin", "help"):
            if getattr(self, name) is not None:
                out[name] = getattr(self, name)
        if self.flow:
            out["flow"] = [{"filename": f.filename, "row": f.row, "message": f.message} for f in self.flow]
        return out | dict(self.data)


def fingerprint(*parts: object) -> str:
    """A stable id for a finding: 16 hex digits over what identifies it (never line numbers or absolute paths)."""
    # Costs a tenth of the linter's start, which makes no finding where nothing is wrong.
    from hashlib import sha256

    return sha256("\x1f".join(str(p) for p in parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
