"""Regular expressions that are compiled when they are first asked.

A commit hook meets one file, which asks a third of the patterns of the linter; to compile them all costs as much as to
read that file.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

__all__ = ["lazy_pattern"]

_ASKED = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split", "pattern")


class _Late:
    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in _ASKED:
            raise AttributeError(name)
        made = re.compile(self._source, self._flags)
        # From now on they are found without asking here.
        self.__dict__.update((asked, getattr(made, asked)) for asked in _ASKED)
        return self.__dict__[name]


def lazy_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives, made at the first use; only its methods may be asked, not the functions of `re`."""
    return cast("re.Pattern[AnyStr]", _Late(source, flags))
