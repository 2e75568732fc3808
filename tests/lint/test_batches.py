"""A cut that drops many messages at once moves the front seldom; one that drops few, or a copy, all the time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.lint.run import lint_text

BOT = """
LIMIT = {limit}
KEEP = {keep}


class Bot:
    def __init__(self, client, sessions):
        self.client = client
        self.history = []
        self.sessions = sessions

    def ask(self, text, key):
        self.history.append({{"role": "user", "content": text}})
        {cut}
        return self.client.chat.completions.create(model="m", messages=self.history)


def trim(history):
    {trim}


def talk(client, text):
    history = []
    while True:
        history.append({{"role": "user", "content": text}})
        {call}
        print(client.chat.completions.create(model="m", messages=history))
"""
IN_PLACE = "if len(self.history) {sign} {limit}:\n            self.history{part} = self.history[-{keep}:]"
TRIMS = """if len(history) {sign} {limit}:
        return history
    rest = history[-{keep}:]
    return rest"""


def told(
    cut: str = "pass", trim: str = "return history", call: str = "pass", limit: int = 60, keep: int = 20
) -> list[str]:
    text = BOT.format(cut=cut, trim=trim, call=call, limit=limit, keep=keep)
    return [f.message for f in lint_text(text) if f.code == "CSF303"]


def often(messages: list[str]) -> list[str]:
    return [message.partition(": ")[2].removesuffix(" the front of the request is another one") for message in messages]


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 60), st.integers(0, 60), st.sampled_from([(">", 1), (">=", 0)]), st.booleans(), st.booleans())
def test_what_is_dropped_at_once_decides(keep: int, more: int, sign: tuple[str, int], named: bool, whole: bool) -> None:
    words = {"limit": "LIMIT", "keep": "KEEP"} if named else {"limit": keep + more, "keep": keep}
    cut = IN_PLACE.format(sign=sign[0], part="[:]" if whole else "", **words)
    step = more + sign[1]
    expected = [] if step >= 8 else [f"every {step} messages" if step > 1 else "with each new message"]
    assert often(told(cut, limit=keep + more, keep=keep)) == expected


@pytest.mark.parametrize(
    "cut",
    [
        # A copy for one request: the next one is cut from the whole again.
        "if len(self.history) > 60:\n            return self.client.chat(messages=self.history[-20:])",
        "if len(self.history) > 60:\n            rest = self.history[-20:]\n            client.chat(messages=rest)",
        # Another list is measured, nothing is, or the limit is not known.
        "if len(self.sessions) > 60:\n            self.history = self.history[-20:]",
        "if text:\n            self.history = self.history[-20:]",
        "self.history = self.history[-20:]",
        "if len(self.history) > self.sessions:\n            self.history = self.history[-20:]",
        # Each turn begins with the whole again.
        "self.history = self.sessions.load(key)\n"
        "        if len(self.history) > 60:\n            self.history = self.history[-20:]",
        "self.history = self.sessions.load(key)\n        if len(self.history) > 60:\n            del self.history[:20]",
        # A share of nearly all.
        "if len(self.history) > 10:\n            self.history = self.history[-max(10, len(self.history) // 2):]",
        # It is cut where it is short.
        "if len(self.history) < 60:\n            self.history = self.history[-20:]",
    ],
)
def test_each_condition_by_itself(cut: str) -> None:
    assert often(told(cut)) == ["with each new message"]


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ("len(self.history) // 2", []),
        ("max(10, len(self.history) // 2)", []),
        ("int(len(self.history) * 0.5)", []),
        ("len(self.sessions) // 2", ["with each new message"]),
    ],
)
def test_a_share_of_the_chat(kept: str, expected: list[str]) -> None:
    cut = f"if text:\n            kept = {kept}\n            self.history = self.history[-kept:]"
    assert often(told(cut)) == expected


def test_a_function_that_gives_back_the_rest() -> None:
    trim = TRIMS.format(sign="<=", limit=60, keep=20)
    taken = "history = trim(history)"
    assert told(trim=trim, call=taken) == []
    assert often(told(trim=TRIMS.format(sign="<", limit=22, keep=20), call=taken)) == ["every 2 messages"]
    # What the caller goes on with is the whole.
    assert often(told(trim=trim, call="print(client.chat(messages=trim(history)))")) == ["with each new message"]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("del self.history[:20]", []),
        ("del self.history[:4]", ["every 4 messages"]),
        ("del self.history[0]", ["with each new message"]),
    ],
)
def test_what_is_deleted(row: str, expected: list[str]) -> None:
    assert often(told(f"if len(self.history) > 60:\n            {row}")) == expected


STATELESS = """
@app.post("/chat")
def chat(request: ChatRequest):
    if len(request.messages) > 60:
        request.messages = request.messages[-20:]
    return client.chat.completions.create(model="m", messages=request.messages)


def retried(client, history):
    for attempt in range(3):
        if len(history) > 60:
            history = history[-20:]
        print(client.chat.completions.create(model="m", messages=history))


def reloaded(client, db):
    while True:
        history = db.load_messages()
        if len(history) > 60:
            history = history[-20:]
        print(client.chat.completions.create(model="m", messages=history))
"""


def test_a_chat_that_comes_in_as_a_whole_is_cut_each_time() -> None:
    messages = [f.message for f in lint_text(STATELESS) if f.code == "CSF303"]
    assert often(messages) == ["with each new message"] * 3
