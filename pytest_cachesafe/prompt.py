"""The one vocabulary of prompts: what a request is, what it renders to, and how requests follow each other.

A chat template and a wire body are both *front ends*: they turn a `Chat` into a `Prompt` whose `Segment`s say who
wrote which characters. Comparison, blame, acceptances, resets and reports know nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from pytest_cachesafe.usage import UsageError

__all__ = [
    "Chat",
    "FrontEnd",
    "Generated",
    "Part",
    "Prompt",
    "Recording",
    "Segment",
    "Turn",
    "UsageError",
]

Part = Literal["template", "tools", "system", "message", "generation_prompt"]
T = TypeVar("T")


class Segment(NamedTuple):
    """A run of prompt characters written by one hand.

    `start` and `end` are character offsets in `Prompt.text`; segments are in order, do not overlap and leave no gap.
    """

    start: int
    end: int
    part: Part
    # "data": copied from the request (the application or its framework wrote it); "template": the front end put it in.
    writer: Literal["data", "template"]
    # JSON path of the datum in the request ("messages[2].content", "tools[0]"), None for template text.
    path: str | None = None
    # Index in `Chat.messages` of the message this belongs to or frames; None outside messages.
    message_index: int | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Generated:
    """What the model answered to a request: text, or the ids it sampled (which need not be the ids of that text)."""

    text: str | None = None
    token_ids: tuple[int, ...] | None = None


@dataclass(slots=True)
class Chat:
    """One request, in the shape chat templates read; `body` keeps it as it was sent.

    `messages` are plain dicts (role, content as string or list of blocks, tool_calls, tool_call_id, name,
    reasoning_content …); keys and their order are the caller's. `tools` None means "none given", which some templates
    treat differently from an empty list.
    """

    messages: list[dict[str, Any]]
    tools: list[Any] | None = None
    # Keywords for the template (enable_thinking, reasoning_effort, documents …).
    settings: dict[str, Any] = field(default_factory=dict)
    add_generation_prompt: bool = True
    continue_final_message: bool | str = False
    # The clock the template sees (strftime_now); None: the process's own.
    now: datetime | None = None
    # "messages" (a bare list), "openai-chat", "openai-responses", "anthropic", "gemini", "bedrock", "text", "ids".
    wire: str = "messages"
    model: str | None = None
    # The wire body exactly as given (for the wire front end); None for a bare message list.
    body: Mapping[str, Any] | None = None
    # JSON path in `body` of each message in `messages`, same length ("input[3]"); empty: "messages[i]".
    paths: tuple[str, ...] = ()
    # What the conversion had to change, in words ("tool-call arguments of messages[2] parsed from a string").
    notes: tuple[str, ...] = ()
    # Conversation key given by the user; requests with different keys are never compared.
    key: str | None = None
    # The model's answer to this request, where known.
    generated: Generated | None = None
    # A completion request that skips the template: text, or ids.
    raw: str | tuple[int, ...] | None = None
    # `providers.exchange.Exchange`, where the request was caught on the wire or read from a log.
    exchange: Any = None

    def path_of(self, index: int) -> str:
        """JSON path of message `index` in the request as sent."""
        return self.paths[index] if index < len(self.paths) else f"messages[{index}]"


class Prompt:
    """What a front end makes of one `Chat`.

    `text` is exact. `token_ids` are exact or None (no tokenizer: text level or wire); then `estimate` gives a band.
    Ids and segments are computed when first read: both are needed only where something diverges.
    """

    def __init__(
        self,
        text: str,
        *,
        front_end: str,
        chat: Chat | None = None,
        encode: Callable[[str], Sequence[int]] | None = None,
        token_ids: Sequence[int] | None = None,
        segments: Callable[[], Sequence[Segment]] | Sequence[Segment] | None = None,
        estimate: Callable[[str], tuple[int, int, int]] | None = None,
        head: Callable[[], int] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.text = text
        # Which template, tokenizer or wire format made this; every verdict names it.
        self.front_end = front_end
        self.chat = chat
        self.notes = tuple(notes)
        self._encode = encode
        self._given_ids = token_ids
        self._segments = segments
        self._estimate = estimate
        self._head = head

    @property
    def exact(self) -> bool:
        """Whether `token_ids` exist; otherwise token numbers are estimates and must say so."""
        return self._given_ids is not None or self._encode is not None

    @property
    def is_wire(self) -> bool:
        """Whether this is a provider request in canonical bytes: indexes and paths then refer to the body as sent."""
        return self._estimate is not None

    @cached_property
    def token_ids(self) -> Sequence[int] | None:
        """The ids an engine gets, or None without a tokenizer."""
        if self._given_ids is not None:
            return self._given_ids
        return None if self._encode is None else self._encode(self.text)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """Who wrote which characters; one datum over everything if the prompt was given as it is."""
        found = self._segments() if callable(self._segments) else self._segments
        if found is None:
            return (Segment(0, len(self.text), "message", "data", "prompt"),) if self.text else ()
        return tuple(found)

    @cached_property
    def head_end(self) -> int:
        """Character index behind the last text of the request's tools and system part; 0 where it has neither."""
        if self._head is not None:
            return self._head()
        return max((s.end for s in self.segments if s.part in ("tools", "system") and s.writer == "data"), default=0)

    def count(self, text: str | None = None) -> tuple[int, int, int]:
        """Tokens in `text` (default: all of it) as (low, best, high); the three are equal where ids are exact."""
        if text is None and self.exact:
            n = len(self.token_ids or ())
            return (n, n, n)
        text = self.text if text is None else text
        if self._encode is not None:
            n = len(self._encode(text))
            return (n, n, n)
        if self._estimate is not None:
            return self._estimate(text)
        # Text level: between 1.5 and 6 characters a token over natural languages, code and JSON; 4 is the usual rule.
        return (-(-len(text) // 6), -(-len(text) // 4), -(-2 * len(text) // 3))

    @cached_property
    def prefix_hash(self) -> str:
        """SHA-256 over the ids (little-endian 4 bytes each) or, without a tokenizer, over the UTF-8 text."""
        ids = self.token_ids
        if ids is None:
            return sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()
        return sha256(b"".join(i.to_bytes(4, "little") for i in ids)).hexdigest()

    def segment_at(self, char_index: int) -> Segment | None:
        """The segment that covers a character, the last one for an index at the end, None for an empty prompt."""
        from bisect import bisect_right

        segments = self.segments
        if not segments:
            return None
        at = bisect_right(segments, char_index, key=lambda s: s.start) - 1
        return segments[max(at, 0)]

    def __repr__(self) -> str:
        return f"<Prompt {len(self.text)} characters, {self.front_end}>"


@runtime_checkable
class FrontEnd(Protocol):
    """Turns requests into prompts. One object serves a whole check, so that it may reuse work between requests."""

    @property
    def name(self) -> str:
        """Names the template, tokenizer or wire format in every verdict."""

    def prompt(self, chat: Chat) -> Prompt:
        """Render one request.

        Raises:
            TemplateRaised: the template refuses the chat (its own words); a verdict, not an error.
            UsageError: the chat cannot be rendered for a reason the user must mend.
        """


class TemplateRaised(Exception):
    """The template itself refused the chat. `str()` gives the template's own words, nothing added."""

    def __init__(self, words: str, message_index: int | None = None) -> None:
        super().__init__(words)
        self.message_index = message_index


class _Settings(dict[str, Any]):
    """Settings of a turn that note which of them the builder looked at; whoever looks at all of them, reads all."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def _all(self) -> dict[str, Any]:
        self.read.update(dict.keys(self))
        return dict(dict.items(self))

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.read.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)

    def pop(self, name: str, *default: Any) -> Any:
        self.read.add(name)
        return super().pop(name, *default)

    def setdefault(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().setdefault(name, default)

    # An iterator of its own also keeps {**settings} and dict(settings) from copying past these methods.
    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        return self._all().keys()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        return self._all().values()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        return self._all().items()

    def copy(self) -> dict[str, Any]:
        return self._all()

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        return self._all() | dict(other)

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        return dict(other) | self._all()

    def __eq__(self, other: object) -> bool:
        return self._all() == other

    def __ne__(self, other: object) -> bool:
        return self._all() != other

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self._all(),)


class Turn:
    """What a builder is called with: which request to build, and under which settings.

    `turn.index` counts requests from 0 (and works as an index: `history[: turn.index + 1]`), `turn.settings` holds
    toggled settings, `turn.order(seq)` returns the builder's own sequence, permuted while an order toggle is on.
    """

    def __init__(
        self,
        index: int,
        settings: Mapping[str, Any] | None = None,
        permute: Callable[[Sequence[Any]], list[Any]] | None = None,
    ) -> None:
        self.index = index
        self._settings = _Settings(settings or {})
        self.settings: dict[str, Any] = self._settings
        self.orders_asked = 0
        self._permute = permute

    def __index__(self) -> int:
        return self.index

    @property
    def settings_read(self) -> frozenset[str]:
        """Names of the settings that the builder has looked at so far."""
        return frozenset(self._settings.read)

    def order(self, items: Sequence[T]) -> list[T]:
        """The builder's own sequence, in its own order unless an order toggle is being tried."""
        self.orders_asked += 1
        return list(items) if self._permute is None else self._permute(items)

    def __repr__(self) -> str:
        return f"Turn({self.index}, settings={dict.__repr__(self.settings)})"


class Recording:
    """Requests as sent, in order, with the answers that are known. Data only: assertions live in `recording`."""

    def __init__(self, *, key: str | None = None) -> None:
        self._requests: list[Chat] = []
        self.key = key
        # Whether a check has judged it, or somebody gone through it: what is recorded and left is a mistake.
        self.used = False

    @property
    def requests(self) -> list[Chat]:
        """Everything recorded so far."""
        return self._requests

    def add(self, chat: Chat) -> None:
        """Append one request as sent.

        Raises:
            UsageError: it is no `Chat`.
        """
        if not isinstance(chat, Chat):
            raise UsageError(
                f"add() got {type(chat).__name__}; a Chat is meant: note messages or a body with rec.request(…)"
            )
        if chat.key is None:
            chat.key = self.key
        self.requests.append(chat)

    def response(self, text: str | None = None, *, token_ids: Sequence[int] | None = None) -> None:
        """Note what the model answered to the latest request.

        Raises:
            UsageError: no request was recorded before, or neither text nor ids are given.
        """
        if not self.requests:
            raise UsageError("response() before any request: call rec.request(messages, …) first")
        if text is None and token_ids is None:
            raise UsageError("response() needs the generated text, token_ids=…, or both")
        self.requests[-1].generated = Generated(text, None if token_ids is None else tuple(token_ids))

    def __len__(self) -> int:
        return len(self.requests)

    def __iter__(self) -> Iterator[Chat]:
        self.used = True
        return iter(self.requests)
