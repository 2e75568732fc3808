"""Histories that an excerpt rewrites, cuts or summarises.

A short file that ends before the request is complete as it stands. Each has its harmless twin.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

FOUND = {
    "insert0 note": (
        """\
def add_note(messages, note):
    messages.insert(0, {"role": "user", "content": f"Note: {note}"})
    return messages
""",
        [(2, "CSF302")],
    ),
    "insert1 mem": (
        """\
def with_memories(messages, memories):
    out = list(messages)
    out.insert(1, {"role": "system", "content": "\\n".join(memories)})
    return out
""",
        [(3, "CSF302")],
    ),
    "window ret": (
        """\
def trim(messages, keep=20):
    return messages[-keep:]
""",
        [(2, "CSF303")],
    ),
    "window sys": (
        """\
MAX = 12
def prepare(system, history):
    if len(history) > MAX:
        history = history[-MAX:]
    return [system] + history
""",
        [(4, "CSF303")],
    ),
    "window pop": (
        """\
class Memory:
    def __init__(self):
        self.messages = [{"role": "system", "content": "Help."}]
    def add(self, role, content):
        self.messages.append({"role": role, "content": content})
        while len(self.messages) > 21:
            self.messages.pop(1)
""",
        [(7, "CSF303")],
    ),
    "deque": (
        """\
from collections import deque
class Chat:
    def __init__(self):
        self.history = deque(maxlen=10)
    def build(self, text):
        self.history.append({"role": "user", "content": text})
        return [{"role": "system", "content": "Help."}, *self.history]
""",
        [(4, "CSF303")],
    ),
    "summary": (
        """\
def compress(llm, messages):
    head, tail = messages[:-4], messages[-4:]
    summary = llm.summarize(head)
    return [{"role": "system", "content": f"Summary: {summary}"}, *tail]
""",
        [(3, "CSF304")],
    ),
    "summary2": (
        """\
def build(messages, summarizer, question):
    if len(messages) > 10:
        summary = summarizer(messages[:-6])
        messages = [{"role": "user", "content": summary}] + messages[-6:]
    return messages + [{"role": "user", "content": question}]
""",
        [(3, "CSF304"), (4, "CSF303")],
    ),
    "clear tool": (
        """\
def mask_old_results(messages, keep=3):
    tools = [i for i, m in enumerate(messages) if m["role"] == "tool"]
    for i in tools[:-keep]:
        messages[i]["content"] = "[output omitted]"
    return messages
""",
        [(4, "CSF307")],
    ),
    "clear tool2": (
        """\
def build(history, question):
    out = []
    for i, m in enumerate(history):
        if m["role"] == "tool" and i < len(history) - 4:
            m = {**m, "content": "[cleared]"}
        out.append(m)
    return out + [{"role": "user", "content": question}]
""",
        [(5, "CSF307")],
    ),
    "images": (
        """\
def strip_images(messages):
    for m in messages[:-1]:
        if isinstance(m["content"], list):
            m["content"] = [c for c in m["content"] if c["type"] != "image_url"]
    return messages
""",
        [(4, "CSF307")],
    ),
    "swap": (
        """\
PLAN = "Plan."
ACT = "Act."
def step(messages, planning):
    messages[0] = {"role": "system", "content": PLAN if planning else ACT}
    return messages
""",
        [(4, "CSF307")],
    ),
    "swap2": (
        """\
def refresh(messages, state):
    messages[0]["content"] = f"You are an agent. State: {state}"
    return messages
""",
        [(2, "CSF307")],
    ),
    "thinking strip": (
        """\
def clean(messages):
    for m in messages[:-2]:
        m.pop("reasoning_content", None)
    return messages
""",
        [(3, "CSF307")],
    ),
    "win max": (
        """\
def build(system, history, n=8):
    tail = history[max(0, len(history) - n):]
    return [{"role": "system", "content": system}] + tail
""",
        [(2, "CSF303")],
    ),
    "win while": (
        """\
def fit(messages, limit=16):
    while len(messages) > limit:
        del messages[1]
    return messages
""",
        [(3, "CSF303")],
    ),
    "win pairs": (
        """\
K = 5
def context(self, text):
    msgs = self.history[-2 * K:]
    msgs.append({"role": "user", "content": text})
    return msgs
""",
        [(3, "CSF303")],
    ),
    "win deque": (
        """\
from collections import deque
class Window:
    def __init__(self, size=20):
        self.turns = deque(maxlen=size)
    def add(self, role, text):
        self.turns.append({"role": role, "content": text})
    def messages(self, system):
        return [{"role": "system", "content": system}, *self.turns]
""",
        [(4, "CSF303")],
    ),
    "win age": (
        """\
import time
def recent(history, minutes=30):
    cutoff = time.time() - minutes * 60
    return [m for m in history if m["ts"] > cutoff]
def build(history, text):
    return [{"role": "system", "content": "Help."}, *recent(history), {"role": "user", "content": text}]
""",
        [(4, "CSF303")],
    ),
    "win trim": (
        """\
from langchain_core.messages import trim_messages
def call_model(state):
    messages = trim_messages(state["messages"], strategy="last", token_counter=len, max_tokens=12)
    return {"messages": model.invoke(messages)}
""",
        [(3, "CSF303")],
    ),
    "win session": (
        """\
from agents import Runner, SQLiteSession
async def ask(agent, user, text):
    session = SQLiteSession(user)
    items = await session.get_items(limit=10)
    return await Runner.run(agent, items + [{"role": "user", "content": text}])
""",
        [(4, "CSF303")],
    ),
    "win memory": (
        """\
from langchain.memory import ConversationBufferWindowMemory
from langchain.chains import ConversationChain
def chain(llm):
    memory = ConversationBufferWindowMemory(k=4, return_messages=True)
    return ConversationChain(llm=llm, memory=memory)
""",
        [(4, "CSF303")],
    ),
    "win half": (
        """\
class Chat:
    def trim(self):
        if len(self.messages) > self.max_messages:
            self.messages = [self.messages[0]] + self.messages[-(self.max_messages - 1):]
    def add(self, message):
        self.messages.append(message)
        self.trim()
""",
        [(4, "CSF303")],
    ),
    "sum every": (
        """\
class Memory:
    async def build(self, llm, turns, question):
        summary = await llm.summarize(turns)
        return [
            {"role": "system", "content": f"Conversation summary: {summary}"},
            {"role": "user", "content": question},
        ]
""",
        [(3, "CSF304")],
    ),
    "ins first user": (
        """\
def inject(messages, reminder):
    for m in messages:
        if m["role"] == "user":
            m["content"] = f"<reminder>{reminder}</reminder>\\n{m['content']}"
            break
    return messages
""",
        [(4, "CSF307")],
    ),
    "trunc old": (
        """\
def shrink(messages, keep=6):
    return [
        m if i >= len(messages) - keep else {**m, "content": m["content"][:300]}
        for i, m in enumerate(messages)
    ]
""",
        [(2, "CSF307")],
    ),
    "trunc old2": (
        """\
def prune(history):
    for msg in history[:-10]:
        if msg["role"] == "tool":
            msg["content"] = "<pruned>"
    return history
""",
        [(4, "CSF307")],
    ),
    "trunc imgs": (
        """\
def keep_last_image(messages):
    seen = False
    for m in reversed(messages):
        for part in list(m["content"]):
            if part["type"] == "image":
                if seen:
                    m["content"].remove(part)
                seen = True
    return messages
""",
        [(7, "CSF307")],
    ),
    "strip thinking": (
        """\
def for_request(messages):
    out = []
    last_user = max(i for i, m in enumerate(messages) if m["role"] == "user")
    for i, m in enumerate(messages):
        if i < last_user and m["role"] == "assistant":
            m = {k: v for k, v in m.items() if k != "thinking"}
        out.append(m)
    return out
""",
        [(6, "CSF307")],
    ),
}
SILENT = {
    "insert0 note": """\
def add_note(messages, note):
    messages.append({"role": "user", "content": f"Note: {note}"})
    return messages
""",
    "insert1 mem": """\
SYSTEM = "You help."
def with_system(messages):
    out = list(messages)
    if not out or out[0]["role"] != "system":
        out.insert(0, {"role": "system", "content": SYSTEM})
    return out
""",
    "window ret": """\
def newest(messages):
    return messages[-1]
""",
    "window sys": """\
LIMIT = 200
KEEP = 40
class Chat:
    def add(self, m):
        self.history.append(m)
        if len(self.history) > LIMIT:
            self.history = self.history[-KEEP:]
    def messages(self):
        return [{"role": "system", "content": "Help."}, *self.history]
""",
    "window pop": """\
class Memory:
    def __init__(self):
        self.messages = [{"role": "system", "content": "Help."}]
    def add(self, role, content):
        self.messages.append({"role": role, "content": content})
    def undo(self):
        self.messages.pop()
""",
    "deque": """\
from collections import deque
class Chat:
    def __init__(self):
        self.history = []
        self.log = deque(maxlen=10)
    def build(self, text):
        self.history.append({"role": "user", "content": text})
        self.log.append(text)
        return [{"role": "system", "content": "Help."}, *self.history]
""",
    "summary": """\
def summarize(llm, messages):
    text = "\\n".join(m["content"] for m in messages)
    return llm.complete(f"Summarize: {text}")
""",
    "summary2": """\
def build(messages, question):
    return messages + [{"role": "user", "content": question}]
""",
    "clear tool": """\
def mask_results(messages):
    for m in messages:
        if m["role"] == "tool" and len(m["content"]) > 4000:
            m["content"] = m["content"][:4000]
    return messages
""",
    "swap": """\
PLAN = "Plan."
def step(messages):
    messages[0] = {"role": "system", "content": PLAN}
    return messages
""",
    "swap2": """\
def refresh(messages, text):
    messages[-1]["content"] = f"{text}"
    return messages
""",
    "thinking strip": """\
def clean(messages):
    for m in messages:
        m.pop("reasoning_content", None)
    return messages
""",
    "win pairs": """\
def context(self, text):
    msgs = list(self.history)
    msgs.append({"role": "user", "content": text})
    return msgs
""",
    "ins first user": """\
def inject(messages, reminder):
    last = messages[-1]
    last["content"] = f"{last['content']}\\n<reminder>{reminder}</reminder>"
    return messages
""",
    "trunc old": """\
def shrink(messages):
    return [{**m, "content": m["content"][:3000]} for m in messages]
""",
    "trunc old2": """\
def prune(history):
    for msg in history:
        if msg["role"] == "tool" and len(msg["content"]) > 9000:
            msg["content"] = msg["content"][:9000]
    return history
""",
}


@pytest.mark.parametrize("name", FOUND)
def test_found(tmp_path: Path, name: str) -> None:
    program, expected = FOUND[name]
    write(tmp_path, {"app.py": program})
    assert [(row, code) for _, row, code in places(lint([tmp_path], cache=False).findings)] == expected


@pytest.mark.parametrize("name", SILENT)
def test_silent(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"app.py": SILENT[name]})
    assert places(lint([tmp_path], cache=False).findings) == []


@pytest.mark.parametrize("name", ["insert0 note", "insert1 mem", "swap"])
def test_what_another_file_takes_in_is_no_excerpt(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"app.py": FOUND[name][0], "main.py": "import app\n\nprint(app)\n"})
    assert places(lint([tmp_path], cache=False).findings) == []


@pytest.mark.parametrize("name", ["insert0 note", "insert1 mem", "swap"])
def test_a_long_file_is_no_excerpt(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"app.py": FOUND[name][0] + "\n" * 40 + "x = 1\n"})
    assert places(lint([tmp_path], cache=False).findings) == []
