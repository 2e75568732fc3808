"""Which rules there are, as data: codes and names are known without importing a rule.

A rule's module, and what rules are made of, is imported when the rule is asked for: a run with few rules starts fast.
Rules of third parties are looked up only for the names that the configuration gives, since a scan of all entry points
would cost more than the whole lint of a small file, and would run foreign code in every commit hook.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from cachesafe_rules.api import Rule

__all__ = ["RULES", "Entry", "expand", "known_codes", "load_rules", "third_party"]

PREFIX = "CSF"
ENTRY_POINTS = "cachesafe.rules"
_CODE = re.compile(r"[A-Z]{1,10}\d{3}")
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_SELECTOR = re.compile(r"([A-Z]+)\d{0,3}")
_SEVERITIES = ("error", "warning", "note")


class Entry(NamedTuple):
    """Where a rule lives: `module` inside this package, `cls` the class in it."""

    code: str
    name: str
    module: str
    cls: str


RULES = (
    Entry("CSF101", "clock-in-prefix", "clock_in_prefix", "ClockInPrefix"),
    Entry("CSF102", "frozen-clock", "frozen_clock", "FrozenClock"),
    Entry("CSF103", "daily-date", "daily_date", "DailyDate"),
    Entry("CSF104", "random-value", "random_value", "RandomValue"),
    Entry("CSF105", "user-or-session-data", "user_or_session_data", "UserOrSessionData"),
    Entry("CSF106", "host-environment", "host_environment", "HostEnvironment"),
    Entry("CSF107", "build-or-git-state", "build_or_git_state", "BuildOrGitState"),
    Entry("CSF108", "object-repr", "object_repr", "ObjectRepr"),
    Entry("CSF109", "memory-text", "memory_text", "MemoryText"),
    Entry("CSF110", "runtime-state", "runtime_state", "RuntimeState"),
    Entry("CSF111", "framework-flag", "framework_flag", "FrameworkFlag"),
    Entry("CSF112", "template-clock", "template_clock", "TemplateClock"),
    Entry("CSF201", "unordered-set", "unordered_set", "UnorderedSet"),
    Entry("CSF202", "directory-order", "directory_order", "DirectoryOrder"),
    Entry("CSF203", "unsorted-json", "unsorted_json", "UnsortedJson"),
    Entry("CSF204", "unstable-tool-order", "unstable_tool_order", "UnstableToolOrder"),
    Entry("CSF301", "changing-before-stable", "changing_before_stable", "ChangingBeforeStable"),
    Entry("CSF302", "history-insert", "history_insert", "HistoryInsert"),
    Entry("CSF303", "sliding-window", "sliding_window", "SlidingWindow"),
    Entry("CSF304", "summarised-history", "summarised_history", "SummarisedHistory"),
    Entry("CSF305", "tools-per-turn", "tools_per_turn", "ToolsPerTurn"),
    Entry("CSF306", "model-per-call", "model_per_call", "ModelPerCall"),
    Entry("CSF307", "edited-history", "edited_history", "EditedHistory"),
    Entry("CSF401", "marker-on-changing-block", "marker_on_changing_block", "MarkerOnChangingBlock"),
    Entry("CSF402", "too-many-markers", "too_many_markers", "TooManyMarkers"),
    Entry("CSF403", "ttl-order", "ttl_order", "TtlOrder"),
    Entry("CSF404", "cache-key-per-run", "cache_key_per_run", "CacheKeyPerRun"),
    Entry("CSF901", "syntax-error", "syntax_error", "SyntaxErrorFound"),
    Entry("CSF902", "unused-suppression", "unused_suppression", "UnusedSuppression"),
    Entry("CSF903", "unknown-suppression", "unknown_suppression", "UnknownSuppression"),
    Entry("CSF904", "bare-suppression", "bare_suppression", "BareSuppression"),
)


def known_codes() -> dict[str, str]:
    """Our codes and their names, in order; imports no rule."""
    return {entry.code: entry.name for entry in RULES}


def load_rules(codes: Iterable[str]) -> list[Rule]:
    """The rules with these codes, in the order of the codes, each once; only their modules are imported.

    Raises ValueError for a code that is not ours.
    """
    entries = {entry.code: entry for entry in RULES}
    rules: list[Rule] = []
    for code in sorted(set(codes)):
        if code not in entries:
            raise ValueError(_unknown(code, known_codes()))
        entry = entries[code]
        rules.append(getattr(import_module(f"cachesafe_rules.{entry.module}"), entry.cls)())
    return rules


def expand(selectors: Iterable[str], known: Mapping[str, str] | None = None) -> set[str]:
    """The codes that these selectors stand for: a code, the head of codes (`CSF1`), a name, or `ALL`.

    `known` maps codes to names (default: ours); give it where third-party rules may be selected too. Raises ValueError,
    one line with the closest name, for a selector that stands for nothing.
    """
    table = known_codes() if known is None else known
    by_name = {name: code for code, name in table.items()}
    out: set[str] = set()
    for selector in selectors:
        if selector == "ALL":
            out.update(table)
        elif selector in by_name:
            out.add(by_name[selector])
        else:
            out.update(_with_head(selector, table))
    return out


def _with_head(selector: str, table: Mapping[str, str]) -> list[str]:
    match = _SELECTOR.fullmatch(selector)
    codes = [code for code in table if match and code.startswith(selector) and code.rstrip("0123456789") == match[1]]
    if not codes:
        raise ValueError(_unknown(selector, table))
    return codes


def _unknown(selector: str, table: Mapping[str, str]) -> str:
    from difflib import get_close_matches

    words = ["ALL", PREFIX, *table, *table.values()]
    near = get_close_matches(selector.upper(), words, 1) or get_close_matches(
        selector.lower().replace("_", "-"), words, 1
    )
    hint = f"did you mean {near[0]!r}?" if near else "`cachesafe rule --all` lists them"
    return f"unknown rule {selector[:80]!r}: {hint}"


def third_party(names: Iterable[str]) -> list[Rule]:
    """The rules of the installed entry points with these names (group `cachesafe.rules`), in the order given.

    Nothing is looked up or imported when `names` is empty. Raises ValueError, one line that names the entry point,
    where it is missing, cannot be imported, or brings what is no rule or has a reserved or taken code or name.
    """
    wanted = list(dict.fromkeys(names))
    if not wanted:
        return []
    from importlib.metadata import entry_points

    found = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    ours = known_codes()
    taken = dict.fromkeys((*ours, *ours.values()), "pytest-cachesafe")
    rules: list[Rule] = []
    for name in wanted:
        if name not in found:
            have = ", ".join(sorted(found)) or "none"
            raise ValueError(f"rules {name!r}: no such entry point in group {ENTRY_POINTS} (installed: {have})")
        for rule in _rules_of(name, found[name]):
            for word in (rule.code, rule.name):
                if word in taken:
                    raise ValueError(f"rules {name!r}: {word} is taken by {taken[word]}; rename it")
                taken[word] = name
            rules.append(rule)
    return rules


def _rules_of(name: str, point: Any) -> list[Rule]:
    try:
        loaded = point.load()
    except (Exception, SystemExit) as error:
        # Foreign code: whatever it raises is told by its name, never as our own fault.
        words = " ".join(str(error).split())[:200]
        raise ValueError(f"rules {name!r}: cannot import {point.value}: {type(error).__name__}: {words}") from error
    listed = getattr(loaded, "RULES", loaded)
    if not isinstance(listed, (list, tuple)):
        raise ValueError(f"rules {name!r}: {point.value} has no list RULES")
    return [_rule(name, item) for item in listed]


def _rule(name: str, item: Any) -> Rule:
    from cachesafe_rules.api import Rule

    cls = item if isinstance(item, type) else type(item)
    if not issubclass(cls, Rule):
        raise ValueError(f"rules {name!r}: {cls.__name__} in RULES is no subclass of cachesafe_rules.api.Rule")
    code, kebab, severity = (getattr(cls, word, None) for word in ("code", "name", "severity"))
    if not isinstance(code, str) or not _CODE.fullmatch(code):
        raise ValueError(f"rules {name!r}: {cls.__name__}.code must be letters and three digits, not {code!r}")
    if code.startswith(PREFIX):
        raise ValueError(f"rules {name!r}: {cls.__name__}.code {code}: {PREFIX} is reserved for pytest-cachesafe")
    if not isinstance(kebab, str) or not _NAME.fullmatch(kebab):
        raise ValueError(f"rules {name!r}: {cls.__name__}.name must be kebab case, not {kebab!r}")
    if severity not in _SEVERITIES:
        raise ValueError(f"rules {name!r}: {cls.__name__}.severity must be error, warning or note, not {severity!r}")
    if not isinstance(item, type):
        return item  # type: ignore[no-any-return]
    try:
        return cls()
    except Exception as error:
        raise ValueError(f"rules {name!r}: {cls.__name__}() raises {type(error).__name__}") from error
