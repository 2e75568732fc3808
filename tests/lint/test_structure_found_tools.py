"""Programs that change tools or model between turns, with the rows of the reports."""

from __future__ import annotations

import pytest

from cachesafe_rules.api import Rule
from cachesafe_rules.registry import load_rules
from tests.support.lint_examples import check_example

CODES = ("CSF203", "CSF204", *(f"CSF30{n}" for n in range(1, 8)), *(f"CSF40{n}" for n in range(1, 5)))

CASES: dict[str, tuple[tuple[tuple[str, int], ...], str]] = {
    "tools_cond_expr": (
        (("CSF305", 3),),
        """
def build(history, user_text, web):
    return {"model": "m", "messages": history + [{"role": "user", "content": user_text}],
            "tools": BASE + ([WEB] if web else [])}
""",
    ),
    "tools_kw": (
        (
            ("CSF305", 4),
            ("CSF305", 6),
        ),
        """
def build(history, user_text):
    tools = [CALC]
    if "weather" in user_text:
        tools.append(WEATHER)
    if re.search(r"\\d", user_text):
        tools.append(MATH)
    return {"model": "m", "tools": tools, "messages": [*history, {"role": "user", "content": user_text}]}
""",
    ),
    "tools_filter_fn": (
        (("CSF305", 2),),
        """
def pick(tools, query):
    return [t for t in tools if any(w in t["description"] for w in query.split())]
def ask(client, history, query):
    return client.messages.create(model="m", max_tokens=10, tools=pick(TOOLS, query), messages=history)
""",
    ),
    "tools_phase": (
        (("CSF305", 3),),
        """
TOOLS_BY_PHASE = {"plan": [A], "act": [A, B]}
def turn(client, phase, messages):
    return client.messages.create(model="m", max_tokens=5, tools=TOOLS_BY_PHASE[phase], messages=messages)
""",
    ),
    "tools_last_step": (
        (("CSF305", 3),),
        """
def loop(client, messages, max_steps):
    for step in range(max_steps):
        tools = TOOLS if step < max_steps - 1 else []
        r = client.chat.completions.create(model="m", messages=messages, tools=tools)
        messages.append(r.choices[0].message)
""",
    ),
    "model_if": (
        (("CSF306", 5),),
        """
def answer(client, history, prompt):
    if len(prompt.split()) > 200:
        model = "claude-opus-4"
    else:
        model = "claude-haiku-4"
    return client.messages.create(model=model, max_tokens=100, messages=history + [{"role": "user",
        "content": prompt}])
""",
    ),
    "model_router": (
        (("CSF306", 2),),
        """
def answer(client, messages):
    model = route_model(messages[-1]["content"])
    return client.chat.completions.create(model=model, messages=messages)
""",
    ),
    "thinking": (
        (("CSF306", 2),),
        """
def run(client, messages, complexity):
    budget = 16000 if complexity == "high" else 2000
    return client.messages.create(model="m", max_tokens=20000, thinking={"type": "enabled",
        "budget_tokens": budget}, messages=messages)
""",
    ),
    "model_alternate": (
        (("CSF306", 3),),
        """
MODELS = ["a", "b"]
def run(client, messages, turn):
    return client.chat.completions.create(model=MODELS[turn % 2], messages=messages)
""",
    ),
    "tools_set_names": (
        (("CSF204", 5),),
        """
def load(registry):
    enabled = {"search", "calc", "files"}
    return [registry[n].schema() for n in enabled]
def ask(client, messages, registry):
    return client.messages.create(model="m", max_tokens=5, tools=load(registry), messages=messages)
""",
    ),
    "tools_set_var": (
        (("CSF204", 8),),
        """
class Agent:
    def __init__(self):
        self.tools = set()
    def add(self, t):
        self.tools.add(t)
    def run(self, messages):
        return self.client.chat.completions.create(model="m", messages=messages,
            tools=[t.schema for t in self.tools])
""",
    ),
    "tools_sample": (
        (("CSF204", 4),),
        """
import random
def ask(client, messages):
    tools = random.sample(TOOLS, len(TOOLS))
    return client.messages.create(model="m", max_tokens=5, tools=tools, messages=messages)
""",
    ),
    "schema_keys": (
        (("CSF204", 3),),
        """
def input_schema(params):
    keys = set(params)
    return {"type": "object", "properties": {k: params[k] for k in keys}}
""",
    ),
    "effort_len": (
        (("CSF306", 2),),
        """
def ask(client, messages, question):
    effort = "high" if len(question) > 300 else "low"
    return client.responses.create(model="gpt-5", input=messages, reasoning={"effort": effort})
""",
    ),
    "tools_intent": (
        (
            ("CSF305", 4),
            ("CSF305", 6),
        ),
        """
def respond(client, messages, intent):
    tools = []
    if intent == "search":
        tools = [SEARCH]
    elif intent == "code":
        tools = [RUN]
    return client.chat.completions.create(model="m", messages=messages, tools=tools)
""",
    ),
    "tools_state": (
        (("CSF305", 4),),
        """
def call_model(state):
    tools = list(BASE_TOOLS)
    if state["needs_web"]:
        tools.append(web_search)
    return {"messages": [llm.bind_tools(tools).invoke(state["messages"])]}
""",
    ),
    "tools_count": (
        (("CSF305", 2),),
        """
def run(client, messages):
    tools = ALL if len(messages) < 10 else ALL[:2]
    return client.messages.create(model="m", max_tokens=9, messages=messages, tools=tools)
""",
    ),
    "tools_class": (
        (("CSF305", 3),),
        """
class Agent:
    def get_tools(self, query):
        return [t for t in self.tools if t.matches(query)]
    def run(self, query):
        self.messages.append({"role": "user", "content": query})
        return self.client.chat.completions.create(model="m", messages=self.messages,
            tools=self.get_tools(query))
""",
    ),
    "tools_emb": (
        (("CSF305", 2),),
        """
def run(client, index, messages, user_text):
    names = index.query(user_text, top_k=5)
    tools = [TOOLS[n] for n in names]
    return client.messages.create(model="m", max_tokens=9, messages=messages, tools=tools)
""",
    ),
    "model_len_hist": (
        (("CSF306", 4),),
        """
class Chat:
    def ask(self, text):
        self.messages.append({"role": "user", "content": text})
        model = "gpt-4o" if len(self.messages) > 10 else "gpt-4o-mini"
        return self.client.chat.completions.create(model=model, messages=self.messages)
""",
    ),
    "model_img": (
        (("CSF306", 2),),
        """
def ask(client, messages, has_image):
    model = VISION if has_image else TEXT
    return client.chat.completions.create(model=model, messages=messages)
""",
    ),
    "model_kw": (
        (("CSF306", 4),),
        """
def ask(client, messages, question):
    model = "small"
    if any(w in question.lower() for w in ("prove", "derive")):
        model = "large"
    return client.chat.completions.create(model=model, messages=messages)
""",
    ),
    "effort_step": (
        (("CSF306", 3),),
        """
def ask(client, messages, step):
    return client.responses.create(model="m", input=messages,
        reasoning={"effort": "high" if step == 0 else "low"})
""",
    ),
    "thinking_toggle": (
        (("CSF306", 4),),
        """
def ask(client, messages, question):
    kwargs = {"model": "m", "max_tokens": 5, "messages": messages}
    if is_hard(question):
        kwargs["thinking"] = {"type": "enabled", "budget_tokens": 8000}
    return client.messages.create(**kwargs)
""",
    ),
    "set_dedupe": (
        (("CSF204", 6),),
        """
class R:
    def schemas(self):
        names = list(dict.fromkeys(self.names))
        return [self.reg[n] for n in set(names)]
    def ask(self, messages):
        return self.client.messages.create(model="m", max_tokens=5, messages=messages, tools=self.schemas())
""",
    ),
    "enum_set": (
        (("CSF204", 3),),
        """
VALUES = {"a", "b", "c"}
TOOL = {"name": "t", "input_schema": {"type": "object", "properties": {"x": {"type": "string",
    "enum": list(VALUES)}}}}
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
