"""`CollisionJudge`: both statements about pairs of prompts, with one encoder, one detector and one threshold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.semantic.encoder import DEFAULT_ENCODER
from pytest_cachesafe.semantic.prompts import PromptSet, as_pair
from pytest_cachesafe.semantic.served import as_serving_cache, served_verdict
from pytest_cachesafe.semantic.threshold import parse_threshold
from pytest_cachesafe.semantic.verdict import PairVerdict, TextVerdict, Tier
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.semantic.detect import Detector
    from pytest_cachesafe.semantic.encoder import Encoder
    from pytest_cachesafe.semantic.keys import KeyReport
    from pytest_cachesafe.semantic.mutants.result import MutantReport
    from pytest_cachesafe.semantic.pair import PairReport
    from pytest_cachesafe.semantic.result import CollisionReport, Level
    from pytest_cachesafe.semantic.sweep.labelled import LabelledPairs
    from pytest_cachesafe.semantic.sweep.result import SweepReport
    from pytest_cachesafe.semantic.tables import Tables

__all__ = ["DEFAULT_THRESHOLD", "CollisionJudge"]

DEFAULT_THRESHOLD = 0.95


class CollisionJudge:
    """Says of two prompts whether their texts need different answers, and whether a cache would merge them.

    Args:
        encoder: what the cache embeds with: a model's name or folder, or an `embed(texts)` (see `load_encoder`). It is
            loaded when a cosine is first asked for. Or the cache itself, which decides without threshold: an object
            with `lookup(prompt)` and `store(prompt, answer)` (and `reset()`), or a tuple of these functions.
        threshold: cosine similarity at and above which the cache merges, 0 to 1 (see `parse_threshold`).
        tables: word tables of your own (see `Tables`). None: those of `[tool.cachesafe.semantic]`, else the shipped.
        verifier: `verifier(a, b) -> score`, asked about suspects that are merged. Its score is shown; one that was
            calibrated on labelled pairs (`semantic.verifier.calibrate`) confirms and clears suspects.

    Raises:
        UsageError: a threshold that is none, or a verifier that cannot be called.
    """

    def __init__(
        self,
        encoder: Any = DEFAULT_ENCODER,
        threshold: Any = DEFAULT_THRESHOLD,
        *,
        tables: Tables | None = None,
        verifier: Callable[[str, str], float] | None = None,
    ) -> None:
        self.threshold = parse_threshold(threshold)
        if verifier is not None and not callable(verifier):
            raise UsageError(f"verifier={str(verifier)[:40]!r}: a function verifier(a, b) that gives a score is meant")
        self.verifier = verifier
        self._spec = encoder
        self._encoder: Encoder | None = None
        # A cache that is asked itself, instead of an encoder.
        self.cache = as_serving_cache(encoder)
        self._tables = tables
        self._detector: Detector | None = None

    @property
    def name(self) -> str:
        """Of the encoder or the cache, for reports."""
        return self.cache.name if self.cache is not None else self.encoder.name

    @property
    def encoder(self) -> Encoder:
        """Made when first asked for.

        Raises:
            UsageError: it is nowhere, or no encoder; or a cache was given, which tells no cosine.
        """
        if self.cache is not None:
            raise UsageError(
                f"cache {self.cache.name} tells what it serves, not how close prompts are: give its encoder"
            )
        if self._encoder is None:
            from pytest_cachesafe.semantic.encoder import load_encoder

            self._encoder = load_encoder(self._spec)
        return self._encoder

    @property
    def detector(self) -> Detector:
        """What compares texts; needs no model."""
        if self._detector is None:
            from pytest_cachesafe.semantic.detect import Detector

            self._detector = Detector(_project_tables() if self._tables is None else self._tables)
        return self._detector

    def at(self, threshold: Any) -> CollisionJudge:
        """The same judge at another threshold; encoder and detector are shared."""
        other = CollisionJudge(self._spec, threshold, tables=self._tables, verifier=self.verifier)
        other._encoder, other._detector, other.cache = self._encoder, self._detector, self.cache
        return other

    def compare(self, a: str, b: str) -> TextVerdict:
        """Whether the texts need different answers; no model is loaded.

        Raises:
            UsageError: a prompt that is blank, no text, or too long.
        """
        a, b = as_pair(a, b)
        return self.detector.compare(a, b)

    def similarity(self, a: str, b: str) -> float:
        """Cosine of the embeddings, -1 to 1.

        Raises:
            UsageError: as `compare`; or an encoder or vectors that cannot be used.
        """
        a, b = as_pair(a, b)
        if a == b:
            return 1.0
        from pytest_cachesafe.semantic.similarity import cosine

        first, second = self.encoder.embed([a, b])
        return cosine(first, second)

    def judge(self, a: str, b: str) -> PairVerdict:
        """Both statements about one pair.

        Raises:
            UsageError: see `similarity`.
        """
        if self.cache is not None:
            a, b = as_pair(a, b)
            return self.decided(a, b, a == b or self.cache.serves(a, b))
        return self.judged(a, b, self.similarity(a, b))

    def decided(self, a: str, b: str, served: bool) -> PairVerdict:
        """Both statements about a pair of which the cache's decision is known."""
        # The threshold below which nothing lies: a verifier is asked about what is served.
        found = self.judged(a, b, 1.0 if served else -1.0, 0.0)
        return served_verdict(found, served)

    def judged(self, a: str, b: str, similarity: float, threshold: float | None = None) -> PairVerdict:
        """Both statements about a pair whose cosine is known."""
        limit = self.threshold if threshold is None else threshold
        text = self.detector.compare(a, b)
        score = None
        if self.verifier is not None and text.different_answer == "suspect" and similarity >= limit:
            # In one order, so that (b, a) gives the same verdict.
            score = _finite(self.verifier(*sorted((a, b))))
        return PairVerdict(a, b, similarity, limit, text, score)

    def second_opinion(self, verdict: PairVerdict) -> Tier | None:
        """What a calibrated verifier makes of a tier; None without one, or where it was not asked.

        A score without calibration means nothing: it is shown and changes nothing.
        """
        from pytest_cachesafe.semantic.verifier import CalibratedVerifier, second_opinion

        if verdict.verifier is None or not isinstance(self.verifier, CalibratedVerifier):
            return None
        return second_opinion(verdict, self.verifier)

    def judge_pairs(self, pairs: Iterable[tuple[str, str]], **options: Any) -> CollisionReport:
        """Exactly these pairs, in their order; options as `collisions`.

        Raises:
            UsageError: no pair, or one that cannot be judged.
        """
        if self.cache is not None:
            from pytest_cachesafe.semantic.serving import serve_pairs

            return serve_pairs(self, self.cache, list(pairs), **options)
        from pytest_cachesafe.semantic.collisions import judge_pairs

        return judge_pairs(self, list(pairs), threshold=self.threshold, **options)

    def collisions(
        self, prompts: Iterable[str] | PromptSet, *, level: Level = "certain", allow: Iterable[Any] = ()
    ) -> CollisionReport:
        """Every pair of a set that comes close to the threshold, worst first.

        Args:
            prompts: at least two distinct ones; repeats are counted and left out.
            level: weakest tier that fails.
            allow: `(a, b, reason)` for pairs that may share an answer.

        Raises:
            UsageError: input that cannot be judged, or in which nothing could collide.
        """
        from pytest_cachesafe.semantic.collisions import check_level, find_collisions

        if self.cache is not None:
            from pytest_cachesafe.semantic.serving import serve_collisions

            return serve_collisions(self, self.cache, prompts, level=check_level(level), allow=allow)
        return find_collisions(self, prompts, threshold=self.threshold, level=check_level(level), allow=allow)

    def sweep(self, labelled_pairs: Iterable[Any] | LabelledPairs, **options: Any) -> SweepReport:
        """Hits and wrong hits of labelled pairs over all thresholds; options as `semantic.sweep.run.sweep`.

        Raises:
            UsageError: pairs or options that cannot be used.
        """
        from pytest_cachesafe.semantic.sweep.run import sweep

        return sweep(self, labelled_pairs, **options)

    def mutants(self, prompts: Iterable[str] | PromptSet, **options: Any) -> MutantReport:
        """What this cache serves wrongly of prompts changed in one place; options as `semantic.mutants.run.mutants`.

        Raises:
            UsageError: prompts or options that cannot be used.
        """
        from pytest_cachesafe.semantic.mutants.run import mutants

        return mutants(self, prompts, **options)

    def check_keys(self, requests: Iterable[Any], **options: Any) -> KeyReport:
        """What is wrong with the text that is embedded and with what it is filtered by; options of `keys.check_keys`.

        Raises:
            UsageError: requests or options that cannot be used.
        """
        from pytest_cachesafe.semantic.keys import check_keys

        return check_keys(requests, self, **options)

    def assert_no_collisions(self, prompts: Iterable[str], **options: Any) -> CollisionReport:
        """`assert_no_collisions` with this judge; options: threshold, level, allow, name."""
        __tracebackhide__ = True
        from pytest_cachesafe.semantic.assertions import assert_no_collisions

        return assert_no_collisions(prompts, judge=self, **options)

    def assert_distinct(self, a: str, b: str, *, level: Level = "certain") -> PairReport:
        """`assert_distinct` with this judge's tables."""
        __tracebackhide__ = True
        from pytest_cachesafe.semantic.assertions import assert_distinct

        return assert_distinct(a, b, level=level, judge=self)

    def assert_mergeable(self, a: str, b: str, **options: Any) -> PairReport:
        """`assert_mergeable` with this judge; options: threshold, level."""
        __tracebackhide__ = True
        from pytest_cachesafe.semantic.assertions import assert_mergeable

        return assert_mergeable(a, b, judge=self, **options)


def _finite(raw: object) -> float:
    try:
        score = float(raw)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        score = math.nan
    if not math.isfinite(score):
        raise UsageError(f"verifier gives {str(raw)[:40]!r}: one finite number a pair is needed")
    return score


def _project_tables() -> Tables:
    """Those of the nearest `pyproject.toml` at or above here.

    Raises:
        UsageError: its section cannot be read.
    """
    from pathlib import Path

    from pytest_cachesafe.semantic.tables.config import read_tables

    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "pyproject.toml").is_file():
            return read_tables(str(folder / "pyproject.toml"))
    return read_tables(str(here / "pyproject.toml"))
