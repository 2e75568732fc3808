"""Which release of a framework a project runs, by the files that pin it: what a switch does depends on that.

The lock file beside the code, or in a folder above it, names one release; requirements allow a range, of which the
highest release counts, and with no bound today's. Nothing is installed or asked of an index.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.tables.sinks import FLAGS_SINCE

if TYPE_CHECKING:
    from cachesafe_rules.model import Arrival, Source

__all__ = ["Releases", "highest", "locked"]

_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock")
_PINS = ("pyproject.toml", "requirements.txt", "requirements.in", "setup.cfg", "setup.py", "Pipfile", "environment.yml")

# A release as numbers; what is below a bound, and what has no bound.
_Release = tuple[int, ...]
_BELOW = -1
_ANY = 10**9
_NEWEST: _Release = (_ANY,)
_SPEC = lazy_pattern(r"(===?|~=|<=?|>=?|!=|\^|~)?\s*v?(\d+(?:\.\d+)*)(\.\*)?")


class Releases:
    """Asks whether switches do, in the releases that a project runs, what the tables say. `read` gives the bytes of a
    project's file; `asked` are the names of all files that were asked for, there or not."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._known: dict[tuple[str, str], _Release] = {}
        self.asked: set[str] = set()

    def true(self, arrival: Arrival) -> Arrival | None:
        """The arrival without switches that write elsewhere in this project's release; None where nothing is left."""
        taints = tuple(taint for taint in arrival.taints if self._writes(taint.source))
        if len(taints) == len(arrival.taints):
            return arrival
        return replace(arrival, taints=taints) if taints else None

    def _writes(self, source: Source) -> bool:
        since = FLAGS_SINCE.get(source.api.partition("=")[0]) if source.kind == "flag" else None
        return since is None or self._highest(since[0], os.path.dirname(source.span.filename)) >= since[1]

    def _highest(self, package: str, folder: str) -> _Release:
        if (package, folder) not in self._known:
            pinned = self._first(package, folder, _PINS, highest)
            exact = self._first(package, folder, _LOCKS, locked)
            self._known[package, folder] = min(pinned or _NEWEST, exact or _NEWEST)
        return self._known[package, folder]

    def _first(
        self, package: str, folder: str, names: tuple[str, ...], of: Callable[[str, str], _Release | None]
    ) -> _Release | None:
        """What the nearest folder says in which one of the files names the package."""
        for above in _upwards(folder):
            found = [release for text in self._texts(above, names) if (release := of(text, package)) is not None]
            if found:
                return max(found)
        return None

    def _texts(self, folder: str, names: tuple[str, ...]) -> Iterator[str]:
        for name in names:
            path = f"{folder}/{name}" if folder else name
            self.asked.add(path)
            data = self._read(path)
            if data is not None:
                yield data.decode("utf-8", "replace")


def _upwards(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = os.path.dirname(folder)
    yield ""


def locked(text: str, package: str) -> _Release | None:
    """The release of a package in the text of a lock file."""
    word = re.escape(package)
    toml = rf'^name = "{word}"\s*\nversion = "(\d+(?:\.\d+)*)'
    json = rf'"{word}":\s*\{{[^{{}}]*?"version":\s*"==(\d+(?:\.\d+)*)'
    found = re.findall(rf"{toml}|{json}", text, re.MULTILINE)
    return max((_numbers(one or other) for one, other in found), default=None)


def highest(text: str, package: str) -> _Release | None:
    """The highest release that the text of a file with requirements allows; None where it does not name the package.

    What names it without a version (a keyword, a comment, the project's own name) counts only where nothing else does.
    """
    found = [next(filter(None, groups), "") for groups in _named(package).findall(text)]
    bounds = [_bound(specs) for specs in found if _SPEC.search(specs)]
    return max(bounds or [_NEWEST]) if found else None


@lru_cache(maxsize=8)
def _named(package: str) -> re.Pattern[str]:
    """`crewai[tools]>=1,<2`, `crewai = "^1.0"`, `crewai = {extras = ["tools"], version = "^1.0"}`."""
    return re.compile(
        rf"(?<![\w.\-/@]){re.escape(package)}(?![\w.\-/@])(?:\s*\[[^\]\n]*\])?\"?"
        r"(?:\s*=\s*(?:\{[^}\n]*?\bversion\s*=\s*)?[\"']([^\"'\n]*)[\"']|"
        r"\s*\(?((?:\s*(?:===?|~=|<=?|>=?|!=)\s*[\w.*+!]+\s*,?)*))"
    )


def _bound(specs: str) -> _Release:
    """The highest release that some specifiers allow, in the spelling of pip or of poetry."""
    return min((_upper(sign, _numbers(number), bool(any_)) for sign, number, any_ in _SPEC.findall(specs)))


def _upper(sign: str, release: _Release, any_: bool) -> _Release:
    if sign in (">", ">=", "!="):
        return _NEWEST
    if sign == "<":
        return (*release, _BELOW)
    if sign == "~=":
        return (*release[:-1], _ANY)
    if sign == "~":
        return (*release[:2], _ANY) if len(release) > 1 else (*release, _ANY)
    if sign == "^":
        # The first number that is not 0 stays.
        kept = next((at for at, number in enumerate(release) if number), len(release) - 1)
        return (*release[: kept + 1], _ANY)
    return (*release, _ANY) if any_ else release


def _numbers(text: str) -> _Release:
    return tuple(map(int, text.split(".")))
