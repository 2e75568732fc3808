"""Where text that changes stands before text that stays: in message lists, fields of a request and its blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from cachesafe_rules.assembled import assembled_lists, role_and_content
from cachesafe_rules.blocks import Block, blocks_of, system_contents
from cachesafe_rules.changing import changing_piece, changing_value, pieces_of
from cachesafe_rules.excerpts import ends_before_request
from cachesafe_rules.expressions import is_constant_name, is_history, last_part, name_words, spelt, static_length
from cachesafe_rules.model import Expr, MessageItem, MessageList, Span
from cachesafe_rules.moment_names import labelled_in_excerpt, live_in_excerpt, varies_in_excerpt
from cachesafe_rules.shape import Request, Shape
from cachesafe_rules.told_state import told_state
from cachesafe_rules.turns import is_setup, is_side_call, overflow_guarded
from cachesafe_rules.volatile import volatile_in

__all__ = ["SYSTEM", "Found", "by_name", "has_history", "in_blocks", "in_fields", "in_lists", "moves"]

SYSTEM = ("system", "instructions", "system_prompt", "system_instruction", "system_message")
# Fixed text behind a changing piece that is worth a report, in characters.
_ENOUGH = 200
# Words of helpers that make several blocks, the first of them with a marker.
_SPLITS = frozenset({"cache", "cached", "cacheable", "caching", "blocks", "split"})


class Found(NamedTuple):
    """`behind` is what stands behind the text that changes, `history` the name of the chat if that does, `lost` the row
    in which it is added where that is seen."""

    function: str
    span: Span
    what: str
    behind: str
    history: str = ""
    lost: int = 0


# What a chat is about from its beginning to its end.
_SUBJECTS = frozenset(
    {"thread", "channel", "profile", "document", "doc", "file", "files", "readme", "repo", "project", "company",
     "person", "customer", "account", "book", "paper", "transcript", "article", "spec", "guide", "manual", "handbook",
     "brief", "case", "ticket", "documents", "story", "character", "scenario", "world", "summary"}
)  # fmt: skip
# What asks of a text whether it changes.
_Changes = Callable[[Shape, str, Expr], str | None]


def in_lists(shape: Shape, changes: _Changes) -> Iterator[Found]:
    for found in [*shape.view.lists, *assembled_lists(shape), *_of_names(shape)]:
        if is_setup(found.function) or is_side_call(found.function):
            continue
        for number, item in enumerate(found.items):
            behind = _stable_behind(shape, found, number)
            if item.role == "system" and item.content is not None:
                # A clock in a system message is what CSF101 reports.
                if volatile_in(shape, found.function, item.content):
                    continue
                # Behind what somebody said it is a note at the end, not the head of the chat.
                is_head = all(before.role in ("system", "*") for before in found.items[:number])
                if is_head and (inner := _before_text(shape, found.function, item.content, changes)):
                    history = behind[1] if behind is not None else ""
                    yield Found(found.function, item.expr.span, inner, "fixed text", history)
                    continue
            if behind is None:
                continue
            if item.role == "*":
                star = item.expr.items[0] if item.expr.kind == "star" else item.expr
                what = changes(shape, found.function, star) or _said_by_helper(shape, found.function, star)
                if not is_history(star) and what:
                    yield Found(found.function, item.expr.span, what, *behind)
            elif (item.content is not None and (what := changes(shape, found.function, item.content))) or (
                # What the user is made to say in front of the chat is brought by the turn.
                changes is by_name
                and item.role == "user"
                and behind[1]
                and item.content is not None
                and any(later.role == "user" or _is_rest(later.expr) for later in found.items[number + 1 :])
                and not overflow_guarded(shape, found.function, found.conditions)
                and (what := varies_in_excerpt(shape, found.function, item.content, _SUBJECTS))
            ):
                yield Found(found.function, item.expr.span, what, *behind)


def _of_names(shape: Shape) -> Iterator[MessageList]:
    """The lists that an excerpt gives back in which no message is written down: `[system, *examples(), *history]`."""
    known = {found.span for found in shape.view.lists}
    for binding in shape.view.bindings if ends_before_request(shape) else ():
        value = binding.value
        if binding.operator != "return" or value is None or value.kind != "list" or value.span in known:
            continue
        if any(item.kind == "star" and is_history(item.items[0]) for item in value.items):
            items = []
            for item in value.items:
                role, content = role_and_content(shape.resolve(binding.function, item))
                items.append(MessageItem("*" if item.kind == "star" else role, content, item))
            yield MessageList(value.span, items, binding.function, binding.conditions, value)


def _said_by_helper(shape: Shape, function: str, star: Expr) -> str | None:
    """What changes by itself in the user's messages that a helper of the file makes: `*time_pair()`."""
    local = shape.local_function(star.call, function) if star.call is not None else ""
    for returned in shape.returns(local) if local else ():
        listed = shape.resolve(local, returned.value) if returned.value is not None else None
        for item in listed.items if listed is not None and listed.kind == "list" else ():
            role, content = role_and_content(item)
            found = volatile_in(shape, local, content) if role == "user" and content is not None else None
            if found:
                return found.rstrip(",")
    return None


def _is_rest(expr: Expr) -> bool:
    """`*messages[1:]`, which ends with the newest question."""
    inner = expr.items[0] if expr.kind == "star" else expr
    return inner.kind == "subscript" and inner.items[1].kind == "slice"


def _stable_behind(shape: Shape, found: MessageList, number: int) -> tuple[str, str, int] | None:
    """What of the list stays and stands behind an item, with the history's name and the row: the history, or a message
    of fixed text."""
    for later in found.items[number + 1 :]:
        star = later.expr.items[0] if later.expr.kind == "star" else later.expr
        if star.kind == "operation" and star.name == "or":
            # `*(history or [])`
            star = star.items[0]
        if star.kind == "subscript" and star.items[1].kind == "slice":
            star = star.items[0]
        if later.role == "*" and is_history(star):
            return f"the history ({spelt(star)})", spelt(star), star.span.row
        if later.role == "system" and later.content is not None:
            content = shape.resolve(found.function, later.content)
            if content.kind == "constant" or is_constant_name(later.content):
                return "a fixed system message", "", later.expr.span.row
    return None


def in_fields(shape: Shape, changes: _Changes) -> Iterator[Found]:
    for request in shape.requests:
        if is_setup(request.function) or is_side_call(request.function):
            continue
        chat = has_history(shape, request)
        for field in SYSTEM:
            if field not in request.fields:
                continue
            text = shape.resolve(request.function, request.fields[field])
            if (grown := _grown(shape, request, request.fields[field])) is not None and chat:
                yield Found(
                    request.function,
                    grown,
                    f"{spelt(request.fields[field])}, which grows,",
                    f"the history ({chat})",
                    chat,
                )
                continue
            if text.kind == "list":
                # Blocks are looked at by themselves.
                continue
            if what := _before_text(shape, request.function, text, changes):
                yield Found(request.function, text.span, what, "fixed text", chat or "")
            elif _split_for_cache(shape, request.function, text):
                continue
            elif chat and (what := changes(shape, request.function, request.fields[field])):
                yield Found(request.function, text.span, what, f"the history ({chat})", chat)


def by_name(shape: Shape, function: str, text: Expr) -> str | None:
    """What an excerpt calls something of the moment."""
    return live_in_excerpt(shape, function, text) or labelled_in_excerpt(
        shape, function, pieces_of(shape, function, text)
    )


def _grown(shape: Shape, request: Request, text: Expr) -> Span | None:
    """Where the function that sends a system text adds something to it that the object keeps: `self.system += …`."""
    if text.kind != "attribute" or not (text.name or "").startswith("self."):
        return None
    bound = shape.bindings(request.function, text)
    return next((b.span for b in bound if b.operator == "+=" and b.function == request.function), None)


def moves(shape: Shape, function: str, text: Expr) -> str | None:
    return changing_value(shape, function, text) or told_state(shape, function, text)


def _split_for_cache(shape: Shape, function: str, text: Expr) -> bool:
    """`cached_blocks(stable, changing)`: a helper that puts what changes into a block of its own behind the marker."""
    call = text.call
    if call is None or len(call.args) + len(call.keywords) < 2 or _SPLITS.isdisjoint(name_words(last_part(call.name))):
        return False
    first = call.args[0] if call.args else next(iter(call.keywords.values()))
    return changing_value(shape, function, first) is None


def has_history(shape: Shape, request: Request) -> str | None:
    """The earlier messages that a request sends, as spelt."""
    messages = request.messages
    if messages is None:
        return None
    for part in shape.flow(messages, request.function, request.span)[:20]:
        expr = part.expr
        if is_history(expr) and (
            expr.kind == "attribute"
            or shape.is_parameter(part.function, expr)
            or (
                part.function == request.function
                and any(
                    last_part(call.name) == "append" and call.in_loop for call in shape.mutations(part.function, expr)
                )
            )
        ):
            return spelt(expr)
    return None


def in_blocks(shape: Shape, changes: _Changes) -> Iterator[Found]:
    for content in system_contents(shape, SYSTEM):
        if is_setup(content.function) or is_side_call(content.function):
            continue
        blocks = blocks_of(shape, content.function, content.expr, content.span)
        for number, block in enumerate(blocks[:-1]):
            changing = (changes(shape, where, text) for text, where in block.texts)
            what = next((found for found in changing if found), None)
            later = blocks[number + 1 :]
            marked = any(one.marker is not None and not _texts_change(shape, one, changes) for one in later)
            if what and (marked or sum(_fixed_length(shape, one) for one in later) >= _ENOUGH):
                yield Found(block.function, block.span, what, "a fixed block")


def _texts_change(shape: Shape, block: Block, changes: _Changes) -> bool:
    return any(changes(shape, where, text) for text, where in block.texts)


def _fixed_length(shape: Shape, block: Block) -> int:
    """The fixed text in front of whatever changes in a block."""
    total = 0
    for text, where in block.texts:
        # Of a text that is read somewhere the name is kept: it says whether that is done once.
        whole = text.kind in ("name", "attribute") and not _is_written(shape.resolve(where, text))
        for piece in [text] if whole else pieces_of(shape, where, text):
            if changing_value(shape, where, piece):
                return total
            total += _length(shape, where, piece)
    return total


def _is_written(value: Expr) -> bool:
    return value.kind in ("constant", "fstring") or (value.kind == "operation" and value.name == "+")


def _length(shape: Shape, function: str, piece: Expr) -> int:
    value = shape.resolve(function, piece)
    if value.kind == "constant":
        return static_length([value])
    if value.kind == "operation" and value.name == "*":
        # A text of several times the same.
        return sum(static_length([item]) for item in value.items) or 200
    if value.kind in ("list", "tuple", "dict", "set"):
        return 0
    if piece.kind == "attribute" and last_part(piece.name) in SYSTEM:
        # `request.system_prompt`
        return _ENOUGH
    bound = shape.bindings(function, piece)
    known = bool(bound) and all(not item.function and item.operator == "=" for item in bound)
    return 200 if is_constant_name(piece) or known or _is_constructed(shape, function, piece) else 0


def _is_constructed(shape: Shape, function: str, piece: Expr) -> bool:
    """Whether a text is an attribute that only the constructor fills."""
    bound = shape.bindings(function, piece) if piece.kind == "attribute" else []
    return bool(bound) and all(last_part(item.function) == "__init__" for item in bound)


def _before_text(shape: Shape, function: str, content: Expr, changes: _Changes) -> str | None:
    """The changing piece of a text that enough fixed text follows."""
    pieces = pieces_of(shape, function, content)
    for number, piece in enumerate(pieces):
        if piece.kind == "constant":
            continue
        if what := changing_piece(shape, function, pieces, number) or changes(shape, function, piece):
            behind = pieces[number + 1 :]
            whole = any(one.kind == "attribute" and last_part(one.name) in SYSTEM for one in behind)
            return what if whole or static_length(behind) >= _ENOUGH else None
    return None
