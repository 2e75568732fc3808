"""Codes, names, selectors, and rules that other packages bring."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachesafe_rules.api import Rule
from cachesafe_rules.registry import RULES, expand, known_codes, load_rules, third_party


class Good(Rule):
    """A fine rule."""

    code = "ACME001"
    name = "acme-rule"
    severity = "note"


def install(monkeypatch: pytest.MonkeyPatch, **points: object) -> None:
    """Pretend that these entry points are installed; an exception as value is raised by the import."""

    class Point:
        def __init__(self, name: str, loaded: object) -> None:
            self.name, self.value, self.loaded = name, f"{name}.rules", loaded

        def load(self) -> object:
            if isinstance(self.loaded, BaseException):
                raise self.loaded
            return self.loaded

    def entry_points(*, group: str) -> list[Point]:
        assert group == "cachesafe.rules"
        return [Point(name, loaded) for name, loaded in points.items()]

    monkeypatch.setattr(metadata, "entry_points", entry_points)


def test_codes_and_names_are_unique_and_well_formed() -> None:
    codes = known_codes()
    assert len(codes) == len(RULES) == len(set(codes.values()))
    assert list(codes) == sorted(codes)
    for code, name in codes.items():
        assert re.fullmatch(r"CSF\d{3}", code)
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)


def test_each_rule_is_what_the_registry_says() -> None:
    for entry, rule in zip(RULES, load_rules(known_codes()), strict=True):
        assert (rule.code, rule.name) == (entry.code, entry.name)
        assert rule.severity in ("error", "warning", "note")
        assert rule.VALID
        assert rule.INVALID
        assert all(example.rows for example in rule.INVALID)
        assert not any(example.rows for example in rule.VALID)


def test_only_the_rules_asked_for_are_imported() -> None:
    code = (
        "import sys; from cachesafe_rules.registry import known_codes, load_rules; known_codes();"
        "before = [m for m in sys.modules if m.startswith('cachesafe_rules.')]; load_rules(['CSF103']);"
        "after = [m for m in sys.modules if m.startswith('cachesafe_rules.')];"
        "assert set(before) == {'cachesafe_rules.registry'}, before;"
        "assert 'cachesafe_rules.daily_date' in after; assert 'cachesafe_rules.object_repr' not in after, after;"
        "assert not {'importlib.metadata', 'difflib', 'libcst'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_loading_is_sorted_and_without_doubles() -> None:
    assert [r.code for r in load_rules(["CSF202", "CSF101", "CSF202"])] == ["CSF101", "CSF202"]
    with pytest.raises(ValueError, match="CSF999"):
        load_rules(["CSF999"])


def test_selectors() -> None:
    codes = set(known_codes())
    assert expand(["ALL"]) == expand(["CSF"]) == codes
    assert expand(["CSF10"]) == {c for c in codes if c.startswith("CSF10")}
    assert expand(["daily-date", "CSF101"]) == {"CSF101", "CSF103"}
    assert expand([]) == set()
    assert expand(["ACME0"], {"ACME001": "acme-rule"}) == {"ACME001"}


@settings(deadline=None)
@given(st.lists(st.sampled_from(["ALL", "CSF", "CSF1", "CSF20", *known_codes(), *known_codes().values()])))
def test_selectors_are_a_union(selectors: list[str]) -> None:
    assert expand(selectors) == set().union(*(expand([s]) for s in selectors))


@pytest.mark.parametrize(
    ("selector", "closest"),
    [("CSF1011", "CSF101"), ("csf101", "CSF101"), ("dayly-date", "daily-date"), ("daily_date", "daily-date"),
     ("C", ""), ("CSF8", "CSF"), ("", ""), ("all", "ALL"), ("F401", ""), ("x" * 5000, "")],
)  # fmt: skip
def test_an_unknown_selector_is_one_line_with_the_closest(selector: str, closest: str) -> None:
    with pytest.raises(ValueError, match="unknown rule") as caught:
        expand([selector])
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 200
    assert closest in text


@settings(deadline=None)
@given(st.text(max_size=8))
def test_a_selector_is_known_or_refused_with_a_value_error(selector: str) -> None:
    try:
        codes = expand([selector])
    except ValueError:
        return
    assert codes
    assert codes <= set(known_codes())


def test_nothing_is_looked_up_without_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(**_: object) -> None:
        raise AssertionError("entry points were scanned")

    monkeypatch.setattr(metadata, "entry_points", never)
    assert third_party([]) == []


def test_rules_of_others_are_loaded_by_name_only(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, acme=SimpleNamespace(RULES=[Good]), broken=ImportError("no"))
    [rule] = third_party(["acme", "acme"])
    assert isinstance(rule, Good)


def rule_with(**attributes: object) -> type[Rule]:
    return type("Bad", (Good,), attributes)


@pytest.mark.parametrize(
    ("loaded", "words"),
    [
        (ImportError("no module\nnamed x"), "cannot import acme.rules: ImportError: no module named x"),
        (RuntimeError(), "RuntimeError"),
        (SystemExit(3), "SystemExit"),
        (SimpleNamespace(), "no list RULES"),
        (SimpleNamespace(RULES="abc"), "no list RULES"),
        (SimpleNamespace(RULES=[object]), "no subclass"),
        (SimpleNamespace(RULES=[3]), "no subclass"),
        (SimpleNamespace(RULES=[rule_with(code="CSF777")]), "reserved"),
        (SimpleNamespace(RULES=[rule_with(code="CSFX777")]), "reserved"),
        (SimpleNamespace(RULES=[rule_with(code="acme1")]), "letters and three digits"),
        (SimpleNamespace(RULES=[rule_with(code=None)]), "letters and three digits"),
        (SimpleNamespace(RULES=[rule_with(name="Not Kebab")]), "kebab"),
        (SimpleNamespace(RULES=[rule_with(name="daily-date")]), "daily-date is taken by pytest-cachesafe"),
        (SimpleNamespace(RULES=[rule_with(severity="fatal")]), "error, warning or note"),
        (SimpleNamespace(RULES=[Good, rule_with(name="other")]), "ACME001 is taken by acme"),
    ],
)
def test_a_broken_rule_of_others_is_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, loaded: object, words: str
) -> None:
    install(monkeypatch, acme=loaded)
    with pytest.raises(ValueError, match="'acme'") as caught:
        third_party(["acme"])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_entry_point_tells_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, other=SimpleNamespace(RULES=[Good]))
    with pytest.raises(ValueError, match=r"'acme': no such entry point .*installed: other"):
        third_party(["acme"])


def test_an_interrupt_is_not_taken_for_a_broken_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, acme=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        third_party(["acme"])
