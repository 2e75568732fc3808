"""A window is told where what it leaves is seen to be sent, by code that somebody runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from cachesafe_rules import window_memories
from pytest_cachesafe.lint.run import lint

SEND = "client.chat.completions.create(model='m', messages={})"
HEAD = "[{'role': 'system', 'content': 'You help.'}, "
BUILDER = f"""
def build(history, text):
    return {HEAD}*history[-8:], {{'role': 'user', 'content': text}}]
"""
CALLER = "from chat import build\n\n\ndef answer(client, history, text):\n    {}\n"
KEEPER = """
class Chat:
    def keep(self, text):
        self.messages.append({{'role': 'user', 'content': text}})
        self.messages = self.messages[-8:]
        note = {HEAD}{{'role': 'user', 'content': text}}, *self.messages]
        {first}

    def answer(self, client, text):
        self.keep(text)
        {second}
"""
ROWS = "".join(f"ROW_{number} = {number}\n" for number in range(45))
# More files than those of which it is asked who takes them in.
OTHERS = {f"parts/part_{number}.py": "" for number in range(11)}


def told(root: Path, files: dict[str, str]) -> bool:
    write(root, files)
    return "CSF303" in [code for _, _, code in places(lint([root], cache=False).findings)]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"return {SEND.format('build(history, text)')}", True),
        (f"messages = build(history, text)\n    return {SEND.format('messages')}", True),
        (f"messages = list(build(history, text))\n    return {SEND.format('[*messages]')}", True),
        ("lines = [m['content'] for m in build(history, text)]\n    return client.invoke('\\n'.join(lines))", True),
        (f"return run(lambda: 1, {SEND.format('build(history, text)')})", True),
        ("return ask(client, build(history, text))\n\n\ndef ask(llm, given):\n    return llm.invoke(given)", True),
        (
            "import asyncio\n    args = build(history, text)\n"
            "    return asyncio.to_thread(client.chat.completions.create, model='m', messages=args)",
            True,
        ),
        (
            "fields = dict(history=build(history, text))\n    return ask(client, **fields)\n\n\n"
            "def ask(llm, history):\n    return llm.invoke(history)",
            True,
        ),
        ("return LLMChain(llm=client, memory=build(history, text))", True),
        ("return session.run_turn(client, history=build(history, text))", True),
        ("return Record.objects.create(messages=build(history, text))", False),
        ("return session.run_turn(client, rows=build(history, text))", False),
        ("print(build(history, text))", False),
        ("store(build(history, text))\n\n\ndef store(given):\n    DB.upsert_item(given)", False),
        ("last = build(history, text)[-1]\n    return client.invoke([last])", False),
        ("count = len(build(history, text))\n    return client.invoke([count])", False),
        ("return {'messages': 1 if build(history, text) else client.invoke('Hello')}", False),
    ],
    ids=[
        "argument", "name", "copied", "joined", "inside", "handed-on", "thread", "fields", "memory", "turn", "record",
        "rows", "shown", "stored", "one-message",
        "counted", "asked-for",
    ],
)  # fmt: skip
def test_what_is_cut_is_seen_to_be_sent(tmp_path: Path, body: str, found: bool) -> None:
    assert told(tmp_path, {"chat.py": BUILDER, "app.py": CALLER.format(body)}) is found


@pytest.mark.parametrize(
    ("second", "found"), [(f"return {SEND.format('self.messages')}", True), ("return client.count(text)", False)]
)
def test_a_list_that_is_cut_in_place_is_sent_by_another_method(tmp_path: Path, second: str, found: bool) -> None:
    chat = KEEPER.format(HEAD=HEAD, first="DB.upsert_item(note)", second=second)
    app = "from chat import Chat\n\n\ndef answer(client, text):\n    return Chat().answer(client, text)\n"
    assert told(tmp_path, {"chat.py": chat, "app.py": app}) is found


# The project goes on without a file that nobody takes in, where others use what that file takes in.
SHARED = "from parts import part_0\n"


@pytest.mark.parametrize(
    ("more", "changed", "found"),
    [
        ("", {}, False),
        ("", {"app.py": "import bots.chat\n"}, True),
        ("", {"app.py": "PLUGINS = ['bots.chat:answer']\n"}, True),
        ("", {"app.py": "import history\n"}, False),
        ("", {"tests/test_chat.py": "import bots.chat\n"}, True),
        ("", {"tests/test_chat.py": "import history\n"}, False),
        ("", {"parts/part_1.py": ""}, True),
        ("\n\nif __name__ == '__main__':\n    answer(1, [], input())\n", {}, True),
        ("\n\n@app.post('/chat')\ndef chat(body):\n    return answer(1, body.history, body.text)\n", {}, True),
    ],
    ids=["by-nobody", "imported", "by-its-name", "another", "by-a-test", "another-test", "alone", "run", "handler"],
)
def test_somebody_takes_the_file_in(tmp_path: Path, more: str, changed: dict[str, str], found: bool) -> None:
    sends = f"\n\ndef answer(client, history, text):\n    return {SEND.format('build(history, text)')}\n"
    files = {
        "bots/chat.py": f"{SHARED}\n{ROWS}\n{BUILDER}{sends}{more}",
        "bots/__init__.py": "",
        "app.py": "",
        "history.py": "",
        **OTHERS,
        "parts/part_1.py": SHARED,
    }
    assert told(tmp_path, files | changed) is found


def test_few_files_are_run_from_outside(tmp_path: Path) -> None:
    sends = f"\n\ndef answer(client, history, text):\n    return {SEND.format('build(history, text)')}\n"
    files = {"bots/chat.py": f"{SHARED}\n{ROWS}\n{BUILDER}{sends}", "parts/part_0.py": "", "parts/part_1.py": SHARED}
    assert told(tmp_path, files)
    assert not told(tmp_path, OTHERS | files)


@pytest.mark.parametrize(("name", "found"), [("get_messages", True), ("get_messages_for_query", False)])
def test_what_is_chosen_for_the_question_is_no_window(tmp_path: Path, name: str, found: bool) -> None:
    body = f"""
from memory import {name}


def answer(client, text):
    history = {name}(text, limit=8)
    return {SEND.format(HEAD + "*history, {'role': 'user', 'content': text}]")}
"""
    assert told(tmp_path, {"chat.py": body}) is found


@pytest.mark.parametrize(("other", "rows"), [("history", [6]), ("conversation", [6, 8])])
def test_cuts_of_one_list_in_one_function_are_one_report(tmp_path: Path, other: str, rows: list[int]) -> None:
    chat = f"""
def answer(client, history, conversation, text):
    history.append(text)
    conversation.append(text)
    if SHORT:
        sent = history[-4:]
    else:
        sent = {other}[-20:]
    return {SEND.format("sent")}
"""
    write(tmp_path, {"chat.py": chat})
    found = [finding for finding in lint([tmp_path], cache=False).findings if finding.code == "CSF303"]
    assert [finding.location.row for finding in found] == rows
    # The other place is a step of it.
    assert {6, 8} <= {step.row for finding in found for step in finding.flow} | set(rows)


@pytest.mark.parametrize(("app", "found"), [("import bots.chat\n", True), ("import bots\n", False)])
def test_other_rules_on_histories_ask_for_it_as_well(tmp_path: Path, app: str, found: bool) -> None:
    chat = f"""{SHARED}
{ROWS}
def answer(client, history, question):
    return {SEND.format("[{'role': 'user', 'content': question}, *history]")}


def count(history):
    return len(history)
"""
    write(
        tmp_path,
        {
            "bots/chat.py": chat,
            "bots/__init__.py": "",
            "app.py": app,
            **OTHERS,
            "parts/part_1.py": SHARED,
        },
    )
    codes = [code for _, _, code in places(lint([tmp_path], cache=False).findings)]
    assert ("CSF302" in codes) is found


FETCH = """
def answer(client, chat_id, text):
    history = get_history(chat_id, limit=20)
    turns = [{{'role': m.role, 'content': m.text}} for m in history]
    {body}
    return {send}
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("turns = turns[-10:]", False),
        ("turns = [turns[0], *turns[-10:]]", False),
        ("turns = turns[:1] + turns[-10:]", False),
        ("turns = turns[-10:] if len(turns) > 10 else turns", False),
        ("try:\n        turns = turns[-10:]\n    except TypeError:\n        return None", False),
        ("try:\n        turns = turns[-10:]\n    except TypeError:\n        print('whole')", True),
        ("if SHORT:\n        turns = turns[-10:]", True),
        ("last = turns[-10:]", True),
        ("turns = turns + notes[-10:]", True),
    ],
    ids=["cut", "first", "head", "longer", "try", "try-goes-on", "sometimes", "other", "added"],
)
def test_where_it_is_cut_again_the_first_cut_is_no_window(tmp_path: Path, body: str, found: bool) -> None:
    write(tmp_path, {"chat.py": FETCH.format(body=body, send=SEND.format(HEAD + "*turns]"))})
    rows = [row for _, row, code in places(lint([tmp_path], cache=False).findings) if code == "CSF303"]
    assert (3 in rows) is found


def test_what_a_function_gives_back_goes_to_the_call_that_led_to_it(tmp_path: Path) -> None:
    chat = f"""
def lines(given):
    return [{{'role': m.role, 'content': m.text}} for m in given]


def build(chat_id):
    history = get_history(chat_id, limit=20)
    turns = lines(history)
    print({HEAD}*turns])


def answer(client, asked, text):
    sent = lines(asked)
    return {SEND.format(HEAD + "*sent]")}
"""
    assert not told(tmp_path, {"chat.py": chat})
    assert told(tmp_path, {"chat.py": chat.replace("print", "return client.invoke")})


def test_helpers_that_are_passed_on_the_way_are_no_way_of_their_own(tmp_path: Path) -> None:
    helpers = "".join(f"\n\n\ndef step_{n}(given):\n    return [m for m in given if m != {n}]" for n in range(3))
    body = f"""kept = step_0(build(history, text))
    short = step_1(kept)
    messages = step_2(short)
    return {SEND.format("messages")}{helpers}
"""
    assert told(tmp_path, {"chat.py": BUILDER, "app.py": CALLER.format(body)})


MODEL = """
{load}


def answer(model, tokenizer, history, text):
    ids = tokenizer.apply_chat_template({messages})
    return model.generate(ids, max_new_tokens=400{more})
"""


@pytest.mark.parametrize(
    ("load", "more", "found"),
    [
        ("from transformers import AutoModelForCausalLM", "", False),
        ("from transformers import AutoModelForCausalLM", ", past_key_values=CACHE", True),
        ("from engine import Model", "", True),
    ],
    ids=["computed-anew", "with-a-cache", "engine"],
)
def test_a_model_without_a_cache_loses_nothing_by_a_window(tmp_path: Path, load: str, more: str, found: bool) -> None:
    messages = HEAD + "*history[-8:], {'role': 'user', 'content': text}]"
    assert told(tmp_path, {"chat.py": MODEL.format(load=load, messages=messages, more=more)}) is found


def test_what_a_template_makes_may_go_to_a_server(tmp_path: Path) -> None:
    local = MODEL.format(load="import torch", messages=HEAD + "*history[-8:]]", more="")
    served = "    return model.generate(ids, max_new_tokens=400)", "    return client.completions.create(prompt=ids)"
    other = "\n\ndef other(model, ids):\n    return model.generate(ids, max_new_tokens=400)\n"
    assert told(tmp_path, {"chat.py": local.replace(*served) + other})


AGENT = """from strands import Agent
from strands.agent.conversation_manager import SlidingWindowConversationManager


def work(tasks, model):
    manager = SlidingWindowConversationManager(window_size=20)
    agent = Agent(model=model, system_prompt="You help.", conversation_manager=manager)
    {}
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return str(agent(tasks))", False),
        ("return agent.invoke_async(tasks)", False),
        ("return agent.tool.think(tasks), agent.tool.weigh(tasks)", False),
        ("return [agent(task) for task in tasks]", True),
        ("for task in tasks:\n        agent(task)", True),
        ("agent(tasks[0])\n    return agent(tasks[1])", True),
        ("return agent", True),
        ("return loop(agent)", True),
    ],
)
def test_an_agent_that_is_asked_once_drops_nothing(tmp_path: Path, body: str, found: bool) -> None:
    assert told(tmp_path, {"work.py": AGENT.format(body), "app.py": "from work import work\n"}) is found


@pytest.mark.parametrize(("name", "size"), sorted(window_memories._WINDOWS.items()))
def test_a_memory_is_told_in_a_file_that_says_nothing_else_of_chats(tmp_path: Path, name: str, size: str) -> None:
    text = f"from parts import Agent, {name}\n\n\ndef work(task, model):\n"
    text += f"    return Agent(model=model, memory={name}({size}=9))\n"
    assert told(tmp_path, {"work.py": text})
