"""After a check passed: its budgets, then its entry in the lock file."""

from __future__ import annotations

from typing import Any

from pytest_cachesafe.usage import UsageError

__all__ = ["refuse_unpriced", "settle"]

_BUDGETS = ("min_cached_share", "max_uncached_tokens", "max_cost")


def settle(report: Any, node: Any) -> None:
    """Hold a passed check against budgets and lock file; `node` is the running test (`NodeState`), None outside one.

    Raises:
        GateFailure: a budget is missed, or it got worse than the lock file allows.
        UsageError: the lock file cannot be used.
    """
    __tracebackhide__ = True
    if node is None:
        return
    from pytest_cachesafe.perturb.node import rerun_target

    if rerun_target() is not None:
        # The child of a re-run only renders.
        return
    settings = node.settings
    # The shape of prompts, and what an engine finds of them, has no price.
    node.priced = node.priced or report.gate_kind == "provider"
    if any(settings[name].value is not None for name in _BUDGETS):
        from pytest_cachesafe.gate.budget import over_budget
        from pytest_cachesafe.gate.session import GateFailure

        missed = over_budget(report, settings)
        if missed and settings["informational"].value:
            for words in missed:
                node.note(f"budget missed: {words}")
        elif missed:
            raise GateFailure(f"budget missed: {'; '.join(missed)}")
    if node.gate is not None:
        node.gate.judge(report, node)


def refuse_unpriced(item: Any, node: Any) -> None:
    """A test that passed was given a budget in USD by its marker, and nothing in it has a price.

    A marker of a class or module may stand over tests that check something else, or nothing: it fails the run where
    none of them has a price (`report.notes.unpriced`), and where all of them were to run.

    Raises:
        UsageError: it would pass for no reason.
    """
    option = item.config.option
    if node.settings["max_cost"].origin != "marker" or option.setuponly or option.setupplan:
        return
    if any("max_cost" in mark.kwargs for mark in item.own_markers) and not node.priced:
        raise UsageError(
            "@pytest.mark.cachesafe(max_cost=…) compared nothing: no check of this test has a price; call "
            "assert_cache_safe() or assert_cached() on the requests to a provider, or drop max_cost"
        )
    owners = {o.nodeid for o, mark in item.iter_markers_with_node("cachesafe") if "max_cost" in mark.kwargs}
    if node.priced or _all_asked_for(item):
        for owner in sorted(owners - {item.nodeid}):
            node.property("cachesafe_priced" if node.priced else "cachesafe_unpriced", owner)


def _all_asked_for(item: Any) -> bool:
    """Whether none of the tests beside this one was left out."""
    from pytest_cachesafe.plugin import COLLECTED

    # The last failures drop tests of a module before they are collected.
    part = any("::" in str(arg) for arg in item.config.args) or getattr(item.config.option, "lf", False)
    return not part and len(item.session.items) == item.config.stash.get(COLLECTED, -1)
