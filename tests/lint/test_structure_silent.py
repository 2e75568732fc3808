"""Programs that are fine: append-only chats, compaction at the limit, choices made once, trims for the screen."""

from __future__ import annotations

import pytest

from cachesafe_rules.api import Rule
from cachesafe_rules.registry import load_rules
from tests.support.lint_examples import check_example

CODES = ("CSF203", "CSF204", *(f"CSF30{n}" for n in range(1, 8)), *(f"CSF40{n}" for n in range(1, 5)))

CASES = {
    "append": """
class Chat:
    def ask(self, text):
        self.messages.append({"role": "user", "content": text})
        r = self.client.chat.completions.create(model=self.model, messages=self.messages, tools=self.tools)
        self.messages.append({"role": "assistant", "content": r.choices[0].message.content})
        return r
""",
    "sys_once": """
def ensure(messages):
    if not messages or messages[0]["role"] != "system":
        messages.insert(0, {"role": "system", "content": SYSTEM})
    return {"model": "m", "messages": messages}
""",
    "last_user": """
def build(messages, context):
    messages = list(messages)
    messages[-1] = {**messages[-1], "content": f"{context}\\n{messages[-1]['content']}"}
    return {"model": "m", "messages": messages}
""",
    "ui": """
def render(history):
    for m in history[-20:]:
        print(m["role"], m["content"].strip())
""",
    "log": """
import logging
def ask(client, messages):
    logging.info("last: %s", messages[-3:])
    return client.chat.completions.create(model="m", messages=messages)
""",
    "overflow": """
def ask(client, messages):
    if estimate_tokens(messages) > MAX_CONTEXT * 0.9:
        summary = summarize(messages[:-6])
        messages = [{"role": "user", "content": summary}, *messages[-6:]]
    return client.chat.completions.create(model="m", messages=messages)
""",
    "early": """
def compact(messages, limit):
    total = sum(count_tokens(m) for m in messages)
    if total < limit:
        return messages
    return [messages[0], *messages[-10:]]
def ask(client, messages):
    return client.chat.completions.create(model="m", messages=compact(messages, 100000))
""",
    "tools_cfg": """
class A:
    def __init__(self, config):
        self.tools = [READ]
        if config.web:
            self.tools.append(WEB)
def make_agent(need_web):
    tools = [READ]
    if need_web:
        tools.append(WEB)
    return Agent(model="m", tools=tools)
""",
    "tools_none": """
def ask(client, messages, tools=None, tool_choice=None):
    params = {"model": "m", "messages": messages}
    if tools:
        params["tools"] = [to_schema(t) for t in tools]
    if tool_choice:
        params["tool_choice"] = tool_choice
    return client.chat.completions.create(**params)
""",
    "model_default": """
def ask(client, messages, model=None, fast=False):
    model = model if model is not None else DEFAULT
    return client.chat.completions.create(model=model, messages=messages)
""",
    "retry": """
def ask(client, messages):
    for model in ("a", "b"):
        try:
            return client.chat.completions.create(model=model, messages=messages)
        except Exception:
            continue
""",
    "anthropic_adapter": """
def convert(messages):
    system = "\\n".join(m["content"] for m in messages if m["role"] == "system")
    msgs = [m for m in messages if m["role"] != "system"]
    out = []
    for m in msgs:
        if isinstance(m["content"], list):
            out.append({"role": m["role"], "content": m["content"]})
        else:
            out.append({"role": m["role"], "content": [{"type": "text", "text": m["content"]}]})
    return {"model": "m", "system": system, "messages": out}
""",
    "title": """
def generate_title(client, history):
    return client.chat.completions.create(model="small", messages=[{"role": "system",
        "content": "Title please"}, *history[-4:]])
""",
    "rag_end": """
def build(history, question, docs):
    return [{"role": "system", "content": SYSTEM}, *history, {"role": "user",
        "content": f"{docs}\\n\\n{question}"}]
""",
    "sorted_set": """
def build(messages, names):
    tools = [REG[n] for n in sorted(set(names))]
    return {"model": "m", "tools": tools, "messages": messages}
""",
    "four": """
E = {"type": "ephemeral"}
def build(tools, messages):
    tools[-1]["cache_control"] = E
    messages[-1]["content"][-1]["cache_control"] = E
    return {"model": "m", "tools": tools, "system": [{"type": "text", "text": "x", "cache_control": E}],
        "messages": messages}
""",
    "key_ok": """
def ask(client, messages, conversation_id):
    return client.responses.create(model="m", input=messages, prompt_cache_key=f"chat:{conversation_id}")
""",
    "json_ok": """
import json
def build(messages, call):
    messages.append({"role": "assistant", "tool_calls": [{"id": call.id, "function": {"name": call.name,
        "arguments": json.dumps(call.args)}}]})
    return {"model": "m", "messages": messages}
""",
    "toolchoice": """
def ask(client, messages, need_search):
    return client.messages.create(model="m", max_tokens=5, tools=TOOLS, messages=messages,
        tool_choice={"type": "tool", "name": "search"} if need_search else {"type": "auto"})
""",
    "window_ui": """
from collections import deque
class Panel:
    def __init__(self):
        self.messages = deque(maxlen=50)
    def add(self, m):
        self.messages.append(m)
        self.draw(list(self.messages))
""",
    "temp": """
def ask(client, messages, creative):
    return client.chat.completions.create(model="m", messages=messages, temperature=1.0 if creative else 0.0)
""",
    "per_session": """
class Session:
    def __init__(self, hard_task):
        self.model = BIG if hard_task else SMALL
        self.messages = [{"role": "system", "content": SYSTEM}]
    def ask(self, text):
        self.messages.append({"role": "user", "content": text})
        return self.client.chat.completions.create(model=self.model, messages=self.messages)
""",
    "strip_new": """
def ask(client, history, text):
    messages = [*history, {"role": "user", "content": text.strip()}]
    reply = client.chat.completions.create(model="m", messages=messages)
    return reply.choices[0].message.content.strip()
""",
    "lang": """
def build(history, language, user_text):
    return [{"role": "system", "content": f"Answer in {language}. Be brief and exact."}, *history,
        {"role": "user", "content": user_text}]
""",
    "eval_dataset": """
def to_chat(rows):
    return [[{"role": "system", "content": "x"}, {"role": "user", "content": r["question"]}] for r in rows]
""",
    "reasoning_cfg": """
class C:
    def __init__(self, effort):
        self.effort = effort
    def ask(self, messages):
        params = {"model": self.model, "messages": messages}
        if self.effort:
            params["reasoning_effort"] = self.effort
        return self.client.chat.completions.create(**params)
""",
    "split_system": """
def to_anthropic(messages):
    system, rest = [], []
    for m in messages:
        if m["role"] == "system":
            system.append({"type": "text", "text": m["content"]})
        else:
            rest.append({"role": m["role"], "content": m["content"]})
    return {"model": "m", "system": system, "messages": rest}
""",
    "tool_registry": """
class Agent:
    def register(self, tool):
        self.tools.append(tool)
    def run(self, text):
        self.messages.append({"role": "user", "content": text})
        return self.client.chat.completions.create(model="m", messages=self.messages, tools=self.tools)
""",
    "last_n_log": """
def debug(history, client, messages):
    tail = history[-5:]
    print(tail)
    return client.chat.completions.create(model="m", messages=messages)
""",
    "classify": """
def classify_intent(client, history):
    return client.chat.completions.create(model="small", messages=[{"role": "system",
        "content": "Classify."}, *history[-2:]])
""",
    "rag_single": """
def answer(client, question, docs):
    return client.chat.completions.create(model="m", messages=[
        {"role": "system", "content": "Answer from the documents."},
        {"role": "user", "content": f"{docs}\\n\\n{question}"}])
""",
    "convert_roles": """
ROLE = {"human": "user", "ai": "assistant"}
def convert(messages):
    return [{"role": ROLE.get(m.type, m.type), "content": m.content} for m in messages]
def ask(client, messages):
    return client.chat.completions.create(model="m", messages=convert(messages))
""",
    "static_examples": """
EXAMPLES = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
def build(history, text):
    return [{"role": "system", "content": S}, *EXAMPLES, *history, {"role": "user", "content": text}]
""",
    "context_limit_err": """
def ask(client, messages):
    try:
        return client.chat.completions.create(model="m", messages=messages)
    except ContextLengthError:
        return client.chat.completions.create(model="m", messages=messages[-10:])
""",
    "temp_tools": """
def subagent(client, task, tools):
    messages = [{"role": "user", "content": task}]
    allowed = [t for t in tools if t["name"] in {"read", "grep"}]
    return client.messages.create(model="m", max_tokens=5, messages=messages, tools=allowed)
""",
    "moving_marker": """
def mark_last(messages):
    for m in messages:
        for block in m["content"]:
            block.pop("cache_control", None)
    messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return {"model": "m", "messages": messages}
""",
    "docs_static": """
DOCS = open("manual.md").read()
def build(history, q):
    return [{"role": "system", "content": f"Manual:\\n{DOCS}\\nAnswer from the manual, politely."}, *history,
        {"role": "user", "content": q}]
""",
    "user_insert_once": """
class Chat:
    def __init__(self, profile):
        self.messages = []
        self.messages.insert(0, {"role": "system", "content": f"Profile: {profile}"})
    def ask(self, t):
        self.messages.append({"role": "user", "content": t})
        return self.client.chat.completions.create(model="m", messages=self.messages)
""",
    "tool_result": """
import json
def run_tool(messages, call):
    result = TOOLS[call.name](**json.loads(call.arguments))
    messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result, sort_keys=True)})
""",
    "title_strip": """
def first_line(history):
    return history[0]["content"].strip().splitlines()[0]
""",
    "system_where_missing": """
def ask(client, messages, system, o1):
    role = "system"
    if o1:
        role = "developer"
    if messages and messages[0]["role"] in ["system", "developer"]:
        messages[0] = {"role": role, "content": system}
    else:
        messages.insert(0, {"role": role, "content": system})
    return client.chat.completions.create(model="m", messages=messages)
""",
    "task_first": """
TEMPLATE = "Write to {author}."
def ask(client, state):
    messages = state.get("messages") or []
    input_message = TEMPLATE.format(author=state["author"])
    messages = [{"role": "user", "content": input_message}] + messages
    return client.chat.completions.create(model="m", messages=messages)
""",
    "edited_once": """
class Hints:
    def run(self, messages, query):
        if self.done:
            return messages
        hints = self.search(query)
        messages[1]["content"] = f"{query} {hints}"
        self.done = True
        return self.client.chat.completions.create(model="m", messages=messages)
""",
    "text_of_itself": """
def ask(client, messages, task, prompt):
    prompt = prompt.replace("{task}", "a task")
    messages[0].content = messages[0].content.replace("{kind}", "a kind").replace("{prompt}", "a prompt")
    return client.chat.completions.create(model="m", messages=[*messages, {"role": "user", "content": prompt}])
""",
    "summary_task": """
def summarize_document(client, text):
    return client.chat.completions.create(model="m", messages=[{"role": "system", "content": "Summarise."},
        {"role": "user", "content": text}])
""",
}


@pytest.fixture(scope="module")
def rules() -> list[Rule]:
    return load_rules(CODES)


@pytest.mark.parametrize("name", CASES)
def test_silent(name: str, rules: list[Rule]) -> None:
    code = CASES[name].lstrip("\n")
    assert [(rule.code, r.span.row, r.message) for rule in rules for r in check_example(rule, code)] == []
