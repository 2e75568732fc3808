"""A chat that is summarised and replaced on every turn, by a request of its own; each condition with its twin."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import codes_of_app as codes

CHAT = """
def as_text(messages):
    return "\\n".join(m["content"] for m in messages)


class Chat:
    def __init__(self, client):
        self.client = client
        self.turns = []

    def {name}(self):
        old, recent = self.turns[:-2], self.turns[-2:]
        {test}
        asked = [{{"role": "user", "content": "Sum it up: " + as_text({given})}}]
        reply = self.client.chat.completions.create(model="small", messages=asked)
        {result} = reply.choices[0].message.content
        {keep} = [{{"role": "user", "content": f"So far: {{{result}}}"}}, *recent]

    def ask(self, text):
        self.turns.append({{"role": "user", "content": text}})
        answer = self.client.chat.completions.create(model="m", messages=self.turns)
        self.turns.append({{"role": "assistant", "content": answer.choices[0].message.content}})
        {call}
        return answer
"""
PARTS = {
    "name": "_compress",
    "test": "if not old:\n            return",
    "given": "old",
    "result": "summary",
    "keep": "self.turns",
    "call": "self._compress()",
}


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({}, True),
        ({"keep": "self.turns[:]"}, True),
        ({"name": "_roll", "call": "self._roll()"}, True),
        # Another text, of something else, that is not kept as the chat.
        ({"result": "title"}, False),
        ({"given": "[]"}, False),
        ({"keep": "self.shown"}, False),
        # Seldom: by a test of its own, or of the caller's.
        ({"test": "if len(self.turns) < 40:\n            return"}, False),
        ({"test": "if not self.is_full:\n            return"}, False),
        ({"call": "if len(self.turns) > 40:\n            self._compress()"}, False),
        ({"call": "if text == '/compact':\n            self._compress()"}, False),
        ({"call": "if self.tokens > self.context_limit:\n            self._compress()"}, False),
        ({"name": "_roll", "call": "if self.tokens > self.context_limit:\n            self._roll()"}, False),
        ({"call": "pass"}, False),
    ],
)
def test_a_request_for_a_summary(tmp_path: Path, parts: dict[str, str], found: bool) -> None:
    assert ("CSF304" in codes(tmp_path, CHAT.format(**PARTS | parts))) is found


def test_the_request_for_a_summary_is_no_chat(tmp_path: Path) -> None:
    text = (
        "def summarise(client, history):\n"
        "    so_far = client.summarize(history[:-4])\n"
        "    messages = [{{'role': 'user', 'content': so_far}}, *history[-4:]]\n"
        "    return {end}\n\n\n"
        "def turn(client, history):\n"
        "    history = summarise(client, history)\n"
        "    return client.chat.completions.create(model='m', messages=history)\n"
    )
    ask = "client.chat.completions.create(model='m', messages=messages)"
    given_back = text.replace("messages = ", "return ").replace("    return {end}\n", "").format()
    assert "CSF304" in codes(tmp_path / "chat", given_back)
    assert "CSF304" not in codes(tmp_path / "ask", text.format(end=ask))
