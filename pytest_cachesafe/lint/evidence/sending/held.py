"""What becomes of a value that a function holds, where all of it is seen: names, parts, texts and lists made of it.

Followed are the function itself and those of its file that it hands the value to. What nobody knows, an unknown call,
an attribute of something that lives on, a function inside, is a way out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_cachesafe.lint.evidence.trees import Function, called, nodes_of, own_nodes, parents, spelt

__all__ = ["End", "bindings", "held", "root"]

_HOPS = 2
# Calls of the language and methods of texts, lists and matches: what they give back is made of what they are given.
_MAKES = frozenset(
    {"str", "repr", "list", "dict", "set", "tuple", "sorted", "reversed", "enumerate", "zip", "min", "max", "sum",
     "dumps", "encode", "decode", "tokenize", "join", "format", "strip", "lstrip", "rstrip", "split", "splitlines",
     "partition", "rpartition", "replace", "lower", "upper", "title", "ljust", "rjust", "center", "get", "items",
     "keys", "values", "copy", "dedent", "indent", "finditer", "findall", "fullmatch", "group", "groups",
     "pop", "popleft"}
)  # fmt: skip
# Those that give back a number or an answer, in which nothing of it is left.
_ASKS = frozenset(
    {"int", "float", "bool", "any", "all", "isinstance", "type", "len", "count", "startswith", "endswith", "span",
     "start", "end"}
)  # fmt: skip
# Those that a value may be an argument of, as functions and as methods.
_BUILT_IN = frozenset(
    {"str", "repr", "list", "dict", "set", "tuple", "sorted", "reversed", "enumerate", "zip", "min", "max", "sum",
     "int", "float", "bool", "any", "all", "isinstance", "type", "len", "dedent", "indent", "dumps"}
)  # fmt: skip
_OF_TEXTS = frozenset(
    {"dumps", "encode", "decode", "tokenize", "join", "format", "replace", "finditer", "findall", "fullmatch", "dedent",
     "indent", "startswith", "endswith"}
)  # fmt: skip
_FILLS = frozenset({"append", "extend", "insert", "update", "add"})
_CHANGES = _FILLS | {"sort", "reverse", "remove", "clear"}
_MADE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_THROUGH = (
    ast.BoolOp, ast.BinOp, ast.JoinedStr, ast.FormattedValue, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Starred,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.keyword,
)  # fmt: skip

# Whether what is called, or the list that is added to, takes the value, so that nothing more is to be followed there.
_Takes = Callable[[ast.Call | ast.AugAssign, Function], bool]


class End(NamedTuple):
    """How it ends: whether something took the value, and whether the function gives it back."""

    taken: bool
    back: bool


class _Lost(Exception):
    """The value leaves in a way that is not seen."""


def held(
    function: Function, start: Sequence[str | ast.expr], known: Mapping[str, Sequence[Function]], takes: _Takes
) -> End | None:
    """What becomes of names and expressions of a function; None where not all of it is seen. `known` are the functions
    of the file by their names."""
    try:
        return _Held(function, known, takes, _HOPS).followed(start)
    except _Lost:
        return None


class _Held:
    """Follows through one function."""

    def __init__(self, function: Function, known: Mapping[str, Sequence[Function]], takes: _Takes, hops: int) -> None:
        self._function = function
        self._known = known
        self._takes = takes
        self._hops = hops
        self._above = parents(function)
        self._names: set[str] = set()
        self._taken = False
        self._back = False

    def followed(self, start: Sequence[str | ast.expr]) -> End:
        inside = list(ast.walk(self._function))
        if any(isinstance(node, ast.Global | ast.Nonlocal) or _takes_all(node) for node in inside):
            raise _Lost
        self._names.update(name for name in start if isinstance(name, str))
        for node in start:
            if isinstance(node, ast.expr):
                self._follow(node)
        own = own_nodes(self._function)
        reads = [n for n in own if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        done: set[int] = set()
        while more := [n for n in reads if n.id in self._names and id(n) not in done]:
            for node in more:
                done.add(id(node))
                self._follow(node)
        # A function inside may be called by anybody.
        here = {id(node) for node in own}
        if any(isinstance(n, ast.Name) and n.id in self._names and id(n) not in here for n in inside):
            raise _Lost
        return End(self._taken, self._back)

    def _follow(self, node: ast.AST) -> None:
        """From an expression up to where it ends."""
        while (parent := self._above.get(id(node))) is not None:
            if isinstance(parent, ast.Call):
                if not self._goes_through(parent, node):
                    return
            elif isinstance(parent, ast.Attribute):
                upper = self._above.get(id(parent))
                if isinstance(upper, ast.Call) and upper.func is parent:
                    if parent.attr in _CHANGES or parent.attr in _ASKS:
                        return
                    if parent.attr not in _MAKES:
                        raise _Lost
                    parent = upper
            elif isinstance(parent, ast.Subscript):
                if node is parent.slice:
                    return
            elif isinstance(parent, ast.IfExp | ast.If | ast.While):
                if node is parent.test:
                    return
            elif isinstance(parent, ast.UnaryOp | ast.Compare | ast.Slice | ast.Expr):
                return
            elif isinstance(parent, ast.comprehension | ast.For):
                if node is parent.iter:
                    self._bind(parent.target)
                return
            elif isinstance(parent, ast.Assign | ast.AnnAssign):
                for target in parent.targets if isinstance(parent, ast.Assign) else [parent.target]:
                    self._bind(target)
                return
            elif isinstance(parent, ast.AugAssign):
                if self._takes(parent, self._function):
                    self._taken = True
                else:
                    self._bind(parent.target)
                return
            elif isinstance(parent, ast.Return):
                self._back = True
                return
            elif not isinstance(parent, _THROUGH):
                raise _Lost
            node = parent

    def _goes_through(self, call: ast.Call, node: ast.AST) -> bool:
        """Whether what a call gives back is made of an argument."""
        name = called(call)
        if node is call.func:
            raise _Lost
        if self._takes(call, self._function):
            self._taken = True
            return False
        if name in _FILLS and isinstance(call.func, ast.Attribute):
            self._bind(ast.Subscript(call.func.value, ast.Constant(0)))
            return False
        same = self._known.get(name, ()) if isinstance(call.func, ast.Name) or _is_own(call.func) else ()
        if same:
            return self._is_given_back(call, node, same)
        # `set(text)` makes a set, `session.set("prompt", text)` keeps it.
        if name not in (_BUILT_IN if isinstance(call.func, ast.Name) else _OF_TEXTS):
            raise _Lost
        return name in _MAKES

    def _is_given_back(self, call: ast.Call, node: ast.AST, same: Sequence[Function]) -> bool:
        """Whether functions of this file give back what one of their parameters is given."""
        back = False
        for function in same:
            word = _parameter(function, call, node)
            if not self._hops or word is None or function is self._function or function.decorator_list:
                raise _Lost
            end = _Held(function, self._known, self._takes, self._hops - 1).followed([word])
            self._taken |= end.taken
            back |= end.back
        return back

    def _bind(self, target: ast.expr) -> None:
        """The names that hold it from here on."""
        if isinstance(target, ast.Name):
            self._names.add(target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._bind(part)
        elif isinstance(target, ast.Starred):
            self._bind(target.value)
        else:
            # What is put into a list or dict that the function has made itself.
            name = root(target) if isinstance(target, ast.Subscript) else ""
            made = list(bindings(name, self._function)) if name else []
            if not made or not all(isinstance(value, _MADE) for value, _ in made):
                raise _Lost
            self._names.add(name)


def bindings(name: str, function: Function) -> Iterator[tuple[ast.expr | None, ast.AST]]:
    """What a local name is bound to, with the statement; None where that is no plain value, as of a parameter."""
    args = function.args
    every: Iterable[ast.arg | None] = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
    if any(arg is not None and arg.arg == name for arg in every):
        yield None, function
    above = parents(function)
    for node in nodes_of(function, ast.Name):
        if node.id == name and not isinstance(node.ctx, ast.Load):
            parent = above.get(id(node))
            plain = isinstance(parent, ast.Assign | ast.AnnAssign)
            yield (parent.value if isinstance(parent, ast.Assign | ast.AnnAssign) and plain else None), parent or node


def root(node: ast.expr) -> str:
    """The name that a part is taken of."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _takes_all(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and called(node) in ("locals", "vars", "globals")


def _is_own(func: ast.expr) -> bool:
    """`self.count`"""
    return isinstance(func, ast.Attribute) and spelt(func.value) in ("self", "cls")


def _parameter(function: Function, call: ast.Call, node: ast.AST) -> str | None:
    """The parameter that an argument of a call is for."""
    own = function.args
    plain = [arg.arg for arg in (*own.posonlyargs, *own.args)]
    if isinstance(node, ast.keyword):
        return node.arg if node.arg in (*plain, *(arg.arg for arg in own.kwonlyargs)) else None
    if isinstance(node, ast.Starred) or any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    at = next((i for i, arg in enumerate(call.args) if arg is node), None)
    if at is None:
        return None
    at += bool(plain) and plain[0] in ("self", "cls")
    return plain[at] if at < len(plain) else None
