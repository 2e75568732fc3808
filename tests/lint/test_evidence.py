"""What looks like a changing prefix and is none: the kinds that readers of real reports rejected, with their twins."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint


def codes(root: Path, **files: str) -> list[str]:
    """The codes of the findings in a project of these files."""
    write(root, {f"{name}.py": text for name, text in files.items()})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


def ask(system: str, before: str = "", head: str = "") -> str:
    """A function that sends `system` in front of a chat, after the statements of `before`."""
    body = "".join(f"    {line}\n" for line in before.splitlines())
    return (
        f"{head}\n\ndef ask(client, history, words, folder):\n{body}"
        f'    messages = [{{"role": "system", "content": {system}}}, *history]\n'
        '    return client.chat.completions.create(model="m", messages=messages)\n'
    )


# Rounds of a loop in no fixed order: the order counts where the rounds are collected, and only there.
COLLECTED = (
    "lines = []\nfor word in set(words):\n    lines.append(word)",
    "lines = ''\nfor word in set(words):\n    lines += word",
    "lines = ''\nfor word in set(words):\n    lines = lines + word",
    "lines = ''\nfor word in set(words):\n    lines = f'{lines}, {word}'",
    "lines = [w.upper() for w in set(words)]",
    "lines = []\nfor i, word in enumerate(set(words)):\n    lines.append(word)",
    "table = {}\nfor word in set(words):\n    table[word] = 1\nlines = list(table)",
    "lines = str({w: 1 for w in set(words)})",
)
TAKEN = (
    "lines = 'x'\nfor word in set(words):\n    lines = lines.replace('{' + word + '}', word)",
    "lines = 'x'\nfor i, word in enumerate(set(words)):\n    lines = lines.replace(word, f'<{word}>')",
    "lines = ''\nfor word in set(words):\n    parts = []\n    parts.append(word)\n    lines = ''.join(parts)",
    "table = {w: w.upper() for w in set(words)}\nlines = table['x']",
    "table = {w: w.upper() for w in set(words)}\nlines = table.get('x', '')",
)


@pytest.mark.parametrize("before", COLLECTED)
def test_an_order_that_is_collected_in_a_loop_arrives(tmp_path: Path, before: str) -> None:
    assert codes(tmp_path, app=ask("f'You know {lines}.'", before)) == ["CSF201"]


@pytest.mark.parametrize("before", TAKEN)
def test_what_one_round_takes_has_no_order(tmp_path: Path, before: str) -> None:
    assert codes(tmp_path, app=ask("f'You know {lines}.'", before)) == []


def test_each_file_of_a_folder_is_asked_about_by_itself(tmp_path: Path) -> None:
    program = (
        "import os\n\n\ndef review(client, folder, history):\n    for name in os.listdir(folder):\n"
        '        client.chat.completions.create(model="m", messages=[\n'
        '            {"role": "system", "content": f"Review {name}."}, *history])\n'
    )
    assert codes(tmp_path, app=program) == []


def test_texts_drawn_from_a_data_set_are_each_the_same(tmp_path: Path) -> None:
    program = (
        "import random\n\n\nclass Probe:\n    def load(self, rows):\n"
        "        self.system_prompts = random.sample(rows, 5)\n\n"
        "    def run(self, client, history):\n        for text in self.system_prompts:\n"
        '            first = {"role": "system", "content": text}\n'
        '            client.chat.completions.create(model="m", messages=[first, *history])\n'
    )
    assert codes(tmp_path, app=program) == []


@pytest.mark.parametrize("name", ["TEAM_RULES", "KB_ID", "DEFAULT_TIMEZONE", "SEARCH_ROUNDS", "ANSWER_STYLE"])
def test_a_setting_in_the_environment_is_no_volatile_value(tmp_path: Path, name: str) -> None:
    assert codes(tmp_path, app=ask(f"f'Follow {{os.environ[{name!r}]}}.'", head="import os\n")) == []


@pytest.mark.parametrize("name", ["SHELL", "HOME", "LC_ALL", "COMSPEC", "MY_WORKING_DIRECTORY"])
def test_what_the_environment_says_of_the_machine_is_one(tmp_path: Path, name: str) -> None:
    assert codes(tmp_path, app=ask(f"f'You see {{os.environ[{name!r}]}}.'", head="import os\n")) == ["CSF106"]


@pytest.mark.parametrize(
    "zone",
    ["datetime.now().astimezone().tzinfo", "datetime.now().astimezone().strftime('%Z')", "time.strftime('%z')"],
)
def test_the_zone_of_a_clock_is_not_its_time(tmp_path: Path, zone: str) -> None:
    head = "import time\nfrom datetime import datetime\n"
    assert codes(tmp_path, app=ask(f"f'Times are {{{zone}}}.'", head=head)) == []


def test_a_zone_beside_a_time_is_one(tmp_path: Path) -> None:
    assert codes(tmp_path, app=ask("time.strftime('%H:%M %Z')", head="import time\n")) == ["CSF101"]


# A constant that stands unused beside code.
DEAD = (
    "from datetime import date\n\nSYSTEM_PROMPT = f'It is {date.today()}.'\n\n\n"
    "def ask(client, history):\n    return client.send(history)\n"
)


def test_a_constant_that_nobody_reads_is_sent_to_nobody(tmp_path: Path) -> None:
    other = "SYSTEM_PROMPT = 'You help.'\n"
    assert codes(tmp_path, planner=DEAD, other=other) == []
    assert codes(tmp_path, planner=DEAD, other="from planner import SYSTEM_PROMPT\n") == ["CSF102"]
    assert codes(tmp_path, planner=DEAD, other="from planner import *\nprint(SYSTEM_PROMPT)\n") == ["CSF102"]
    assert codes(tmp_path, planner=DEAD + "    print(SYSTEM_PROMPT)\n", other=other) == ["CSF102"]


def test_a_module_of_texts_is_there_for_others(tmp_path: Path) -> None:
    assert codes(tmp_path, texts=DEAD.partition("\n\n\n")[0] + "\n") == ["CSF102"]


# Named like instructions, but a table, and nobody sends it.
CONFLICTS = (
    "KEYS = ('a', 'b')\nINSTRUCTION_CONFLICTS = {KEYS[0]: {'x', 'y'}, KEYS[1]: {'z', 'w'}}\n\n\n"
    "def conflicts(key):\n    return sorted(INSTRUCTION_CONFLICTS[key])\n"
)
NOTES = (
    "import os\n\n\ndef read_notes(folder, task):\n    instructions = ''\n    for name in os.listdir(folder):\n"
    "        instructions += name\n    task.instructions = instructions\n    return task\n"
)


@pytest.mark.parametrize("program", [CONFLICTS, NOTES])
def test_a_name_alone_does_not_say_that_a_model_gets_it(tmp_path: Path, program: str) -> None:
    assert codes(tmp_path, app=program) == []


def test_the_same_instructions_where_a_model_gets_them(tmp_path: Path) -> None:
    program = (
        NOTES + "\n\ndef make(folder, task):\n    return Agent(instructions=read_notes(folder, task).instructions)\n"
    )
    returned = program.replace("    return task\n", "    return instructions\n").replace(").instructions)", "))")
    assert codes(tmp_path, app=returned) == ["CSF202"]


def test_an_object_that_is_added_to_text_shows_no_address(tmp_path: Path) -> None:
    """`text + thing` is an error, so what stands there is text."""
    head = "class Box:\n    def get(self, name):\n        return Box()\n\n\nbox = Box()\n"
    assert codes(tmp_path, app=ask("'You know ' + box.get('rules')", head=head)) == []
    assert codes(tmp_path, app=ask("f'You know {Box()}.'", head=head)) == ["CSF108"]


# Structure: message lists, tools and markers.
COUNTED = (
    "def mark(client, messages):\n    marked = 0\n    for message in messages:\n"
    "        message['cache_control'] = {'type': 'ephemeral'}\n        marked += 1\n"
    "        if marked >= 4:\n            break\n"
    "    return client.messages.create(model='m', max_tokens=9, messages=messages)\n"
)
ADDED = (
    "class Chat:\n    def add(self, contents):\n        self.messages.extend(contents)\n"
    "        return self.encode(self.messages[-len(contents) :])\n\n"
    "    def ask(self, client):\n        return client.chat.completions.create(model='m', messages=self.messages)\n"
)
FIRST = (
    "class Server:\n    def put_first(self, messages, instructions):\n"
    "        if instructions:\n"
    "            messages.insert(0, ProviderSystemMessageParam(content=instructions))\n\n"
    "    def ask(self, client, messages):\n"
    "        return client.chat.completions.create(model='m', messages=messages)\n"
)
TASK = (
    "def draft(llm, messages, letter):\n"
    "    messages.insert(0, {'role': 'user', 'content': f'Answer this letter: {letter}'})\n"
    "    return llm.invoke(messages)\n"
)
ROWS = (
    "import json\n\n\ndef run(client, rows):\n    for row in rows:\n        messages = json.loads(row['chat'])\n"
    "        messages = [m for m in messages if m['role'] == 'user']\n"
    "        client.chat.completions.create(model='m', messages=messages)\n"
)
IDENTIFIED = (
    "from uuid import uuid4\n\n\ndef send(client, history):\n"
    "    old = [{'id': str(uuid4()), 'role': m['role'], 'content': m['content']} for m in history]\n"
    "    return client.chat.completions.create(model='m', messages=old)\n"
)
MODE = (
    "def run(client, messages, tools, single_turn):\n"
    "    tools = tools if not single_turn else []\n"
    "    return client.chat.completions.create(model='m', messages=messages, tools=tools)\n"
)
OPTION = (
    "def tools_for(browse, code):\n    tools = [READ]\n    if browse:\n        tools.append(BROWSE)\n"
    "    return tools\n\n\n"
    "def run(client, messages):\n"
    "    return client.chat.completions.create(model='m', messages=messages, tools=tools_for(True, False))\n"
)
SETTING = (
    "def build(history, enable_web):\n    tools = BASE + ([WEB] if enable_web else [])\n"
    "    return {'model': 'm', 'messages': history, 'tools': tools}\n"
)
PICKED = (
    "def run(client, messages, prompt, configs):\n    if prompt:\n        tools = list(configs)\n"
    "        kwargs = {'model': 'm', 'messages': messages}\n        if tools:\n"
    "            kwargs['tools'] = tools\n        return client.chat.completions.create(**kwargs)\n"
)
BY_TASKS = (
    "class Crew:\n    def tasks(self):\n        return list({*self.a, *self.b})\n\n"
    "    def all_tools(self):\n        tools = []\n        for task in self.tasks():\n"
    "            tools.extend(task.tools)\n"
    "        return tools\n\n"
    "    def ask(self, client, messages):\n        tools = self.all_tools()\n"
    "        return client.chat.completions.create(model='m', messages=messages, tools=tools)\n"
)


@pytest.mark.parametrize(
    "program",
    [COUNTED, ADDED, FIRST, TASK, ROWS, IDENTIFIED, MODE, OPTION, SETTING, PICKED, BY_TASKS],
    ids=["counted", "added", "first", "task", "rows", "identified", "mode", "option", "setting", "picked", "by-tasks"],
)
def test_silent_on_structure_that_costs_nothing(tmp_path: Path, program: str) -> None:
    assert codes(tmp_path, app=program) == []


@pytest.mark.parametrize(
    ("program", "old", "new", "code"),
    [
        (COUNTED, "        marked += 1\n        if marked >= 4:\n            break\n", "", "CSF402"),
        (ADDED, "model='m', messages=self.messages", "model='m', messages=self.messages[-8:]", "CSF303"),
        (TASK, "letter", "memories", "CSF302"),
        (IDENTIFIED, "'content': m['content']", "'content': f\"{uuid4()} {m['content']}\"", "CSF307"),
        (MODE, "single_turn", "turn", "CSF305"),
        (OPTION, "tools_for(True, False))\n", "tools_for(len(messages) > 4, False))\n", "CSF305"),
        (SETTING, "enable_web", "web", "CSF305"),
        # CSF204 says the same and is folded into it.
        (BY_TASKS, "self.tasks()", "{*self.a, *self.b}", "CSF201"),
    ],
    ids=["counted", "added", "task", "identified", "mode", "option", "setting", "by-tasks"],
)
def test_their_twins_are_told(tmp_path: Path, program: str, old: str, new: str, code: str) -> None:
    assert code in codes(tmp_path, app=program.replace(old, new))


@pytest.mark.parametrize("name", ["get_gpu_memory", "_read_physical_memory", "fetch_free_memory"])
def test_the_memory_of_a_machine_is_not_recalled(tmp_path: Path, name: str) -> None:
    assert codes(tmp_path, app=ask(f"f'You have {{{name}()}} of it.'")) == []
    assert codes(tmp_path, app=ask("f'You know {get_user_memory()}.'")) == ["CSF109"]


def test_a_python_file_that_is_still_a_template_is_no_broken_file(tmp_path: Path) -> None:
    text = "{{ name }}_id = 1\n"
    write(tmp_path, {"templates/python/app.py": text})
    assert places(lint([tmp_path], cache=False).findings) == []
    write(tmp_path, {"app.py": text})
    assert [code for _, _, code in places(lint([tmp_path], cache=False).findings)] == ["CSF901"]


def test_text_that_is_added_to_the_users_parts_is_the_users(tmp_path: Path) -> None:
    program = (
        "from datetime import datetime\n\n\ndef remind(request):\n"
        '    system_content = f"It is {datetime.now()}."\n'
        "    request.extra_user_content_parts.append(TextPart(text=system_content))\n"
    )
    assert codes(tmp_path, app=program) == []
    assert codes(tmp_path, app=program.replace("extra_user_content_parts", "parts")) == ["CSF101"]


def test_a_notice_of_a_hook_stands_at_the_end(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path\n\n\ndef inject_instructions(file):\n"
        '    yield Message("system", f"Rules of {Path.home()}: {file}")\n'
    )
    write(tmp_path, {"hooks/rules.py": program})
    assert places(lint([tmp_path], cache=False).findings) == []
    write(tmp_path, {"prompts/rules.py": program})
    assert [code for _, _, code in places(lint([tmp_path], cache=False).findings)] == ["CSF106"]


# A helper of the project that is only called like a request: its first argument tells runs apart.
HELPER = (
    "from uuid import uuid4\n\nSYSTEM_PROMPT = 'You help.'\n\n\ndef drive(text):\n    session_id = str(uuid4())\n"
    '    return invoke(session_id, [{"role": "user", "content": text}])\n'
)


def test_an_identifier_in_front_of_messages_is_no_system_text(tmp_path: Path) -> None:
    assert codes(tmp_path, app=HELPER) == []
    assert codes(tmp_path, app=HELPER.replace("invoke(session_id", "invoke(str(uuid4())")) == []
    assert codes(tmp_path, app=HELPER.replace("invoke(session_id", "client.chat(str(uuid4())")) == ["CSF104"]
    assert codes(tmp_path, app=HELPER.replace("session_id", "prompt")) == ["CSF104"]


def test_a_row_of_a_chat_between_people_is_no_system_message(tmp_path: Path) -> None:
    program = (
        "def join(db, new_user, room):\n"
        "    sys_msg = DirectMessage(sender_id=room.owner, content=f'{new_user.username} came in.')\n"
        "    db.add(sys_msg)\n"
    )
    assert codes(tmp_path, app=program) == []
    assert codes(tmp_path, app=program.replace("sender_id=room.owner, ", "role='system', ")) == ["CSF105"]


def test_rounds_that_each_fill_a_placeholder_have_no_order(tmp_path: Path) -> None:
    head = "import re\nfrom functools import reduce\nTEXT = 'x xx xxx'\n"
    names = "names = list(set(re.findall('x+', TEXT)))\n"
    filled = names + "lines = reduce(lambda s, n: s.replace(n, n.upper()), names, 'You know.')"
    assert codes(tmp_path, app=ask("f'{lines}'", filled, head)) == []
    assert codes(tmp_path, app=ask("f'{lines}'", names + "lines = ', '.join(names)", head)) == ["CSF201"]


def test_what_lies_below_a_folder_does_not_say_where_that_lies(tmp_path: Path) -> None:
    head = "import os\nfrom pathlib import Path\n"
    before = "root = Path(os.getcwd())\nnames = [str(p.relative_to(root)) for p in sorted(root.iterdir())]"
    assert codes(tmp_path, app=ask("', '.join(names)", before, head)) == []
    assert codes(tmp_path, app=ask("', '.join(names)", "names = [os.getcwd()]", head)) == ["CSF106"]


def test_what_cannot_be_called_sends_nothing(tmp_path: Path) -> None:
    chosen = (
        "class Server:\n    def ask(self, client, messages, prompt):\n"
        "        model = 'big' if len(prompt) > 500 else 'small'\n"
        "        return client.chat.completions.create(model=model, messages=messages)\n"
    )
    assert codes(tmp_path, app=chosen) == ["CSF306"]
    assert codes(tmp_path, app="@DeprecationWarning\n" + chosen) == []
    hidden = chosen.replace("def ask", "def _old_ask") + "\n    def run(self):\n        return 1\n"
    assert codes(tmp_path, app=hidden + "\n\ndef other():\n    return 1\n") == []
    assert codes(tmp_path, app=hidden.replace("return 1", "return self._old_ask") + "\n\nX = 1\n") == ["CSF306"]


def test_a_note_in_a_function_that_nobody_names(tmp_path: Path) -> None:
    dated = ask("f'It is {date.today()}.'", head="from datetime import date\n")
    helpers = dated + "\n\ndef parse(text):\n    return text\n"
    user = "from helpers import parse\n\nprint(parse('x'))\n"
    assert codes(tmp_path, helpers=helpers) == ["CSF103"]
    assert codes(tmp_path, helpers=helpers, user=user) == []
    assert codes(tmp_path, helpers=helpers, user=user.replace("parse\n", "ask, parse\n")) == ["CSF103"]


def test_examples_of_a_row_stand_before_its_only_question(tmp_path: Path) -> None:
    program = (
        "import random\n\nSYSTEM_PROMPT = 'You help.'\n\n\ndef score(dataset, pool):\n"
        "    for conversation in dataset['chats']:\n"
        "        for turn in conversation:\n            icl_examples = '; '.join(random.sample(pool, 3))\n"
        "            turn['content'] = turn['content'] + icl_examples\n"
    )
    assert codes(tmp_path, app=program) == []
    assert codes(tmp_path, app=program.replace("dataset", "chats")) == ["CSF104"]


STORED = (
    "def save(db, names):\n    arguments = {'type': 'object', 'properties': {}, 'required': list(set(names))}\n"
    "    row = Row(argument_schema=arguments, tools=1)\n    db.add(row)\n"
)
PRELOADED = (
    "class Bot:\n    def __init__(self, store):\n        self.history = store.load_history(limit=50)\n\n"
    "    def ask(self, client):\n        return client.chat.completions.create(model='m', messages=self.history)\n"
)
MISSING = (
    "def build(history, query):\n    found = next((m for m in history if m.get('role') == 'system'), None)\n"
    "    if not found:\n        history.insert(0, {'role': 'system', 'content': f'You know {query}.'})\n"
    "    return {'model': 'm', 'messages': history}\n"
)


@pytest.mark.parametrize(
    ("program", "old", "new", "code"),
    [
        # The way of the set tells of its place as well.
        (STORED, "Row(argument_schema=", "Tool(input_schema=", "CSF201"),
        (PRELOADED, "def __init__(self, store)", "def refresh(self, store)", "CSF303"),
        (MISSING, "if not found", "if query", "CSF302"),
    ],
    ids=["stored", "preloaded", "missing"],
)
def test_more_structure_that_costs_nothing_and_its_twins(
    tmp_path: Path, program: str, old: str, new: str, code: str
) -> None:
    assert not {code, "CSF204"} & set(codes(tmp_path, app=program))
    assert code in codes(tmp_path, app=program.replace(old, new))
