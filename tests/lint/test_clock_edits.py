"""A clock in a system text is cut to the day, or its sentence moves to the newest user message."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachesafe_rules.clock_edits import clock_fix, day_format, day_resolution
from cachesafe_rules.message_edits import move_to_user
from tests.support.edit_text import fixed, report


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("%Y-%m-%d", None),
        ("%A, %d %B %Y", None),
        ("", None),
        ("100%% sure", None),
        ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d"),
        ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d"),
        ("%Y-%m-%d %H:%M UTC", "%Y-%m-%d"),
        ("%A, %B %d, %Y %I:%M %p", "%A, %B %d, %Y"),
        ("%A, %d %B %Y %H:%M:%S %Z", "%A, %d %B %Y"),
        ("%B %d, %Y at %I:%M %p (%Z)", "%B %d, %Y"),
        ("%d.%m.%Y, %-H:%M", "%d.%m.%Y"),
        ("%Y%m%d%H%M", "%Y%m%d"),
        ("%H:%M", None),
        ("%Y%m%d_%H%M%S", "%Y%m%d"),
        ("%H:%M on %Y-%m-%d", "%Y-%m-%d"),
        ("%c", "%Y-%m-%d"),
        ("%x %X", "%x"),
        ("%d %H o'clock, maybe", "%Y-%m-%d"),
    ],
)
def test_a_format_is_cut_to_the_day(before: str, after: str | None) -> None:
    assert day_format(before) == after


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([*(f"%{c}" for c in "YmdBAHIMSpZfcxX"), " ", ":", "-", ", ", "at", "T", "%%"])).map(
        "".join
    )
)
def test_a_cut_format_has_no_time_left_and_is_not_cut_again(text: str) -> None:
    cut = day_format(text)
    assert cut is None or (cut and not re.search(r"%[HIMSpZfcX]", cut.replace("%%", "")) and day_format(cut) is None)


def test_the_clock_of_a_report_is_cut_to_the_day() -> None:
    text = (
        "from datetime import datetime\n"
        "def system_prompt():\n"
        "    now = datetime.now()  # c\n"
        '    long = now.strftime("%A, %d %B %Y %H:%M")\n'
        '    return f"{now} {long} {datetime.now().isoformat()} {str(datetime.now())} {now:%Y-%m-%d %H}"\n'
    )
    code = text.split("\n")[4].strip()
    fix = day_resolution(report(text, code, 3, 4), text)
    assert fix is not None
    assert fix.applicability == "unsafe"
    assert fixed(text, fix).split("\n")[3:5] == [
        '    long = now.strftime("%A, %d %B %Y")',
        '    return f"{now.date()} {long} {datetime.now().date().isoformat()} '
        '{str(datetime.now().date())} {now:%Y-%m-%d}"',
    ]
    assert day_resolution(report(fixed(text, fix), "return", 3, 4), fixed(text, fix)) is None


@pytest.mark.parametrize(
    "code",
    [
        'return start.strftime("%Y %H")',
        'return f"{start:%Y %H}"',
        'return time.strftime("%Y %H", start)',
        'return f"{time.time()}"',
        'return f"{now!r}"',
        'return f"{datetime.now()=}"',
    ],
)
def test_what_is_no_clock_or_has_no_day_is_not_cut(code: str) -> None:
    text = f"def f(now):\n    {code}\n"
    assert day_resolution(report(text, code), text) is None


HEAD = "from datetime import datetime\ndef build(history, text):\n"


def moved(body: str, code: str | None = None) -> str:
    text = HEAD + body
    fix = move_to_user(report(text, code or body.strip()), text)
    assert fix is not None
    assert fix.applicability == "unsafe"
    return fixed(text, fix)[len(HEAD) :]


@pytest.mark.parametrize(
    ("system", "user", "new_system", "new_user"),
    [
        ('f"Be kind. It is {datetime.now()}."', "text", '"Be kind."', 'f"It is {datetime.now()}.\\n\\n{text}"'),
        (
            'f"Now: {datetime.now():%H:%M}\\nBe {mood}."',
            "text",
            'f"Be {mood}."',
            'f"Now: {datetime.now():%H:%M}\\n\\n{text}"',
        ),
        (
            "f\"A. It is {datetime.now().strftime('%c')}. B.\"",
            'f"Q: {text}"',
            '"A. B."',
            "f\"It is {datetime.now().strftime('%c')}.\\n\\nQ: {text}\"",
        ),
        (
            "f'A. It is {datetime.now().strftime(\"%c\")}.'",
            'f"Q: {text}"',
            "'A.'",
            'f\'It is {datetime.now().strftime("%c")}.\\n\\n\' f"Q: {text}"',
        ),
        ('f"A {{x}}. It is {datetime.now()}."', '"Hi"', 'f"A {{x}}."', 'f"It is {datetime.now()}.\\n\\n" "Hi"'),
        ('f"A. It is {datetime.now()}."', '"Hi " + text', '"A."', 'f"It is {datetime.now()}.\\n\\n" + ("Hi " + text)'),
        (
            'f"A. It is {datetime.now()}."',
            'text["q"]',
            '"A."',
            "f'It is {datetime.now()}.\\n\\n{text[\"q\"]}'",
        ),
        (
            'f"A. It is {datetime.now()}."',
            '[{"type": "text", "text": text}]',
            '"A."',
            '[{"type": "text", "text": f"It is {datetime.now()}."}, {"type": "text", "text": text}]',
        ),
        ('("A. " f"It is {datetime.now()}.")', "text", '("A. ")', 'f"It is {datetime.now()}.\\n\\n{text}"'),
        (
            'f"Time: {datetime.now()}"',
            "text",
            '"Time: (given in the newest message)"',
            'f"Current date and time: {datetime.now()}\\n\\n{text}"',
        ),
        (
            '"You serve since " f"{datetime.now()}" " and know it"',
            "text",
            '"You serve since " "(given in the newest message)" " and know it"',
            'f"Current date and time: {datetime.now()}\\n\\n{text}"',
        ),
    ],
)
def test_the_sentence_moves_to_the_newest_user_message(system: str, user: str, new_system: str, new_user: str) -> None:
    body = '    return [{"role": "system", "content": %s}, *history, {"role": "user", "content": %s}]\n'
    assert moved(body % (system, user)) == body % (new_system, new_user)


def test_a_text_bound_to_a_name_and_a_clock_bound_to_another() -> None:
    body = (
        "    now = datetime.now()  # the clock\n"
        '    system = f"""Be kind.\n\nTime: {now.isoformat()}\nUse {len(history)} tools.\n"""  # the text\n'
        "    return [\n"
        '        dict(role="developer", content=system),  # first\n'
        "        *history,\n"
        '        dict(role="user", content=text),  # last\n'
        "    ]\n"
    )
    assert moved(body, "now = datetime.now()") == body.replace("Time: {now.isoformat()}\n", "").replace(
        "content=text", 'content=f"Time: {now.isoformat()}\\n\\n{text}"'
    )


@pytest.mark.parametrize(
    "body",
    [
        '    return [SystemMessage(content=f"A. It is {datetime.now()}."), *history, HumanMessage(text)]\n',
        '    return [("system", f"A. It is {datetime.now()}."), ("human", text)]\n',
        '    return create(system=f"A. It is {datetime.now()}.", messages=[{"role": "user", "content": text}])\n',
        '    return {"messages": [{"role": "user", "content": text}], "system": f"A. It is {datetime.now()}."}\n',
        '    return create(instructions=f"A. It is {datetime.now()}.", input=history[-1])\n',
    ],
)
def test_other_ways_to_write_a_request(body: str) -> None:
    new = moved(body)
    assert 'f"It is {datetime.now()}.\\n\\n{' in new
    assert new.count("now()") == 1
    assert '"A."' in new


SYSTEM = '{"role": "system", "content": f"A. It is {datetime.now()}."}'
USER = '{"role": "user", "content": text}'


@pytest.mark.parametrize(
    "messages",
    [
        f"[{SYSTEM}, *history]",
        f"[{USER}, {SYSTEM}]",
        f"[{SYSTEM}, {SYSTEM}, {USER}]",
        f"[{SYSTEM}, {USER}], [{SYSTEM}, {USER}]",
        f"[{SYSTEM}, {USER}, *history]",
        f"[{SYSTEM.replace('datetime.now()', 'text')}, {USER}]",
        "[" + SYSTEM.replace('f"', 'rf"') + f", {USER}]",
        f"[{SYSTEM}, {USER.replace('text', '{1: text}')}]",
        f"[{SYSTEM}, {USER.replace('text', 'bytes()')}, *history]",
        f"[{SYSTEM}, " + USER.replace("text", 'b"x"') + "]",
        f"[{SYSTEM}, {USER.replace('text', '[]')}]",
        f'[{{"role": "system", "content": str(datetime.now())}}, {USER}]',
    ],
)
def test_where_it_is_not_plain_nothing_moves(messages: str) -> None:
    text = f"{HEAD}    return {messages}\n"
    assert move_to_user(report(text, f"return {messages}"), text) is None


def test_a_text_that_is_used_elsewhere_stays() -> None:
    body = f'    s = f"A. {{datetime.now()}}."\n    log(s)\n    return [{{"role": "system", "content": s}}, {USER}]\n'
    assert move_to_user(report(HEAD + body, "return"), HEAD + body) is None
    assert move_to_user(
        report(HEAD + body.replace("log(s)", "log()"), "return"), HEAD + body.replace("log(s)", "log()")
    )


def test_the_moved_text_says_the_same() -> None:
    """Both requests hold the same words; only the place of the time differs."""
    system = SYSTEM.replace("A. It", "Be kind. It").replace("()}.", "()}. Bye.")
    body = f"    return [{system}, {USER}]\n"
    new = HEAD.replace("from datetime import datetime\n", "") + moved(body)

    class Clock:
        @staticmethod
        def now() -> str:
            return "noon"

    space: dict[str, object] = {"datetime": Clock}
    exec(compile(new, "new", "exec"), space)
    build = space["build"]
    assert callable(build)
    assert json.loads(json.dumps(build([], "hello"))) == [
        {"role": "system", "content": "Be kind. Bye."},
        {"role": "user", "content": "It is noon.\n\nhello"},
    ]


def test_a_clock_moves_where_it_can_and_is_cut_elsewhere() -> None:
    both = (
        HEAD + '    return [{"role": "system", "content": f"A. {datetime.now()}"}, {"role": "user", "content": text}]\n'
    )
    fix = clock_fix(report(both, "return"), both)
    assert fix is not None
    assert "newest user message" in fix.message
    alone = HEAD + '    return f"A. {datetime.now()}"\n'
    fix = clock_fix(report(alone, alone.split("\n")[2].strip()), alone)
    assert fix is not None
    assert "day" in fix.message


SYSTEMS = st.lists(
    st.sampled_from(
        ["Be kind. ", "It is {datetime.now()}. ", "{mood}", "\\n", "Now {now:%H:%M}", "{{x}} ", "a", "! ", "'"]
    ),
    min_size=1,
    max_size=6,
).map("".join)
USERS = st.sampled_from(
    ["text", 'f"Q {text}"', "'Hi'", "text or 'x'", "text['q']", '"a" "b"', "(text)", "[*text]", "f'''{text}\n'''"]
)


@settings(deadline=None, max_examples=70)
@given(SYSTEMS, USERS, st.booleans())
def test_whatever_the_text_the_result_parses_keeps_comments_and_is_clean(system: str, user: str, named: bool) -> None:
    head = "from datetime import datetime\ndef build(history, text, mood):\n    now = datetime.now()  # c0\n"
    if named:
        head += f'    s = f"{system}"  # c1\n'
    content = "s" if named else f'f"{system}"'
    text = (
        f'{head}    return [  # c2\n        {{"role": "system", "content": {content}}},  # c3\n        *history,\n'
        f'        {{"role": "user", "content": {user}}},  # c4\n    ]\n'
    )
    fix = move_to_user(report(text, "return [  # c2"), text)
    if "now" not in system:
        assert fix is None
    if fix is None:
        return
    after = fixed(text, fix)
    # The clock has left the system text, so there is nothing more to move.
    assert move_to_user(report(after, "return [  # c2"), after) is None
    assert "datetime.now()" in after.split('"role": "user"')[1] or "now:" in after.split('"role": "user"')[1]
