"""Every way a value can take through a program, once with a clock (found) and once with fixed text (silent)."""

from __future__ import annotations

import pytest
from flow_programs import FIXED, assert_found, assert_silent, brief, cases, filled
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.lint.run import lint_text

_IMPORTS = "import asyncio\nimport io\nimport string\nimport textwrap\nimport jinja2\n\n\n"
_HEAD = "async def build(question, lock, environment):\n"


def in_a_request(body: str) -> str:
    """The body in a function that sends `text` as the system message."""
    lines = "".join(f"    {line}\n" if line else "\n" for line in body.splitlines())
    end = '    return [{"role": "system", "content": text}, {"role": "user", "content": question}]  # here\n'
    return _IMPORTS + _HEAD + lines + end


@pytest.mark.parametrize("body", cases("transfer_bodies.txt"))
def test_a_clock_is_followed(body: str) -> None:
    # Text that is assembled over several statements is reported where it is sent or where the clock joins it.
    code = filled(in_a_request(body))
    findings = lint_text(code)
    assert [(f.code, str(f.severity)) for f in findings] == [("CSF101", "error")], (brief(findings), code)
    rows = {row for row, line in enumerate(code.splitlines(), 1) if line.endswith("# here") or "datetime.now" in line}
    assert findings[0].location.row in rows, (brief(findings), code)
    # Every step of the way is told, the clock first.
    lines = code.splitlines()
    flow = findings[0].flow
    assert "datetime.now" in lines[flow[0].row - 1]
    assert all(0 < step.row <= len(lines) and step.message for step in flow)
    assert "reaches" in flow[-1].message


@pytest.mark.parametrize("body", cases("transfer_bodies.txt"))
def test_fixed_text_on_the_same_way_is_fine(body: str) -> None:
    assert_silent(filled(in_a_request(body), FIXED))


@pytest.mark.parametrize("body", cases("transfer_bodies.txt"))
def test_the_same_text_in_the_newest_user_message_is_fine(body: str) -> None:
    code = in_a_request(body).replace('"content": text}', '"content": "You help."}')
    assert_silent(filled(code.replace('"content": question', '"content": text')))


@pytest.mark.parametrize("program", cases("transfer_programs.txt"))
def test_a_clock_is_followed_through_functions(program: str) -> None:
    assert_found(filled(program), "CSF101", severity="error")


@pytest.mark.parametrize("program", cases("transfer_programs.txt"))
def test_fixed_text_through_functions_is_fine(program: str) -> None:
    assert_silent(filled(program, FIXED))


@pytest.mark.parametrize("program", cases("transfer_dead_ends.txt"))
def test_what_does_not_arrive(program: str) -> None:
    assert_silent(filled(program))


OPTION = """
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("--system-prompt", default=f"It is {NOW}.")  # here
    """
DEFAULT = """
    def build(question, now=NOW):
        return [{"role": "system", "content": f"It is {now}."}, {"role": "user", "content": question}]  # here
    """


@pytest.mark.parametrize("program", [pytest.param(OPTION, id="option"), pytest.param(DEFAULT, id="parameter")])
def test_a_default_is_read_at_import(program: str) -> None:
    assert_found(filled(program), "CSF102", severity="warning")
    assert_silent(filled(program, FIXED))


# One step of a longer way: from text in `x` to text again.
STEPS = (
    'f"<{x}>"', '"a" + x', 'x + "a"', '"%s" % x', '"{}".format(x)', '"{v}".format(v=x)', '"@".replace("@", x)',
    '" ".join([x])', '" ".join(["a", x])', "x.strip()", "str(x)", '(x, "a")[0]', '{"k": x}["k"]',
    'x if question else ""', '"" or x', "hand(x)", "hand(v=x)", "pair(x)[1]", "(lambda: x)()", "[y for y in [x]][0]",
)  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(STEPS), max_size=5), st.booleans())
def test_any_way_of_several_steps(steps: list[str], volatile: bool) -> None:
    """A clock arrives whatever it is handed through, and fixed text never does."""
    lines = ["def hand(v):", "    return v", "", "def pair(v):", '    return "a", v', ""]
    lines += ["def build(question):", "    x = str(NOW)", *(f"    x = {step}" for step in steps)]
    lines += ['    return [{"role": "system", "content": x}, {"role": "user", "content": question}]', ""]
    code = filled("\n".join(lines), "datetime.now()" if volatile else FIXED)
    assert [f.code for f in lint_text(code)] == (["CSF101"] if volatile else []), code
