"""Structure rules where there is nothing to lose: retries, lookups, rows, fixed messages, results kept."""

from __future__ import annotations

import pytest

from cachesafe_rules.registry import load_rules
from tests.support.lint_examples import check_example

RETRY = """
def ask(client, messages, text):
    answer = client.chat.completions.create(model="m", messages=messages)
    words = answer.text or ""
    if {test}:
        effort = "none" if len(text) > 9 else "low"
        return client.chat.completions.create(model="m", messages=messages, reasoning_effort=effort)
    return words
"""
FIRST = """
GREETING_FOR_USER = "Hello"

def build(data, history, user_text, system_prompt):
    return [{{"role": "user", "content": {content}}}, *history]
"""
SINGLE = """
def ask(client, query, history):
    messages = [{{"role": "system", "content": "Be kind."}}]
    {more}
    return client.chat.completions.create(model="big" if "prove" in query else "small", messages=messages)
"""
KEY = """
import uuid

def key_of(request):
    {first}
    return str(uuid.uuid4())

def ask(client, messages, request):
    return client.responses.create(model="m", input=messages, prompt_cache_key=key_of(request))
"""
FIELD = """
import uuid

def ask(client, messages, fields):
    key = fields.get("prompt_cache_key", {default})
    return client.responses.create(model="m", input=messages, prompt_cache_key={given})
"""
TOOL = """
import json

def message(call, result):
    found = {found}
    return {{"role": "tool", "tool_call_id": call, "content": json.dumps({dumped})}}
"""
ROWS = """
def recent(messages, limit):
    turns = []
    for message in messages[-limit:]:
        turns.append({{"role": message.role, "content": message.content{more}}})
    return turns
"""
BARE = """
def body(messages):
    rest = messages[1:] if len(messages) > {least} else []
    return {{"model": "m", "messages": rest}}
"""
APPENDED = """
import json

def tool_message(call, result):
    return {{"role": "tool", "tool_call_id": call, "content": json.dumps(result)}}

def step(messages, call, result):
    {use}
"""
CLEARED = """
class Chat:
    def {name}(self, keep):
        kept = self.history[-keep:]
        self.history = kept

    def ask(self, text):
        return self.client.chat.completions.create(model="m", messages=self.history)
"""
SPLIT = """
def ask(client, history, question, docs):
    system = {name}("Rules", docs)
    return client.messages.create(model="m", max_tokens=9, system=system, messages=history)
"""
GUIDED = """
def build({name}, chat_messages):
    return [{{"role": "system", "content": f"Search well. {{{name}}}"}}, *chat_messages]
"""
BEGUN = """
def ask(client, worker, messages, task):
    for _ in range(9):
        if {test}:
            messages.insert(0, {{"role": "user", "content": f"{{task}} {{worker.notes}}"}})
        messages.append(client.chat.completions.create(model="m", messages=messages).choices[0].message)
"""
SILENT = {
    "an empty answer": ("CSF306", RETRY.format(test="not words.strip()")),
    "a constant first": ("CSF302", FIRST.format(content="GREETING_FOR_USER")),
    "the program's own text first": ("CSF302", FIRST.format(content="system_prompt")),
    "one question": ("CSF306", SINGLE.format(more='messages.append({"role": "user", "content": query})')),
    "a key of the last resort": ("CSF404", KEY.format(first="if request.session:\n        return request.session")),
    "a default": ("CSF404", FIELD.format(default="str(uuid.uuid4())", given="key")),
    "computed and dumped once": ("CSF203", TOOL.format(found="look_up(call)", dumped="found")),
    "a display": ("CSF203", TOOL.format(found="None", dumped='{"error": str(result)}')),
    "only appended": ("CSF203", APPENDED.format(use="messages.append(tool_message(call, result))")),
    "rows": ("CSF303", ROWS.format(more=', "trace": message.trace')),
    "cleared on demand": ("CSF303", CLEARED.format(name="clear_history")),
    "a marker by its name": ("CSF301", SPLIT.format(name="split_cached_prompt")),
    "a setting": ("CSF301", GUIDED.format(name="auto_query_guidance")),
    "a chat that begins": ("CSF302", BEGUN.format(test="len(messages) == 1")),
    "a style": ("CSF301", GUIDED.format(name="query_style")),
    "anything behind the first": ("CSF303", BARE.format(least=1)),
}
FOUND = {
    "a long answer": ("CSF306", RETRY.format(test="len(text) > 90"), 6),
    "the newest first": ("CSF302", FIRST.format(content="user_text"), 5),
    "a chat": ("CSF306", SINGLE.format(more="messages.extend(history)"), 5),
    "every key": ("CSF404", KEY.format(first="print(request)"), 9),
    "handed in": ("CSF203", TOOL.format(found="None", dumped="result"), 6),
    "made for each request": ("CSF203", APPENDED.format(use="return [*messages, tool_message(call, result)]"), 5),
    "messages": ("CSF303", ROWS.format(more=""), 4),
    "trimmed": ("CSF303", CLEARED.format(name="trim_history"), 4),
    "no marker by its name": ("CSF301", SPLIT.format(name="joined_prompt"), 3),
    "at any length": ("CSF302", BEGUN.format(test="task"), 5),
    "the question": ("CSF301", GUIDED.format(name="query_text"), 3),
    "a window": ("CSF303", BARE.format(least=20), 3),
}


@pytest.mark.parametrize(("code", "program"), SILENT.values(), ids=SILENT)
def test_nothing_is_lost(code: str, program: str) -> None:
    [rule] = load_rules((code,))
    assert check_example(rule, program) == []


@pytest.mark.parametrize(("code", "program", "row"), FOUND.values(), ids=FOUND)
def test_its_twin_is_found(code: str, program: str, row: int) -> None:
    [rule] = load_rules((code,))
    assert row in [report.span.row for report in check_example(rule, program)]


MEMORY = """
class Agent:
    def __init__(self, client):
        self.context = BufferedChatCompletionContext(buffer_size=5)
        self.client = client

    async def handle(self, message):
        await self.context.add_message(message)
        return {use}
"""
READ = """
def ask(client, db, chat, text):
    {name} = db.get_messages(chat, limit=20)
    messages = [*{name}{end}, {{"role": "user", "content": text}}]
    return client.chat.completions.create(model="m", messages=messages)
"""
MADE = """
def build(history, thread, text):
    context = {made}
    return [{{"role": "system", "content": "You help."}}, {{"role": "user", "content": f"Known: {{context}}"}},
        *history, {{"role": "user", "content": text}}]
"""
NOTED = """
RULES = "Keep to the facts, name them by number, and do not guess. " * 1
def build(form, step):
    return [{first}, {{"role": "system", "content": f"Step {{step}} of 9. " + RULES}}]
"""


@pytest.mark.parametrize(
    ("use", "count"),
    [
        ("self.context.save_state()", 0),
        ("self.client.create(await self.context.get_messages())", 1),
        ("self.context", 1),
        ("self.client.run(self.context)", 1),
    ],
)
def test_a_memory_with_a_window_that_is_read(use: str, count: int) -> None:
    [rule] = load_rules(("CSF303",))
    assert len(check_example(rule, MEMORY.format(use=use))) == count


@pytest.mark.parametrize(("name", "end", "row"), [("rows", "", 2), ("history", "[-5:]", 3), ("rows", "[-5:]", 2)])
def test_a_window_in_a_window_is_one(name: str, end: str, row: int) -> None:
    [rule] = load_rules(("CSF303",))
    assert [report.span.row for report in check_example(rule, READ.format(name=name, end=end).lstrip())] == [row]


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("'\\n'.join(m.content for m in thread)", 0),
        ("'\\n'.join(look_up(text))", 1),
        ("f'{stage(history)}'", 1),
        ("format_docs(thread.documents)", 1),
    ],
)
def test_what_a_context_is_made_of(made: str, count: int) -> None:
    [rule] = load_rules(("CSF301",))
    assert len(check_example(rule, MADE.format(made=made))) == count


@pytest.mark.parametrize(
    ("first", "count"), [('{"role": "system", "content": "Go."}', 1), ('{"role": "user", "content": form}', 0)]
)
def test_a_system_text_behind_what_was_said_is_no_head(first: str, count: int) -> None:
    [rule] = load_rules(("CSF301",))
    assert len(check_example(rule, NOTED.format(first=first))) == count


LOADED = """
class Chat:
    def {name}(self, path):
        history = json.loads(path.read_text())
        self.history = history[-9:]

    def ask(self, client, text):
        self.history.append({{"role": "user", "content": text}})
        return client.chat.completions.create(model="m", messages=self.history)
"""


@pytest.mark.parametrize(("name", "count"), [("load_history", 0), ("resume", 0), ("cut_history", 1)])
def test_where_a_chat_begins_anew_nothing_slides(name: str, count: int) -> None:
    [rule] = load_rules(("CSF303",))
    assert len(check_example(rule, LOADED.format(name=name))) == count


CHOSEN = """
def ask(client, messages, question):
    if {first}:
        model = A
        if SEARCH:
            model = B
        return client.chat.completions.create(model=model, messages=messages)
    model = C
    {then}
    return client.chat.completions.create(model=model, messages=messages)
"""


@pytest.mark.parametrize(
    ("first", "then", "count"),
    [
        # Each branch has a request of its own.
        ("'x' in question", "pass", 0),
        ("WEB", "model = D if 'x' in question else C", 1),
    ],
)
def test_a_model_chosen_for_another_request(first: str, then: str, count: int) -> None:
    [rule] = load_rules(("CSF306",))
    assert len(check_example(rule, CHOSEN.format(first=first, then=then))) == count


TRIED = """
def ask(client, messages, backup):
    for {counter} in range(3):
        model = 'm'
        if {counter} > 0:
            model = backup
        client.chat.completions.create(model=model, messages=messages)
"""


@pytest.mark.parametrize(("counter", "count"), [("attempt", 0), ("retry", 0), ("step", 1)])
def test_the_same_request_once_more_is_no_turn(counter: str, count: int) -> None:
    [rule] = load_rules(("CSF306",))
    assert len(check_example(rule, TRIED.format(counter=counter))) == count
