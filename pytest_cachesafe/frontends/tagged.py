"""Strings that know who wrote each of their characters, and keep knowing while a template cuts and joins them.

`Tagged` is a str with runs `(length, tag)`: a tag is any object, or None for characters the template wrote. Operations
that move characters (slices, strip, split, replace, join, +, *) move their tags exactly; operations that change them
(case, padding, formatting) keep the tags where length or content allow it, and give the result to its main author
otherwise. The text is never different from what str would give.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, SupportsIndex

__all__ = ["Tagged", "carry", "concat", "locate", "runs_of", "tagged_join"]

Run = tuple[int, Any]


class Tagged(str):
    """A str with an author for every character."""

    _runs: tuple[Run, ...]

    def __new__(cls, text: str, runs: Iterable[Run]) -> Tagged:
        made = super().__new__(cls, text)
        made._runs = tuple(runs)
        return made

    def __str__(self) -> str:
        return self

    def __add__(self, other: str) -> Tagged:
        if not isinstance(other, str):
            return NotImplemented
        return Tagged(str.__add__(self, other), self._runs + runs_of(other))

    def __radd__(self, other: str) -> Tagged:
        if not isinstance(other, str):
            return NotImplemented
        return Tagged(str.__add__(other, self), runs_of(other) + self._runs)

    def __mul__(self, count: SupportsIndex) -> Tagged:
        text = str.__mul__(self, count)
        return Tagged(text, self._runs * max(count.__index__(), 0))

    __rmul__ = __mul__

    def __mod__(self, values: Any) -> str:
        return carry(self, str.__mod__(self, values))

    def __rmod__(self, form: Any) -> str:
        return locate(str.__mod__(form, str.__str__(self)), [self])

    def __getitem__(self, key: SupportsIndex | slice) -> Tagged:
        text = str.__getitem__(self, key)
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return Tagged(text, self._cut(start, max(stop, start)))
            tags = [tag for length, tag in self._runs for _ in range(length)][key]
            return Tagged(text, [(1, tag) for tag in tags])
        at = key.__index__()
        at += len(self) if at < 0 else 0
        return Tagged(text, self._cut(at, at + 1))

    def __iter__(self) -> Iterator[str]:
        for length, tag, start in self._placed():
            for at in range(start, start + length):
                yield Tagged(str.__getitem__(self, at), ((1, tag),))

    def _placed(self) -> Iterator[tuple[int, Any, int]]:
        at = 0
        for length, tag in self._runs:
            yield length, tag, at
            at += length

    def _cut(self, start: int, stop: int) -> tuple[Run, ...]:
        out = []
        for length, tag, at in self._placed():
            low, high = max(at, start), min(at + length, stop)
            if low < high:
                out.append((high - low, tag))
        return tuple(out)

    def _part(self, start: int, stop: int) -> Tagged:
        return Tagged(str.__getitem__(self, slice(start, stop)), self._cut(start, stop))

    # -- methods that move characters -------------------------------------------------------------------------------

    def strip(self, chars: str | None = None, /) -> Tagged:
        start = len(self) - len(str.lstrip(self, chars))
        return self._part(start, start + len(str.strip(self, chars)))

    def lstrip(self, chars: str | None = None, /) -> Tagged:
        return self._part(len(self) - len(str.lstrip(self, chars)), len(self))

    def rstrip(self, chars: str | None = None, /) -> Tagged:
        return self._part(0, len(str.rstrip(self, chars)))

    def removeprefix(self, prefix: str, /) -> Tagged:
        return self._part(len(self) - len(str.removeprefix(self, prefix)), len(self))

    def removesuffix(self, suffix: str, /) -> Tagged:
        return self._part(0, len(str.removesuffix(self, suffix)))

    def _parts(self, parts: Sequence[str], gap: int | None) -> list[str]:
        """Parts that stand in this order in the text, `gap` characters apart, or wherever they are found next."""
        out: list[str] = []
        at = 0
        for part in parts:
            if gap is None:
                at = self.find(part, at)
            out.append(self._part(at, at + len(part)))
            at += len(part) + (gap or 0)
        return out

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return self._parts(str.split(self, sep, maxsplit), None if sep is None else len(sep))

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return self._parts(str.rsplit(self, sep, maxsplit), None if sep is None else len(sep))

    def splitlines(self, keepends: bool = False) -> list[str]:
        whole = self._parts(str.splitlines(self, True), 0)
        bare = str.splitlines(self, keepends)
        return [w[: len(b)] for w, b in zip(whole, bare, strict=True)]

    def partition(self, sep: str, /) -> tuple[str, str, str]:
        a, b, c = self._parts(str.partition(self, sep), 0)
        return a, b, c

    def rpartition(self, sep: str, /) -> tuple[str, str, str]:
        a, b, c = self._parts(str.rpartition(self, sep), 0)
        return a, b, c

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> str:
        text = str.replace(self, old, new, count)
        if not old:
            return carry(self, text)
        limit = count.__index__()
        runs: list[Run] = []
        at = 0
        for match in re.finditer(re.escape(old), str.__str__(self)):
            if limit == 0:
                break
            limit -= 1
            runs += self._cut(at, match.start())
            # What is put in was written by whoever wrote it; a plain replacement by the template.
            runs += runs_of(new)
            at = match.end()
        runs += self._cut(at, len(self))
        return Tagged(text, runs)

    def join(self, values: Iterable[str], /) -> str:
        return tagged_join(self, list(values))


def _carrying(name: str) -> Callable[..., Any]:
    plain = getattr(str, name)

    def method(self: Tagged, *args: Any, **kwargs: Any) -> Any:
        result = plain(self, *args, **kwargs)
        return carry(self, result) if isinstance(result, str) else result

    method.__name__ = name
    return method


for _name in (
    *("capitalize", "casefold", "lower", "swapcase", "title", "upper"),
    *("center", "expandtabs", "ljust", "rjust", "translate", "zfill"),
):
    setattr(Tagged, _name, _carrying(_name))


def runs_of(text: str) -> tuple[Run, ...]:
    """The runs of a string; a plain one was written by the template."""
    if isinstance(text, Tagged):
        return text._runs
    return ((len(text), None),) if text else ()


def concat(pieces: Sequence[str]) -> str:
    """The pieces joined; plain if none of them is tagged."""
    text = "".join(pieces)
    if not any(isinstance(p, Tagged) for p in pieces):
        return text
    return Tagged(text, [run for piece in pieces for run in runs_of(piece)])


def tagged_join(separator: str, values: Sequence[str]) -> str:
    """`separator.join(values)` with authors."""
    pieces: list[str] = []
    for i, value in enumerate(values):
        if not isinstance(value, str):
            raise TypeError(f"sequence item {i}: expected str instance, {type(value).__name__} found")
        if i:
            pieces.append(separator)
        pieces.append(value)
    return concat(pieces)


def carry(source: str, result: str) -> str:
    """Give the characters of `result`, made from `source` alone, their authors."""
    if not isinstance(source, Tagged) or isinstance(result, Tagged) or not result:
        return result
    if len(result) == len(source):
        return Tagged(result, source._runs)
    at = result.find(source) if source else -1
    if at >= 0:
        return Tagged(result, [(at, None), *source._runs, (len(result) - at - len(source), None)])
    return Tagged(result, ((len(result), _main_tag(source)),))


def locate(result: str, sources: Iterable[Any]) -> str:
    """Find tagged strings in a text they were formatted into, in order; the rest is the template's."""
    runs: list[Run] = []
    at = 0
    for source in sources:
        if isinstance(source, Tagged) and source:
            found = result.find(source, at)
            if found >= 0:
                runs += [(found - at, None), *source._runs]
                at = found + len(source)
    if not runs:
        return result
    return Tagged(result, [*runs, (len(result) - at, None)])


def _main_tag(source: Tagged) -> Any:
    sizes: dict[Any, int] = {}
    for length, tag in source._runs:
        if tag is not None:
            sizes[tag] = sizes.get(tag, 0) + length
    return max(sizes, key=lambda t: sizes[t]) if sizes else None
