"""Prefix and question that merge into one token: refused with the token's name, or counted."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.kv import KVProbe
from pytest_cachesafe.perturb import node
from pytest_cachesafe.perturb.node import NodeState
from pytest_cachesafe.usage import UsageError

WORDS = st.text(" ab1\n.é", min_size=1, max_size=8)


def test_a_merge_is_refused_with_the_token_and_what_to_do(tiny: KVProbe) -> None:
    before = tiny.tokens_computed
    # "Question:" and " " are two tokens; " What" is one.
    with pytest.raises(UsageError) as caught:
        tiny.reuse("Question: ", ["When?", "What is it?"], verify=0)
    blank = len(tiny.encode("Question:"))
    assert str(caught.value) == (
        f"prefix and continuations[0] merge at their boundary: token {blank} is ' When' in the whole prompt, ' ' at the"
        " end of the prefix (1 token of the prefix not reusable); end the prefix at a hard boundary (before a blank, or"
        " behind a special token), or pass boundary='report' to count the loss"
    )
    assert tiny.tokens_computed == before
    assert tiny.reuse("Question:", [" What is it?"], verify=0).notes == []
    assert tiny.reuse("<|im_start|>", ["What is it?"], verify=0).notes == []


@pytest.mark.parametrize("way", ["copy", "crop"])
def test_a_merge_that_is_reported_costs_its_tokens(tiny: KVProbe, way: str) -> None:
    prefix = "Question: "
    report = tiny.reuse(prefix, ["What is it?"], way=way, boundary="report")  # type: ignore[arg-type]
    (one,) = report.continuations
    assert one.reused_tokens == len(tiny.encode(prefix)) - 1
    assert one.computed_tokens == len(tiny.encode(prefix + "What is it?")) - one.reused_tokens
    assert one.same_text
    assert report.prefix_intact
    assert "merge at their boundary" in report.notes[0]
    assert report.notes[0] in str(report)


def test_a_merge_shows_no_text_where_reports_show_none(tiny: KVProbe, monkeypatch: pytest.MonkeyPatch) -> None:
    test = node.current_node()
    assert test is not None
    hidden = {**test.settings, "redact": SimpleNamespace(value="text")}
    monkeypatch.setattr(NodeState, "settings", hidden)
    with pytest.raises(UsageError) as caught:
        tiny.reuse("Question: ", ["When?"], verify=0)
    assert "When" not in str(caught.value)
    assert "is [5 characters] in the whole prompt, [1 character] at the end of the prefix" in str(caught.value)


def test_ids_cannot_merge(tiny: KVProbe) -> None:
    report = tiny.reuse(tiny.encode("Question: "), [tiny.encode("What")], verify=0)
    assert report.reused_tokens == len(tiny.encode("Question: "))


@settings(deadline=None, max_examples=60)
@given(prefix=WORDS, question=WORDS)
def test_what_is_reused_is_exactly_what_the_whole_prompt_begins_with(tiny: KVProbe, prefix: str, question: str) -> None:
    alone, whole = tiny.encode(prefix), tiny.encode(prefix + question)
    shared = next(
        (i for i, (a, b) in enumerate(zip(alone, whole, strict=False)) if a != b), min(len(alone), len(whole))
    )
    if shared == len(alone):
        report = tiny.reuse(prefix, [question], verify=0)
        assert (report.reused_tokens, report.prompt_tokens, report.notes) == (shared, len(whole), [])
        return
    with pytest.raises(UsageError, match="merge at their boundary"):
        tiny.reuse(prefix, [question], verify=0)
    if shared:
        report = tiny.reuse(prefix, [question], verify=0, boundary="report")
        assert (report.reused_tokens, report.prompt_tokens, len(report.notes)) == (shared, len(whole), 1)


def test_an_unknown_way_to_treat_it(tiny: KVProbe) -> None:
    with pytest.raises(UsageError, match="boundary='ignore': known are 'refuse' and 'report'"):
        tiny.reuse("a", ["b"], boundary="ignore")  # type: ignore[arg-type]
