"""What a value may hold: volatile sources, parameters and marks. Immutable, so that they can be shared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.policy import WRITTEN_OUT
from pytest_cachesafe.lint.flow.clock import GRANULARITIES, rank

if TYPE_CHECKING:
    from cachesafe_rules.model import Source, Step

__all__ = [
    "CALLED",
    "EMPTY",
    "ORDER_PART",
    "SORTED_PART",
    "UNORDERED_KINDS",
    "Atom",
    "Atoms",
    "Mark",
    "is_order",
    "merge",
    "orders",
    "tabled",
    "under",
    "unordered",
    "volatile_atoms",
]

# Stand for the order of a parameter alone, and for a parameter that was sorted, where else the key is noted under which
# a part of it was read.
ORDER_PART = "\0order"
SORTED_PART = "\0sorted"
UNORDERED_KINDS = frozenset(("set", "listing"))
# Random functions that give a sequence in a random order.
_DRAWS = lazy_pattern(r"(?:shuffle|sample|choices|permutation)\(\)$")
# The key under which stands what a parameter gives when it is called.
CALLED = "\0called"
_LONGEST_WAY = 12
# Keys below a parameter that are told apart; a function that calls itself would go down for ever.
_DEEPEST_FIELD = 3


class Mark:
    """A place whose verdict waits for its uses: text named like a system prompt that is sent as a user message, a
    system message that is put behind the history, messages that are only counted."""

    __slots__ = ("key", "votes")

    def __init__(self, key: str) -> None:
        self.key = key
        self.votes: set[str] = set()


class Atom(NamedTuple):
    """One thing a value may hold: a volatile source, a parameter of the function being evaluated, or a mark.

    `key` is its identity, of a parameter `("p", function, name)` and the keys under which a part of it was read;
    `steps` the way it came; `hops` how many arguments it was handed down through.
    """

    key: tuple[Any, ...]
    source: Source | None = None
    steps: tuple[Step, ...] = ()
    hops: int = 0
    mark: Mark | None = None
    file: str = ""

    def at(self, step: Step) -> Atom:
        """The same with one more step, unless it says nothing new."""
        if len(self.steps) >= _LONGEST_WAY or (self.source is None and self.key[-1] != ORDER_PART):
            return self
        last = self.steps[-1] if self.steps else None
        if last is not None and last.row == step.row and last.filename == step.filename:
            # Of an order it must be seen that it is written out.
            ordered = self.source is None or self.source.kind in UNORDERED_KINDS
            if not ordered or not WRITTEN_OUT.match(step.message) or WRITTEN_OUT.match(last.message):
                return self
        return self._replace(steps=(*self.steps, step))


Atoms = Mapping[tuple[Any, ...], Atom]
EMPTY: Atoms = {}


def merge(a: Atoms, b: Atoms) -> Atoms:
    """Union; the better way wins where both hold the same atom."""
    if not b or a is b:
        return a
    if not a:
        return b
    out = dict(a)
    for key, atom in b.items():
        old = out.get(key)
        if old is None or _better(atom, old):
            out[key] = atom
    return out


def _better(a: Atom, b: Atom) -> bool:
    """Of two ways of one value the one on which it changes more often counts, then the shorter."""
    if a.source is not None and b.source is not None and a.source.granularity != b.source.granularity:
        return rank(a.source.granularity) < rank(b.source.granularity)
    return len(a.steps) < len(b.steps)


def volatile_atoms(atoms: Any) -> Any:
    """Atoms without those of parameters."""
    if not atoms:
        return atoms
    return {k: a for k, a in atoms.items() if a.source is not None or a.mark is not None}


def under(atoms: Any, fields: tuple[str, ...]) -> Any:
    """What is read under these keys of something unknown: of a parameter it is noted that the rest was left."""
    if all(a.source is not None or a.mark is not None for a in atoms.values()):
        return atoms
    out = {}
    for key, atom in atoms.items():
        if atom.source is None and atom.mark is None and key[0] == "p":
            key = (*key, *fields[: max(0, 3 + _DEEPEST_FIELD - len(key))])
            atom = atom._replace(key=key)
        out[key] = atom
    return out


def unordered(atoms: Any) -> Any:
    """Atoms without those that say something of an order."""
    return {k: a for k, a in atoms.items() if not _tells_order(a)} if atoms else atoms


def _tells_order(atom: Atom) -> bool:
    if atom.source is None:
        return bool(atom.key) and atom.key[-1] == ORDER_PART
    return atom.source.kind in UNORDERED_KINDS


def tabled(atoms: Any) -> Any:
    """What a table holds under keys that are only known at run time, without the times of files: they are compared
    there, and what is read out of the table are mostly its keys."""
    if not any(a.source is not None and a.source.kind == "file" and a.source.granularity in GRANULARITIES
               for a in atoms.values()):  # fmt: skip
        return atoms
    return {
        k: a
        for k, a in atoms.items()
        if a.source is None or a.source.kind != "file" or a.source.granularity not in GRANULARITIES
    }


def is_order(atom: Atom) -> bool:
    """Whether an atom says in which order a sequence stands, and nothing of its elements."""
    source = atom.source
    return source is not None and (
        source.kind in UNORDERED_KINDS or (source.kind == "random" and bool(_DRAWS.search(source.api)))
    )


def orders(atoms: Any) -> Any:
    """Those atoms alone."""
    return {k: a for k, a in atoms.items() if is_order(a)} if atoms else atoms
