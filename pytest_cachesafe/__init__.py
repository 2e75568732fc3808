"""Keep LLM prompts cache-safe: assertions for pytest that compare prompts as engines and providers get them.

Only public names live here, each imported when it is first used: the pytest plugin loads this package in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_cachesafe.engines.cache import PrefixCache
    from pytest_cachesafe.engines.rag import rag_order
    from pytest_cachesafe.engines.replay import replay
    from pytest_cachesafe.frontends.template import ChatTemplate
    from pytest_cachesafe.kv.probe import KVProbe
    from pytest_cachesafe.kv.result import KVFailure
    from pytest_cachesafe.prefix.accept import Accept
    from pytest_cachesafe.prefix.compare import compare
    from pytest_cachesafe.prefix.result import PrefixFailure, StabilityReport
    from pytest_cachesafe.prefix.toggles import Toggle
    from pytest_cachesafe.prompt import Prompt, Turn, UsageError
    from pytest_cachesafe.providers.assertions import CacheFailure
    from pytest_cachesafe.providers.capture.reply import Failure, Reply, ToolCall
    from pytest_cachesafe.providers.capture.session import capture_traffic
    from pytest_cachesafe.providers.checks.check import check_requests
    from pytest_cachesafe.recording import Recording
    from pytest_cachesafe.reuse import ReuseFailure, assert_reuse, check_reuse
    from pytest_cachesafe.semantic.assertions import assert_distinct, assert_mergeable, assert_no_collisions
    from pytest_cachesafe.semantic.cases import semantic_cases
    from pytest_cachesafe.semantic.judge import CollisionJudge
    from pytest_cachesafe.semantic.result import CollisionFailure
    from pytest_cachesafe.semantic.tables import Tables
    from pytest_cachesafe.stability import (
        CachesafeWarning,
        assert_prefix_stable,
        assert_prefix_stable_async,
        check_prefix_stable,
    )

__all__ = [
    "Accept",
    "CacheFailure",
    "CachesafeWarning",
    "ChatTemplate",
    "CollisionFailure",
    "CollisionJudge",
    "Failure",
    "KVFailure",
    "KVProbe",
    "PrefixCache",
    "PrefixFailure",
    "Prompt",
    "Recording",
    "Reply",
    "ReuseFailure",
    "StabilityReport",
    "Tables",
    "Toggle",
    "ToolCall",
    "Turn",
    "UsageError",
    "__version__",
    "assert_distinct",
    "assert_mergeable",
    "assert_no_collisions",
    "assert_prefix_stable",
    "assert_prefix_stable_async",
    "assert_reuse",
    "capture_traffic",
    "check_prefix_stable",
    "check_requests",
    "check_reuse",
    "compare",
    "rag_order",
    "replay",
    "semantic_cases",
]

__version__ = "0.1.0"

_HOMES = {
    "Accept": "pytest_cachesafe.prefix.accept",
    "CacheFailure": "pytest_cachesafe.providers.assertions",
    "CachesafeWarning": "pytest_cachesafe.stability",
    "ChatTemplate": "pytest_cachesafe.frontends.template",
    "CollisionFailure": "pytest_cachesafe.semantic.result",
    "CollisionJudge": "pytest_cachesafe.semantic.judge",
    "Failure": "pytest_cachesafe.providers.capture.reply",
    "KVFailure": "pytest_cachesafe.kv.result",
    "KVProbe": "pytest_cachesafe.kv.probe",
    "PrefixCache": "pytest_cachesafe.engines.cache",
    "PrefixFailure": "pytest_cachesafe.prefix.result",
    "Prompt": "pytest_cachesafe.prompt",
    "Recording": "pytest_cachesafe.recording",
    "Reply": "pytest_cachesafe.providers.capture.reply",
    "ReuseFailure": "pytest_cachesafe.reuse",
    "StabilityReport": "pytest_cachesafe.prefix.result",
    "Tables": "pytest_cachesafe.semantic.tables",
    "Toggle": "pytest_cachesafe.prefix.toggles",
    "ToolCall": "pytest_cachesafe.providers.capture.reply",
    "Turn": "pytest_cachesafe.prompt",
    "UsageError": "pytest_cachesafe.prompt",
    "assert_distinct": "pytest_cachesafe.semantic.assertions",
    "assert_mergeable": "pytest_cachesafe.semantic.assertions",
    "assert_no_collisions": "pytest_cachesafe.semantic.assertions",
    "assert_prefix_stable": "pytest_cachesafe.stability",
    "assert_prefix_stable_async": "pytest_cachesafe.stability",
    "assert_reuse": "pytest_cachesafe.reuse",
    "capture_traffic": "pytest_cachesafe.providers.capture.session",
    "check_prefix_stable": "pytest_cachesafe.stability",
    "check_requests": "pytest_cachesafe.providers.checks.check",
    "check_reuse": "pytest_cachesafe.reuse",
    "compare": "pytest_cachesafe.prefix.compare",
    "rag_order": "pytest_cachesafe.engines.rag",
    "replay": "pytest_cachesafe.engines.replay",
    "semantic_cases": "pytest_cachesafe.semantic.cases",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    # Later look-ups find it without this function.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
