"""The run as Markdown: for a pull request's comment and for the summary page of a GitHub job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_cachesafe.report.markdown_check import details, usd
from pytest_cachesafe.report.mdtext import NOTHING, block, code

if TYPE_CHECKING:
    from pytest_cachesafe.gate.scenario import Run
    from pytest_cachesafe.report.html.facts import Facts

__all__ = ["COMMENT_LIMIT", "SUMMARY_LIMIT", "Block", "fitted", "render"]

# GitHub refuses comments of more characters, and summaries of more bytes. Both are held in bytes, the stricter measure.
COMMENT_LIMIT = 65_536
SUMMARY_LIMIT = 1024 * 1024
# Kept free for the note that something was left out.
_RESERVE = 300
_GATE_LINES = 40
_WORST = 10

_GROUPS = {
    "stable": "Prompt prefix",
    "reuse": "Engine prefix cache",
    "provider": "Provider prompt cache",
    "collisions": "Semantic cache",
}
_SIGNS = {"failed": "❌ failed", "regression": "❌ worse", "warning": "⚠️ warning", "passed": "✅ passed"}


class Block(NamedTuple):
    """A piece of the document. What has the lower rank is kept when not all fits."""

    rank: int
    text: str
    # What is counted where it is left out: "row", "check".
    what: str = ""


def render(run: Run, limit: int = COMMENT_LIMIT) -> str:
    """The run as Markdown of at most `limit` bytes; what passed is left out first, and a note says how much.

    Nothing in it is a link, a mention or markup of others: see `mdtext`.
    """
    from pytest_cachesafe.report.html.facts import facts_of
    from pytest_cachesafe.report.html.overview import verdict

    found = facts_of(run)
    blocks = [Block(0, f"## cachesafe: {verdict(run, found)}\n"), *_totals(found), *_gate(run), *_regressions(run)]
    for kind, title in _GROUPS.items():
        blocks += _table(kind, title, [one for one in found if one.scenario.kind == kind])
    blocks += _lint(run.lint)
    if found:
        blocks.append(Block(2, "### Check by check\n"))
    for one in found:
        blocks.append(Block(2 if one.status != "passed" else 4, details(one, run.redact), "check"))
    return fitted(blocks, limit)


def fitted(blocks: Sequence[Block], limit: int) -> str:
    """The blocks that fit, in their order."""
    left = limit - _RESERVE
    kept: set[int] = set()
    full: set[str] = set()
    order = sorted(range(len(blocks)), key=lambda number: blocks[number].rank)
    for number in order:
        one = blocks[number]
        size = len(one.text.encode("utf-8")) + 1
        # A later, smaller one of the same sort is not let through: rows would be missing in between.
        if one.what in full or size > left:
            full.add(one.what)
            continue
        kept.add(number)
        left -= size
    lines = [one.text for number, one in enumerate(blocks) if number in kept]
    missing = [one for number, one in enumerate(blocks) if number not in kept and one.what]
    if missing:
        counts = ", ".join(
            f"{count:,} {what}{'' if count == 1 else 's'}"
            for what in ("row", "check")
            if (count := sum(one.what == what for one in missing))
        )
        lines.append(f"\n… left out: {counts} (GitHub takes {limit:,} bytes here); the JSON and HTML reports have all.")
    return "\n".join(lines).rstrip("\n") + "\n"


def _totals(found: Sequence[Facts]) -> Iterator[Block]:
    """Tokens and money of the run, where there is something to say."""
    reusable, lost = sum(one.reusable for one in found), sum(one.lost for one in found)
    parts = []
    about = "about " if any(one.estimated and one.reusable for one in found) else ""
    if reusable:
        parts.append(f"{about}{lost:,} of {reusable:,} reusable tokens are lost")
    money = [one.usd_lost for one in found if one.usd_lost]
    if money:
        parts.append(f"{about}{usd(sum(money))} lost if each conversation is held 1,000 times")
    if parts:
        yield Block(0, f"{'; '.join(parts)}.\n")


def _gate(run: Run) -> Iterator[Block]:
    """What the lock file has to say."""
    if run.gate:
        more = len(run.gate) - _GATE_LINES
        rest = [f"… {more} more lines"] if more > 0 else []
        yield Block(1, f"### Lock file\n\n{block([*map(str, run.gate[:_GATE_LINES]), *rest])}\n")


def _regressions(run: Run) -> Iterator[Block]:
    """What got worse than the lock file or a budget allows, what failed first."""
    if not run.regressions:
        return
    yield Block(0, "### Worse than before\n\n| verdict | test | check | what | where |\n|---|---|---|---|---|")
    places = run.places()
    for one in sorted(run.regressions, key=lambda regression: not regression.failed):
        sign = _SIGNS["regression" if one.failed else "warning"]
        text = one.text.removeprefix(f"cache regression in {one.name}: ")
        cells = [sign, code(one.test), code(one.name, 60), code(text, 400)]
        cells.append(code(places.get((one.test, one.name), ""), 120))
        yield Block(1, f"| {' | '.join(cells)} |", "row")
    yield Block(0, "")


def _table(kind: str, title: str, found: Sequence[Facts]) -> Iterator[Block]:
    """The checks of one kind, the worst first."""
    if not found:
        return
    if kind == "collisions":
        head = "| verdict | test | prompts | merged | closest | what differs |\n|---|---|--:|--:|--:|---|"
    else:
        money = " lost per 1,000 chats |" if kind == "provider" else ""
        head = f"| verdict | test | tokens | kept | lost |{money} cause | place | built by |\n"
        head += f"|---|---|--:|--:|--:|{'--:|' if money else ''}---|---|---|"
    yield Block(0, f"### {title}\n\n{head}")
    for one in found:
        row = _collisions(one) if kind == "collisions" else _row(one, money=kind == "provider")
        yield Block(1 if one.status != "passed" else 3, row, "row")
    yield Block(0, "")


def _test(one: Facts) -> str:
    scenario = one.scenario
    named = scenario.name not in ("", scenario.kind)
    return f"{code(scenario.test)} {code(scenario.name, 60)}" if named else code(scenario.test)


def _row(one: Facts, *, money: bool) -> str:
    about = "about " if one.estimated else ""
    tokens = sum(bar.tokens for group in one.groups[:1] for bar in group.bars)
    kept = lost = NOTHING
    if one.reusable:
        kept = f"{one.kept:,} ({_share(one.kept, one.reusable)})"
        lost = f"{about if one.lost else ''}{one.lost:,}"
    cells = [_SIGNS[one.status], _test(one), f"{about}{tokens:,}" if tokens else NOTHING, kept, lost]
    if money:
        cells.append(NOTHING if one.usd_lost is None else f"{about}{usd(one.usd_lost)}")
    cause = place = built = ""
    if one.faults:
        worst = one.faults[0]
        cause, place, built = worst.cause or worst.title, worst.place, worst.built
    elif one.status == "failed":
        cause = one.scenario.headline
    cells += [code(cause, 80), code(place, 80), code(built, 100)]
    return f"| {' | '.join(cells)} |"


def _collisions(one: Facts) -> str:
    from pytest_cachesafe.report.html.collisions import worst_pair
    from pytest_cachesafe.report.html.reading import dollars, mapping, rows, whole

    data = mapping(one.scenario.data)
    pair = worst_pair(data) or mapping(data.get("closest"))
    similarity = dollars(pair.get("similarity"))
    kinds = ", ".join(dict.fromkeys(str(span.get("kind")) for span in rows(pair.get("spans"))))
    prompts, merged = ((f"{whole(data[key]):,}" if key in data else NOTHING) for key in ("prompts", "merged"))
    close = NOTHING if similarity is None else f"{similarity:.3f}"
    cells = [_SIGNS[one.status], _test(one), prompts, merged, close, code(kinds, 80)]
    return f"| {' | '.join(cells)} |"


def _share(part: int, whole: int) -> str:
    """A percentage; 100% is said of nothing less."""
    return "100%" if part >= whole else f"{min(part / whole, 0.99):.0%}"


def _lint(lint: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    """What the linter found in the source beside the tests."""
    if not lint:
        return
    from pytest_cachesafe.report.html.reading import mapping

    yield Block(0, "### In the source\n\n| severity | rule | place | what |\n|---|---|---|---|")
    rank = {"error": 0, "warning": 1}
    for one in sorted(lint, key=lambda found: rank.get(str(found.get("severity")), 2)):
        severity = str(one.get("severity"))
        place = f"{one.get('filename')}:{mapping(one.get('location')).get('row')}"
        cells = [code(severity, 20), code(str(one.get("code")), 20), code(place, 120), code(str(one.get("message")))]
        yield Block(1 if severity == "error" else 3, f"| {' | '.join(cells)} |", "row")
    yield Block(0, "")
