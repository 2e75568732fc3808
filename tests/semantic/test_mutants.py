"""Mutants and twins: each of its own kind to the detector, drawn from a seed, and put to a cache."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from random import Random
from typing import Any
from unicodedata import name as character_name

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.semantic.detect import Detector
from pytest_cachesafe.semantic.judge import CollisionJudge
from pytest_cachesafe.semantic.mutants.make import MUTATORS, TWINS, make_mutants
from pytest_cachesafe.semantic.mutants.mutant import Mutant
from pytest_cachesafe.semantic.tables import Tables
from pytest_cachesafe.usage import UsageError

# Templates as users of a support desk write, with what may stand in their places.
TEMPLATES = (
    "How do I {verb} my {thing}?",
    "Can I {verb} the {thing} after {number} days?",
    "How many {thing}s does the {period} plan include?",
    "Which {thing}s are eligible for the {period} discount?",
    "Does the {period} fee rise in {month} {year}?",
    "How do I move the {thing} from {name} to {other}?",
    "Set the timeout of the {thing} to {number} {unit}.",
    "Is {version} of the gateway supported?",
    "Please approve order ORD-{code}.",
    "Do I need at least {number} approvals?",
    "Can the landlord inform the tenant before {weekday}?",
    "Export all {thing}s as {format}.",
    "Translate the {thing} into {language}.",
    "I cannot open the {thing}. What should I do if I am late?",
    "Are only admins allowed to {verb} a {thing}?",
    "What is the maximum size of a {thing}?",
    "Does a discount of {number}% apply to the {thing}?",
    "The transfer of ${number} has not arrived.",
    "Is {name} slower than {other}?",
    "{name} is cheaper than {other}.",
    "Which {thing}s cost more than {number} dollars?",
)
VALUES = {
    "verb": ("enable", "activate", "delete", "encrypt", "upgrade", "archive"),
    "thing": ("invoice", "project", "webhook", "report", "subscription"),
    "number": ("3", "7", "12", "30"),
    "period": ("monthly", "annual", "weekly"),
    "month": ("April", "June", "September"),
    "year": ("2023", "2025"),
    "name": ("Slack", "Jira"),
    "other": ("Azure", "Dropbox"),
    "unit": ("seconds", "minutes", "hours"),
    "version": ("version 3", "v2.4.1"),
    "code": ("4471", "9020"),
    "weekday": ("Monday", "Friday"),
    "format": ("CSV", "JSON"),
    "language": ("German", "French"),
}
DETECTOR = Detector()


@st.composite
def prompts(draw: st.DrawFn) -> str:
    values = {name: draw(st.sampled_from(words)) for name, words in VALUES.items()}
    return draw(st.sampled_from(TEMPLATES)).format(**values)


def named(mutant: Mutant) -> list[str]:
    """The kinds that the detector gives a mutant."""
    return [difference.kind for difference in DETECTOR.compare(mutant.prompt, mutant.text).differences]


def embed(texts: Sequence[str]) -> list[list[float]]:
    """A bag of words: a direction for each word."""
    rows = []
    for text in texts:
        row = [0.0] * 32
        for word in text.lower().replace("?", " ").replace(".", " ").split():
            drawn = Random(word)
            row = [value + drawn.gauss(0, 1) for value in row]
        rows.append(row)
    return rows


@given(st.lists(prompts(), min_size=1, max_size=4), st.integers(0, 10_000))
@settings(deadline=None, max_examples=tries(120))
def test_each_mutant_is_flagged_by_its_own_kind_and_no_twin_is(given_prompts: list[str], seed: int) -> None:
    for mutant in make_mutants(given_prompts, seed=seed, per_prompt=2):
        if mutant.same:
            assert named(mutant) == [], mutant
        else:
            assert set(named(mutant)) & set(mutant.kinds), (mutant, named(mutant))


@pytest.mark.parametrize(
    "prompt",
    [
        "Is Rome bigger than Paris?",
        "Is London colder than Berlin in winter?",
        "Was the payment of 30 euros refunded?",
        "Who approves refunds above 500 dollars?",
        "Should I always back up the disk?",
    ],
)
def test_what_was_once_named_otherwise_has_its_own_kind(prompt: str) -> None:
    made = [mutant for mutant in make_mutants([prompt], per_prompt=9) if not mutant.same]
    assert made
    for mutant in made:
        assert set(named(mutant)) & set(mutant.kinds), (mutant, named(mutant))


def test_every_mutator_and_every_twin_finds_something_in_such_prompts() -> None:
    """Without this, the property above could hold of nothing."""
    draws = Random(0)
    given_prompts = [
        template.format(**{name: draws.choice(words) for name, words in VALUES.items()})
        for template in TEMPLATES
        for _ in range(3)
    ]
    given_prompts.append("Do not sort the rows by date, they are always shown to all users.")
    found = {mutant.mutator for mutant in make_mutants(given_prompts)}
    assert found == {*MUTATORS, *TWINS}


@pytest.mark.parametrize(
    ("prompt", "mutator", "text"),
    [
        ("How do I enable the proxy?", "negation", "How do I not enable the proxy?"),
        ("What if I am insured?", "negation", "What if I am not insured?"),
        ("Which plans are eligible?", "negation", "Which plans are not eligible?"),
        ("Send the invoice to Dana.", "negation", "Do not send the invoice to Dana."),
        ("Refund my order", "negation", "Do not refund my order"),
        ("The refund has not arrived.", "negation", "The refund has arrived."),
        ("How do I enable the proxy?", "antonym", "How do I disable the proxy?"),
        ("Enabling logs is easy", "antonym", "Disabling logs is easy"),
        ("Is the fee charged per month?", "period", "Is the fee charged per year?"),
        ("Is a monthly plan enough?", "period", "Is an annual plan enough?"),
        ("Wait 30 seconds", "unit", "Wait 30 minutes"),
        ("Revenue in 2024", "date", "Revenue in 2025"),
        ("Is it open on Monday?", "date", "Is it open on Tuesday?"),
        ("Is it open at 9 am?", "date", "Is it open at 9 pm?"),
        ("Fixed in v2.4.1?", "version", "Fixed in v2.4.2?"),
        ("Does it run on Postgres 14?", "version", "Does it run on Postgres 15?"),
        ("Please approve INV-0999", "code", "Please approve INV-1000"),
        ("How do I migrate from Heroku to Azure?", "direction", "How do I migrate from Azure to Heroku?"),
        ("Can I pay before the trial ends?", "direction", "Can I pay after the trial ends?"),
        ("Is Rome bigger than Paris?", "direction", "Is Paris bigger than Rome?"),
        ("Rome is older than New York.", "direction", "New York is older than Rome."),
        ("Are EU servers slower than US ones?", "direction", "Are US servers slower than EU ones?"),
        ("Can the landlord sue the tenant?", "role", "Can the tenant sue the landlord?"),
        ("What may an admin do?", "role", "What may a viewer do?"),
        ("List all incidents", "quantifier", "List some incidents"),
        ("What is the lowest price?", "comparative", "What is the highest price?"),
        ("What costs 20%?", "number", "What costs 40%?"),
    ],
)
def test_what_a_mutator_makes(prompt: str, mutator: str, text: str) -> None:
    made = [mutant.text for mutant in make_mutants([prompt], only=[mutator], per_prompt=20)]
    assert text in made


@pytest.mark.parametrize(
    ("prompt", "mutator"),
    [
        # "Isn't it …" asks the same, so nothing is put in there, nor taken out.
        ("Is the shop open?", "negation"),
        ("Isn't the shop open?", "negation"),
        ("What is the refund policy?", "negation"),
        ("Refund policy for annual plans", "negation"),
        # No numbers of their own: a year, a code, a clock time, a version, a date.
        ("What was sold in 2024?", "number"),
        ("Where is ORD-4471?", "number"),
        ("Is it open at 10:30?", "number"),
        ("Is 3.11.2 out?", "number"),
        ("What happened on March 4?", "number"),
        # The same both ways.
        ("Compare Postgres to MySQL", "direction"),
        # Only one name: a capital at the start makes none of the other word.
        ("Which is cheaper than Paris?", "direction"),
        ("Nothing is faster than Redis", "direction"),
        ("Find cars cheaper than Honda", "direction"),
        ("Does Bob earn more than I do?", "direction"),
        ("Is my parcel from Berlin to Munich delayed?", "direction"),
        # Changed in one place of two, it would speak of both.
        ("Are EU servers slower than US servers?", "role"),
        ("Is it fine all day?", "quantifier"),
        ("Is it billed every month?", "quantifier"),
        # A period of the calendar, no quantity of something.
        ("I like it.", "antonym"),
    ],
)
def test_what_a_mutator_leaves_alone(prompt: str, mutator: str) -> None:
    assert make_mutants([prompt], only=[mutator]) == []


def test_siblings_come_from_the_same_set_and_from_like_places() -> None:
    given_prompts = ["How do I connect to Slack?", "How do I write to Jira?", "Do you ship in Canada?"]
    made = {mutant.prompt: mutant.text for mutant in make_mutants(given_prompts, only=["entity"], per_prompt=5)}
    assert made == {
        "How do I connect to Slack?": "How do I connect to Jira?",
        "How do I write to Jira?": "How do I write to Slack?",
    }


def test_the_users_own_sets_and_opposites_are_used() -> None:
    tables = Tables.default().with_user(entities=[["gold", "silver"]], antonyms=[("swing bed", "acute bed")])
    gold = make_mutants(["What does gold cost?"], only=["entity"], tables=tables)
    assert [mutant.text for mutant in gold] == ["What does silver cost?"]
    bed = make_mutants(["Is a swing bed free?"], only=["antonym"], tables=tables)
    assert "Is a acute bed free?" in [mutant.text for mutant in bed]


def test_a_name_gets_the_capitals_of_the_one_it_replaces() -> None:
    tables = Tables.default().with_user(entities=[["gold card", "silver"]])
    made = [make_mutants([f"What does {word} cost?"], only=["entity"], tables=tables)[0].text for word in
            ("Silver", "the gold card", "SILVER")]  # fmt: skip
    assert made == ["What does Gold card cost?", "What does the silver cost?", "What does GOLD CARD cost?"]


def test_a_bad_vector_is_told_with_the_prompt_and_its_change() -> None:
    for word, place in (("30", "prompt 1 holds NaN"), ("300", "prompt 1 as changed by number holds NaN")):
        judge = CollisionJudge(lambda texts, w=word: [[math.nan if w in t.split() else 1.0, len(t)] for t in texts])
        with pytest.raises(UsageError, match=f"the vector of {place}"):
            judge.mutants(["How do I enable it?", "Wait 30 days"], per_prompt=9)


def test_long_prompts_are_left_alone_and_told() -> None:
    """Nothing that a prompt holds may take long: patterns meet the worst that four thousand characters can be."""
    worst = [
        "from a to " * 400,
        "1." * 2000,
        "a " * 2000,
        "from ab " * 500,
        "$1,000" * 600,
        " " * 3990 + "x",
        "in Abc " * 500,
    ]
    assert len(make_mutants(worst)) < 200
    report = CollisionJudge(embed, 0.9).mutants(["Wait 3 days", "Wait 3 days " * 400])
    assert {one.mutant.prompt for one in report.tried} == {"Wait 3 days"}
    assert "1 prompt of more than 4,000 characters not changed" in report.text()


def test_a_mutant_that_is_a_prompt_of_the_set_is_left_out() -> None:
    """It has an answer of its own; that pair is judged as a pair."""
    pair = ["How do I enable it?", "How do I disable it?"]
    assert [m.text for m in make_mutants(pair[:1], only=["antonym"], per_prompt=9)].count(pair[1]) == 1
    assert pair[1] not in [mutant.text for mutant in make_mutants(pair, only=["antonym"], per_prompt=9)]


@given(st.lists(prompts(), min_size=1, max_size=4, unique=True), st.integers(0, 99), st.integers(1, 3))
@settings(deadline=None, max_examples=60)
def test_the_same_seed_draws_the_same_whatever_else_is_in_the_set(
    given_prompts: list[str], seed: int, most: int
) -> None:
    alone = make_mutants(given_prompts[:1], seed=seed, per_prompt=most)
    among = [m for m in make_mutants(given_prompts, seed=seed, per_prompt=most) if m.prompt == given_prompts[0]]
    texts = {m.text for m in among if m.mutator != "entity"}
    # A mutant that is another prompt of the set is the one thing that may be missing, and another drawn for it.
    if not {m.text for m in alone} & set(given_prompts):
        assert texts == {m.text for m in alone if m.mutator != "entity"}
    assert all(sum(m.mutator == name for m in among) <= most for name in (*MUTATORS, *TWINS))
    assert all(m.text != m.prompt and m.text not in given_prompts for m in among)


def shows(text: str) -> bool:
    """Whether it holds a letter or figure; a filler counts as a letter and shows nothing."""
    return any(c.isalnum() and "filler" not in character_name(c, "").lower() for c in text)


@given(st.text(min_size=1, max_size=80).filter(shows))
@settings(deadline=None, max_examples=tries(200))
def test_any_text_can_be_given(text: str) -> None:
    for mutant in make_mutants([text], per_prompt=3):
        assert mutant.text != text
        assert mutant.text.strip()


def test_another_seed_draws_others() -> None:
    prompt = "Can I get 3 refunds after 30 days for 12 orders?"
    drawn = {make_mutants([prompt], seed=seed, only=["number"])[0].text for seed in range(20)}
    assert len(drawn) > 3


def test_a_report_says_which_kinds_are_served_wrongly() -> None:
    judge = CollisionJudge(embed, 0.85)
    report = judge.mutants(["How do I enable the proxy for 30 days?", "Which plans are eligible for the discount?"])
    for one in report.tried:
        assert one.similarity is not None
        assert one.served == (one.similarity >= 0.85)
    assert report.served_wrongly.n == len(report.mutants) > 3
    assert report.served_wrongly.count == len(report.wrong)
    cosines = [one.similarity or 0.0 for one in report.wrong]
    assert cosines == sorted(cosines, reverse=True)
    assert sum(kind.served.n for kind in report.kinds) == len(report.mutants)
    assert {kind.name for kind in report.twin_kinds} <= set(TWINS)
    assert set(report.without) & {"version", "code", "language"}
    text = report.text()
    assert text.splitlines()[0].startswith(f"{len(report.wrong)} of {len(report.mutants)} mutants of 2 prompts")
    assert "seed 0" in text
    json.dumps(report.as_dict(), allow_nan=False)


def test_at_threshold_one_nothing_but_equal_vectors_is_served() -> None:
    report = CollisionJudge(embed, 1.0).mutants(["How do I enable the proxy for 30 days?"])
    assert report.wrong == []
    assert report.text().startswith("none of")
    # Case and the mark at the end are nothing to this encoder.
    assert {one.mutant.mutator for one in report.twins if one.served} == {"case", "punctuation"}


def test_a_cache_can_be_asked_itself() -> None:
    """A dictionary that looks at the first three words alone."""
    stored: dict[str, str] = {}

    def key(prompt: str) -> str:
        return " ".join(prompt.lower().split()[:3])

    cache = (lambda prompt: stored.get(key(prompt)), lambda prompt, answer: stored.update({key(prompt): answer}),
             stored.clear)  # fmt: skip
    report = CollisionJudge(cache).mutants(["How do I enable the proxy for 30 days?"])
    assert report.threshold is None
    by_kind = {kind.name: kind.served for kind in report.kinds}
    assert by_kind["number"].count == by_kind["number"].n == 1
    # The change is behind the third word.
    assert by_kind["antonym"].count == 1
    assert all(one.similarity is None for one in report.tried)
    assert "median cosine" not in report.text()


def test_prompt_text_can_be_kept_out_of_the_report() -> None:
    report = CollisionJudge(embed, 0.5).mutants(["How do I enable the proxy for 30 days?"])
    assert "proxy" in report.text()
    assert "proxy" not in report.text(redact="hash")


@pytest.mark.parametrize(
    ("given_prompts", "options", "message"),
    [
        ([], {}, "no prompts"),
        (["Hello"], {"only": ["number"]}, "nothing was tried"),
        (["Hello"], {"only": ["numbers"]}, "'numbers' is unknown; known are negation"),
        (["Hello"], {"per_prompt": 0}, "a number from 1"),
        (["Hello", " "], {}, "prompt 1 is blank"),
        ("Hello", {}, "lone text"),
    ],
)
def test_what_cannot_be_tried_is_an_error(given_prompts: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CollisionJudge(embed, 0.9).mutants(given_prompts, **options)


def test_an_encoder_that_tells_nothing_apart_is_an_error() -> None:
    with pytest.raises(UsageError, match="same vector for all"):
        CollisionJudge(lambda texts: [[1.0, 2.0] for _ in texts], 0.9).mutants(["Wait 30 seconds"])


def test_twins_alone_are_fine() -> None:
    report = CollisionJudge(embed, 1.0).mutants(["Where is it?"], only=["politeness"])
    assert report.mutants == []
    assert report.text().startswith("1 of 1 twins of 1 prompt are not served")
