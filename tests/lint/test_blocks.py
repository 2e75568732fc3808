"""Blocks of a system text and their markers, put together by helpers and loops, and choices made inside of a chat."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint


def rows(root: Path, text: str, code: str) -> list[int]:
    write(root, {"app.py": text})
    return [row for _, row, found in places(lint([root], cache=False).findings) if found == code]


BLOCKS = """
import anthropic

client = anthropic.Anthropic()
GUIDE = open("guide.md").read()


def show(found):
    lines = []
    for one in found:
        lines.append(one.text)
    return "\\n".join(lines)


def block(text, cached=False):
    made = {{"type": "text", "text": text}}
    if cached:
        made["cache_control"] = {{"type": "ephemeral"}}
    return made


def head(text, index, customer_id):
    {head}
    return blocks


def ask(text, index, customer_id, history):
    return client.messages.create(
        model="m", max_tokens=9, system=head(text, index, customer_id), messages={messages}
    )
"""
SINGLE = "[{'role': 'user', 'content': text}]"


def program(head: str, messages: str = SINGLE) -> str:
    return BLOCKS.format(head=head, messages=messages)


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("blocks = [block(show(index.search(text))), block(GUIDE)]", True),
        ("blocks = [block(GUIDE), block(show(index.search(text)))]", False),
        # What is found is the same each time.
        ("blocks = [block(show(index.search('start'))), block(GUIDE)]", False),
        # A closing line is worth no entry.
        ("blocks = [block(show(index.search(text))), block('Be brief.')]", False),
        ("blocks = [block(GUIDE)]; blocks.insert(0, block(show(index.closest(text))))", True),
        ("blocks = [block(GUIDE)]; blocks.append(block(show(index.closest(text))))", False),
        ("blocks = [block(t) for t in (show(index.find(text)), GUIDE)]", True),
        ("blocks = [block(show(index.find(text)))]; blocks += [block(GUIDE)]", True),
        ("blocks = [block(GUIDE)] + [block(show(index.find(text)))]", False),
    ],
)
def test_what_is_found_for_the_question_stands_before_fixed_blocks(tmp_path: Path, head: str, found: bool) -> None:
    assert bool(rows(tmp_path, program(head), "CSF301")) is found


@pytest.mark.parametrize(
    ("head", "messages", "found"),
    [
        ("blocks = [block(GUIDE), block(show(index.search(text)), cached=True)]", SINGLE, True),
        ("blocks = [block(GUIDE), block(show(index.search(text)), cached=False)]", SINGLE, False),
        ("blocks = [block(GUIDE, cached=True), block(show(index.search(text)))]", SINGLE, False),
        ("blocks = [block(GUIDE)]; blocks.append(block(load(customer_id).orders, cached=True))", SINGLE, True),
        # The customer stays the same in a chat; a second marker lets all share the front; tenants are few.
        ("blocks = [block(GUIDE)]; blocks.append(block(load(customer_id).orders, cached=True))", "history", False),
        ("blocks = [block(GUIDE), block(load('demo').orders, cached=True)]", SINGLE, False),
    ],
)
def test_the_marker_is_on_a_block_that_changes(tmp_path: Path, head: str, messages: str, found: bool) -> None:
    assert bool(rows(tmp_path, program(head, messages), "CSF401")) is found


MARKED = "'cache_control': {'type': 'ephemeral'}"


@pytest.mark.parametrize(
    ("last", "found"),
    [
        ("blocks[-1]['cache_control'] = {'type': 'ephemeral'}", True),
        ("blocks[0]['cache_control'] = {'type': 'ephemeral'}", False),
    ],
)
def test_a_marker_is_set_behind_the_list(tmp_path: Path, last: str, found: bool) -> None:
    head = f"blocks = [{{'type': 'text', 'text': GUIDE}}, {{'type': 'text', 'text': show(index.find(text))}}]; {last}"
    assert bool(rows(tmp_path, program(head), "CSF401")) is found


LOOPS = """
PARTS = ["a", "b", "c", "d", "e"]
TEXTS = {name: load(name) for name in PARTS}


def blocks_of(given):
    blocks = []
    %s
    return blocks


def ask(client, messages, given):
    return client.messages.create(model="m", max_tokens=9, system=blocks_of(given), messages=messages)
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"for p in PARTS:\n        blocks.append({{'type': 'text', 'text': p, {MARKED}}})", True),
        (f"for p in PARTS[:3]:\n        blocks.append({{'type': 'text', 'text': p, {MARKED}}})", False),
        (f"for p in given:\n        blocks.append({{'type': 'text', 'text': p, {MARKED}}})", False),
        (f"blocks += [{{'type': 'text', 'text': t, {MARKED}}} for t in TEXTS.values()]", True),
        (f"blocks += [{{'type': 'text', 'text': t, {MARKED}}} for t in TEXTS.values() if t]", False),
        (f"for n in range(4):\n        blocks.append({{'type': 'text', 'text': str(n), {MARKED}}})", False),
        (f"for n in range(5):\n        blocks.append({{'type': 'text', 'text': str(n), {MARKED}}})", True),
        (f"for p in PARTS:\n        if p == 'e':\n            blocks.append({{'type': 'text', {MARKED}}})", False),
        (
            f"for p in PARTS:\n        blocks.append({{'type': 'text', 'text': p, {MARKED}}})\n"
            "        if len(blocks) > 3:\n            break",
            False,
        ),
    ],
)
def test_a_loop_of_known_length_marks_each_block(tmp_path: Path, body: str, found: bool) -> None:
    assert bool(rows(tmp_path, LOOPS % body, "CSF402")) is found


AGENT = """
def level(number):
    if number >= 2:
        return "high"
    return "low"


class Picker:
    def pick(self, text):
        return [TOOLS[hit.name] for hit in self.store.similarity_search(text)]


picker = Picker()


def audit(client, task):
    tools = list(TOOLS)
    items = [{{"role": "user", "content": task}}]
    failures = 0
    effort = level(len(task))
    for number in range(9):
        {change}
        answer = client.responses.create(model="m", input=items, tools=tools, reasoning={{"effort": {effort}}})
        items += answer.output
        failures += answer.failed
    return items
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("if failures > 1: tools.append(HANDOVER)", True),
        ("if failures > 1: tools.remove(SEARCH)", True),
        ("if failures > 1: tools = [*tools, HANDOVER]", True),
        # Before the first request it is no change.
        ("if number == 0: tools.append(HANDOVER)", False),
        ("if failures > 1: break", False),
        ("pass", False),
    ],
)
def test_a_loop_changes_the_tools_of_its_chat(tmp_path: Path, change: str, found: bool) -> None:
    assert bool(rows(tmp_path, AGENT.format(change=change, effort="effort"), "CSF305")) is found


@pytest.mark.parametrize(
    ("effort", "found"), [("level(number)", True), ("level(failures)", True), ("effort", False), ("'high'", False)]
)
def test_a_helper_works_out_the_effort_of_a_round(tmp_path: Path, effort: str, found: bool) -> None:
    text = AGENT.format(change="pass", effort=effort)
    assert bool(rows(tmp_path, text, "CSF306")) is found
    # A helper that knows one level only.
    assert not rows(tmp_path, text.replace('"high"', '"low"').replace("'high'", '"low"'), "CSF306")


@pytest.mark.parametrize(("tools", "found"), [("picker.pick(text)", True), ("TOOLS", False)])
def test_a_method_picks_tools_for_the_message(tmp_path: Path, tools: str, found: bool) -> None:
    text = AGENT.format(change="pass", effort="'low'") + (
        "\n\ndef step(llm, history, text):\n"
        "    history.append(HumanMessage(content=text))\n"
        f"    bound = llm.bind_tools({tools})\n"
        "    return bound.invoke([SYSTEM, *history])\n"
    )
    assert bool(rows(tmp_path, text, "CSF305")) is found
