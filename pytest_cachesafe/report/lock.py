"""A lock file for people and machines: as a table, and what a change did to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.report.gate import moved_lines
from pytest_cachesafe.report.mdtext import NOTHING, block, code
from pytest_cachesafe.report.visible import clip, visible

if TYPE_CHECKING:
    from pytest_cachesafe.gate.base import Moved
    from pytest_cachesafe.gate.entry import Entry
    from pytest_cachesafe.gate.lockfile import Lock

__all__ = ["lock_json", "lock_markdown", "lock_text"]

_EVERYTHING = 10**9
_MOST = 20


def lock_text(lock: Lock, name: str, moved: Moved | None = None, verbosity: int = 0) -> str:
    """Text; the first line is complete in itself. Of a comparison, `verbosity` 1 shows every entry and the table."""
    lines = list(_against(moved, verbosity)) if moved is not None else [_head(lock, name)]
    lines += list(_contradictions(lock, name))
    if (moved is None or verbosity > 0) and len(lock):
        lines += ["", *_table(lock)]
    return "\n".join(lines) + "\n"


def _head(lock: Lock, name: str) -> str:
    entries = list(lock.entries.values())
    if not entries:
        return f"{visible(name)}: no entries"
    reusable, lost = sum(entry.reusable for entry in entries), sum(map(_lost, entries))
    about = "" if all(entry.exact for entry in entries) else "about "
    return (
        f"{visible(name)}: {_entries(len(entries))}, {about}{sum(entry.tokens for entry in entries):,} prompt tokens, "
        f"{about if lost else ''}{lost:,} of {reusable:,} reusable tokens lost"
    )


def _against(moved: Moved, verbosity: int) -> Iterator[str]:
    """The gate's own lines, then with -v what else changed."""
    most = _EVERYTHING if verbosity > 0 else _MOST
    yield from moved_lines(moved, most)
    if verbosity < 1:
        return
    yield from (f"  {_named(now)}: {tokens:,} tokens better" for _, now, tokens in moved.better)
    yield from (f"  {_named(now)}: another template or tokenizer" for _, now in moved.other_front_end)
    for _, now in moved.other_prefix:
        yield f"  {_named(now)}: tools or system text changed, {now.prefix_tokens:,} tokens are written again"
    for before, now in moved.fewer:
        gone = ", ".join(sorted(before.kept.keys() - now.kept.keys()))
        yield f"  {_named(now)}: not held against {visible(gone)} any more"
    yield from (f"  {_named(entry)}: added" for entry in moved.added)
    yield from (f"  {_named(entry)}: removed" for entry in moved.removed)


def _contradictions(lock: Lock, name: str) -> Iterator[str]:
    for (test, check), first, second in lock.contradictions:
        yield (
            f"warning: {visible(name)}: lines {first} and {second} contradict each other (both for {visible(test)}, "
            f"{visible(check)}): a merge kept both; delete one, or run pytest --cachesafe-update"
        )


def _table(lock: Lock) -> list[str]:
    """Numbers first: names may be long."""
    rows = [("tokens", "kept", "lost", "cause", "check")]
    for key in sorted(lock.entries):
        entry = lock.entries[key]
        rows.append((*_numbers(entry), clip(visible(_cause(entry)), 60), _named(entry)))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return [
        "  ".join(
            (
                row[0].rjust(widths[0]), row[1].ljust(widths[1]), row[2].rjust(widths[2]), row[3].ljust(widths[3]),
                row[4],
            )
        ).rstrip()
        for row in rows
    ]  # fmt: skip


def _numbers(entry: Entry) -> tuple[str, str, str]:
    about = "" if entry.exact else "~"
    if not entry.reusable:
        return f"{about}{entry.tokens:,}", "-", "-"
    kept = ", ".join(f"{visible(name)} {_share(tokens, entry.reusable)}" for name, tokens in sorted(entry.kept.items()))
    lost = _lost(entry)
    return f"{about}{entry.tokens:,}", kept or "-", f"{about if lost else ''}{lost:,}"


def _share(part: int, whole: int) -> str:
    """A percentage; 100% is said of nothing less."""
    return "100%" if part >= whole else f"{min(part / whole, 0.99):.0%}"


def _lost(entry: Entry) -> int:
    """Tokens that an earlier request held and the weakest cache does not keep."""
    return max(entry.reusable - min(entry.kept.values()), 0) if entry.kept and entry.reusable else 0


def _cause(entry: Entry) -> str:
    return f"{entry.cause} at {entry.place}" if entry.cause and entry.place else entry.cause or "-"


def _named(entry: Entry) -> str:
    return visible(entry.test if entry.name == entry.kind else f"{entry.test} ({entry.name})")


def _entries(count: int) -> str:
    return f"{count:,} entr{'y' if count == 1 else 'ies'}"


def lock_markdown(lock: Lock, name: str, moved: Moved | None = None) -> str:
    """Markdown: what a change did to the file, then its table."""
    from pytest_cachesafe.report.markdown import COMMENT_LIMIT, Block, fitted

    blocks = [Block(0, f"## {code(name, cell=False)}\n")]
    if moved is not None:
        blocks.append(Block(0, f"{block(_against(moved, 1))}\n"))
    warned = list(_contradictions(lock, name))
    if warned:
        blocks.append(Block(0, f"{block(warned)}\n"))
    if not len(lock):
        blocks.append(Block(0, "No entries.\n"))
        return fitted(blocks, COMMENT_LIMIT)
    blocks.append(Block(0, "| test | tokens | kept | lost | cause | place |\n|---|--:|---|--:|---|---|"))
    worst = sorted(lock.entries, key=lambda key: (-_lost(lock.entries[key]), key))
    for rank, key in enumerate(worst):
        entry = lock.entries[key]
        tokens, kept, lost = _numbers(entry)
        named = code(entry.test) if entry.name == entry.kind else f"{code(entry.test)} {code(entry.name, 60)}"
        cells = [named, tokens, code(kept, 60) if kept != "-" else NOTHING, lost if lost != "-" else NOTHING]
        cells += [code(entry.cause or "", 60), code(entry.place or "", 80)]
        blocks.append(Block(1 + rank, f"| {' | '.join(cells)} |", "row"))
    return fitted(blocks, COMMENT_LIMIT)


def lock_json(lock: Lock, name: str, moved: Moved | None = None) -> dict[str, Any]:
    """JSON form."""
    return {
        "lock": name,
        "entries": [lock.entries[key].as_dict() | {"lost": _lost(lock.entries[key])} for key in sorted(lock.entries)],
        "contradictions": [
            {"test": test, "name": check, "lines": [first, second]} for (test, check), first, second in
            lock.contradictions
        ],
        "against": None if moved is None else _moved_json(moved),
    }  # fmt: skip


def _moved_json(moved: Moved) -> dict[str, Any]:
    def changed(items: Sequence[tuple[Entry, Entry, int]]) -> list[dict[str, Any]]:
        return [{**_key(now), "tokens": tokens, "cause": now.cause, "place": now.place} for _, now, tokens in items]

    return {
        "ref": moved.ref,
        "tokens": moved.tokens,
        "worse": changed(moved.worse),
        "better": changed(moved.better),
        "other_front_end": [_key(now) for _, now in moved.other_front_end],
        "other_prefix": [{**_key(now), "prefix_tokens": now.prefix_tokens} for _, now in moved.other_prefix],
        "fewer": [{**_key(now), "gone": sorted(old.kept.keys() - now.kept.keys())} for old, now in moved.fewer],
        "added": [_key(entry) for entry in moved.added],
        "removed": [_key(entry) for entry in moved.removed],
    }


def _key(entry: Entry) -> dict[str, Any]:
    return {"test": entry.test, "name": entry.name}
