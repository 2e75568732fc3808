"""One check of reuse: requests in order, each through its front end, its comparison and an engine's cache."""

from __future__ import annotations

from typing import Any

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.frontends.resolve import resolve_front_end
from pytest_cachesafe.perturb.node import current_node
from pytest_cachesafe.prefix.accept import Acceptances
from pytest_cachesafe.prefix.check import Outcome, PassThrough, check_plan
from pytest_cachesafe.prefix.inputs import is_builder, plan, why_alone
from pytest_cachesafe.prefix.resets import Resets
from pytest_cachesafe.prefix.wording import missing_sentence
from pytest_cachesafe.prompt import Prompt, Recording, UsageError
from pytest_cachesafe.reuse.meter import ReuseMeter
from pytest_cachesafe.reuse.pairs import continued
from pytest_cachesafe.reuse.result import EngineReport, RequestReuse

__all__ = ["Metered", "check"]


def check(
    prompts: Any,
    *,
    engine: Any,
    min_cached: Any,
    min_share: Any,
    template: Any,
    requests: Any,
    tools: Any,
    template_kwargs: Any,
    resets: Any,
    max_resets: Any,
    block_size: Any,
    name: str | None,
) -> EngineReport:
    """What `check_reuse` does; its arguments.

    Raises:
        UsageError: see there.
    """
    if is_builder(prompts):
        raise UsageError("assert_reuse takes requests, not a function: assert_prefix_stable(build, engine=…) calls it")
    _check_least(min_cached, min_share)
    node = current_node()
    settings = node.settings if node is not None else None
    if template is None and settings is not None and settings["model"].origin != "default":
        template = settings["model"].value
    metered = Metered(engine, block_size, 16 if settings is None else settings["block_size"].value)
    if isinstance(prompts, Recording):
        prompts.used = True
    made = continued(plan(prompts, requests=requests, tools=tools, template_kwargs=template_kwargs))
    if not made.compared:
        raise UsageError(f"nothing was compared: {why_alone(made)}")
    rendered = all(isinstance(item, Prompt) for item in made.items)
    front_end = PassThrough() if rendered else resolve_front_end(template)
    declared = Resets(resets, max_resets)
    outcome = check_plan(made, front_end, Acceptances(()), declared, metered.cache.unit, each=metered)
    raised = next((step for step in outcome.steps if step.raised is not None), None)
    if raised is not None:
        raise UsageError(f"request {raised.request} cannot be rendered: the template raises: {raised.raised}")
    report = metered.report(outcome)
    report.min_cached, report.min_share, report.name = min_cached, min_share, name
    report.identity = getattr(front_end, "identity", None)
    if max_resets is not None and len(outcome.resets) > max_resets:
        report.over_resets = f"{len(outcome.resets)} resets happened, max_resets is {max_resets}"
    report.notes += [f"declared reset never happened: {words}" for words in declared.unused()]
    return report


class Metered:
    """Sends every prompt that it is called with to an engine, and keeps the numbers for one report."""

    def __init__(self, engine: Any, block_size: int | None, default_size: int = 16) -> None:
        self.cache = _the_cache(engine, block_size, default_size)
        self._meter = ReuseMeter(self.cache)
        self._found: list[RequestReuse] = []
        self._opening: Any = None

    def __call__(self, request: int, prompt: Any, against: int | None, earlier: Any) -> None:
        """One request, the prompt of the request it continues beside it."""
        if self._opening is None:
            self._opening = prompt
        self._found.append(self._meter.feed(request, prompt, against, earlier))

    def report(self, outcome: Outcome) -> EngineReport:
        """What was found so far, with what the comparison says of the same requests."""
        from pytest_cachesafe.report.reuse import render

        steps = {step.request: step for step in outcome.steps}
        for found in self._found:
            step = steps.get(found.request)
            if step is None:
                continue
            found.tail = step.verdict == "tail"
            if step.reset is not None:
                # A new beginning that is meant: it has nothing to find.
                found.reset, found.against = step.reset, None
        cache = self.cache
        return EngineReport(
            cache.label or cache.engine, dict(cache.given), cache.unit, outcome.front_end, limits=cache.limits,
            requests=self._found, missing=missing_sentence(outcome.missing) if outcome.missing else None,
            layout=render, opening=self._opening,
        )  # fmt: skip


def _the_cache(engine: Any, block_size: int | None, default_size: int) -> PrefixCache:
    """The cache that `engine=` names; its block is `block_size` where the engine has blocks of a chosen size.

    Raises:
        UsageError: no engine's name and no `PrefixCache`; `block_size` beside a cache or an engine that has none.
    """
    if isinstance(engine, PrefixCache):
        if block_size is not None:
            raise UsageError("block_size= beside a PrefixCache: the cache has its own size; give it when it is made")
        return engine
    if not isinstance(engine, str):
        raise UsageError(f"engine={engine!r}: an engine's name, or a PrefixCache with your sizes")
    made = PrefixCache(engine)
    if "block_size" in made.options:
        return PrefixCache(engine, block_size=default_size if block_size is None else block_size)
    if block_size is not None:
        raise UsageError(f"block_size= means nothing to {made.label}; give engine=PrefixCache({engine!r}, …)")
    return made


def _check_least(min_cached: Any, min_share: Any) -> None:
    good = isinstance(min_cached, (int, float)) and not isinstance(min_cached, bool) and min_cached > 0
    if min_cached is not None and (not good or (isinstance(min_cached, float) and min_cached > 1)):
        raise UsageError(f"min_cached={min_cached!r}: tokens (a whole number) or a share of the prompt (below 1.0)")
    good = isinstance(min_share, (int, float)) and not isinstance(min_share, bool) and 0 < min_share <= 1
    if min_share is not None and not good:
        raise UsageError(f"min_share={min_share!r}: a share above 0 and below 1")
    for what, share in (("min_cached", min_cached), ("min_share", min_share)):
        if share == 1 and (what == "min_share" or isinstance(share, float)):
            raise UsageError(f"{what}={share!r} can never hold: the last token of a prompt is always computed")
