"""Where volatile values arise: kind, how often they change, and whether they are read once at import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flow_programs import assert_found, assert_silent, brief, cases, programs
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.lint.run import lint_text
from pytest_cachesafe.lint.settings import Settings


def expected(file: str) -> list[Any]:
    """Program, code and severity of each."""
    found = []
    for head, code in programs(file).items():
        name, _, words = head.partition(" | ")
        found.append(pytest.param(code, *words.split(), id=name))
    return found


@pytest.mark.parametrize(("program", "code", "severity"), expected("sources.txt"))
def test_found_as(program: str, code: str, severity: str) -> None:
    findings = lint_text(program)
    assert [(f.code, str(f.severity)) for f in findings] == [(code, severity)], (brief(findings), program)
    line = program.splitlines()[(findings[0].location.row or 0) - 1]
    assert "system" in line.lower() or "+=" in line, (brief(findings), program)


@pytest.mark.parametrize("program", cases("sources_silent.txt"))
def test_only_looks_volatile(program: str) -> None:
    assert_silent(program)


# Finest first, with what strftime prints of each.
PRINTED = [
    ("microsecond", ["%f"]),
    ("second", ["%S", "%X", "%c", "%s"]),
    ("minute", ["%M"]),
    ("hour", ["%H", "%I", "%p"]),
    ("day", ["%d", "%a", "%A", "%j", "%x", "%U"]),
    ("month", ["%m", "%b", "%B"]),
    ("year", ["%Y", "%y"]),
]
VERDICT = {
    "hour": ("CSF101", "warning"),
    "day": ("CSF103", "note"),
    "month": ("CSF103", "note"),
    "year": ("CSF103", "note"),
}
FORMS = [
    "datetime.now().strftime({!r})",
    "format(datetime.now(), {!r})",
    "time.strftime({!r})",
    "datetime.strftime(datetime.now(), {!r})",
    # The name of the zone prints nothing of the clock.
    "datetime.now().strftime(f{!r} f' {{zone}}')",
    "time.strftime(f' {{tz}} ' {!r})",
]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from([(n, d) for n, (_, all_) in enumerate(PRINTED) for d in all_]), min_size=1, max_size=4),
    st.sampled_from([" ", "-", ", ", "%%"]),
    st.sampled_from(FORMS),
)
def test_the_finest_part_of_a_format_decides(parts: list[tuple[int, str]], between: str, form: str) -> None:
    text = between.join(directive for _, directive in parts)
    finest = PRINTED[min(n for n, _ in parts)][0]
    code = (
        "import time\nfrom datetime import datetime\n\n\ndef build(q):\n"
        f'    return [{{"role": "system", "content": {form.format(text)}}}, {{"role": "user", "content": q}}]\n'
    )
    found = [(f.code, str(f.severity)) for f in lint_text(code)]
    assert found == [VERDICT.get(finest, ("CSF101", "error"))], code


FROZEN = {
    "module": "STAMP = VALUE\n",
    "class": "class A:\n    stamp = VALUE\n\n\nSTAMP = A.stamp\n",
    "function-called-there": "def make():\n    return VALUE\n\n\nSTAMP = make()\n",
    "branch": "if True:\n    STAMP = VALUE\nelse:\n    STAMP = ''\n",
    "try": "try:\n    STAMP = VALUE\nexcept OSError:\n    STAMP = ''\n",
    "loop": "for _ in range(2):\n    STAMP = VALUE\n",
    "comprehension": "STAMP = [VALUE for _ in range(2)][0]\n",
    "with": "with open('x') as f:\n    STAMP = VALUE\n",
    "class-called-there": "class A:\n    def __init__(self):\n        self.stamp = VALUE\n\n\nSTAMP = A().stamp\n",
}
BUILD = (
    '\n\ndef build(q):\n    return [{"role": "system", "content": f"It is {STAMP}"}, {"role": "user", "content": q}]\n'
)
HEAD = "import uuid\nfrom datetime import datetime\n\n"


@pytest.mark.parametrize("name", FROZEN)
def test_read_once_at_import(name: str) -> None:
    clock = HEAD + FROZEN[name].replace("VALUE", "datetime.now()") + BUILD
    found = [(f.code, str(f.severity)) for f in lint_text(clock)]
    assert found == [("CSF102", "warning")], clock
    random = HEAD + FROZEN[name].replace("VALUE", "uuid.uuid4()") + BUILD
    found = [(f.code, str(f.severity)) for f in lint_text(random)]
    assert found == [("CSF104", "warning")], random


LIVE = {
    "function": "def STAMP_():\n    return VALUE\n",
    "lambda": "STAMP_ = lambda: VALUE\n",
    "method": "class A:\n    def stamp(self):\n        return VALUE\n\n\nSTAMP_ = A().stamp\n",
}


@pytest.mark.parametrize("name", LIVE)
def test_read_at_every_call(name: str) -> None:
    code = HEAD + LIVE[name].replace("VALUE", "datetime.now()") + BUILD.replace("{STAMP}", "{STAMP_()}")
    assert [(f.code, str(f.severity)) for f in lint_text(code)] == [("CSF101", "error")], code


@pytest.mark.parametrize("test", ['__name__ == "__main__"', '"__main__" == __name__'])
def test_what_runs_as_a_script_only(test: str) -> None:
    code = f'{HEAD}\nif {test}:\n    SYSTEM_PROMPT = f"It is {{datetime.now()}}"  # here\n'
    assert_found(code, "CSF101", severity="error")


def test_below_a_script_guard_the_module_goes_on() -> None:
    code = f'{HEAD}\nif __name__ == "__main__":\n    print(1)\nSYSTEM_PROMPT = f"It is {{datetime.now()}}"  # here\n'
    assert_found(code, "CSF102", severity="warning")


OWN = [
    ("clock", "CSF101", "error"),
    ("clock:day", "CSF103", "note"),
    ("random", "CSF104", "error"),
    ("host", "CSF106", "note"),
]


@pytest.mark.parametrize(("kind", "code", "severity"), OWN)
def test_sources_that_the_project_names(kind: str, code: str, severity: str) -> None:
    program = (
        "from ours import odd\n\n\ndef build(q):\n"
        '    return [{"role": "system", "content": f"{odd.reading()}"}, {"role": "user", "content": q}]\n'
    )
    assert_silent(program)
    own = Settings(Path("project"), sources={"ours.odd.reading": kind})
    assert [(f.code, str(f.severity)) for f in lint_text(program, settings=own)] == [(code, severity)]


def test_sanitizers_that_the_project_names() -> None:
    program = (
        "from datetime import datetime\nfrom ours import pinned\n\n\ndef build(q):\n"
        '    return [{"role": "system", "content": str(pinned(datetime.now()))}, {"role": "user", "content": q}]\n'
    )
    own = Settings(Path("project"), sanitizers=("pinned",))
    assert lint_text(program, settings=own) == []


@pytest.mark.parametrize(
    ("since", "told"),
    [
        ("int(time.time() - start)", "every second"),
        ("int((time.time() - start) / 60)", "every minute"),
        ("round((time.time() - start) / 60)", "every minute"),
        ("(time.time() - start) // 60", "every minute"),
        ("int((time.time() - start) / 3600)", "every hour"),
        ("round((time.time() - start) / 86400)", "once a day"),
    ],
)
def test_a_duration_changes_with_its_unit(since: str, told: str) -> None:
    (found,) = lint_text(
        "import time\n\n\ndef build(start, q):\n"
        f'    return [{{"role": "system", "content": f"It lasts: {{{since}}}"}}, {{"role": "user", "content": q}}]\n'
    )
    assert told in found.message


@pytest.mark.parametrize(
    "form",
    [
        "datetime.now().strftime(f\"%Y-%m-%d{' %H:%M' if q else ''}\")",
        "datetime.now().strftime(f'%Y-%m-%d {tail}')",
        "int(time.time_ns() / 1_000_000)",
        "int(time.time() * 1000 / 60000)",
        "time.time_ns() // 1_000_000",
    ],
)
def test_what_is_not_known_cuts_nothing(form: str) -> None:
    (found,) = lint_text(
        "import time\nfrom datetime import datetime\n\n\ndef build(tail, q):\n"
        f"    at = {form}\n"
        '    return [{"role": "system", "content": f"It is {at}"}, {"role": "user", "content": q}]\n'
    )
    assert (found.code, str(found.severity)) == ("CSF101", "error")
