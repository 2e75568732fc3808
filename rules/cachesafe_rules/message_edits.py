"""The fix that people want for a clock in a system text: its sentence moves to the newest user message.

Done only where both stand in one display: a list of messages that ends with the user's, or a call or dict with the
system text beside such a list. The system text is an f-string there, or bound to one name in the same function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from cachesafe_rules.api import Edit, Fix, Report
from cachesafe_rules.concrete import Concrete, Piece, read
from cachesafe_rules.edits import places
from cachesafe_rules.model import Span
from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.request_forms import Request, request_in
from cachesafe_rules.scope import Scope

if TYPE_CHECKING:
    import libcst as cst

__all__ = ["is_clock", "move_to_user"]

_CLOCK = lazy_pattern(
    r"\b(?:(?:date)?time\.(?:now|utcnow|today|time|time_ns|strftime|ctime|localtime|gmtime|asctime)|date\.today"
    r"|(?:now|utcnow|today|ctime)|get_(?:current_|local_|utc_)?(?:today|now|date|time|datetime)\w*)\s*\("
)
_CALLED_NOW = lazy_pattern(r"(?:^|_)(?:now|today)$|^current_?(?:date|time|datetime)|^dt_?now")
_MODULES = frozenset({"datetime", "time", "date", "str", "timezone"})
# A longer sentence says more than the time: then only the time itself moves.
_SENTENCE = 70
_INSTEAD = "(given in the newest message)"
_LABEL = "Current date and time: "
# A field in a text whose sentences are looked for.
_HOLE = "\0"
_END = lazy_pattern(r"\n|\\n|[.!?](?=\s|\\n|$)")
_TAIL = lazy_pattern(r"(?:\s|\\n)+$")
_BLANK = lazy_pattern(r"^(?:\s|\\n)+|(?:\s|\\n)+$")


class _Text(NamedTuple):
    """One f-string, as indexes into the file: what stands between its quotes, and its fields."""

    node: cst.FormattedString
    start: int
    end: int
    fields: list[tuple[int, int, bool]]


def move_to_user(report: Report, source: str) -> Fix | None:
    """Move the sentences that hold the clock to the start of the newest user message; None where that is not plain."""
    import libcst as cst

    concrete = read(source)
    seen: set[cst.CSTNode] = set()
    found: list[tuple[Edit, ...]] = []
    for place in places(report):
        piece = concrete.at(place.row, place.end_row)
        if piece is None:
            continue
        for where, node in piece.nodes:
            request = request_in(node) if node not in seen else None
            if request is None:
                continue
            scope = Scope.of(piece, node)
            function = piece.place(scope.root) if isinstance(scope.root, cst.FunctionDef) else where
            if function[0] <= place.row <= function[2]:
                seen.add(node)
                edits = _moved(concrete, piece, scope, request, report.span.filename)
                if edits:
                    found.append(edits)
    if len(found) != 1:
        return None
    return Fix("move the time to the newest user message", "unsafe", found[0])


def is_clock(piece: Piece, scope: Scope, node: cst.BaseExpression, depth: int = 3) -> bool:
    """Whether an expression reads the clock, itself or through names that are bound once in its function.

    A parameter that is called `now` or `current_time` does as well.
    """
    import libcst as cst

    if _CLOCK.search(piece.module.code_for_node(node)):
        return True
    if depth == 0:
        return False
    for name in _descendants(node):
        if isinstance(name, cst.Name) and name.value not in _MODULES and not scope.is_label(name):
            value = scope.bound(name)
            if value is not None and is_clock(piece, scope, value, depth - 1):
                return True
            if value is None and _CALLED_NOW.search(name.value):
                return True
    return False


def _moved(concrete: Concrete, piece: Piece, scope: Scope, request: Request, filename: str) -> tuple[Edit, ...] | None:
    import libcst as cst

    content = request.system
    if isinstance(content, cst.Name):
        value = scope.bound(content)
        # Whoever else uses the text would lose the sentence.
        if value is None or len(scope.uses(content.value)) != 2:
            return None
        content = value
    texts = [text for string in _strings(content) if (text := _text(concrete, piece, scope, string)) is not None]
    cut: list[Edit] = []
    moved: list[str] = []
    for text in texts:
        if any(clock for _, _, clock in text.fields):
            # In a raw string \n means something else than in the message it would move to.
            if "r" in text.node.prefix.lower():
                return None
            edits, sentences, empty = _cut_out(concrete, text, filename, _strings(content))
            gone = _emptied(concrete, piece, content, text, filename) if empty else None
            cut += [gone] if gone else edits
            moved += sentences
    if not moved:
        return None
    given = _given(concrete, piece, scope, request.newest, " ".join(moved), filename)
    return (*cut, *given) if given else None


def _strings(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    import libcst as cst

    if isinstance(node, cst.ConcatenatedString):
        return [*_strings(node.left), *_strings(node.right)]
    return [node]


def _text(concrete: Concrete, piece: Piece, scope: Scope, node: cst.BaseExpression) -> _Text | None:
    import libcst as cst

    if not isinstance(node, cst.FormattedString):
        return None
    place = piece.place(node)
    start = concrete.offset(*place[:2]) + len(node.start)
    fields = []
    for part in node.parts:
        if isinstance(part, cst.FormattedStringExpression):
            where = piece.place(part)
            clock = is_clock(piece, scope, part.expression)
            fields.append((concrete.offset(*where[:2]), concrete.offset(*where[2:]), clock))
    return _Text(node, start, concrete.offset(*place[2:]) - len(node.end), fields)


def _cut_out(
    concrete: Concrete, text: _Text, filename: str, strings: list[cst.BaseExpression]
) -> tuple[list[Edit], list[str], bool]:
    """The edits that take the clock's sentences out of one of the strings, these sentences, and whether it is empty."""
    alone, index = len(strings) == 1, strings.index(text.node)
    last = index == len(strings) - 1
    # A sentence that goes on in the string before or behind stays, without the time.
    closed = (index == 0 or _closes(strings[index - 1]), last or _opens(strings[index + 1]))
    raw = concrete.text[text.start : text.end]
    masked = list(raw)
    for start, end, _ in text.fields:
        masked[start - text.start : end - text.start] = _HOLE * (end - start)
    plain = "".join(masked)
    units: list[tuple[int, int]] = []
    for start, end, clock in text.fields:
        if clock:
            unit = _sentence(plain, start - text.start, end - text.start)
            if units and unit[0] <= units[-1][1]:
                unit = (units[-1][0], max(unit[1], units.pop()[1]))
            units.append(unit)
    whole = alone and not _without(plain, units).strip()
    edits: list[Edit] = []
    sentences: list[str] = []
    kept_fields, replaced = len(text.fields), False
    done = 0
    for first, behind in units:
        inside = [(s - text.start, e - text.start, c) for s, e, c in text.fields if first <= s - text.start < behind]
        torn = (first == 0 and not closed[0]) or (
            behind == len(plain) and not closed[1] and not _END.search(plain[inside[-1][1] : behind])
        )
        if whole or torn or len(plain[first:behind].replace(_HOLE, "")) > _SENTENCE:
            for start, end, clock in inside:
                if clock:
                    edits.append(_edit(concrete, filename, text.start + start, text.start + end, _INSTEAD))
                    sentences.append(_LABEL + raw[start:end])
                    kept_fields -= 1
            replaced = True
            continue
        kept_fields -= len(inside)
        sentences.append(_BLANK.sub("", raw[first:behind]))
        if last and not plain[behind:].strip():
            # What stood before it ends the text now, without blanks or line ends.
            first = max(done, len(_TAIL.sub("", plain[:first])))
        done = behind
        edits.append(_edit(concrete, filename, text.start + first, text.start + behind, ""))
    left = (plain if replaced else _without(plain, units)).replace(_HOLE, "")
    if kept_fields == 0 and "{" not in left and "}" not in left:
        opening = text.start - len(text.node.start)
        prefix = text.node.prefix
        kept = prefix.replace("f", "").replace("F", "")
        edits.append(_edit(concrete, filename, opening, opening + len(prefix), kept))
    return edits, sentences, not (replaced or alone or left.strip() or kept_fields)


def _closes(node: cst.BaseExpression) -> bool:
    """Whether a string ends with a sentence or a line."""
    import libcst as cst

    if isinstance(node, cst.FormattedString):
        tail = node.parts[-1] if node.parts else None
        text = tail.value if isinstance(tail, cst.FormattedStringText) else ""
    else:
        text = node.raw_value if isinstance(node, cst.SimpleString) else ""
    return re.search(r"(?:[.!?:]\s*|\n|\\n)\s*$", text) is not None


def _opens(node: cst.BaseExpression) -> bool:
    """Whether a string begins a sentence or a line."""
    import libcst as cst

    if isinstance(node, cst.FormattedString):
        head = node.parts[0] if node.parts else None
        text = head.value if isinstance(head, cst.FormattedStringText) else ""
    else:
        text = node.raw_value if isinstance(node, cst.SimpleString) else ""
    return re.match(r"\n|\\n", text) is not None


def _emptied(concrete: Concrete, piece: Piece, content: cst.BaseExpression, text: _Text, filename: str) -> Edit | None:
    """The edit that drops a string of which nothing is left from a row of strings, if only blanks stand between."""
    strings = _strings(content)
    index = strings.index(text.node)
    bounds = [(concrete.offset(*piece.place(s)[:2]), concrete.offset(*piece.place(s)[2:])) for s in strings]
    start, end = bounds[index]
    if index + 1 < len(strings):
        start, end, between = start, bounds[index + 1][0], (end, bounds[index + 1][0])
    else:
        start, end, between = bounds[index - 1][1], end, (bounds[index - 1][1], start)
    if concrete.text[slice(*between)].strip():
        return None
    return _edit(concrete, filename, start, end, "")


def _sentence(plain: str, start: int, end: int) -> tuple[int, int]:
    """The sentence or line around a field, with the blanks or the line end behind it."""
    first = 0
    for before in _END.finditer(plain, 0, start):
        first = before.end()
    first += len(plain[first:start]) - len(plain[first:start].lstrip(" "))
    match = _END.search(plain, end)
    behind = match.end() if match else len(plain)
    while behind < len(plain) and plain[behind] == " ":
        behind += 1
    return first, behind


def _without(plain: str, units: list[tuple[int, int]]) -> str:
    for first, behind in reversed(units):
        plain = plain[:first] + plain[behind:]
    return plain


def _given(
    concrete: Concrete, piece: Piece, scope: Scope, content: cst.BaseExpression, moved: str, filename: str
) -> tuple[Edit, ...] | None:
    """The edits that put a sentence at the start of a message's content."""
    import libcst as cst

    place = piece.outer(content)
    start, end = concrete.offset(*place[:2]), concrete.offset(*place[2:])
    code = concrete.text[start:end]
    if isinstance(content, cst.List):
        first = content.elements[0] if content.elements else None
        quote = _quote(moved)
        if not isinstance(first, cst.Element) or not isinstance(first.value, cst.Dict) or quote is None:
            return None
        at = concrete.offset(*piece.place(first.value)[:2])
        block = f'{{"type": "text", "text": f{quote}{moved}{quote}}}, '
        return (_edit(concrete, filename, at, at, block),)
    if isinstance(content, cst.Name):
        bound = scope.bound(content)
        if (
            bound is not None
            and not isinstance(bound, cst.Name | cst.Call | cst.Attribute | cst.Subscript)
            and not _textual(bound)
        ):
            return None
    if isinstance(content, cst.FormattedString) and "r" not in content.prefix.lower():
        quote = content.start[len(content.prefix) :]
        if quote[0] not in moved and not content.lpar:
            at = start + len(content.start)
            return (_edit(concrete, filename, at, at, f"{moved}\\n\\n"),)
    simple = isinstance(content, cst.Name | cst.Attribute | cst.Subscript | cst.Call) and not content.lpar
    if simple and not re.search(r"[\n\r\\#]", code):
        quote = _quote(moved + code)
        if quote is not None and len(quote) == 1:
            opening = _edit(concrete, filename, start, start, f"f{quote}{moved}\\n\\n{{")
            return opening, _edit(concrete, filename, end, end, f"}}{quote}")
    quote = _quote(moved)
    if quote is None:
        return None
    head = f"f{quote}{moved}\\n\\n{quote}"
    if isinstance(content, cst.SimpleString | cst.FormattedString | cst.ConcatenatedString) and not content.lpar:
        return (_edit(concrete, filename, start, start, f"{head} "),) if _textual(content) else None
    if isinstance(content, cst.Dict | cst.DictComp | cst.ListComp | cst.Tuple | cst.Set):
        return None
    if (code.startswith("(") and content.lpar) or simple:
        return (_edit(concrete, filename, start, start, f"{head} + "),)
    opening = _edit(concrete, filename, start, start, f"{head} + (")
    return opening, _edit(concrete, filename, end, end, ")")


def _textual(node: cst.BaseExpression) -> bool:
    import libcst as cst

    if isinstance(node, cst.ConcatenatedString):
        return _textual(node.left) and _textual(node.right)
    if isinstance(node, cst.SimpleString):
        return "b" not in node.prefix.lower()
    return isinstance(node, cst.FormattedString | cst.BinaryOperation)


def _quote(text: str) -> str | None:
    """A quote that the text does not hold: Python before 3.12 allows none of them inside an f-string's fields."""
    if "\n" in text or "\r" in text:
        return None
    for quote in ('"', "'"):
        if quote not in text:
            return quote
    return next((q for q in ('"""', "'''") if q not in text and not text.endswith(q[0])), None)


def _edit(concrete: Concrete, filename: str, start: int, end: int, text: str) -> Edit:
    return Edit(Span(filename, *concrete.place(start), *concrete.place(end)), text)


def _descendants(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    stack = [node]
    while stack:
        upper = stack.pop()
        yield upper
        stack.extend(upper.children)
