"""Edits that rules make: what is safe, what is not proved, and that nothing around is touched."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize

import pytest
from cachesafe_rules.api import Edit, Fix, Report
from cachesafe_rules.clock_edits import clock_fix, day_format, day_resolution
from cachesafe_rules.edits import add_keyword, places, sort_call, sort_keys_fix, sorted_fix
from cachesafe_rules.message_edits import move_to_user
from cachesafe_rules.model import Span, Step
from hypothesis import given, settings
from hypothesis import strategies as st

NAME = "a.py"


def span_of(text: str, code: str) -> Span:
    offset = text.index(code)
    row, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
    end = offset + len(code)
    return Span(NAME, row, column, text.count("\n", 0, end) + 1, end - text.rfind("\n", 0, end))


def applied(text: str, *edits: Edit) -> str:
    starts = [0]
    for row in text.split("\n"):
        starts.append(starts[-1] + len(row) + 1)
    for edit in sorted(edits, key=lambda e: (e.span, e.text), reverse=True):
        span = edit.span
        start, end = starts[span.row - 1] + span.column - 1, starts[span.end_row - 1] + span.end_column - 1
        text = text[:start] + edit.text + text[end:]
    return text


def report(text: str, code: str, *rows: int) -> Report:
    steps = tuple(Step(NAME, row, "step") for row in rows)
    return Report("it changes", span_of(text, code), steps=steps)


def fixed(text: str, fix: Fix | None) -> str:
    assert fix is not None
    out = applied(text, *fix.edits)
    ast.parse(out)
    assert sorted(comments(out)) == sorted(comments(text))
    return out


def comments(text: str) -> list[str]:
    return [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT]


# Sorting


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('return ", ".join({"b", "a"})', 'return ", ".join(sorted({"b", "a"}))'),
        ('return ", ".join({t.name for t in ts})', 'return ", ".join(sorted({t.name for t in ts}))'),
        ('return [*{f"{t}" for t in ts}]  # c', 'return [*sorted({f"{t}" for t in ts})]  # c'),
        ("return list(set(map(str, ts)))", "return sorted(set(map(str, ts)))"),
        ("return tuple({str(t) for t in ts})", "return tuple(sorted({str(t) for t in ts}))"),
        ('return [t for t in {"b", "a"} | {str(t) for t in ts}]', None),
        ('return [t for t in frozenset(["b", "a"])]', 'return [t for t in sorted(frozenset(["b", "a"]))]'),
        ("return [t for t in {1, 2}]", "return [t for t in sorted({1, 2})]"),
        ('for t in ({"b", "a"}): print(t)', 'for t in sorted(({"b", "a"})): print(t)'),
        (
            'return ", ".join({t["name"].lower() for t in ts})',
            'return ", ".join(sorted({t["name"].lower() for t in ts}))',
        ),
    ],
)
def test_a_set_of_strings_that_is_walked_is_sorted_safely(before: str, after: str | None) -> None:
    text = f"def f(ts):\n    {before}\n"
    edits = sort_call(text, span_of(text, before))
    assert edits is not None
    ast.parse(applied(text, *edits))
    if after is not None:
        assert applied(text, *edits) == f"def f(ts):\n    {after}\n"
    # What is sorted is not found again.
    assert sort_call(applied(text, *edits), Span(NAME, 2, 5, 2, 5), proven=False) is None


@pytest.mark.parametrize(
    "code",
    [
        "return list(set(ts))",
        'return ", ".join({t.title for t in ts})',
        'return [*{"a", 1}]',
        'return [*{"a", b"b"}]',
        'return [*({"a"} | {1})]',
        'return f"{set(map(str, ts))}"',
        'return str({"a", "b"})',
        "return [x for x in os.listdir(p)]",
        'return ", ".join(Path(p).iterdir())',
    ],
)
def test_what_is_not_proved_is_sorted_only_when_asked(code: str) -> None:
    text = f"def f(ts, p):\n    {code}\n"
    span = span_of(text, code)
    assert sort_call(text, span) is None
    edits = sort_call(text, span, proven=False)
    assert edits is not None
    assert "sorted(" in applied(text, *edits)
    fix = sorted_fix(Report("m", span), text)
    assert fix is not None
    assert fix.applicability == "unsafe"


@pytest.mark.parametrize(
    "code",
    [
        "return sorted(set(ts))",
        "return sorted(list(set(ts)))",
        "return len(set(ts)), max({1, 2}), any(t for t in set(ts))",
        "return x in set(ts)",
        "return {t for t in set(ts)}",
        "names = set(ts)",
        "return set(ts)",
        "return os.scandir(p)",
        "return [*{'a'}, *{'b'}]",  # two: which one is meant is not known
        "return [x for x in ts]",
    ],
)
def test_what_has_an_order_or_needs_none_is_left_alone(code: str) -> None:
    text = f"def f(ts, x, p):\n    {code}\n"
    assert sort_call(text, span_of(text, code), proven=False) is None


def test_a_name_bound_once_is_sorted_where_it_is_walked() -> None:
    text = 'def f():\n    names = {"b", "a"}  # two\n    return ", ".join(names)\n'
    fix = sorted_fix(report(text, 'return ", ".join(names)', 2), text)
    assert fixed(text, fix) == text.replace("join(names)", "join(sorted(names))")
    assert fix is not None
    assert fix.applicability == "safe"


@pytest.mark.parametrize("more", ["names.add(1)", "fill(names)", "names |= other", "names = x", "global names"])
def test_a_name_that_may_hold_something_else_is_not_proved(more: str) -> None:
    text = f'def f(other, x):\n    names = {{"b", "a"}}\n    {more}\n    return ", ".join(names)\n'
    assert sort_call(text, span_of(text, 'return ", ".join(names)')) is None


@pytest.mark.parametrize("line", ["sorted = my_sort", "def set(x): ...", "from x import sorted", "import x as list"])
def test_builtins_with_another_meaning_are_not_used(line: str) -> None:
    text = f'{line}\ndef f():\n    return ", ".join({{"a", "b"}})\n'
    assert sort_call(text, span_of(text, 'return ", ".join({"a", "b"})'), proven=False) is None


# Keywords


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("dumps(x)", "dumps(x, sort_keys=True)"),
        ("dumps(x, )", "dumps(x, sort_keys=True, )"),
        ("dumps()", "dumps(sort_keys=True)"),
        ("dumps((x))", "dumps((x), sort_keys=True)"),
        ("dumps(*x, indent=2)", "dumps(*x, indent=2, sort_keys=True)"),
        ("dumps(\n    x,  # data\n)", "dumps(\n    x, sort_keys=True,  # data\n)"),
        ("dumps(\n    x,\n    indent=2,\n)", "dumps(\n    x,\n    indent=2,\n    sort_keys=True,\n)"),
        ("dumps(x  # data\n    )", "dumps(x, sort_keys=True  # data\n    )"),
        ("dumps(x, sort_keys=False)", None),
        ("dumps(x, **options)", None),
        ("dumps(i for i in x)", None),
        ("dumps((i for i in x))", "dumps((i for i in x), sort_keys=True)"),
    ],
)
def test_a_keyword_is_added_behind_the_last_argument(call: str, after: str | None) -> None:
    text = f"y = {call}\n"
    edit = add_keyword(text, span_of(text, call), "sort_keys", "True")
    assert (None if edit is None else applied(text, edit)) == (None if after is None else f"y = {after}\n")


def test_only_a_call_takes_a_keyword() -> None:
    assert add_keyword("y = x\n", Span(NAME, 1, 5, 1, 6), "a", "1") is None
    assert add_keyword("y = x\n", Span(NAME, 9, 5, 9, 6), "a", "1") is None


@pytest.mark.parametrize(
    ("data", "level"),
    [
        ('{"a": 1, "b": [1, None, {"c": f"{x}"}]}', "safe"),
        ('{"a": str(x), "n": len(x), "t": x_typed}', "safe"),
        ("by_name", "safe"),
        ("local", "safe"),
        ("{}", "safe"),
        ('{"a": x}', "unsafe"),
        ('{x: 1, "b": 2}', "unsafe"),
        ('{**x, "b": 2}', "unsafe"),
        ("x", "unsafe"),
        ("{1: 2}", "unsafe"),
    ],
)
def test_keys_are_sorted_safely_where_all_are_strings(data: str, level: str) -> None:
    head = "import json\ndef f(x, x_typed: str, by_name: dict[str, dict[str, int]]):\n    local = {'k': 1}\n"
    text = f"{head}    return json.dumps({data})  # c\n"
    fix = sort_keys_fix(report(text, f"return json.dumps({data})"), text)
    assert f"json.dumps({data}, sort_keys=True)  # c" in fixed(text, fix)
    assert fix is not None
    assert fix.applicability == level


@pytest.mark.parametrize(
    "code",
    [
        'return {"function": {"name": n, "arguments": json.dumps({"a": 1})}}',
        "return Call(arguments=json.dumps({'a': 1}))",
        "arguments = json.dumps({'a': 1})",
        "return json.dumps(tool_call.args)",
        "return json.dumps(block.input)",
        "return orjson.dumps({'a': 1})",
        "return json.dumps({'a': 1}, sort_keys=True)",
        "return json.dumps({'a': 1}), json.dumps({'b': 1})",
    ],
)
def test_the_model_s_own_arguments_and_other_libraries_stay(code: str) -> None:
    text = f"import json, orjson\ndef f(n, tool_call, block):\n    {code}\n"
    assert sort_keys_fix(report(text, code), text) is None


# Clocks


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


def test_places_of_a_report_in_its_own_file() -> None:
    source = {"filename": NAME, "row": 3, "column": 2, "end_row": 3, "end_column": 9}
    told = Report(
        "m", Span(NAME, 5, 1, 5, 4), steps=(Step("b.py", 1, "x"), Step(NAME, 3, "y")), data={"sources": [source]}
    )
    assert places(told) == [Span(NAME, 5, 1, 5, 4), Span(NAME, 3, 2, 3, 9), Span(NAME, 3, 1, 3, 1)]
    assert places(told, "b.py") == [Span("b.py", 1, 1, 1, 1)]


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
