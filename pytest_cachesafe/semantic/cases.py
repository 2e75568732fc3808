"""Labelled pairs in JSON lines as test cases of a user's cache: these share an answer, those must not.

    {"a": "How do I reset my password?", "b": "I forgot my password, what now?", "same_answer": true}
    {"a": "Cancel my annual plan", "b": "Cancel my monthly plan", "same_answer": false, "id": "plans"}

Here the label decides, not the detector: a pair labelled as different must not be merged at the threshold, one that
is labelled the same must be.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.semantic.judge import CollisionJudge
    from pytest_cachesafe.semantic.pair import PairReport

__all__ = ["Case", "load_cases", "parametrize", "semantic_cases"]

# What a test that takes cases calls its argument.
ARGUMENT = "case"


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled pair."""

    # Not in the repr, which pytest shows beside the report: prompts may have to stay out of it.
    a: str = field(repr=False)
    b: str = field(repr=False)
    same_answer: bool
    # "support.jsonl: line 3".
    where: str
    # Names the test: the line's own "id", else its number.
    id: str

    def check(self, judge: CollisionJudge | None = None, *, threshold: Any = None) -> PairReport:
        """Assert what the label says.

        Args:
            judge: `semantic_cache`, or one of your own; None: MiniLM at 0.95.
            threshold: another one than the judge's.

        Raises:
            CollisionFailure: merged and labelled different, or labelled the same and not merged.
            UsageError: an encoder or vectors that cannot be used.
        """
        __tracebackhide__ = True
        from pytest_cachesafe.report.semantic import render_pair
        from pytest_cachesafe.semantic.assertions import settle
        from pytest_cachesafe.semantic.judge import CollisionJudge
        from pytest_cachesafe.semantic.pair import PairReport

        used = CollisionJudge() if judge is None else judge
        if threshold is not None:
            used = used.at(threshold)
        found = used.judge(self.a, self.b)
        report = PairReport(
            self.a, self.b, found.text, found, encoder=used.name, where=self.where, layout=render_pair
        )  # fmt: skip
        if found.merged and not self.same_answer:
            report.reasons.append("labelled as different, and the cache merges them")
            seen = found.different_answer != "none"
            report.advice.append(
                "ask CollisionJudge.compare before serving: it sees the difference"
                if seen
                else "the words show no difference either: add it to your tables, or raise the threshold"
            )
        elif self.same_answer and not found.merged:
            report.reasons.append(
                "labelled as the same, and the cache does not merge them: the answer is computed anew"
            )
        settle(report)
        return report


def load_cases(path: str | os.PathLike[str]) -> list[Case]:
    """The cases of a file.

    Raises:
        UsageError: missing, not JSON lines, a line without "a", "b" or "same_answer", an unknown label, the same text
            twice, a pair or id that stands there before, or no line at all.
    """
    from pytest_cachesafe.semantic.files import read_pairs

    name = os.fspath(path)
    found: list[Case] = []
    seen: dict[frozenset[str], str] = {}
    ids: set[str] = set()
    for number, value in read_pairs(name):
        where = f"{os.path.basename(name)}: line {number}"
        label = _label(value, number, name)
        pair = frozenset((value["a"], value["b"]))
        if pair in seen:
            raise UsageError(f"{name}: line {number}: this pair stands in {seen[pair]} already: keep one of them")
        seen[pair] = f"line {number}"
        word = str(value.get("id") or f"line{number}")
        if word in ids:
            raise UsageError(f"{name}: line {number}: the id {word!r} stands there twice")
        ids.add(word)
        found.append(Case(value["a"], value["b"], label, where, word))
    return found


def _label(value: Mapping[str, Any], number: int, name: str) -> bool:
    """Whether a labelled pair needs one answer.

    Raises:
        UsageError: no label, an unknown one, the same text twice, or people do not agree about the pair.
    """
    from pytest_cachesafe.semantic.sweep.labelled import LabelledPairs

    pairs = LabelledPairs.of([value], places=[number], name=name).pairs
    if not pairs:
        raise UsageError(f"{name}: line {number}: both prompts are the same text, which proves nothing")
    if pairs[0].same is None:
        raise UsageError(f"{name}: line {number}: an ambiguous pair is no test: leave it out")
    return pairs[0].same


def semantic_cases(path: str | os.PathLike[str]) -> Any:
    """A decorator that runs a test once for each case of a file, as its argument `case`.

    A relative path is meant from the folder of the test's file.

        @semantic_cases("support.jsonl")
        def test_support(case, semantic_cache):
            case.check(semantic_cache)

    Raises:
        UsageError: see `load_cases`.
    """
    import pytest

    caller = sys._getframe(1).f_globals.get("__file__") or "."
    cases = load_cases(Path(caller).parent / path)
    return pytest.mark.parametrize(ARGUMENT, cases, ids=[case.id for case in cases])


def parametrize(metafunc: Any) -> None:
    """Run a test marked `@pytest.mark.cachesafe(cases="support.jsonl")`, or with a list of files, once for each case.

    Called by the plugin. Files are meant from the folder of the test's own file; the closest marker counts. Of a marked
    class or module, tests without the argument `case` are left alone.

    Raises:
        CollectError: see `load_cases`; or the test itself is marked and takes no `case`.
    """
    import pytest

    definition = metafunc.definition
    mark = next((mark for mark in definition.iter_markers("cachesafe") if "cases" in mark.kwargs), None)
    if mark is None:
        return
    try:
        if ARGUMENT not in metafunc.fixturenames:
            if mark in definition.own_markers:
                raise UsageError(
                    f"@pytest.mark.cachesafe(cases=…): {definition.name} takes no argument {ARGUMENT!r}: write def "
                    f"{definition.name}({ARGUMENT}, semantic_cache)"
                )
            return
        files = _files(mark.kwargs["cases"])
        found = [(file, case) for file in files for case in load_cases(definition.path.parent / file)]
    except UsageError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    names = [case.id if len(files) == 1 else f"{Path(file).stem}-{case.id}" for file, case in found]
    metafunc.parametrize(ARGUMENT, [case for _, case in found], ids=names)


def _files(value: object) -> tuple[str, ...]:
    files = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (list, tuple)) else ()
    if not files or not all(isinstance(file, str) and file for file in files):
        raise UsageError("@pytest.mark.cachesafe(cases=…): must be the name of a file, or a list of them")
    return files
