"""A history that is lost for two reasons is told once, with both places."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lint_project import places, write

from pytest_cachesafe.findings import Finding, Location, Severity
from pytest_cachesafe.lint.masked import unmasked
from pytest_cachesafe.lint.run import lint

NODE = """
RULES = "Answer from the results of the query, name what is missing, and stay with the units that the data has. " * 3


def answer(llm, state, retrieved_docs=None):
    query = state["query"]
    recent_messages = state["messages"][-6:]
    {first}
    try:
        return llm.invoke([
            {{"role": "system", "content": prompt}}, *recent_messages, {{"role": "user", "content": "Answer."}}])
    except ValueError:
        {again}


def other(llm, state):
    recent_messages = state["messages"][-6:]
    system = {{"role": "system", "content": RULES}}
    return llm.invoke([system, *recent_messages, {{"role": "user", "content": state["question"]}}])
"""
CHANGING = 'prompt = f"{RULES} Query: {query}"'
SAME = """return llm.invoke([
            {"role": "system", "content": prompt}, *recent_messages, {"role": "user", "content": "Answer, please."}])"""
NEXT = """return llm.invoke([
            {"role": "system", "content": f"{RULES} Documents: {retrieved_docs}"}, *recent_messages,
            {"role": "user", "content": "Answer, please."}])"""
FIXED = """return llm.invoke([
            {"role": "system", "content": RULES}, *recent_messages, {"role": "user", "content": "Answer, please."}])"""
BACK = "return None"


def found(root: Path, text: str) -> list[tuple[int, str]]:
    main = "from desk import work\n\nwork.answer(1, {}, input())\nwork.other(1, {})\n"
    write(root, {"desk/work.py": text, "app.py": main})
    return [(row, code) for _, row, code in places(lint([root], cache=False).findings)]


def test_a_window_behind_a_changing_text_is_told_with_the_text(tmp_path: Path) -> None:
    text = NODE.format(first=CHANGING, again=BACK)
    assert found(tmp_path, text) == [(11, "CSF301"), (17, "CSF303")]
    (before, _) = lint([tmp_path], cache=False).findings
    assert [a["code"] for a in before.data["also"]] == ["CSF303"]
    assert [step.row for step in before.flow] == [7]


def test_a_window_behind_a_fixed_text_is_told_by_itself(tmp_path: Path) -> None:
    assert found(tmp_path, NODE.format(first="prompt = RULES", again=BACK)) == [(7, "CSF303"), (17, "CSF303")]


@pytest.mark.parametrize("again", [SAME, NEXT])
def test_each_text_of_a_second_try_is_told(tmp_path: Path, again: str) -> None:
    told = found(tmp_path, NODE.format(first=CHANGING, again=again))
    assert [code for row, code in told if row < 17] == ["CSF301", "CSF301"]


def test_a_window_that_another_request_sends_behind_fixed_text_is_told(tmp_path: Path) -> None:
    told = found(tmp_path, NODE.format(first=CHANGING, again=FIXED))
    assert told[:2] == [(7, "CSF303"), (11, "CSF301")]


def test_a_text_that_is_wanted_hides_no_window(tmp_path: Path) -> None:
    text = NODE.format(first=CHANGING, again=BACK)
    wanted = text.replace(
        '"content": prompt}, *', '"content": prompt}, # cachesafe: ignore[CSF301] wanted\n            *'
    )
    assert found(tmp_path, wanted) == [(7, "CSF303"), (18, "CSF303")]


def made(code: str, function: str, history: str, what: str, requests: int, row: int) -> Finding:
    data = (
        {"function": function, "history": history, "what": what, "requests": requests}
        if code == "CSF301"
        else {"function": function, "names": [history]}
    )
    return Finding(
        code, f"{code} at {row}", Severity("warning"), Location(filename="a.py", row=row, column=1), data=data
    )


FINDINGS = st.lists(
    st.builds(
        made,
        st.sampled_from(["CSF301", "CSF303", "CSF304"]),
        st.sampled_from(["ask", "tell"]),
        st.sampled_from(["history", "messages", ""]),
        st.sampled_from(["docs", "query"]),
        st.integers(1, 2),
        st.integers(1, 50),
    ),
    max_size=7,
)


@settings(deadline=None)
@given(FINDINGS)
def test_nothing_is_lost_and_the_rest_stays_in_order(findings: list[Finding]) -> None:
    left = unmasked(findings)
    assert unmasked(left) == left
    told = [(f.code, f.location.row) for f in left]
    also = [(a["code"], a["row"]) for f in left for a in f.data.get("also", ())]
    assert sorted(told + also) == sorted((f.code, f.location.row) for f in findings)
    every = [(f.code, f.location.row) for f in findings]
    assert [place for place in every if place in told][: len(told)] or not told
    assert all(f in findings or f.data.get("also") for f in left)
