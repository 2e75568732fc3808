"""A setting that nobody reads was not tried."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from pytest_cachesafe import ChatTemplate, Toggle, check_prefix_stable
from pytest_cachesafe.prompt import Turn

READS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "item": lambda s: s["verbose"],
    "get": lambda s: s.get("verbose"),
    "in": lambda s: "verbose" in s,
    "pop": lambda s: s.pop("verbose"),
    "setdefault": lambda s: s.setdefault("verbose", 1),
    "iteration": lambda s: list(s),
    "keys": lambda s: list(s.keys()),
    "values": lambda s: list(s.values()),
    "items": lambda s: list(s.items()),
    "unpacking": lambda s: {**s},
    "keywords": lambda s: (lambda **k: k)(**s),
    "dict": dict,
    "update": lambda s: {}.update(s),
    "copy": lambda s: s.copy(),
    "copied": copy.copy,
    "deepcopy": copy.deepcopy,
    "or": lambda s: s | {},
    "ror": lambda s: {} | s,
    "equal": lambda s: s == {},
    "unequal": lambda s: s != {},
    "str": str,
    "json": json.dumps,
    "pickle": pickle.dumps,
}
BOTH = [Toggle("verbose", [True, False])]


def build(turn: Turn) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "a"}, *[{"role": "user", "content": "b"}] * turn.index]}


@pytest.mark.parametrize("how", READS)
def test_every_way_to_read_counts(how: str) -> None:
    def reading(turn: Turn) -> dict[str, Any]:
        READS[how](turn.settings)
        return build(turn)

    report = check_prefix_stable(reading, toggles=BOTH)
    assert report.warnings == []
    turn = Turn(0, {"verbose": True, "other": 1})
    READS[how](turn.settings)
    assert "verbose" in turn.settings_read


def test_a_read_names_one_setting() -> None:
    turn = Turn(0, {"verbose": True, "other": 1})
    assert repr(turn) == "Turn(0, settings={'verbose': True, 'other': 1})"
    assert turn.settings_read == frozenset()
    assert turn.settings["verbose"] is True
    assert turn.settings_read == {"verbose"}
    assert turn.settings == {"verbose": True, "other": 1}
    assert type(copy.deepcopy(turn.settings)) is dict


@pytest.mark.parametrize("template", [None, ChatTemplate.from_string("{{ messages[0].content }}", name="plain")])
def test_a_setting_that_nobody_reads_compared_nothing(template: Any) -> None:
    report = check_prefix_stable(build, toggles=BOTH, template=template)
    assert len(report.warnings) == 1
    assert (
        "toggle compared nothing: 'verbose' is read by neither the template nor, through turn.settings, the builder"
        in report.warnings[0]
    )
    assert report.toggles[0].idle is not None


def test_a_setting_that_the_template_reads_is_tried() -> None:
    template = ChatTemplate.from_string("{{ messages[0].content }}{% if verbose %}!{% endif %}", name="reads")
    report = check_prefix_stable(build, toggles=BOTH, template=template)
    assert report.warnings == []
    assert report.toggles[0].idle is None


def test_a_function_as_template_may_use_any_keyword() -> None:
    report = check_prefix_stable(build, toggles=BOTH, template=lambda messages, **settings: [1] * len(messages))
    assert report.warnings == []


def test_other_settings_do_not_count() -> None:
    def reads_brief(turn: Turn) -> dict[str, Any]:
        assert turn.settings["brief"] is not None
        return build(turn)

    report = check_prefix_stable(reads_brief, toggles=[*BOTH, Toggle("brief", [0, 1])])
    assert [result.idle is None for result in report.toggles] == [False, True]
