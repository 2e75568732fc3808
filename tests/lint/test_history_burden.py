"""CSF302, CSF304 and CSF307: each condition that must be visible, by a program that has it and a twin that lacks it."""

from __future__ import annotations

import ast

import pytest

from cachesafe_rules.kept import holds_sent
from cachesafe_rules.model import Expr
from cachesafe_rules.registry import load_rules
from cachesafe_rules.shape import shape_of
from tests.support.lint_examples import check_example, view_of

INSERT = """
def ask(client, messages, note, rules):
    {before}
    messages.insert(0, {{"role": "user", "content": {text}}})
    return {sent}
"""
KEEP = """
def ask(client, memory, rules, text):
    messages = memory.get()
    messages.insert(0, {{"role": "system", "content": rules}})
    {kept}
    return client.chat.completions.create(model="m", messages=messages)
"""
BRANCHES = """
def ask(client, question, history):
    messages = [{{"role": "system", "content": "Help."}}]
    if {test}:
        messages.append({{"role": "user", "content": question}})
    {other}
        messages.extend(history)
    return client.chat.completions.create(model="m", messages=messages)
"""
FIRST = """
def ask(client, text, history{default}):
    return client.chat.completions.create(model="m", messages=[{{"role": "user", "content": {text}}}, *history])
"""
SUMMARY = """
def ask(client, messages, book):
    if {test}:
        told = {call}
        {target} = [{{"role": "user", "content": f"So far: {{told}}"}}, *{tail}]
    return client.chat.completions.create(model="m", messages=messages)
"""
OLD = """
def ask(client, messages, keep, limit):
    for message in {over}:
        if message["role"] == "tool":
            message["content"] = {text}
    return client.chat.completions.create(model="m", messages=messages)
"""
BATCH = """
def ask(client, messages):
    old = [m for m in messages if {test}]
    if len(old) > 8:
        for message in old[:-1]:
            message["content"] = "[cut]"
    return client.chat.completions.create(model="m", messages=messages)
"""
PLACE = """
def ask(client, messages):
    out = []
    last = len(messages) - {keep}
    for i, message in enumerate(messages):
        if {test}:
            out.append({{"role": message["role"], "content": {text}}})
        else:
            out.append(message)
    return client.chat.completions.create(model="m", messages=out)
"""
STAMP = """
import time, uuid

def ask(client, history, text):
    old = [{{"role": m["role"], "content": {text}}} for m in history]
    return client.chat.completions.create(model="m", messages=[*old, {{"role": "user", "content": text}}])
"""
STEPS = """
def run(client, task):
    messages = [{{"role": "system", "content": "Go."}}, {{"role": "user", "content": task}}]
    {loop}
        {edit}
        answer = client.chat.completions.create(model="m", messages=messages)
        messages.append(answer.choices[0].message)
"""
_NOTE = "f'Note: {note}'"
_SUMMED = {
    "test": "len(messages) > 9",
    "tail": "messages[-4:]",
    "call": "summarize(messages[:-4])",
    "target": "messages",
}
_CUT = "message['content'][:99]"
_SECONDS = "f'{time.time()}: {m.content}'"


def _insert(before: str = "pass", text: str = _NOTE, sent: str = "client.invoke(messages)") -> str:
    return INSERT.format(before=before, text=text, sent=sent)


def _summary(**other: str) -> str:
    return SUMMARY.format(**{"target": "messages", **_SUMMED, **other})


def _old(over: str = "messages[:-keep]", text: str = _CUT) -> str:
    return OLD.format(over=over, text=text)


def _place(test: str = "i < last", text: str = _CUT, keep: int = 5) -> str:
    return PLACE.format(test=test, text=text, keep=keep)


LOUD = {
    "insert": ("CSF302", _insert()),
    "insert, another test": ("CSF302", _insert("if not note: return None")),
    "stored with it": ("CSF302", KEEP.format(kept="memory.set(messages)")),
    "newest first": ("CSF302", FIRST.format(default="", text="text")),
    "in front of what is there": ("CSF302", BRANCHES.format(test="question", other="if history:")),
    "summary": ("CSF304", _summary()),
    "summary on each turn": ("CSF304", _summary(test="True")),
    "tail by name": ("CSF304", _summary(tail="recent", call="summarize(messages); recent = messages[-4:]")),
    "old ones cut": ("CSF307", _old()),
    "old ones replaced": ("CSF307", _old(text="'[cleared]'")),
    "counted from the end": ("CSF307", _old(over="messages[: len(messages) - keep]")),
    "one by one": ("CSF307", BATCH.format(test="m['role'] == 'tool'")),
    "by place": ("CSF307", _place()),
    "by place, written out": ("CSF307", _place(test="i < len(messages) - 5")),
    "shortened by name": ("CSF307", _place(text="shorten(message['content'])")),
    "age": ("CSF307", _place(test="True", text="f'{len(messages) - i}: ' + message['content']")),
    "id": ("CSF307", STAMP.format(text="f'{uuid.uuid4()}: {m.content}'")),
    "clock": ("CSF307", STAMP.format(text=_SECONDS)),
    "step": ("CSF307", STEPS.format(loop="for step in range(9):", edit="messages[0]['content'] = f'Step {step}'")),
}
QUIET = {
    "in branches of their own": ("CSF302", BRANCHES.format(test="not history", other="else:")),
    "list just made": ("CSF302", _insert("messages = []")),
    "list looked at": ("CSF302", _insert("if len(messages) > 1: return None")),
    "first message looked at": ("CSF302", _insert("if messages[0]['role'] == 'user': return None")),
    "fixed text": ("CSF302", _insert(text="rules")),
    "not sent": ("CSF302", "\n" * 41 + _insert(sent="len(messages)")),
    "not stored": ("CSF302", KEEP.format(kept="print(text)")),
    "history that nobody need give": ("CSF302", FIRST.format(default="=None", text="text")),
    "the program's plan first": ("CSF302", FIRST.format(default="", text="text_plan")),
    "summary at the limit": ("CSF304", _summary(test="count_tokens(messages) > 9000")),
    "summary of something else": ("CSF304", _summary(call="summarize(book)")),
    "no summary by name": ("CSF304", _summary(call="translate(messages[:-4])")),
    "end of something else": ("CSF304", _summary(tail="book[-4:]")),
    "in a list of its own": ("CSF304", _summary(target="shown")),
    "all cut alike": ("CSF307", _old(over="messages")),
    "only converted": ("CSF307", _old(text="to_parts(message['content'])")),
    "all cut alike, by place": ("CSF307", _place(test="i > 0")),
    "nothing lost": ("CSF307", _place(text="message['content']")),
    "at the limit": ("CSF307", _old().replace("    for", "    if tokens(messages) < limit: return None\n    for")),
    "cut in batches": ("CSF307", BATCH.format(test="m['content'] != '[cut]'")),
    "stripped": ("CSF307", STAMP.format(text="m.content.strip()")),
    "cut where stored": ("CSF307", STAMP.format(text="m.content[:500]")),
    "an id beside the text": (
        "CSF307",
        STAMP.format(text="m.content").replace('{"role"', '{"id": uuid.uuid4().hex, "role"'),
    ),
    "nothing of the message": ("CSF307", STAMP.format(text="f'{time.time()}'")),
    "not yet sent": ("CSF307", STEPS.format(loop="if True:", edit="messages[0]['content'] = f'Query {query}'")),
}


@pytest.mark.parametrize("name", LOUD)
def test_all_is_visible(name: str) -> None:
    code, program = LOUD[name]
    [rule] = load_rules((code,))
    assert len(check_example(rule, program)) == 1


@pytest.mark.parametrize("name", QUIET)
def test_one_condition_is_not(name: str) -> None:
    code, program = QUIET[name]
    [rule] = load_rules((code,))
    ast.parse(program)
    assert check_example(rule, program) == []


LISTS = {
    "def f(messages): use(messages)": True,
    "def f(*, messages=()): use(messages)": False,
    "def f(messages=[]): use(messages)": False,
    "def f(rows): use(rows)": False,
    "def f(messages, n=None): use(messages[-n:])": True,
    "def f(messages): use([m for m in messages if m])": True,
    "def f(messages): use([*messages, 1])": True,
    "def f(messages): use([messages])": False,
    "def f(memory): use(memory.load_messages())": True,
    "def f(loader): use(loader.load())": False,
    "def f(state): use(state['messages'])": True,
    "def f(state): use(state.get('messages'))": True,
    "def f(state): use(state.get('names'))": False,
    "class A:\n    def f(self): use(self.messages)": True,
    "class A:\n    def f(self):\n        self.messages = []\n        use(self.messages)": False,
    "class A:\n    def f(self):\n        if not self.messages: self.messages = []\n        use(self.messages)": True,
    "def g(messages): use(messages)\ndef f(): g([])": False,
    "def g(messages=None): use(messages)\ndef f(history): g(history)": True,
    "def f(llm):\n    out = []\n    while True:\n        out.append(llm())\n        use(out)": True,
    "def f(llm):\n    out = []\n    for _ in range(9):\n        out.append(llm())\n        use(out)": True,
    "def f(rows):\n    out = []\n    for row in range(len(rows)):\n        out.append(row)\n    use(out)": False,
    "def f(rows):\n    while True:\n        out = []\n        out.append(1)\n        use(out)": False,
}


@pytest.mark.parametrize("code", LISTS)
def test_messages_that_were_sent(code: str) -> None:
    shape = shape_of(view_of(code))
    [call] = [call for call in shape.view.calls if call.name == "use"]
    given: Expr = call.args[0]
    assert holds_sent(shape, call.function, given) is LISTS[code]
