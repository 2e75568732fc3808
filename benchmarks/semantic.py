"""How well collisions are told from paraphrases, on pairs that others wrote, beside cosine alone and other guards.

`make bench-semantic` brings the sets and the peers, prints the tables in Markdown and says which bars are met; 1 if one
is missed or a set is not there. `--write FILE` puts the tables between the two marks of a document. `--pairs FILE`
judges pairs of the user's own as well: JSON lines with `a`, `b`, `same_answer`. Rows of the judging sets are never
printed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))
sys.path.insert(0, str(Path(__file__).parent))

from semantic_bars import OWN, bars, flags_and_labels
from semantic_peers import peers
from semantic_scores import Judged, Quality, Share, at_least, by_kind, false_flags, quality, veto
from semantic_sets import DEVELOPMENT, JUDGING, Pair, read_pairs, read_set, why_not

from pytest_cachesafe.semantic.detect import Detector
from pytest_cachesafe.semantic.encoder import DEFAULT_ENCODER, load_encoder

BEGIN, END = "<!-- made by make bench-semantic: begin -->", "<!-- made by make bench-semantic: end -->"
# Names for the tables.
TITLES = {
    "fow-even": "fow-cache even",
    "fow-odd": "fow-cache odd",
    "checklist": "CheckList",
    "sick": "SICK",
    "mock": "GPTCache mock",
    "qqp": "QQP",
    "paws": "PAWS-QQP",
    OWN: "own pairs",
}
OURS = {"certain": "**certain rules**", "all": "**all rules**"}
# Says nothing about a merged pair: to refuse every one of them is the least that a guard has to beat.
BARE = "cosine alone, none served"


class Scored(NamedTuple):
    """A set, judged by everyone."""

    name: str
    judged: list[Judged]
    # By guard, in the order of the tables: what it refuses to merge.
    flags: dict[str, list[bool]]

    @property
    def title(self) -> str:
        return f"{TITLES[self.name]}{' (dev)' if self.name in DEVELOPMENT else ''}"

    def labels(self) -> list[bool]:
        return [not one.pair.same for one in self.judged]

    def merged(self, guard: str, threshold: float) -> tuple[list[bool], list[bool]]:
        """Flags and labels of the pairs that a cache merges at the threshold."""
        rows = zip(self.judged, self.flags[guard], self.labels(), strict=True)
        kept = [(flag, label) for one, flag, label in rows if one.cosine >= threshold]
        return [flag for flag, _ in kept], [label for _, label in kept]


def score(name: str, pairs: Sequence[Pair], encoder: Any, detector: Detector) -> tuple[Scored, float]:
    """Judge a set by everyone; and how long our detector took for a pair, in milliseconds."""
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.a, pair.b)))
    vectors = encoder.embed(texts)
    row = {text: number for number, text in enumerate(texts)}
    a, b = vectors[[row[pair.a] for pair in pairs]], vectors[[row[pair.b] for pair in pairs]]
    started = time.perf_counter()
    verdicts = [detector.compare(pair.a, pair.b) for pair in pairs]
    took = 1e3 * (time.perf_counter() - started) / max(1, len(pairs))
    judged = [
        Judged(pair, float(cosine), verdict.different_answer, verdict.kind)
        for pair, cosine, verdict in zip(pairs, (a * b).sum(axis=1), verdicts, strict=True)
    ]
    flags = {BARE: [True] * len(pairs)}
    flags |= {peer.name: peer.flags(pairs, a, b) for peer in peers()}
    flags |= {title: flags_and_labels(judged, tier)[0] for tier, title in OURS.items()}
    return Scored(name, judged, flags), took


def number(figure: Share) -> str:
    """A share as the tables have it: `.88 [.82, .92]`."""
    if not figure.n:
        return "-"
    value, low, high = (f"{x:.2f}".replace("0.", ".", 1) for x in figure[:3])
    return f"{value} [{low}, {high}]"


def percent(figure: Share) -> str:
    """A share as the tables have it: `1.3% [0.4, 4.8]`."""
    return f"{figure.value:.1%} [{100 * figure.low:.1f}, {100 * figure.high:.1f}]" if figure.n else "-"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines of a Markdown table."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for cells in rows:
        yield f"| {' | '.join(cells)} |"
    yield ""


def report(sets: Sequence[Scored]) -> Iterator[str]:
    """All tables."""
    mixed = [one for one in sets if any(one.labels()) and not all(one.labels())]
    yield 'F1 for "needs different answers", among the pairs at cosine 0.80 and above:'
    yield ""
    sizes = [f"{one.title} n={len(at_least(one.judged, 0.80))}" for one in mixed]
    guards = list(sets[0].flags)
    yield from table(
        ["", *sizes], [[guard, *(number(quality(*one.merged(guard, 0.80)).f1) for one in mixed)] for guard in guards]
    )
    yield "Flags on pairs that one answer serves (false flags), at any cosine:"
    yield ""
    paraphrases = [one for one in sets if not all(one.labels())]
    sizes = [f"{one.title} n={one.labels().count(False)}" for one in paraphrases]
    yield from table(
        ["", *sizes],
        [
            [guard, *(percent(false_flags(one.flags[guard], one.labels())) for one in paraphrases)]
            for guard in guards[1:]
        ],
    )
    yield "Precision and recall of this project's rules:"
    yield ""
    yield from table(["set", "pairs", "rules", "n", "F1", "precision", "recall"], list(_detail(mixed)))
    for one in sets:
        if one.name.startswith("fow") or one.name == OWN:
            good, bad = one.labels().count(False), one.labels().count(True)
            yield f"What a cache serves with a guard as a veto, {one.title}: hits are of {good} pairs with one answer,"
            yield f"wrong hits of {bad} pairs with different answers:"
            yield ""
            yield from table(["threshold", "guard", "hits", "wrong hits"], list(_vetoes(one)))
    for one in sets:
        if one.name in DEVELOPMENT:
            yield f"How often the worst difference found is right, by kind, {one.title}, at any cosine:"
            yield ""
            rows = [[kind, tier, f"{round(s.value * s.n)} / {s.n}", number(s)] for kind, tier, s in by_kind(one.judged)]
            yield from table(["kind", "tier", "right", "precision"], rows)


def _detail(sets: Sequence[Scored]) -> Iterator[list[str]]:
    for one in sets:
        for what, threshold in (("all", -1.0), (">= .80", 0.80), (">= .90", 0.90)):
            for tier, title in OURS.items():
                got: Quality = quality(*one.merged(title, threshold))
                yield [one.title, what, tier, str(got.f1.n), number(got.f1), number(got.precision), number(got.recall)]


def _vetoes(one: Scored) -> Iterator[list[str]]:
    for threshold in (0.80, 0.85, 0.90, 0.95):
        for guard, flags in one.flags.items():
            # Whoever refuses everything serves nothing; beside the guards the bare cache is of interest.
            bare = guard == BARE
            served = veto(one.judged, [False] * len(flags) if bare else flags, threshold)
            yield [f"{threshold:.2f}", "cosine alone" if bare else guard, percent(served.hits), percent(served.wrong)]


def verdicts(sets: Sequence[Scored]) -> tuple[list[list[str]], bool]:
    """The bars as table rows, and whether all are met."""
    rows, good = [], True
    for one in sets:
        for bar in bars(one.name, one.judged):
            good &= bar.met
            rows.append([one.title, bar.what, percent(bar.figure), str(bar.figure.n), "yes" if bar.met else "**no**"])
    return rows, good


def write(path: Path, lines: Sequence[str]) -> None:
    """Put the tables between the marks of a document."""
    before, found, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not (found and closed):
        raise SystemExit(f"{path} lacks the marks {BEGIN} and {END}")
    path.write_text("\n".join([f"{before}{BEGIN}", "", *lines, f"{END}{after}"]), encoding="utf-8")


def main() -> int:
    """Judge, print, and say whether every bar is met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", default=DEFAULT_ENCODER)
    parser.add_argument("--pairs", type=Path, help="pairs of your own, JSON lines with a, b, same_answer")
    parser.add_argument("--set", action="append", choices=(*DEVELOPMENT, *JUDGING), help="only this one (repeatable)")
    parser.add_argument("--write", type=Path, help="a document with the two marks")
    options = parser.parse_args()
    missing = {name: why for name in options.set or (*JUDGING, *DEVELOPMENT) if (why := why_not(name))}
    wanted = [name for name in options.set or (*JUDGING, *DEVELOPMENT) if name not in missing]
    pairs = {name: read_set(name) for name in wanted} | ({OWN: read_pairs(options.pairs)} if options.pairs else {})
    for name, why in missing.items():
        print(f"not judged: {TITLES[name]}: {why}", file=sys.stderr)
    if not pairs:
        return 1
    encoder, detector = load_encoder(options.encoder), Detector()
    sets = []
    for name, rows in pairs.items():
        scored, took = score(name, rows, encoder, detector)
        print(f"{TITLES[name]}: {len(rows)} pairs, {took:.2f} ms a pair", file=sys.stderr)
        sets.append(scored)
    checked, good = verdicts(sets)
    lines = [*table(["set", "bar", "figure", "n", "met"], checked), *report(sets)]
    print("\n".join(lines))
    if options.write:
        write(options.write, lines)
    return 0 if good and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
