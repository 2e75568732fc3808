"""`assert_reuse`: a second statement beside "the prompt is stable", namely "this engine reuses it".

Sits beside `stability`, above `prefix` (who continues whom) and `engines` (what is kept).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.prompt import Recording, UsageError
from pytest_cachesafe.reuse.result import EngineReport, RequestReuse, ReuseFailure

__all__ = ["EngineReport", "Metered", "RequestReuse", "ReuseFailure", "assert_reuse", "check_reuse"]


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
    block_size: int | None = None,
    name: str | None = None,
) -> EngineReport:
    """Count what an engine reuses; never raises for a low number. Takes the options of `assert_reuse`.

    Raises:
        UsageError: the input cannot be judged, there are no token ids, or no request continues another.
    """
    from pytest_cachesafe.frontends.resolve import resolve_front_end
    from pytest_cachesafe.prefix.accept import Acceptances
    from pytest_cachesafe.prefix.check import PassThrough, check_plan
    from pytest_cachesafe.prefix.inputs import is_builder, plan, why_alone
    from pytest_cachesafe.prefix.resets import Resets
    from pytest_cachesafe.prompt import Prompt

    if is_builder(prompts):
        raise UsageError("assert_reuse takes requests, not a function: assert_prefix_stable(build, engine=…) calls it")
    _check_least(min_cached, min_share)
    size, template = _chosen(block_size, template)
    metered = Metered(engine, size)
    if isinstance(prompts, Recording):
        prompts.used = True
    made = plan(prompts, requests=requests, tools=tools, template_kwargs=template_kwargs)
    if not made.compared:
        raise UsageError(f"nothing was compared: {why_alone(made)}")
    rendered = all(isinstance(item, Prompt) for item in made.items)
    front_end = PassThrough() if rendered else resolve_front_end(template)
    outcome = check_plan(made, front_end, Acceptances(()), Resets(()), size, each=metered)
    raised = next((step for step in outcome.steps if step.raised is not None), None)
    if raised is not None:
        raise UsageError(f"request {raised.request} cannot be rendered: the template raises: {raised.raised}")
    report = metered.report(outcome.front_end)
    report.min_cached, report.min_share, report.name = min_cached, min_share, name
    return report


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
            must find what the engine can keep of the one it continues.
        options: template, requests, tools, template_kwargs, block_size, name, as in `assert_prefix_stable`.

    Returns:
        The report, which is true when the assertion holds.

    Raises:
        ReuseFailure: an AssertionError whose first line is complete in itself; `.report` holds the data.
        UsageError: the input cannot be judged, there are no token ids, or no request continues another.
    """
    __tracebackhide__ = True
    known = ("template", "requests", "tools", "template_kwargs", "block_size", "name")
    for key in options:
        if key not in known:
            from pytest_cachesafe.options import closest

            every = (*known, "engine", "min_cached", "min_share")
            raise UsageError(f"assert_reuse has no option {key!r}{closest(key, every)}")
    report = check_reuse(prompts, engine=engine, min_cached=min_cached, min_share=min_share, **options)
    report.all_that_can_be = min_cached is None and min_share is None
    node = _node()
    if node is not None:
        node.record(report)
    if not report.passed:
        raise ReuseFailure(report, node.config.get_verbosity() if node is not None else 0)
    return report


class Metered:
    """Sends every prompt that it is called with to an engine, and keeps the numbers for one report."""

    def __init__(self, engine: str | PrefixCache, block_size: int) -> None:
        from pytest_cachesafe.reuse.meter import ReuseMeter

        self.cache = _the_cache(engine, block_size)
        self._meter = ReuseMeter(self.cache)
        self._found: list[RequestReuse] = []

    def __call__(self, request: int, prompt: Any, against: int | None, earlier: Any) -> None:
        """One request, the prompt of the request it continues beside it."""
        self._found.append(self._meter.feed(request, prompt, against, earlier))

    def report(self, front_end: str) -> EngineReport:
        """What was found so far."""
        from pytest_cachesafe.report.reuse import render

        cache = self.cache
        return EngineReport(
            cache.label or cache.engine, dict(cache.given), cache.unit, front_end, limits=cache.limits,
            requests=self._found, layout=render,
        )  # fmt: skip


def _the_cache(engine: Any, block_size: int) -> PrefixCache:
    """The cache that `engine=` names; its block is `block_size` where the engine has blocks of a chosen size.

    Raises:
        UsageError: no engine's name and no `PrefixCache`.
    """
    if isinstance(engine, PrefixCache):
        return engine
    if not isinstance(engine, str):
        raise UsageError(f"engine={engine!r}: an engine's name, or a PrefixCache with your sizes")
    return PrefixCache(engine, block_size=block_size) if engine == "vllm" else PrefixCache(engine)


def _check_least(min_cached: Any, min_share: Any) -> None:
    good = isinstance(min_cached, (int, float)) and not isinstance(min_cached, bool) and min_cached > 0
    if min_cached is not None and (not good or (isinstance(min_cached, float) and min_cached > 1)):
        raise UsageError(f"min_cached={min_cached!r}: tokens (a whole number) or a share of the prompt (up to 1.0)")
    good = isinstance(min_share, (int, float)) and not isinstance(min_share, bool) and 0 < min_share <= 1
    if min_share is not None and not good:
        raise UsageError(f"min_share={min_share!r}: a share above 0, up to 1")


def _chosen(block_size: int | None, template: Any) -> tuple[int, Any]:
    """What the running test's options add."""
    node = _node()
    settings = node.settings if node is not None else None
    if block_size is None:
        block_size = 16 if settings is None else settings["block_size"].value
    if template is None and settings is not None and settings["model"].origin != "default":
        template = settings["model"].value
    return block_size, template


def _node() -> Any:
    from pytest_cachesafe.perturb.node import current_node

    return current_node()
