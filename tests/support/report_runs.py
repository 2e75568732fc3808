"""Runs as reports get them, with any text in every field."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from pytest_cachesafe.gate.scenario import Regression, Run, Scenario

__all__ = ["any_run", "many"]


def any_run(text: Callable[[], str], redact: str = "none") -> Run:
    """One check of every kind, failed and passed, with `text()` wherever users, prompts or libraries write."""
    return Run(
        [
            Scenario(text(), text(), "stable", False, _stable(text), f"{text()}:3", text()),
            Scenario(text(), text(), "stable", True, _stable(text), None, ""),
            Scenario(text(), text(), "reuse", True, _engine(text), text(), text()),
            Scenario(text(), text(), "provider", False, _provider(text), text(), text()),
            Scenario(text(), text(), "collisions", False, _collisions(text), text(), text()),
            Scenario(text(), text(), "collisions", False, _pair(text) | {"reasons": [text()]}, text(), text()),
        ],
        [Regression(text(), text(), text(), failed) for failed in (True, False)],
        [_lint(text, severity) for severity in ("error", "warning", "note")],
        [text(), f"  {text()}"],
        redact,
    )


def _divergence(text: Callable[[], str], cause: str = "timestamp") -> dict[str, Any]:
    return {
        "token_index": 5, "char_index": 20, "block_index": 0,
        "location": {"part": "system", "message_index": 1, "role": text(), "path": text()},
        "cause": cause, "origin": "application", "severity": "error", "scope": "history", "lost_tokens": 60,
        "lead": text(), "before": text(), "after": text(), "built": text(),
    }  # fmt: skip


def _step(text: Callable[[], str], request: int, **more: Any) -> dict[str, Any]:
    return {
        "request": request, "against": request - 1, "verdict": "history", "tokens": 100, "shared_tokens": 40,
        "request_tokens": 130, "lost_tokens": 60, "lost_blocks": 3, "divergence": None, **more,
    }  # fmt: skip


def _stable(text: Callable[[], str]) -> dict[str, Any]:
    return {
        "schema": 1, "verdict": "history", "severity": "error", "worst_step": 2,
        "steps": [
            _step(text, 1, divergence=_divergence(text)),
            _step(text, 2, divergence=_divergence(text, "order"), notes=[_divergence(text, "date")]),
            _step(text, 3, raised=text()),
            _step(text, 4, reset=text()),
            _step(text, 5, verdict="stable", accepted=[{"accept": text(), "divergence": _divergence(text)}]),
        ],
        "perturbed": [_step(text, 1, under=text(), divergence=_divergence(text, "id"))],
        "toggles": {
            text(): {
                "kind": kind, "expect": "keeps", "observed": "splits", "kept": 0.25, "value": text(), "request": 1,
                "divergence": _divergence(text), "failed": failed, "idle": idle,
            }
            for kind, failed, idle in (("order", text(), None), ("setting", None, text()))
        },
        "accepted": [
            {"accept": {"cause": "date", "reason": text()}, "count": 2, "max_lost_tokens": 9, "used": True,
             "over_bound": None},
            {"accept": {text(): text()}, "count": 0, "max_lost_tokens": 0, "used": False, "over_bound": 7},
        ],
        "not_rendered": [{"what": "message", "path": text(), "message_index": 1, "role": text(), "name": text()}],
        "resets": [4], "requests": 6, "conversations": 1, "front_end": text(), "estimated": True, "block_size": 16,
        "reuse": _engine(text), "failures": [text(), text()], "notes": [text()], "warnings": [text()],
        "reads": [{"filename": text(), "row": 3, "function": text(), "call": text(), "kind": "clock"}],
    }  # fmt: skip


def _engine(text: Callable[[], str]) -> dict[str, Any]:
    requests = [
        {"request": i, "against": None if i == 0 else i - 1, "tokens": 100 + 20 * i, "continued_tokens": 80 * (i > 0),
         "stable_tokens": 64 * (i > 0), "cached_tokens": 48 * (i > 0), "tail": False, "reset": None,
         "lost": {"changed": 16, "rounding": 16, "namespace": 0, "evicted": 0}}
        for i in range(3)
    ]  # fmt: skip
    return {
        "engine": text(), "options": {text(): text()}, "unit": 16, "front_end": text(), "limits": text(),
        "not_rendered": text(), "tokens": 360, "cached_tokens": 96, "share": 0.3, "requests": requests,
        "failures": [text()], "notes": [text()],
    }  # fmt: skip


def _provider(text: Callable[[], str]) -> dict[str, Any]:
    findings = [
        {"code": text(), "severity": "error", "request": i, "path": text(), "message": text(), "cause": "timestamp",
         "origin": "application", "help": text(), "location": {"request": i}, "reason": text(), "lost_tokens": 50,
         "lost_usd_per_1000": 1.5, "detail": text(), "lead": text(), "before": text(), "after": text(),
         "built": text()}
        for i in (1, 2)
    ]  # fmt: skip
    requests = [
        {"request": i, "conversation": i, "against": i - 1 if i else None, "provider": text(), "model": text(),
         "usage": {text(): 3}, "tokens": {"total": 100, "read": 20, "write": 30, "uncached": 50} if i < 2 else None,
         "estimated": True, "unsure": [text()], "cost_usd": 0.1, "uncached_cost_usd": 0.2, "miss_reason": text()}
        for i in range(3)
    ]  # fmt: skip
    return {
        "schema": 1, "provider": text(), "requests": requests, "findings": findings, "missed": [text()],
        "conversations": 2, "estimated": True, "cost_usd": 0.2, "uncached_cost_usd": 0.4, "notes": [text()],
    }  # fmt: skip


def _pair(text: Callable[[], str], **more: Any) -> dict[str, Any]:
    return {
        "a": text(), "b": text(), "similarity": 0.97, "merged": True, "different_answer": "certain", "kind": text(),
        "spans": [{"kind": text(), "tier": "certain", "a": [[0, 1]], "b": [[0, 1], [1, 2]]}], "note": text(), **more,
    }  # fmt: skip


def _collisions(text: Callable[[], str]) -> dict[str, Any]:
    return {
        "pairs": [_pair(text, at=[0, 1]), _pair(text, at=[1, 2], allowed=text()), _pair(text, verified="suspect")],
        "closest": None, "encoder": text(), "threshold": 0.95, "level": "certain", "prompts": 4, "distinct": 4,
        "compared": 6, "merged": 3, "collisions": 1, "suspects": 1, "unjudged": 0,
        "truncated": {"window": 256, "longer": [1], "equal": [{"at": [0, 1], "tokens": 400}]},
        "unused_allow": [{"a": text(), "b": text(), "reason": text(), "why": text()}], "notes": [text()],
    }  # fmt: skip


def _lint(text: Callable[[], str], severity: str) -> dict[str, Any]:
    return {
        "code": text(), "name": text(), "message": text(), "severity": severity, "confidence": "high",
        "filename": text(), "location": {"row": 3, "column": 1}, "end_location": {"row": 3, "column": 4},
        "flow": [{"filename": text(), "row": 2, "message": text()}], "fix": None, "fingerprint": "f", "help": text(),
        "url": text(),
    }  # fmt: skip


def many(checks: int, requests: int = 30) -> Run:
    """A large run with long names, as real ones have them."""
    number = count()

    def text() -> str:
        return f"value {next(number)} of a_rather_long_name_that_no_browser_can_break_by_itself " + "word " * 6

    run = Run()
    kinds = (("stable", _stable), ("provider", _provider), ("reuse", _engine), ("collisions", _collisions))
    for i in range(checks):
        kind, made = kinds[i % 4]
        data = made(text)
        if kind == "stable":
            data["steps"] += [_step(text, 6 + j, verdict="stable", lost_tokens=0) for j in range(requests)]
        elif kind == "provider":
            data["requests"] = [{**data["requests"][0], "request": j} for j in range(requests)]
        elif kind == "reuse":
            data["requests"] = [{**data["requests"][1], "request": j} for j in range(requests)]
        test = f"tests/integration/deep/folder/test_module_{i}.py::TestOfEverything::test_number_{i}[long-parameter]"
        run.scenarios.append(Scenario(test, kind, kind, i % 3 != 0, data, f"{test[:40]}:12", text()))  # type: ignore[arg-type]
    run.regressions = [Regression(s.test, s.name, text(), True) for s in run.scenarios[1 : checks // 3 : 3]]
    run.lint = [_lint(text, "error") for _ in range(min(checks, 40))]
    run.gate = [text() for _ in range(10)]
    return run
