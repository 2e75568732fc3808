"""`under`: each setting changes what it names, and everything is back afterwards."""

from __future__ import annotations

import getpass
import locale
import os
import platform
import random
import socket
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.perturb.settings import NAMES, HashSeed, parse_under
from pytest_cachesafe.prompt import UsageError

READERS: dict[str, list[Callable[[], Any]]] = {
    "random": [random.random, lambda: random.choice(range(10**9))],
    "cwd": [os.getcwd, Path.cwd, lambda: os.environ["PWD"], lambda: Path("x").absolute()],
    # Called by name: what a list holds is out of reach, as the module says.
    "host": [lambda: socket.gethostname(), lambda: socket.getfqdn(), platform.node, lambda: platform.uname().node],
    "user": [
        getpass.getuser,
        Path.home,
        lambda: os.path.expanduser("~"),
        lambda: [os.environ.get(name) for name in ("USER", "LOGNAME", "USERNAME", "HOME")],
    ],
    "locale": [lambda: os.environ.get("LC_ALL"), lambda: os.environ.get("LANG")],
}
if sys.platform != "win32":
    READERS["host"].append(lambda: os.uname().nodename)


def _world() -> tuple[Any, ...]:
    readings = tuple(read() for name, reads in READERS.items() if name != "random" for read in reads)
    return (readings, random.getstate(), dict(os.environ), locale.setlocale(locale.LC_ALL))


@pytest.fixture(autouse=True)
def _known_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", os.getcwd())
    monkeypatch.setenv("HOSTNAME", "box")


@pytest.mark.parametrize("name", READERS)
def test_changes_every_reading_of_its_kind(name: str) -> None:
    (setting,) = parse_under([name])
    state = random.getstate()
    before = [read() for read in READERS[name]]
    random.setstate(state)
    with setting.apply(0):
        inside = [read() for read in READERS[name]]
    assert all(a != b for a, b in zip(before, inside, strict=True)), (before, inside)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_restores_everything(name: str, error: type[BaseException] | None) -> None:
    (setting,) = parse_under([name])
    before = _world()
    try:
        with setting.apply(1):
            if error is not None:
                raise error
    except (ValueError, KeyboardInterrupt):
        pass
    assert _world() == before


def test_settings_nest() -> None:
    before = _world()
    outer, inner = parse_under(["user", "host"])
    with outer.apply(), inner.apply():
        assert getpass.getuser() != before[0][-6]
        assert socket.gethostname() == platform.node() == os.environ["HOSTNAME"]
    assert _world() == before


def test_reaches_aliases_in_other_modules() -> None:
    module = types.ModuleType("builder_with_alias")
    exec("from socket import gethostname as name_of_host\ndef build(): return name_of_host()", module.__dict__)
    sys.modules[module.__name__] = module
    try:
        before = module.build()
        with parse_under(["host"])[0].apply():
            assert module.build() != before
        assert module.build() == before
        assert module.name_of_host is socket.gethostname
    finally:
        del sys.modules[module.__name__]


def test_full_name_of_another_host_needs_no_network() -> None:
    with parse_under(["host"])[0].apply():
        assert socket.getfqdn("localhost.test") == "localhost.test"


def test_random_seeds_numpy_too() -> None:
    numpy = pytest.importorskip("numpy")
    numpy.random.seed(5)
    expected = numpy.random.rand(2).tolist()
    numpy.random.seed(5)
    with parse_under(["random"])[0].apply(3):
        inside = numpy.random.rand(2).tolist()
    assert inside != expected
    assert numpy.random.rand(2).tolist() == expected


def test_random_differs_from_request_to_request_and_not_from_run_to_run() -> None:
    def drawn(index: int) -> float:
        with parse_under(["random"])[0].apply(index):
            return random.random()

    assert drawn(0) != drawn(1)
    assert drawn(0) == drawn(0)


def test_a_generator_that_the_builder_seeds_is_left_alone() -> None:
    with parse_under(["random"])[0].apply():
        assert random.Random(7).random() == random.Random(7).random()


def test_names_are_kept_in_order_and_once() -> None:
    assert [s.name for s in parse_under(["host", "cwd", "host"])] == ["host", "cwd"]
    assert parse_under([]) == []
    setting = parse_under(["cwd"])[0]
    assert parse_under([setting]) == [setting]


def test_every_documented_name_is_known() -> None:
    assert [s.name for s in parse_under(NAMES)] == list(NAMES)


@pytest.mark.parametrize(
    ("under", "words"),
    [
        (["clok"], "did you mean 'clock'"),
        (["hashsed"], "did you mean 'hashseed'"),
        (["weather"], "allowed: clock, clock:day"),
        (["hashseed=-1"], "from 0 to 4294967295"),
        (["hashseed=4294967296"], "from 0 to 4294967295"),
        ("clock", "under=['clock']"),
        ([7], "not int"),
    ],
)
def test_a_mistake_is_named_in_one_line(under: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_under(under)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_hash_seed_asks_for_children_that_differ() -> None:
    (default,) = parse_under(["hashseed"])
    assert len(set(default.reruns)) >= 2
    (one,) = parse_under(["hashseed=0"])
    assert one.reruns[0] == "hashseed=0"
    assert one.reruns[1] != "hashseed=0"
    assert isinstance(default, HashSeed)
    with pytest.raises(TypeError):
        default.apply()
    assert all(s.reruns == () for s in parse_under(["cwd", "clock"]))


def test_locale_says_what_it_cannot_change(monkeypatch: pytest.MonkeyPatch) -> None:
    (setting,) = parse_under(["locale"])
    installed = {"C", "C.UTF-8"}

    def setlocale(category: int, name: Any = None) -> str:
        if name is not None and name not in installed:
            raise locale.Error("unsupported locale setting")
        current["name"] = name if name is not None else current["name"]
        return current["name"]

    current = {"name": "C"}
    monkeypatch.setattr(locale, "setlocale", setlocale)
    assert "no other locale is installed" in str(setting.limits)
    assert "\n" not in str(setting.limits)
    installed.add("fr_FR.UTF-8")
    assert setting.limits is None
    with setting.apply():
        assert locale.setlocale(locale.LC_TIME) == "fr_FR.UTF-8"
    assert locale.setlocale(locale.LC_TIME) == "C"
    # From another language, C itself is another one.
    current["name"] = "fr_FR.UTF-8"
    assert setting.limits is None


def test_settings_that_change_all_they_name_say_nothing() -> None:
    others = [s for s in parse_under(NAMES) if s.name != "locale"]
    assert [getattr(s, "limits", None) for s in others] == [None] * len(others)


def test_the_report_tells_what_locale_did_not_try(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_cachesafe import check_prefix_stable

    words = "under locale: no other locale is installed"
    monkeypatch.setattr("pytest_cachesafe.perturb.settings._locale_limits", lambda: words)
    build = lambda turn: [{"role": "user", "content": "a"}, *[{"role": "user", "content": "b"}] * turn.index]  # noqa: E731
    assert words in check_prefix_stable(build, under=["locale"]).notes
    assert words not in check_prefix_stable(build, under=["cwd"]).notes


def test_named_seeds_are_compared_with_each_other() -> None:
    (one,) = parse_under(["hashseed=1", "hashseed=5"])
    assert one.reruns == ("hashseed=1", "hashseed=5")
    (alone,) = parse_under(["hashseed=0"])
    assert alone.reruns == ("hashseed=0", "hashseed=1")
