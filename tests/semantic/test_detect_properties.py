"""What holds for every pair of prompts."""

from __future__ import annotations

from functools import cache

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.semantic.detect import Detector
from pytest_cachesafe.semantic.verdict import TextVerdict

VERBS = ["enable", "disable", "delete", "export", "renew", "not share", "don't sell", "never block"]
THINGS = [
    "the report",
    "3 boxes",
    "my annual plan",
    "Postgres 15",
    "invoice INV-2217",
    "all users",
    "$40 worth of credit",
]
ENDS = [
    "",
    " by 7 pm",
    " from Oslo to Madrid",
    " before Monday",
    " in March 2024",
    " as JSON",
    " at least 3 times",
    " for her",
]
OPENERS = ["How do I {}{}{}", "Can I {}{}{}", "Why should we {}{}{}", "I want to {}{}{}", "Where can he {}{}{}"]


@cache
def detector() -> Detector:
    return Detector()


@st.composite
def prompts(draw: st.DrawFn) -> str:
    """Prompts with values, negations, directions, names and pronouns."""
    opener = draw(st.sampled_from(OPENERS))
    return opener.format(draw(st.sampled_from(VERBS)), " " + draw(st.sampled_from(THINGS)), draw(st.sampled_from(ENDS)))


def core(verdict: TextVerdict) -> list[tuple[str, str]]:
    """Kinds and tiers: what a wording must not change."""
    return [(d.kind, d.tier) for d in verdict.differences]


def mirrored(verdict: TextVerdict) -> list[tuple[object, ...]]:
    return [(d.kind, d.tier, d.b, d.a) for d in verdict.differences]


@settings(deadline=None, max_examples=tries(300))
@given(prompts(), prompts())
def test_symmetric(a: str, b: str) -> None:
    one, other = detector().compare(a, b), detector().compare(b, a)
    assert mirrored(one) == [(d.kind, d.tier, d.a, d.b) for d in other.differences]
    assert one.note == other.note


@settings(deadline=None, max_examples=tries(200))
@given(st.text(max_size=80), st.text(max_size=80))
@example("\u0130stanbul 3", "istanbul 4")
@example("9" * 400, "8" * 400)
@example("a %", "% a")
def test_any_text_is_judged_symmetrically(a: str, b: str) -> None:
    one, other = detector().compare(a, b), detector().compare(b, a)
    assert mirrored(one) == [(d.kind, d.tier, d.a, d.b) for d in other.differences]
    for d in one.differences:
        assert all(0 <= s.start < s.end <= len(a) for s in d.a)
        assert all(0 <= s.start < s.end <= len(b) for s in d.b)


@settings(deadline=None)
@given(st.one_of(prompts(), st.text(max_size=200)))
def test_identical_prompts_are_never_flagged(a: str) -> None:
    assert detector().compare(a, a) == TextVerdict()


@settings(deadline=None, max_examples=tries(200))
@given(prompts(), prompts(), st.sampled_from([str.lower, str.upper, str.title, str.capitalize]))
def test_case_never_changes_a_verdict(a: str, b: str, case: object) -> None:
    assert callable(case)
    # Units are written with their case in prompts; GB in capitals and in small letters is one unit all the same.
    assert core(detector().compare(a, case(b))) == core(detector().compare(a, b))
    assert detector().compare(a, case(a)).differences == ()


@settings(deadline=None, max_examples=tries(200))
@given(
    prompts(),
    prompts(),
    st.sampled_from(
        ["Hi, ", "Please ", "Hello there! ", "Could you tell me: ", "Sorry to bother you, but ", "um, so "]
    ),
    st.sampled_from(
        ["", " please", ", thanks", ". Thank you very much!", ", if you don't mind", ". Any help appreciated."]
    ),
)
def test_politeness_never_changes_a_verdict(a: str, b: str, before: str, behind: str) -> None:
    polite = before + b + behind
    assert core(detector().compare(a, polite)) == core(detector().compare(a, b))
    assert detector().compare(b, polite).differences == ()


@settings(deadline=None, max_examples=tries(200))
@given(prompts(), prompts(), st.sampled_from(["?", ".", "!", "??", " ?", "…", "!?", "\n"]))
def test_final_punctuation_never_changes_a_verdict(a: str, b: str, mark: str) -> None:
    assert core(detector().compare(a, b + mark)) == core(detector().compare(a, b))
    assert detector().compare(b, b + mark).differences == ()


@settings(deadline=None)
@given(prompts(), st.sampled_from(["Read the note below and answer.\n", "x " * 9000]))
def test_a_shared_beginning_hides_no_difference(a: str, shared: str) -> None:
    verdict = detector().compare(shared + a + " today", shared + a + " tomorrow")
    assert core(verdict) == [("date", "certain")]
    (span,) = verdict.differences[0].a
    assert (shared + a + " today")[span.start : span.end] == "today"


def test_a_prompt_of_a_megabyte_is_read_around_the_difference() -> None:
    long = "The log says that nothing happened at all. " * 25_000
    assert detector().compare(long + "Is it safe?", long + "Is it unsafe?").kind == "antonym"
    other = detector().compare("First. " + long, "Other " + "words of another kind. " * 40_000)
    assert other.note is not None
    assert "characters" in other.note


def test_profiles_are_kept_within_a_bound() -> None:
    small = Detector()
    for number in range(5000):
        small.profile(f"prompt {number}")
    assert small.profile("prompt 4999") is small.profile("prompt 4999")
    assert len(small._profiles) <= 4096
