"""Who read the clock, random bytes, the environment or the directory while a prompt was built.

A profile hook sees every call while the builder runs; a call that reads the world is booked on the innermost line of
the user's own code. Names are kept, values never. Static imports, aliases and libraries in between make no difference.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, Literal, NamedTuple

__all__ = ["Kind", "Read", "Reads", "watch"]

# The same words as the settings of `under` (before a colon), plus "environment" for variables that no setting changes.
Kind = Literal["clock", "random", "environment", "cwd", "host", "user", "locale"]


class Read(NamedTuple):
    """One line of user code that read the world.

    `call` names what the line called ("datetime.now", "uuid.uuid4", "os.environ['REGION']", "arrow.api.now"); `row`
    counts from 1; `function` is "<module>" at import time.
    """

    kind: Kind
    function: str
    filename: str
    row: int
    call: str


class Reads(list[Read]):
    """The reads in the order of their first occurrence, each line and call once.

    `blocked` says why nothing could be seen (another profiler that cannot share), else None.
    """

    blocked: str | None = None


# Builtins by (module or type, name). The value is the kind and the name that users write.
_BUILTINS: dict[tuple[str, str], tuple[Kind, str]] = {
    **{("time", n): ("clock", f"time.{n}") for n in ("time", "time_ns", "localtime", "gmtime", "strftime", "ctime")},
    ("time", "asctime"): ("clock", "time.asctime"),
    **{(m, "urandom"): ("random", "os.urandom") for m in ("posix", "nt")},
    **{(m, n): ("cwd", f"os.{n}") for m in ("posix", "nt") for n in ("getcwd", "getcwdb")},
    **{(m, "getlogin"): ("user", "os.getlogin") for m in ("posix", "nt")},
    ("posix", "uname"): ("host", "os.uname"),
    ("pwd", "getpwuid"): ("user", "pwd.getpwuid"),
    ("_socket", "gethostname"): ("host", "socket.gethostname"),
    ("_locale", "setlocale"): ("locale", "locale.setlocale"),
    ("_locale", "localeconv"): ("locale", "locale.localeconv"),
}
_RANDOM = frozenset(("random", "getrandbits", "rand", "randn", "randint", "choice", "normal", "uniform"))
_NAMES = frozenset(name for _, name in _BUILTINS) | _RANDOM | {"now", "utcnow", "today", "strftime"}
# Parts of the standard library that hand a reading of a kind through to their caller. Readings inside any other part
# serve its own purposes (a log record's time, a lock's deadline, a module's import) and are no candidates.
_PATHS = ("os", "posixpath", "ntpath", "genericpath", "pathlib")
_PASSING: dict[Kind, tuple[str, ...]] = {
    "clock": ("time", "datetime", "_pydatetime", "calendar", "email.utils", "uuid"),
    "random": ("random", "secrets", "uuid", "os", "tempfile"),
    "environment": (*_PATHS, "collections.abc"),
    "cwd": (*_PATHS, "collections.abc"),
    "host": ("os", "socket", "platform", "collections.abc"),
    "user": (*_PATHS, "getpass", "collections.abc"),
    "locale": ("os", "locale", "calendar", "time", "datetime", "_pydatetime", "collections.abc"),
}
_VARIABLES: dict[str, Kind] = {
    **dict.fromkeys(("USER", "LOGNAME", "USERNAME", "LNAME", "HOME", "USERPROFILE"), "user"),
    **dict.fromkeys(("HOSTNAME", "COMPUTERNAME"), "host"),
    **dict.fromkeys(("LC_ALL", "LC_TIME", "LC_CTYPE", "LANG", "LANGUAGE"), "locale"),
    "PWD": "cwd",
}


@lru_cache(maxsize=1)
def _codes() -> dict[CodeType, tuple[tuple[Kind, ...], str]]:
    """Python functions that read the world, by code object."""
    import getpass
    import platform
    import tempfile
    import uuid

    from pytest_cachesafe.perturb import settings

    found: dict[CodeType, tuple[tuple[Kind, ...], str]] = {
        # Time and machine address at once; its reading may come from a C library that no hook sees.
        uuid.uuid1.__code__: (("clock", "random"), "uuid.uuid1"),
        getpass.getuser.__code__: (("user",), "getpass.getuser"),
        # platform answers from a cache, so that the system call underneath is seen only once.
        platform.node.__code__: (("host",), "platform.node"),
        platform.uname.__code__: (("host",), "platform.uname"),
        # Names come from a generator of its own that is seeded in C.
        tempfile.mkdtemp.__code__: (("random",), "tempfile.mkdtemp"),
        tempfile.mkstemp.__code__: (("random",), "tempfile.mkstemp"),
    }
    for function, (kind, call) in settings.REPLACEMENTS.items():
        found[function.__code__] = ((kind,), call)
    return found


@contextmanager
def watch() -> Iterator[Reads]:
    """Collect reads by this thread, and by threads started meanwhile, until the block ends.

    A profile function that was there before is called on and put back; blocks nest.
    """
    reads = Reads()
    previous = sys.getprofile()
    if previous is not None and not callable(previous):
        reads.blocked = "another profiler is running and cannot share; run without it to see who read the world"
        yield reads
        return
    previous_threads = threading.getprofile()
    hook = _Hook(reads, previous)
    threading.setprofile(hook)
    sys.setprofile(hook)
    try:
        yield reads
    finally:
        sys.setprofile(previous)
        threading.setprofile(previous_threads)


class _Hook:
    """The profile function of one `watch` block."""

    def __init__(self, reads: Reads, previous: Callable[..., object] | None) -> None:
        self.reads = reads
        self.previous = previous
        self.seen: set[tuple[Any, ...]] = set()
        self.codes = _codes()
        self.environ = type(os.environ).__getitem__.__code__
        self.environ_walk = type(os.environ).__iter__.__code__
        # The generators that a process shares; an instance that the user seeded gives the same numbers every time.
        numpy = sys.modules.get("numpy.random.mtrand")
        shared = (getattr(sys.modules.get("random"), "_inst", None), getattr(numpy, "_rand", None))
        self.generators = [generator for generator in shared if generator is not None]

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_call":
            name = getattr(arg, "__name__", None)
            if name in _NAMES:
                self.builtin(frame, name, arg)
        elif event == "call":
            code = frame.f_code
            if code in self.codes:
                kinds, call = self.codes[code]
                for kind in kinds:
                    self.note(frame.f_back, kind, call)
            elif code is self.environ:
                self.variable(frame, str(frame.f_locals.get("key", "?")))
            elif code is self.environ_walk:
                self.note(frame.f_back, "environment", "os.environ")
        if self.previous is not None:
            self.previous(frame, event, arg)

    def builtin(self, frame: FrameType, name: str, function: Any) -> None:
        """Book a call of a C function if it is one that reads the world."""
        owner = getattr(function, "__self__", None)
        if isinstance(owner, type):
            if issubclass(owner, date) and name in ("now", "utcnow", "today"):
                self.note(frame, "clock", f"{'datetime' if hasattr(owner, 'hour') else 'date'}.{name}")
        elif isinstance(owner, date):
            if name == "strftime":
                # Formatting a fixed time is no clock reading, but names of days and months follow the locale.
                self.note(frame, "locale", "datetime.strftime")
        elif name in _RANDOM and any(owner is generator for generator in self.generators):
            self.note(frame, "random", f"random.{name}")
        else:
            found = _BUILTINS.get((getattr(function, "__module__", None) or "", name))
            if found is not None:
                self.note(frame, *found)
                if found[1] == "time.strftime":
                    self.note(frame, "locale", found[1])

    def variable(self, frame: FrameType, name: str) -> None:
        """Book a read of an environment variable by name."""
        self.note(frame.f_back, _VARIABLES.get(name, "environment"), f"os.environ[{name!r}]")

    def note(self, frame: FrameType | None, kind: Kind, call: str) -> None:
        """Book a read on the first user frame from here outwards, if only passing code lies between."""
        between: FrameType | None = None
        while frame is not None:
            code = frame.f_code
            home = _home(code.co_filename)
            if home == "user":
                break
            if home == "stdlib":
                module = str(frame.f_globals.get("__name__"))
                if ("pathlib" if module.startswith("pathlib.") else module) not in _PASSING[kind]:
                    return
            if home != "ours" and not (call.startswith("os.environ") and home == "stdlib" and _plain_environ(frame)):
                between = frame
            frame = frame.f_back
        if frame is None:
            return
        if between is not None:
            call = _label(between)
            if call in ("platform.system", "platform.machine", "platform.platform", "platform.release"):
                # They go through uname() but do not tell the machine's name.
                return
        filename, row = frame.f_code.co_filename, frame.f_lineno
        if (filename, row, "os.environ") in self.seen and call.startswith("os.environ["):
            return
        key = (filename, row, kind, call)
        if key not in self.seen:
            self.seen.add(key)
            if call == "os.environ":
                self.seen.add((filename, row, call))
            name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
            self.reads.append(Read(kind, name.replace(".<locals>", ""), filename, row, call))


def _plain_environ(frame: FrameType) -> bool:
    """Whether a standard-library frame is only the way from `os.environ.get` or `os.getenv` to the variable."""
    return frame.f_globals.get("__name__") in ("os", "collections.abc")


def _label(frame: FrameType) -> str:
    """What the user's line called, in words that users know."""
    module = str(frame.f_globals.get("__name__", "?"))
    code = frame.f_code
    if _home(code.co_filename) != "stdlib":
        return f"{module}.{getattr(code, 'co_qualname', code.co_name)}"
    if module.partition(".")[0] == "pathlib":
        return f"Path.{code.co_name}"
    return f"{'os.path' if module in ('posixpath', 'ntpath', 'genericpath') else module}.{code.co_name}"


@lru_cache(maxsize=1)
def _folders() -> tuple[str, tuple[str, ...]]:
    """(this package, the standard library), with a separator at the end."""
    import sysconfig

    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")} | {os.path.dirname(os.__file__)}
    return here + os.sep, tuple(path + os.sep for path in sorted(paths))


@lru_cache(maxsize=4096)
def _home(filename: str) -> Literal["user", "stdlib", "library", "ours"]:
    """Whose code a file holds. Code without a file (templates, generated methods) counts as a library's."""
    if filename.startswith("<"):
        return "stdlib" if filename.startswith("<frozen") else "library"
    ours, stdlib = _folders()
    if filename.startswith(ours):
        return "ours"
    if "site-packages" in filename or "dist-packages" in filename:
        return "library"
    return "stdlib" if filename.startswith(stdlib) else "user"
