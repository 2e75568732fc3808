"""The gate's part of the summary: what changed, what is left over, what was written."""

from __future__ import annotations

from typing import Any

from pytest_cachesafe.report.visible import visible

__all__ = ["moved_lines", "summary_lines"]

_MOST = 20


def summary_lines(hooks: Any, verbosity: int = 0) -> list[str]:
    """Lines for the end of a run; none if there is nothing to say."""
    gate = hooks.gate
    most = 10**9 if verbosity > 0 else _MOST
    lines: list[str] = []
    told: dict[str, list[str]] = {}
    for test, text in gate.told:
        told.setdefault(text, []).append(test)
    # Workers end in any order: the same lines all the same.
    for text, tests in sorted((text, sorted(set(tests))) for text, tests in told.items())[:most]:
        more = f" (and {len(tests) - 1} more)" if len(tests) > 1 else ""
        lines.append(f"{visible(tests[0])}{more}: {visible(text)}")
    if len(told) > most:
        lines.append(f"… {len(told) - most} more (-v shows all)")
    unused = hooks.left.unused
    if unused and not gate.update:
        word = "error" if gate.ci and not gate.informational else "note"
        entries = f"{len(unused)} entr{'y' if len(unused) == 1 else 'ies'}"
        lines.append(f"{word}: {entries} of {gate.shown} without a check, run pytest --cachesafe-update to drop:")
        lines += [f"  {visible(test)} ({visible(name)})" for test, name in unused[:most]]
        if len(unused) > most:
            lines.append(f"  … {len(unused) - most} more")
    for key, first, second in gate.lock.contradictions if gate.lock is not None and not gate.update else ():
        found = gate.seen.get(key)
        # One of them is what the code does.
        settled = found is not None and found in gate.lock.rivals[key]
        if settled and hooks.wrote and gate.new_only:
            continue
        advice = ": run pytest --cachesafe-update-new-only to drop what the code does not do" if settled else ""
        both = f"lines {first} and {second} contradict each other (both for {visible(key[0])}){advice}"
        lines.append(f"note: {gate.shown}: {both}")
    if hooks.failed:
        lines.append(f"error: {visible(hooks.failed)}")
    if hooks.wrote:
        lines.append(hooks.wrote)
    if hooks.base_note:
        lines.append(f"note: {visible(hooks.base_note)}")
    if hooks.base:
        lines += moved_lines(hooks.base, most)
    return lines


def moved_lines(found: Any, most: int = _MOST) -> list[str]:
    """What a change did to the lock file, the worst first."""
    if not found:
        return [f"lock file as at {visible(found.ref)}"]
    parts = []
    if found.worse:
        parts.append(f"{found.tokens:,} tokens worse in {len(found.worse)} check{'s' if len(found.worse) > 1 else ''}")
    if found.better:
        better = sum(tokens for *_, tokens in found.better)
        parts.append(f"{better:,} tokens better in {len(found.better)}")
    for name, items in (
        ("with another template or tokenizer", found.other_front_end),
        ("with another prefix", found.other_prefix),
        ("held against fewer caches", found.fewer),
        ("added", found.added),
        ("removed", found.removed),
    ):
        if items:
            parts.append(f"{len(items)} {name}")
    lines = [f"lock changed against {visible(found.ref)}: {', '.join(parts)}"]
    for before, now, tokens in found.worse[:most]:
        cause = f", {now.cause} at {now.place}" if now.cause and now.cause != before.cause else ""
        lines.append(f"  {visible(now.test)} ({visible(now.name)}): {tokens:,} tokens worse{visible(cause)}")
    if len(found.worse) > most:
        lines.append(f"  … {len(found.worse) - most} more")
    return lines
