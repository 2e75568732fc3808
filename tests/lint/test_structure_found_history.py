"""Programs whose chat history is trimmed, summarised, edited or moved, with the rows of the reports."""

from __future__ import annotations

import pytest

from cachesafe_rules.api import Rule
from cachesafe_rules.registry import load_rules
from tests.support.lint_examples import check_example

CODES = ("CSF203", "CSF204", *(f"CSF30{n}" for n in range(1, 8)), *(f"CSF40{n}" for n in range(1, 5)))

CASES: dict[str, tuple[tuple[tuple[str, int], ...], str]] = {
    "insert_ctx": (
        (("CSF302", 7),),
        """
class Session:
    def __init__(self):
        self.messages = []
    def send(self, client, text, context):
        self.messages.append({"role": "user", "content": text})
        payload = list(self.messages)
        payload.insert(0, {"role": "system", "content": f"Relevant context:\\n{context}"})
        return client.chat.completions.create(model="gpt-4o", messages=payload)
""",
    ),
    "insert_pos1": (
        (("CSF302", 3),),
        """
def prepare(messages, memory_block):
    out = messages.copy()
    out.insert(1, {"role": "user", "content": memory_block})
    return out
def call(client, messages, memory_block):
    return client.chat.completions.create(model="x", messages=prepare(messages, memory_block))
""",
    ),
    "lc_insert": (
        (("CSF301", 4),),
        """
from langchain_core.messages import SystemMessage, HumanMessage
def node(state, llm, retriever):
    docs = retriever.invoke(state["messages"][-1].content)
    messages = [SystemMessage(content=f"Use these docs: {docs}")] + state["messages"]
    return {"messages": [llm.invoke(messages)]}
""",
    ),
    "slice_direct": (
        (("CSF303", 4),),
        """
def chat(client, history, msg):
    return client.chat.completions.create(
        model="x",
        messages=[{"role": "system", "content": SYSTEM}] + history[-6:] + [{"role": "user", "content": msg}],
    )
""",
    ),
    "slice_loop": (
        (("CSF303", 4),),
        """
MAX_TURNS = 8
def build_messages(history, user_input):
    messages = [{"role": "system", "content": "You help."}]
    for turn in history[-MAX_TURNS:]:
        messages.append({"role": turn["role"], "content": turn["content"]})
    messages.append({"role": "user", "content": user_input})
    return messages
""",
    ),
    "slice_gemini": (
        (("CSF303", 2),),
        """
def ask(client, contents):
    return client.models.generate_content(model="gemini", contents=contents[-10:])
""",
    ),
    "del_slice": (
        (("CSF303", 4),),
        """
class A:
    def trim(self):
        if len(self.history) > self.max_len:
            del self.history[: len(self.history) - self.max_len]
    def run(self, text):
        self.history.append({"role": "user", "content": text})
        self.trim()
        return self.llm.chat(messages=self.history, model="m")
""",
    ),
    "keep_sys": (
        (("CSF303", 4),),
        """
def truncate(messages, n=10):
    system = [m for m in messages if m["role"] == "system"]
    rest = [m for m in messages if m["role"] != "system"]
    return system + rest[-n:]
def go(client, messages):
    return client.chat.completions.create(model="m", messages=truncate(messages))
""",
    ),
    "summ_replace": (
        (
            ("CSF303", 3),
            ("CSF304", 4),
        ),
        """
def step(client, messages):
    if len(messages) > 12:
        old, recent = messages[:-4], messages[-4:]
        text = summarize_messages(client, old)
        messages = [messages[0], {"role": "user", "content": f"[Summary] {text}"}] + recent
    return client.chat.completions.create(model="m", messages=messages)
""",
    ),
    "stamp_hist": (
        (("CSF307", 6),),
        """
from datetime import datetime
def build(history, text):
    now = datetime.now().strftime("%H:%M")
    messages = []
    for m in history:
        messages.append({"role": m["role"], "content": f"[{now}] {m['content']}"})
    messages.append({"role": "user", "content": text})
    return messages
""",
    ),
    "trunc_tool": (
        (("CSF307", 5),),
        """
def build(messages):
    out = []
    for i, m in enumerate(messages):
        if m["role"] == "tool" and i < len(messages) - 5:
            out.append({**m, "content": "[truncated]"})
        else:
            out.append(m)
    return {"model": "m", "messages": out}
""",
    ),
    "sys_rewrite": (
        (("CSF307", 3),),
        """
class Agent:
    def step(self, obs):
        self.messages[0]["content"] = self.base + f"\\nCurrent observation: {obs}"
        return self.client.chat.completions.create(model="m", messages=self.messages)
""",
    ),
    "newest_first": (
        (("CSF302", 2),),
        """
def build(history, user_text):
    messages = [{"role": "user", "content": user_text}]
    messages.extend(history)
    return {"model": "m", "messages": messages}
""",
    ),
    "reverse_hist": (
        (("CSF302", 2),),
        """
def build(history, user_text):
    messages = [{"role": "system", "content": "x"}, {"role": "user", "content": user_text}, *reversed(history)]
    return messages
""",
    ),
    "trim_messages": (
        (("CSF303", 3),),
        """
from langchain_core.messages import trim_messages
def node(state, llm):
    msgs = trim_messages(state["messages"], max_tokens=10, token_counter=len, strategy="last")
    return llm.invoke(msgs)
""",
    ),
    "deque_arg": (
        (("CSF303", 2),),
        """
from collections import deque
history = deque(maxlen=10)
def ask(client, text):
    history.append({"role": "user", "content": text})
    return client.chat.completions.create(model="m", messages=list(history))
""",
    ),
    "fetch_limit": (
        (("CSF303", 2),),
        """
def ask(client, db, chat_id, text):
    history = db.get_messages(chat_id, limit=20)
    return client.chat.completions.create(model="m", messages=[*history, {"role": "user", "content": text}])
""",
    ),
    "lg_trim": (
        (("CSF303", 2),),
        """
def call_model(state, config):
    recent = state["messages"][-10:]
    response = model.invoke([SystemMessage(content=PROMPT), *recent])
    return {"messages": [response]}
""",
    ),
    "ollama": (
        (("CSF303", 7),),
        """
import requests
class Bot:
    def __init__(self):
        self.history = []
    def ask(self, text):
        self.history.append({"role": "user", "content": text})
        self.history = self.history[-20:]
        r = requests.post("http://localhost:11434/api/chat", json={"model": "llama3", "messages": self.history})
        return r.json()
""",
    ),
    "past": (
        (("CSF303", 3),),
        """
def prompt(past_messages, user_msg, keep=6):
    chat = [{"role": "system", "content": "You are kind."}]
    chat += past_messages[-keep:]
    chat.append({"role": "user", "content": user_msg})
    return chat
""",
    ),
    "pop_pair": (
        (
            ("CSF303", 4),
            ("CSF303", 5),
        ),
        """
async def reply(client, history, text):
    history.append({"role": "user", "content": text})
    if len(history) > 20:
        history.pop(0)
        history.pop(0)
    return await client.chat.completions.create(model="m", messages=history)
""",
    ),
    "remove_first": (
        (("CSF303", 5),),
        """
class Agent:
    def add(self, m):
        self._messages.append(m)
        while len(self._messages) > self.window:
            del self._messages[1]
    def run(self):
        return self._client.messages.create(model="m", max_tokens=9, messages=self._messages)
""",
    ),
    "stamp_all": (
        (("CSF307", 3),),
        """
import time
def with_age(messages):
    return [{"role": m["role"],
        "content": f"({int(time.time() - m['ts'])}s ago) {m['content']}"} for m in messages]
def ask(client, messages):
    return client.chat.completions.create(model="m", messages=with_age(messages))
""",
    ),
    "idx_label": (
        (("CSF307", 3),),
        """
def build(history, text):
    n = len(history)
    msgs = [{"role": m["role"], "content": f"[{n - i} turns ago] {m['content']}"} for i,
        m in enumerate(history)]
    return msgs + [{"role": "user", "content": text}]
""",
    ),
    "images_old": (
        (("CSF307", 4),),
        """
def strip_images(messages):
    for m in messages[:-1]:
        if isinstance(m["content"], list):
            m["content"] = [p for p in m["content"] if p["type"] != "image"]
    return messages
def ask(client, messages):
    return client.messages.create(model="m", max_tokens=5, messages=strip_images(messages))
""",
    ),
    "sys_set0": (
        (("CSF307", 4),),
        """
class A:
    def run(self, query):
        docs = self.retriever.search(query)
        self.messages[0] = {"role": "system", "content": f"Docs: {docs}"}
        self.messages.append({"role": "user", "content": query})
        return self.client.chat.completions.create(model="m", messages=self.messages)
""",
    ),
}


@pytest.fixture(scope="module")
def rules() -> list[Rule]:
    return load_rules(CODES)


@pytest.mark.parametrize("name", CASES)
def test_found(name: str, rules: list[Rule]) -> None:
    """Exactly these rules report, at exactly these rows, and none is kept away by its needles."""
    expected, text = CASES[name]
    code = text.lstrip("\n")
    asked = [rule for rule in rules if any(needle in code.encode() for needle in rule.needles)]
    assert {(rule.code, report.span.row) for rule in asked for report in check_example(rule, code)} == set(expected)
