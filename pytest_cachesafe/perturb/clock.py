"""The clock setting: request i is built at a base time plus i steps, standing still while it is built.

The steps are those of the clock policy: 61 seconds change every minute-level value and no date, a day changes dates.
Moved by `time-machine` (extra `clock`), which works below Python: aliases, `strftime_now` of templates, `uuid1` and
`time.strftime` follow; monotonic clocks do not, so event loops go on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from pytest_cachesafe.prompt import UsageError

__all__ = ["Clock", "Moments", "frozen_by"]

_active = 0


class Clock:
    """Building times of requests.

    Args:
        name: `clock` (61 s between requests) or `clock:day` (one day).
        base: seconds since the epoch of request 0. Default: today at 10:41:07 local time, so that neither a run before
            midnight nor a long chat changes the date by accident.

    Raises:
        UsageError: the extra is missing, or something else has the clock already.
    """

    reruns: tuple[str, ...] = ()

    def __init__(self, name: str = "clock", *, base: float | None = None) -> None:
        try:
            import time_machine  # noqa: F401  (missing is a user's mistake to be told before anything is built)
        except ImportError:
            raise UsageError(f'under=["{name}"] needs time-machine: pip install "pytest-cachesafe[clock]"') from None
        self.name = name
        _refuse_frozen(name)
        self._base = base
        self._now = time.time()

    def timestamp(self, index: int) -> float:
        """Seconds since the epoch at which request `index` is built."""
        if self.name == "clock:day":
            if self._base is not None:
                return self._base + 86_400 * index
            # mktime carries day overflow into months and keeps the local time of day over a change to summer time.
            return self._morning(index)
        return (self._morning(0) if self._base is None else self._base) + 61 * index

    def _morning(self, days: int) -> float:
        today = time.localtime(self._now)
        return time.mktime((today.tm_year, today.tm_mon, today.tm_mday + days, 10, 41, 7, 0, 0, -1))

    def at(self, index: int) -> AbstractContextManager[None]:
        """Stop the clock at the time of request `index`.

        Raises:
            UsageError: something else has stopped or moved the clock meanwhile.
        """
        return _stopped(self.timestamp(index), self.name)

    def apply(self, index: int = 0) -> AbstractContextManager[None]:
        """The same as `at`."""
        return self.at(index)

    def __repr__(self) -> str:
        return f"<setting {self.name}>"


class Moments:
    """The clock stands still at one moment for request i, in whatever world it is built.

    The moment is the one at which the request was first built. Worlds are built one after the other: without this, a
    time in the newest message would differ between them and be blamed on what each of them changes.
    """

    def __init__(self) -> None:
        # Request -> seconds since the epoch.
        self.known: dict[int, float] = {}

    @staticmethod
    def possible() -> bool:
        """Whether `time-machine` is there and nobody else holds the clock."""
        try:
            import time_machine  # noqa: F401
        except ImportError:
            return False
        return frozen_by() is None

    def at(self, index: int) -> AbstractContextManager[None]:
        """Stop the clock at the moment of request `index`; a builder that has stopped it meanwhile keeps it."""
        if frozen_by() is not None:
            return nullcontext()
        return _stopped(self.known.setdefault(index, time.time()), "clock")


@contextmanager
def _stopped(timestamp: float, name: str) -> Iterator[None]:
    import time_machine

    global _active
    _refuse_frozen(name)
    _active += 1
    try:
        with time_machine.travel(timestamp, tick=False):
            yield
    finally:
        _active -= 1


def frozen_by() -> str | None:
    """The library that has stopped or moved the clock from outside, or None. Our own clock does not count."""
    if _active:
        return None
    freezegun = sys.modules.get("freezegun.api")
    if freezegun is not None and getattr(freezegun, "freeze_factories", None):
        return "freezegun"
    machine = sys.modules.get("time_machine")
    if machine is not None and machine.escape_hatch.is_travelling():
        return "time-machine"
    return None


def _refuse_frozen(name: str) -> None:
    holder = frozen_by()
    if holder is not None:
        # A guess would be wrong either way: their time may be what makes the prompt stable, or hide that it is not.
        raise UsageError(
            f'under=["{name}"]: {holder} holds the clock in this test; '
            f"build the prompt outside of it, or leave {name!r} out of under"
        )
