"""What is wrong with a reuse report, in sentences; the worst first."""

from __future__ import annotations

import math

from pytest_cachesafe.kv.result import ReuseReport

__all__ = ["judge_reuse"]


def judge_reuse(report: ReuseReport, min_reused: float, max_difference: float | None) -> list[str]:
    """Sentences on everything that is not as asserted; none if all is well."""
    wrong = []
    bound = report.setting.tolerance if max_difference is None else max_difference
    if not report.prefix_intact:
        wrong.append("the prefilled cache was written into: each continuation needs a copy, or a crop back after it")
    # No bound, and no intent to lose something, allows that.
    broken = [i for i, c in enumerate(report.continuations) if c.difference == math.inf]
    if broken:
        wrong.append(
            f"logits are no numbers (NaN or infinite) in {len(broken)} of {len(report.verified)} continuations,"
            f" first in {broken[0]}"
        )
    elif bound is not None:
        wrong.extend(_differences(report, bound))
    if report.reused_share < min_reused:
        wrong.append(
            f"{report.reused_tokens} of {report.prompt_tokens} prompt tokens reused"
            f" ({_percent(report.reused_share)}), wanted at least {_percent(min_reused)}{_why_little(report)}"
        )
    return wrong


def _why_little(report: ReuseReport) -> str:
    whole = next((i for i, c in enumerate(report.continuations) if c.repeats_prefix), None)
    if whole is not None:
        return f"; continuations[{whole}] begins with the prefix: give only what comes behind it"
    worst = min(report.continuations, key=lambda c: c.reused_tokens / c.prompt_tokens)
    behind = worst.prompt_tokens - worst.reused_tokens
    return (
        f"; continuations[{report.continuations.index(worst)}] adds {behind} tokens to"
        f" {worst.reused_tokens}: take more into the prefix, or lower min_reused"
    )


def _differences(report: ReuseReport, bound: float) -> list[str]:
    wrong = []
    worst = max(report.verified, key=lambda c: c.difference or 0.0, default=None)
    if worst is not None and worst.difference is not None and not worst.difference <= bound:
        wrong.append(
            f"reused and recomputed logits differ by {worst.difference:.2g} in continuation"
            f" {report.continuations.index(worst)}, allowed are {bound:.2g}"
        )
    # Logits that differ by no more than the bound may choose otherwise between tokens as near as twice that.
    other = [i for i, c in enumerate(report.continuations) if c.text_gap is not None and c.text_gap > 2 * bound]
    if other:
        gap = report.continuations[other[0]].text_gap
        wrong.append(
            f"another greedy text in {len(other)} of {len(report.verified)} continuations, first in {other[0]}, where a"
            f" token {gap:.2g} below the best one was chosen"
        )
    return wrong


def _percent(share: float) -> str:
    # 100% is said of nothing less.
    return f"{share:.1%}" if share in (0.0, 1.0) else f"{min(share, 0.999):.1%}"
