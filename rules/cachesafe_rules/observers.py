"""Code that watches requests instead of making them: what it holds of a prompt is a copy."""

from __future__ import annotations

import re

__all__ = ["is_observer", "writes_down"]

_FILES = re.compile(
    r"(?:^|[/_])(?:telemetry|tracing|tracer|traces?|observability|instrumentation|instrumentors?|opentelemetry|otel|"
    r"exporters?|analytics|loggers?|logging)(?:/|_\w+\.|\.)"
)
_FUNCTIONS = re.compile(
    r"^_*(?:log|trace|record|save|store|dump|print|debug|display|show|count|estimate|persist|export|audit)(?:$|_)"
)


def is_observer(filename: str) -> bool:
    """Whether a file of this name records requests for telemetry or logs."""
    return bool(_FILES.search(filename.lower()))


def writes_down(function: str) -> bool:
    """Whether a function of this name keeps, prints or measures what it is given."""
    return bool(_FUNCTIONS.match(function.rpartition(".")[2].lower()))
