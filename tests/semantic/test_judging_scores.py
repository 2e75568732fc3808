"""The measure itself: intervals, scores, and what brings the sets."""

from __future__ import annotations

import io
import math
import os
import pickle
import subprocess
from pathlib import Path

import pytest
import semantic_sets
from hypothesis import given, settings
from hypothesis import strategies as st
from semantic_bars import OWN, bars
from semantic_scores import Judged, at_least, by_kind, f1, false_flags, quality, share, veto
from semantic_sets import Pair, Source


def judged(same: bool, cosine: float, tier: str, kind: str | None = None) -> Judged:
    return Judged(Pair("1", "a", "b", same, ""), cosine, tier, kind)


# R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
@pytest.mark.parametrize(
    ("count", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_interval_of_a_share(count: int, n: int, low: float, high: float) -> None:
    assert share(count, n)[:] == pytest.approx((count / n, low, high, n), abs=5e-5)


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_figures_lie_within_their_intervals(rows: list[tuple[bool, bool]]) -> None:
    for figure in quality([flag for flag, _ in rows], [label for _, label in rows]):
        assert figure.n == 0 or 0.0 <= figure.low <= figure.value + 1e-9
        assert figure.n == 0 or figure.value <= figure.high + 1e-9 <= 1.0 + 1e-8


def test_scores_of_a_small_table() -> None:
    got = quality([True, True, True, False, False], [True, True, False, True, False])
    assert (got.precision.value, got.recall.value, got.f1.value) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert (got.precision.n, got.recall.n, got.f1.n) == (3, 3, 5)
    assert false_flags([True, True, True, False, False], [True, True, False, True, False])[::3] == (0.5, 2)


def test_nothing_to_count_is_no_figure() -> None:
    assert math.isnan(share(0, 0).value)
    assert math.isnan(f1(0, 0, 0, 0).value)
    assert all(not bar.met for bar in bars("mock", []))


def test_a_veto_takes_flagged_pairs_out() -> None:
    rows = [judged(True, 0.95, "none"), judged(True, 0.7, "none"), judged(False, 0.95, "certain")]
    rows += [judged(False, 0.95, "suspect"), judged(False, 0.85, "none"), judged(True, 0.9, "certain")]
    served = veto(rows, [row.flagged("certain") for row in rows], 0.9)
    assert (served.hits.value, served.hits.n, served.wrong.value, served.wrong.n) == pytest.approx((1 / 3, 3, 1 / 3, 3))
    served = veto(rows, [row.flagged("all") for row in rows], 0.9)
    assert served.wrong.value == 0.0
    assert len(at_least(rows, 0.9)) == 4


def test_kinds_are_counted_with_their_tier() -> None:
    rows = [judged(False, 1.0, "certain", "number"), judged(True, 1.0, "certain", "number")]
    rows += [judged(False, 1.0, "suspect", "scope"), judged(False, 1.0, "none")]
    assert [(kind, tier, figure.value, figure.n) for kind, tier, figure in by_kind(rows)] == [
        ("number", "certain", 0.5, 2),
        ("scope", "suspect", 1.0, 1),
    ]


def test_a_perfect_detector_meets_all_bars_and_a_silent_one_does_not() -> None:
    rows = [(True, 0.95), (True, 0.95), (False, 0.95), (False, 0.85)]
    for name in ("fow-odd", OWN):
        assert all(bar.met for bar in bars(name, [judged(s, c, "none" if s else "certain") for s, c in rows]))
        assert not all(bar.met for bar in bars(name, [judged(s, c, "none") for s, c in rows]))
        assert not all(bar.met for bar in bars(name, [judged(s, c, "certain") for s, c in rows]))
    assert not bars("fow-even", [])


def test_a_pickle_runs_nothing(tmp_path: Path) -> None:
    class Attack:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "made"),)

    loaded = semantic_sets._Restricted(io.BytesIO(pickle.dumps({"data": [("a", "b")], "attack": Attack()}))).load()
    assert loaded["data"] == [("a", "b")]
    assert not (tmp_path / "made").exists()


def test_a_set_is_the_file_at_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", str(origin), *arguments], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    origin = tmp_path / "somebody" / "sets"
    origin.mkdir(parents=True)
    # To git, the folder of this test is github.com; it serves single commits and leaves files out, as that does.
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.file://{tmp_path}/.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://github.com/")
    monkeypatch.setenv("CACHESAFE_CACHE", str(tmp_path / "cache"))
    git("init", "-q")
    for key in ("uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"):
        git("config", key, "true")
    for text in ('[{"origin": "One.", "similar": "The one."}]', "[]"):
        (origin / "mock.json").write_text(text, encoding="utf-8")
        git("add", "mock.json")
        git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "rows")
    source = Source("somebody/sets", git("rev-parse", "HEAD~1"), "mock.json", "none")
    monkeypatch.setitem(semantic_sets.SOURCES, "mock", source)
    why = semantic_sets.why_not("mock")
    assert why is not None
    assert "make bench-semantic" in why
    assert semantic_sets.main(["mock"]) == 0
    assert semantic_sets.why_not("mock") is None
    assert semantic_sets.read_set("mock") == [Pair("mock-0", "One.", "The one.", True, "paraphrase")]
    # One that cannot be had is said, and leaves nothing behind.
    monkeypatch.setitem(semantic_sets.SOURCES, "mock", source._replace(commit="0" * 40))
    assert semantic_sets.main(["mock"]) == 1
    assert [path.name for path in semantic_sets.sets_folder().iterdir()] == [f"mock-{source.commit[:12]}"]
