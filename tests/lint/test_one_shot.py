"""One question and its system text: nothing behind the value is sent again."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

RULES = '"""' + "Answer from the book, with the page, in plain words and without a guess. " * 5 + '"""'
HEAD = f"import datetime\n\nRULES = {RULES}\n\n\n"


def codes(root: Path, text: str) -> list[str]:
    write(root, {"app.py": text})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


def clocked(text: str, sent: str = "[{'role': 'system', 'content': text}, {'role': 'user', 'content': asked}]") -> str:
    """A function that asks one question under a system text with the minute in it."""
    return HEAD + (
        f"def ask(client, asked, history):\n    now = f'{{datetime.datetime.now():%Y-%m-%d %H:%M}}'\n"
        f"    text = {text}\n"
        f"    return client.chat.completions.create(model='m', messages={sent})\n"
    )


LAST = "RULES + f'It is {now}.'"
BUILT = HEAD + (
    "def head():\n    parts = [RULES]\n    parts.append(f'It is {datetime.datetime.now():%H:%M}')\n"
    "    return '\\n'.join(parts)\n\n\n"
    "def run(client, asked):\n    text = head()\n"
    "    messages = [{'role': 'system', 'content': text}, {'role': 'user', 'content': asked}]\n"
    "    for _ in range(9):\n        answer = client.chat.completions.create(model='m', messages=messages)\n"
    "        messages.append({'role': 'assistant', 'content': answer})\n    return answer\n"
)
GIVEN_BACK = HEAD + (
    "def begin(asked):\n    text = RULES + f'It is {datetime.datetime.now():%H:%M}.'\n"
    "    return [{'role': 'system', 'content': text}, {'role': 'user', 'content': asked}]\n\n\n"
    "def ask(client, asked):\n"
    "    return client.chat.completions.create(model='m', messages=begin(asked))\n"
)


CALLED = HEAD + (
    "def ask(post, asked, history):\n    text = RULES + f'It is {datetime.datetime.now():%H:%M}.'\n"
    "    return post(system_prompt=text, KEY=asked)\n"
)


@pytest.mark.parametrize(
    ("key", "told"), [("brief", []), ("question", []), ("history", ["CSF101"]), ("page", ["CSF101"])]
)
def test_a_call_names_its_question(tmp_path: Path, key: str, told: list[str]) -> None:
    assert codes(tmp_path, CALLED.replace("KEY", key)) == told


@pytest.mark.parametrize(
    "program",
    [
        clocked(LAST),
        clocked("'{}\\n\\nIt is {} in the office.'.format(RULES, now)"),
        clocked("f'{RULES}\\n\\nIt is {now}.'"),
        BUILT,
        GIVEN_BACK,
        clocked("RULES + f'It is {now}. The question: {user_question}' + RULES").replace("asked", "user_question"),
    ],
    ids=["sum", "format", "fstring", "list", "given back", "the question behind it"],
)
def test_the_end_of_a_long_text_before_one_question(tmp_path: Path, program: str) -> None:
    assert codes(tmp_path, program) == []


@pytest.mark.parametrize(
    "program",
    [
        clocked("f'It is {now}.' + RULES"),
        clocked(LAST, "[{'role': 'system', 'content': text}, *history, {'role': 'user', 'content': asked}]"),
        clocked(LAST, "[{'role': 'system', 'content': text}, {'role': 'user', 'content': RULES}]"),
        clocked(LAST, "[{'role': 'system', 'content': text}, {'role': 'user', 'content': f'{RULES} {asked}'}]"),
        clocked("f'It is {now}.'"),
        BUILT.replace("[RULES]", "[]").replace("%H:%M}')", "%H:%M}')\n    parts.append(RULES)"),
    ],
    ids=["rules behind", "chat", "the same question", "rules in the question", "nothing in front", "list"],
)
def test_something_behind_it_is_sent_again(tmp_path: Path, program: str) -> None:
    assert set(codes(tmp_path, program)) == {"CSF101"}


def test_a_text_that_goes_elsewhere_as_well_is_kept(tmp_path: Path) -> None:
    named = clocked(LAST).replace("text", "system_prompt")
    assert codes(tmp_path, named) == []
    kept = named.replace("    return client", "    client.start_chat(system_prompt)\n    return client")
    assert codes(tmp_path, kept) == ["CSF101"]


RECALL = (
    "from jinja2 import Template\nfrom prompts import ANSWER\n\n\n"
    "def answer(client, memory, question, history):\n    memories = memory.search_memory(question)\n"
    "    text = Template(ANSWER).render(memories=memories, question=question)\n"
    "    return client.chat.completions.create(model='m', messages={})\n"
)


def test_what_is_recalled_for_one_question(tmp_path: Path) -> None:
    assert codes(tmp_path, RECALL.format("[{'role': 'system', 'content': text}]")) == []


def test_what_is_recalled_in_front_of_a_chat(tmp_path: Path) -> None:
    assert codes(tmp_path, RECALL.format("[{'role': 'system', 'content': text}, *history]"))[-1] == "CSF109"


JOINED = (
    "def build_system_prompt(question, memory_context):\n    lines = ['Think about it.', {}]\n"
    "    if memory_context:\n        lines.extend([memory_context[:500]])\n    lines.append('Answer.')\n"
    "    return '\\n'.join(lines)\n"
)


def test_memory_behind_the_question_is_new_with_it(tmp_path: Path) -> None:
    assert codes(tmp_path, JOINED.format("f'Asked: {question}'")) == []
    assert codes(tmp_path, JOINED.format("'Be kind.'")) == ["CSF109"]


def test_a_template_with_its_own_statements_is_no_broken_file(tmp_path: Path) -> None:
    broken = "import os\n{%- if spoken %}\nimport wave\n{%- endif %}\n"
    assert codes(tmp_path, broken) == []
    assert codes(tmp_path, broken.replace("{%-", "{").replace("%}", "}")) == ["CSF901"]


OWN = HEAD + (
    "class Helper:\n    def ask(self, asked):\n        text = RULES + f'It is {{datetime.datetime.now():%H:%M}}.'\n"
    "        return {call}\n\n"
    "    def send(self, system_prompt, prompt):\n        return self.client.ask(system_prompt, {sent})\n"
)


def test_a_method_that_keeps_the_chat_is_no_single_question(tmp_path: Path) -> None:
    call = "self.send(system_prompt=text, prompt=asked)"
    assert codes(tmp_path, OWN.format(call=call, sent="prompt")) == []
    assert codes(tmp_path, OWN.format(call=call, sent="[*self.history, prompt]")) == ["CSF101"]
    assert codes(tmp_path, OWN.format(call=call.replace("send", "talk"), sent="prompt")) == ["CSF101"]
    told = "self.talk(system_prompt=text, prompt=asked, history=[])"
    assert codes(tmp_path, OWN.format(call=told, sent="prompt")) == []


ORDERED = (
    "{rules}\n\n\ndef ask(client, history, asked, tags):\n    listed = ', '.join(set(tags))\n"
    "    text = f'About {{listed}}.'\n"
    "    return client.chat.completions.create(model='m', messages={sent})\n"
)


def test_an_order_before_one_question(tmp_path: Path) -> None:
    one = "[{'role': 'system', 'content': text}, {'role': 'user', 'content': asked}]"
    chat = "[{'role': 'system', 'content': text}, *history, {'role': 'user', 'content': asked}]"
    assert codes(tmp_path / "one", ORDERED.format(rules=HEAD, sent=one)) == []
    assert codes(tmp_path / "chat", ORDERED.format(rules=HEAD, sent=chat)) == ["CSF201"]
    fixed = ORDERED.format(rules=HEAD, sent=one).replace("{listed}.'", "{listed}. ' + RULES")
    assert codes(tmp_path / "fixed", fixed) == ["CSF201"]


def test_an_order_behind_the_question(tmp_path: Path) -> None:
    chat = "[{'role': 'system', 'content': text}, *history]"
    for made, code in (("set(tags)", "CSF201"), ("os.listdir('skills')", "CSF202")):
        program = "import os\n" + ORDERED.format(rules=HEAD, sent=chat).replace("set(tags)", made)
        program = program.replace("asked", "question")
        assert code in codes(tmp_path / "before", program.replace("{listed}.", "{listed}. {question}"))
        assert code not in codes(tmp_path / "behind", program.replace("About ", "{question} About "))


def test_what_was_put_away(tmp_path: Path) -> None:
    chat = clocked("f'It is {now}.' + RULES")
    write(tmp_path, {"archive/app.py": chat, "archives.py": chat})
    assert [place[0] for place in places(lint([tmp_path], cache=False).findings)] == ["archives.py"]


@pytest.mark.parametrize(
    ("path", "function", "expected"),
    [
        ("jobs/morning_digest.py", "ask", []),
        ("scheduler/notes.py", "ask", []),
        ("app.py", "send_reminder", []),
        ("app.py", "ask", ["CSF101"]),
        ("reminding.py", "ask", ["CSF101"]),
    ],
)
def test_a_job_that_a_timer_starts(tmp_path: Path, path: str, function: str, expected: list[str]) -> None:
    program = clocked("f'It is {now}. ' + RULES").replace("def ask(", f"def {function}(")
    write(tmp_path, {path: program})
    assert [code for _, _, code in places(lint([tmp_path], cache=False).findings)] == expected


def test_a_date_in_such_a_job_is_told(tmp_path: Path) -> None:
    program = clocked("f'It is {now}. ' + RULES").replace(" %H:%M", "")
    write(tmp_path, {"jobs/daily_digest.py": program})
    assert [code for _, _, code in places(lint([tmp_path], cache=False).findings)] == ["CSF103"]


def test_a_field_by_the_name_of_a_constant(tmp_path: Path) -> None:
    sent = "[{'role': 'system', FIELD_CONTENT: text}, {'role': 'user', FIELD_CONTENT: asked}]"
    assert codes(tmp_path, clocked(LAST, sent).replace("\n\nRULES", "\n\nFIELD_CONTENT = 'content'\nRULES")) == []
