"""Where the linter must say nothing: one program each, with a louder twin where a small change makes it a fault."""

from __future__ import annotations

import pytest
from flow_programs import assert_silent, brief, cases

from pytest_cachesafe.lint.run import lint_text


@pytest.mark.parametrize("program", cases("silent.txt"))
def test_nothing_is_said(program: str) -> None:
    assert_silent(program)


HEAD = "import uuid\nfrom datetime import datetime\n\n\ndef build(client, tok, history, q, names):\n"
STAMP = '{"role": "system", "content": f"It is {datetime.now()}"}'
STATIC = '{"role": "system", "content": "You help."}'
USER = '{"role": "user", "content": q}'
MARKER = '"cache_control": {"type": "ephemeral"}'
BLOCKS = (
    f'    return client.messages.create(model="m", system=[{{"type": "text", "text": "You help.", {MARKER}}}, '
    '{"type": "text", "text": f"It is {datetime.now()}"}], messages=[{"role": "user", "content": q}])\n'
)
# What a small change to a harmless program turns into a fault: the silence is not blindness.
TWINS = {
    "user-message": (
        f'    return [{STATIC}, {{"role": "user", "content": f"It is {{datetime.now()}}. {{q}}"}}]\n',
        f"    return [{STAMP}, {USER}]\n",
    ),
    "behind-the-static-one": (f"    return [{STATIC}, {STAMP}, {USER}]\n", f"    return [{STAMP}, {STATIC}, {USER}]\n"),
    "behind-the-marker": (BLOCKS, BLOCKS.replace(f", {MARKER}}}", "}").replace("now()}\"}", f'now()}}", {MARKER}}}')),
    "at-the-tail": (
        f"    messages = [{STATIC}, *history]\n    messages.append({STAMP})\n    return messages\n",
        f"    messages = []\n    messages.append({STAMP})\n    messages += history\n    return messages\n",
    ),
    "only-counted": (
        f"    return tok.count_tokens([{STAMP}])\n",
        f"    return client.chat.completions.create(messages=[{STAMP}])\n",
    ),
    "in-metadata": (
        '    return client.create(model="m", system="You help.", metadata={"id": uuid.uuid4()}, messages=history)\n',
        '    return client.create(model="m", system=f"You help. {uuid.uuid4()}", messages=history)\n',
    ),
    "sorted": (
        '    return [{"role": "system", "content": ", ".join(sorted(set(names)))}]\n',
        '    return [{"role": "system", "content": ", ".join(set(names))}]\n',
    ),
    "membership": (
        '    return [{"role": "system", "content": "a" if "a" in set(names) else "b"}]\n',
        '    return [{"role": "system", "content": " ".join(n for n in set(names))}]\n',
    ),
    "sent-as-user": (
        '    system_note = f"It is {datetime.now()}"\n    return [{"role": "user", "content": system_note}]\n',
        '    system_note = f"It is {datetime.now()}"\n    return [{"role": "system", "content": system_note}]\n',
    ),
    "tools-of-a-request": (
        "    return Catalogue(name=q, tools=list(set(names)))\n",
        "    return client.responses.create(model='m', input=q, tools=list(set(names)))\n",
    ),
    "instructions-for-a-model": (
        "    return send_task(title=q, instructions=f'It is {datetime.now()}')\n",
        "    return client.responses.create(model='m', input=q, instructions=f'It is {datetime.now()}')\n",
    ),
    "instructions-that-are-sent": (
        "    instructions = f'It is {datetime.now()}'\n    return tok.show(instructions)\n",
        "    instructions = f'It is {datetime.now()}'\n    return client.stream(system_prompt=instructions)\n",
    ),
    "made-by-an-agent": (
        "    return AgentResult(tools=list(set(names)))\n",
        "    return AgentConfig(tools=list(set(names)))\n",
    ),
    "text-for-the-user": (
        "    system_note = f'It is {datetime.now()}'\n    user_message = system_note + q\n    return user_message\n",
        "    system_prompt = f'It is {datetime.now()}'\n    return tok.chat(system_prompt, q)\n",
    ),
    "measured-or-counted": (
        "    few_shots_ms = system_prompt_ms = datetime.now().microsecond\n    return tok.show(few_shots_ms)\n",
        "    few_shots = [str(datetime.now().microsecond)]\n    return tok.show(few_shots)\n",
    ),
    "code-in-a-string": (
        '    return [{"role": "system", "content": "Call datetime.now() for the time."}]\n',
        '    return [{"role": "system", "content": f"{datetime.now()} is the time."}]\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TWINS)
def test_a_harmless_program_and_its_faulty_twin(name: str) -> None:
    quiet, loud = TWINS[name]
    assert_silent(HEAD + quiet)
    assert brief(lint_text(HEAD + loud)), loud


@pytest.mark.parametrize("path", ["pkg/telemetry/spans.py", "pkg/tracing.py", "pkg/run_logger.py"])
def test_what_watches_requests_makes_none(path: str) -> None:
    """The same code under another name is a request."""
    code = HEAD + f"    return [{STAMP}, {USER}]\n"
    assert not brief(lint_text(code, path))
    assert brief(lint_text(code, "pkg/chat.py"))


@pytest.mark.parametrize("path", ["tests/test_prompt.py", "test_prompt.py", "conftest.py", "pkg/tests/helpers.py"])
def test_a_files_name_alone_says_nothing_here(path: str) -> None:
    """Tests are left out by runs over folders; text that is handed over is always looked at."""
    assert brief(lint_text(HEAD + f"    return [{STAMP}, {USER}]\n", path))


OWN_CLASS = """
from datetime import datetime

from textual.widgets import Static


class Turn:
    def __init__(self, content):
        self.content = content


class SystemMessage{base}:
    def __init__(self, content{more}):
        super().__init__(content)


def compose():
    yield SystemMessage(content=f"You help. It is {{datetime.now()}}.")
"""


@pytest.mark.parametrize(
    ("base", "more", "found"),
    [
        # A widget that shows a text; a message of the project's own, whatever it is built on.
        ("(Static)", "", False),
        ("(Static)", ', role="system"', True),
        ("(Turn)", "", True),
        ("", "", True),
    ],
)
def test_a_class_that_shares_the_name_of_a_message(base: str, more: str, found: bool) -> None:
    assert bool(brief(lint_text(OWN_CLASS.format(base=base, more=more)))) is found
