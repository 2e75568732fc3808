"""`assert_prefix_stable` and its forms: everything below put together for one call.

Sits above `prefix` (which judges), `perturb` (which changes the world around a builder) and `report`; nothing below
imports it.
"""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from pytest_cachesafe.gate.judging import settle
from pytest_cachesafe.prefix.accept import Accept
from pytest_cachesafe.prefix.builder import build_all, build_all_async
from pytest_cachesafe.prefix.result import PrefixFailure, StabilityReport
from pytest_cachesafe.prefix.toggles import Toggle
from pytest_cachesafe.prompt import UsageError
from pytest_cachesafe.stability.check import Check
from pytest_cachesafe.stability.options import Options

__all__ = ["CachesafeWarning", "assert_prefix_stable", "assert_prefix_stable_async", "check_prefix_stable"]


class CachesafeWarning(UserWarning):
    """Something about a check that is probably not meant: a clock nobody moves, a keyword that nobody reads."""


def check_prefix_stable(chat: Any, **options: Any) -> StabilityReport:
    """Judge whether each request continues the one before it; never raises for a finding.

    Takes the options of `assert_prefix_stable`.

    Raises:
        UsageError: the input cannot be judged, or nothing would be compared.
    """
    __tracebackhide__ = True
    check = Check(chat, options)
    if check.build is not None:
        build_all(check.build, check.worlds, check.options.turns)
    return check.report()


def assert_prefix_stable(
    chat: Any,
    *,
    template: Any = None,
    requests: Literal["user+tool", "user"] = "user+tool",
    tools: Sequence[Any] | None = None,
    template_kwargs: Mapping[str, Any] | None = None,
    turns: int | None = None,
    toggles: Sequence[Toggle] = (),
    under: Sequence[Any] = (),
    accept: Sequence[Accept] = (),
    resets: Sequence[int | str | Callable[[Any, Any], bool]] = (),
    max_resets: int | None = None,
    fail_on: Sequence[str] | None = None,
    min_shared: float | None = None,
    engine: Any = None,
    block_size: int | None = None,
    name: str | None = None,
    **unknown: Any,
) -> StabilityReport:
    """Assert that every request begins with all of the request it continues, token by token.

    Args:
        chat: a message list or wire body (one chat that grows), a list of requests as sent, a `Recording`, a list of
            rendered prompts (`Prompt`, str or token ids), or a builder `build(turn)`.
        template: None for the wire front end (no model needed; estimates), a model name, a folder, `.gguf` or `.jinja`
            path, a `ChatTemplate`, or a callable that returns token ids.
        requests: compare requests that end in a user turn and in tool results, or `"user"` for user turns alone.
        tools: tool definitions for message lists; template_kwargs: keywords for the template.
        turns: how many requests a builder is asked for (default 3).
        toggles: settings and orders to try both ways; under: worlds to build in (`clock`, `clock:day`, `hashseed`,
            `random`, `cwd`, `host`, `user`, `locale`).
        accept: known divergences; resets: where a new prefix is intended, at most `max_resets` times.
        fail_on: verdicts that fail (`history`, `raises`, `not_rendered`; `tail` and `date` can be added).
        min_shared: least share of the earlier request's tokens that each step must keep.
        engine: adds a second statement, what this engine's cache finds: its name (`vllm`, `sglang`, `lmcache`,
            `llamacpp`) or a `PrefixCache`. It never fails the assertion; `assert_reuse` does.
        block_size: tokens in a cache block (vLLM's default is 16), for block numbers.
        name: names the check in reports.

    Returns:
        The report, which is true when the assertion holds.

    Raises:
        PrefixFailure: an AssertionError whose first line is complete in itself; `.report` holds the data.
        UsageError: the input cannot be judged, or nothing would be compared.
    """
    __tracebackhide__ = True
    options = _given(locals())
    check = Check(chat, options)
    if check.build is not None:
        build_all(check.build, check.worlds, check.options.turns)
    return _asserted(check)


async def assert_prefix_stable_async(chat: Callable[..., Awaitable[Any]] | Any, **options: Any) -> StabilityReport:
    """The same for an async builder; takes the options of `assert_prefix_stable`."""
    __tracebackhide__ = True
    check = Check(chat, options)
    if check.build is not None:
        await build_all_async(check.build, check.worlds, check.options.turns)
    return _asserted(check)


def _given(scope: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were really passed: those left at None or empty take their defaults below."""
    out = {k: v for k, v in scope.items() if k in Options.NAMES and not (v is None or v == ())}
    return {**out, **scope["unknown"]}


def _asserted(check: Check) -> StabilityReport:
    __tracebackhide__ = True
    if not check.options.can_fail:
        raise UsageError("fail_on=[] is an assertion that cannot fail: name a verdict, or use check_prefix_stable")
    report = check.report()
    if not report.passed:
        # Its text has the warnings; where warnings are errors, the first of them would take the place of the report.
        report.reproduce = check.reproduce(report)
        check.locate(report)
        raise PrefixFailure(report, check.options.verbosity, check.options.redact)
    for words in report.warnings:
        warnings.warn(words, CachesafeWarning, stacklevel=3)
    settle(report, check.node)
    return report
