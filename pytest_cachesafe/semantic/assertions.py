"""`assert_no_collisions`, `assert_distinct`, `assert_mergeable`: the judge's statements as assertions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.semantic.collisions import check_level
from pytest_cachesafe.semantic.encoder import DEFAULT_ENCODER
from pytest_cachesafe.semantic.judge import DEFAULT_THRESHOLD, CollisionJudge
from pytest_cachesafe.semantic.pair import PairReport
from pytest_cachesafe.semantic.prompts import as_pair
from pytest_cachesafe.semantic.result import CollisionFailure, CollisionReport, Level
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.semantic.tables import Tables

__all__ = ["assert_distinct", "assert_mergeable", "assert_no_collisions", "settle"]


def assert_no_collisions(
    prompts: Iterable[str],
    *,
    threshold: Any = None,
    level: Level = "certain",
    allow: Iterable[Any] = (),
    encoder: Any = None,
    tables: Tables | None = None,
    verifier: Callable[[str, str], float] | None = None,
    judge: CollisionJudge | None = None,
    name: str | None = None,
) -> CollisionReport:
    """Assert that a semantic cache merges no two of these prompts that need different answers.

    Args:
        prompts: at least two distinct ones.
        threshold: cosine similarity at and above which the cache merges (default 0.95, or the judge's).
        level: `certain` lets suspects pass and tells them in the summary, `suspect` fails for both.
        allow: `(a, b, reason)` for pairs that may share an answer; entries that hide nothing are told.
        encoder: what the cache embeds with (default all-MiniLM-L6-v2; see `load_encoder`), or the cache itself: an
            object with `lookup(prompt)` and `store(prompt, answer)`, or the pair of functions.
        tables: word tables of your own; verifier: see `CollisionJudge`.
        judge: a judge to use; then without encoder, tables and verifier.
        name: for the report.

    Returns:
        The report, which is true when the assertion holds; `.closest` is the pair that came closest.

    Raises:
        CollisionFailure: an AssertionError whose first line is complete in itself; `.report` holds the data.
        UsageError: input that cannot be judged, or in which nothing could collide.
    """
    __tracebackhide__ = True
    level = check_level(level)
    judge = _judge(judge, threshold, encoder, tables, verifier)
    report = judge.collisions(prompts, level=level, allow=allow)
    report.name = name
    settle(report, _summary(report))
    return report


def assert_distinct(
    a: str,
    b: str,
    *,
    level: Level = "certain",
    tables: Tables | None = None,
    judge: CollisionJudge | None = None,
) -> PairReport:
    """Assert that two prompts are seen to need different answers, by their words alone: no model is loaded.

    It holds the detector to your domain: where it fails, the pair would pass unseen through `assert_no_collisions`.

    Args:
        level: the weakest tier that is enough.
        tables: word tables of your own.
        judge: a judge whose tables are used.

    Raises:
        CollisionFailure: nothing was found in which they differ, or only a suspicion.
        UsageError: a prompt that cannot be judged, or the same text twice.
    """
    __tracebackhide__ = True
    level = check_level(level)
    a, b = _two(a, b)
    found = _judge(judge, None, None, tables, None).compare(a, b)
    report = PairReport(a, b, found, layout=_layout())
    if found.different_answer == "none":
        report.reasons.append(f"nothing is found in which they need different answers{_because(found.note)}")
        report.advice.append("add what differs to your tables: antonyms or entities in [tool.cachesafe.semantic]")
    elif found.different_answer == "suspect" and level == "certain":
        report.reasons.append("that they need different answers is suspected, not certain")
        report.advice.append("accept a suspicion with level='suspect', or add what differs to your tables")
    settle(report)
    return report


def assert_mergeable(
    a: str,
    b: str,
    *,
    threshold: Any = None,
    level: Level = "certain",
    encoder: Any = None,
    tables: Tables | None = None,
    judge: CollisionJudge | None = None,
) -> PairReport:
    """Assert that a semantic cache serves two prompts one answer, and that nothing in their words speaks against it.

    Args:
        threshold, encoder, tables, judge: as in `assert_no_collisions`.
        level: weakest tier that speaks against it.

    Raises:
        CollisionFailure: they need different answers, or the cache does not merge them (an answer computed anew).
        UsageError: a prompt that cannot be judged, or the same text twice.
    """
    __tracebackhide__ = True
    level = check_level(level)
    a, b = _two(a, b)
    judge = _judge(judge, threshold, encoder, tables, None)
    found = judge.judge(a, b)
    report = PairReport(a, b, found.text, found, layout=_layout(), encoder=judge.name)
    if found.different_answer == "certain" or found.different_answer == level:
        report.reasons.append(f"they need different answers ({found.different_answer})")
        report.advice.append("where they do not, add what is harmless to your tables: synonyms or ignore")
    if not found.merged:
        report.reasons.append("the cache does not merge them, and the answer is computed anew")
        if found.different_answer == "none":
            report.advice.append("a lower threshold merges them, and other pairs as well: see what with a sweep")
    settle(report)
    return report


def settle(report: Any, *notes: str) -> None:
    """Fail where the report does; otherwise let the summary of the session say what there is to say.

    Raises:
        CollisionFailure: the report does not pass.
    """
    __tracebackhide__ = True
    from pytest_cachesafe.perturb.node import current_node

    node = current_node()
    if node is not None:
        node.collect(report)
    if not report.passed:
        raise CollisionFailure(report, node.config.get_verbosity() if node is not None else 0)
    if node is not None:
        for note in notes:
            node.note(note)


def _summary(report: CollisionReport) -> str:
    """The first line: how close it came, suspects, unused entries, notes."""
    from pytest_cachesafe.perturb.node import current_node

    node = current_node()
    if node is None:
        return ""
    text = report.text(0, node.settings["redact"].value)
    first, *rest = text.split("\n")
    notes = [line.strip() for line in rest if line.startswith("  note: ")]
    return "; ".join([first, *notes])


def _judge(judge: CollisionJudge | None, threshold: Any, encoder: Any, tables: Any, verifier: Any) -> CollisionJudge:
    """The judge to use.

    Raises:
        UsageError: a judge and what it holds already.
    """
    if judge is None:
        return CollisionJudge(
            DEFAULT_ENCODER if encoder is None else encoder,
            DEFAULT_THRESHOLD if threshold is None else threshold,
            tables=tables,
            verifier=verifier,
        )
    for name, value in (("encoder", encoder), ("tables", tables), ("verifier", verifier)):
        if value is not None:
            raise UsageError(f"judge= has its own {name}: leave {name}= out, or make another judge")
    return judge if threshold is None else judge.at(threshold)


def _two(a: object, b: object) -> tuple[str, str]:
    first, second = as_pair(a, b)
    if first == second:
        raise UsageError("both prompts are the same text: nothing was compared")
    return first, second


def _because(note: str | None) -> str:
    return f" ({note})" if note else ""


def _layout() -> Any:
    from pytest_cachesafe.report.semantic import render_pair

    return render_pair
