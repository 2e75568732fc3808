"""`CollisionJudge` and the check of a set, with vectors whose cosines are known."""

from __future__ import annotations

import math
from typing import Any
from unicodedata import name as character_name

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe import CollisionJudge, UsageError
from pytest_cachesafe.semantic.collisions import find_collisions
from pytest_cachesafe.semantic.sweep.interval import wilson
from pytest_cachesafe.semantic.verifier import CalibratedVerifier

np = pytest.importorskip("numpy")

NOT = ("Is the API rate limited?", "Is the API not rate limited?")
PLAN = ("How do I cancel my annual plan?", "How do I cancel my monthly plan?")
SAME = ("Where is my invoice?", "Where is my invoice, please?")


def at_angles(degrees: dict[str, float]) -> Any:
    """An encoder in the plane: the cosine of two texts is that of the difference of their angles."""

    def embed(texts: list[str]) -> list[list[float]]:
        return [[math.cos(math.radians(degrees[t])), math.sin(math.radians(degrees[t]))] for t in texts]

    return embed


# cos 10 = .985, cos 20 = .940, cos 5 = .996; the three pairs lie 60 degrees apart.
ENCODER = at_angles({NOT[0]: 0, NOT[1]: 10, PLAN[0]: 70, PLAN[1]: 90, SAME[0]: 150, SAME[1]: 155})
PROMPTS = [*NOT, *PLAN, *SAME]


def test_a_collision_is_merged_and_needs_another_answer() -> None:
    report = CollisionJudge(ENCODER, 0.9).collisions(PROMPTS)
    assert [(p.verdict.a, p.verdict.b) for p in report.collisions] == [NOT, PLAN]
    assert [p.verdict.text.kind for p in report.collisions] == ["negation", "period"]
    assert [round(p.verdict.similarity, 3) for p in report.collisions] == [0.985, 0.94]
    assert (report.compared, report.merged) == (15, 3)
    assert not report
    assert report.exit_status() == 1
    assert report.closest is not None
    assert (report.closest.verdict.a, report.closest.verdict.b) == SAME


def test_above_the_threshold_it_is_shown_and_passes() -> None:
    report = CollisionJudge(ENCODER, 0.987).collisions(PROMPTS)
    assert report
    assert report.exit_status(strict=True) == 0
    # Both lie less than .05 below.
    assert [(p.verdict.a, p.verdict.b) for p in report.near] == [NOT, PLAN]
    assert report.text().startswith("no collisions among 6 prompts at threshold 0.987 [")
    assert "not merged, negation (– / not); cosine 0.985, 0.002 below the threshold" in report.text()


def test_the_same_judge_at_another_threshold() -> None:
    judge = CollisionJudge(ENCODER, 0.99)
    assert not judge.judge(*PLAN).merged
    assert judge.at(0.9).judge(*PLAN).collision
    assert judge.at(0).judge(*PLAN).merged
    assert judge.similarity(*PLAN) == pytest.approx(math.cos(math.radians(20)), abs=1e-6)
    assert judge.similarity(NOT[0], NOT[0]) == 1.0


def test_json_has_the_keys_of_the_command() -> None:
    data = CollisionJudge(ENCODER, 0.9).collisions(PROMPTS).as_dict()
    first = data["pairs"][0]
    assert {"a", "b", "similarity", "merged", "different_answer", "kind", "spans"} <= set(first)
    assert (first["a"], first["b"], first["similarity"], first["merged"]) == (*NOT, 0.9848, True)
    assert (first["different_answer"], first["kind"], first["at"]) == ("certain", "negation", [0, 1])
    assert first["spans"][0]["b"] == [[NOT[1].index("not"), NOT[1].index("not") + 3]]
    assert data["closest"]["a"] == SAME[0]
    # Merged pairs that are fine are listed as well.
    assert [p["different_answer"] for p in data["pairs"]] == ["certain", "certain", "none"]


def test_the_text_marks_what_differs_and_says_what_to_do() -> None:
    lines = CollisionJudge(ENCODER, 0.9).collisions(PROMPTS).text().split("\n")
    assert lines[0].startswith("2 collisions among 6 prompts at threshold 0.9 [")
    assert lines[0].endswith(f'negation (– / not), cosine 0.985: "{NOT[0]}" / "{NOT[1]}"')
    at = lines.index(f"      prompt 3: {PLAN[1]}")
    assert lines[at + 1] == " " * len("      prompt 3: How do I cancel my ") + "^" * len("monthly")
    assert any("keep what differs (negation, period) out of the similarity" in line for line in lines)
    assert any("a threshold above 0.985 would keep these pairs apart and keep 1 of the 1" in line for line in lines)
    assert any("allow the pair with a reason" in line for line in lines)


@pytest.mark.parametrize("verifier", [3, "cross-encoder/nli", [lambda a, b: 1.0]])
def test_a_verifier_is_a_function(verifier: Any) -> None:
    with pytest.raises(UsageError, match=r"a function verifier\(a, b\) that gives a score is meant"):
        CollisionJudge(ENCODER, verifier=verifier)


def test_an_allowed_pair_is_told_once_and_as_allowed() -> None:
    report = CollisionJudge(ENCODER, 0.9).collisions([*NOT, SAME[0]], allow=[(*NOT, "one page says both")])
    assert report.closest is not None
    assert report.closest.verdict.a == NOT[0]
    text = report.text()
    assert text.startswith("no collisions among 3 prompts at threshold 0.9 [")
    assert "; closest pair (allowed): cosine 0.985" in text.split("\n")[0]
    assert "allowed (one page says both), negation" in text
    assert text.count(f" {NOT[1]}\n") == 1
    assert "collision, negation" not in text


def test_the_closest_pair_is_shown_beside_a_suspect() -> None:
    prompts = ["Where is my invoice?", "Where's my invoice?", "Can the owner read it?", "Can the auditor read it?"]

    def embed(texts: list[str]) -> list[list[float]]:
        return [["invoice" in t, "read" in t, len(t) / (900 if "invoice" in t else 40)] for t in texts]

    report = CollisionJudge(embed, 0.97).collisions(prompts)
    assert (report.collisions, len(report.suspects)) == ([], 1)
    text = report.text()
    assert "closest pair: merged, nothing found" in text
    assert f": {prompts[1]}" in text
    # One that is listed above is not told twice.
    alone = CollisionJudge(embed, 0.97).collisions(prompts[2:]).text()
    assert alone.count(prompts[3]) == 1


def test_a_pair_just_below_the_threshold_is_no_distance_of_zero() -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] if t == NOT[0] else [0.89999, math.sqrt(1 - 0.89999**2)] for t in texts]

    text = CollisionJudge(embed, 0.9).collisions(NOT).text()
    assert "cosine 0.900, less than 0.001 below the threshold" in text


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([math.nan, 1.0], "holds NaN or infinity"),
        ([0.0, 0.0], "is all zeros"),
        ([1.0], "has dimension 1"),
    ],
)
def test_a_bad_vector_is_told_with_the_place_of_its_prompt(bad: list[float], words: str) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [bad if t == SAME[0] else [1.0, float(len(t))] for t in texts]

    judge = CollisionJudge(embed, 0.9)
    with pytest.raises(UsageError, match=rf"the vector of prompt 3 {words}"):
        judge.collisions([NOT[0], NOT[0], NOT[1], SAME[0], SAME[1]])
    with pytest.raises(UsageError, match=rf"the vector of pair 1 {words}"):
        judge.judge_pairs([NOT, SAME])
    with pytest.raises(UsageError, match=rf"the vector of pair 1 {words}"):
        judge.sweep([(*NOT, False), (*SAME, True)])


@pytest.mark.parametrize(
    "blank", ["\u200b\u2060", "\ufeff", "\u00a0\u200d \ufe0f", "\u3164", "\u2800\u2800", "\u00ad\t"]
)
def test_what_shows_nothing_is_no_prompt(blank: str) -> None:
    with pytest.raises(UsageError, match=r"prompt 1 (is blank|holds no visible character)"):
        CollisionJudge(ENCODER).collisions([NOT[0], blank])
    # A letter, a sign or a picture among them is enough.
    for seen in ("a", "é", "?", "猫", "🙂", "ㅋ"):
        assert CollisionJudge(ENCODER).compare(blank + seen, NOT[0])


def test_no_prompt_text_where_none_may_be_shown() -> None:
    report = CollisionJudge(ENCODER, 0.9).collisions(PROMPTS, allow=[(*NOT, "one page")])
    for mode in ("text", "hash"):
        text = report.text(2, mode)
        for word in ("rate", "annual", "monthly", "invoice"):
            assert word not in text
        assert "period" in text


def test_prompts_are_untrusted_where_they_are_printed() -> None:
    evil = ("Cancel \x1b[31mannual\n::error::plan", "Cancel \x1b[31mmonthly\n::error::plan")
    text = CollisionJudge(at_angles({evil[0]: 0, evil[1]: 1}), 0.9).collisions(evil).text()
    assert "\x1b" not in text
    assert "\n::error" not in text
    assert "\\x1b[31mannual⏎" in text


def test_the_list_is_capped() -> None:
    prompts = [f"Show the invoice of March {year}" for year in range(2000, 2030)]
    judge = CollisionJudge(at_angles({prompt: i / 10 for i, prompt in enumerate(prompts)}), 0.9)
    report = judge.collisions(prompts)
    assert len(report.collisions) == 435
    assert "… 425 more like these (-vv shows all)" in report.text()
    assert "more like these" not in report.text(2)
    assert report.text(2).count("cosine") >= 435


def test_a_span_far_into_a_long_prompt_is_in_view() -> None:
    filler = "Please look at the whole of the contract that I have sent to you last week, " * 8
    pair = (f"{filler}is it valid in 2024?", f"{filler}is it valid in 2025?")
    lines = CollisionJudge(at_angles({pair[0]: 0, pair[1]: 1}), 0.9).collisions(pair).text().split("\n")
    shown = next(line for line in lines if "prompt 0" in line)
    mark = lines[lines.index(shown) + 1]
    assert shown[mark.index("^") :].startswith("2024")
    assert max(map(len, lines[1:4])) <= 120


def test_repeats_are_left_out_and_counted() -> None:
    report = CollisionJudge(ENCODER, 0.9).collisions([*PROMPTS, NOT[0], NOT[0]])
    assert (report.given, report.distinct) == (8, 6)
    assert "among 6 prompts (2 repeats left out)" in report.text()


def test_suspects_are_notes_unless_asked_otherwise() -> None:
    pair = ("Can the owner approve my request?", "Can the auditor approve my request?")
    judge = CollisionJudge(at_angles({pair[0]: 0, pair[1]: 1}), 0.9)
    tier = judge.compare(*pair).different_answer
    assert tier == "suspect"
    report = judge.collisions(pair)
    assert report
    assert (report.exit_status(), report.exit_status(strict=True)) == (0, 1)
    assert "1 pair suspected" in report.text()
    strict = judge.collisions(pair, level="suspect")
    assert not strict
    assert strict.text().startswith("1 suspect among 2 prompts")


def test_a_verifier_is_asked_about_merged_suspects_only() -> None:
    suspect = ("Can the owner approve my request?", "Can the auditor approve my request?")
    asked: list[tuple[str, str]] = []

    def verifier(a: str, b: str) -> float:
        asked.append((a, b))
        return 0.25

    degrees = {NOT[0]: 0.0, NOT[1]: 10.0, suspect[0]: 90.0, suspect[1]: 91.0}
    report = CollisionJudge(at_angles(degrees), 0.9, verifier=verifier).collisions([*NOT, *suspect])
    assert asked == [(suspect[1], suspect[0])]
    assert report.suspects[0].as_dict()["verifier"] == 0.25
    assert "verifier 0.250" in report.text()


@pytest.mark.parametrize(
    ("score", "tier", "words"),
    [
        (0.9, "certain", "verifier 0.900: confirmed"),
        (0.1, "none", "verifier 0.100: cleared"),
        (0.5, "suspect", "undecided"),
    ],
)
def test_a_calibrated_verifier_moves_the_tier(score: float, tier: str, words: str) -> None:
    suspect = ("Can the owner approve my request?", "Can the auditor approve my request?")
    half = wilson(1, 2)
    verifier = CalibratedVerifier(lambda a, b: score, 1, 0.7, 0.3, 0.9, half, half, half, half, 0.05, 0.95)
    judge = CollisionJudge(at_angles({suspect[0]: 0, suspect[1]: 1}), 0.9, verifier=verifier)
    report = judge.collisions(suspect)
    pair = report.pairs[0]
    # The first statement is that of the texts.
    assert (pair.verdict.different_answer, pair.tier) == ("suspect", tier)
    assert (len(report.collisions), len(report.suspects)) == ((tier == "certain"), (tier == "suspect"))
    assert bool(report) is (tier != "certain")
    assert pair.as_dict()["verified"] == tier
    assert words in report.text(1)


def test_a_verifier_that_gives_no_number() -> None:
    suspect = ("Can the owner approve my request?", "Can the auditor approve my request?")
    encoder = at_angles({suspect[0]: 0, suspect[1]: 1})
    for raw in (float("nan"), None, "high"):
        judge = CollisionJudge(encoder, 0.9, verifier=lambda a, b, raw=raw: raw)  # type: ignore[misc]
        with pytest.raises(UsageError, match="one finite number a pair is needed"):
            judge.judge(*suspect)


def test_what_cannot_be_judged_by_its_words_is_said() -> None:
    pair = ("介绍一下大西洋", "介绍一下太平洋")
    report = CollisionJudge(at_angles({pair[0]: 0, pair[1]: 1}), 0.9).collisions(pair)
    assert report
    assert report.notes[0].startswith("1 merged pair: not judged by its words")
    assert "nothing was found" not in report.text()


def test_allowed_pairs_pass_in_either_order_and_unused_ones_are_told() -> None:
    allow = [
        (PLAN[1], PLAN[0], "one page answers both"),
        {"a": NOT[0], "b": "gone", "reason": "old"},
        (*SAME, "same page"),
    ]
    report = CollisionJudge(ENCODER, 0.9).collisions(PROMPTS, allow=allow)
    assert [(p.verdict.a, p.verdict.b) for p in report.collisions] == [NOT]
    assert "allowed (one page answers both), period (annual / monthly)" in report.text()
    assert [(entry.b, why) for entry, why in report.unused] == [
        ("gone", "one of the prompts is not in the set"),
        (SAME[1], "the pair is no collision here"),
    ]
    assert "unused allow entry, one of the prompts is not in the set" in report.text()
    passed = CollisionJudge(ENCODER, 0.9).collisions(PROMPTS, allow=[(*NOT, "x"), (*PLAN, "y"), (*SAME, "z")])
    assert (passed.exit_status(), passed.exit_status(strict=True)) == (0, 1)


@pytest.mark.parametrize(
    ("allow", "words"),
    [
        ([NOT], "say why the pair may share an answer"),
        ([(*NOT, " ")], "needs a reason"),
        ([(NOT[0], NOT[0], "x")], "the same text"),
        ([(*NOT, "x"), (NOT[1], NOT[0], "y")], r"allow\[1\]: this pair is allowed before"),
        ([{"a": "x", "b": "y"}], "has no 'reason'"),
        ([(1, "b", "x")], "a prompt is text, not an int"),
        ("abc", "a list of"),
        ([7], "is meant"),
    ],
)
def test_allow_lists_that_mean_nothing(allow: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        CollisionJudge(ENCODER, 0.9).collisions(PROMPTS, allow=allow)


@pytest.mark.parametrize(
    ("prompts", "words"),
    [
        ([], "no prompts: nothing was compared"),
        (["a"], "one prompt: nothing was compared"),
        (["a", "a", "a"], r"one prompt \(3 times the same\)"),
        (["a", " \n"], "prompt 1 is blank"),
        (["a", ""], "prompt 1 is blank"),
        (["a", None], "prompt 1: a prompt is text, not None"),
        (["a", 3], "prompt 1: a prompt is text, not an int"),
        (["a", b"b"], "decode them first"),
        (["a", "b\ud800"], "half of a surrogate pair"),
        (["a", "b" * 1_000_000], "prompt 1 has 1,000,000 bytes"),
        (["a", "ä" * 500_000], "prompt 1 has 1,000,000 bytes"),
        ("a lone text", "a lone text"),
        ({"a": 1}, "a list of texts is meant"),
        (3, "a list of texts is meant"),
    ],
)
def test_prompts_that_cannot_be_judged(prompts: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        CollisionJudge(lambda texts: [[1.0, 0.0]] * len(texts), 0.9).collisions(prompts)
    assert "\n" not in str(caught.value)


def test_an_encoder_that_gives_one_vector_for_everything() -> None:
    with pytest.raises(UsageError, match="gives the same vector for all 6 texts"):
        CollisionJudge(lambda texts: [[0.6, 0.8]] * len(texts), 0.9).collisions(PROMPTS)
    # A table of vectors, which knows no other texts.
    assert not CollisionJudge(at_angles({NOT[0]: 3, NOT[1]: 3}), 0.9).collisions(NOT)
    with pytest.raises(UsageError, match="gives the same vector for all 3 texts"):
        CollisionJudge(at_angles({NOT[0]: 3, NOT[1]: 3, SAME[0]: 3}), 0.9).collisions([*NOT, SAME[0]])
    # One that knows other texts too can find these two the same.
    blind = CollisionJudge(lambda texts: [[1.0, 0.0] if "API" in t else [len(t), 1.0] for t in texts], 0.9)
    assert not blind.collisions(NOT)


def test_an_allow_list_that_leaves_nothing() -> None:
    with pytest.raises(UsageError, match="allow names every pair of the 2 prompts"):
        CollisionJudge(ENCODER, 0.9).collisions(NOT, allow=[(*NOT, "known")])


def test_level_and_threshold_are_checked() -> None:
    with pytest.raises(UsageError, match="level='all'"):
        CollisionJudge(ENCODER, 0.9).collisions(PROMPTS, level="all")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="looks like a distance"):
        CollisionJudge(ENCODER, 0.1)


def test_given_pairs_are_judged_in_their_order() -> None:
    report = CollisionJudge(ENCODER, 0.9).judge_pairs([SAME, NOT, (NOT[0], PLAN[0])])
    assert [p.verdict.merged for p in report.pairs] == [True, True, False]
    assert [p.a_at for p in report.pairs] == [0, 1, 2]
    assert (report.given, report.merged, len(report.collisions)) == (3, 2, 1)
    assert "1 collision among 3 pairs at threshold 0.9" in report.text()
    with pytest.raises(UsageError, match="pair 1: prompt b is blank"):
        CollisionJudge(ENCODER, 0.9).judge_pairs([SAME, (NOT[0], " ")])
    with pytest.raises(UsageError, match="no pairs"):
        CollisionJudge(ENCODER, 0.9).judge_pairs([])
    with pytest.raises(UsageError, match="the same text twice"):
        CollisionJudge(ENCODER, 0.9).judge_pairs([(NOT[0], NOT[0])])


def test_too_many_close_pairs_are_said() -> None:
    prompts = [f"Show the invoice of March {year}" for year in range(2000, 2030)]
    judge = CollisionJudge(at_angles({prompt: i / 10 for i, prompt in enumerate(prompts)}), 0.9)
    report = find_collisions(judge, prompts, threshold=0.9, most=50)
    assert (len(report.pairs), report.unjudged, report.merged) == (50, 385, 435)
    assert any("385 more pairs are close to the threshold and were not judged" in note for note in report.notes)


class Cut:
    """An encoder that reads the first eight words."""

    name = "eight words"
    window = 8
    notes: list[str] = []  # noqa: RUF012

    def embed(self, texts: Any) -> Any:
        rows = np.array([[1 + sum(map(ord, word)) % 7 for word in self.words(t)] for t in texts], dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def words(self, text: str) -> list[str]:
        return (text.split() + [""] * 8)[:8]

    def count(self, text: str) -> int:
        return len(text.split())

    def truncated_ids(self, text: str) -> tuple[int, ...]:
        return tuple(map(hash, self.words(text)))


def test_prompts_that_are_the_same_to_the_encoder_fail() -> None:
    head = "Answer in one short sentence and be kind"
    prompts = [f"{head} how do I pay", f"{head} where is the moon", "Who are you?"]
    report = CollisionJudge(Cut(), 0.99).collisions(prompts)
    assert report.longer == [0, 1]
    assert [group.at for group in report.cut] == [(0, 1)]
    assert not report
    assert "1 group of prompts equal after truncation" in report.text().split("\n")[0]
    assert (
        "prompts 0, 1 are the same to the encoder, which reads 8 of up to 12 tokens: a cache serves them one answer"
        in report.text()
    )
    pairs = CollisionJudge(Cut(), 0.99).judge_pairs([(prompts[0], prompts[1]), (prompts[0], prompts[2])])
    assert not pairs
    assert "pair 0: both prompts are the same to the encoder" in pairs.text()
    # Longer, but different within what is read.
    fine = CollisionJudge(Cut(), 0.99999).collisions([prompts[0], f"Never {prompts[1]}", "Who are you?"])
    assert (fine.longer, fine.cut) == ([0, 1], [])
    assert any("2 prompts are longer than the 8 tokens" in note for note in fine.notes)


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=30).filter(
    lambda t: any(c.isalnum() and "filler" not in character_name(c, "").lower() for c in t)
)


def letters(given_texts: list[str]) -> list[list[float]]:
    return [[1.0, *(float(t.count(c)) for c in "aeiou ?nt")] for t in given_texts]


@settings(deadline=None, max_examples=40)
@given(st.lists(texts, min_size=2, max_size=8, unique=True), st.randoms(use_true_random=False))
def test_the_order_of_the_prompts_changes_nothing(prompts: list[str], random: Any) -> None:
    prompts = ["Is it not paid?", "Is it paid?", *(p for p in prompts if not p.startswith("Is it"))]
    shuffled = list(prompts)
    random.shuffle(shuffled)

    def summary(order: list[str]) -> set[Any]:
        report = CollisionJudge(letters, 0.9).collisions(order)
        return {(frozenset((p.verdict.a, p.verdict.b)), p.verdict.similarity, p.tier) for p in report.pairs}

    assert summary(prompts) == summary(shuffled)
    assert summary(prompts)


@settings(deadline=None, max_examples=60)
@given(texts, texts)
def test_a_pair_is_judged_the_same_in_either_order(a: str, b: str) -> None:
    judge = CollisionJudge(letters, 0.9)
    one, other = judge.judge(a, b), judge.judge(b, a)
    assert (one.similarity, one.merged, one.different_answer) == (
        other.similarity,
        other.merged,
        other.different_answer,
    )
    if a == b:
        assert not one.collision
