"""One request as a chat template gets it: what rendering and provenance share."""

from __future__ import annotations

from datetime import datetime
from typing import Any

__all__ = ["TemplateRequest"]


class TemplateRequest:
    """The compiled template with the variables it is rendered with, and what had to be changed for it."""

    __slots__ = ("continued", "label", "notes", "now", "source", "template", "variables")

    def __init__(
        self,
        template: Any,
        source: str,
        label: str,
        variables: dict[str, Any],
        notes: list[str],
        now: datetime | None,
        continued: str | None,
    ) -> None:
        self.template = template
        self.source = source
        self.label = label
        self.variables = variables
        self.notes = notes
        self.now = now
        self.continued = continued
