"""In a project of several files one function must show that something differs within one chat, each with its twin."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

CREATE = "client.chat.completions.create"


def codes(root: Path, text: str, alone: bool = False) -> list[str]:
    """The codes for a file that another one takes in, or for one that nobody does."""
    write(root, {"app.py": text} if alone else {"app.py": text, "start.py": "import app\n\napp.run()\n"})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


LOOP = (
    "def run(client, task, limit, last):\n"
    "    messages = [{{'role': 'system', 'content': 'You help.'}}, {{'role': 'user', 'content': task}}]\n"
    "    turn = 0\n"
    "    for {count} in range(limit):\n"
    "        {before}\n"
    "        answer = client.chat.completions.create(model={model}, messages=messages, tools={tools})\n"
    "        {grow}\n"
)


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({"tools": "[] if step == limit - 1 else TOOLS"}, True),
        # Another name for it, and a counter of the loop's own.
        ({"before": "final = step == limit - 1", "tools": "[] if final else TOOLS"}, True),
        ({"before": "turn += 1", "tools": "[] if turn > 3 else TOOLS"}, True),
        ({"before": "turn -= 1", "tools": "[] if turn < 3 else TOOLS"}, True),
        ({"tools": "TOOLS if len(messages) > 5 else []"}, True),
        # What the function was given is the same in each round.
        ({"tools": "[] if last_step else TOOLS"}, False),
        ({"tools": "TOOLS if 'weather' in task else []"}, False),
        # The same request once more, or a new chat in each round.
        ({"count": "attempt", "tools": "[] if attempt == limit - 1 else TOOLS"}, False),
        ({"grow": "print(answer)", "tools": "[] if step == limit - 1 else TOOLS"}, False),
        ({"before": "messages = [{'role': 'user', 'content': task}]", "tools": "[] if step else TOOLS"}, False),
    ],
)
def test_a_loop_that_lets_its_chat_grow(tmp_path: Path, parts: dict[str, str], found: bool) -> None:
    grow = "messages.append(answer.choices[0].message)"
    text = LOOP.format(**{"count": "step", "before": "pass", "grow": grow, "model": "'m'"} | parts)
    assert ("CSF305" in codes(tmp_path, text)) is found


def test_both_branches_give_another_model(tmp_path: Path) -> None:
    fixed = {"count": "step", "before": "pass", "grow": "messages.append(answer)", "tools": "TOOLS"}
    two = LOOP.format(**fixed, model="'big' if step > 3 else 'small'")
    same = LOOP.format(**fixed, model="settings.model if step > 3 else settings.model")
    calls = LOOP.format(**fixed, model="load('big') if step > 3 else load('small')")
    assert "CSF306" in codes(tmp_path, two)
    assert "CSF306" in codes(tmp_path, calls)
    assert "CSF306" not in codes(tmp_path, same)


ASK = (
    "import random\n\n"
    "def ask(client, history, question, other):\n"
    "    sent = [*history, {{'role': 'user', 'content': f'Q: {{question}}'}}]\n"
    "    model = {model}\n"
    f"    return {CREATE}(model=model, messages=sent)\n\n\n"
    "def route(text):\n"
    "    if 'prove' in text:\n"
    "        return 'big'\n"
    "    return 'small'\n"
)


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("'big' if 'prove' in question else 'small'", True),
        ("'big' if len(history) > 9 else 'small'", True),
        ("'big' if len(history[-1]['content']) > 99 else 'small'", True),
        ("route(question)", True),
        ("pick_model(question)", True),
        ("random.choice(MODELS)", True),
        # None of this is seen to stand in the newest message.
        ("'big' if 'prove' in hard_question else 'small'", False),
        ("route(query)", False),
        ("pick_model(query)", False),
    ],
)
def test_the_newest_message_chooses(tmp_path: Path, model: str, found: bool) -> None:
    text = ASK.format(model=model).replace("other)", "query, hard_question)")
    assert ("CSF306" in codes(tmp_path, text)) is found


@pytest.mark.parametrize("alone", [True, False])
def test_a_short_file_that_nobody_imports_is_taken_as_it_stands(tmp_path: Path, alone: bool) -> None:
    text = ASK.format(model="'big' if 'prove' in other_question else 'small'").replace("other)", "other_question)")
    assert ("CSF306" in codes(tmp_path, text, alone)) is alone


SENDS = f"    return {CREATE}(model='m', messages=messages)\n"
HANDS_ON = "    return {'messages': messages, 'count': len(messages)}\n"
INSERTED = (
    "def ask(client, history, question, note):\n"
    "    messages = list(history)\n"
    "    docs = search(question)\n"
    "    messages.insert(0, {'role': 'system', 'content': f'Known: {%s}'})\n"
)
SHORTENED = (
    "def ask(client, messages):\n"
    "    for message in messages[:-3]:\n"
    "        message['content'] = message['content'][:99]\n"
)
SUMMARISED = (
    "def ask(client, history):\n"
    "    summary = summarize(history[:-4])\n"
    "    messages = [{'role': 'system', 'content': summary}, *history[-4:]]\n"
)


@pytest.mark.parametrize(
    ("code", "text"), [("CSF302", INSERTED % "docs"), ("CSF307", SHORTENED), ("CSF304", SUMMARISED)]
)
def test_the_list_itself_is_sent_by_the_function(tmp_path: Path, code: str, text: str) -> None:
    assert code in codes(tmp_path, text + SENDS)
    assert code not in codes(tmp_path, text + HANDS_ON)


def test_an_inserted_text_is_seen_to_change(tmp_path: Path) -> None:
    assert "CSF302" not in codes(tmp_path, INSERTED % "note" + SENDS)


def test_an_edit_in_a_helper_of_the_sender_is_seen(tmp_path: Path) -> None:
    helper = SHORTENED.replace("def ask(client, messages)", "def cut(messages)")
    assert "CSF307" in codes(tmp_path, f"{helper}\n\ndef ask(client, messages):\n    cut(messages)\n{SENDS}")
    assert "CSF307" not in codes(tmp_path, f"{helper}\n\ndef ask(client, messages):\n    cut(client.rows)\n{SENDS}")


def test_a_list_that_is_handed_to_the_sender(tmp_path: Path) -> None:
    sender = f"\n\ndef send(client, messages):\n{SENDS}"
    given = f"{SHORTENED}    return send(client, messages)\n"
    assert "CSF307" in codes(tmp_path, given + sender)
    assert "CSF307" not in codes(tmp_path, given.replace("send(client, messages)", "send(client, [])") + sender)


def test_an_insert_in_a_branch_that_the_request_is_not_in(tmp_path: Path) -> None:
    insert = (INSERTED % "docs").rpartition("    messages.insert")
    call = f"    if note:\n        messages.insert{insert[2]}"
    other = f"    else:\n    {SENDS}    return show(messages)\n"
    assert "CSF302" in codes(tmp_path, insert[0] + call + SENDS)
    assert "CSF302" not in codes(tmp_path, insert[0] + call + other)


def test_the_order_of_a_result_is_not_seen(tmp_path: Path) -> None:
    start = "import json\n\n\ndef build(history, result):\n"
    result = "    return [*history, {'role': 'tool', 'tool_call_id': 'a', 'content': json.dumps(result)}]\n"
    assert "CSF203" not in codes(tmp_path / "taken", start + result)
    assert "CSF203" in codes(tmp_path / "alone", start + result, alone=True)


COUNTED = "    system = f'You drive a browser, step {step}. ' + RULES\n"
ASKED = (
    f"        answer = {CREATE}(model='m', messages=[{{'role': 'system', 'content': system}}, *history])\n"
    "        history.append(answer)\n"
)


def test_a_counter_is_counted_up_around_the_text(tmp_path: Path) -> None:
    loop = f"def run(client, history):\n    for step in range(9):\n    {COUNTED}{ASKED}"
    state = COUNTED.replace("{step}", "{run.current_step}")
    given = f"def run(client, history, run):\n    while True:\n    {state}{ASKED}"
    counted = given.replace("while True:\n", "while True:\n        run.current_step += 1\n")
    assert "CSF110" in codes(tmp_path, loop)
    assert "CSF110" not in codes(tmp_path, given)
    assert "CSF110" in codes(tmp_path, counted)


def test_a_counter_of_the_caller(tmp_path: Path) -> None:
    text = (
        "class Agent:\n"
        "    def system(self, history):\n"
        "        text = f'You drive a browser, step {self.current_step}. ' + RULES\n"
        "        return [{'role': 'system', 'content': text}, *history]\n\n"
        "    def run(self, client, history):\n"
        "        self.current_step += 1\n"
        f"        return {CREATE}(model='m', messages=self.system(history))\n"
    )
    assert "CSF110" in codes(tmp_path, text)
    assert "CSF110" not in codes(tmp_path, text.replace("self.current_step += 1", "print(history)"))


def test_a_random_text_is_sent_and_no_field_beside_one(tmp_path: Path) -> None:
    start = "import random\nimport uuid\n\n\ndef ask(client, history):\n"
    chosen = "random.choice(['You are kind.', 'You are brief.'])"
    sent = f"    system = {{'role': 'system', 'content': {chosen}}}\n    return {CREATE}(messages=[system, *history])\n"
    assert "CSF104" in codes(tmp_path, start + sent)
    assert "CSF104" not in codes(
        tmp_path, f"{start}    return {{'model': 'm', 'sys_prompt': {chosen}, 'n': history}}\n"
    )
