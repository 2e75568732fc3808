"""The state of one evaluation: of a function, of a class body or of a module body."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from pytest_cachesafe.lint.flow.atoms import EMPTY, merge
from pytest_cachesafe.lint.flow.values import NOTHING

if TYPE_CHECKING:
    from cachesafe_rules.model import Step
    from pytest_cachesafe.lint.flow.atoms import Atom, Atoms, Mark
    from pytest_cachesafe.lint.flow.module import ClassInfo, FunctionInfo, Module
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["Frame", "ParamSink", "Summary", "function_of"]


class ParamSink(NamedTuple):
    """A parameter that reaches a sink inside a function, or what it holds under `fields`; `vote` instead, where it only
    decides about a mark."""

    param: str
    sink: str
    part: str
    steps: tuple[Step, ...]
    hops: int
    marks: tuple[Mark, ...]
    vote: str = ""
    fields: tuple[str, ...] = ()


class Summary:
    """What callers need to know of a function."""

    __slots__ = ("returns", "runs", "sinks", "writes")

    def __init__(self) -> None:
        self.returns: Value = NOTHING
        self.sinks: dict[tuple[str, str, str], ParamSink] = {}
        # The parameter that is run as a command.
        self.runs = ""
        # What a method sets on its object, in terms of its parameters.
        self.writes: dict[str, Value] = {}


class Frame:
    """`env` maps names, and dotted names such as `self.parts`, to values. `frozen`: runs while a module is imported.
    `quiet`: a round that only collects attributes, whose arrivals do not count."""

    __slots__ = (
        "added",
        "below",
        "cls",
        "dotted",
        "env",
        "frozen",
        "function",
        "globals",
        "handed",
        "loops",
        "module",
        "nested",
        "orders",
        "outer",
        "owner",
        "parent",
        "qualname",
        "quiet",
        "returned",
        "rows",
        "stmt",
        "summary",
        "writes",
    )

    def __init__(
        self,
        module: Module,
        *,
        function: FunctionInfo | None = None,
        cls: ClassInfo | None = None,
        parent: Frame | None = None,
        frozen: bool = False,
        quiet: bool = False,
        qualname: str = "",
    ) -> None:
        self.module = module
        self.function = function
        self.cls = cls
        self.parent = parent
        self.env: dict[str, Value] = {}
        self.frozen = frozen
        self.quiet = quiet
        self.summary = Summary()
        self.returned: list[Value] = []
        self.stmt: ast.stmt | None = None
        self.nested: list[FunctionInfo] = []
        self.qualname = qualname
        # Attributes of `self` written here, for the table of the class.
        self.writes: dict[str, Value] = {}
        # The file whose analysis this belongs to.
        self.owner = cls.module.name if cls is not None else module.name
        self.globals: set[str] = set()
        # Loops around the statement that runs.
        self.loops = 0
        # Those among them whose rounds come in no fixed order: what orders them, and the names there were before.
        self.orders: list[tuple[Atoms, frozenset[str]]] = []
        # The same of loops over what the caller hands over, which may be a set.
        self.handed: list[tuple[Atoms, frozenset[str]]] = []
        # How deep in loops over the rows of a data set: 1, and 2 in a loop over the messages of one row.
        self.rows = 0
        # Names declared nonlocal.
        self.outer: set[str] = set()
        # Dotted names in `env` by their first part.
        self.dotted: dict[str, list[str]] = {}
        # Chats that got a message by a method of their own: name -> row of the first.
        self.added: dict[str, int] = {}
        # Paths that were asked, since the last `try`, what they are below a folder: name -> folder.
        self.below: dict[str, Value] = {}

    def lookup(self, name: str) -> Value | None:
        """A name of this function or of one around it."""
        frame: Frame | None = self
        while frame is not None:
            found = frame.env.get(name)
            if found is not None:
                return found
            frame = frame.parent
        return None

    def collected(self, name: str) -> Atoms:
        """The order of the loops around, for something that each of their rounds adds to; "" for what always does."""
        found: Atoms = EMPTY
        for atoms, before in self.orders:
            # What a round makes for itself holds nothing of the other rounds.
            if not name or name in before or name not in self.env:
                found = merge(found, atoms)
        return found

    def collected_text(self, name: str) -> Atoms:
        """The same for text that the rounds add, with the orders that a caller decides."""
        found = self.collected(name)
        for atoms, before in self.handed:
            if not name or name in before or name not in self.env:
                found = merge(found, atoms)
        return found

    def fork(self) -> dict[str, Value]:
        """A copy of the environment, to be merged after a branch."""
        return dict(self.env)


def function_of(frame: Frame, atom: Atom) -> Frame | None:
    """The frame whose parameter an atom is: this one or one around it."""
    current: Frame | None = frame
    while current is not None:
        if current.function is not None and current.function.key == atom.key[1]:
            return current
        current = current.parent
    return None
