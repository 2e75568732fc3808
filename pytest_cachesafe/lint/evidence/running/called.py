"""Functions that nobody calls, or whose text nobody sends: what is built in them does not matter.

Names decide, since nothing is executed: a function is dead where no code of the project, tests aside, spells its name
in a way that can mean it, or only other dead functions do. It is taken to be alive where somebody outside of what can
be read may call it: a framework (decorators, methods of classes with foreign bases), the interpreter (`main`, special
methods), other projects (exported names, methods of classes that its package offers or of which it makes no object,
modules of which nothing is used).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.running.called_facts import Facts, ProjectFacts
from pytest_cachesafe.lint.evidence.running.uses import Use, uses
from pytest_cachesafe.lint.evidence.sending.idle import builds_only, handed_to
from pytest_cachesafe.lint.path_kinds import is_test_path

__all__ = ["Called"]

# How far callers of callers are asked, and how many callers are enough to believe that one of them is alive.
_ROUNDS = 3
_MANY = 3
# With so many names asked for, all words of a file are looked at once instead of each name by itself.
_WORDWISE = 8
# Letters of other scripts are two bytes and more.
_WORD = rb"[\w\x80-\xff]"
_WORDS = lazy_pattern(_WORD + rb"+")
_DOTTED = lazy_pattern(rb"(?:\.\s*|[\"':.])\Z")


class _Target(NamedTuple):
    file: str
    qualname: str


# The functions that use one; None where it is alive.
_Users = dict[_Target, set[_Target] | None]


class Called:
    """Asks of functions whether somebody calls them. `read` gives the bytes of a file of the project."""

    def __init__(self, files: Iterable[str], read: Callable[[str], bytes | None]) -> None:
        self._files = list(files)
        self._read = read
        self._facts = ProjectFacts(self._files, read)
        self._told: dict[str, bytes] = {}
        self._shown: set[_Target] = set()
        self._handed: dict[_Target, frozenset[str] | None] = {}
        self._built: dict[_Target, bool] = {}
        self._others_in: dict[str, frozenset[str]] = {}

    def dead(self, places: Mapping[str, Iterable[int]]) -> dict[str, set[int]]:
        """Of the rows of each file, those in functions that nobody calls, or that only show what they build."""
        asked: dict[_Target, list[tuple[str, int]]] = {}
        out: dict[str, set[int]] = {}
        for name, rows in places.items():
            for row in rows if name.endswith(".py") else ():
                for facts in self._facts.around(name, row):
                    if facts.raised or self._hands(name, facts.qualname) == frozenset():
                        out.setdefault(name, set()).add(row)
                    elif not facts.open:
                        asked.setdefault(_Target(name, facts.qualname), []).append((name, row))
        for target in self._unused(asked):
            for name, row in asked.get(target, ()):
                out.setdefault(name, set()).add(row)
        return out

    def _unused(self, asked: Iterable[_Target]) -> set[_Target]:
        """Those of the functions that have no use, or uses in such functions alone."""
        users: _Users = {}
        todo = list(asked)
        for _ in range(_ROUNDS):
            todo = [target for target in todo if target not in users]
            if not todo:
                break
            found = self._users(todo)
            users.update(found)
            todo = list({user for used in found.values() for user in used or ()})
        dead = {target for target, used in users.items() if used is not None}
        while True:
            # Whoever is used by somebody who is not dead is not.
            alive = {target for target in dead if not (users[target] or set()) <= dead}
            if not alive:
                return dead
            dead -= alive

    def _users(self, targets: Sequence[_Target]) -> _Users:
        """For each function the functions that use it; None where other code does or may."""
        out: _Users = {}
        wanted: dict[_Target, Facts] = {}
        for target in targets:
            facts = self._facts.of(target.file).get(target.qualname)
            out[target] = None
            if facts is not None and not facts.open:
                wanted[target] = facts
                out[target] = set()
        # Whether something else of a function's file, of a method's class, is used; only then the silence says much.
        beside = {target: facts.private for target, facts in wanted.items()}
        homes = {target.file for target in wanted}
        for name in (*sorted(homes), *self._others(homes)):
            left = {target: facts for target, facts in wanted.items() if out[target] is not None}
            if not left:
                break
            data = self._read(name)
            if data is None:
                continue
            near = {home: home == name or _imports(data, home) for home in {target.file for target in left}}
            for target, facts in left.items():
                if name in self._tops and name != target.file and _offers_class(data, facts):
                    out[target] = None
                elif near[target.file]:
                    if name != target.file and _hands_on(name, data, facts):
                        out[target] = None
                    beside[target] = beside[target] or self._uses_other(name, data, facts, target)
            self._look(name, data, left, out)
        for target, facts in wanted.items():
            heard = beside[target] or target in self._shown
            if out[target] is not None and (not heard or self.is_told(facts.name, target.file, bool(facts.owner))):
                out[target] = None
        return out

    @cached_property
    def _tops(self) -> frozenset[str]:
        """The files of packages that lie in no other package."""
        packages = {name.rpartition("/")[0]: name for name in self._files if name.endswith("__init__.py")}
        return frozenset(name for folder, name in packages.items() if folder.rpartition("/")[0] not in packages)

    def _others(self, homes: set[str]) -> Iterator[str]:
        """The other files, those beside first: there a use is found soonest."""
        folders = {home.rpartition("/")[0] for home in homes}
        rest = [name for name in self._files if name not in homes and not is_test_path(name)]
        yield from sorted(rest, key=lambda name: name.rpartition("/")[0] not in folders)

    def _uses_other(self, name: str, data: bytes, facts: Facts, target: _Target) -> bool:
        """Whether a file runs or spells something else of a function's file; for a method, makes an object of its
        class."""
        if facts.owner:
            owner = facts.owner.encode()
            return owner in data and re.search(rb"(?<!class )(?<!" + _WORD + rb")" + owner + rb"\(", data) is not None
        if name == target.file:
            return b"__main__" in data
        if target.file not in self._others_in:
            self._others_in[target.file] = frozenset(f.owner or f.name for f in self._facts.of(target.file).values())
        return any(other != facts.name and other.encode() in data for other in self._others_in[target.file])

    def _look(self, name: str, data: bytes, wanted: Mapping[_Target, Facts], out: _Users) -> None:
        """Count the uses in one file."""
        by_word: dict[str, list[tuple[_Target, Facts]]] = {}
        # Whether a name is looked for behind a dot or quote alone: a method, unless its class is here, and a function
        # that the file does not take in; else each file with a function of that name would be parsed.
        asked: dict[bytes, bool] = {}
        for target, facts in wanted.items():
            by_word.setdefault(facts.name, []).append((target, facts))
            word = facts.name.encode()
            plain = name == target.file or (not facts.owner and _may_import(data, target.file))
            asked[word] = asked.get(word, True) and not plain
        places = list(_places(data, asked))
        if not places:
            return
        rows = sorted({row for _, row in places})
        for use in uses(self._facts.body(name, data), {word for word, _ in places}, rows):
            for target, facts in by_word[use.word]:
                users = out[target]
                if users is None or not self._means(name, use, target, facts):
                    continue
                if use.inside and self._shows(name, use, target, facts):
                    self._shown.add(target)
                    continue
                if not use.inside or len(users) == _MANY:
                    out[target] = None
                else:
                    users.add(_Target(name, use.inside))

    def _means(self, name: str, use: Use, target: _Target, facts: Facts) -> bool:
        """Whether a use of its name can be one of the function."""
        here = name == target.file
        if here and (use.inside == target.qualname or use.inside.startswith(f"{target.qualname}.")):
            return False
        if not facts.owner:
            if use.form == "import":
                return not here and _is_module(use, target.file)
            if use.form == "name":
                return here
            return use.form == "string" or (use.form == "attribute" and not (here and use.base))
        if use.form == "string":
            return use.looked_up or f"{facts.owner}." in use.base
        if use.form == "name":
            # In the body of its class.
            return here and not use.inside
        if use.form in ("own", "super"):
            return self._related(name, use, target, facts)
        # `Other.method()`: a class goes by its name.
        named = use.base[:1].isupper() and not use.base.isupper() and use.base not in (facts.owner, *facts.bases)
        return use.form == "attribute" and not named

    def _shows(self, name: str, use: Use, target: _Target, facts: Facts) -> bool:
        """Whether a function that uses another only prints, counts or writes what it gets from it."""
        hands = self._hands(name, use.inside)
        if hands is None or not hands <= {facts.name}:
            return False
        if target not in self._built:
            made = self._facts.node(target.file, target.qualname)
            self._built[target] = made is not None and builds_only(made.node)
        return self._built[target]

    def _hands(self, name: str, qualname: str) -> frozenset[str] | None:
        """The calls by which a function may hand on what it holds; None where it does in another way."""
        key = _Target(name, qualname)
        if key not in self._handed:
            made = self._facts.node(name, qualname)
            self._handed[key] = handed_to(made.node) if made is not None else None
        return self._handed[key]

    def _related(self, name: str, use: Use, target: _Target, facts: Facts) -> bool:
        """Whether `self` may be an object of the function's class."""
        owner = use.inside.rpartition(".")[0]
        if name == target.file and owner == facts.owner:
            return use.form == "own"
        other = self._facts.of(name).get(f"{owner}.{facts.name}")
        if other is None:
            return True
        return facts.owner in other.bases or (owner in facts.bases and use.form == "own")

    def is_told(self, word: str, file: str, method: bool = False) -> bool:
        """Whether the settings or the first page of a project around a file name a function: the entry of a program,
        something to call from elsewhere. A method may go by an everyday word: it must be written as code."""
        name = re.escape(word.encode())
        spelt = re.compile(rb"[.\"'`:]" + name + rb"\b|\b" + name + rb"\(" if method else rb"\b" + name + rb"\b")
        folder = file
        while folder:
            folder = folder.rpartition("/")[0]
            if folder not in self._told:
                names = (f"{folder}/{name}".lstrip("/") for name in ("pyproject.toml", "setup.cfg", "README.md"))
                self._told[folder] = b"".join(self._read(name) or b"" for name in names)
            if spelt.search(self._told[folder]):
                return True
        return False


def _places(data: bytes, asked: Mapping[bytes, bool]) -> Iterator[tuple[str, int]]:
    """Where a file spells one of the names, with the rows; `asked`: whether it must stand behind a dot or quote."""
    row, seen = 1, 0
    for found in _spelt(data, asked):
        word, at = found[0], found.start()
        if asked[word] and not _DOTTED.search(data, max(0, at - 100), at):
            continue
        row, seen = row + data.count(b"\n", seen, at), at
        yield word.decode(), row


def _spelt(data: bytes, asked: Mapping[bytes, bool]) -> Iterator[re.Match[bytes]]:
    if len(asked) > _WORDWISE:
        return (m for m in _WORDS.finditer(data) if m[0] in asked)
    words = [re.escape(word) for word in asked if word in data]
    if not words:
        return iter(())
    return re.finditer(rb"(?<!" + _WORD + rb")(?:" + b"|".join(words) + rb")(?!" + _WORD + rb")", data)


def _imports(data: bytes, file: str) -> bool:
    stem = _stem(file)
    if stem not in data:
        return False
    return re.search(rb"(?:from|import)\b[^\n]*\b" + re.escape(stem) + rb"\b", data) is not None


def _may_import(data: bytes, file: str) -> bool:
    """Whether a file imports names from a module, or from a package around it, by any way that `_is_module` knows."""
    parts = b"|".join(re.escape(os.fsencode(part)) for part in file[:-3].split("/"))
    return re.search(rb"\bfrom\s+\.+\s*import\b|\bfrom\b[^\n]*\b(?:" + parts + rb")\b", data) is not None


def _hands_on(name: str, data: bytes, facts: Facts) -> bool:
    """Whether a file that imports a function's looks functions up by names that nobody spells, or is a package that
    offers it to other projects."""
    if b"getmembers" in data:
        return True
    return not (facts.private or facts.owner) and name.endswith("__init__.py") and facts.name.encode() in data


def _offers_class(data: bytes, facts: Facts) -> bool:
    """Whether a package that lies in no other offers the class of a method. Those inside serve the project, whose own
    calls show what an object that it makes is for."""
    owner = re.escape(facts.owner.encode())
    if facts.private or not owner:
        return False
    taken = rb"^from\b[^\n(]*(?:\([^)]*)?\b" + owner + rb"\b|^from\b[^\n]*\*|[\"']" + owner + rb"[\"']"
    return re.search(taken, data, re.MULTILINE) is not None


def _stem(file: str) -> bytes:
    *_, folder, last = ("", *file.split("/"))
    return os.fsencode(folder if last == "__init__.py" else last[:-3])


def _is_module(use: Use, file: str) -> bool:
    """Whether an import may be one of a file, or of a package around it."""
    last = use.base.rpartition(".")[2]
    return not last or last in file[:-3].split("/")
