"""What a check can be given, turned into requests in order and who is compared with whom."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from pytest_cachesafe.prompt import Chat, FrontEnd, Prompt, Recording, UsageError

__all__ = ["Pair", "Plan", "is_builder", "plan", "said", "to_prompt", "why_alone"]

Requests = Literal["user+tool", "user"]
Item = Chat | Prompt
_SYSTEM = ("system", "developer")
_ASKS = ("user", "tool", "function")


class Pair(NamedTuple):
    """A request and the earlier request it must continue; None starts a conversation."""

    request: int
    against: int | None


@dataclass
class Plan:
    """Requests in the order sent, and the pairs to compare."""

    items: list[Item]
    pairs: list[Pair]
    kind: Literal["chat", "requests", "recording", "prompts"]
    conversations: int = 1
    notes: list[str] = field(default_factory=list)

    @property
    def compared(self) -> int:
        """How many pairs really are compared."""
        return sum(pair.against is not None for pair in self.pairs)


def is_builder(chat: Any) -> bool:
    """Whether `chat` is a callable to be asked for requests."""
    return callable(chat) and not isinstance(chat, (Recording, Mapping, Prompt, type))


def in_order(items: list[Item], kind: Any, notes: Sequence[str] = ()) -> Plan:
    """Every request against the one before it, but for those that hold new items only: the provider has the rest."""
    pairs: list[Pair] = []
    against: int | None = None
    for i, item in enumerate(items):
        if against is not None and _holds_new_items_only(item, items[against]):
            pairs.append(Pair(i, None))
        else:
            pairs.append(Pair(i, against))
            against = i
    return Plan(items, pairs, kind, notes=list(notes))


def _holds_new_items_only(item: Item, earlier: Item) -> bool:
    if served_by(item) is None or not isinstance(item, Chat):
        return False
    if not isinstance(earlier, Chat) or earlier.raw is not None:
        return False
    said, before = ([m for m in c.messages if m.get("role") not in _SYSTEM] for c in (item, earlier))
    # Two follow-ups of the same response repeat nothing either, but a builder that gives a request twice does.
    return said[: len(before)] != before


def served_by(item: Item) -> str | None:
    """The field by which a request has the provider put the history in front; None without one."""
    from pytest_cachesafe.messages.openai_responses import served_history

    return served_history(item.body) if isinstance(item, Chat) and item.body is not None else None


def why_alone(plan: Plan) -> str:
    """Why no request of a plan has another to be compared with, and what to do."""
    held = next((name for name in map(served_by, plan.items) if name is not None), None)
    several = len(plan.items) > 1
    if several and held is not None:
        return (
            f"{held}: the requests hold new items only and the provider adds the history, which is not here; "
            "record them with their history"
        )
    chat = plan.items[0]
    asked = not isinstance(chat, Chat) or chat.raw is not None or any(m.get("role") in _ASKS for m in chat.messages)
    what = f"{len(plan.items)} requests of as many conversations" if several else "one request"
    if not asked:
        roles = ", ".join(dict.fromkeys(str(m.get("role")) for m in chat.messages)) if isinstance(chat, Chat) else ""
        what += f", with no user turn in it (roles: {roles})"
    elif (
        plan.kind == "chat" and isinstance(chat, Chat) and not any(m.get("role") == "assistant" for m in chat.messages)
    ):
        what += " (one user turn and no answer)"
    return f"{what}; give a chat with at least two requests, turns=2, toggles or under"


def plan(
    chat: Any,
    *,
    requests: Requests = "user+tool",
    tools: Sequence[Any] | None = None,
    template_kwargs: Mapping[str, Any] | None = None,
) -> Plan:
    """Read one of the accepted inputs (all but builders).

    Raises:
        UsageError: not one of them, empty, mixed, or two chats in one list.
    """
    if requests not in ("user+tool", "user"):
        raise UsageError(f"requests={requests!r}: known are 'user+tool' and 'user'")
    if isinstance(chat, Recording):
        return _recording(chat, tools, template_kwargs)
    if isinstance(chat, Chat):
        return _growing(chat, requests, tools, template_kwargs)
    if isinstance(chat, (str, bytes)):
        raise UsageError("got a lone string where a list is meant: pass a list of prompts, [first, second, …]")
    if isinstance(chat, Prompt):
        raise UsageError("got a single Prompt: pass a list of prompts, [first, second, …]")
    if isinstance(chat, Mapping):
        return _growing(_chat(chat), requests, tools, template_kwargs)
    if isinstance(chat, Sequence):
        return _sequence(chat, requests, tools, template_kwargs)
    messages = getattr(chat, "messages", None)
    if messages is not None and not callable(messages):
        return _growing(_chat(chat), requests, tools, template_kwargs)
    raise UsageError(
        f"cannot read a chat from {type(chat).__name__}: pass a message list, a wire body, a list of requests, "
        "a Recording, or a function build(turn)"
    )


def _sequence(
    items: Sequence[Any], requests: Requests, tools: Sequence[Any] | None, kwargs: Mapping[str, Any] | None
) -> Plan:
    if not items:
        raise UsageError("the chat is empty: nothing to compare")
    # Tensors and arrays of ids.
    items = [item.tolist() if hasattr(item, "tolist") else item for item in items]
    kinds = [_kind(item) for item in items]
    kind = kinds[0]
    if kind == "id":
        if set(kinds) == {"id"}:
            raise UsageError("got one list of token ids: pass a list of them, [[1, 2, …], [1, 2, …, 3]]")
        raise UsageError(f"token ids mixed with {_other(kinds, 'id')} in one list: pass prompts of one kind")
    if kind in ("prompt", "text", "ids"):
        if set(kinds) != {kind}:
            at = next(i for i, k in enumerate(kinds) if k != kind)
            raise UsageError(f"item {at} is {_WORDS[kinds[at]]}, item 0 is {_WORDS[kind]}: pass prompts of one kind")
        return in_order([_raw(item) for item in items], "prompts")
    if kind in ("body", "messages"):
        bad = next((i for i, k in enumerate(kinds) if k not in ("body", "messages", "chat")), None)
        if bad is not None:
            raise UsageError(
                f"item {bad} is {_WORDS[kinds[bad]]}, item 0 is {_WORDS[kind]}: a list of requests needs whole requests"
            )
    if kind in ("body", "messages", "chat"):
        return _requests(
            [item if isinstance(item, Chat) else _chat(item, i) for i, item in enumerate(items)], tools, kwargs
        )
    return _growing(_chat(items), requests, tools, kwargs)


_WORDS = {
    "id": "a token id", "ids": "a list of token ids", "text": "a string", "prompt": "a Prompt", "body": "a wire body",
    "messages": "a message list", "message": "a message", "chat": "a Chat",
}  # fmt: skip


def _other(kinds: Sequence[str], than: str) -> str:
    return _WORDS[next(k for k in kinds if k != than)]


def _kind(item: Any) -> str:
    if isinstance(item, Prompt):
        return "prompt"
    if isinstance(item, Chat):
        return "chat"
    if isinstance(item, str):
        return "text"
    if isinstance(item, int) and not isinstance(item, bool):
        return "id"
    if isinstance(item, Mapping):
        if "role" in item or "type" in item:
            return "message"
        keys = ("messages", "input", "contents", "prompt", "prompt_token_ids")
        return "body" if any(k in item for k in keys) else "message"
    if isinstance(item, Sequence) and not isinstance(item, bytes):
        if item and all(isinstance(x, int) and not isinstance(x, bool) for x in item):
            return "ids"
        if any(isinstance(x, int) and not isinstance(x, bool) for x in item):
            raise UsageError("token ids mixed with other things in one list: pass prompts of one kind")
        # ("human", "…") is how prompt libraries write one message.
        if isinstance(item, tuple) and len(item) == 2 and all(isinstance(x, str) for x in item):
            return "message"
        return "messages"
    return "message"


def _chat(value: Any, index: int | None = None) -> Chat:
    from pytest_cachesafe.messages import to_chat

    try:
        return to_chat(value)
    except UsageError as error:
        raise UsageError(f"request {index}: {error}" if index is not None else str(error)) from None


def _raw(item: Any) -> Item:
    if isinstance(item, Prompt):
        return item
    if isinstance(item, str):
        return Chat([], raw=item, wire="text")
    for i in item:
        if i < 0 or i >= 1 << 32:
            raise UsageError(f"{i} is not a token id: ids are whole numbers from 0 to 2^32 - 1")
    return Chat([], raw=tuple(item), wire="ids")


def tool_list(tools: Any) -> list[Any]:
    """Tool definitions as a list.

    Raises:
        UsageError: not a list, or an entry that is neither a definition nor a function.
    """
    from pytest_cachesafe.messages.parts import check_tool

    if isinstance(tools, (str, bytes, Mapping)) or not isinstance(tools, Sequence):
        raise UsageError(f"tools takes a list of definitions, got {type(tools).__name__}")
    for i, tool in enumerate(tools):
        check_tool(tool, f"tools[{i}]")
    return list(tools)


def _settle(chat: Chat, tools: Sequence[Any] | None, kwargs: Mapping[str, Any] | None) -> Chat:
    """Fill in what the call gives for all requests; a request's own values win."""
    if tools is not None:
        given = tool_list(tools)
        if chat.tools is None:
            chat.tools = given
        if chat.body is not None and "tools" not in chat.body:
            if chat.wire in ("gemini", "bedrock"):
                raise UsageError(f"tools= beside a {chat.wire} body: put them into the body, in its own form")
            chat.body = {**chat.body, "tools": given}
    if kwargs:
        chat.settings = {**kwargs, **chat.settings}
    return chat


def _growing(chat: Chat, requests: Requests, tools: Sequence[Any] | None, kwargs: Mapping[str, Any] | None) -> Plan:
    from pytest_cachesafe.messages import growing_requests

    if chat.raw is not None:
        return in_order([_settle(chat, tools, kwargs)], "prompts")
    _settle(chat, tools, kwargs)
    grown: list[Item] = list(growing_requests(chat, requests))
    return in_order(grown, "chat", chat.notes)


def _requests(chats: list[Chat], tools: Sequence[Any] | None, kwargs: Mapping[str, Any] | None) -> Plan:
    from pytest_cachesafe.messages import interleaved

    for chat in chats:
        _settle(chat, tools, kwargs)
    if any(c.key is not None for c in chats):
        return _grouped(chats)
    mixed = interleaved(chats)
    if mixed is not None:
        one, other = (", ".join(map(str, group[:4])) for group in mixed)
        raise UsageError(
            f'requests {one} and requests {other} look like two chats in one list: give each request a "key", '
            "use a Recording (which groups them), or check them apart"
        )
    _refuse_strangers(chats)
    return in_order(list(chats), "requests")


def _refuse_strangers(chats: Sequence[Chat]) -> None:
    """First requests of chats that have nothing in common are no conversation.

    Raises:
        UsageError: two neighbours without any answer in them and without a word in common.
    """
    if any(m.get("role") in ("assistant", "tool", "function") for chat in chats for m in chat.messages):
        return
    words = [set(re.findall(r"[^\W\d_]{3,}", said(chat).lower())) for chat in chats]
    for i in range(len(chats) - 1):
        if words[i] and words[i + 1] and not words[i] & words[i + 1]:
            raise UsageError(
                f"requests {i} and {i + 1} are first requests with nothing in common: two chats in one list; "
                'give each a "key", use a Recording, or check them apart'
            )


def said(chat: Chat) -> str:
    """All text of a request's messages."""
    parts: list[str] = []
    for message in chat.messages:
        content = message.get("content")
        for block in content if isinstance(content, list) else [content]:
            text = block.get("text") if isinstance(block, Mapping) else block
            if isinstance(text, str):
                parts.append(text)
    return "\n".join(parts)


def _recording(recording: Recording, tools: Sequence[Any] | None, kwargs: Mapping[str, Any] | None) -> Plan:
    if not recording.requests:
        raise UsageError("the recording is empty: no request was recorded, nothing to compare")
    for chat in recording.requests:
        _settle(chat, tools, kwargs)
    return _grouped(recording.requests)


def _grouped(chats: Sequence[Chat]) -> Plan:
    from pytest_cachesafe.messages import conversations

    groups = conversations(chats)
    pairs = sorted(Pair(link.index, link.parent) for group in groups for link in group)
    return Plan(list(chats), pairs, "recording", conversations=len(groups))


def to_prompt(
    value: Any, template: Any, tools: Sequence[Any] | None, front_end: FrontEnd | None
) -> tuple[Prompt, FrontEnd | None]:
    """One request as a prompt, for `compare`; the front end made on the way is handed back for the next one."""
    if isinstance(value, Prompt):
        return value, front_end
    if front_end is None:
        from pytest_cachesafe.frontends.resolve import resolve_front_end

        front_end = resolve_front_end(template)
    item: Item
    if isinstance(value, Chat):
        item = value
    elif isinstance(value, str) or (isinstance(value, Sequence) and value and _kind(value) == "ids"):
        item = _raw(value)
    else:
        item = _chat(value)
    return render(_settle(item, tools, None) if isinstance(item, Chat) else item, front_end), front_end


def comparable(a: Prompt, b: Prompt, one: int | str, other: int | str) -> None:
    """Refuse to compare what has nothing to compare by.

    Raises:
        UsageError: ids against text, a rendered prompt against a chat, or bodies of different wire formats.
    """
    from pytest_cachesafe.messages.detect import evident_formats

    for yes, no in ((a, b), (b, a)):
        if yes.token_ids is not None and not yes.text and no.text:
            raise UsageError(f"requests {one} and {other}: token ids mixed with text: pass prompts of one kind")
    kinds = [p.chat is not None and p.chat.raw is None for p in (a, b)]
    if kinds[0] != kinds[1] and (a.chat is not None and b.chat is not None):
        raise UsageError(f"requests {one} and {other}: a rendered prompt and a chat: pass requests of one kind")
    if a.chat is None or b.chat is None or a.chat.wire == b.chat.wire or a.chat.body is None or b.chat.body is None:
        return
    signs = evident_formats(a.chat.body), evident_formats(b.chat.body)
    # A body that nothing tells apart, or that mixes formats as gateways allow, may be what the other one is.
    if all(signs) and signs[0].isdisjoint(signs[1]):
        raise UsageError(
            f"requests {one} and {other} are of different wire formats, {a.chat.wire} and {b.chat.wire}: "
            "pass requests of one format, or check them apart"
        )


def render(item: Item, front_end: FrontEnd) -> Prompt:
    """One request through the front end; prompts pass."""
    if isinstance(item, Prompt):
        return item
    encoder = getattr(front_end, "encoder", None)
    if item.raw is not None and not isinstance(item.raw, str):
        if encoder is not None:
            return front_end.prompt(item)
        return Prompt("", token_ids=item.raw, front_end="token ids as given", chat=item)
    if item.raw is not None:
        encode: Callable[[str], Sequence[int]] | None = None if encoder is None else encoder.encode
        name = front_end.name if encode is not None else "text as given (token counts are estimates)"
        return Prompt(item.raw, encode=encode, front_end=name, chat=item)
    return front_end.prompt(item)
