"""`assert_reuse`: a second statement beside "the prompt is stable", namely "this engine reuses it".

Sits beside `stability`, above `prefix` (who continues whom) and `engines` (what is kept).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.prompt import UsageError
from pytest_cachesafe.reuse.result import EngineReport, RequestReuse, ReuseFailure

__all__ = ["EngineReport", "RequestReuse", "ReuseFailure", "assert_reuse", "check_reuse"]


def check_reuse(
    prompts: Any,
    *,
    engine: str | PrefixCache = "vllm",
    min_cached: int | float | None = None,
    min_share: float | None = None,
    template: Any = None,
    requests: Literal["user+tool", "user"] = "user+tool",
    tools: Sequence[Any] | None = None,
    template_kwargs: Mapping[str, Any] | None = None,
    resets: Sequence[int | str | Callable[[Any, Any], bool]] = (),
    max_resets: int | None = None,
    block_size: int | None = None,
    name: str | None = None,
) -> EngineReport:
    """Count what an engine reuses; never raises for a low number. Takes the options of `assert_reuse`.

    Raises:
        UsageError: the input cannot be judged, there are no token ids, or no request continues another.
    """
    from pytest_cachesafe.reuse.check import check

    return check(
        prompts, engine=engine, min_cached=min_cached, min_share=min_share, template=template, requests=requests,
        tools=tools, template_kwargs=template_kwargs, resets=resets, max_resets=max_resets, block_size=block_size,
        name=name,
    )  # fmt: skip


def assert_reuse(
    prompts: Any,
    *,
    engine: str | PrefixCache = "vllm",
    min_cached: int | float | None = None,
    min_share: float | None = None,
    **options: Any,
) -> EngineReport:
    """Assert that an engine finds enough of each request in its prefix cache.

    Requests are sent one at a time, in their order; a reply is part of what is kept where its sampled ids are known.

    Args:
        prompts: as `chat` of `assert_prefix_stable` (all but builders); token ids are needed, given or by `template`.
        engine: `vllm`, `sglang`, `lmcache`, `llamacpp`, or a `PrefixCache` with your sizes, used as it is.
        min_cached: least found in every request that continues another: tokens (an int) or a share of its prompt (a
            float up to 1).
        min_share: least found share of the prompt tokens of all these requests together. With neither, every request
            must find what the engine can keep of the one it continues, but for a tail that the template drops.
        options: template, requests, tools, template_kwargs, resets, max_resets, name, as in `assert_prefix_stable`;
            block_size of vLLM and LMCache.

    Returns:
        The report, which is true when the assertion holds.

    Raises:
        ReuseFailure: an AssertionError whose first line is complete in itself; `.report` holds the data.
        UsageError: the input cannot be judged, there are no token ids, or no request continues another.
    """
    __tracebackhide__ = True
    from pytest_cachesafe.gate.judging import settle
    from pytest_cachesafe.perturb.node import current_node

    known = ("template", "requests", "tools", "template_kwargs", "resets", "max_resets", "block_size", "name")
    for key in options:
        if key not in known:
            from pytest_cachesafe.options import closest

            every = (*known, "engine", "min_cached", "min_share")
            raise UsageError(f"assert_reuse has no option {key!r}{closest(key, every)}")
    report = check_reuse(prompts, engine=engine, min_cached=min_cached, min_share=min_share, **options)
    report.all_that_can_be = min_cached is None and min_share is None
    node = current_node()
    if node is not None:
        node.record(report)
    if not report.passed:
        raise ReuseFailure(report, node.config.get_verbosity() if node is not None else 0)
    settle(report, node)
    return report
