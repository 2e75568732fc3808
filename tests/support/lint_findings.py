"""Findings for tests of what is written about them, and text that must do no harm wherever it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from pytest_cachesafe.findings import Finding, Flow, Location, Severity

__all__ = ["HOSTILE", "any_finding", "any_text", "edit", "finding", "sources_of"]

HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "a\n::error file=x::owned",
    "::error::owned",
    ":",
    "a\r::warning::b",
    "##[error]x",
    "##vso[task.setvariable variable=x]y",
    "##teamcity[buildStop]",
    "]]></failure><x/>",
    "<script>alert(1)</script>",
    "\u202egnp.exe\u202c\u2066",
    "\ud800 and \udcff",
    "50%, a:b, %0A%25",
    "[click](javascript:alert(1)) {0}",
    "\x00\x0b\x0c\x85\u2028\ufffe\uffff",
    "日本語\tab e\u0301",
    "",
)


def finding(
    code: str = "CSF101",
    message: str = "the clock reaches the system message",
    severity: str = "error",
    *,
    filename: str = "app/agent.py",
    row: int = 1,
    column: int = 1,
    end: tuple[int, int] | None = None,
    flow: Sequence[tuple[str, int, str]] = (),
    help: str | None = None,  # noqa: A002
    **data: Any,
) -> Finding:
    """A finding as the linter makes it."""
    end_row, end_column = end or (row, column + 1)
    return Finding(
        code,
        message,
        Severity(severity),
        Location(filename=filename, row=row, column=column),
        help=help,
        flow=tuple(Flow(*step) for step in flow),
        data={
            "name": "clock-in-prefix",
            "confidence": "high",
            "end_location": {"row": end_row, "column": end_column},
            "fix": None,
            "fingerprint": "0123456789abcdef",
            **data,
        },
    )


def edit(start: tuple[int, int], end: tuple[int, int], content: str) -> dict[str, Any]:
    """One edit of a fix."""
    (row, column), (end_row, end_column) = start, end
    return {
        "location": {"row": row, "column": column},
        "end_location": {"row": end_row, "column": end_column},
        "content": content,
    }


def sources_of(**texts: str) -> Callable[[str], Sequence[str] | None]:
    """Lines by name of the file, where `app__agent` stands for `app/agent.py`."""
    files = {f"{name.replace('__', '/')}.py": text.splitlines(keepends=True) for name, text in texts.items()}
    return files.get


any_text = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters()),
    st.lists(st.sampled_from([*HOSTILE, "a", "\n", ":", "#", "[", "%", "]"]), max_size=6).map("".join),
)
_numbers = st.integers(1, 2000)
_positions = st.fixed_dictionaries({"row": _numbers, "column": _numbers})
_edits = st.fixed_dictionaries({"location": _positions, "end_location": _positions, "content": any_text})


@st.composite
def any_finding(draw: st.DrawFn) -> Finding:
    """A finding in which every text is any text."""
    fix = draw(
        st.none()
        | st.fixed_dictionaries(
            {
                "message": any_text,
                "applicability": st.sampled_from(["safe", "unsafe", "suggestion"]),
                "edits": st.lists(_edits, max_size=3),
            }
        )
    )
    return Finding(
        draw(st.sampled_from(["CSF101", "CSF203", "XYZ999"])),
        draw(any_text),
        draw(st.sampled_from(list(Severity))),
        Location(filename=draw(any_text), row=draw(st.none() | _numbers), column=draw(st.none() | _numbers)),
        help=draw(st.none() | any_text),
        flow=tuple(draw(st.lists(st.builds(Flow, any_text, _numbers, any_text), max_size=3))),
        data=draw(
            st.just({})
            | st.fixed_dictionaries(
                {
                    "name": any_text,
                    "confidence": st.sampled_from(["high", "medium", "low"]),
                    "end_location": _positions,
                    "fix": st.just(fix),
                    "fingerprint": any_text,
                    "url": st.none() | any_text,
                }
            )
        ),
    )
