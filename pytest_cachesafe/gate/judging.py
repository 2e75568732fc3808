"""After a check passed: its budgets, then its entry in the lock file."""

from __future__ import annotations

from typing import Any

__all__ = ["settle"]

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
