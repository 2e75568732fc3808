"""The settings a prompt can be built under: `under=["clock", "cwd", …]`.

Each setting changes one thing of the world while a request is built, in this process where that is honest, and puts
everything back, exceptions included. Aliases made by `from socket import gethostname` are replaced in every loaded
module; a copy kept in a closure, a default argument or a class attribute is out of reach and keeps the old answer.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Protocol, runtime_checkable

from pytest_cachesafe.prompt import UsageError

__all__ = ["NAMES", "Setting", "parse_under"]

NAMES = ("clock", "clock:day", "hashseed", "random", "cwd", "host", "user", "locale")
OTHER_HOST = "cachesafe-other-host"
OTHER_USER = "cachesafe-other-user"


@runtime_checkable
class Setting(Protocol):
    """One thing to change.

    `reruns` empty: enter `apply(index)` around the building of request `index` (the clock advances with the index,
    random settings seed with it). `reruns` not empty: it cannot be changed inside a process; ask
    `perturb.rerun.rerun_prompts` for each of the names instead of calling `apply`.
    """

    @property
    def name(self) -> str:
        """As written in `under`; the part before a colon is the kind of `watch.Read` that explains it."""

    @property
    def reruns(self) -> tuple[str, ...]:
        """Settings of child processes to compare with each other; empty for settings of this process."""

    def apply(self, index: int = 0) -> AbstractContextManager[None]:
        """Change the world for the building of request `index`."""


class InProcess:
    """A setting that is a context manager of this process."""

    reruns: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        apply: Callable[[int], AbstractContextManager[None]],
        limits: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.name = name
        self._apply = apply
        self._limits = limits

    @property
    def limits(self) -> str | None:
        """What of it cannot be changed on this machine, in words; None if all of it can."""
        return self._limits()

    def apply(self, index: int = 0) -> AbstractContextManager[None]:
        """Change the world for the building of request `index`."""
        return self._apply(index)

    def __repr__(self) -> str:
        return f"<setting {self.name}>"


class HashSeed:
    """Another order of sets of strings: fixed when an interpreter starts, so the test runs again in children.

    The children are compared with each other, never with this process: its own seed is random unless it was set, and a
    verdict must not depend on it. Three seeds miss an order of two elements in one case of four, of three in one of 36.
    """

    SEEDS = ("hashseed=0", "hashseed=1", "hashseed=2")

    def __init__(self, name: str = "hashseed") -> None:
        self.name = name
        # One seed alone has nothing to be compared with but itself: add the first default that differs.
        other = next(seed for seed in self.SEEDS if seed != name)
        self.reruns: tuple[str, ...] = self.SEEDS if name == "hashseed" else (name, other)

    def apply(self, index: int = 0) -> AbstractContextManager[None]:
        """Not possible inside a process; callers look at `reruns` first."""
        raise TypeError("the hash seed cannot change inside a process; use `reruns`")

    def __repr__(self) -> str:
        return f"<setting {self.name}>"


def parse_under(names: Sequence[str | Setting]) -> list[Setting]:
    """The settings that `under` names, each once, in order.

    Raises:
        UsageError: an unknown name (with the closest known one), a lone string, or a missing extra.
    """
    if isinstance(names, str):
        raise UsageError(f"under={names!r}: give a list, under=[{names!r}]")
    found: dict[str, Setting] = {}
    for name in names:
        setting = _setting(name) if isinstance(name, str) else name
        if not isinstance(setting, Setting):
            raise UsageError(f"under=[…] takes names of settings, not {type(name).__name__}; known: {', '.join(NAMES)}")
        found.setdefault(setting.name, setting)
    return _one_hash_seed(list(found.values()))


def _one_hash_seed(settings: list[Setting]) -> list[Setting]:
    """Seeds that are named one by one are compared with each other, not each with a default of its own."""
    seeds = [setting for setting in settings if isinstance(setting, HashSeed)]
    if len(seeds) < 2:
        return settings
    named = [name for seed in seeds for name in (seed.SEEDS if seed.name == "hashseed" else (seed.name,))]
    joined = HashSeed("hashseed")
    joined.reruns = tuple(dict.fromkeys(named))
    return [joined if setting is seeds[0] else setting for setting in settings if setting not in seeds[1:]]


def _setting(name: str) -> Setting:
    from pytest_cachesafe.options import closest

    if name in ("clock", "clock:day"):
        from pytest_cachesafe.perturb.clock import Clock

        return Clock(name)
    if name == "hashseed":
        return HashSeed()
    if name.startswith("hashseed="):
        seed = name.partition("=")[2]
        if seed.isascii() and seed.isdigit() and int(seed) <= 4294967295:
            return HashSeed(f"hashseed={int(seed)}")
        raise UsageError(f"under=[{name!r}]: a hash seed is a whole number from 0 to 4294967295")
    simple = {"random": _random, "cwd": _cwd, "host": _host, "user": _user, "locale": _locale}
    if name not in simple:
        raise UsageError(f"under=[{name!r}]: unknown setting{closest(name, NAMES)}")
    return InProcess(name, simple[name], _locale_limits) if name == "locale" else InProcess(name, simple[name])


@contextmanager
def _random(index: int) -> Iterator[None]:
    """Other random bytes: `random` and numpy's global generator are seeded anew, as another run would find them.

    `uuid`, `secrets` and `os.urandom` give other bytes at every call by themselves. A generator that the builder seeds
    itself stays as it is: that prompt is stable.
    """
    import random

    state = random.getstate()
    numpy = sys.modules.get("numpy.random")
    numpy_state = numpy.get_state() if numpy is not None else None
    seed = 0xCAC4E + 7919 * index
    try:
        random.seed(seed)
        if numpy is not None:
            numpy.seed(seed)
        yield
    finally:
        random.setstate(state)
        if numpy is not None:
            numpy.set_state(numpy_state)


@contextmanager
def _cwd(index: int) -> Iterator[None]:
    """Another, empty working directory, and PWD with it."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="elsewhere-") as folder, _environment({"PWD": folder}):
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def _gethostname() -> str:
    return OTHER_HOST


def _getfqdn(name: str = "") -> str:
    # A look-up by name may use the network; a name that is given is not this machine's.
    return OTHER_HOST + ".example" if name in ("", "0.0.0.0", "::") else name


def _getlogin() -> str:
    return OTHER_USER


# What stands in for a builtin, for `watch`, which then sees these called instead.
REPLACEMENTS: dict[Any, tuple[Any, str]] = {
    _gethostname: ("host", "socket.gethostname"),
    _getfqdn: ("host", "socket.getfqdn"),
    _getlogin: ("user", "os.getlogin"),
}


@contextmanager
def _host(index: int) -> Iterator[None]:
    """Another machine name: `socket`, `platform`, `os.uname`, HOSTNAME and COMPUTERNAME where they are set."""
    import platform
    import socket

    functions: dict[Any, Any] = {
        socket.gethostname: _gethostname,
        socket.getfqdn: _getfqdn,
    }
    uname = getattr(os, "uname", None)
    if uname is not None:
        functions[uname] = lambda: os.uname_result((uname()[0], OTHER_HOST, *uname()[2:]))
    variables = {name: OTHER_HOST for name in ("HOSTNAME", "COMPUTERNAME") if name in os.environ}
    missing = object()
    # platform.node() and platform.uname() answer from this cache; there is no public way to empty it.
    cached = getattr(platform, "_uname_cache", missing)
    with ExitStack() as stack:
        stack.enter_context(_environment(variables))
        stack.enter_context(_replaced(functions))
        if cached is not missing:
            stack.callback(setattr, platform, "_uname_cache", cached)
            platform._uname_cache = None  # type: ignore[attr-defined]
        yield


@contextmanager
def _user(index: int) -> Iterator[None]:
    """Another user: USER, LOGNAME, USERNAME, HOME (an empty folder), hence getpass and `Path.home()`; os.getlogin."""
    functions: dict[Any, Any] = {}
    if hasattr(os, "getlogin"):
        functions[os.getlogin] = _getlogin
    if sys.platform != "win32":
        import pwd

        by_uid = pwd.getpwuid

        def getpwuid(uid: int) -> Any:
            entry = by_uid(uid)
            return pwd.struct_passwd((OTHER_USER, *entry[1:5], folder, entry[6])) if uid == os.getuid() else entry

        functions[by_uid] = getpwuid
    with tempfile.TemporaryDirectory(prefix="home-of-another-") as folder:
        names = ("USER", "LOGNAME", "USERNAME", "LNAME")
        variables = dict.fromkeys(names, OTHER_USER) | {"HOME": folder, "USERPROFILE": folder}
        with _environment(variables), _replaced(functions):
            yield


_LOCALES = (
    "de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "de_DE", "en_US.UTF-8", "en_GB.UTF-8", "C.UTF-8", "C",
)  # fmt: skip


@contextmanager
def _locale(index: int) -> Iterator[None]:
    """Another language: LC_ALL, LANG and LANGUAGE, and the C library's locale where another one is installed.

    With nothing but C installed, names of days and months stay English; the variables change all the same (`limits`
    says so). The time zone is no part of it: it shows in clock readings, which `clock` covers.
    """
    import locale

    before = locale.setlocale(locale.LC_ALL)
    given = (os.environ.get("LC_ALL") or os.environ.get("LANG") or "").lower()
    name = next(n for n in _LOCALES if n.lower() != given)
    with _environment({"LC_ALL": name, "LANG": name, "LANGUAGE": name.partition(".")[0]}):
        try:
            _set_other_locale()
            yield
        finally:
            locale.setlocale(locale.LC_ALL, before)


def _set_other_locale() -> bool:
    """Set an installed locale of another language; without one, at least another name. Whether there is one."""
    import locale

    before, language = locale.setlocale(locale.LC_ALL), _language()
    for candidate in _LOCALES:
        try:
            locale.setlocale(locale.LC_ALL, candidate)
        except locale.Error:
            continue
        if _language() != language:
            return True
    for candidate in _LOCALES:
        try:
            if locale.setlocale(locale.LC_ALL, candidate) != before:
                break
        except locale.Error:
            continue
    return False


def _language() -> str:
    """Language and country that format dates, without the character set; POSIX and C are one."""
    import locale

    name = locale.setlocale(locale.LC_TIME).partition(".")[0]
    return "C" if name == "POSIX" else name


def _locale_limits() -> str | None:
    import locale

    before = locale.setlocale(locale.LC_ALL)
    try:
        found = _set_other_locale()
    finally:
        locale.setlocale(locale.LC_ALL, before)
    if found:
        return None
    return (
        "under locale: no other locale is installed, only LC_ALL, LANG and LANGUAGE were changed; what strftime, "
        "calendar and number formats print was not tried"
    )


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables; afterwards each has its old value again, or is gone again."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = old


@contextmanager
def _replaced(functions: Mapping[Any, Any]) -> Iterator[None]:
    """Put other functions in the place of some, in every loaded module that knows them under any name."""
    wanted = {id(old): new for old, new in functions.items()}
    changed: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for module in list(sys.modules.values()):
            # Not vars(): modules that load lazily answer attribute access with imports.
            names = getattr(module, "__dict__", None)
            if type(names) is not dict:
                continue
            for name, value in list(names.items()):
                new = wanted.get(id(value))
                if new is not None:
                    names[name] = new
                    changed.append((names, name, value))
        yield
    finally:
        for names, name, value in reversed(changed):
            names[name] = value
