"""What stands in front of a volatile value in its text, and how much fixed text behind it, as far as one file shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.prefix.fillings import fields, given, replaced
from pytest_cachesafe.lint.evidence.trees import Function, called, is_property, nodes_of, own_nodes, spelt

__all__ = [
    "ASKED",
    "Around",
    "Place",
    "around",
    "given",
]


# A name of which nothing is known is taken for as much fixed text.
_UNKNOWN = 200
# A template that stands elsewhere: where in it the value is cannot be told.
_UNSEEN = -1
_WORD = 20
_IN_LINE = lazy_pattern(r"[^\s:][^\n:]*$")
_DEPTH = 6
_LIMIT = 4000
# What the user asks: another text in each request, by its name.
ASKED = lazy_pattern(
    r"(?:^|_)(?:question|query|request|user_(?:input|message|prompt|text|query|request)|prompt_text|utterance|"
    r"task|task_id|task_description|description|objective)$"
)
_SAME_TEXT = frozenset({"strip", "lstrip", "rstrip", "dedent", "cleandoc", "str"})


class Around(NamedTuple):
    """`asked`: the user's question stands before the value; `front`, `behind`: characters of fixed text before the
    first and behind the last place of the value; `near`: those behind it up to the question."""

    asked: bool
    front: int
    behind: int
    near: int = 0


class Place(NamedTuple):
    """A function of the file, and the rows that the value comes by in the file; `starts`: where it arises."""

    function: Function
    rows: frozenset[int]
    starts: frozenset[tuple[int, int]]
    known: dict[str, list[Function]]
    constants: dict[str, str]
    # How much fixed text a name stands for of which nothing is known.
    unknown: int = _UNKNOWN


def around(text: ast.expr, place: Place) -> Around | None:
    """What is around the value in a text; None where the value or a template is not seen."""
    asked, front, behind, seen, before = False, 0, 0, False, False
    near: int | None = None
    for piece in _pieces(text, place, _DEPTH):
        if piece is None:
            # The value.
            front = front if seen else behind
            seen, behind, near = True, 0, None
            asked = asked or before
        elif isinstance(piece, int):
            if piece == _UNSEEN:
                return None
            behind += piece
        elif piece == "?":
            before = True
            near = behind if near is None else near
    return Around(asked, front, behind, behind if near is None else near) if seen else None


_Piece = int | str | None


def _pieces(expr: ast.expr, place: Place, depth: int) -> Iterator[_Piece]:
    """In the order of reading: None for the value, a number for so much fixed text, "?" for the user's question."""
    for count, leaf in enumerate(_leaves(expr, place, depth)):
        if count > _LIMIT:
            return
        yield leaf


def _leaves(expr: ast.expr, place: Place, depth: int) -> Iterator[_Piece]:
    if isinstance(expr, ast.Constant):
        yield len(str(expr.value).strip())
    elif isinstance(expr, ast.JoinedStr):
        before = ""
        for value in expr.values:
            if isinstance(value, ast.Constant):
                before = str(value.value)
            for leaf in _leaves(value.value if isinstance(value, ast.FormattedValue) else value, place, depth):
                # A name inside a line of text is a word or two.
                inside = isinstance(value, ast.FormattedValue) and leaf == place.unknown and _IN_LINE.search(before)
                yield _WORD if inside else leaf
    elif isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
        yield from _leaves(expr.left, place, depth)
        yield from _leaves(expr.right, place, depth)
    elif isinstance(expr, ast.IfExp):
        for branch in (expr.body, expr.orelse):
            yield from _leaves(branch, place, depth)
    elif isinstance(expr, ast.List | ast.Tuple):
        for item in expr.elts:
            yield from _leaves(item.value if isinstance(item, ast.Starred) else item, place, depth)
    elif isinstance(expr, ast.Call):
        yield from _of_call(expr, place, depth)
    elif isinstance(expr, ast.Name) and depth:
        yield from _of_name(expr, place, depth)
    elif isinstance(expr, ast.Attribute) and depth and (read := _inside(expr, place)) is not None:
        yield from _of_function(read, place, depth)
    else:
        yield _leaf(expr, place)


def _leaf(expr: ast.expr, place: Place) -> _Piece:
    if _holds(expr, place):
        return None
    if ASKED.search(spelt(expr).lower()):
        return "?"
    name = spelt(expr)
    return len(place.constants.get(name, "")) or (_UNKNOWN if name.isupper() else place.unknown)


def _holds(expr: ast.expr, place: Place) -> bool:
    """Whether the value comes by here: a read of it, a name that it was given to, a function that it comes out of."""
    for node in ast.walk(expr):
        if isinstance(node, ast.expr) and (node.lineno, node.col_offset + 1) in place.starts:
            return True
        if isinstance(node, ast.Call) and node.lineno in place.rows:
            return True
        if isinstance(node, ast.Call | ast.Attribute) and _inside(node, place) is not None:
            return True
        if isinstance(node, ast.Name) and any(_comes_by(item, place) for item in given(node.id, place.function)):
            return True
    return False


def _comes_by(node: ast.stmt, place: Place) -> bool:
    """Whether one of the rows of the value lies in a statement."""
    last = node.end_lineno or node.lineno
    if last - node.lineno < len(place.rows):
        return not place.rows.isdisjoint(range(node.lineno, last + 1))
    return any(node.lineno <= row <= last for row in place.rows)


def _inside(node: ast.Call | ast.Attribute, place: Place) -> Function | None:
    """The function of this file that a call runs, or the reading of a property, and that the value comes out of."""
    for function in place.known.get(called(node) if isinstance(node, ast.Call) else node.attr, ()):
        runs = isinstance(node, ast.Call) or is_property(function)
        if runs and function is not place.function and _comes_by(function, place):
            return function
    return None


def _of_function(function: Function, place: Place, depth: int) -> Iterator[_Piece]:
    """What a function gives back last."""
    there = place._replace(function=function)
    returns = [node.value for node in nodes_of(function, ast.Return) if node.value is not None]
    for value in returns[-1:]:
        yield from _leaves(value, there, depth - 1)


@lru_cache(maxsize=32)
def _added(function: Function) -> dict[str, list[tuple[ast.stmt, ast.expr]]]:
    """What is put at the end of lists, by their names."""
    found: dict[str, list[tuple[ast.stmt, ast.expr]]] = {}
    for node in own_nodes(function):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and called(node.value) in ("append", "extend")
            and isinstance(node.value.func, ast.Attribute)
            and isinstance(node.value.func.value, ast.Name)
            and node.value.args
        ):
            found.setdefault(node.value.func.value.id, []).append((node, node.value.args[0]))
    return found


def _of_name(name: ast.Name, place: Place, depth: int) -> Iterator[_Piece]:
    steps: list[tuple[ast.stmt, ast.expr]]
    steps = [(node, node.value) for node in given(name.id, place.function) if isinstance(node, _WRITES) and node.value]
    added = _added(place.function).get(name.id, [])
    whole = sorted([*steps, *added], key=lambda step: step[0].lineno)
    if not steps or (not _holds(name, place) and not added):
        yield _leaf(name, place)
        return
    for _, value in whole:
        if any(isinstance(node, ast.Name) and node.id == name.id for node in ast.walk(value)):
            # `text = text + …`: the name itself was told before.
            value = _without(value, name.id)
        yield from _leaves(value, place, depth - 1)


_WRITES = (ast.Assign, ast.AugAssign, ast.AnnAssign)


def _without(value: ast.expr, name: str) -> ast.expr:
    """A sum or f-string without a name at its front."""
    if isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name) and value.left.id == name:
        return value.right
    if isinstance(value, ast.JoinedStr):
        kept = [
            v
            for v in value.values
            if not (isinstance(v, ast.FormattedValue) and isinstance(v.value, ast.Name) and v.value.id == name)
        ]
        return ast.copy_location(ast.JoinedStr(kept), value)
    return ast.copy_location(ast.Constant(""), value)


def _of_call(call: ast.Call, place: Place, depth: int) -> Iterator[_Piece]:
    name = called(call)
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    inside = _inside(call, place) if depth else None
    if inside is not None and call.lineno not in _rows(inside):
        yield from _of_function(inside, place, depth)
    elif name == "join" and len(call.args) == 1:
        walked = isinstance(call.args[0], ast.GeneratorExp | ast.ListComp | ast.Name)
        leaves = list(_leaves(call.args[0], place, depth))
        # Of a table of the module nothing is read in the function but the elements.
        yield from [None] if walked and None not in leaves and call.lineno in place.rows else leaves
    elif name in _SAME_TEXT and (call.args[:1] or receiver is not None):
        yield from _leaves(
            call.args[0] if call.args and name in ("str", "dedent", "cleandoc") else receiver or call.args[0],
            place,
            depth,
        )
    elif name in ("format", "render", "substitute") and receiver is not None:
        yield from _filled(call, receiver, place, depth)
    elif name == "replace" and (found := replaced(call, place.function, place.constants)) is not None:
        yield from _exchanged(*found, place, depth)
    else:
        yield _leaf(call, place)


def _rows(function: Function) -> range:
    return range(function.lineno, (function.end_lineno or function.lineno) + 1)


def _filled(call: ast.Call, receiver: ast.expr, place: Place, depth: int) -> Iterator[_Piece]:
    """`TEMPLATE.format(…)`, `Template(TEXT).render(…)` where the template stands in the file."""
    if isinstance(receiver, ast.Name):
        for node in given(receiver.id, place.function)[-1:]:
            if isinstance(node, ast.Assign):
                receiver = node.value
    if isinstance(receiver, ast.Call) and receiver.args:
        receiver = receiver.args[0]
    text = receiver.value if isinstance(receiver, ast.Constant) else place.constants.get(spelt(receiver))
    filled = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if not isinstance(text, str):
        if _holds(call, place):
            yield _UNSEEN
        yield place.unknown
        return
    for fixed, field in fields(text):
        yield len(fixed.strip())
        if field is not None:
            value = filled.get(field)
            if value is None and field.isdigit() and int(field) < len(call.args):
                value = call.args[int(field)]
            if value is not None and ASKED.search(field.lower()) and not _holds(value, place):
                yield "?"
            elif value is not None:
                yield from _leaves(value, place, depth)


def _exchanged(text: str, words: dict[str, ast.expr], place: Place, depth: int) -> Iterator[_Piece]:
    pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    for part in re.split(f"({pattern})", text):
        if part not in words:
            yield len(part.strip())
        elif ASKED.search(part.strip("{}<>[]$% ").lower()) and not _holds(words[part], place):
            yield "?"
        else:
            yield from _leaves(words[part], place, depth)
