"""Code that watches requests instead of making them: what it holds of a prompt is a copy."""

from __future__ import annotations

from cachesafe_rules.patterns import lazy_pattern

__all__ = ["AGENT_CALLEES", "TOOL_WORDS", "counts", "is_observer", "is_screen", "writes_a_log", "writes_down"]

# Who makes an agent; what tells of one (its result, an event, a row in a table) is named after it as well.
AGENT_CALLEES = lazy_pattern(
    r"(?:Agent|Assistant|Crew|Swarm|Team|create_react_agent|create_agent|create_deep_agent|create_supervisor)"
    r"(?!\w*(?:Tool|Events?|Message|Response|Results?|Output|Finish|Action|Step|Error|Exception|Info|Status|State|"
    r"Record|Entry|Logs?|Metrics?|Usage|Stats|Summary|Card|Row|DTO|Schema|Out|Read|View|Snapshot|Trace|Span|Metadata|"
    r"Details?|Report|Node|Executions?|Jobs?|Invocation)$)\w*$"
)

# What a set of tools is called, or of what a schema lists.
TOOL_WORDS = lazy_pattern(
    r"tool|func|schema|action|skill|plugin|capabilit|abilit|name|require|enum|propert|field|allowed|enabled|param"
)
_FILES = lazy_pattern(
    r"(?:^|[/_])(?:telemetry|tracing|tracer|traces?|observability|instrumentation|instrumentors?|opentelemetry|otel|"
    r"exporters?|analytics|loggers?|logging)(?:/|_\w+\.|\.)"
)
_FUNCTIONS = lazy_pattern(
    r"^_*(?:log|trace|record|save|store|dump|print|debug|display|show|count|estimate|persist|export|audit)(?:$|_)"
)

# Where people read: `renderer.add_system_message(…)` prints a line.
_SCREENS = lazy_pattern(
    r"(?:^|_)(?:renderer|ui|gui|tui|cli|console|views?|widgets?|logger|display|screen|terminal|printer|stdout|"
    r"panel|page|transcript|toast|statusbar|notifier)$"
)
_LOGS = lazy_pattern(r"^_*(?:\w+_)?(?:log|trace|audit|print)(?:$|_)")
_COUNTS = lazy_pattern(r"^_*(?:count|estimate|measure|num)_|_(?:tokens?|token_count)$")


def is_screen(spelt: str) -> bool:
    """Whether something of this dotted name shows or logs what it is given."""
    return bool(_SCREENS.search(spelt.rpartition(".")[2].lower()))


def writes_a_log(function: str) -> bool:
    """Whether a call of this name writes down what was sent: `_safe_log_llm_call(system_prompt=…)`."""
    return bool(_LOGS.search(function.lower()))


def counts(function: str) -> bool:
    """Whether a function of this name makes messages only to count them."""
    return bool(_COUNTS.search(function.rpartition(".")[2].lower()))


def is_observer(filename: str) -> bool:
    """Whether a file of this name records requests for telemetry or logs."""
    return bool(_FILES.search(filename.lower()))


def writes_down(function: str) -> bool:
    """Whether a function of this name keeps, prints or measures what it is given."""
    return bool(_FUNCTIONS.match(function.rpartition(".")[2].lower()))
