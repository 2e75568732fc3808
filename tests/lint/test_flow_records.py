"""Records on their way: what is stored under one key is not read under another, however the record is handed on."""

from __future__ import annotations

import pytest

from pytest_cachesafe.lint.run import lint_text

HEAD = "import functools\nfrom datetime import datetime\n\n\n"
STAMPED = '{"rules": load(), "at": str(datetime.now())}'
NESTED = f'{{"meta": {STAMPED}}}'
SEND = (
    "\n\ndef ask(client, history):\n"
    "    text = {text}\n"
    '    return client.chat([{{"role": "system", "content": "You help. " + text + " Be brief."}}, *history])\n'
)


def told_apart(before: str, text: str) -> bool:
    """Whether the field that is stamped is reported where it is read, and the one beside it is not; KEY stands for the
    name of the field."""

    def reported(key: str) -> bool:
        program = HEAD + before + SEND.format(text=text)
        return any(finding.code in ("CSF101", "CSF102") for finding in lint_text(program.replace("KEY", key)))

    assert reported("at")
    return not reported("rules")


@pytest.mark.parametrize(
    "body",
    [
        'return packet.get("meta", {})',
        'return packet.get("meta") or {}',
        'meta = packet.get("meta") if packet else None\n    return meta',
        'meta = packet.get("meta", {})\n    meta["n"] = 1\n    return meta',
        'return {**packet.get("meta"), "n": 1}',
        'return dict(packet.get("meta"))',
    ],
)
def test_a_part_of_what_a_function_is_given_keeps_its_fields(body: str) -> None:
    assert told_apart(f"def part(packet):\n    {body}\n", f'part({NESTED}).get("KEY")')


def test_a_part_of_a_part_through_two_functions() -> None:
    inner = 'def inner(given):\n    return given.get("meta")\n\n\n'
    two = inner + 'def part(packet):\n    return inner(packet.get("outer"))\n'
    assert told_apart(two, f'part({{"outer": {NESTED}}}).get("KEY")')


def test_an_object_that_is_made_of_a_part() -> None:
    answer = (
        "class Answer:\n    def __init__(self, meta):\n        self.meta = meta\n\n\n"
        "def answer(packet):\n    meta = packet.get('meta', {}) or {}\n    return Answer(meta=meta)\n"
    )
    assert told_apart(answer, f'answer({NESTED}).meta.get("KEY")')


def test_a_part_that_is_printed_as_a_whole_holds_all_of_its_fields() -> None:
    for written in ("str(part(PACKET))", "json.dumps(part(PACKET))", "f'{part(PACKET)}'"):
        part = 'import json\n\n\ndef part(packet):\n    return packet.get("meta")\n'
        program = HEAD + part + SEND.format(text=written.replace("PACKET", NESTED))
        assert [finding.code for finding in lint_text(program)] == ["CSF101"], written


@pytest.mark.parametrize(
    "body",
    [
        'copy = dict(packet)\n    copy["n"] = 1\n    return copy',
        'return {**packet, "n": 1}',
        'told = {"n": 1}\n    told.update(packet)\n    return told',
        'packet["n"] = 1\n    return packet',
        'packet.setdefault("n", 1)\n    return packet',
    ],
)
def test_a_dict_into_which_another_is_taken_keeps_the_fields_of_both(body: str) -> None:
    assert told_apart(f"def copied(packet):\n    {body}\n", f'copied({STAMPED})["KEY"]')


def test_a_part_of_a_copy() -> None:
    copied = "def part(packet):\n    copy = dict(packet)\n    copy['n'] = 1\n    return copy.get('meta')\n"
    assert told_apart(copied, f'part({NESTED})["KEY"]')


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f'yield {STAMPED}\n    yield {{"n": 2}}', '"".join(event.get("KEY") for event in events())'),
        (f'event = {STAMPED}\n    event["n"] = 1\n    yield event', '"".join(event["KEY"] for event in events())'),
        (f'yield "started", {STAMPED}', '"".join(event.get("KEY") for name, event in events())'),
        (f"yield {STAMPED}", 'next(events()).get("KEY")'),
        (f"yield {STAMPED}", '"".join(event["KEY"] for event in reversed(list(events())))'),
    ],
)
def test_a_generator_yields_records_that_are_read_key_by_key(body: str, text: str) -> None:
    assert told_apart(f"def events():\n    {body}\n", text)


def test_a_context_manager_yields_one_record() -> None:
    entered = f"import contextlib\n\n\n@contextlib.contextmanager\ndef opened():\n    yield {STAMPED}\n"
    reading = '\n\n\ndef read():\n    with opened() as packet:\n        return packet["KEY"]\n'
    assert told_apart(entered + reading, "read()")


def test_a_generator_that_hands_on_another() -> None:
    events = f"def inner():\n    yield {STAMPED}\n\n\ndef events():\n    yield from inner()\n"
    assert told_apart(events, '"".join(event.get("KEY") for event in events())')


def test_an_update_of_another_kind_is_not_the_one_that_is_read() -> None:
    program = (
        "async def steps():\n"
        '    yield {"type": "spawned", "spawn": {"at": str(datetime.now())}}\n'
        '    yield {"type": "done", "issues": find()}\n\n\n'
        "async def ask(client, history):\n"
        '    result = {"issues": []}\n'
        "    async for update in steps():\n"
        '        if update.get("type") == "done":\n'
        '            result = {"issues": update.get("issues", [])}\n'
        '    text = "\\n".join(str(issue) for issue in result["issues"])\n'
        '    return client.chat([{"role": "system", "content": "You mend. " + text + " Be brief."}, *history])\n'
    )
    assert lint_text(HEAD + program) == []
    other = program.replace('update.get("issues", [])', '[update.get("spawn")]')
    assert [finding.code for finding in lint_text(HEAD + other)] == ["CSF101"]


def test_text_that_is_yielded_is_still_text() -> None:
    program = 'def lines():\n    yield "Now: " + str(datetime.now())\n' + SEND.format(text='"".join(lines())')
    assert [finding.code for finding in lint_text(HEAD + program)] == ["CSF101"]


def test_records_of_a_table_and_of_a_cached_function() -> None:
    table = f"def table(names):\n    return {{name: {STAMPED} for name in names}}\n"
    assert told_apart(table, '"".join(row["KEY"] for name, row in table("ab").items())')
    assert told_apart(table, 'table("ab").get("a")["KEY"]')
    cached = f"@functools.lru_cache\ndef packet():\n    return {STAMPED}\n"
    assert told_apart(cached, 'packet()["KEY"]')
    assert told_apart("", f'max([{STAMPED}], key=str)["KEY"]')
