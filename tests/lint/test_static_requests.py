"""Small requests as people write them: each verdict with its code, its severity and its lines."""

from __future__ import annotations

import pytest
from flow_programs import assert_found, assert_silent, programs

CASES = {head.partition(" | ")[0]: (head.partition(" | ")[2], code) for head, code in programs("static.txt").items()}


@pytest.mark.parametrize("name", CASES)
def test_verdict(name: str) -> None:
    verdict, code = CASES[name]
    if verdict == "silent":
        assert_silent(code)
        return
    rule, severity = verdict.split()
    assert_found(code, rule, severity=severity)
