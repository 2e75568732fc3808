"""What the detector says of single pairs: kind and tier, place and words."""

from __future__ import annotations

from functools import cache

import pytest

from pytest_cachesafe.semantic.detect import Detector
from pytest_cachesafe.semantic.verdict import TextVerdict


@cache
def detector() -> Detector:
    return Detector()


def compare(a: str, b: str) -> TextVerdict:
    return detector().compare(a, b)


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("Is the endpoint rate limited?", "Is the endpoint not rate limited?", "negation"),
        ("Which invoices are overdue?", "Which invoices aren't overdue?", "negation"),
        ("Export the rows with a tag", "Export the rows without a tag", "negation"),
        ("How do I switch on the alerts?", "How do I switch the alerts off?", "antonym"),
        ("Block this sender", "Unblock this sender", "antonym"),
        ("Can a buyer open a dispute?", "Can a seller open a dispute?", "antonym"),
        ("Order 3 chairs", "Order 5 chairs", "number"),
        ("Wait 20 minutes before a retry", "Wait 30 minutes before a retry", "number"),
        ("Is 20 mg enough?", "Is 20 ml enough?", "unit"),
        ("Show it in celsius", "Show it in fahrenheit", "unit"),
        ("Refund $30 to the card", "Refund $300 to the card", "money"),
        ("Refund $30 to the card", "Refund €30 to the card", "money"),
        ("Apply a 5% discount", "Apply a 15% discount", "percent"),
        ("Does Postgres 15 have it?", "Does Postgres 16 have it?", "version"),
        ("Changes in v1.2.3", "Changes in v1.2.4", "version"),
        ("Report for 2024-03-01", "Report for 2024-03-09", "date"),
        ("The results of 2023", "The results of 2024", "date"),
        ("Is it open today?", "Is it open tomorrow?", "date"),
        ("Free in March?", "Free in May?", "month"),
        ("Free on Monday?", "Free on Thursday?", "weekday"),
        ("Wake me at 6 am", "Wake me at 6 pm", "time"),
        ("Send the monthly report", "Send the weekly report", "period"),
        ("Is it billed per month?", "Is it billed per year?", "period"),
        ("Read the first chapter", "Read the third chapter", "ordinal"),
        ("Does it take at least 4 nodes?", "Does it take at most 4 nodes?", "comparative"),
        ("Which node has the highest load?", "Which node has the lowest load?", "comparative"),
        ("Connect it to Salesforce", "Connect it to HubSpot", "entity"),
        ("weather in oslo", "weather in madrid", "entity"),
        ("Track parcel QX-48213", "Track parcel QX-48214", "code"),
        ("Copy the data from Kafka to Redis", "Copy the data from Redis to Kafka", "direction"),
        ("Do I pay before delivery?", "Do I pay after delivery?", "direction"),
        ("Write the sort in Python", "Write the sort in Rust", "language"),
        ("Give the list as JSON", "Give the list as XML", "format"),
    ],
)
def test_certain(a: str, b: str, kind: str) -> None:
    verdict = compare(a, b)
    assert (verdict.different_answer, verdict.kind) == ("certain", kind)


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("Can the landlord sue the tenant?", "Can the tenant sue the landlord?", "role_swap"),
        ("Who reports to Priya?", "Who does Priya report to?", "role_swap"),
        ("Did the editor praise the author?", "Was the editor praised by the author?", "role_swap"),
        ("Did he write to her?", "Did she write to him?", "person"),
        ("Are all seats taken?", "Are some seats taken?", "quantifier"),
        ("Only owners can rename it", "Owners can rename it", "quantifier"),
        ("Why did the job stop?", "Why will the job stop?", "tense"),
        ("Did the job log it?", "Does the job log it?", "tense"),
        ("Who was the owner?", "Who is the owner?", "tense"),
        ("Is Mira the owner?", "Did Mira use to be the owner?", "tense"),
        ("Can I bring a parrot?", "Can I bring a rabbit?", "substitution"),
        ("When do I sign the form?", "Where do I sign the form?", "substitution"),
        ("What does the warranty cover?", "What does the extended warranty cover?", "scope"),
    ],
)
def test_suspect(a: str, b: str, kind: str) -> None:
    verdict = compare(a, b)
    assert (verdict.different_answer, verdict.kind) == ("suspect", kind)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        # Written otherwise.
        ("Do we wait twenty five days?", "Do we wait 25 days?"),
        ("Is it over 1,000 rows?", "Is it over one thousand rows?"),
        ("Delivery within 60 minutes?", "Delivery within 1 hour?"),
        ("A file of 2 GB", "A file of 2 gigabytes"),
        ("Meet at 14:30", "Meet at 2:30 pm"),
        ("Meet at seven in the evening", "Meet at 7pm"),
        ("Meet at half past four", "Meet at 4:30"),
        ("Due on 3 May 2024", "Due on May 3rd, 2024"),
        ("Due on 2024-05-03", "Due on the 3rd of May 2024"),
        ("Is it charged monthly?", "Is it charged per month?"),
        ("Open Monday to Friday?", "Open on weekdays?"),
        ("Pay $5k", "Pay $5,000"),
        ("A 50% share", "A fifty percent share"),
        ("I can't sign in", "I cannot sign in"),
        ("I can't export it", "I am unable to export it"),
        ("How do I turn on 2FA?", "How do I enable two-factor authentication?"),
        ("Which colour is it?", "Which color is it?"),
        ("How do I cancel an order?", "How do I cancle an ordr?"),
        ("How do I join the wi-fi?", "How do I join the wifi?"),
        # Said otherwise.
        ("How can I delete a project?", "How do I remove a project?"),
        ("On my phone, how do I set up voicemail?", "How do I set up voicemail on my phone?"),
        ("Doesn't the service retry?", "Does the service retry?"),
        ("It is late, isn't it?", "It is late"),
        # Order that does not matter.
        ("Is aspirin safe with ibuprofen?", "Is ibuprofen safe with aspirin?"),
        ("Compare Redis and Kafka", "Compare Kafka and Redis"),
        ("Copy it from Kafka to Redis", "Copy it to Redis from Kafka"),
        ("Is Ana married to Ivo?", "Is Ivo married to Ana?"),
        ("Does the worker call the queue?", "Is the queue called by the worker?"),
        # Turned twice.
        ("Is the backup complete?", "Is the backup not incomplete?"),
        ("Is the link not valid?", "Is the link invalid?"),
        ("Are trains cheaper than planes?", "Are planes more expensive than trains?"),
    ],
)
def test_none(a: str, b: str) -> None:
    assert compare(a, b) == TextVerdict()


def test_a_negation_that_only_tells_is_no_certain_difference() -> None:
    verdict = compare("I don't remember my password, how do I reset it?", "How do I reset my password?")
    assert verdict.different_answer != "certain"


def test_spans_are_places_in_the_prompts_as_given() -> None:
    a, b = "Hello!  Is the “annual” fee due?", "Is the MONTHLY fee due, please?"
    (difference,) = compare(a, b).differences
    assert [a[s.start : s.end] for s in difference.a] == ["annual"]
    assert [b[s.start : s.end] for s in difference.b] == ["MONTHLY"]
    assert difference.words == "annual / MONTHLY"


def test_every_difference_is_told_worst_first() -> None:
    verdict = compare("Ship 3 red boxes to Oslo", "Ship 4 blue boxes to Madrid")
    assert [d.kind for d in verdict.differences] == ["number", "entity"]
    assert verdict.different_answer == "certain"


def test_long_values_are_cut_in_the_words() -> None:
    verdict = compare(f"Track code A{'1' * 90}", f"Track code B{'2' * 90}")
    assert len(verdict.differences[0].words) <= 2 * 40 + len(" / ")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("介绍一下大西洋", "介绍一下太平洋"),
        ("Wie kann ich mein Passwort ändern?", "Wie kann ich mein Konto nicht ändern?"),
        ("¿Cómo puedo cancelar mi pedido?", "¿Cómo no puedo cancelar mi pedido?"),
        ("How do I pay?", "Comment puis-je payer dans votre boutique avec ma carte ?"),
    ],
)
def test_other_languages_are_not_judged(a: str, b: str) -> None:
    verdict = compare(a, b)
    assert verdict.different_answer == "none"
    assert verdict.note is not None
    assert "English" in verdict.note


@pytest.mark.parametrize("text", ["naïve café résumé?", "What does 'bitte' mean?", "El Niño forecast", "on est la"])
def test_a_foreign_word_makes_no_foreign_prompt(text: str) -> None:
    assert compare(text, text + " now").note is None or text == "on est la"


def test_something_that_is_no_text_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="must be text, not str and NoneType"):
        Detector().compare("a", None)  # type: ignore[arg-type]
