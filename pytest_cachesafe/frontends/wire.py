"""The default front end: a request as its provider reads it, in canonical bytes. Needs the standard library only.

The text is built in the provider's own order (model, settings that reach the prompt, tools, system, messages), one
entry per content block, so that two requests have equal text exactly if they have equal content, and a request that
only appends messages only appends text. What a provider does not read as prompt is left out: the order of body keys,
sampling parameters, cache markers, whether a lone text block is written as a string.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from pytest_cachesafe.frontends.wire_bodies import lay_out
from pytest_cachesafe.frontends.wire_text import FRAME, Head, Trace, Writer
from pytest_cachesafe.prompt import Chat, Prompt, Segment, UsageError

__all__ = ["WireFrontEnd", "estimate"]

# Characters of canonical text kept for messages that come again: a growing chat is written once, not once per turn.
_KEPT = 8_000_000

# Bytes of each kind, and tokens per character of that kind as (low, best, high). Measured on the tokenizers of Qwen3,
# Llama 3.2, Mistral Nemo and DeepSeek V3 over prose, code, JSON, ids and eight languages; the upper bound leaves
# room for Claude's tokenizers from Opus 4.7 on, which take about 30% more than the ones before.
_KINDS: tuple[tuple[bytes, tuple[float, float, float]], ...] = (
    (b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", (0.17, 0.25, 0.36)),
    (b"0123456789", (0.3, 0.6, 1.25)),  # the upper bound: hex ids, where digits split the letters
    (b" \t\r\n", (0.0, 0.05, 0.45)),
    (bytes(range(0xC0, 0xE0)), (0.2, 0.35, 0.9)),  # two-byte characters: Latin with marks, Cyrillic, Arabic
    (bytes(range(0xE0, 0xF0)), (0.3, 0.65, 1.5)),  # three bytes: Chinese, Japanese, Hindi
    (bytes(range(0xF0, 0x100)), (0.8, 2.2, 4.5)),  # four bytes: emoji
)
_ASCII = _KINDS[:3]
_OTHER = (0.3, 0.6, 1.1)  # ASCII punctuation and control characters


def estimate(text: str) -> tuple[int, int, int]:
    """Tokens in `text` as (low, best, high), from its characters alone.

    Hosted models have no public tokenizer. Four public ones of 128,000 to 152,000 entries stay inside the band on
    ordinary text; text made to be hard (random bytes, rare scripts, long runs of one character) can leave it.
    """
    # Labels stand for the markers a provider puts around turns and blocks: two or three tokens each way.
    bare, frames = FRAME.subn("", text)
    data = bare.encode("utf-8", "surrogatepass")
    rest = len(bare)
    low = best = high = 0.0
    # Where every byte is a character there are no others to count.
    for members, (least, likely, most) in _KINDS if len(data) > len(bare) else _ASCII:
        n = _count(data, members)
        rest -= n
        low += n * least
        best += n * likely
        high += n * most
    low += rest * _OTHER[0]
    best += rest * _OTHER[1]
    high += rest * _OTHER[2]
    return int(low + frames * 0.5), round(best + frames), -int(-(high + frames * 2.5) // 1)


def _count(data: bytes, members: bytes) -> int:
    return len(data) - len(data.translate(None, members))


class WireFrontEnd:
    """Turns requests into their canonical text. One object serves a whole check and reuses the text of messages."""

    def __init__(self) -> None:
        self._name = "wire format (canonical bytes; token counts are estimates)"
        self._known: OrderedDict[tuple[int, str], tuple[Any, str]] = OrderedDict()
        self._kept = 0

    @property
    def name(self) -> str:
        """Names the wire format of the latest request."""
        return self._name

    def prompt(self, chat: Chat) -> Prompt:
        """The canonical text of one request.

        Raises:
            UsageError: the request has no messages, or holds a value that has no JSON form.
        """
        self._name = _name(chat)
        if isinstance(chat.raw, tuple):
            ids = chat.raw
            text = "".join(f"{i} " for i in ids)
            return Prompt(
                text, front_end=self._name, chat=chat, token_ids=ids, segments=_whole(text, "prompt_token_ids")
            )
        if isinstance(chat.raw, str):
            return Prompt(
                chat.raw, front_end=self._name, chat=chat, estimate=estimate, segments=_whole(chat.raw, "prompt")
            )
        if not chat.messages:
            raise UsageError("empty chat: the request has no messages")
        writer = Writer(self._reuse)
        lay_out(chat, writer)
        return Prompt(
            writer.text(),
            front_end=self._name,
            chat=chat,
            estimate=estimate,
            segments=lambda: _segments(chat),
            head=lambda: _head(chat),
            notes=chat.notes,
        )

    def _reuse(self, message: Any, kind: str, write: Callable[[], str]) -> str:
        """Text of a message written before. Known by identity: chats hold copies that nobody edits."""
        key = (id(message), kind)
        found = self._known.get(key)
        if found is not None:
            self._known.move_to_end(key)
            return found[1]
        text = write()
        # The message is kept with its text: its id may not go to another one meanwhile.
        self._known[key] = (message, text)
        self._kept += len(text)
        while self._kept > _KEPT and len(self._known) > 1:
            self._kept -= len(self._known.popitem(last=False)[1][1])
        return text


def _segments(chat: Chat) -> Sequence[Segment]:
    trace = Trace()
    lay_out(chat, trace)
    return trace.segments


def _head(chat: Chat) -> int:
    head = Head()
    with suppress(Head.Over):
        lay_out(chat, head)
    return head.end


def _whole(text: str, path: str) -> tuple[Segment, ...]:
    return (Segment(0, len(text), "message", "data", path),) if text else ()


def _name(chat: Chat) -> str:
    if isinstance(chat.raw, tuple):
        return "token ids as sent"
    if isinstance(chat.raw, str):
        return "prompt text as sent (token counts are estimates)"
    wire = chat.wire if chat.body is not None else "of a message list, in OpenAI chat order"
    return f"wire format {wire} (canonical bytes; token counts are estimates)"
