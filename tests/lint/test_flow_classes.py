"""Values that live in objects: attributes, dataclasses, inheritance, properties, methods that run for another class."""

from __future__ import annotations

import pytest
from flow_programs import FIXED, assert_found, assert_silent, brief, cases, filled, marked, severity_of

from pytest_cachesafe.lint.run import lint_text


@pytest.mark.parametrize("program", cases("classes.txt"))
def test_a_clock_in_an_object_is_found(program: str) -> None:
    code = filled(program)
    findings = lint_text(code)
    assert {(f.code, str(f.severity)) for f in findings} == {("CSF101", severity_of(code))}, (brief(findings), code)
    # Where the clock goes into a parameter or attribute that is sent elsewhere, both ends are a place to mend.
    ends = marked(code) | {row for row, line in enumerate(code.splitlines(), 1) if "datetime.now" in line}
    assert {f.location.row for f in findings} <= ends, (brief(findings), code)
    steps = {step.row for f in findings for step in f.flow} | {f.location.row for f in findings}
    assert steps & marked(code), (findings, code)


@pytest.mark.parametrize("program", cases("classes.txt"))
def test_fixed_text_in_an_object_is_fine(program: str) -> None:
    assert_silent(filled(program, FIXED))


@pytest.mark.parametrize("program", cases("classes_silent.txt"))
def test_a_clock_elsewhere_in_the_object_is_fine(program: str) -> None:
    assert_silent(filled(program))


CONSTANT = """
    class Agent:
        TEXT = f"It is {NOW}."

        def build(self, question):
            return [{"role": "system", "content": self.TEXT}, {"role": "user", "content": question}]  # here
    """
FIELD = """
    from dataclasses import dataclass

    @dataclass
    class Given:
        now: str = str(NOW)

    def build(question):
        given = Given()
        return [{"role": "system", "content": given.now}, {"role": "user", "content": question}]  # here
    """


@pytest.mark.parametrize("program", [pytest.param(CONSTANT, id="constant"), pytest.param(FIELD, id="field")])
def test_a_class_body_is_read_at_import(program: str) -> None:
    assert_found(filled(program), "CSF102", severity="warning")
    assert_silent(filled(program, FIXED))


@pytest.mark.parametrize("factory", ["datetime.now", "lambda: datetime.now()", "stamp"])
@pytest.mark.parametrize("call", ["field", "Field"])
def test_a_factory_runs_for_each_object(factory: str, call: str) -> None:
    code = f"""
        from dataclasses import dataclass, field
        from pydantic import Field

        def stamp():
            return datetime.now()

        @dataclass
        class Given:
            now: object = {call}(default_factory={factory})

        def build(question):
            given = Given()
            return [{{"role": "system", "content": f"{{given.now}}"}}, {{"role": "user", "content": question}}]  # here
        """
    assert_found(filled(code), "CSF101", severity="error")
    assert_silent(filled(code.replace(f"default_factory={factory}", "default_factory=str")))


def test_a_method_of_the_base_speaks_for_the_class_that_overrides() -> None:
    """Only the subclass is volatile: the base alone is fine, and a sibling stays so."""
    code = """
        class Base:
            def extra(self):
                return ""

            def build(self, question):
                return [{"role": "system", "content": "You help. " + self.extra()}]  # here

        class Plain(Base):
            def extra(self):
                return "Be brief."
        """
    assert_silent(filled(code))
    more = """
        class Dated(Base):
            def extra(self):
                return f"It is {NOW}."
        """
    assert_found(filled(code) + filled(more).removeprefix("from datetime import datetime\n"), "CSF101")
