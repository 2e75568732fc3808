"""What a line of a log may hold: token ids, a chat, or a Mooncake line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_cachesafe.engines.trace.entry import BadEntry, Entry
from pytest_cachesafe.engines.trace.fields import FIELDS, check_ids, read_fields
from pytest_cachesafe.usage import UsageError

__all__ = ["MOONCAKE_BLOCK", "WORDS", "chat_reader", "format_of", "read_ids", "read_mooncake"]

# Tokens that one hash id stands for (Mooncake, FAST'25 traces, 2025-02).
MOONCAKE_BLOCK = 512
# As messages name the formats.
WORDS = {"ids": "token ids", "messages": "messages", "mooncake": "Mooncake hash ids"}
_ID_KEYS = ("prompt_token_ids", "input_ids", "token_ids")
_CHAT_KEYS = ("messages", "input", "contents", "prompt")
# Twice its size must be a token id (see `replay.sized`).
_LARGEST_HASH_ID = 2**30 - 1


def format_of(value: Any) -> str:
    """`ids`, `messages` or `mooncake`.

    Raises:
        BadEntry: none of them.
    """
    if isinstance(value, Mapping):
        if any(key in value for key in _ID_KEYS):
            return "ids"
        if "hash_ids" in value:
            return "mooncake"
        if isinstance(value.get("prompt"), list) and value.get("messages") is None:
            return "ids"
        if any(key in value for key in _CHAT_KEYS) or isinstance(value.get("body"), Mapping):
            return "messages"
        keys = ", ".join(repr(str(key)[:40]) for key in list(value)[:4]) or "none"
        raise BadEntry(f"no prompt_token_ids, messages or hash_ids; its keys are {keys}")
    if isinstance(value, list):
        if not value:
            raise BadEntry("an empty list; token ids or messages are meant")
        if isinstance(value[0], Mapping):
            if "role" not in value[0] and any(key in value[0] for key in (*_ID_KEYS, *_CHAT_KEYS, "hash_ids")):
                raise BadEntry("a list of requests; one request a line is meant")
            return "messages"
        return "ids"
    if hasattr(value, "token_ids") or (hasattr(value, "__len__") and not isinstance(value, (str, bytes))):
        return "ids"
    if hasattr(value, "messages"):
        return "messages"
    if isinstance(value, int):
        raise BadEntry("no object but a lone number; a list of token ids is one request")
    raise BadEntry('no object; one request a line is meant, e.g. {"prompt_token_ids": [1, 2, 3]}')


def read_ids(line: int, value: Any) -> Entry:
    """A line of token ids: an object with `prompt_token_ids`, or the bare list.

    Raises:
        BadEntry: no ids, or something that is none.
    """
    fields = None
    name = "prompt_token_ids"
    if isinstance(value, Mapping):
        name = next((key for key in _ID_KEYS if key in value), "prompt")
        fields = read_fields(value)
        value = value[name]
    elif not isinstance(value, list) and hasattr(value, "token_ids"):
        value = value.token_ids
        if value is None:
            raise BadEntry("a prompt without token ids; render it with a tokenizer")
    ids = check_ids(value, name)
    if not ids:
        raise BadEntry(f"{name} is empty; a prompt has at least one token")
    return Entry(line, ids, fields)


def read_mooncake(line: int, value: Any) -> Entry:
    """A Mooncake line: `hash_ids` of 512-token blocks, `input_length` in tokens, `timestamp` in milliseconds.

    Output is left out: the trace has its length, not its ids.

    Raises:
        BadEntry: no hash ids, or a length that does not fit them.
    """
    if not isinstance(value, Mapping):
        raise BadEntry("no object with hash_ids")
    ids = check_ids(value.get("hash_ids"), "hash_ids")
    if not ids:
        raise BadEntry("hash_ids is empty; a prompt has at least one block")
    count, largest = len(ids), max(ids)
    if largest > _LARGEST_HASH_ID:
        raise BadEntry(f"hash_ids has {largest}; at most {_LARGEST_HASH_ID}")
    length = value.get("input_length")
    if isinstance(length, bool) or not isinstance(length, int) or -(-length // MOONCAKE_BLOCK) != count:
        raise BadEntry(
            f"input_length does not fit {count} hash ids: "
            f"{(count - 1) * MOONCAKE_BLOCK + 1} to {count * MOONCAKE_BLOCK} tokens are meant"
        )
    entry = Entry(line, ids, read_fields(value, 1000.0))
    entry.real_tokens = length
    entry.output_ids = []
    return entry


def chat_reader(model: Any) -> Callable[[int, Any], Entry]:
    """A reader of chats and request bodies that renders them with a model's template and tokenizer.

    Raises:
        UsageError: the model is not found, or has no tokenizer.
    """
    from pytest_cachesafe.engines.trace.left_out import Watch
    from pytest_cachesafe.frontends.resolve import resolve_front_end
    from pytest_cachesafe.messages import to_chat
    from pytest_cachesafe.prompt import TemplateRaised

    front_end = resolve_front_end(model)
    watch = Watch()

    def read(line: int, value: Any) -> Entry:
        fields = None
        if isinstance(value, Mapping):
            fields = read_fields(value)
            # A line of a batch file: the body with a frame around it.
            body = value["body"] if isinstance(value.get("body"), Mapping) and "messages" not in value else value
            value = {key: item for key, item in body.items() if key not in FIELDS}
        try:
            chat = to_chat(value)
            prompt = front_end.prompt(chat)
            ids = prompt.token_ids
        except TemplateRaised as error:
            raise BadEntry(f"the chat template refuses it: {error}") from None
        except UsageError as error:
            raise BadEntry(str(error)) from None
        if ids is None:
            raise UsageError(
                f"{front_end.name} has no tokenizer, and a cache works on token ids; name a model with one"
            )
        entry = Entry(line, check_ids(list(ids), "the rendered prompt"), fields)
        if not entry.token_ids:
            raise BadEntry("the rendered prompt is empty")
        entry.left_out = watch.kinds(prompt)
        if entry.conversation is None:
            entry.conversation = chat.key
        if not entry.output_ids and chat.generated is not None and chat.generated.token_ids is not None:
            entry.output_ids = check_ids(list(chat.generated.token_ids), "generated_ids")
        return entry

    return read
