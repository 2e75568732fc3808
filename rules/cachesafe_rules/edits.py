"""What rules use to make fixes: small edits of a file's text, found on its libcst tree.

Every function returns None where the change is not provably what it says. An edit replaces or inserts only the code it
is about, so comments and layout stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cachesafe_rules.api import Edit, Fix, Report
from cachesafe_rules.concrete import Piece, Range, range_of, read
from cachesafe_rules.model import Span
from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.scope import Scope, is_plain

if TYPE_CHECKING:
    import libcst as cst

__all__ = ["add_keyword", "places", "remove_comment", "sort_call", "sort_keys_fix", "sorted_fix", "statement_at"]

_SET_CALLS = frozenset({"set", "frozenset"})
# Calls for which the order of their argument is no matter, or that sort it themselves.
_ORDERLESS = frozenset({"sorted", "set", "frozenset", "len", "min", "max", "sum", "any", "all", "bool", "Counter"})
_LISTING = lazy_pattern(r"(?:os\.)?listdir|(?:glob\.)?i?glob|.+\.(?:iterdir|r?glob)", re.DOTALL)
# Lists of names; other listings give objects or depend on what they are asked of.
_NAME_LISTINGS = frozenset({("os", "listdir"), ("glob", "glob")})
# `sort_keys` here would not give the bytes that the model wrote.
_REPLAYED = lazy_pattern(r"(?:tool|function)_?(?:call|input|use)|arguments|\.input\b", re.IGNORECASE)
_REPLAYED_KEYS = frozenset({"arguments", "input", "tool_calls", "function_call"})


def places(report: Report, filename: str | None = None) -> list[Span]:
    """The places a report is about in its own file: its span, then its sources, then the rows of its steps."""
    name = filename or report.span.filename
    found = [report.span] if report.span.filename == name else []
    for source in report.data.get("sources", ()):
        if isinstance(source, dict) and source.get("filename") == name:
            found.append(Span(name, source["row"], source["column"], source["end_row"], source["end_column"]))
    found += [Span(name, step.row, 1, step.row, 1) for step in report.steps if step.filename == name]
    return list(dict.fromkeys(found))


def remove_comment(rows: Sequence[str], span: Span) -> Edit:
    """Take out a comment, or a part of one that begins with `#`; a row that holds nothing else goes as a whole."""
    row = rows[span.row - 1]
    before, behind = row[: span.column - 1], row[span.end_column - 1 :]
    if behind.strip():
        # Another comment follows: it moves up to where this one stood.
        skipped = len(behind) - len(behind.lstrip())
        return Edit(Span(span.filename, span.row, span.column, span.row, span.end_column + skipped), "")
    if before.strip():
        return Edit(Span(span.filename, span.row, len(before.rstrip()) + 1, span.row, len(row) + 1), "")
    if span.row < len(rows):
        return Edit(Span(span.filename, span.row, 1, span.row + 1, 1), "")
    return Edit(Span(span.filename, span.row, 1, span.row, len(row) + 1), "")


def sort_call(source: str, span: Span, *, proven: bool = True) -> tuple[Edit, ...] | None:
    """Put `sorted(...)` around the set or directory listing at a place, or around the only one in a statement there.

    With `proven`, only where the order is all that can change: the value is walked through at once (a loop, `join`,
    `list`, a star) and holds elements that compare: strings or whole numbers, or what `", ".join` takes, or the names
    of `os.listdir`. Otherwise also around listings, sets
    of anything, and values printed as they are.
    """
    piece = read(source).at(span.row, span.end_row)
    if piece is None or _shadowed(source, "sorted", "set", "frozenset", "list", "str"):
        return None
    found = [n for n in _within(piece, range_of(span)) if _unordered(Scope.of(piece, n), n) and _walked(piece, n)]
    exact = [n for n in found if range_of(span) in (piece.place(n), piece.outer(n))]
    if len(exact or found) != 1:
        return None
    node = (exact or found)[0]
    if proven and not (
        _walked(piece, node) == "walked"
        and (Scope.of(piece, node).comparable(node) or _joined(piece, node) or _names_of_files(source, piece, node))
    ):
        return None
    return _wrapped(piece, node, span.filename)


def add_keyword(source: str, span: Span, name: str, value: str) -> Edit | None:
    """Give the call at a place one more keyword argument; None where it has it, or may have it through `**`."""
    import libcst as cst

    piece = read(source).at(span.row, span.end_row)
    calls = [n for n in piece.exact(range_of(span)) if isinstance(n, cst.Call)] if piece else []
    if piece is None or not calls:
        return None
    call = calls[0]
    if any(arg.star == "**" or (arg.keyword and arg.keyword.value == name) for arg in call.args):
        return None
    if not call.args:
        row, column = piece.place(call)[2:]
        return Edit(Span(span.filename, row, column - 1, row, column - 1), f"{name}={value}")
    last = call.args[-1]
    if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
        return None  # a lone generator would need parentheses first
    row, column = piece.outer(last.value)[2:]
    first = piece.place(last)
    line = read(source).rows[first[0] - 1]
    alone = not line[: first[1] - 1].strip() and first[0] > piece.place(call)[0]
    # A comment behind the last argument is about it: the new one joins its row then.
    commented = any(comment.row == row for comment in piece.comments)
    between = f",\n{line[: first[1] - 1]}" if alone and not commented else ", "
    return Edit(Span(span.filename, row, column, row, column), f"{between}{name}={value}")


def sorted_fix(report: Report, source: str) -> Fix | None:
    """The fix of a report on an unordered set or directory listing in this file."""
    for proven in (True, False):
        for place in places(report):
            edits = sort_call(source, statement_at(source, place), proven=proven)
            if edits:
                message = "sort it, so that the order is the same in every process"
                return Fix(message, "safe" if proven else "unsafe", edits)
    return None


def sort_keys_fix(report: Report, source: str) -> Fix | None:
    """The fix of a report on `json.dumps` without `sort_keys`; never for a model's own tool calls, sent back.

    Safe where all keys, at every depth, are known to be strings: keys of mixed types cannot be sorted.
    """
    import libcst as cst

    for place in places(report):
        span = statement_at(source, place)
        piece = read(source).at(span.row, span.end_row)
        if piece is None or ("dumps" not in source):
            continue
        calls = [n for n in _within(piece, range_of(span)) if isinstance(n, cst.Call) and _is_dumps(source, piece, n)]
        if len(calls) != 1 or not calls[0].args or _replayed(piece, calls[0]):
            continue
        data = calls[0].args[0]
        edit = add_keyword(source, Span(span.filename, *piece.place(calls[0])), "sort_keys", "True")
        if edit:
            certain = data.keyword is None and not data.star and is_plain(data.value, Scope.of(piece, calls[0]))
            return Fix("write the keys in sorted order", "safe" if certain else "unsafe", (edit,))
    return None


def statement_at(source: str, span: Span) -> Span:
    """A place without a length means the whole statement of its row."""
    if (span.row, span.column) != (span.end_row, span.end_column):
        return span
    piece = read(source).at(span.row)
    holding = [p for p, n in piece.nodes if p[0] <= span.row <= p[2] and _simple(n)] if piece else []
    return Span(span.filename, *holding[0]) if holding else span


def _simple(node: cst.CSTNode) -> bool:
    import libcst as cst

    return isinstance(node, cst.BaseSmallStatement)


def _within(piece: Piece, span: Range) -> Iterator[cst.CSTNode]:
    for place, node in piece.nodes:
        outer = piece.outer(node)
        if (span[:2] <= place[:2] and place[2:] <= span[2:]) or outer == span:
            yield node


def _unordered(scope: Scope, node: cst.CSTNode) -> bool:
    """A set, a directory listing, or a name that is bound to one and to nothing else."""
    import libcst as cst

    if isinstance(node, cst.Name):
        bound = scope.bound(node)
        return bound is not None and not isinstance(bound, cst.Name) and _unordered(scope, bound)
    if isinstance(node, cst.Set | cst.SetComp):
        return True
    if isinstance(node, cst.BinaryOperation):
        return isinstance(node.operator, cst.BitOr | cst.BitAnd | cst.Subtract | cst.BitXor) and (
            _unordered(scope, node.left) or _unordered(scope, node.right)
        )
    if isinstance(node, cst.Call):
        spelt = cst.Module([]).code_for_node(node.func)
        return spelt in _SET_CALLS or _LISTING.fullmatch(spelt) is not None
    return False


def _walked(piece: Piece, node: cst.CSTNode) -> str | None:
    """How a value is used: "walked" once at this very place, "printed" as it is, or None for anything else."""
    import libcst as cst

    upper = piece.parent(node)
    if isinstance(upper, cst.StarredElement | cst.For):
        return "walked" if isinstance(upper, cst.StarredElement) or upper.iter is node else None
    if isinstance(upper, cst.CompFor) and upper.iter is node:
        around = next((a for a in piece.ancestors(upper) if not isinstance(a, cst.CompFor)), None)
        if isinstance(around, cst.SetComp):
            return None
        return None if isinstance(around, cst.GeneratorExp) and _argument_of(piece, around) in _ORDERLESS else "walked"
    if isinstance(upper, cst.FormattedStringExpression):
        return "printed"
    name = _argument_of(piece, node)
    if name in ("str", "repr", "print", "format"):
        return "printed"
    if name in ("list", "tuple", "enumerate", "iter", "map", "join"):
        around = piece.parent(upper) if upper is not None else None
        # list(set(x)) inside sorted(), or used for membership, is fine as it is.
        return None if around is not None and _argument_of(piece, around) in _ORDERLESS else "walked"
    return None


def _joined(piece: Piece, node: cst.CSTNode) -> bool:
    """Whether a text joins the value: it takes strings and fails for anything else, sorted or not."""
    import libcst as cst

    arg = piece.parent(node)
    call = piece.parent(arg) if isinstance(arg, cst.Arg) else None
    return (
        isinstance(call, cst.Call)
        and isinstance(call.func, cst.Attribute)
        and call.func.attr.value == "join"
        and isinstance(call.func.value, cst.SimpleString | cst.ConcatenatedString)
    )


def _names_of_files(source: str, piece: Piece, node: cst.CSTNode) -> bool:
    """Whether a value is a listing of the standard library that gives names, all text or all bytes."""
    import libcst as cst

    spelt = piece.module.code_for_node(node.func) if isinstance(node, cst.Call) else ""
    module, _, function = spelt.partition(".")
    return (module, function) in _NAME_LISTINGS and (
        re.search(rf"^[ \t]*import (?:[\w., ]*, *)?{module}\b(?! as)", source, re.MULTILINE) is not None
        and not _shadowed(re.sub(r"^[ \t]*import .*", "", source, flags=re.MULTILINE), module)
    )


def _argument_of(piece: Piece, node: cst.CSTNode) -> str | None:
    """The name of the function that a node is an argument of; of a method the last part."""
    import libcst as cst

    arg = piece.parent(node)
    call = piece.parent(arg) if isinstance(arg, cst.Arg) and not arg.star else None
    if not isinstance(call, cst.Call):
        return None
    if isinstance(call.func, cst.Name):
        return call.func.value
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else None


def _wrapped(piece: Piece, node: cst.CSTNode, filename: str) -> tuple[Edit, ...]:
    import libcst as cst

    arg = piece.parent(node)
    call = piece.parent(arg) if isinstance(arg, cst.Arg) else None
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value == "list":
        # list(x) and sorted(x) are both lists: no call is added.
        return (Edit(Span(filename, *piece.place(call.func)), "sorted"),)
    row, column, end_row, end_column = piece.outer(node)
    opening = Edit(Span(filename, row, column, row, column), "sorted(")
    return opening, Edit(Span(filename, end_row, end_column, end_row, end_column), ")")


def _shadowed(source: str, *names: str) -> bool:
    """Whether a file may give a builtin's name another meaning."""
    words = "|".join(names)
    return (
        re.search(
            rf"\b(?:def|class|import|as|for|,)\s*(?:{words})\b(?!\s*\()|\b(?:{words})\s*(?::[^=\n()]*)?=(?!=)", source
        )
        is not None
        or re.search(rf"\bdef\s+(?:{words})\b", source) is not None
    )


def _is_dumps(source: str, piece: Piece, call: cst.Call) -> bool:
    spelt = piece.module.code_for_node(call.func)
    return spelt == "json.dumps" or (
        spelt == "dumps" and re.search(r"from json import .*\bdumps\b", source) is not None
    )


def _replayed(piece: Piece, call: cst.Call) -> bool:
    """Whether the JSON may be the arguments of a tool call that the model made earlier."""
    import libcst as cst

    if _REPLAYED.search(piece.module.code_for_node(call)):
        return True
    for upper in piece.ancestors(call):
        if isinstance(upper, cst.DictElement) and isinstance(upper.key, cst.SimpleString):
            name = str(upper.key.evaluated_value)
        elif isinstance(upper, cst.Arg) and upper.keyword is not None:
            name = upper.keyword.value
        elif isinstance(upper, cst.Assign):
            name = piece.module.code_for_node(upper.targets[0].target)
        else:
            continue
        if name in _REPLAYED_KEYS or _REPLAYED.search(name):
            return True
    return False
