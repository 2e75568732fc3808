"""`watch`: the user's line that read the world is named, whatever lies between."""

from __future__ import annotations

import getpass
import locale
import logging
import os
import platform
import random
import secrets
import socket
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from datetime import date, datetime, timezone
from datetime import datetime as alias
from pathlib import Path
from time import time as aliased_time
from types import FrameType
from typing import Any

import pytest

from pytest_cachesafe.perturb.clock import Clock
from pytest_cachesafe.perturb.settings import parse_under
from pytest_cachesafe.perturb.watch import Read, watch


def _reads(function: Callable[[], Any]) -> set[tuple[str, str]]:
    with watch() as reads:
        function()
    return {(read.kind, read.call) for read in reads}


CALLS: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: datetime.now(), "clock", "datetime.now"),
    (lambda: alias.now(timezone.utc), "clock", "datetime.now"),
    (lambda: datetime.today(), "clock", "datetime.today"),
    (lambda: date.today(), "clock", "date.today"),
    (lambda: time.time(), "clock", "time.time"),
    (lambda: aliased_time(), "clock", "time.time"),
    (lambda: time.time_ns(), "clock", "time.time_ns"),
    (lambda: time.strftime("%Y"), "clock", "time.strftime"),
    (lambda: time.localtime(), "clock", "time.localtime"),
    (lambda: uuid.uuid1(), "clock", "uuid.uuid1"),
    (lambda: uuid.uuid1(), "random", "uuid.uuid1"),
    (lambda: uuid.uuid4(), "random", "uuid.uuid4"),
    (lambda: os.urandom(4), "random", "os.urandom"),
    (lambda: random.random(), "random", "random.random"),
    (lambda: random.choice("ab"), "random", "random.choice"),
    (lambda: random.shuffle([1, 2]), "random", "random.shuffle"),
    (lambda: random.SystemRandom().random(), "random", "random.random"),
    (lambda: secrets.token_hex(4), "random", "secrets.token_hex"),
    (lambda: os.rmdir(tempfile.mkdtemp()), "random", "tempfile.mkdtemp"),
    (lambda: os.getcwd(), "cwd", "os.getcwd"),
    (lambda: Path.cwd(), "cwd", "Path.cwd"),
    (lambda: os.path.abspath("x"), "cwd", "os.path.abspath"),
    (lambda: os.environ["PWD"], "cwd", "os.environ['PWD']"),
    (lambda: os.environ["REGION"], "environment", "os.environ['REGION']"),
    (lambda: os.environ.get("REGION"), "environment", "os.environ['REGION']"),
    (lambda: os.getenv("ABSENT"), "environment", "os.environ['ABSENT']"),
    (lambda: dict(os.environ), "environment", "os.environ"),
    (lambda: socket.gethostname(), "host", "socket.gethostname"),
    (lambda: platform.node(), "host", "platform.node"),
    (lambda: platform.uname(), "host", "platform.uname"),
    (lambda: getpass.getuser(), "user", "getpass.getuser"),
    (lambda: Path.home(), "user", "Path.home"),
    (lambda: os.path.expanduser("~"), "user", "os.path.expanduser"),
    (lambda: os.environ["HOME"], "user", "os.environ['HOME']"),
    (lambda: locale.getlocale(), "locale", "locale.getlocale"),
    (lambda: os.environ.get("LC_ALL"), "locale", "os.environ['LC_ALL']"),
    (lambda: datetime(2020, 1, 1).strftime("%A"), "locale", "datetime.strftime"),
]


@pytest.fixture(autouse=True)
def _variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGION", "secret-region")
    monkeypatch.setenv("PWD", os.getcwd())
    monkeypatch.setenv("HOME", os.getcwd())


@pytest.mark.parametrize(("function", "kind", "call"), CALLS, ids=[f"{kind}-{call}" for _, kind, call in CALLS])
def test_names_the_call(function: Callable[[], Any], kind: str, call: str) -> None:
    assert (kind, call) in _reads(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda: datetime(2020, 1, 1).isoformat(),
        lambda: datetime.fromtimestamp(0),
        lambda: random.Random(3).choice([1, 2, 3]),
        lambda: logging.getLogger("cachesafe.test").debug("no reading of the builder's"),
        lambda: logging.makeLogRecord({}),
        lambda: threading.Event().wait(0.001),
        lambda: platform.system(),
        lambda: sorted({"a", "b"}),
        lambda: time.monotonic(),
        lambda: os.path.join("a", "b"),
    ],
    ids=range(10),
)
def test_is_silent_where_nothing_volatile_is_read(function: Callable[[], Any]) -> None:
    assert _reads(function) == set()


def _build() -> str:
    return f"{datetime.now():%H:%M}"


def test_names_function_file_and_row_and_no_value() -> None:
    with watch() as reads:
        _build()
        os.environ.get("REGION")
    first, second = reads
    assert first == Read("clock", "_build", __file__, _build.__code__.co_firstlineno + 1, "datetime.now")
    assert second.function == "test_names_function_file_and_row_and_no_value"
    assert "secret-region" not in repr(reads)


def test_each_line_counts_once() -> None:
    with watch() as reads:
        for _ in range(50):
            _build()
    assert len(reads) == 1


def test_a_walk_over_the_environment_is_one_read() -> None:
    with watch() as reads:
        dict(os.environ)
    assert [read.call for read in reads] == ["os.environ"]


def test_library_code_is_looked_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "clocklib.py").write_text(
        "import time\ndef stamp():\n    return inner()\ndef inner():\n    return time.time()\n"
    )
    monkeypatch.syspath_prepend(folder)
    import clocklib  # type: ignore[import-not-found]

    with watch() as reads:
        clocklib.stamp()
    assert [(read.filename, read.call) for read in reads] == [(__file__, "clocklib.stamp")]


def test_code_without_a_file_is_no_user_code() -> None:
    names: dict[str, Any] = {}
    exec("import time\ndef made(): return time.time()", names)
    with watch() as reads:
        names["made"]()
    assert [read.filename for read in reads] == [__file__]


def test_a_moved_clock_is_still_read() -> None:
    with Clock().at(1), watch() as reads:
        _build()
        time.time()
    assert [read.call for read in reads] == ["datetime.now", "time.time"]


@pytest.mark.parametrize(
    ("name", "function"),
    [("host", lambda: socket.gethostname()), ("host", lambda: platform.node()), ("user", lambda: getpass.getuser())],
)
def test_a_changed_world_is_still_read(name: str, function: Callable[[], Any]) -> None:
    with parse_under([name])[0].apply(), watch() as reads:
        function()
    assert {read.kind for read in reads} == {name}
    assert {read.filename for read in reads} == {__file__}


def test_threads_started_inside_are_watched() -> None:
    with watch() as reads:
        thread = threading.Thread(target=_build)
        thread.start()
        thread.join()
    assert [read.function for read in reads] == ["_build"]
    assert threading.getprofile() is None


def test_blocks_nest_and_both_see() -> None:
    with watch() as outer:
        with watch() as inner:
            _build()
        time.time()
    assert [read.call for read in inner] == ["datetime.now"]
    assert [read.call for read in outer] == ["datetime.now", "time.time"]


def test_a_profile_function_that_was_there_goes_on_and_comes_back() -> None:
    events: list[str] = []

    def earlier(frame: FrameType, event: str, arg: Any) -> None:
        if frame.f_code is _build.__code__:
            events.append(event)

    sys.setprofile(earlier)
    try:
        with watch() as reads:
            _build()
        after = sys.getprofile()
    finally:
        sys.setprofile(None)
    assert after is earlier
    assert "call" in events
    assert [read.call for read in reads] == ["datetime.now"]


def test_a_profiler_that_cannot_share_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    holder = object()
    monkeypatch.setattr(sys, "getprofile", lambda: holder)
    monkeypatch.setattr(sys, "setprofile", lambda function: pytest.fail("the profiler was replaced"))
    with watch() as reads:
        time.time()
    assert reads == []
    assert "another profiler" in str(reads.blocked)


def test_nothing_stays_behind_after_an_exception() -> None:
    before = sys.getprofile(), threading.getprofile()
    with pytest.raises(KeyError), watch():
        raise KeyError
    assert (sys.getprofile(), threading.getprofile()) == before
