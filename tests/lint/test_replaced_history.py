"""A summary that takes the place of messages inside of the list that is sent on; each condition with its twin."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import codes_of_app as codes

TURN = """
LIMIT = 4
SYSTEM = {{"role": "system", "content": "You help."}}


def summarise(client, messages):
    asked = [{{"role": "user", "content": "Condense: " + str(messages)}}]
    return client.chat.completions.create(model="small", messages=asked).choices[0].message.content


def turn(client, messages, text):
    messages.append({{"role": "user", "content": text}})
    answer = client.chat.completions.create(model="m", messages=[SYSTEM, *messages])
    messages.append(answer.choices[0].message)
    {test}
        {made}
        {put}
    return answer


run = turn
"""
PARTS = {
    "test": "if len(messages) > LIMIT:",
    "made": "summary = summarise(client, messages[:-2])",
    "put": 'messages[:-2] = [{"role": "user", "content": "So far: " + summary}]',
}
ANEW = 'messages.clear()\n        messages.append({"role": "system", "content": f"So far: {summary}"})'
CUT = 'del messages[:-2]\n        messages.insert(0, {"role": "system", "content": summary})'


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({}, True),
        ({"test": "if True:", "put": ANEW}, False),
        ({"test": "for _ in range(1):", "put": ANEW}, True),
        ({"put": CUT}, True),
        ({"put": 'messages[1:-2] = [{"role": "user", "content": summary}]', "test": "if len(messages) >= 6:"}, True),
        # Seldom: at a length that many turns make, near the limit of the context, or as somebody asks for it.
        ({"test": "if len(messages) > 40:"}, False),
        ({"test": "if answer.usage.total_tokens > 100_000:"}, False),
        ({"test": "if text == '/compact':"}, False),
        # Another text, of something else, that is put behind, or the system message alone.
        ({"made": "summary = render(client)"}, False),
        ({"made": "summary = summarise(client, text)"}, False),
        ({"put": 'messages.append({"role": "user", "content": summary})'}, False),
        ({"put": 'messages[:1] = [{"role": "user", "content": summary}]'}, False),
    ],
)
def test_a_summary_among_the_messages(tmp_path: Path, parts: dict[str, str], found: bool) -> None:
    assert ("CSF304" in codes(tmp_path, TURN.format(**PARTS | parts))) is found


GRAPH = """
from langchain_core.messages import RemoveMessage
from langgraph.graph import END, START, MessagesState, StateGraph


class State(MessagesState):
    recap: str


def answer(state: State):
    return {{"messages": [llm.invoke([("system", state.get("recap", ""))] + state["messages"])]}}


def condense(state: State):
    recap = {made}
    old = [{gone} for m in state["messages"][:-2]]
    return {{"recap": recap, "messages": old}}


builder = StateGraph(State)
builder.add_node("answer", answer)
builder.add_node("condense", condense)
builder.add_edge(START, "answer")
{edge}
builder.add_edge("condense", END)
run = builder.compile
"""
NODE = {
    "made": 'llm.invoke([*state["messages"], ("user", "Sum it up.")]).content',
    "gone": "RemoveMessage(id=m.id)",
    "edge": 'builder.add_edge("answer", "condense")',
}


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({}, True),
        ({"edge": 'builder.add_conditional_edges("answer", is_full)'}, False),
        ({"made": '"nothing"'}, False),
        ({"gone": "m"}, False),
    ],
)
def test_a_node_that_removes_what_it_tells(tmp_path: Path, parts: dict[str, str], found: bool) -> None:
    assert ("CSF304" in codes(tmp_path, GRAPH.format(**NODE | parts))) is found
