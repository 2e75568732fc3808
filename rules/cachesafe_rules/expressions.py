"""Small questions about expressions that several rules ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cachesafe_rules.model import Expr
from cachesafe_rules.patterns import lazy_pattern

__all__ = [
    "constant_text",
    "is_constant_name",
    "is_history",
    "last_part",
    "name_words",
    "parts_of",
    "spelt",
    "static_length",
    "walk",
    "words",
    "words_of_name",
]

# What holds the earlier messages of a chat, by the last part of its name.
_HISTORY = lazy_pattern(
    r"^_*(?:[a-z]+_)*(?:messages|msgs|history|histories|conversation|dialogue?|turns|transcript|chat_log|contents|"
    r"input_items|chat_turns|convo|trajectory|exchanges)$|^chat$"
)
# Lists of that name that are something else than the chat.
_NOT_HISTORY = lazy_pattern(
    r"error|log_messages|warning|commit|validation|status|search_history|run_history|event|queue"
)
_SNAKE = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_WALK_LIMIT = 2000


def walk(root: Expr, into_lambdas: bool = True) -> Iterator[Expr]:
    """An expression and everything below it, calls' arguments included; bounded, so that no table costs seconds."""
    stack = [root]
    for _ in range(_WALK_LIMIT):
        if not stack:
            return
        expr = stack.pop()
        yield expr
        if expr.kind == "lambda" and not into_lambdas:
            continue
        below: list[Expr] = [*expr.entries.values(), *expr.items]
        for generator in expr.generators:
            below += [generator.target, generator.iterable, *generator.tests]
        if expr.call is not None:
            below += expr.call.args
            below += expr.call.keywords.values()
            if expr.call.receiver is not None:
                below.append(expr.call.receiver)
        stack.extend(reversed(below))


def last_part(name: str | None) -> str:
    """The last part of a dotted name."""
    return (name or "").rpartition(".")[2]


def name_words(name: str) -> set[str]:
    """The lower-case words of an identifier: `needSearch` and `need_search` give need, search."""
    return {word.lower() for word in _SNAKE.findall(name)}


def words_of_name(expr: Expr) -> set[str]:
    """The words of the last part of a name."""
    return name_words(last_part(expr.name))


def words(*exprs: Expr | None) -> set[str]:
    """The lower-case words of all names and short constants in the expressions: `state.needSearch` gives state, need,
    search."""
    found: set[str] = set()
    for root in exprs:
        if root is None:
            continue
        for expr in walk(root):
            if expr.name and expr.kind in ("name", "attribute", "call"):
                found |= name_words(expr.name)
            elif expr.kind == "constant" and isinstance(expr.value, str) and len(expr.value) < 40:
                found |= name_words(expr.value)
    return found


def is_history(expr: Expr | None) -> bool:
    """Whether the expression is a name, attribute or item that is called like the earlier messages of a chat."""
    if expr is None:
        return False
    if expr.kind in ("name", "attribute"):
        return _is_history_name(last_part(expr.name))
    if expr.kind == "subscript" and len(expr.items) == 2:
        key = expr.items[1]
        if key.kind == "constant":
            return isinstance(key.value, str) and _is_history_name(key.value)
    if expr.call is not None and last_part(expr.call.name) in ("get", "list", "copy", "deepcopy", "tuple"):
        call = expr.call
        if last_part(call.name) == "get":
            return bool(call.args) and call.args[0].kind == "constant" and _is_history_name(str(call.args[0].value))
        return is_history(call.args[0] if call.args else call.receiver)
    return False


def _is_history_name(name: str) -> bool:
    # A constant in capitals is a fixed list, such as examples.
    return bool(_HISTORY.match(name)) and not _NOT_HISTORY.search(name)


def is_constant_name(expr: Expr) -> bool:
    """A name or attribute in capitals."""
    name = last_part(expr.name).lstrip("_")
    return expr.kind in ("name", "attribute") and name.isupper() and len(name) > 1


def constant_text(expr: Expr) -> str | None:
    """The text of a string constant."""
    return expr.value if expr.kind == "constant" and isinstance(expr.value, str) else None


_PASS_THROUGH = frozenset({"dedent", "strip", "str", "cleandoc", "rstrip", "lstrip"})


def parts_of(expr: Expr) -> list[Expr]:
    """The pieces of a text in the order in which they are read: of f-strings, sums, `join` of a list, `%`, and
    `"…".format(…)` (cut at its placeholders); anything else is one piece."""
    out: list[Expr] = []
    stack = [expr]
    for _ in range(_WALK_LIMIT):
        if not stack:
            break
        part = stack.pop()
        if part.kind == "fstring" or (part.kind == "operation" and part.name == "+"):
            stack.extend(reversed(part.items))
        elif part.call is not None and (inner := _text_inside(part)):
            stack.extend(reversed(inner))
        else:
            out.append(part)
    return out


def _text_inside(part: Expr) -> list[Expr]:
    call = part.call
    if call is None:
        return []
    name = last_part(call.name)
    if name == "join" and len(call.args) == 1 and call.args[0].kind in ("list", "tuple"):
        return call.args[0].items
    if name in _PASS_THROUGH:
        if call.args and name in ("dedent", "str", "cleandoc"):
            return call.args[:1]
        if call.receiver is not None and not call.args and name not in ("dedent", "str"):
            return [call.receiver]
    return []


def static_length(parts: Iterable[Expr]) -> int:
    """How many characters of fixed text the pieces hold; a constant in capitals counts as 200."""
    total = 0
    for part in parts:
        text = constant_text(part)
        if text is not None:
            total += len(text.strip())
        elif is_constant_name(part):
            total += 200
    return total


def spelt(expr: Expr, limit: int = 40) -> str:
    """An expression in words for a message: its dotted name, a call with `()`, or its kind."""
    if expr.call is not None:
        text = f"{expr.call.name}()"
    elif expr.kind == "subscript" and expr.items:
        text = f"{spelt(expr.items[0])}[…]"
    elif expr.kind == "star" and expr.items:
        return spelt(expr.items[0], limit)
    elif expr.kind == "constant":
        text = repr(expr.value)
    else:
        text = expr.name or {"fstring": "an f-string", "operation": "an expression"}.get(expr.kind, f"a {expr.kind}")
    return text if len(text) <= limit else text[: limit - 1] + "…"
