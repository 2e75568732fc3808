"""Constants that nobody reads: they are sent to nobody."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern

if TYPE_CHECKING:
    from cachesafe_rules.model import Arrival

__all__ = ["unused"]

_DEFINES = lazy_pattern(rb"^(?:async def|def|class) ", re.MULTILINE)


def unused(name: str, arrival: Arrival, files: Iterable[str], read: Callable[[str], bytes | None]) -> bool:
    """Whether an arrival is the text of a constant that stands unused beside the code of its module.

    A module of nothing but texts is there for others, maybe in another project. `read` gives the bytes of a file.
    """
    if arrival.function or not arrival.sink.isidentifier() or not name.endswith(".py"):
        return False
    data = read(name)
    word = arrival.sink.encode()
    spelt = re.compile(rb"\b" + re.escape(word) + rb"\b")
    if data is None or not _DEFINES.search(data) or len(spelt.findall(data)) > 1:
        return False
    folder, _, last = name.rpartition("/")
    stem = os.fsencode(folder.rpartition("/")[2] if last == "__init__.py" else last[:-3])
    for other in files:
        text = read(other) if other != name else None
        # Whoever imports it spells its module, or takes all there is.
        if text is not None and word in text and (stem in text or b"import *" in text):
            return False
    return True
